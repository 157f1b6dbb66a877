package booking

import (
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// TestTwoPayersOfOnePurchase lets a retry pay while the first attempt is refused. Credits and
// spaces must reconcile in every order of their steps.
func TestTwoPayersOfOnePurchase(t *testing.T) { // invariant 15
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 0)
	e := w.passEvent(nil, time.Hour, nil)
	w.mustBook(w.ctx, mia, e, 1) // puts the customer in the copy
	req := &bookingv1.CreateTransactionRequest{
		PurchaserId: mia.String(), PaymentMethod: byPass, Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 2}},
	}
	ctx := idem.WithKey(w.serverSide(), "twice", "caller", "transactions")
	other := NewServer(w.db, w.server.outbox, w.customers, w.server.companies, w.passes) // a second process
	redeemed, confirm, second := make(chan struct{}), make(chan struct{}), make(chan error)
	var once sync.Once
	w.passes.refused = func() {
		// The first attempt is refused but has not acted on it yet.
		once.Do(func() {
			w.passes.set(pass, 10)
			w.passes.after = func(call string) error {
				if call == "redeem" {
					close(redeemed)
					<-confirm
				}
				return nil
			}
			go func() {
				_, err := other.CreateTransaction(ctx, req)
				second <- err
			}()
			<-redeemed
		})
	}
	if _, err := w.server.CreateTransaction(ctx, req); fault.From(err).Reason != "PASS_EXHAUSTED" {
		t.Fatalf("got %v", err)
	}
	close(confirm)
	err := <-second
	w.passes.after = nil
	w.settleDown()
	want := int32(10)
	if err == nil {
		want = 8
	}
	if w.passes.credits(pass) != want || w.booked(e) != 1+10-want {
		t.Errorf("%v: %d credits are left, %d spaces booked", err, w.passes.credits(pass), w.booked(e))
	}
	t.Run("a later retry takes effect once", func(t *testing.T) {
		for range 2 {
			if _, err := w.server.CreateTransaction(ctx, req); err != nil {
				t.Fatal(err)
			}
		}
		if w.passes.credits(pass) != 8 || w.booked(e) != 3 {
			t.Errorf("%d credits are left, %d spaces booked", w.passes.credits(pass), w.booked(e))
		}
	})
	w.verify()
	w.reconcile()
}

// settleDown lets everything unfinished time out.
func (w *world) settleDown() {
	w.t.Helper()
	for n := range 4 {
		w.shift(time.Duration(n+1) * 5 * time.Minute)
		if err := w.server.expireOnce(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	w.shift(0)
}

func TestPayingAHoldByPass(t *testing.T) { // invariants 15 and 16
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 1)
	w.code(percent("HALF", 5000))
	confirm := func(h *bookingv1.Hold, method bookingv1.PaymentMethod) (*bookingv1.Transaction, error) {
		resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: method})
		return resp.GetTransaction(), err
	}
	t.Run("a refused payment leaves the hold unchanged", func(t *testing.T) {
		e := w.passEvent(new(int32(2)), time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		for range 2 {
			if _, err := confirm(h, byPass); fault.From(err).Reason != "PASS_EXHAUSTED" || w.booked(e) != 2 {
				t.Fatalf("got %v, %d booked", err, w.booked(e))
			}
		}
		paid, err := confirm(h, 0)
		if err != nil || !proto.Equal(paid.GetBookings()[0].GetCard(), h.GetBookings()[0].GetCard()) || paid.GetBookings()[0].GetCard().GetGross() != 2000 {
			t.Errorf("got %v, %v\nwant %v", paid, err, h)
		}
	})
	t.Run("a refused payment can be tried again with more credits", func(t *testing.T) {
		e := w.passEvent(new(int32(2)), time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		if _, err := confirm(h, byPass); fault.From(err).Reason != "PASS_EXHAUSTED" {
			t.Fatalf("got %v", err)
		}
		w.passes.set(pass, 2)
		if _, err := confirm(h, byPass); err != nil || w.passes.credits(pass) != 0 {
			t.Errorf("got %v, %d credits", err, w.passes.credits(pass))
		}
	})
	t.Run("a refused payment keeps the hold's expiry", func(t *testing.T) {
		e := w.passEvent(new(int32(2)), time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		if _, err := confirm(h, byPass); fault.From(err).Reason != "PASS_EXHAUSTED" {
			t.Fatalf("got %v", err)
		}
		which, _ := id.Parse[id.Transaction](h.GetId())
		if until := one[time.Time](w, `select expires_at from transactions where id = $1`, which); !until.Equal(h.GetExpiresAt().AsTime()) {
			t.Errorf("it expires at %v, not at %v", until, h.GetExpiresAt().AsTime())
		}
	})
	t.Run("a hold paid by two attempts is undone, because the outcome of the first is unknown", func(t *testing.T) {
		e := w.passEvent(new(int32(2)), time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		w.passes.before = func(string) error { return errPassAway }
		if _, err := confirm(h, byPass); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("got %v", err)
		}
		w.passes.before = nil
		if _, err := confirm(h, byPass); fault.From(err).Reason != "PASS_EXHAUSTED" || w.booked(e) != 0 {
			t.Errorf("got %v, %d booked", err, w.booked(e))
		}
	})
	t.Run("refuses a hold with a discount; by card, the discount is kept", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		h := w.hold(mia, e, 2, "HALF")
		if _, err := confirm(h, byPass); fault.From(err).Reason != model.ReasonDiscountInvalid {
			t.Errorf("got %v", err)
		}
		if paid, err := confirm(h, 0); err != nil || paid.GetBookings()[0].GetCard().GetGross() != 1000 {
			t.Errorf("got %v, %v", paid, err)
		}
	})
	w.settleDown()
	w.verify()
	w.reconcile()
}

// TestPayingForACancelledDate cancels a date during a payment for it.
func TestPayingForACancelledDate(t *testing.T) { // invariants 15 and 16
	t.Parallel()
	cancel := func(w *world, e *bookingv1.Event) {
		if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[0].GetId()}); err != nil {
			w.t.Error(err)
		}
	}
	t.Run("a payment by pass returns the credits and frees the spaces", func(t *testing.T) {
		w := newWorld(t)
		mia := w.customer(w.company, "Mia")
		pass := w.passes.give(mia, 3)
		e := w.passEvent(nil, time.Hour, nil)
		w.passes.after = func(call string) error {
			if call == "redeem" {
				cancel(w, e)
			}
			return nil
		}
		_, err := w.byPass(w.ctx, mia, e, 2)
		if fault.From(err).Reason != model.ReasonEventCancelled || w.passes.credits(pass) != 3 || w.booked(e) != 0 {
			t.Errorf("got %v, %d credits, %d booked", err, w.passes.credits(pass), w.booked(e))
		}
		if err := w.server.finishClosings(t.Context()); err != nil || one[int64](w, `select count(*) from event_dates where closing`) != 0 {
			t.Errorf("it is still closing, %v", err)
		}
		w.verify()
		w.reconcile()
	})
	t.Run("a payment by card is refused", func(t *testing.T) {
		w := newWorld(t)
		mia := w.customer(w.company, "Mia")
		e := w.passEvent(nil, time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		w.exec(`update event_dates set status = 'cancelled', closing = true`) // and it is not emptied yet
		_, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId()})
		if fault.From(err).Reason != model.ReasonEventCancelled {
			t.Errorf("got %v", err)
		}
		if err := w.server.finishClosings(t.Context()); err != nil || w.booked(e) != 0 {
			t.Errorf("%v, %d booked", err, w.booked(e))
		}
		w.verify()
	})
}

func TestExpiredIdempotencyKey(t *testing.T) {
	t.Parallel()
	t.Run("a purchase by pass with an expired Idempotency-Key is a new one", func(t *testing.T) {
		w := newWorld(t)
		mia := w.customer(w.company, "Mia")
		pass := w.passes.give(mia, 3)
		e := w.passEvent(nil, time.Hour, nil)
		ctx := withKey(w.ctx, "old")
		for n := range 2 {
			if _, err := w.byPass(ctx, mia, e, 1); err != nil || w.passes.credits(pass) != 2-int32(n) {
				t.Fatalf("got %v, %d credits", err, w.passes.credits(pass))
			}
			w.exec(`update idempotency_keys set expires_at = now() - interval '1 minute'`)
		}
	})
}

// TestUnresponsivePassService checks that a pass service that does not respond delays only payments
// by pass.
func TestUnresponsivePassService(t *testing.T) { // invariant 16
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	w.passes.give(mia, 3)
	e := w.passEvent(new(int32(2)), time.Hour, nil)
	w.passes.after = func(call string) error { return errors.New("lost") }
	if _, err := w.byPass(w.ctx, mia, e, 1); err == nil {
		t.Fatal("it was booked")
	}
	w.hold(mia, e, 1, "")
	silent := make(chan struct{})
	called := make(chan struct{})
	w.passes.before = func(string) error { close(called); <-silent; return errPassAway }
	w.shift(20 * time.Minute)
	done := make(chan error)
	go func() { done <- w.server.undoPending(t.Context()) }()
	<-called
	if err := w.server.expireHolds(t.Context()); err != nil || w.booked(e) != 1 {
		t.Errorf("%v, %d booked", err, w.booked(e))
	}
	close(silent)
	if err := <-done; err == nil {
		t.Error("it was undone")
	}
}
