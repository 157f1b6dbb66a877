package load

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publish publishes n messages of a size to a stream with the configuration of the events'
// stream. Like the relay it waits for at most 256 acknowledgements at a time. It returns the time
// until the last acknowledgement.
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
		b.Fatal("the stream does not acknowledge messages")
	}
	took := time.Since(began)
	if err := js.DeleteStream(b.Context(), name); err != nil {
		b.Fatal(err)
	}
	return took
}
