package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/services/webhook/message"
)

// rows counts rows in the database.
func (w *world) rows(sql string, args ...any) int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), sql, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// queueAbout queues a registration of a customer.
func (w *world) queueAbout(customer id.Customer) error {
	m := message.Message{ID: id.New[id.WebhookMessage](), Company: w.company, Event: "registration.created", OccurredAt: time.Now(), Customers: []id.Customer{customer}}
	m.JSON = message.Envelope(&m, fmt.Appendf(nil, `{"customerId":%q}`, customer))
	return w.engine.queue(w.t.Context(), []message.Message{m})
}

func TestErasure(t *testing.T) { // invariant 11
	t.Parallel()
	w := open(t, quick())
	sending, answered := make(chan struct{}), make(chan struct{})
	answer := sync.OnceFunc(func() { close(answered) })
	var requests atomic.Int64
	receiver := newPlainServer(t, func(rw http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 { // it hangs until the customer is erased
			close(sending)
			<-answered
		}
		_, _ = rw.Write([]byte("thanks"))
	})
	t.Cleanup(answer)
	w.endpoint(receiver.URL)
	gone, stays := id.New[id.Customer](), id.New[id.Customer]()
	if err := w.queueAbout(gone); err != nil {
		t.Fatal(err)
	}
	<-sending
	if err := w.queueAbout(stays); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() error {
		if n := w.rows(`select count(*) from attempts`); n != 1 {
			return fmt.Errorf("%d attempts", n)
		}
		return nil
	})
	e := privacy.Erasure{Company: w.company, Customer: gone, At: time.Now()}
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, e.Company, e.Customer, e.At)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be repeated
		if err := w.engine.store.erase(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	answer()

	t.Run("an attempt under way leaves no trace, and a late event creates none", func(t *testing.T) {
		if err := w.queueAbout(gone); err != nil {
			t.Fatal(err)
		}
		w.stop() // every outcome is written by then
		for _, table := range []string{"messages", "deliveries", "attempts"} {
			if n := w.rows(`select count(*) from ` + table); n != 1 {
				t.Errorf("%d %s", n, table)
			}
		}
		if n := w.rows(`select count(*) from messages where position(convert_to($1, 'UTF8') in body) > 0`, stays.String()); n != 1 {
			t.Error("the wrong message is left")
		}
	})
}

// TestErasureWaitsForAnOutcome erases a customer while the outcome of a delivery is being stored.
func TestErasureWaitsForAnOutcome(t *testing.T) { // invariant 11
	t.Parallel()
	w := open(t, quick())
	receiver := newPlainServer(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("thanks")) })
	w.endpoint(receiver.URL)
	gone := id.New[id.Customer]()
	if err := w.queueAbout(gone); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() error {
		if n := w.rows(`select count(*) from attempts`); n != 1 {
			return fmt.Errorf("%d attempts", n)
		}
		return nil
	})
	w.stop()

	erased := make(chan error, 1)
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		var pid int
		if err := tx.QueryRow(ctx, `select pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		// As settleSQL does.
		if _, err := tx.Exec(ctx, `update deliveries set attempts = 2`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into attempts select company_id, delivery_id, 2, at, duration_us, outcome, failure, status, message, response,
			reused, url, secret_ids from attempts`)
		if err != nil {
			return err
		}
		go func() {
			erased <- w.engine.store.erase(context.WithoutCancel(t.Context()), privacy.Erasure{Company: w.company, Customer: gone, At: time.Now()})
		}()
		waitFor(t, func() error {
			var waiting int
			if err := tx.QueryRow(ctx, `select count(*) from pg_stat_activity where $1 = any (pg_blocking_pids(pid))`, pid).Scan(&waiting); err != nil {
				return err
			}
			if waiting == 0 {
				return errors.New("the erasure does not wait for the outcome")
			}
			return nil
		})
		return nil
	})
	if err = errors.Join(err, <-erased); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"messages", "deliveries", "attempts"} {
		if n := w.rows(`select count(*) from ` + table); n != 0 {
			t.Errorf("%d %s", n, table)
		}
	}
}
