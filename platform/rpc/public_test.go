package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// stranger makes calls without a token, with the frames that a test sets.
type stranger struct {
	addr   string
	client *http.Client
}

func newStranger(t *testing.T, addr string) stranger {
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return stranger{addr, &http.Client{Transport: transport}}
}

// call calls method without ending the request before the response, and returns the code.
func (s stranger) call(ctx context.Context, method string, body ...[]byte) (codes.Code, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	in, out := io.Pipe()
	defer in.Close()
	go func() {
		for _, b := range body {
			_, _ = out.Write(b)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+method, in)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	value := answer.Trailer.Get("Grpc-Status")
	if value == "" { // the response has only trailers
		value = answer.Header.Get("Grpc-Status")
	}
	code, err := strconv.Atoi(value)
	return codes.Code(code), err
}

// header returns the header of a message of n bytes.
func header(n int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(n)) }

// TestRefusesLargePublicRequestsBeforeTheyArrive is not parallel, because it measures the memory of
// the process.
func TestRefusesLargePublicRequestsBeforeTheyArrive(t *testing.T) {
	p := newPart(t, nil)
	s := newStranger(t, p.addr)
	const calls = 100
	almost := make([]byte, rpc.MaxRequest-1) // the message is never complete
	before, most := heap(), uint64(0)
	done := make(chan struct{})
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if code, err := s.call(t.Context(), empty, header(rpc.MaxRequest), almost); err != nil || code != codes.ResourceExhausted {
				t.Errorf("got %s, %v", code, err)
			}
		})
	}
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(10 * time.Millisecond):
		}
		most = max(most, heap())
	}
	if grown := int64(most) - int64(before); grown > calls*(rpc.MaxRequest/8) {
		t.Errorf("%d calls took %d MiB", calls, grown>>20)
	}
}

// heap returns the live memory of the process after a collection, in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestEndsPublicCallsWhoseRequestDoesNotArrive(t *testing.T) {
	t.Parallel()
	p := newPart(t, func(o *rpc.ServerOptions) { o.ReceiveWithin = 200 * time.Millisecond })
	s := newStranger(t, p.addr)
	for name, body := range map[string][][]byte{
		"nothing arrives":                            {},
		"half a header arrives":                      {header(10)[:3]},
		"half a message arrives":                     {header(10), []byte("12345")},
		"the end does not arrive":                    {header(0)},
		"the end of a large message does not arrive": {header(16 << 10), make([]byte, 16<<10-1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			code, err := s.call(t.Context(), empty, body...)
			if err != nil || code != codes.InvalidArgument {
				t.Errorf("got %s, %v", code, err)
			}
			if took := time.Since(began); took < 100*time.Millisecond {
				t.Errorf("ended after %s", took)
			}
		})
	}
	t.Run("a second message is refused", func(t *testing.T) {
		t.Parallel()
		if code, err := s.call(t.Context(), empty, header(0), header(0)); err != nil || code != codes.InvalidArgument {
			t.Errorf("got %s, %v", code, err)
		}
	})
}

// TestPublicCallsDespiteSlowCallers checks that calls succeed while many others never send their
// request.
func TestPublicCallsDespiteSlowCallers(t *testing.T) {
	t.Parallel()
	p := newPart(t, nil)
	s := newStranger(t, p.addr)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() { _, _ = s.call(ctx, empty, header(16<<10)) })
	}
	for range 100 {
		if _, err := p.client.EmptyCall(t.Context(), &grpc_testing.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	group.Wait()
}

func TestResponseStreamsOutliveTheTimeForTheRequest(t *testing.T) {
	t.Parallel()
	states := health.NewServer()
	p := newPart(t, func(o *rpc.ServerOptions) { o.Health, o.ReceiveWithin = states, 500*time.Millisecond })
	watch, err := grpc_health_v1.NewHealthClient(p.conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING,
	} {
		got, err := watch.Recv()
		if err != nil || got.GetStatus() != want {
			t.Fatalf("got %s, %v, want %s", got.GetStatus(), err, want)
		}
		time.Sleep(time.Second)
		states.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
}

func TestCompressedPublicRequests(t *testing.T) {
	t.Parallel()
	client := newShop(t)
	get := func(size int) error {
		req := &customerv1.GetCustomerRequest{Id: strings.Repeat("x", size)}
		_, err := client.GetCustomer(t.Context(), req, grpc.UseCompressor(gzip.Name))
		return err
	}
	if err := get(10); err != nil {
		t.Error(err)
	}
	is(t, get(4<<20), fault.TooLarge, fault.ReasonPayloadTooLarge) // a few kB on the wire
	p := newPart(t, nil)
	garbage := append([]byte{1}, header(4)[1:]...)
	code, err := newStranger(t, p.addr).call(t.Context(), empty, garbage, bytes.Repeat([]byte{7}, 4))
	if err != nil || code != codes.InvalidArgument {
		t.Errorf("a compressed message without an encoding: got %s, %v", code, err)
	}
}

func TestPublicCallsThatTheCallerCancels(t *testing.T) {
	t.Parallel()
	p := newPart(t, nil)
	conn, err := grpc.NewClient(p.addr, insecureCreds())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.Connect() // connect before the deadline starts to run
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		conn.WaitForStateChange(t.Context(), state)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(&grpc_testing.Empty{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	p.srv.GracefulStop()
	if log := p.log.take(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
		t.Errorf("logged: %s", log)
	}
}
