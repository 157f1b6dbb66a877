package edge

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

func TestListenAndServe(t *testing.T) {
	t.Parallel()
	// start serves one request that does not finish until leave is closed.
	start := func(t *testing.T, drain time.Duration) (stop func(), answered chan error, leave chan struct{}, ended chan error) {
		t.Helper()
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		t.Cleanup(stop)
		entered := make(chan struct{})
		answered, leave, ended = make(chan error, 1), make(chan struct{}), make(chan error, 1)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			select {
			case <-leave:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "done")
		})
		addr := make(chan net.Addr, 1)
		go func() { ended <- ListenAndServe(ctx, "127.0.0.1:0", h, drain, func(a net.Addr) { addr <- a }) }()
		go func() {
			res, err := http.Get("http://" + (<-addr).String())
			if err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			answered <- err
		}()
		<-entered
		return stop, answered, leave, ended
	}
	t.Run("waits for a request in flight", func(t *testing.T) {
		stop, answered, leave, ended := start(t, time.Minute)
		stop()
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		case err := <-answered:
			t.Fatalf("it was cut off: %v", err)
		default:
		}
		close(leave)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("cuts off a request that does not finish in time", func(t *testing.T) {
		stop, answered, _, ended := start(t, 20*time.Millisecond)
		stop()
		if err := <-answered; err == nil {
			t.Error("the request succeeded")
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("ends without an error if ctx ends before it serves", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		err := ListenAndServe(ctx, "127.0.0.1:0", http.NotFoundHandler(), time.Minute, func(net.Addr) { stop() })
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("returns an error if the address is in use", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		err = ListenAndServe(t.Context(), ln.Addr().String(), http.NotFoundHandler(), 0, func(net.Addr) { t.Error("listening") })
		if err == nil {
			t.Error("served")
		}
	})
}
