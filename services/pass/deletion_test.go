package pass

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// confirmDeletion has the service confirm a deletion, as the customer service does.
func (d *desk) confirmDeletion(customer string) error {
	raw := d.issuer.Client(d.company, "customers:write")
	_, err := d.deletions.ConfirmCustomerDeletion(d.with(raw), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer})
	return err
}

// deletes deletes a customer of the customer service; this one does not hear of it.
func (d *desk) deletes(customer string) {
	d.t.Helper()
	c, err := id.Parse[id.Customer](customer)
	if err != nil {
		d.t.Fatal(err)
	}
	d.customers.deletes(c)
}

func (d *desk) assignTo(customer, passType string) error {
	_, err := d.client.AssignCustomerPass(d.as(d.company), &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: passType})
	return err
}

func (d *desk) archive(passType string) error {
	_, err := d.client.UpdatePassType(d.as(d.company), &passv1.UpdatePassTypeRequest{Id: passType, Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED})
	return err
}

func TestConfirmCustomerDeletion(t *testing.T) { // invariant 8
	d := open(t)
	t.Run("ends passes and redemptions in the customer's name, and can be repeated", func(t *testing.T) {
		customer := d.customer()
		given := d.give(customer, nil)
		d.deletes(customer)
		for range 2 {
			if err := d.confirmDeletion(customer); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.redeem(redeemRequest(customer, given.GetId(), 1))
		wantMissing(t, err)
		// The customer service may have been asked before the deletion.
		c, _ := id.Parse[id.Customer](customer)
		d.customers.mu.Lock()
		d.customers.customers[c] = d.company
		d.customers.mu.Unlock()
		wantMissing(t, d.assignTo(customer, d.passType().GetId()))
	})
	t.Run("takes nobody's word for it but the customer service's", func(t *testing.T) {
		customer := d.customer()
		if err := d.confirmDeletion(customer); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
		if err := d.assignTo(customer, d.passType().GetId()); err != nil {
			t.Error(err)
		}
		wantMissing(t, d.confirmDeletion(id.New[id.Customer]().String()))
		_, err := d.deletions.ConfirmCustomerDeletion(d.as(d.company), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer})
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

// TestDeletionWaits holds commits up that have read a customer or a pass type, and
// looks whether the deletion or the archiving is answered before them.
func TestDeletionWaits(t *testing.T) { // invariant 8
	const totals, passes = `select from pass_totals where company_id = $1 for update`, `select from customer_passes where company_id = $1 for update`
	for name, c := range map[string]struct {
		hold  string
		begin func(d *desk, customer, passType, pass string) error
		end   func(d *desk, customer, passType string) error
		waits string
	}{
		"a pass in the customer's name": {
			hold:  totals,
			begin: func(d *desk, customer, passType, _ string) error { return d.assignTo(customer, passType) },
			end:   func(d *desk, customer, _ string) error { d.deletes(customer); return d.confirmDeletion(customer) },
			waits: fenceSQL,
		},
		"credits in the customer's name": {
			hold: passes,
			begin: func(d *desk, customer, _, pass string) error {
				_, err := d.redeem(redeemRequest(customer, pass, 1))
				return err
			},
			end:   func(d *desk, customer, _ string) error { d.deletes(customer); return d.confirmDeletion(customer) },
			waits: fenceSQL,
		},
		"a pass of the archived type": {
			hold:  totals,
			begin: func(d *desk, customer, passType, _ string) error { return d.assignTo(customer, passType) },
			end:   func(d *desk, _, passType string) error { return d.archive(passType) },
			waits: lockPassTypeSQL,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			customer := d.customer()
			given := d.give(customer, nil)
			release, begun, ended := d.hold(c.hold), make(chan error, 1), make(chan error, 1)
			go func() { begun <- c.begin(d, customer, given.GetPassTypeId(), given.GetId()) }()
			d.waitsFor("", begun)
			go func() { ended <- c.end(d, customer, given.GetPassTypeId()) }()
			d.waitsFor(c.waits, ended)
			release()
			if err := <-begun; err != nil {
				t.Errorf("what began before got %v", err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := c.begin(d, customer, given.GetPassTypeId(), given.GetId()); err == nil {
				t.Error("what began after was not refused")
			}
			d.verify()
		})
	}
}

// hold locks rows until the returned function is called.
func (d *desk) hold(sql string) (release func()) {
	d.t.Helper()
	locked, done := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := d.db.InTx(d.t.Context(), pg.For(d.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, sql, d.company)
			close(locked)
			<-done
			return err
		})
		if err != nil {
			d.t.Error(err)
		}
	})
	<-locked
	return func() { close(done); wg.Wait() }
}

// waitsFor waits until a statement waits for a lock, and fails if early has an
// answer before that.
func (d *desk) waitsFor(sql string, early chan error) {
	d.t.Helper()
	for range 1000 {
		n, err := pg.One[int64](d.t.Context(), d.db, pg.AllCompanies(), `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query like '%' || $1 || '%'`, sql)
		if err != nil {
			d.t.Fatal(err)
		}
		if n > 0 {
			return
		}
		select {
		case err := <-early:
			d.t.Errorf("it was answered (%v) without waiting", err)
			early <- err
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	d.t.Fatalf("nothing waits in %q", sql)
}

// TestDeletionUnderConcurrency deletes customers and archives pass types while many
// assign and redeem: what there is at the moment of the answer is all there ever is.
func TestDeletionUnderConcurrency(t *testing.T) { // invariants 1 and 8
	d := open(t)
	const customers, callers = 8, 6
	count := func(customer string) int64 {
		c, _ := id.Parse[id.Customer](customer)
		n, err := pg.One[int64](t.Context(), d.db, pg.AllCompanies(), `select
			(select count(*) from customer_passes where customer_id = $1) + (select count(*) from redemption_items i join customer_passes p
				on p.id = i.customer_pass_id where p.customer_id = $1)`, c)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var names, types, passes []string
	for range customers {
		customer := d.customer()
		given := d.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 100000 })
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
					_ = d.assignTo(names[i%customers], types[(i/customers+n)%customers])
				} else {
					_, _ = d.redeem(redeemRequest(names[i%customers], passes[i%customers], 1))
				}
			}
		})
	}
	left := make([]int64, customers)
	archived := make([]string, customers)
	var all sync.WaitGroup
	for i := range customers {
		all.Go(func() {
			for count(names[i]) < int64(5+i) && t.Context().Err() == nil { // one after the other, in the middle of it
				time.Sleep(5 * time.Millisecond)
			}
			d.deletes(names[i])
			if err := d.confirmDeletion(names[i]); err != nil {
				t.Error(err)
			}
			left[i] = count(names[i])
			if err := d.archive(types[i]); err != nil {
				t.Error(err)
			}
			archived[i] = d.assigned(types[i])
		})
	}
	all.Wait()
	close(stop)
	busy.Wait()
	for i, name := range names {
		if now := count(name); now != left[i] {
			t.Errorf("customer %d had %d passes and redemptions when the deletion was confirmed and has %d", i, left[i], now)
		}
		if now := d.assigned(types[i]); now != archived[i] {
			t.Errorf("pass type %d was given %s times when it was archived and is given %s times", i, archived[i], now)
		}
	}
	d.verify()
}

// assigned is how many passes of a type there are.
func (d *desk) assigned(passType string) string {
	which, _ := id.Parse[id.PassType](passType)
	n, err := pg.One[int64](d.t.Context(), d.db, pg.AllCompanies(), `select count(*) from customer_passes where pass_type_id = $1`, which)
	if err != nil {
		d.t.Error(err)
	}
	return fmt.Sprint(n)
}
