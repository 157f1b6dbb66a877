package outbox_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	if os.Getenv(relayEnv) != "" {
		relayProcess()
		return
	}
	testkit.Main(m)
}

const (
	patience = time.Minute
	subject  = "customer.v1.customer_created"
)

// schema has the table in which the idempotent consumer of these tests records its effects.
var schema = pg.Migrations{Part: "sample", FS: fstest.MapFS{
	"0001_effects.sql": {Data: []byte("-- +goose Up\ncreate table effects (event_id uuid not null, what text not null);\n")},
}}

// world is the database and the bus that the processes of a service share.
type world struct {
	db      *pg.DB
	bus     *bus.Bus
	company id.Company
	appURL  string

	ownerURL string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, testkit.Bus(t))
}

func newWorldOn(t *testing.T, b *bus.Bus) *world {
	t.Helper()
	ownerURL, appURL := testkit.DBURLs(t, schema)
	w := &world{bus: b, company: id.New[id.Company](), appURL: appURL, ownerURL: ownerURL}
	w.db = w.pool(t)
	return w
}

// pool is another process's connection to the database.
func (w *world) pool(t *testing.T) *pg.DB {
	t.Helper()
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(w.appURL)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func (w *world) outbox(t *testing.T) *outbox.Outbox {
	t.Helper()
	return outbox.New(w.db, w.bus, testkit.Log(t), time.Now)
}

func (w *world) event(text string) outbox.Event {
	return outbox.Event{Company: w.company, Subject: subject, Payload: wrapperspb.String(text)}
}

func (w *world) events(n int) []outbox.Event {
	all := make([]outbox.Event, n)
	for i := range all {
		all[i] = w.event(fmt.Sprint(i))
	}
	return all
}

// commit appends events in a separate transaction.
func (w *world) commit(t *testing.T, o *outbox.Outbox, events ...outbox.Event) {
	t.Helper()
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return o.Append(ctx, tx, events...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// exec runs a statement without the package under test.
func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Pool().Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) count(t *testing.T, sql string) int64 {
	t.Helper()
	n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// stored returns how many events the stream has.
func (w *world) stored(t *testing.T) int64 {
	t.Helper()
	s, err := w.bus.JetStream().Stream(t.Context(), strings.ToUpper(w.bus.Prefix())+"_EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	return int64(s.CachedInfo().State.Msgs)
}

func (w *world) waitDrained(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if n := w.count(t, `select count(*) from outbox`); n > 0 {
			return fmt.Errorf("%d events are waiting", n)
		}
		return nil
	})
}

// background runs f until the returned function is called, or t ends.
func background(t *testing.T, f func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("returned %v", err)
			}
		case <-time.After(patience):
			t.Error("did not return")
		}
	}
	t.Cleanup(stop)
	return stop
}

// consume writes a row for every event that it has not seen before.
func (w *world) consume(t *testing.T) {
	t.Helper()
	background(t, func(ctx context.Context) error {
		return w.bus.Consume(ctx, bus.Consumer{Name: "effects", Subjects: []string{subject}, AckWait: 2 * time.Second, Handle: w.effect})
	})
}

func (w *world) effect(ctx context.Context, msgs []bus.Message) error {
	return w.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		fresh, err := inbox.Once(ctx, tx, "effects", msgs)
		if err != nil {
			return err
		}
		for _, m := range fresh {
			var text wrapperspb.StringValue
			if err := unmarshal(m.Payload, &text); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `insert into effects (event_id, what) values ($1, $2)`, m.ID, text.GetValue()); err != nil {
				return err
			}
		}
		return nil
	})
}

// wantEffects waits until each of n events has had its effect, and checks that no event had
// more than one.
func (w *world) wantEffects(t *testing.T, n int64) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if got := w.count(t, `select count(distinct what) from effects`); got != n {
			return fmt.Errorf("%d of %d effects", got, n)
		}
		return nil
	})
	if got := w.count(t, `select count(*) from effects`); got != n {
		t.Errorf("%d effects of %d events", got, n)
	}
}
