package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// confirmDeletion calls ConfirmCustomerDeletion as the customer service does.
func (w *world) confirmDeletion(customer string) error {
	raw := w.issuer.Client(w.company, "customers:write")
	_, err := w.deletions.ConfirmCustomerDeletion(w.with(raw), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer})
	return err
}

// deletes deletes a customer in the customer service without notifying the pass service.
func (w *world) deletes(customer string) {
	w.t.Helper()
	c, err := id.Parse[id.Customer](customer)
	if err != nil {
		w.t.Fatal(err)
	}
	w.customers.Delete(c)
}

func (w *world) assignTo(customer, passType string) error {
	_, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: passType})
	return err
}

func (w *world) archive(passType string) error {
	_, err := w.client.UpdatePassType(w.as(w.company), &passv1.UpdatePassTypeRequest{Id: passType, Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED})
	return err
}

func TestConfirmCustomerDeletion(t *testing.T) { // invariant 8
	w := open(t)
	t.Run("ends assignments and redemptions for the customer, and can be repeated", func(t *testing.T) {
		customer := w.customer()
		given := w.give(customer, nil)
		w.deletes(customer)
		for range 2 {
			if err := w.confirmDeletion(customer); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.redeem(redeemRequest(customer, given.GetId(), 1))
		wantMissing(t, err)
		// The customer service may have been called before the deletion.
		c, _ := id.Parse[id.Customer](customer)
		w.customers.Add(w.company, c)
		wantMissing(t, w.assignTo(customer, w.passType().GetId()))
	})
	t.Run("trusts only the customer service about a deletion", func(t *testing.T) {
		customer := w.customer()
		if err := w.confirmDeletion(customer); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
		if err := w.assignTo(customer, w.passType().GetId()); err != nil {
			t.Error(err)
		}
		wantMissing(t, w.confirmDeletion(id.New[id.Customer]().String()))
		_, err := w.deletions.ConfirmCustomerDeletion(w.as(w.company), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer})
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}

func wantMissing(t *testing.T, err error) {
	t.Helper()
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want NOT_FOUND", err)
	}
}

// TestDeletionWaits delays commits that have read a customer or a pass type, and checks that the
// deletion or the archiving does not return before them.
func TestDeletionWaits(t *testing.T) { // invariant 8
	const totals, passes = `select from pass_totals where company_id = $1 for update`, `select from customer_passes where company_id = $1 for update`
	for name, c := range map[string]struct {
		hold  string
		begin func(w *world, customer, passType, pass string) error
		end   func(w *world, customer, passType string) error
		waits string
	}{
		"a pass in the customer's name": {
			hold:  totals,
			begin: func(w *world, customer, passType, _ string) error { return w.assignTo(customer, passType) },
			end:   func(w *world, customer, _ string) error { w.deletes(customer); return w.confirmDeletion(customer) },
			waits: customers.AwaitSQL,
		},
		"credits in the customer's name": {
			hold: passes,
			begin: func(w *world, customer, _, pass string) error {
				_, err := w.redeem(redeemRequest(customer, pass, 1))
				return err
			},
			end:   func(w *world, customer, _ string) error { w.deletes(customer); return w.confirmDeletion(customer) },
			waits: customers.AwaitSQL,
		},
		"a pass of the archived type": {
			hold:  totals,
			begin: func(w *world, customer, passType, _ string) error { return w.assignTo(customer, passType) },
			end:   func(w *world, _, passType string) error { return w.archive(passType) },
			waits: lockPassTypeSQL,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			customer := w.customer()
			given := w.give(customer, nil)
			release, begun, ended := w.hold(c.hold), make(chan error, 1), make(chan error, 1)
			go func() { begun <- c.begin(w, customer, given.GetPassTypeId(), given.GetId()) }()
			w.waitsFor("", begun)
			go func() { ended <- c.end(w, customer, given.GetPassTypeId()) }()
			w.waitsFor(c.waits, ended)
			release()
			if err := <-begun; err != nil {
				t.Errorf("the commit that began before returned %v", err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := c.begin(w, customer, given.GetPassTypeId(), given.GetId()); err == nil {
				t.Error("a commit that began afterwards was not refused")
			}
			w.verify()
		})
	}
}

// hold runs a statement whose locks are held until the returned function is called.
func (w *world) hold(sql string, more ...any) (release func()) {
	return w.holdTx(errors.New("undo"), sql, more...)
}

// holdCommit runs a statement and commits it when the returned function is called.
func (w *world) holdCommit(sql string, more ...any) (commit func()) {
	return w.holdTx(nil, sql, more...)
}

func (w *world) holdTx(outcome error, sql string, more ...any) (end func()) {
	w.t.Helper()
	locked, done := make(chan struct{}), make(chan struct{})
	isLocked := sync.OnceFunc(func() { close(locked) })
	var wg sync.WaitGroup
	wg.Go(func() {
		defer isLocked() // also if the transaction does not begin
		err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, sql, append([]any{w.company}, more...)...)
			isLocked()
			<-done
			return cmp.Or(err, outcome)
		})
		if !errors.Is(err, outcome) {
			w.t.Error(err)
		}
	})
	<-locked
	return func() { close(done); wg.Wait() }
}

// write runs a statement of the company; its first argument is the company.
func (w *world) write(sql string, more ...any) {
	w.t.Helper()
	if err := w.tryWrite(sql, more...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tryWrite(sql string, more ...any) error {
	return w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sql, append([]any{w.company}, more...)...)
		return err
	})
}

// waitsFor waits until a statement waits for a lock. It fails if early receives a result before
// that.
func (w *world) waitsFor(sql string, early chan error) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query like '%' || left($1, 900) || '%'`, sql) // the view cuts off long queries
		if err != nil {
			w.t.Fatal(err)
		}
		if n > 0 {
			return
		}
		select {
		case err := <-early:
			w.t.Errorf("it was answered (%v) without waiting", err)
			early <- err
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	w.t.Fatalf("nothing waits in %q", sql)
}

// TestDeletionUnderConcurrency deletes customers and archives pass types during many assignments
// and redemptions. After the call has returned, nothing more may be added.
func TestDeletionUnderConcurrency(t *testing.T) { // invariants 1 and 8
	w := open(t)
	const customers, callers = 8, 6
	count := func(customer string) int64 {
		c, _ := id.Parse[id.Customer](customer)
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select
			(select count(*) from customer_passes where customer_id = $1) + (select count(*) from redemption_items i join customer_passes p
				on p.id = i.customer_pass_id where p.customer_id = $1)`, c)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var names, types, passes []string
	for range customers {
		customer := w.customer()
		given := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 100000 })
		names, types, passes = append(names, customer), append(types, given.GetPassTypeId()), append(passes, given.GetId())
	}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range customers * callers {
		busy.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if n%2 == 0 {
					_ = w.assignTo(names[i%customers], types[(i/customers+n)%customers])
				} else {
					_, _ = w.redeem(redeemRequest(names[i%customers], passes[i%customers], 1))
				}
			}
		})
	}
	left := make([]int64, customers)
	archived := make([]string, customers)
	var all sync.WaitGroup
	for i := range customers {
		all.Go(func() {
			for count(names[i]) < int64(5+i) && t.Context().Err() == nil { // spread the deletions over the run
				time.Sleep(5 * time.Millisecond)
			}
			w.deletes(names[i])
			if err := w.confirmDeletion(names[i]); err != nil {
				t.Error(err)
			}
			left[i] = count(names[i])
			if err := w.archive(types[i]); err != nil {
				t.Error(err)
			}
			archived[i] = w.assigned(types[i])
		})
	}
	all.Wait()
	close(stop)
	busy.Wait()
	for i, name := range names {
		if now := count(name); now != left[i] {
			t.Errorf("customer %d had %d passes and redemptions when the deletion was confirmed and has %d", i, left[i], now)
		}
		if now := w.assigned(types[i]); now != archived[i] {
			t.Errorf("pass type %d was given %s times when it was archived and is given %s times", i, archived[i], now)
		}
	}
	w.verify()
}

// assigned returns the number of passes of a type.
func (w *world) assigned(passType string) string {
	which, _ := id.Parse[id.PassType](passType)
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), `select count(*) from customer_passes where pass_type_id = $1`, which)
	if err != nil {
		w.t.Error(err)
	}
	return fmt.Sprint(n)
}
