package booking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const byPass = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS

// passEvent creates an event with one date, whose price is one credit a space.
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

// verify fails the test for every stored number that differs from the rows.
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

// reconcile compares the credits that bookings hold with the credits that the passes paid.
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
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 5)
	five := int32(5)
	t.Run("takes spaces and credits, and names the pass", func(t *testing.T) {
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
	t.Run("a purchase that the pass refuses takes no spaces and no credits", func(t *testing.T) {
		e := w.passEvent(&five, time.Hour, nil)
		if _, err := w.byPass(w.ctx, mia, e, 4); fault.From(err).Reason != "PASS_EXHAUSTED" || w.booked(e) != 0 || w.passes.credits(pass) != 3 {
			t.Errorf("got %v, %d booked", err, w.booked(e))
		}
	})
	t.Run("a price without credits cannot be paid by pass", func(t *testing.T) {
		if _, err := w.byPass(w.ctx, mia, w.event(w.ctx, nil), 1); fault.From(err).Reason != model.ReasonPassNotApplicable {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a pending purchase is hidden, and undone when it times out", func(t *testing.T) {
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
	t.Run("a retry with the Idempotency-Key finishes the purchase, at every point of failure", func(t *testing.T) {
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
	t.Parallel()
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
			t.Errorf("the preview was %v, the cancellation %v", preview, resp)
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
	t.Run("a refund returns the credits once, late or not", func(t *testing.T) {
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
	t.Run("credits that cannot be returned immediately are returned later", func(t *testing.T) {
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
	t.Run("a cancelled date returns all credits, regardless of the policy, and ends its holds", func(t *testing.T) {
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
		testkit.Eventually(t, time.Minute, func() error {
			if w.passes.credits(pass) != credits {
				return fmt.Errorf("%d credits of %d", w.passes.credits(pass), credits)
			}
			return nil
		})
	})
	w.verify()
	w.reconcile()
}

func TestIdentifiersThatAreAllZeros(t *testing.T) {
	t.Parallel()
	const zeros = "00000000000000000000000000"
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 5)
	e := w.passEvent(nil, time.Hour, nil)
	for name, change := range map[string]func(*bookingv1.CreateTransactionRequest){
		"the customer pass":  func(r *bookingv1.CreateTransactionRequest) { r.CustomerPassId = "cp_" + zeros },
		"the purchaser":      func(r *bookingv1.CreateTransactionRequest) { r.PurchaserId = "cust_" + zeros },
		"the recipient":      func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].BoughtForId = "cust_" + zeros },
		"the event":          func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].EventId = "evt_" + zeros },
		"the event date":     func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].EventDateId = "date_" + zeros },
		"the pricing option": func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].PricingOptionId = "po-" + zeros },
	} {
		t.Run("identify nothing: "+name, func(t *testing.T) {
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
	t.Parallel()
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
		"an event with one date needs no date":     {&bookingv1.TransactionLine{EventId: one.GetId()}, ""},
		"a date of the event is accepted":          {&bookingv1.TransactionLine{EventId: two.GetId(), EventDateId: two.GetDates()[1].GetId()}, ""},
		"an event with several dates needs a date": {&bookingv1.TransactionLine{EventId: two.GetId()}, fault.ReasonValidation},
		"a date of another event is refused":       {&bookingv1.TransactionLine{EventId: one.GetId(), EventDateId: other.GetDates()[0].GetId()}, fault.ReasonNotFound},
		"an event that does not exist":             {&bookingv1.TransactionLine{EventId: id.New[id.Event]().String()}, fault.ReasonNotFound},
		"neither an event nor a date":              {&bookingv1.TransactionLine{}, fault.ReasonNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			err := buy(tt.line)
			if got := fault.From(err); (got == nil) != (tt.want == "") || got != nil && got.Reason != tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
}
