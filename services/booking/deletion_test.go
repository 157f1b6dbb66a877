package booking

import (
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
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// deletes marks a customer as deleted in the customer service, without updating the copy.
func (f *fakeCustomers) deletes(customer id.Customer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.known[customer]
	c.Version, c.DeletedAt = c.Version+1, time.Now()
	f.known[customer] = c
}

// confirmDeletion calls ConfirmCustomerDeletion as the customer service does.
func (w *world) confirmDeletion(customer id.Customer) error {
	_, err := customerv1.NewCustomerDeletionServiceClient(w.conn).ConfirmCustomerDeletion(
		bearer(w.t.Context(), w.issuer.Client(w.company, "customers:write")), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer.String()})
	return err
}

// deleteAndConfirm deletes a customer and confirms the deletion.
func (w *world) deleteAndConfirm(customer id.Customer) {
	w.t.Helper()
	w.customers.deletes(customer)
	if err := w.confirmDeletion(customer); err != nil {
		w.t.Fatal(err)
	}
}

func TestConfirmCustomerDeletion(t *testing.T) { // invariant 22
	t.Parallel()
	w := newWorld(t)
	t.Run("stores the deletion of a customer, whether or not the customer is in the copy", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		known, unknown := w.customer(w.company, "Known"), w.customer(w.company, "Unknown")
		w.mustBook(w.ctx, known, e, 1)
		for _, c := range []id.Customer{known, unknown} {
			w.deleteAndConfirm(c)
			if n := one[int64](w, `select count(*) from customers where id = $1 and deleted_at is not null and version = 2`, c); n != 1 {
				t.Errorf("%s is not deleted in the copy", c)
			}
			_, err := w.book(w.ctx, c, e, 1)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: c.String(), PageSize: new(int32(10))})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("can be repeated", func(t *testing.T) {
		c := w.customer(w.company, "Twice")
		w.deleteAndConfirm(c)
		if err := w.confirmDeletion(c); err != nil {
			t.Error(err)
		}
	})
	t.Run("trusts only the customer service about a deletion", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		present := w.customer(w.company, "Present")
		wantFault(t, w.confirmDeletion(present), fault.Invalid, fault.ReasonInvalidParameter)
		w.mustBook(w.ctx, present, e, 1)
		foreign := w.customer(id.New[id.Company](), "Foreign")
		w.customers.deletes(foreign)
		for _, c := range []id.Customer{foreign, id.New[id.Customer]()} {
			wantFault(t, w.confirmDeletion(c), fault.NotFound, fault.ReasonNotFound)
		}
		_, err := customerv1.NewCustomerDeletionServiceClient(w.conn).ConfirmCustomerDeletion(w.ctx, &customerv1.ConfirmCustomerDeletionRequest{CustomerId: present.String()})
		wantFault(t, err, fault.Forbidden, fault.ReasonInsufficientScope)
	})
	t.Run("fails while the customer service is unavailable", func(t *testing.T) {
		w := newWorld(t)
		c := w.customer(w.company, "Away")
		w.customers.goAway()
		wantFault(t, w.confirmDeletion(c), fault.Unavailable, fault.ReasonServiceUnavailable)
	})
}

// TestDeletedCustomersAreRefused tries every way to make a booking.
func TestDeletedCustomersAreRefused(t *testing.T) { // invariant 22
	t.Parallel()
	w := newWorld(t)
	payer := w.customer(w.company, "Payer")
	lines := func(e *bookingv1.Event, forWhom id.Customer) []*bookingv1.TransactionLine {
		return []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1, BoughtForId: forWhom.String()}}
	}
	refused := func(t *testing.T, err error) {
		t.Helper()
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	}
	t.Run("a purchase for a deleted customer by another one", func(t *testing.T) {
		e, gone := w.passEvent(nil, time.Hour, nil), w.customer(w.company, "Gone")
		w.deleteAndConfirm(gone)
		for _, method := range []bookingv1.PaymentMethod{0, byPass} {
			_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
				PurchaserId: payer.String(), Lines: lines(e, gone), PaymentMethod: method,
			})
			refused(t, err)
		}
	})
	t.Run("a hold, and its confirmation by card and by pass", func(t *testing.T) {
		e, gone := w.passEvent(nil, time.Hour, nil), w.customer(w.company, "Gone")
		pass := w.passes.give(gone, 9)
		mine, forThem := w.hold(gone, e, 1, ""), w.holdFor(payer, gone, e)
		w.deleteAndConfirm(gone)
		for _, h := range []*bookingv1.Hold{mine, forThem} {
			w.wantHold(h, isExpired, 2)
			for _, method := range []bookingv1.PaymentMethod{0, byPass} {
				_, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: method})
				wantFault(t, err, fault.Refused, ReasonHoldExpired)
			}
		}
		_, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: payer.String(), Lines: lines(e, gone)})
		refused(t, err)
		if w.passes.credits(pass) != 9 {
			t.Errorf("%d credits are left", w.passes.credits(pass))
		}
	})
	t.Run("a purchase whose credits were taken before the deletion is undone", func(t *testing.T) {
		w := newWorld(t)
		e, gone := w.passEvent(nil, time.Hour, nil), w.customer(w.company, "Gone")
		pass := w.passes.give(gone, 9)
		w.passes.after = func(call string) error {
			if call == "redeem" {
				w.deleteAndConfirm(gone)
			}
			return nil
		}
		_, err := w.byPass(w.ctx, gone, e, 2)
		refused(t, err)
		if w.passes.credits(pass) != 9 || w.booked(e) != 0 {
			t.Errorf("%d credits are left, %d spaces booked", w.passes.credits(pass), w.booked(e))
		}
		w.verify()
		w.reconcile()
	})
	t.Run("a waitlist entry, an offer, and a booking from the waitlist", func(t *testing.T) {
		e, full := w.fullEvent(2)
		offered, gone, next := w.customer(w.company, "Offered"), w.customer(w.company, "Gone"), w.customer(w.company, "Next")
		join := func(c id.Customer, mode bookingv1.WaitlistMode) *bookingv1.WaitlistEntry {
			entry, err := w.join(&bookingv1.JoinWaitlistRequest{Spaces: 1, Mode: mode}, c, e)
			if err != nil {
				t.Fatal(err)
			}
			return entry
		}
		offer := join(offered, byOffer)
		w.setCapacity(e, 3)
		waiting := join(gone, byBooking)
		behind := join(next, byBooking)
		w.deleteAndConfirm(gone)
		w.wantEntry(waiting, "LEFT", 0, "")
		w.wantEntry(behind, "WAITING", 1, "")
		w.deleteAndConfirm(offered)
		w.wantEntry(offer, "LEFT", 0, "")
		w.wantEntry(behind, "BOOKED", 0, "")
		_, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: offer.GetId()})
		wantFault(t, err, fault.Refused, model.ReasonNotOffered)
		_, err = w.join(&bookingv1.JoinWaitlistRequest{Spaces: 1}, gone, e)
		refused(t, err)
		w.cancel(full)
		w.inStepWithReleased()
		w.endsInStep()
	})
	t.Run("the spaces of holds go to the customers who wait, and a purchase for an entry is undone", func(t *testing.T) {
		w := newWorld(t)
		payer, gone := w.customer(w.company, "Payer"), w.customer(w.company, "Gone")
		e := w.passEvent(new(int32(2)), time.Hour, nil)
		mine, forThem := w.hold(gone, e, 1, ""), w.holdFor(payer, gone, e)
		w.passes.give(gone, 3)
		first, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}, gone, e)
		if err != nil {
			t.Fatal(err)
		}
		began, proceed := make(chan struct{}), make(chan struct{})
		w.passes.before = func(call string) error {
			if call == "redeem" {
				close(began)
				<-proceed
			}
			return nil
		}
		w.setCapacity(e, 3)
		<-began
		second, third := w.waits(e, 2, byBooking), w.waits(e, 1, byBooking)
		w.deleteAndConfirm(gone)
		for _, h := range []*bookingv1.Hold{mine, forThem} {
			w.wantHold(h, isExpired, 2)
		}
		w.wantEntry(second, "BOOKED", 0, "")
		close(proceed)
		w.eventually("the purchase is undone", func() bool { return w.entry(third).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED })
		w.wantEntry(first, "LEFT", 0, "")
		w.inStepWithReleased()
		w.endsInStep()
	})
	t.Run("an imported purchase", func(t *testing.T) {
		w := newWorld(t)
		ann, ben := studioOf(w)
		w.deleteAndConfirm(ann)
		line := past("r3", ben.String(), "E", 1)
		line.GetBookings()[0].BoughtFor = "ann"
		got := outcomes(w.mustSend(past("r1", "ann", "E", 1), past("r2", ann.String(), "E", 1), line, past("r4", "ben", "E", 1)))
		if got != "rrrc" {
			t.Errorf("got %s", got)
		}
	})
}

// holdFor holds a space that purchaser pays for another customer.
func (w *world) holdFor(purchaser, forWhom id.Customer, e *bookingv1.Event) *bookingv1.Hold {
	w.t.Helper()
	resp, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{
		PurchaserId: purchaser.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1, BoughtForId: forWhom.String()}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetHold()
}

// TestDeletionWaitsForPurchases delays commits that have read a customer, and checks that they
// commit before the deletion is confirmed, or are refused. A write that shares its commit stops
// waiting for the date after 100 ms and then reads its customers again, so it may see the deletion.
func TestDeletionWaitsForPurchases(t *testing.T) { // invariant 22
	for name, begin := range map[string]func(w *world, c id.Customer, e *bookingv1.Event) func() error{
		"a purchase": func(w *world, c id.Customer, e *bookingv1.Event) func() error {
			return func() error { _, err := w.book(w.ctx, c, e, 1); return err }
		},
		"a purchase with an Idempotency-Key": func(w *world, c id.Customer, e *bookingv1.Event) func() error {
			return func() error { _, err := w.book(withKey(w.ctx, "k"), c, e, 1); return err }
		},
		"a hold": func(w *world, c id.Customer, e *bookingv1.Event) func() error {
			return func() error {
				_, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{
					PurchaserId: c.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1}},
				})
				return err
			}
		},
		"a waitlist entry": func(w *world, c id.Customer, e *bookingv1.Event) func() error {
			w.mustBook(w.ctx, w.customer(w.company, "Full"), e, 2)
			return func() error { _, err := w.join(&bookingv1.JoinWaitlistRequest{Spaces: 1}, c, e); return err }
		},
		"an import": func(w *world, c id.Customer, e *bookingv1.Event) func() error {
			line := past("r1", c.String(), "E", 1)
			line.GetBookings()[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: e.GetDates()[0].GetId()}
			return func() error { _, err := w.send(w.ctx, line); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c, e := w.customer(w.company, "Ann"), w.event(w.ctx, new(int32(2)))
			w.mustBook(w.ctx, c, w.event(w.ctx, nil), 1) // puts the customer in the copy
			act := begin(w, c, e)
			release, acted, confirmed := w.lockDate(e), make(chan error, 1), make(chan error, 1)
			go func() { acted <- act() }()
			w.waitsFor("event_dates")
			w.customers.deletes(c)
			go func() { confirmed <- w.confirmDeletion(c) }()
			confirmedFirst := false
			select {
			case err := <-confirmed:
				confirmedFirst = true
				confirmed <- err
			case <-w.fenced():
			}
			release()
			if err := <-acted; confirmedFirst || err != nil {
				wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			}
			if err := <-confirmed; err != nil {
				t.Error(err)
			}
			if waits := one[int64](w, `select count(*) from waitlist_entries where state = 'waiting'`); waits != 0 {
				t.Error("a deleted customer is left on the waitlist")
			}
		})
	}
}

// lockDate blocks purchases of an event's date until the returned function is called. The lock is
// released after last has run in its transaction.
func (w *world) lockDate(e *bookingv1.Event, last ...func(ctx context.Context, tx *pg.Tx) error) (release func()) {
	w.t.Helper()
	date := idOf[id.EventDate](w.t, e.GetDates()[0].GetId())
	locked, done := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, store.LockDatesAloneSQL, w.company, []id.EventDate{date})
			close(locked)
			wait(ctx, done)
			for _, change := range last {
				err = errors.Join(err, change(ctx, tx))
			}
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
	})
	<-locked
	return func() { close(done); wg.Wait() }
}

const waitingSQL = `select count(*) from pg_stat_activity
	where datname = current_database() and wait_event_type = 'Lock' and query like '%' || $1 || '%'`

// waitsFor waits until a statement about a table waits for a lock.
func (w *world) waitsFor(table string) {
	w.t.Helper()
	w.eventually("a wait for "+table, func() bool { return one[int64](w, waitingSQL, table) > 0 })
}

// wait waits until done is closed, or until the test has ended, which would otherwise wait for ever for the
// connection of a lock that it did not release.
func wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// fenced returns a channel that is closed when the fence of a deletion waits.
func (w *world) fenced() <-chan struct{} {
	waits := make(chan struct{})
	go func() {
		for w.t.Context().Err() == nil {
			n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), waitingSQL, customers.AwaitSQL)
			if err == nil && n > 0 {
				close(waits)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return waits
}

// TestDeletionUnderConcurrency deletes customers while two processes book, hold, confirm, join and
// import for them. After the confirmation, a customer must not get anything more.
func TestDeletionUnderConcurrency(t *testing.T) { // invariants 1, 15 and 22
	w := newWorld(t)
	processes := []*world{w, w.process()}
	e := w.passEvent(new(int32(100000)), time.Hour, nil)
	const customers, callers = 12, 6
	type belongings struct {
		Confirmed, Held, Waiting int64
	}
	owns := func(c id.Customer) belongings {
		own, err := pg.One[belongings](t.Context(), w.db, pg.AllCompanies(), `select
			(select count(*) from transactions t where status = 'confirmed' and (purchaser_id = $1 or exists (
				select from bookings b where b.transaction_id = t.id and b.bought_for = $1))) as confirmed,
			(select count(*) from transactions t where status = 'held' and purchaser_id = $1) as held,
			(select count(*) from waitlist_entries where customer_id = $1 and state = 'waiting') as waiting`, c)
		if err != nil {
			t.Error(err)
		}
		return own
	}
	var ids []id.Customer
	for i := range customers {
		c := w.customer(w.company, fmt.Sprint("C", i))
		w.passes.give(c, 100000)
		w.mustBook(w.ctx, c, e, 1)
		ids = append(ids, c)
	}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range customers * callers {
		busy.Go(func() {
			p, c, payer := processes[i%2], ids[i%customers], ids[(i+1)%customers]
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = p.act(i/customers+n, c, payer, e, fmt.Sprint("r", i, "-", n))
			}
		})
	}
	left := make([]belongings, customers)
	together(customers, func(i int) {
		enough := time.Now().Add(2 * time.Minute)
		for owns(ids[i]).Confirmed < int64(5+i) { // spread the deletions over the run
			if time.Now().After(enough) {
				t.Errorf("customer %d has %+v", i, owns(ids[i]))
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		w.customers.deletes(ids[i])
		if err := processes[i%2].confirmDeletion(ids[i]); err != nil {
			t.Error(err)
		}
		left[i] = owns(ids[i])
	})
	close(stop)
	busy.Wait()
	for i, c := range ids {
		if now := owns(c); now.Confirmed != left[i].Confirmed || now.Held > left[i].Held || now.Waiting != 0 {
			t.Errorf("customer %d had %+v when the deletion was confirmed and has %+v", i, left[i], now)
		}
	}
	w.settleDown()
	w.verify()
	w.reconcile()
}

// act performs one of the actions that a deletion ends. Imports are rare, because a company runs
// one at a time.
func (w *world) act(which int, c, payer id.Customer, e *bookingv1.Event, reference string) error {
	switch which % 25 {
	case 0, 6, 12, 18:
		_, err := w.book(w.ctx, c, e, 1)
		return err
	case 1, 7, 13, 19:
		_, err := w.byPass(w.ctx, c, e, 1)
		return err
	case 2, 8, 14, 20:
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: payer.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1, BoughtForId: c.String()}},
		})
		return err
	case 3, 9, 15, 21:
		resp, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{
			PurchaserId: c.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1}},
		})
		if err != nil {
			return err
		}
		_, err = w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: resp.GetHold().GetId()})
		return err
	case 24:
		line := past(reference, c.String(), "E", 1)
		line.GetBookings()[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: e.GetDates()[0].GetId()}
		_, err := w.send(w.ctx, line)
		return err
	}
	_, err := w.book(withKey(w.ctx, reference), c, e, 1)
	return err
}
