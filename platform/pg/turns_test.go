package pg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// patience limits the waits of these tests, which otherwise end on a signal.
const patience = time.Minute

// TestTurns checks invariant 8 on PostgreSQL: what one company waits for does not hold up another.
func TestTurns(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, things())
	owner := open(t, ownerURL, pg.Config{})
	for _, size := range []struct{ connections, writes int }{{3, 1}, {4, 2}, {8, 4}} {
		db := open(t, appURL, pg.Config{MaxConns: size.connections})
		busy, other := id.New[id.Company](), id.New[id.Company]()
		seed(t, db, 1, busy, other)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		name := fmt.Sprint("with ", size.connections, " connections, ")

		t.Run(name+"the writes of a company that wait for a row leave turns to others", func(t *testing.T) {
			unlock := lockRow(t, db, owner, busy)
			const writes = 64
			var all sync.WaitGroup
			for range writes {
				all.Go(func() {
					if err := db.InTx(ctx, pg.For(busy), rename); err != nil {
						t.Error(err)
					}
				})
			}
			// The writes that have turns wait for the row; the others wait for turns.
			awaitMetric(t, db, "write", float64(writes-size.writes))
			testkit.Eventually(t, patience, func() error { return lockWaits(ctx, owner, size.writes) })

			if err := useAll(ctx, db, other); err != nil {
				t.Error(err)
			}
			if err := useAll(ctx, db, id.New[id.Company]()); err != nil {
				t.Error(err)
			}
			if n, err := pg.One[int64](ctx, db, pg.AllCompanies(), `select count(*) from things`); err != nil || n == 0 {
				t.Errorf("a job reads %d rows: %v", n, err)
			}
			if _, err := pg.Rows[thing](ctx, db, pg.For(busy), selectThings); err != nil {
				t.Errorf("a read of the same company: %v", err)
			}
			if err := lockWaits(ctx, owner, size.writes); err != nil {
				t.Errorf("the row did not stay locked: %v", err)
			}
			unlock()
			all.Wait()
		})
		t.Run(name+"a stream whose reader has stopped does not hold up reads", func(t *testing.T) {
			reading, stop := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				ended <- db.Stream(ctx, pg.For(busy), `select 1`, nil, func(pgx.Rows) error {
					close(reading)
					<-stop
					return nil
				})
			}()
			<-reading
			for _, company := range []id.Company{busy, other} {
				if _, err := pg.Rows[thing](ctx, db, pg.For(company), selectThings); err != nil {
					t.Error(err)
				}
			}
			if err := db.InTx(ctx, pg.For(other), rename); err != nil {
				t.Error(err)
			}
			close(stop)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTooManyWait checks the fault of requests beyond the queue of their company.
func TestTooManyWait(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, things())
	owner := open(t, ownerURL, pg.Config{})
	db := open(t, appURL, pg.Config{MaxConns: 8})
	busy, other := id.New[id.Company](), id.New[id.Company]()
	seed(t, db, 1, busy, other)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	unlock := lockRow(t, db, owner, busy)

	const queued, writes = 384, 4
	done, leave := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range queued + writes {
		all.Go(func() {
			if err := db.InTx(done, pg.For(busy), rename); err != nil && done.Err() == nil {
				t.Error(err)
			}
		})
	}
	awaitMetric(t, db, "write", queued)

	t.Run("the next one is refused immediately, without a connection", func(t *testing.T) {
		touched := false
		err := db.InTx(ctx, pg.For(busy), func(context.Context, *pg.Tx) error {
			touched = true
			return nil
		})
		f := fault.From(pg.Fault(err, nil))
		if f.Kind != fault.Unavailable || f.Reason != fault.ReasonServiceUnavailable || f.RetryAfter != time.Second || touched {
			t.Errorf("the fault is %v, to be retried after %s", f, f.RetryAfter)
		}
		if got := metric(t, db, "pg_turns_refused_total", "write"); got != 1 {
			t.Errorf("%v refused requests are counted", got)
		}
	})
	t.Run("reads of the company and all requests of others are not refused", func(t *testing.T) {
		if _, err := pg.Rows[thing](ctx, db, pg.For(busy), selectThings); err != nil {
			t.Error(err)
		}
		if err := useAll(ctx, db, other); err != nil {
			t.Error(err)
		}
	})
	t.Run("requests that give up leave the queue", func(t *testing.T) {
		leave()
		awaitMetric(t, db, "write", 0)
	})
	unlock()
	all.Wait()
	if err := db.InTx(ctx, pg.For(busy), rename); err != nil {
		t.Error(err)
	}
}

// rename changes the only row of a company.
func rename(ctx context.Context, tx *pg.Tx) error {
	_, err := tx.Exec(ctx, `update things set name = 'another' where id = 1`)
	return err
}

// useAll reads, writes and streams once for a company.
func useAll(ctx context.Context, db *pg.DB, company id.Company) error {
	_, read := pg.Rows[thing](ctx, db, pg.For(company), selectThings)
	write := db.InTx(ctx, pg.For(company), rename)
	stream := db.Stream(ctx, pg.For(company), selectThings, nil, func(pgx.Rows) error { return nil })
	return errors.Join(read, write, stream)
}

// lockRow locks the only row of a company from outside until unlock is called.
func lockRow(t *testing.T, db, owner *pg.DB, company id.Company) (unlock func()) {
	t.Helper()
	c, err := pgx.ConnectConfig(t.Context(), db.Pool().Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	for _, q := range []pg.Query{
		{SQL: "begin"},
		{SQL: "select set_config('app.company_id', $1::uuid::text, true)", Args: []any{company}},
		{SQL: "select from things where id = 1 for update"},
	} {
		if _, err := c.Exec(t.Context(), q.SQL, q.Args...); err != nil {
			t.Fatal(err)
		}
	}
	return sync.OnceFunc(func() {
		if _, err := c.Exec(context.Background(), "commit"); err != nil {
			t.Error(err)
		}
	})
}

// lockWaits returns an error unless exactly n sessions of the database wait for a lock.
func lockWaits(ctx context.Context, owner *pg.DB, n int) error {
	got, err := pg.One[int64](ctx, owner, pg.Scope{}, `select count(*) from pg_locks
		where not granted and pid in (select pid from pg_stat_activity where datname = current_database())`)
	if err == nil && got != int64(n) {
		err = fmt.Errorf("%d sessions wait for a lock, want %d", got, n)
	}
	return err
}

// awaitMetric returns when n requests of a class wait for their turn.
func awaitMetric(t *testing.T, db *pg.DB, class string, n float64) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if got := metric(t, db, "pg_turns_waiting", class); got != n {
			return fmt.Errorf("%v requests wait, want %v", got, n)
		}
		return nil
	})
}

// metric returns the value of a metric of a class.
func metric(t *testing.T, db *pg.DB, name, class string) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := db.Collect(r, ""); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == class {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no metric %s of the class %s", name, class)
	return 0
}
