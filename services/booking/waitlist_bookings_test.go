package booking

import (
	"testing"
	"time"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// payerByPass creates a customer with credits, and the request to join the waitlist with payment by
// pass.
func (w *world) payerByPass(credits int32) (id.Customer, *bookingv1.JoinWaitlistRequest) {
	c := w.customer(w.company, "Mia")
	w.passes.give(c, credits)
	return c, &bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}
}

func TestWaitlistBookings(t *testing.T) { // invariants 18 and 19
	t.Parallel()
	w := newWorld(t)
	t.Run("by card are confirmed immediately", func(t *testing.T) {
		e, bought := w.fullEvent(3)
		entries := []*bookingv1.WaitlistEntry{w.waits(e, 1, byBooking), w.waits(e, 2, byBooking), w.waits(e, 1, byBooking)}
		confirmed := w.published(subjectBookingConfirmed)
		w.cancel(bought)
		for _, entry := range entries[:2] {
			got := w.wantEntry(entry, "BOOKED", 0, "")
			made, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: entry.GetCustomerId(), TransactionId: got.GetTransactionId()})
			if err != nil || made.GetTransaction().GetBookings()[0].GetSpaces() != entry.GetSpaces() {
				t.Errorf("got %v, %v", made, err)
			}
		}
		w.wantEntry(entries[2], "WAITING", 1, "")
		if n := w.published(subjectBookingConfirmed) - confirmed; n != 2 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("by pass take the credits, and a customer without credits is passed over", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		poor, req := w.payerByPass(0)
		first, err := w.join(req, poor, e)
		if err != nil {
			t.Fatal(err)
		}
		alsoPoor, req := w.payerByPass(0)
		second, err := w.join(req, alsoPoor, e)
		if err != nil {
			t.Fatal(err)
		}
		rich, req := w.payerByPass(5)
		third, err := w.join(req, rich, e)
		if err != nil {
			t.Fatal(err)
		}
		w.cancel(bought)
		w.eventually("the third is booked", func() bool {
			return w.entry(third).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
		w.wantEntry(first, "WAITING", 1, "PASS_EXHAUSTED")
		w.wantEntry(second, "WAITING", 2, "PASS_EXHAUSTED")
		if n := w.passes.credits(w.passes.owner[rich]); n != 4 {
			t.Errorf("%d credits are left", n)
		}
		w.passes.set(w.passes.owner[poor], 1)
		w.setCapacity(e, 2)
		w.eventually("the first is booked", func() bool {
			return w.entry(first).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
		w.wantEntry(second, "WAITING", 1, "PASS_EXHAUSTED")
	})
	w.verify()
	w.reconcile()
}

func TestWaitlistBookingsThatFail(t *testing.T) { // invariants 18 and 19
	t.Parallel()
	w := newWorld(t)
	t.Run("that are refused free their spaces, also for an earlier entry that did not fit before", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		two := w.waits(e, 2, byOffer)
		poor, req := w.payerByPass(0)
		one, err := w.join(req, poor, e)
		if err != nil {
			t.Fatal(err)
		}
		redeeming, resume := make(chan struct{}), make(chan struct{})
		w.passes.mu.Lock()
		w.passes.before = func(call string) error {
			if call == "redeem" {
				close(redeeming)
				<-resume
			}
			return nil
		}
		w.passes.mu.Unlock()
		w.cancel(bought)
		<-redeeming
		w.setCapacity(e, 2) // one is being booked and one is free, which is too few for the first entry
		w.wantEntry(two, "WAITING", 1, "NOT_ENOUGH_PLACES")
		close(resume)
		w.eventually("the first has both", func() bool {
			return w.entry(two).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
		})
		w.wantEntry(one, "WAITING", 1, "PASS_EXHAUSTED")
		w.passes.mu.Lock()
		w.passes.before = nil
		w.passes.mu.Unlock()
	})
	t.Run("whose pass cannot be checked are tried again", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		mia, req := w.payerByPass(1)
		entry, err := w.join(req, mia, e)
		if err != nil {
			t.Fatal(err)
		}
		w.passes.mu.Lock()
		w.passes.before = func(call string) error {
			if call == "redeem" {
				return errPassAway
			}
			return nil
		}
		w.passes.mu.Unlock()
		w.cancel(bought)
		w.wantEntry(entry, "WAITING", 1, "")
		if n := w.booked(e); n != 1 {
			t.Errorf("%d spaces are taken", n)
		}
		w.later(model.PendingTime + time.Second)
		w.wantEntry(entry, "WAITING", 1, model.PassedOverPassAway)
		if n := w.booked(e); n != 0 {
			t.Errorf("%d spaces are taken", n)
		}
		w.passes.mu.Lock()
		w.passes.before = nil
		w.passes.mu.Unlock()
		w.later(2*model.PendingTime + 2*time.Second)
		w.eventually("it is booked", func() bool {
			return w.entry(entry).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
	})
	w.verify()
	w.reconcile()
}
