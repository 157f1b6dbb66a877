package move

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
)

// wantMoved checks that the company is open in to, with all rows, and that nothing is left of the copy.
func wantMoved(t *testing.T, from, to *city, company id.Company) {
	t.Helper()
	all := int64(len(Services()))
	if n := to.things(t, company); n != all*thingsOfCompany {
		t.Errorf("%s has %d rows", to.Name, n)
	}
	if marks, copies := to.marks(t, company), from.copies(t)+to.copies(t); marks != 0 || copies != 0 {
		t.Errorf("%d marks in %s, and %d publications, slots and subscriptions are left", marks, to.Name, copies)
	}
	if n := from.count(t, `select count(*) from company_moves where state = 'left' and company = any ($1)`,
		keys([]id.Company{company, company.Test()})); n != 2*all {
		t.Errorf("%s has %d marks", from.Name, n)
	}
}

// wantOpen checks that the company is open in a cell.
func wantOpen(t *testing.T, c *city, company id.Company) {
	t.Helper()
	if n := c.marks(t, company); n != 0 {
		t.Errorf("%d marks are left in %s", n, c.Name)
	}
}

// TestMoves moves companies between two servers, one after another, because some of the tests stop or change them.
func TestMoves(t *testing.T) {
	t.Parallel()
	west, east := newCity(t, "west"), newCity(t, "east")
	for name, test := range map[string]func(t *testing.T, west, east *city){
		"one command at a time moves a company":                        oneAtATime,
		"the source opens again if the target fails during the freeze": opensWithoutTarget,
		"a command that continues a move opens the source first":       opensBeforeContinuing,
		"a company does not leave before the target's standby has it":  waitsForStandby,
		"a company does not move to a cell with other rows":            refusesDifference,
		"a move begins in the database of auth":                        beginsInAuth,
		"a repeated move does not open a company that has moved on":    repeated,
		"an abort of a move back restores the mark of the first move":  restoresLeft,
		"sequences are raised without repeating a number":              raisesSequences,
		"a move whose slot is lost fails":                              needsSlot,
	} {
		t.Run(name, func(t *testing.T) { test(t, west, east) })
	}
}

func oneAtATime(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	third := *east
	cell := *east.Cell
	cell.Name, cell.Databases = "third", map[string]string{}
	for service, address := range east.Databases { // other databases of the same server
		exec(t, east.server.AdminURL(), `create database third_`+service+` template `+service)
		cell.Databases[service] = strings.Replace(address, "/"+service+"?", "/third_"+service+"?", 1)
	}
	third.Cell = &cell
	var second, abort error
	first := newMover(west, east, company, func() {
		_, second = newMover(west, &third, company, nil).Run(t.Context())
		abort = newMover(west, east, company, nil).Abort(t.Context())
	})
	if _, err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, errBusy) || !errors.Is(abort, errBusy) {
		t.Errorf("a move to a third cell: %v; an abort: %v", second, abort)
	}
	wantMoved(t, west, east, company)
	if n := third.things(t, company) + third.marks(t, company); n != 0 {
		t.Errorf("the third cell has %d rows and marks", n)
	}
}

func opensWithoutTarget(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	var m *Mover
	m = newMover(west, east, company, func() {
		east.stop(t)
		for _, d := range m.databases { // as after a statement that has failed
			_ = d.to.Close(t.Context())
		}
	})
	m.Freeze = 2 * time.Second
	if _, err := m.Run(t.Context()); err == nil {
		t.Fatal("the target has failed, and the move succeeded")
	}
	wantOpen(t, west, company)

	leaveFrozen(t, west, east, company)
	err := newMover(west, east, company, nil).Abort(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the copy stays in east: repeat --abort") {
		t.Errorf("an abort without the target: %v", err)
	}
	wantOpen(t, west, company)

	east.start(t)
	if err := newMover(west, east, company, nil).Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := east.things(t, company) + east.marks(t, company) + east.copies(t) + west.copies(t); n != 0 {
		t.Errorf("the abort has left %d rows, marks, publications, slots and subscriptions", n)
	}
}

// leaveFrozen leaves a company as a command does that is killed during the freeze.
func leaveFrozen(t *testing.T, from, to *city, company id.Company) {
	t.Helper()
	killed := newMover(from, to, company, nil)
	defer killed.close(t.Context())
	err := killed.openSource(t.Context())
	if err == nil {
		err = killed.each(t.Context(), (*database).leave)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// opensBeforeContinuing continues a move that cannot get to the next freeze.
func opensBeforeContinuing(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	leaveFrozen(t, west, east, company)
	m := newMover(west, east, company, nil)
	cell := *west.Cell
	cell.NATS.URL = "nats://127.0.0.1:1"
	m.From = &cell
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	m.Directory = opened(cancel) // it would wait for NATS
	if _, err := m.Run(ctx); err == nil {
		t.Error("the move continued without NATS")
	}
	wantOpen(t, west, company)
	if _, err := newMover(west, east, company, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantMoved(t, west, east, company)
}

func waitsForStandby(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := newMover(west, east, company, func() {
		east.losesStandby(t)
		go func() { // the freeze ends while the command waits for the standby in every database
			defer cancel()
			_ = east.awaitWaiting(ctx, "reservectl company move", len(Services()))
		}()
	})
	if _, err := m.Run(ctx); err == nil || !strings.Contains(err.Error(), "the standby of the target has not received all changes") {
		t.Errorf("without a standby: %v", err)
	}
	wantOpen(t, west, company)
	east.reloads(t, `synchronous_standby_names = ''`)
	if _, err := newMover(west, east, company, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantMoved(t, west, east, company)
}

// refusesDifference changes the copy in several ways before it is compared, and leaves the last change.
func refusesDifference(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	exec(t, west.Databases["pass"], `insert into credentials (company_id, id) values ($1, $1)`, key(company))
	var m *Mover
	m = newMover(west, east, company, func() {
		d := m.databases[slices.IndexFunc(m.databases, func(d *database) bool { return d.service == "pass" })]
		for _, change := range []struct{ name, sql, undo string }{
			{"a missing row", `delete from things where company_id = $1 and id = 2`, `insert into things values ($1, 2, 'thing 2')`},
			{"an additional row", `insert into things values ($1, 4, 'thing 4')`, `delete from things where company_id = $1 and id = 4`},
			{"another row", `update things set id = 4 where company_id = $1 and id = 2`, `update things set id = 2 where company_id = $1 and id = 4`},
			{"exchanged values", `update things set name = 'thing ' || 3 - id where company_id = $1 and id < 3`,
				`update things set name = 'thing ' || id where company_id = $1`},
			{"an empty value, not null", `update credentials set kind = '' where company_id = $1`, `update credentials set kind = null where company_id = $1`},
			{"a changed value", `update things set name = 'Thing 1' where company_id = $1 and id = 1`, ``},
		} {
			if err := d.compare(t.Context(), m); err != nil {
				t.Errorf("before %s: %v", change.name, err)
			}
			exec(t, east.Databases["pass"], change.sql, key(company))
			if err := d.compare(t.Context(), m); err == nil || !strings.Contains(err.Error(), " differs: ") {
				t.Errorf("%s: %v", change.name, err)
			}
			if change.undo != "" {
				exec(t, east.Databases["pass"], change.undo, key(company))
			}
		}
	})
	if _, err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "pass.things differs: 3 rows in west, 3 rows in east") {
		t.Errorf("the company moved to a cell with another value: %v", err)
	}
	wantOpen(t, west, company)
	if err := newMover(west, east, company, nil).Abort(t.Context()); err != nil {
		t.Error(err)
	}
}

func beginsInAuth(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	conn, err := pgx.Connect(t.Context(), east.Databases[authService])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `lock company_moves in share mode`)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := newMover(west, east, company, nil).Run(ctx); err == nil {
		t.Fatal("the move began although auth's mark could not be stored")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := east.marks(t, company) + east.copies(t) + west.copies(t); n != 0 {
		t.Errorf("%d marks, publications, slots and subscriptions exist, but no mark of auth says so", n)
	}
}

// repeated repeats a move from west to east, and finishes it, after one from east to a third cell, whose mark refuses
// tokens in east.
func repeated(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	if _, err := newMover(west, east, company, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, service := range Services() {
		exec(t, east.Databases[service], `delete from companies where company_id = $1`, key(company))
		exec(t, east.Databases[service], `delete from things where company_id = $1`, key(company))
		exec(t, east.Databases[service], `insert into company_moves values ($1, 'left', now(), 'third')`, key(company))
	}
	if _, err := newMover(west, east, company, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := east.marks(t, company); n != int64(len(Services())) {
		t.Errorf("east has %d marks", n)
	}
	if _, err := newMover(west, east, company, nil).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := west.things(t, company); n != 0 {
		t.Errorf("west has %d rows", n)
	}
}

// restoresLeft aborts a move back to west, where tokens of the first stay are still valid.
func restoresLeft(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	if _, err := newMover(west, east, company, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := newMover(west, east, company, nil).Finish(t.Context())
	if err != nil || first.MarkUntil.IsZero() {
		t.Fatalf("the first move: %+v, %v", first, err)
	}
	aborted := func() {
		t.Helper()
		back := newMover(east, west, company, nil)
		back.Freeze = time.Nanosecond
		if _, err := back.Run(t.Context()); err == nil {
			t.Fatal("a freeze that has no time succeeded")
		}
		arriving := `select count(*) from company_moves where company = any ($1) and state = 'arriving'`
		if n := west.count(t, arriving, keys([]id.Company{company, company.Test()})); n != int64(2*len(Services())) {
			t.Fatalf("the move back has %d marks", n)
		}
		if err := newMover(east, west, company, nil).Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantMoved(t, west, east, company)
		if n := west.things(t, company); n != 0 {
			t.Errorf("west has %d rows", n)
		}
	}
	aborted()
	aborted() // another time
	for _, service := range Services() {
		err := tryExec(t.Context(), west.Databases[service], `select app_refuse_moving($1)`, key(company))
		if err == nil || !strings.Contains(err.Error(), "is being moved") {
			t.Errorf("%s answers requests of the first stay: %v", service, err)
		}
	}
	again, err := newMover(west, east, company, nil).Finish(t.Context())
	if err != nil || !again.MarkUntil.Equal(first.MarkUntil) {
		t.Errorf("the mark stays until %s, %v; before the move back it was %s", again.MarkUntil, err, first.MarkUntil)
	}
	if _, err := newMover(east, west, company, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantMoved(t, east, west, company)
}

func raisesSequences(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	const ahead = 1000
	exec(t, west.Databases["booking"], `select setval('numbers', 10)`)
	exec(t, east.Databases["booking"], `select setval('numbers', $1)`, ahead)
	exec(t, west.Databases["pass"], `select setval('numbers', $1)`, ahead)
	m := newMover(west, east, company, nil)
	if err := m.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer m.close(t.Context())
	conn, err := pgx.Connect(t.Context(), east.Databases["booking"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var used sync.WaitGroup
	done := make(chan struct{})
	used.Go(func() { // another company of the target
		for last := int64(ahead); ; {
			next, err := one[int64](t.Context(), conn, `select nextval('numbers')`)
			if err != nil || next != last+1 {
				t.Errorf("after %d: %d, %v", last, next, err)
				return
			}
			last = next
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for range 200 {
		if err := m.each(t.Context(), (*database).raiseSequences); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	used.Wait()
	for _, d := range m.databases {
		if d.service == "pass" {
			if next, err := one[int64](t.Context(), d.to, `select nextval('numbers')`); err != nil || next != ahead+1 {
				t.Errorf("the target's next number is %d, %v", next, err)
			}
		}
	}
}

func needsSlot(t *testing.T, west, east *city) {
	company := west.newCompany(t)
	m := newMover(west, east, company, nil)
	if err := m.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer m.close(t.Context())
	if err := m.auth().awaitCopy(t.Context(), m); !errors.Is(err, errNoSlot) {
		t.Errorf("without a slot: %v", err)
	}
}
