package booking

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func (w *world) hold(purchaser id.Customer, e *bookingv1.Event, spaces int32, code string) *bookingv1.Hold {
	w.t.Helper()
	resp, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{
		PurchaserId: purchaser.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: spaces}}, DiscountCode: code,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetHold()
}

func TestHolds(t *testing.T) { // invariant 16
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 10)
	five := int32(5)
	already := false
	confirm := func(hold string, method bookingv1.PaymentMethod) (*bookingv1.Transaction, error) {
		resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: hold, PaymentMethod: method})
		already = resp.GetAlreadyConfirmed()
		return resp.GetTransaction(), err
	}
	t.Run("a hold takes spaces until it expires", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		h := w.hold(mia, e, 5, "")
		if until := time.Until(h.GetExpiresAt().AsTime()); until < 14*time.Minute || until > 15*time.Minute || h.GetBookings()[0].GetCard().GetGross() != 5000 {
			t.Errorf("got %v", h)
		}
		if _, err := w.book(w.ctx, mia, e, 1); fault.From(err).Reason != model.ReasonEventFull {
			t.Errorf("got %v", err)
		}
		w.shift(15*time.Minute + time.Second)
		defer w.shift(0)
		if _, err := confirm(h.GetId(), 0); fault.From(err).Reason != ReasonHoldExpired {
			t.Errorf("before it is released: %v", err)
		}
		if err := w.server.expireOnce(t.Context()); err != nil || w.booked(e) != 0 {
			t.Errorf("%v, %d booked", err, w.booked(e))
		}
		if _, err := confirm(h.GetId(), 0); fault.From(err).Reason != ReasonHoldExpired {
			t.Errorf("after it is released: %v", err)
		}
	})
	t.Run("become a purchase, once", func(t *testing.T) {
		for _, method := range []bookingv1.PaymentMethod{0, byPass} {
			e := w.passEvent(&five, time.Hour, nil)
			credits := w.passes.credits(pass)
			h := w.hold(mia, e, 2, "")
			before := w.published(subjectBookingConfirmed)
			first, err := confirm(h.GetId(), method)
			if err != nil || first.GetId() != h.GetId() || already {
				t.Fatalf("got %v, %v, already confirmed: %t", first, err, already)
			}
			again, err := confirm(h.GetId(), method)
			if err != nil || !already || !proto.Equal(first, again) || w.booked(e) != 2 || w.published(subjectBookingConfirmed) != before+1 {
				t.Errorf("got %v, %v\nwant %v", again, err, first)
			}
			if taken := credits - w.passes.credits(pass); taken != map[bool]int32{true: 2}[method == byPass] {
				t.Errorf("%d credits were taken", taken)
			}
			if _, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()}); fault.From(err).Reason != ReasonHoldConfirmed {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("are paid once by requests at the same time", func(t *testing.T) {
		rich := w.customer(w.company, "Rich")
		w.passes.give(rich, 10)
		for range 10 {
			h := w.hold(rich, w.passEvent(&five, time.Hour, nil), 1, "")
			var paid atomic.Int32
			together(3, func(int) {
				resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: byPass})
				if err != nil {
					t.Error(err)
				} else if !resp.GetAlreadyConfirmed() {
					paid.Add(1)
				}
			})
			if paid.Load() != 1 {
				t.Errorf("%d requests paid", paid.Load())
			}
		}
	})
	t.Run("a confirmation is replayed only to its own Idempotency-Key", func(t *testing.T) {
		for _, method := range []bookingv1.PaymentMethod{0, byPass} {
			h := w.hold(mia, w.passEvent(&five, time.Hour, nil), 2, "")
			confirm := func(key, reference string) (*bookingv1.ConfirmHoldResponse, error) {
				return w.bookings.ConfirmHold(withKey(w.ctx, h.GetId()+key), &bookingv1.ConfirmHoldRequest{
					HoldId: h.GetId(), PaymentMethod: method, PaymentReference: reference,
				})
			}
			first, err := confirm("own", "")
			if err != nil || first.GetAlreadyConfirmed() {
				t.Fatalf("got %v, %v", first, err)
			}
			if again, err := confirm("own", ""); err != nil || !proto.Equal(again, first) {
				t.Errorf("the same key: %v, %v\nwant %v", again, err, first)
			}
			if other, err := confirm("other", ""); err != nil || !other.GetAlreadyConfirmed() {
				t.Errorf("another key: %v, %v", other, err)
			}
			if method == byPass {
				continue // a payment by pass has no reference
			}
			if _, err := confirm("own", "pay_2"); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
				t.Errorf("the key with another request: %v", err)
			}
		}
	})
	t.Run("a hold stays unchanged when a payment by pass is refused, and can be paid another way", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		poor := w.customer(w.company, "Poor")
		w.passes.give(poor, 1)
		h := w.hold(poor, e, 2, "")
		if _, err := confirm(h.GetId(), byPass); fault.From(err).Reason != "PASS_EXHAUSTED" || w.booked(e) != 2 {
			t.Errorf("got %v, %d booked", err, w.booked(e))
		}
		paid, err := confirm(h.GetId(), 0)
		if err != nil || paid.GetBookings()[0].GetCard().GetGross() != 2000 || w.booked(e) != 2 {
			t.Errorf("got %v, %v", paid, err)
		}
	})
	t.Run("the caller can release a hold, once", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		for n := range 2 {
			resp, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()})
			if err != nil || resp.GetChanged() != (n == 0) || w.booked(e) != 0 {
				t.Errorf("got %v, %v", resp, err)
			}
		}
	})
	t.Run("a hold whose time has passed expires instead of being released, once", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		before := len(payloads[bookingv1.HoldExpired](w, "booking.v1.hold_expired"))
		w.shift(15*time.Minute + time.Second)
		defer w.shift(0)
		for range 2 {
			resp, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()})
			if err != nil || resp.GetChanged() || resp.GetHold().GetStatus() != isExpired || w.booked(e) != 0 {
				t.Errorf("got %v, %v", resp, err)
			}
		}
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(payloads[bookingv1.HoldExpired](w, "booking.v1.hold_expired")) - before; n != 1 {
			t.Errorf("hold.expired was published %d times", n)
		}
	})
	t.Run("a hold is confirmed and released in the version that was read", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		for _, method := range []bookingv1.PaymentMethod{0, byPass} {
			h := w.hold(mia, e, 1, "")
			confirm := func(version int64, key string) error {
				ctx := withKey(w.ctx, h.GetId()+key)
				_, err := w.bookings.ConfirmHold(ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: method, ExpectedVersion: &version})
				return err
			}
			wantFault(t, confirm(h.GetVersion()+1, "a"), fault.VersionMismatch, fault.ReasonVersionMismatch)
			if err := errors.Join(confirm(h.GetVersion(), "b"), confirm(h.GetVersion(), "b")); err != nil {
				t.Errorf("confirmed and replayed: %v", err)
			}
			wantFault(t, confirm(h.GetVersion(), "c"), fault.VersionMismatch, fault.ReasonVersionMismatch)
		}
		h := w.hold(mia, e, 1, "")
		_, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId(), ExpectedVersion: new(h.GetVersion() + 1)})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		resp, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId(), ExpectedVersion: new(h.GetVersion())})
		if err != nil || !resp.GetChanged() {
			t.Errorf("got %v, %v", resp, err)
		}
		_, err = w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId(), ExpectedVersion: new(h.GetVersion())})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	})
	t.Run("holds of another company do not exist", func(t *testing.T) {
		h := w.hold(mia, w.passEvent(&five, time.Hour, nil), 1, "")
		stranger := w.as(id.New[id.Company]())
		if _, err := w.bookings.ConfirmHold(stranger, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if _, err := w.bookings.ReleaseHold(stranger, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("holds are removed long after their release", func(t *testing.T) {
		w.shift(3 * keptReleased)
		defer w.shift(0)
		if err := errors.Join(w.server.expireOnce(t.Context()), w.server.expireOnce(t.Context())); err != nil {
			t.Fatal(err)
		}
		w.shift(6 * keptReleased)
		if err := w.server.expireOnce(t.Context()); err != nil || one[int64](w, `select count(*) from transactions where status = 'released'`) != 0 {
			t.Errorf("%v", err)
		}
	})
	w.verify()
	w.reconcile()
}
