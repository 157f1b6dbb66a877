package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
)

func TestFaultsArriveUnchanged(t *testing.T) {
	p := newPart(t, nil)
	fields := []fault.Field{{Field: "lines[0].spaces", Rule: "range", Message: "must be at least 1"}, {Field: "email", Rule: "format", Message: "is no address"}}
	for name, want := range map[string]*fault.Error{
		"fields":                      fault.InvalidFields(fields...),
		"a parameter":                 fault.InvalidParameter("page", "type", "must be a whole number"),
		"facts":                       fault.Refuse("SOLD_OUT", "the date is full").With("left", "0").With("date", "evd_1"),
		"a RetryAfter":                fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "too many requests").After(1500 * time.Millisecond),
		"a conflict":                  fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "still running").After(time.Second),
		"a missing resource":          fault.Missing("customer"),
		"a stale version":             fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "changed since"),
		"a request that is too large": fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, "too large"),
		"an unavailable dependency":   fault.Away(nil),
		"text in several scripts":     fault.Refuse("X", "Zoë’s \"class\" – 日本\n"),
	} {
		t.Run(name, func(t *testing.T) {
			p.does(func(context.Context) error {
				return fmt.Errorf("load customer 7: %w", want.Because(errors.New("secret cause")))
			})
			_, err := p.client.UnaryCall(p.reader(), &grpc_testing.SimpleRequest{})
			for which, err := range map[string]error{"unary": err, "stream": p.output(p.reader())} {
				got := fault.From(err)
				if got.Kind != want.Kind || got.Reason != want.Reason || got.Message != want.Message || got.RetryAfter != want.RetryAfter ||
					!reflect.DeepEqual(got.Fields, want.Fields) || !reflect.DeepEqual(got.Meta, want.Meta) {
					t.Errorf("%s: got %+v, want %+v", which, got, want)
				}
				if text := fmt.Sprint(status.Convert(err).Proto()); strings.Contains(text, "secret") || strings.Contains(text, "customer 7") {
					t.Errorf("%s: the caller gets %s", which, text)
				}
			}
		})
	}
}

// Invariants 3 and 4.
func TestOtherErrorsAreHidden(t *testing.T) {
	p := newPart(t, nil)
	calls := map[string]func() error{
		"unary":  func() error { _, err := p.client.UnaryCall(p.request(), request("the request's text")); return err },
		"stream": func() error { return p.output(p.request()) },
	}
	outcomes := map[string]struct {
		do     func(context.Context) error
		logged string
	}{
		"an error":                   {func(context.Context) error { return fmt.Errorf("insert: %w", errors.New("duplicate zoe@example.com")) }, "insert: duplicate zoe@example.com"},
		"an Internal fault":          {func(context.Context) error { return fault.New(fault.Internal, "BROKEN", "duplicate zoe@example.com") }, "duplicate zoe@example.com"},
		"a status of another server": {func(context.Context) error { return status.Error(codes.DataLoss, "duplicate zoe@example.com") }, "duplicate zoe@example.com"},
		"a panic":                    {func(context.Context) error { panic("duplicate zoe@example.com") }, "panic: duplicate zoe@example.com"},
		"a panic of an error":        {func(context.Context) error { panic(errors.New("duplicate zoe@example.com")) }, "panic: duplicate zoe@example.com"},
		"a nil dereference":          {func(context.Context) error { return (*nothing)(nil).do() }, "nil pointer dereference"},
	}
	for name, o := range outcomes {
		for which, call := range calls {
			t.Run(name+", "+which, func(t *testing.T) {
				p.does(o.do)
				p.log.take()
				err := call()
				f := is(t, err, fault.Internal, fault.ReasonInternal)
				if f.Message != "internal error" || status.Code(err) != codes.Internal {
					t.Errorf("the caller gets %q, %s", f.Message, status.Code(err))
				}
				if text := fmt.Sprint(status.Convert(err).Proto()); strings.Contains(text, "zoe") || strings.Contains(text, "BROKEN") {
					t.Errorf("the caller gets %s", text)
				}
				log := p.log.take()
				if strings.Count(log, "level=ERROR") != 1 || strings.Count(log, "\n") != 1 || !strings.Contains(log, o.logged) || !strings.Contains(log, "request_id=r1") {
					t.Errorf("logged: %s", log)
				}
				if strings.Contains(log, "the request's text") || strings.Contains(log, rpc.ClaimsFrom(p.request()).Raw) {
					t.Errorf("the request is logged: %s", log)
				}
				if strings.HasPrefix(o.logged, "panic") && !strings.Contains(log, "outcome_test.go") {
					t.Errorf("logged without the stack: %s", log)
				}
				p.does(nil)
				if _, err := p.client.UnaryCall(p.request(), &grpc_testing.SimpleRequest{}); err != nil {
					t.Errorf("the next call: %v", err)
				}
			})
		}
	}
}

type nothing struct{ err error }

func (n *nothing) do() error { return n.err }

func request(body string) *grpc_testing.SimpleRequest {
	return &grpc_testing.SimpleRequest{Payload: &grpc_testing.Payload{Body: []byte(body)}}
}

// request returns the ctx of reader with a request id and always the same token.
func (p *part) request() context.Context {
	p.once.Do(func() { p.token = p.issuer.Client(p.company, "customers:read", "bookings:read") })
	return rpc.WithRequestID(p.as(p.token), "r1")
}

func TestNothingSecretIsLogged(t *testing.T) {
	p := newPart(t, nil)
	good := p.issuer.Client(p.company, "customers:write")
	forged := good[:len(good)-4] + "AAAA"
	for _, raw := range []string{good, forged, "Basic-secret-text"} {
		_ = p.raw(unary, "authorization", "Bearer "+raw, "idempotency-key", "my-key")
		_ = p.raw(unary, "authorization", raw)
	}
	p.does(func(context.Context) error { return errors.New("broken") })
	_, _ = p.client.UnaryCall(rpc.WithIdempotencyKey(p.request(), "my-key"), request("my-body"))
	log := p.log.take()
	if strings.Count(log, "rpc failed") != 7 {
		t.Errorf("not all are logged: %s", log)
	}
	for _, secret := range []string{good, forged, good[strings.LastIndexByte(good, '.'):], p.token, "Basic-secret-text", "my-key", "my-body"} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is logged: %s", secret, log)
		}
	}
}

func TestCallsThatTheCallerEnds(t *testing.T) {
	p := newPart(t, nil)
	if _, err := p.client.EmptyCall(t.Context(), &grpc_testing.Empty{}); err != nil { // connects before a deadline begins
		t.Fatal(err)
	}
	for name, end := range map[string]func(ctx context.Context, began <-chan struct{}) (context.Context, context.CancelFunc){
		"its deadline": func(ctx context.Context, _ <-chan struct{}) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
		"its cancellation": func(ctx context.Context, began <-chan struct{}) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				<-began
				cancel()
			}()
			return ctx, cancel
		},
	} {
		t.Run(name+" also ends the method, and is not logged as an error", func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			p.does(func(ctx context.Context) error {
				close(began)
				<-ctx.Done()
				ended <- ctx.Err()
				return fmt.Errorf("query: %w", ctx.Err())
			})
			ctx, cancel := end(p.reader(), began)
			defer cancel()
			_, err := p.client.UnaryCall(ctx, &grpc_testing.SimpleRequest{})
			is(t, err, fault.Unavailable, fault.ReasonServiceUnavailable)
			if code := status.Code(err); code != codes.DeadlineExceeded && code != codes.Canceled {
				t.Errorf("got %s", code)
			}
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("the method does not end")
			}
		})
	}
	p.srv.GracefulStop() // both calls have ended
	if log := p.log.take(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
		t.Errorf("logged: %s", log)
	}
}

func TestMessageSizes(t *testing.T) {
	p := newPart(t, nil)
	const around = 64 // the size of the message without its text
	t.Run("a request can have 5 MiB and a response 16 MiB", func(t *testing.T) {
		room := rpc.MaxMessage - around
		req := &grpc_testing.SimpleRequest{ResponseSize: int32(room), Payload: &grpc_testing.Payload{Body: make([]byte, rpc.MaxRequest-around)}}
		res, err := p.client.UnaryCall(p.reader(), req)
		if err != nil || len(res.GetPayload().GetBody()) != room {
			t.Fatalf("got %d bytes, %v", len(res.GetPayload().GetBody()), err)
		}
	})
	t.Run("a larger message is refused by the sender and by the receiver", func(t *testing.T) {
		big := &grpc_testing.SimpleRequest{Payload: &grpc_testing.Payload{Body: make([]byte, rpc.MaxRequest)}}
		_, err := p.client.UnaryCall(p.reader(), big)
		is(t, err, fault.TooLarge, fault.ReasonPayloadTooLarge)

		_, err = p.strangersClient().UnaryCall(p.signed(), big)
		is(t, err, fault.TooLarge, fault.ReasonPayloadTooLarge)

		_, err = p.client.UnaryCall(p.reader(), &grpc_testing.SimpleRequest{ResponseSize: rpc.MaxMessage})
		is(t, err, fault.TooLarge, fault.ReasonPayloadTooLarge)
	})
}

func TestMetrics(t *testing.T) {
	metrics := prometheus.NewRegistry()
	share := func(o *rpc.ServerOptions) { o.Metrics, o.Part = metrics, "test" }
	for range 2 { // two servers of one service share the metrics
		p := newPart(t, share)
		_, _ = p.client.EmptyCall(t.Context(), &grpc_testing.Empty{})
		_, _ = p.client.UnaryCall(p.reader(), &grpc_testing.SimpleRequest{})
		_, _ = p.client.UnaryCall(t.Context(), &grpc_testing.SimpleRequest{})
		p.does(func(context.Context) error { panic("x") })
		_, _ = p.client.UnaryCall(p.reader(), &grpc_testing.SimpleRequest{})
		_ = p.output(p.reader())
	}
	want := map[string]uint64{
		empty + " OK": 2, unary + " OK": 2, unary + " Unauthenticated": 2, unary + " Internal": 2, output + " Internal": 2,
	}
	testkit.Eventually(t, patience, func() error { // a call is counted when its response is sent
		got, err := counts(metrics)
		if err == nil && !reflect.DeepEqual(got, want) {
			err = fmt.Errorf("got %v, want %v", got, want)
		}
		return err
	})
	if problems, err := testutil.GatherAndLint(metrics); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// counts returns the number of counted calls by method and code.
func counts(metrics prometheus.Gatherer) (map[string]uint64, error) {
	families, err := metrics.Gather()
	if err != nil {
		return nil, err
	}
	got := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() != "rpc_server_duration_seconds" || labels["part"] != "test" {
				return nil, fmt.Errorf("%s %v", f.GetName(), labels)
			}
			got[labels["method"]+" "+labels["code"]] = m.GetHistogram().GetSampleCount()
		}
	}
	return got, nil
}
