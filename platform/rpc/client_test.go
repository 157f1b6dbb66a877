package rpc_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

// sent returns the metadata of a call with ctx as it arrives at the server, without the metadata that
// gRPC itself adds.
func (p *part) sent(ctx context.Context) map[string]string {
	p.t.Helper()
	_, md, err := p.received(func() error { _, err := p.client.EmptyCall(ctx, &grpc_testing.Empty{}); return err })
	if err != nil {
		p.t.Fatal(err)
	}
	got := map[string]string{}
	for name, values := range md {
		if !strings.HasPrefix(name, ":") && !slices.Contains([]string{"content-type", "user-agent", "grpc-accept-encoding"}, name) {
			got[name] = strings.Join(values, " and ")
		}
	}
	return got
}

func TestMetadataOfCalls(t *testing.T) {
	p := newPart(t, nil)
	other := id.New[id.Company]()
	client, admin := p.issuer.Client(p.company, "customers:read"), p.issuer.Admin()
	adminFor := func(c id.Company) context.Context { // the ctx of a served call for the company c
		ctx, _, err := p.received(func() error {
			_, err := p.client.UnaryCall(rpc.As(t.Context(), fixed(admin), c), &grpc_testing.SimpleRequest{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return rpc.WithRequestID(context.WithoutCancel(ctx), "")
	}
	strange := metadata.MD{"authorization": {"Bearer stolen"}, "cookie": {"x"}, "reservation-company": {other.String()}, "idempotency-key": {"theirs"}, "x-request-id": {"theirs"}}

	for name, tt := range map[string]struct {
		ctx  context.Context
		want map[string]string
	}{
		"no metadata": {t.Context(), map[string]string{}},
		// Invariant 6.
		"no incoming metadata":       {metadata.NewIncomingContext(t.Context(), strange), map[string]string{}},
		"no other outgoing metadata": {metadata.NewOutgoingContext(metadata.AppendToOutgoingContext(t.Context(), "cookie", "y"), strange), map[string]string{}},
		"the caller's token":         {p.as(client), map[string]string{"authorization": "Bearer " + client}},
		"the caller's token instead of the one in the incoming metadata": {
			metadata.NewIncomingContext(metadata.NewOutgoingContext(p.as(client), strange), strange), map[string]string{"authorization": "Bearer " + client}},
		"the last caller's token": {rpc.WithClaims(p.as(admin), rpc.ClaimsFrom(p.as(client))), map[string]string{"authorization": "Bearer " + client}},
		"the company that the platform's caller named": {
			adminFor(other), map[string]string{"authorization": "Bearer " + admin, "reservation-company": other.String()}},
		"no company if the platform's caller named none": {adminFor(id.Company{}), map[string]string{"authorization": "Bearer " + admin}},
		"the own token for a company": {
			rpc.As(t.Context(), fixed(admin), other), map[string]string{"authorization": "Bearer " + admin, "reservation-company": other.String()}},
		"the own token for no company":                       {rpc.As(t.Context(), fixed(admin), id.Company{}), map[string]string{"authorization": "Bearer " + admin}},
		"the own token instead of the caller's":              {rpc.As(p.as(client), fixed(admin), p.company), map[string]string{"authorization": "Bearer " + admin, "reservation-company": p.company.String()}},
		"the own token without the caller's company":         {rpc.As(adminFor(other), fixed(admin), id.Company{}), map[string]string{"authorization": "Bearer " + admin}},
		"the request's id":                                   {rpc.WithRequestID(p.as(client), "r1"), map[string]string{"authorization": "Bearer " + client, "x-request-id": "r1"}},
		"the request's id with the own token":                {rpc.As(rpc.WithRequestID(t.Context(), "r1"), fixed(admin), id.Company{}), map[string]string{"authorization": "Bearer " + admin, "x-request-id": "r1"}},
		"an idempotency key":                                 {rpc.WithIdempotencyKey(p.as(client), "k"), map[string]string{"authorization": "Bearer " + client, "idempotency-key": "k"}},
		"an idempotency key with the own token":              {rpc.WithIdempotencyKey(rpc.As(t.Context(), fixed(admin), other), "k"), map[string]string{"authorization": "Bearer " + admin, "idempotency-key": "k", "reservation-company": other.String()}},
		"the own token without the caller's idempotency key": {rpc.As(rpc.WithIdempotencyKey(p.as(client), "k"), fixed(admin), id.Company{}), map[string]string{"authorization": "Bearer " + admin}},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.sent(tt.ctx)
			if tt.want["x-request-id"] == "" {
				delete(got, "x-request-id")
			}
			if !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("a received idempotency key is not passed on", func(t *testing.T) {
		ctx, md, err := p.received(func() error { return p.raw(unary, "authorization", "Bearer "+client, "idempotency-key", "k") })
		if err != nil || md.Get("idempotency-key") == nil {
			t.Fatal(md, err)
		}
		if got := p.sent(context.WithoutCancel(ctx)); got["idempotency-key"] != "" || got["authorization"] != "Bearer "+client {
			t.Errorf("got %v", got)
		}
	})
}

func TestDeadlines(t *testing.T) {
	p := newPart(t, nil)
	left := func(conn *grpc.ClientConn, ctx context.Context) time.Duration {
		t.Helper()
		var left time.Duration
		_, _, err := p.received(func() error {
			p.does(func(ctx context.Context) error {
				at, _ := ctx.Deadline()
				left = time.Until(at)
				return nil
			})
			_, err := grpc_testing.NewTestServiceClient(conn).EmptyCall(ctx, &grpc_testing.Empty{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return left.Round(time.Second)
	}
	for name, tt := range map[string]struct {
		timeout, own, want time.Duration
	}{
		"the default is five seconds":            {0, 0, 5 * time.Second},
		"the connection can set another timeout": {time.Minute, 0, time.Minute},
		"a longer deadline of the caller wins":   {0, time.Hour, time.Hour},
		"a shorter deadline of the caller wins":  {time.Hour, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if tt.own > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), tt.own)
			}
			defer cancel()
			got := left(dial(t, p.addr, rpc.DialOptions{Timeout: tt.timeout}), ctx)
			if got > tt.want || got < tt.want-4*time.Second {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("an unavailable server is a fault within the deadline", func(t *testing.T) {
		conn := dial(t, "127.0.0.1:1", rpc.DialOptions{})
		_, err := grpc_testing.NewTestServiceClient(conn).EmptyCall(t.Context(), &grpc_testing.Empty{})
		if f := is(t, err, fault.Unavailable, fault.ReasonServiceUnavailable); f.RetryAfter == 0 || strings.Contains(f.Message, "127.0.0.1") {
			t.Errorf("got %+v", f)
		}
	})
}

func TestClientReconnects(t *testing.T) {
	p := newPart(t, nil)
	call := func() error { _, err := p.client.EmptyCall(t.Context(), &grpc_testing.Empty{}); return err }
	if err := call(); err != nil {
		t.Fatal(err)
	}
	p.srv.Stop()
	is(t, call(), fault.Unavailable, fault.ReasonServiceUnavailable)
	p.serve(p.addr, nil)
	testkit.Eventually(t, patience, call)
}

func TestCallsWaitForAServiceThatWasJustLost(t *testing.T) { // invariant 7
	p := newPart(t, nil)
	var calls atomic.Int64
	p.does(func(context.Context) error { calls.Add(1); return nil })
	call := func() error { _, err := p.client.EmptyCall(t.Context(), &grpc_testing.Empty{}); return err }
	if err := call(); err != nil {
		t.Fatal(err)
	}
	p.srv.GracefulStop()
	answer := make(chan error)
	for range 10 {
		go func() { answer <- call() }()
	}
	stream := make(chan error)
	go func() {
		s, err := p.client.StreamingOutputCall(p.as(p.issuer.Client(p.company, "bookings:read")), &grpc_testing.StreamingOutputCallRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		stream <- err
	}()
	select {
	case err := <-answer:
		t.Fatalf("a call did not wait: %v", err)
	case err := <-stream:
		t.Fatalf("a stream did not wait: %v", err)
	case <-time.After(300 * time.Millisecond): // how long the service is unavailable
	}
	p.serve(p.addr, nil)
	for range 10 {
		if err := <-answer; err != nil {
			t.Error(err)
		}
	}
	if err := <-stream; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if got := calls.Load(); got != 12 {
		t.Errorf("the service got %d calls", got)
	}
}

func TestOwnToken(t *testing.T) {
	t.Run("the call that gets a token does not wait for it", func(t *testing.T) {
		p := newPart(t, nil)
		admin := p.issuer.Admin()
		var md map[string]string
		source := token.NewSource(func(ctx context.Context) (string, time.Time, error) {
			md = p.sent(ctx)
			return admin, time.Now().Add(time.Hour), nil
		})
		ctx := rpc.WithIdempotencyKey(rpc.As(rpc.WithRequestID(p.as(p.issuer.Client(p.company)), "r1"), source, p.company), "k")
		if _, err := p.client.UnaryCall(ctx, &grpc_testing.SimpleRequest{}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(md, map[string]string{"x-request-id": "r1"}) {
			t.Errorf("called with %v", md)
		}
	})
	t.Run("without a token, the call is not made", func(t *testing.T) {
		p := newPart(t, nil)
		p.does(func(context.Context) error { t.Error("made"); return nil })
		broken := token.NewSource(func(context.Context) (string, time.Time, error) {
			return "", time.Time{}, errors.New("client secret hunter2 was refused")
		})
		ctx := rpc.As(t.Context(), broken, p.company)
		_, err := p.client.EmptyCall(ctx, &grpc_testing.Empty{})
		for _, err := range []error{err, p.output(ctx)} {
			if f := is(t, err, fault.Unavailable, fault.ReasonServiceUnavailable); strings.Contains(f.Message, "hunter2") {
				t.Errorf("got %q", f.Message)
			}
			if st := fault.Status(err); strings.Contains(st.Message(), "hunter2") {
				t.Errorf("passed on as %v", st)
			}
		}
	})
	t.Run("a caller waits for a token until its own deadline", func(t *testing.T) {
		p := newPart(t, nil)
		free := make(chan struct{})
		defer close(free)
		hung := token.NewSource(func(context.Context) (string, time.Time, error) { <-free; return "", time.Time{}, errors.New("late") })
		ctx, cancel := context.WithTimeout(rpc.As(t.Context(), hung, p.company), 50*time.Millisecond)
		defer cancel()
		_, err := p.client.EmptyCall(ctx, &grpc_testing.Empty{})
		is(t, err, fault.Unavailable, fault.ReasonServiceUnavailable)
	})

	// rotated is a source whose current token is refused after a rotation.
	rotated := func(p *part) (src *token.Source, rotate func()) {
		var generation atomic.Int64
		generation.Store(1)
		sign := func() string {
			return p.issuer.Sign(token.Claims{
				Subject: "svc_1", Kind: token.KindService, Scopes: []string{token.Admin}, Generation: generation.Load(), ID: strconv.FormatInt(generation.Load(), 10),
			})
		}
		src = token.NewSource(func(context.Context) (string, time.Time, error) { return sign(), time.Now().Add(time.Hour), nil })
		return src, func() { p.issuer.Verifier.Revoke("svc_1", generation.Add(1)) }
	}
	t.Run("a call that is refused for an old token is repeated with a new one", func(t *testing.T) {
		metrics := newRegistry()
		p := newPart(t, metrics.use)
		src, rotate := rotated(p)
		ctx := rpc.As(t.Context(), src, p.company)
		call := func() error { _, err := p.client.UnaryCall(ctx, &grpc_testing.SimpleRequest{}); return err }
		if err := call(); err != nil {
			t.Fatal(err)
		}
		rotate()
		refused := 0
		testkit.Eventually(t, patience, func() error { // the source keeps a new token for at least a second
			err := call()
			if err != nil {
				is(t, err, fault.Unauthenticated, fault.ReasonUnauthorized)
				refused++
			}
			return err
		})
		// The successful call was refused first, so there is one more refusal than failure.
		if got := metrics.count(t, unary+" Unauthenticated"); got != uint64(refused)+1 {
			t.Errorf("%d calls failed and %d were refused", refused, got)
		}
	})
	t.Run("after a stream is refused for an old token, the next one uses a new token", func(t *testing.T) {
		p := newPart(t, nil)
		src, rotate := rotated(p)
		ctx := rpc.As(t.Context(), src, p.company)
		read := func() error {
			s, err := p.client.StreamingOutputCall(ctx, &grpc_testing.StreamingOutputCallRequest{})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		rotate()
		testkit.Eventually(t, patience, read)
	})
	t.Run("a call that is refused for the caller's token is not repeated", func(t *testing.T) {
		metrics := newRegistry()
		p := newPart(t, metrics.use)
		ctx := p.as(p.issuer.Sign(token.Claims{Subject: "m2m_1", Company: p.company, Generation: 1}))
		p.issuer.Verifier.Revoke("m2m_1", 2)
		_, err := p.client.UnaryCall(ctx, &grpc_testing.SimpleRequest{})
		is(t, err, fault.Unauthenticated, fault.ReasonUnauthorized)
		if got := metrics.count(t, unary+" Unauthenticated"); got != 1 {
			t.Errorf("made %d times", got)
		}
	})
}

func TestSeveralProcesses(t *testing.T) {
	parts := []*part{newPart(t, nil), newPart(t, nil)}
	var calls [2]atomic.Int64
	for n, p := range parts {
		p.does(func(context.Context) error { calls[n].Add(1); return nil })
	}
	client := grpc_testing.NewTestServiceClient(dial(t, parts[0].addr+", "+parts[1].addr, rpc.DialOptions{Timeout: patience}))
	call := func() error { _, err := client.EmptyCall(t.Context(), &grpc_testing.Empty{}); return err }

	t.Run("share the calls of one client", func(t *testing.T) {
		testkit.Eventually(t, patience, func() error {
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if calls[0].Load() < 10 || calls[1].Load() < 10 {
				return errors.New("one of them was hardly called")
			}
			return nil
		})
	})
	t.Run("serve all calls while one is unavailable", func(t *testing.T) {
		parts[0].srv.Stop()
		testkit.Eventually(t, patience, func() error { // the client first has to notice that the process ended
			for range 20 {
				if err := call(); err != nil {
					return err
				}
			}
			return nil
		})
	})
	t.Run("use a process again after it is available", func(t *testing.T) {
		parts[0].serve(parts[0].addr, nil)
		before := calls[0].Load()
		testkit.Eventually(t, patience, func() error {
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if calls[0].Load() == before {
				return errors.New("it was not called")
			}
			return nil
		})
	})
}

func TestDialRefusesInvalidAddresses(t *testing.T) {
	for _, addr := range []string{"\x00", "127.0.0.1:1,", ",127.0.0.1:1", "127.0.0.1:1,127.0.0.1", "127.0.0.1:1,:2"} {
		if conn, err := rpc.Dial(addr, rpc.DialOptions{}); err == nil {
			conn.Close()
			t.Errorf("dialed %q", addr)
		}
	}
}
