package outbox_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
)

func unmarshal(payload []byte, m proto.Message) error { return proto.Unmarshal(payload, m) }

// received returns the first n messages of the bus.
func received(t *testing.T, b *bus.Bus, n int, subjects ...string) []bus.Message {
	t.Helper()
	var mu sync.Mutex
	var got []bus.Message
	full := make(chan struct{})
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, bus.Consumer{Name: "reader", Subjects: subjects, Handle: func(_ context.Context, msgs []bus.Message) error {
			mu.Lock()
			defer mu.Unlock()
			before := len(got)
			got = append(got, msgs...)
			if before < n && len(got) >= n {
				close(full)
			}
			return nil
		}})
	})
	select {
	case <-full:
	case <-time.After(patience):
		t.Fatal("the messages did not arrive")
	}
	mu.Lock()
	defer mu.Unlock()
	return got
}

func TestAppend(t *testing.T) {
	t.Parallel()
	t.Run("publishes committed events as they were appended (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		now := time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)
		o := outbox.New(w.db, w.bus, testkit.Log(t), func() time.Time { return now })
		span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
		given := w.event("given")
		given.ID, given.OccurredAt = id.NewUUID(), now.Add(-time.Hour)
		ctx := trace.ContextWithSpanContext(t.Context(), span)
		err := w.db.InTx(ctx, pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return o.Append(ctx, tx, given, w.event("filled in"))
		})
		if err != nil {
			t.Fatal(err)
		}
		background(t, o.Run)
		for _, m := range received(t, w.bus, 2, subject) {
			var text wrapperspb.StringValue
			if err := unmarshal(m.Payload, &text); err != nil {
				t.Fatal(err)
			}
			wantID, wantTime := m.ID, now
			if text.GetValue() == "given" {
				wantID, wantTime = given.ID, given.OccurredAt
			}
			if m.ID != wantID || m.ID.IsZero() || !m.OccurredAt.Equal(wantTime) || m.Company != w.company || m.Subject != subject {
				t.Errorf("%s: got %+v", text.GetValue(), m)
			}
			if got := trace.SpanContextFromContext(m.Context(t.Context())); got.TraceID() != span.TraceID() || got.SpanID() != span.SpanID() {
				t.Errorf("%s: trace %v", text.GetValue(), m.Trace)
			}
		}
		w.waitDrained(t)
	})

	t.Run("events carry the request and the trace that caused them", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		causedBy := func(requestID string, first byte) context.Context {
			span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{first}, SpanID: trace.SpanID{first}, TraceFlags: trace.FlagsSampled})
			return trace.ContextWithSpanContext(rpc.WithRequestID(t.Context(), requestID), span)
		}
		shared := w.event("of the request whose commit it is")
		other := w.event("of another that shares the commit")
		other.Cause = outbox.CauseOf(causedBy("r2", 2))
		err := w.db.InTx(causedBy("r1", 1), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return o.Append(ctx, tx, shared, other)
		})
		if err != nil {
			t.Fatal(err)
		}
		background(t, o.Run)
		for _, m := range received(t, w.bus, 2, subject) {
			var text wrapperspb.StringValue
			if err := unmarshal(m.Payload, &text); err != nil {
				t.Fatal(err)
			}
			wantRequest, wantTrace := "r1", trace.TraceID{1}
			if strings.HasPrefix(text.GetValue(), "of another") {
				wantRequest, wantTrace = "r2", trace.TraceID{2}
			}
			if got := trace.SpanContextFromContext(m.Context(t.Context())).TraceID(); got != wantTrace || m.Trace[bus.RequestID] != wantRequest {
				t.Errorf("%s: carries %v", text.GetValue(), m.Trace)
			}
		}
		w.waitDrained(t)
	})
}

func TestAppendInTransactions(t *testing.T) {
	t.Parallel()
	t.Run("never publishes events that were rolled back (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		gone := errors.New("changed my mind")
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			if err := o.Append(ctx, tx, w.event("never")); err != nil {
				return err
			}
			return gone
		})
		if !errors.Is(err, gone) {
			t.Fatal(err)
		}
		w.commit(t, o, w.event("committed"))
		background(t, o.Run)
		w.waitDrained(t)
		if n := w.stored(t); n != 1 {
			t.Errorf("%d published, want 1", n)
		}
	})

	t.Run("accepts an event without a company", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		w.commit(t, o, outbox.Event{Subject: "auth.v1.company_created", Payload: &wrapperspb.StringValue{}})
		background(t, o.Run)
		if m := received(t, w.bus, 1, "auth.v1.*")[0]; !m.Company.IsZero() || len(m.Payload) != 0 {
			t.Errorf("got %+v", m)
		}
	})

	t.Run("accepts a call without events", func(t *testing.T) {
		w := newWorld(t)
		w.commit(t, w.outbox(t))
	})

	t.Run("Append refuses an event that NATS would refuse", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		large, astray := w.event(strings.Repeat("x", 1<<20)), w.event("")
		astray.Subject = "customer.created"
		for _, appended := range []func(context.Context, *pg.Tx, outbox.Event) error{
			func(ctx context.Context, tx *pg.Tx, e outbox.Event) error { return o.Append(ctx, tx, e) },
			func(ctx context.Context, tx *pg.Tx, e outbox.Event) error {
				return o.AppendAll(ctx, tx, []outbox.Event{e})
			},
		} {
			for _, e := range []outbox.Event{large, astray} {
				err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
					return appended(ctx, tx, e)
				})
				if err == nil || (e.Subject == subject) != errors.Is(err, outbox.ErrTooLarge) {
					t.Errorf("%s: %v", e.Subject, err)
				}
			}
		}
	})

	t.Run("appends and publishes thousands of events", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		events := w.events(10_000)
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return o.AppendAll(ctx, tx, events)
		})
		if err != nil {
			t.Fatal(err)
		}
		background(t, o.Run)
		w.waitDrained(t)
		if n := w.stored(t); n != 10_000 {
			t.Errorf("%d published", n)
		}
	})
}

func TestCollect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	o.SampleAlways()
	registry := prometheus.NewRegistry()
	if err := o.Collect(registry); err != nil {
		t.Fatal(err)
	}
	value := func(name string) float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		t.Fatalf("no metric %s", name)
		return 0
	}
	if value("outbox_pending") != 0 || value("outbox_oldest_age_seconds") != 0 {
		t.Error("an empty outbox has a backlog")
	}
	w.commit(t, o, w.events(3)...)
	w.exec(t, `update outbox set created_at = now() - interval '90 s' where id = (select id from outbox order by id limit 1)`)
	if n, age := value("outbox_pending"), value("outbox_oldest_age_seconds"); n != 3 || age < 90 || age > 200 {
		t.Errorf("%v pending, the oldest for %v s", n, age)
	}
	stop := background(t, o.Run)
	w.waitDrained(t)
	stop()
	if value("outbox_pending") != 0 || value("outbox_published_total") != 3 || value("outbox_publish_failures_total") != 0 {
		t.Error("the metrics do not show what was published")
	}
}

func TestRunLeaksNoGoroutines(t *testing.T) {
	w := newWorld(t)
	o := w.outbox(t)
	w.commit(t, o, w.event("warm up"))
	stop := background(t, o.Run)
	w.waitDrained(t)
	stop()
	before := goleak.IgnoreCurrent()
	stop = background(t, o.Run)
	w.commit(t, o, w.events(10)...)
	w.waitDrained(t)
	stop()
	testkit.Eventually(t, patience, func() error { return goleak.Find(before) })
}
