package booking

import (
	"errors"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// wantFree checks that a transaction was paid by the unlimited pass of a customer, in the response, in the
// stored transaction and in the last confirmation.
func (w *world) wantFree(c id.Customer, got *bookingv1.Transaction, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: c.String(), TransactionId: got.GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	confirmed := announced(w, subjectBookingConfirmed, &bookingv1.BookingConfirmed{}).GetBooking().GetBooking()
	bookings := slices.Concat(got.GetBookings(), read.GetTransaction().GetBookings(), []*bookingv1.Booking{confirmed})
	for _, b := range bookings {
		if p := b.GetPass(); p == nil || p.GetCreditsUsed() != 0 || p.GetCustomerPassId() != w.passes.owner[c].String() {
			w.t.Errorf("booking %s has %v", b.GetId(), b.GetPayment())
		}
	}
	if left := w.passes.credits(w.passes.owner[c]); left != 999_999 {
		w.t.Errorf("the pass has %d credits", left)
	}
}

func TestUnlimitedPass(t *testing.T) { // invariants 15 and 31
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	w.passes.giveUnlimited(mia)
	t.Run("a purchase takes no credits, and its cancellation returns none", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		bought, err := w.byPass(w.ctx, mia, e, 2)
		w.wantFree(mia, bought, err)
		b := bought.GetBookings()[0].GetId()
		preview, err := w.bookings.PreviewCancellation(w.ctx, &bookingv1.PreviewCancellationRequest{BookingId: b})
		if err != nil || preview.GetOutcome().GetCreditsReturned() != 0 {
			t.Errorf("got %v, %v", preview, err)
		}
		w.passes.setBefore(func(call string) error {
			if call == "return" {
				t.Error("credits are returned")
			}
			return nil
		})
		defer w.passes.setBefore(nil)
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b})
		if err != nil || resp.GetBooking().GetCreditsReturned() != 0 || w.booked(e) != 0 {
			t.Errorf("got %v, %v", resp, err)
		}
		if owed := one[int64](w, `select count(*) from credit_returns`); owed != 0 {
			t.Errorf("%d returns are owed", owed)
		}
	})
	t.Run("a refund of the booking returns none", func(t *testing.T) {
		bought, err := w.byPass(w.ctx, mia, w.passEvent(nil, time.Hour, nil), 1)
		w.wantFree(mia, bought, err)
		_, err = w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: bought.GetBookings()[0].GetId()})
		if got := w.registration(bought.GetBookings()[0].GetId()); err != nil || got.GetBooking().GetCreditsReturned() != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a purchase that is continued after a crash takes none", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		req := &bookingv1.CreateTransactionRequest{
			PurchaserId: mia.String(), PaymentMethod: byPass, Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 2}},
		}
		ctx := idem.WithKey(w.serverSide(), "crash", "caller", "transactions")
		w.passes.mu.Lock()
		w.passes.after = func(string) error { return errPassAway }
		w.passes.mu.Unlock()
		if _, err := w.server.CreateTransaction(ctx, req); !errors.Is(err, errPassAway) {
			t.Fatalf("got %v", err)
		}
		w.passes.mu.Lock()
		w.passes.after = nil
		w.passes.mu.Unlock()
		for range 2 { // the second is a replay
			resp, err := w.server.CreateTransaction(ctx, req)
			w.wantFree(mia, resp.GetTransaction(), err)
		}
		if w.booked(e) != 2 {
			t.Errorf("%d spaces are booked", w.booked(e))
		}
	})
	t.Run("a hold that is paid takes none", func(t *testing.T) {
		h := w.hold(mia, w.passEvent(nil, time.Hour, nil), 2, "")
		resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: byPass})
		w.wantFree(mia, resp.GetTransaction(), err)
	})
	t.Run("a booking from the waitlist takes none", func(t *testing.T) {
		e, full := w.fullEvent(1)
		entry, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}, mia, e)
		if err != nil {
			t.Fatal(err)
		}
		w.cancel(full)
		w.eventually("the customer is booked", func() bool {
			return w.entry(entry).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
		made, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: mia.String(), TransactionId: w.entry(entry).GetTransactionId()})
		w.wantFree(mia, made.GetTransaction(), err)
	})
	w.verify()
	w.reconcile()
}

func TestUnlimitedPassPaysForAWholeCourse(t *testing.T) { // invariants 27 and 31
	t.Parallel()
	w := newCourseWorld(t, 10)
	mia := w.customer(w.company, "Mia")
	w.passes.giveUnlimited(mia)
	bought, err := w.enrol(&bookingv1.CreateTransactionRequest{PaymentMethod: byPass}, mia)
	w.wantFree(mia, bought, err)
	if len(bought.GetBookings()) != len(w.toCome) {
		t.Errorf("got %v", bought)
	}
	w.cancel(bought)
	w.verify()
	w.reconcile()
}

func TestRedemptionResult(t *testing.T) { // invariant 31
	pass := id.New[id.CustomerPass]()
	for credits, free := range map[int32]bool{0: true, 3: false} {
		var r Redemption
		r.finish(&passv1.RedeemCreditsResponse{CustomerPassId: pass.String(), Credits: credits}, nil)
		if r.Err != nil || r.Paid != (passPayment{pass: pass, free: free}) {
			t.Errorf("%d credits: got %+v", credits, r)
		}
	}
}
