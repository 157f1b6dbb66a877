package outbox_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
)

// The statements of the previous release, whose relay does not set a company.
const (
	formerAppendSQL = `insert into outbox (id, company_id, subject, payload, trace, occurred_at)
		select e.id, e.company_id, e.subject, e.payload, e.trace::jsonb, e.occurred_at
		from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::timestamptz[])
			as e (id, company_id, subject, payload, trace, occurred_at)`
	formerClaimSQL = `update outbox set lease = $1, lease_until = now() + make_interval(secs => $2), attempt = attempt + 1
		where id in (
			select id from outbox where lease_until is null or lease_until <= now()
			order by created_at, id limit $3 for update skip locked)
		returning id, company_id, subject, payload, trace, occurred_at, created_at, attempt`
	formerDeleteSQL  = `delete from outbox where lease = $1 and id = any($2)`
	formerReleaseSQL = `update outbox o set lease = null, lease_until = now() + make_interval(secs => r.delay)
		from unnest($2::uuid[], $3::float8[]) as r (id, delay)
		where o.id = r.id and o.lease = $1`
)

// TestPolicy checks invariant 6.
func TestPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	other := id.New[id.Company]()
	w.commit(t, o, w.events(3)...)
	t.Run("a company sees only its own events; no company sees none", func(t *testing.T) {
		for setting, want := range map[string]int64{hex.EncodeToString(w.company[:]): 3, hex.EncodeToString(other[:]): 0, "": 0, "*": 3} {
			for _, table := range []string{"outbox_events", "outbox"} {
				got, err := countAs(t, w, setting, table)
				if err != nil || got != want {
					t.Errorf("as %q, %s shows %d, %v; want %d", setting, table, got, err, want)
				}
			}
		}
	})
	t.Run("a company can write its own events and those of the installation", func(t *testing.T) {
		stranger := w.event("x")
		stranger.Company = other
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error { return o.Append(ctx, tx, stranger) })
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "42501" {
			t.Errorf("another company's event: %v", err)
		}
		installation := w.event("x")
		installation.Company = id.Company{}
		err = w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error { return o.Append(ctx, tx, installation) })
		if err != nil {
			t.Errorf("an event of the installation: %v", err)
		}
	})
}

// countAs counts the rows of a table that a transaction with the setting sees.
func countAs(t *testing.T, w *world, setting, table string) (n int64, err error) {
	t.Helper()
	err = pgx.BeginFunc(t.Context(), w.db.Pool(), func(tx pgx.Tx) error {
		// Test servers run with synchronous_commit off, by which the previous
		// release's relay is known.
		if _, err := tx.Exec(t.Context(), `select set_config('synchronous_commit', 'on', true), set_config('app.company_id', $1, true)`, setting); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), `select count(*) from `+table).Scan(&n)
	})
	return n, err
}

// TestPreviousReleaseStillWorks appends, copies, claims, releases and deletes as the
// previous release does, which uses the former name of the table.
func TestPreviousReleaseStillWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	newID := func() [16]byte { return id.NewUUID() }
	at := time.Now()
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, formerAppendSQL, [][16]byte{newID(), newID()}, [][16]byte{w.company, {}}, []string{subject, subject},
			[][]byte{{1}, {2}}, []*string{nil, nil}, []time.Time{at, at})
		return err
	})
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	copied := [][]any{{newID(), [16]byte(w.company), subject, []byte{3}, nil, at}}
	err = w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"outbox"}, []string{"id", "company_id", "subject", "payload", "trace", "occurred_at"}, pgx.CopyFromRows(copied))
		return err
	})
	if err != nil {
		t.Fatalf("copy: %v", err)
	}
	lease, claimed := newID(), [][16]byte{}
	batch := &pgx.Batch{}
	batch.Queue(`select set_config('synchronous_commit', 'off', true)`)
	batch.Queue(formerClaimSQL, lease, 30.0, 500).Query(func(rows pgx.Rows) (err error) {
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			claimed = append(claimed, values[0].([16]byte))
		}
		return rows.Err()
	})
	if err := w.db.Pool().SendBatch(t.Context(), batch).Close(); err != nil || len(claimed) != 3 {
		t.Fatalf("claimed %d, %v", len(claimed), err)
	}
	batch = &pgx.Batch{}
	batch.Queue(`select set_config('synchronous_commit', 'off', true)`)
	batch.Queue(formerDeleteSQL, lease, claimed[:1])
	batch.Queue(formerReleaseSQL, lease, claimed[1:], []float64{0, 0})
	if err := w.db.Pool().SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, `select count(*) from outbox_events where lease is null and attempt = 1`); n != 2 {
		t.Errorf("%d events were released, want 2", n)
	}
	background(t, w.outbox(t).Run)
	w.waitDrained(t)
}

// TestClaimPlan checks that the policy does not slow down the relay's claim: the claim reads the
// oldest events by the index, and the policy's functions run once per statement. It also checks
// that a search does not pass the index entries of the events that it has deleted, although
// another transaction still sees them.
func TestClaimPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	for range 10 {
		w.commit(t, o, w.events(1000)...)
	}
	plan := w.explainClaim(t, time.Time{})
	if !strings.Contains(plan, "Index Scan using outbox_claim") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") || strings.Contains(plan, "loops=501") {
		t.Errorf("the plan of a claim:\n%s", plan)
	}

	observer, err := w.db.Pool().BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = observer.Rollback(context.Background()) }()
	var last time.Time
	if err := observer.QueryRow(t.Context(), `select now()`).Scan(&last); err != nil {
		t.Fatal(err)
	}
	all := pg.AllCompanies()
	err = w.db.InTx(t.Context(), all, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `delete from outbox_events`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.commit(t, o, w.events(1)...)
	whole, rest := reads(t, w.explainClaim(t, time.Time{})), reads(t, w.explainClaim(t, last))
	if rest > 100 || whole < 10*rest {
		t.Errorf("after a backlog, a claim reads %d pages, and %d pages from the place where the search continues", whole, rest)
	}
}

// TestPlansAfterTheTableWasEmpty checks that a relay's statements read few pages although PostgreSQL
// has run them several times on an almost empty table, which is then full of dead rows.
func TestPlansAfterTheTableWasEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	connect := func(url string) *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		return conn
	}
	owner, relay := connect(w.ownerURL), connect(w.appURL)
	w.commit(t, o, w.events(1)...)
	if _, err := owner.Exec(t.Context(), `vacuum (analyze) outbox_events`); err != nil {
		t.Fatal(err)
	}
	statements := map[string]struct{ sql, types, values string }{
		"claim":   {outbox.ClaimSQL, "uuid, float8, bigint, timestamptz, uuid", "gen_random_uuid(), 30, 500, now() - interval '1 second', gen_random_uuid()"},
		"delete":  {outbox.DeleteSQL, "uuid, uuid[]", "gen_random_uuid(), array[gen_random_uuid(), gen_random_uuid()]"},
		"release": {outbox.ReleaseSQL, "uuid, uuid[], float8[]", "gen_random_uuid(), array[gen_random_uuid(), gen_random_uuid()], array[1, 1]"},
	}
	// run runs one of them as a relay does, undoes it, and returns its plan.
	run := func(name, values string) string {
		tx, err := relay.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		if _, err := tx.Exec(t.Context(), outbox.BeginSQL); err != nil {
			t.Fatal(err)
		}
		rows, err := tx.Query(t.Context(), `explain (analyze, buffers, costs off, timing off, summary off) execute `+name+`(`+values+`)`, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(plan, "\n")
	}
	for name, s := range statements {
		if _, err := relay.Exec(t.Context(), fmt.Sprintf(`prepare %s (%s) as %s`, name, s.types, s.sql), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		for range 7 { // PostgreSQL considers one plan for all values after five
			run(name, s.values)
		}
	}
	observer, err := w.db.Pool().BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = observer.Rollback(context.Background()) }()
	if _, err := observer.Exec(t.Context(), `select now()`); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		w.commit(t, o, w.events(1000)...)
	}
	err = w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `delete from outbox_events`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range statements {
		values := strings.Replace(s.values, "now() - interval '1 second'", "now() + interval '1 second'", 1)
		if plan := run(name, values); reads(t, plan) > 50 {
			t.Errorf("%s reads %d pages:\n%s", name, reads(t, plan), plan)
		}
	}
}

// explainClaim returns the plan of a claim of the rows after an instant.
func (w *world) explainClaim(t *testing.T, after time.Time) (plan string) {
	t.Helper()
	return w.explain(t, outbox.ClaimSQL, [16]byte(id.NewUUID()), 30.0, 500, after, id.UUID{})
}

// explain returns the plan of a relay's statement, and undoes what it did.
func (w *world) explain(t *testing.T, sql string, args ...any) (plan string) {
	t.Helper()
	undo := errors.New("undo")
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, outbox.BeginSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `explain (analyze, buffers, costs off, timing off, summary off) `+sql, args...)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan = strings.Join(lines, "\n")
		return errors.Join(err, undo)
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	return plan
}

// reads returns the number of pages that a plan has read.
func reads(t *testing.T, plan string) int {
	t.Helper()
	for line := range strings.Lines(plan) {
		if _, found, ok := strings.Cut(line, "shared hit="); ok {
			n, err := strconv.Atoi(strings.FieldsFunc(found, func(r rune) bool { return r < '0' || r > '9' })[0])
			if err != nil {
				t.Fatal(err)
			}
			return n // of the whole statement
		}
	}
	t.Fatalf("no pages in the plan:\n%s", plan)
	return 0
}
