package booking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const byPass = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS

// passEvent makes an event of one date that can be paid by one credit a space.
func (w *world) passEvent(capacity *int32, from time.Duration, freeMinutes *int32) *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(from, capacity)}, FreeCancellationMinutes: freeMinutes,
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000, TaxRateBasisPoints: 2000, Credits: proto.Int32(1)}},
	})
}

// byPass buys spaces with credits of the purchaser's pass.
func (w *world) byPass(ctx context.Context, purchaser id.Customer, e *bookingv1.Event, spaces int32) (*bookingv1.Transaction, error) {
	resp, err := w.bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: purchaser.String(), PaymentMethod: byPass, Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: spaces}},
	})
	return resp.GetTransaction(), err
}

func (w *world) booked(e *bookingv1.Event) int32 {
	w.t.Helper()
	resp, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: e.GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetEvent().GetDates()[0].GetBooked()
}

// verify fails the test for every number that is not what the rows say.
func (w *world) verify() (checked int64) {
	w.t.Helper()
	stream, err := w.verifier.VerifyBookings(w.ctx, &bookingv1.VerifyBookingsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return checked
		}
		if err != nil {
			w.t.Fatal(err)
		}
		checked += res.GetChecked()
		if diff := res.GetDifference(); diff != nil {
			w.t.Errorf("%v", diff)
		}
	}
}

// reconcile compares what bookings hold of passes with what the passes gave.
func (w *world) reconcile() {
	w.t.Helper()
	held := map[string]int32{}
	stream, err := w.verifier.ExportPassPayments(w.ctx, &bookingv1.ExportPassPaymentsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for _, p := range res.GetPayments() {
			held[p.GetBookingId()] = p.GetCredits()
		}
	}
	w.passes.mu.Lock()
	defer w.passes.mu.Unlock()
	for t, items := range w.passes.taken {
		for booking, credits := range items {
			if w.passes.returned[booking] {
				credits = 0
			}
			if held[booking.String()] != credits {
				w.t.Errorf("transaction %s, booking %s holds %d credits, the pass gave %d", t, booking, held[booking.String()], credits)
			}
			delete(held, booking.String())
		}
	}
	for booking, credits := range held {
		w.t.Errorf("booking %s holds %d credits that no pass gave", booking, credits)
	}
}

func TestPurchaseByPass(t *testing.T) { // invariant 15
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 5)
	five := int32(5)
	t.Run("takes places and credits, and names the pass", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		bought, err := w.byPass(w.ctx, mia, e, 2)
		if err != nil {
			t.Fatal(err)
		}
		p := bought.GetBookings()[0].GetPass()
		if p.GetCreditsUsed() != 2 || p.GetCustomerPassId() != pass.String() || w.passes.credits(pass) != 3 || w.booked(e) != 2 {
			t.Errorf("got %v, %d credits left", bought, w.passes.credits(pass))
		}
		got, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: mia.String(), TransactionId: bought.GetId()})
		if err != nil || !proto.Equal(got.GetTransaction(), bought) {
			t.Errorf("got %v, %v\nwant %v", got, err, bought)
		}
	})
	t.Run("that a pass refuses leaves nothing behind", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		if _, err := w.byPass(w.ctx, mia, e, 4); fault.From(err).Reason != "PASS_EXHAUSTED" || w.booked(e) != 0 || w.passes.credits(pass) != 3 {
			t.Errorf("got %v, %d booked", err, w.booked(e))
		}
	})
	t.Run("of a price without credits is refused", func(t *testing.T) {
		if _, err := w.byPass(w.ctx, mia, w.event(w.ctx, nil), 1); fault.From(err).Reason != model.ReasonPassNotApplicable {
			t.Errorf("got %v", err)
		}
	})
	t.Run("is seen by nobody while it is pending, and undone when its time is up", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		w.passes.after = func(call string) error { return map[bool]error{true: errPassAway}[call == "redeem"] }
		_, err := w.byPass(w.ctx, mia, e, 1)
		w.passes.after = nil
		if !fault.Is(err, fault.Unavailable) || w.booked(e) != 1 || w.passes.credits(pass) != 2 {
			t.Fatalf("got %v, %d booked, %d credits", err, w.booked(e), w.passes.credits(pass))
		}
		list, err := w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{EventId: e.GetId()})
		if err != nil || list.GetTotal() != 0 || len(list.GetRegistrations()) != 0 {
			t.Errorf("readers see %v, %v", list, err)
		}
		confirmedBefore := w.published(subjectBookingConfirmed)
		w.shift(model.PendingTime + time.Second)
		defer w.shift(0)
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.booked(e) != 0 || w.passes.credits(pass) != 3 || w.published(subjectBookingConfirmed) != confirmedBefore {
			t.Errorf("%d booked, %d credits", w.booked(e), w.passes.credits(pass))
		}
	})
	t.Run("under a key is finished by its repetition, whatever broke", func(t *testing.T) {
		for _, breaks := range []string{"before", "after"} {
			e := w.passEvent(&five, time.Hour, nil)
			ctx := withKey(w.ctx, "key-"+breaks)
			failing := func(call string) error { return map[bool]error{true: errPassAway}[call == "redeem"] }
			if breaks == "before" {
				w.passes.before = failing
			} else {
				w.passes.after = failing
			}
			before := w.passes.credits(pass)
			_, err := w.byPass(ctx, mia, e, 1)
			w.passes.before, w.passes.after = nil, nil
			if !fault.Is(err, fault.Unavailable) {
				t.Fatalf("got %v", err)
			}
			one, err := w.byPass(ctx, mia, e, 1)
			if err != nil {
				t.Fatal(err)
			}
			two, err := w.byPass(ctx, mia, e, 1)
			if err != nil || !proto.Equal(one, two) || w.booked(e) != 1 || w.passes.credits(pass) != before-1 {
				t.Errorf("%s: got %v, %v, %v, %d booked", breaks, one, two, err, w.booked(e))
			}
			if _, err := w.byPass(ctx, mia, e, 2); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
				t.Errorf("another request: %v", err)
			}
		}
	})
	w.verify()
	w.reconcile()
}

func TestCancellationPolicy(t *testing.T) {
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 100)
	cancel := func(b string, waive bool) *bookingv1.CancelBookingResponse {
		t.Helper()
		preview, err := w.bookings.PreviewCancellation(w.ctx, &bookingv1.PreviewCancellationRequest{BookingId: b})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b, WaivePolicy: waive})
		if err != nil {
			t.Fatal(err)
		}
		if !waive && !proto.Equal(preview.GetOutcome(), resp.GetOutcome()) {
			t.Errorf("the preview said %v, it was %v", preview, resp)
		}
		return resp
	}
	day := int32(24 * 60)
	tests := []struct {
		behaviour string
		free      *int32
		from      time.Duration
		waive     bool
		late      bool
	}{
		{"without a policy it is in time until the start", nil, time.Minute, false, false},
		{"without a policy it is late after the start", nil, -time.Minute, false, true},
		{"without a policy it can be waived after the start", nil, -time.Minute, true, false},
		{"before the limit it is in time", &day, 25 * time.Hour, false, false},
		{"after the limit it is late", &day, 23 * time.Hour, false, true},
		{"late, it can be waived", &day, 23 * time.Hour, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			e := w.passEvent(nil, max(tt.from, time.Hour), tt.free)
			credits := w.passes.credits(pass)
			paid, err := w.byPass(w.ctx, mia, e, 3)
			if err != nil {
				t.Fatal(err)
			}
			card := w.mustBook(w.ctx, mia, e, 2)
			w.exec(`update event_dates set starts_at = $1 where id = $2`, time.Now().Add(tt.from).Truncate(time.Second), idOf[id.EventDate](t, e.GetDates()[0].GetId()))
			resp := cancel(paid.GetBookings()[0].GetId(), tt.waive)
			kept := map[bool]int32{true: 3}[tt.late]
			if resp.GetOutcome().GetLate() != tt.late || resp.GetOutcome().GetCreditsReturned() != 3-kept || w.passes.credits(pass) != credits-kept ||
				resp.GetBooking().GetIsRefunded() == tt.late || !resp.GetBooking().GetIsCancelled() || w.booked(e) != 2 {
				t.Errorf("got %v, %d credits of %d", resp, w.passes.credits(pass), credits)
			}
			resp = cancel(card.GetBookings()[0].GetId(), tt.waive)
			if due := resp.GetOutcome().GetRefundDue(); due != map[bool]int64{false: 2000}[tt.late] || resp.GetBooking().GetIsRefunded() {
				t.Errorf("got %v", resp)
			}
		})
	}
	t.Run("a refund gives the credits back once, late or not", func(t *testing.T) {
		e := w.passEvent(nil, 23*time.Hour, &day)
		credits := w.passes.credits(pass)
		paid, err := w.byPass(w.ctx, mia, e, 3)
		if err != nil {
			t.Fatal(err)
		}
		b := paid.GetBookings()[0].GetId()
		cancel(b, false)
		for n := range 2 {
			resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b})
			if err != nil || resp.GetChanged() != (n == 0) || w.passes.credits(pass) != credits {
				t.Errorf("got %v, %v, %d credits of %d", resp, err, w.passes.credits(pass), credits)
			}
		}
	})
	t.Run("credits that cannot be returned at once are returned later", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		credits := w.passes.credits(pass)
		paid, err := w.byPass(w.ctx, mia, e, 1)
		if err != nil {
			t.Fatal(err)
		}
		w.passes.before = func(string) error { return errPassAway }
		cancel(paid.GetBookings()[0].GetId(), false)
		w.passes.before = nil
		w.shift(time.Minute)
		defer w.shift(0)
		if err := w.server.expireOnce(t.Context()); err != nil || w.passes.credits(pass) != credits || one[int64](w, `select count(*) from credit_returns`) != 0 {
			t.Errorf("%v, %d credits of %d", err, w.passes.credits(pass), credits)
		}
	})
	t.Run("a cancelled date gives all credits back, whatever the policy, and its holds end", func(t *testing.T) {
		e := w.passEvent(nil, 23*time.Hour, &day)
		credits := w.passes.credits(pass)
		for range 3 {
			if _, err := w.byPass(w.ctx, mia, e, 2); err != nil {
				t.Fatal(err)
			}
		}
		w.hold(mia, e, 1, "")
		before := w.published(subjectBookingCancelled)
		resp, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[0].GetId()})
		if err != nil || resp.GetCancelledBookings() != 3 || w.booked(e) != 0 || w.published(subjectBookingCancelled) != before+3 {
			t.Errorf("got %v, %v, %d booked", resp, err, w.booked(e))
		}
		testkit.Eventually(t, 5*time.Second, func() error {
			if w.passes.credits(pass) != credits {
				return fmt.Errorf("%d credits of %d", w.passes.credits(pass), credits)
			}
			return nil
		})
	})
	w.verify()
	w.reconcile()
}

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
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 10)
	five := int32(5)
	confirm := func(hold string, method bookingv1.PaymentMethod) (*bookingv1.Transaction, error) {
		resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: hold, PaymentMethod: method})
		return resp.GetTransaction(), err
	}
	t.Run("take places until they expire", func(t *testing.T) {
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
			if err != nil || first.GetId() != h.GetId() {
				t.Fatalf("got %v, %v", first, err)
			}
			again, err := confirm(h.GetId(), method)
			if err != nil || !proto.Equal(first, again) || w.booked(e) != 2 || w.published(subjectBookingConfirmed) != before+1 {
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
	t.Run("stay as they are when a pass does not pay, and can be paid otherwise", func(t *testing.T) {
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
	t.Run("are released by hand, once", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		h := w.hold(mia, e, 2, "")
		for n := range 2 {
			resp, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()})
			if err != nil || resp.GetChanged() != (n == 0) || w.booked(e) != 0 {
				t.Errorf("got %v, %v", resp, err)
			}
		}
	})
	t.Run("of another company do not exist", func(t *testing.T) {
		h := w.hold(mia, w.passEvent(&five, time.Hour, nil), 1, "")
		stranger := w.as(id.New[id.Company]())
		if _, err := w.bookings.ConfirmHold(stranger, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if _, err := w.bookings.ReleaseHold(stranger, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("are removed long after their release", func(t *testing.T) {
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

func (w *world) code(req *bookingv1.CreateDiscountCodeRequest) *bookingv1.DiscountCode {
	w.t.Helper()
	resp, err := w.discounts.CreateDiscountCode(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetDiscountCode()
}

func percent(code string, basisPoints int32) *bookingv1.CreateDiscountCodeRequest {
	return &bookingv1.CreateDiscountCodeRequest{Code: code, Reduction: &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: basisPoints}}
}

func TestDiscounts(t *testing.T) { // invariant 17
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	event := func(price int64) *bookingv1.Event {
		return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: price, TaxRateBasisPoints: 2000}},
		})
	}
	cheap, dear := event(333), event(1000)
	buy := func(code string, events ...*bookingv1.Event) (*bookingv1.Transaction, error) {
		req := &bookingv1.CreateTransactionRequest{PurchaserId: mia.String(), DiscountCode: code}
		for _, e := range events {
			req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventId: e.GetId()})
		}
		resp, err := w.bookings.CreateTransaction(w.ctx, req)
		return resp.GetTransaction(), err
	}
	prices := func(bought *bookingv1.Transaction) string {
		var all []string
		for _, b := range bought.GetBookings() {
			c := b.GetCard()
			all = append(all, fmt.Sprintf("%d-%d=%d net %d %s", c.GetGross()+c.GetDiscount(), c.GetDiscount(), c.GetGross(), c.GetNet(), c.GetDiscountCode()))
		}
		return strings.Join(all, ", ")
	}
	amount := func(code string, minor int64, events ...string) *bookingv1.CreateDiscountCodeRequest {
		return &bookingv1.CreateDiscountCodeRequest{Code: code, Reduction: &bookingv1.CreateDiscountCodeRequest_Amount{Amount: minor}, EventIds: events}
	}
	w.code(percent("Spring-10", 1000))
	w.code(percent("HALF", 5000))
	w.code(percent("FREE", 10_000))
	w.code(amount("FOUR", 400))
	w.code(amount("TWENTY", 2000))
	w.code(amount("CHEAP", 100, cheap.GetId()))
	euro := amount("EURO", 100)
	euro.Currency = "EUR"
	w.code(euro)
	for _, tt := range []struct{ behaviour, code, want string }{
		{"a percentage is taken off each line, rounded half up", "HALF", "333-167=166 net 138 HALF, 1000-500=500 net 417 HALF"},
		{"a code is found whatever its case", "spring-10", "333-33=300 net 250 Spring-10, 1000-100=900 net 750 Spring-10"},
		{"a whole price can be taken off", "FREE", "333-333=0 net 0 FREE, 1000-1000=0 net 0 FREE"},
		{"an amount is taken off the lines in their order", "FOUR", "333-333=0 net 0 FOUR, 1000-67=933 net 778 FOUR"},
		{"an amount is never more than the price", "TWENTY", "333-333=0 net 0 TWENTY, 1000-1000=0 net 0 TWENTY"},
		{"a code of one event leaves the others alone", "CHEAP", "333-100=233 net 194 CHEAP, 1000-0=1000 net 833 "},
	} {
		t.Run(tt.behaviour, func(t *testing.T) {
			bought, err := buy(tt.code, cheap, dear)
			if err != nil || prices(bought) != tt.want {
				t.Errorf("got %s, %v\nwant %s", prices(bought), err, tt.want)
			}
			got, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: mia.String(), TransactionId: bought.GetId()})
			if err != nil || prices(got.GetTransaction()) != tt.want {
				t.Errorf("read again: %s, %v", prices(got.GetTransaction()), err)
			}
		})
	}
	past, future := timestamppb.New(time.Now().Add(-time.Hour)), timestamppb.New(time.Now().Add(time.Hour))
	windowed := func(code string, from, until *timestamppb.Timestamp) {
		req := percent(code, 1000)
		req.ValidFrom, req.ValidUntil = from, until
		w.code(req)
	}
	windowed("EARLY", future, nil)
	windowed("OVER", nil, past)
	disabled := w.code(percent("OFF", 1000))
	if _, err := w.discounts.UpdateDiscountCode(w.ctx, &bookingv1.UpdateDiscountCodeRequest{Id: disabled.GetId(), Disabled: proto.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	once := percent("ONCE", 1000)
	once.MaxUses = proto.Int32(1)
	w.code(once)
	if _, err := buy("ONCE", dear); err != nil {
		t.Fatal(err)
	}
	for code, why := range map[string]string{"EARLY": "not_yet_valid", "OVER": "expired", "OFF": "disabled", "ONCE": "used_up", "NONE": "unknown", "CHEAP": "not_applicable", "EURO": "currency", "x' or 1=1": "unknown", "NUL\x00": "unknown"} {
		t.Run(code+" is refused: "+why, func(t *testing.T) {
			_, err := buy(code, dear)
			if f := fault.From(err); f == nil || f.Reason != model.ReasonDiscountInvalid || f.Meta["why"] != why {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a code is never used more often than it may, and a hold that ends gives its use back", func(t *testing.T) {
		req := percent("TEN", 1000)
		req.MaxUses = proto.Int32(10)
		ten := w.code(req)
		h := w.hold(mia, dear, 1, "ten")
		var wg sync.WaitGroup
		var sold atomic.Int32
		for i := range 40 {
			wg.Go(func() {
				_, err := buy("TEN", []*bookingv1.Event{cheap, dear}[i%2])
				if err == nil {
					sold.Add(1)
				} else if fault.From(err).Reason != model.ReasonDiscountInvalid {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()}); err != nil {
			t.Fatal(err)
		}
		got, err := w.discounts.GetDiscountCode(w.ctx, &bookingv1.GetDiscountCodeRequest{Id: ten.GetId()})
		if err != nil || sold.Load() != 9 || got.GetDiscountCode().GetUses() != 9 {
			t.Errorf("%d sold, %v, %v", sold.Load(), got, err)
		}
	})
	t.Run("a code that exists in another case, and one that is wrong, is refused", func(t *testing.T) {
		for _, req := range []*bookingv1.CreateDiscountCodeRequest{percent("half", 1), percent("", 1), percent("a b", 1), percent("X", 0), percent("X", 10_001), {Code: "X"}, amount("X", 0)} {
			if _, err := w.discounts.CreateDiscountCode(w.ctx, req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", req, err)
			}
		}
	})
	t.Run("codes are listed in pages", func(t *testing.T) {
		seen := map[string]bool{}
		for req := (&bookingv1.ListDiscountCodesRequest{PageSize: 4}); ; {
			resp, err := w.discounts.ListDiscountCodes(w.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range resp.GetDiscountCodes() {
				seen[c.GetCode()] = true
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				if int64(len(seen)) != resp.GetTotal() || len(seen) != 12 {
					t.Errorf("saw %d of %d", len(seen), resp.GetTotal())
				}
				return
			}
		}
	})
	w.verify()
}

func TestDiscountWithAPass(t *testing.T) {
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 5)
	code := w.code(percent("TENTH", 1000))
	lines := []*bookingv1.TransactionLine{{EventId: w.passEvent(nil, time.Hour, nil).GetId()}}
	refused := func(t *testing.T, err error) {
		t.Helper()
		if f := wantFault(t, err, fault.Refused, model.ReasonDiscountInvalid); f.Meta["why"] != "method" {
			t.Errorf("got %v", f)
		}
		if w.passes.credits(pass) != 5 {
			t.Errorf("%d credits are left", w.passes.credits(pass))
		}
	}
	t.Run("is refused at a purchase", func(t *testing.T) {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: mia.String(), Lines: lines, PaymentMethod: byPass, DiscountCode: code.GetCode(),
		})
		refused(t, err)
	})
	t.Run("is refused when a hold is confirmed, which can still be paid by card", func(t *testing.T) {
		res, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), Lines: lines, DiscountCode: code.GetCode()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: res.GetHold().GetId(), PaymentMethod: byPass})
		refused(t, err)
		if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: res.GetHold().GetId()}); err != nil {
			t.Error(err)
		}
	})
}

func TestIdentifiersThatAreAllZeros(t *testing.T) {
	const zeros = "00000000000000000000000000"
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 5)
	e := w.passEvent(nil, time.Hour, nil)
	for name, change := range map[string]func(*bookingv1.CreateTransactionRequest){
		"the customer pass":  func(r *bookingv1.CreateTransactionRequest) { r.CustomerPassId = "cp_" + zeros },
		"the purchaser":      func(r *bookingv1.CreateTransactionRequest) { r.PurchaserId = "cust_" + zeros },
		"whom it is for":     func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].BoughtForId = "cust_" + zeros },
		"the event":          func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].EventId = "evt_" + zeros },
		"the event date":     func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].EventDateId = "date_" + zeros },
		"the pricing option": func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].PricingOptionId = "po-" + zeros },
	} {
		t.Run("name nothing: "+name, func(t *testing.T) {
			req := &bookingv1.CreateTransactionRequest{
				PurchaserId: mia.String(), PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_PASS,
				Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1}},
			}
			change(req)
			_, err := w.bookings.CreateTransaction(w.ctx, req)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			if w.booked(e) != 0 || w.passes.credits(pass) != 5 {
				t.Errorf("%d are booked, %d credits are left", w.booked(e), w.passes.credits(pass))
			}
		})
	}
}

func TestLinesByEvent(t *testing.T) {
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	one, other := w.event(w.ctx, nil), w.event(w.ctx, nil)
	two := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Two", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil), newDate(2*time.Hour, nil)}})
	buy := func(l *bookingv1.TransactionLine) error {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: mia.String(), Lines: []*bookingv1.TransactionLine{l}})
		return err
	}
	for name, tt := range map[string]struct {
		line *bookingv1.TransactionLine
		want string
	}{
		"its only date is found":              {&bookingv1.TransactionLine{EventId: one.GetId()}, ""},
		"a date of it is taken":               {&bookingv1.TransactionLine{EventId: two.GetId(), EventDateId: two.GetDates()[1].GetId()}, ""},
		"of several dates one must be chosen": {&bookingv1.TransactionLine{EventId: two.GetId()}, fault.ReasonValidation},
		"a date of another event is none":     {&bookingv1.TransactionLine{EventId: one.GetId(), EventDateId: other.GetDates()[0].GetId()}, fault.ReasonNotFound},
		"an event that does not exist":        {&bookingv1.TransactionLine{EventId: id.New[id.Event]().String()}, fault.ReasonNotFound},
		"neither an event nor a date":         {&bookingv1.TransactionLine{}, fault.ReasonNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			err := buy(tt.line)
			if got := fault.From(err); (got == nil) != (tt.want == "") || got != nil && got.Reason != tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
}
