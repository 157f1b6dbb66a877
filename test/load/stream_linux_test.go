package load

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publish puts n messages of a size into a stream like that of the events, 256 of
// them under way at a time as the relay has them, and returns how long it took
// until the last was acknowledged.
func publish(b *testing.B, url string, n, size int) time.Duration {
	b.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(256))
	if err != nil {
		b.Fatal(err)
	}
	name := fmt.Sprint("LIMIT", time.Now().UnixNano())
	_, err = js.CreateStream(b.Context(), jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage, Duplicates: 10 * time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, size)
	began := time.Now()
	for i := range n {
		if _, err := js.PublishAsync(name+".event", body, jetstream.WithMsgID(fmt.Sprint(i)), jetstream.WithStallWait(patience)); err != nil {
			b.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(patience):
		b.Fatal("the stream does not acknowledge")
	}
	took := time.Since(began)
	if err := js.DeleteStream(b.Context(), name); err != nil {
		b.Fatal(err)
	}
	return took
}
