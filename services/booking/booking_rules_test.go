package booking

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// ruled creates an event with booking rules and one date, with an option for one credit.
func (w *world) ruled(capacity int32, from time.Duration, rules *bookingv1.BookingRules) *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(from, &capacity)}, BookingRules: rules,
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000, Credits: new(int32(1))}},
	})
}

func inSeconds(from time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(time.Now().Add(from).Truncate(time.Second))
}

func TestBookingRules(t *testing.T) { // invariant 25
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
	notOpen := &bookingv1.BookingRules{OpensAt: inSeconds(time.Hour)}
	closed := &bookingv1.BookingRules{ClosesAt: inSeconds(-time.Hour)}
	for name, c := range map[string]struct {
		rules  *bookingv1.BookingRules
		reason string
	}{
		"before it opens":                       {notOpen, model.ReasonBookingNotOpen},
		"after it closes":                       {closed, model.ReasonBookingClosed},
		"within the minimum notice":             {&bookingv1.BookingRules{MinimumNoticeMinutes: 49 * 60}, model.ReasonBookingClosed},
		"more than the maximum days in advance": {&bookingv1.BookingRules{MaximumAdvanceDays: 1}, model.ReasonBookingNotOpen},
	} {
		t.Run("refuses a purchase, a hold and a waitlist entry "+name, func(t *testing.T) {
			e := w.ruled(0, 48*time.Hour, c.rules)
			_, err := w.book(w.ctx, ann, e, 1)
			f := wantFault(t, err, fault.Refused, c.reason)
			if at, err := time.Parse(time.RFC3339, f.Meta["opens_at"]+f.Meta["closes_at"]); err != nil || f.Meta["event_date_id"] == "" {
				t.Errorf("got the facts %v (%v, %v)", f.Meta, at, err)
			}
			_, err = w.byPass(w.ctx, ann, e, 1)
			wantFault(t, err, fault.Refused, c.reason)
			_, err = w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId()}}})
			wantFault(t, err, fault.Refused, c.reason)
			_, err = w.join(&bookingv1.JoinWaitlistRequest{}, ann, e)
			wantFault(t, err, fault.Refused, c.reason)
		})
	}
	t.Run("a hold that exists can be confirmed after booking has closed", func(t *testing.T) {
		e := w.ruled(5, time.Hour, nil)
		held := w.hold(ann, e, 1, "")
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: closed})
		if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetId()}); err != nil {
			t.Error(err)
		}
	})
	t.Run("an import is not limited", func(t *testing.T) {
		e := w.ruled(5, time.Hour, &bookingv1.BookingRules{ClosesAt: inSeconds(-time.Hour), OncePerCustomer: true})
		for _, reference := range []string{"p1", "p2"} {
			line := past(reference, ann.String(), "", 1)
			line.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: e.GetDates()[0].GetId()}
			line.Bookings[0].PricingOptionId = e.GetPricingOptions()[0].GetId()
			if results, err := w.send(w.ctx, line); err != nil || outcomes(results) != "c" {
				t.Errorf("got %v, %v", results, err)
			}
		}
	})
	t.Run("rules are stored, replaced as a whole, and removed by an empty message", func(t *testing.T) {
		all := &bookingv1.BookingRules{
			OpensAt: inSeconds(-time.Hour), ClosesAt: inSeconds(24 * time.Hour), MinimumNoticeMinutes: 5, MaximumAdvanceDays: 6, OncePerCustomer: true,
		}
		e := w.ruled(5, time.Hour, all)
		if !proto.Equal(e.GetBookingRules(), all) || !proto.Equal(w.getEvent(e.GetId()).GetBookingRules(), all) {
			t.Errorf("created %v, read %v", e.GetBookingRules(), w.getEvent(e.GetId()).GetBookingRules())
		}
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Pilates")})
		if !proto.Equal(got.GetBookingRules(), all) {
			t.Errorf("without rules: %v", got.GetBookingRules())
		}
		unchanged := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: all})
		if unchanged.GetVersion() != got.GetVersion() {
			t.Errorf("the same rules: version %d, then %d", got.GetVersion(), unchanged.GetVersion())
		}
		few := &bookingv1.BookingRules{MaximumAdvanceDays: 6}
		if got = w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: few}); !proto.Equal(got.GetBookingRules(), few) {
			t.Errorf("replaced: %v", got.GetBookingRules())
		}
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: &bookingv1.BookingRules{}})
		if read := w.getEvent(e.GetId()).GetBookingRules(); read != nil {
			t.Errorf("removed: %v", read)
		}
	})
	t.Run("refuses rules that contradict each other, and rules of a cancelled event", func(t *testing.T) {
		e := w.ruled(5, time.Hour, nil)
		wrong := &bookingv1.BookingRules{OpensAt: inSeconds(time.Hour), ClosesAt: inSeconds(0)}
		_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: wrong})
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "booking_rules.closes_at" {
			t.Errorf("got %v", f.Fields)
		}
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		_, err = w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: notOpen})
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("an entry that the rules refuse is passed over, and is served when the rules are removed", func(t *testing.T) {
		e := w.ruled(1, time.Hour, nil)
		bought := w.mustBook(w.ctx, ann, e, 1)
		waiting, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking}, ben, e)
		if err != nil {
			t.Fatal(err)
		}
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: closed})
		w.cancel(bought)
		w.wantEntry(waiting, "WAITING", 1, model.ReasonBookingClosed)
		if _, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: &bookingv1.BookingRules{}}); err != nil {
			t.Fatal(err)
		}
		if got := w.entry(waiting); got.GetState() != bookingv1.WaitlistState_WAITLIST_STATE_BOOKED {
			t.Errorf("got %v", got)
		}
	})
	w.verify()
}

func TestOneBookingPerCustomer(t *testing.T) { // invariant 26
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
	once := &bookingv1.BookingRules{OncePerCustomer: true}
	lines := func(e *bookingv1.Event, forWhom ...id.Customer) (all []*bookingv1.TransactionLine) {
		for _, c := range forWhom {
			all = append(all, &bookingv1.TransactionLine{EventDateId: e.GetDates()[0].GetId(), BoughtForId: c.String(), Spaces: 2})
		}
		return all
	}
	buy := func(purchaser id.Customer, lines []*bookingv1.TransactionLine) (*bookingv1.Transaction, error) {
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: purchaser.String(), Lines: lines})
		return resp.GetTransaction(), err
	}
	t.Run("counts the customer who attends, in one purchase and in several, until the booking is cancelled", func(t *testing.T) {
		e := w.ruled(20, time.Hour, once)
		_, err := buy(ann, lines(e, ben, ben))
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		bought, err := buy(ann, lines(e, ann, ben))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []id.Customer{ann, ben} {
			_, err = w.book(w.ctx, c, e, 1)
			f := wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
			if f.Meta["customer_id"] != c.String() || f.Meta["event_date_id"] != e.GetDates()[0].GetId() {
				t.Errorf("got the facts %v", f.Meta)
			}
		}
		w.cancel(bought)
		if _, err := w.book(w.ctx, ben, e, 1); err != nil {
			t.Error(err)
		}
	})
	t.Run("a hold counts until it ends", func(t *testing.T) {
		e := w.ruled(20, time.Hour, once)
		held := w.hold(ann, e, 1, "")
		_, err := w.book(w.ctx, ann, e, 1)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetId()}); err != nil {
			t.Error(err)
		}
		released := w.hold(ben, e, 1, "")
		if _, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: released.GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.book(w.ctx, ben, e, 1); err != nil {
			t.Error(err)
		}
	})
	t.Run("a pending purchase by pass counts, and one that was refused does not", func(t *testing.T) {
		e := w.ruled(20, time.Hour, once)
		_, err := w.byPass(w.ctx, ann, e, 1) // without a pass
		if err == nil {
			t.Fatal("a purchase without a pass succeeded")
		}
		w.passes.give(ann, 5)
		began, proceed := make(chan struct{}), make(chan struct{})
		w.passes.before = func(string) error { close(began); <-proceed; return nil }
		done := make(chan error, 1)
		go func() {
			_, err := w.byPass(w.ctx, ann, e, 1)
			done <- err
		}()
		<-began
		_, err = w.book(w.ctx, ann, e, 1)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		close(proceed)
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.passes.before = nil
	})
	t.Run("the waitlist refuses and passes over a customer who has a booking", func(t *testing.T) {
		e := w.ruled(2, time.Hour, nil)
		bought := w.mustBook(w.ctx, ben, e, 1)
		w.mustBook(w.ctx, ann, e, 1)
		again, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking}, ann, e)
		if err != nil {
			t.Fatal(err)
		}
		next := w.waits(e, 1, byBooking)
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), BookingRules: once})
		_, err = w.join(&bookingv1.JoinWaitlistRequest{}, ben, e)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		w.cancel(bought)
		w.wantEntry(again, "WAITING", 1, model.ReasonAlreadyBooked)
		w.wantEntry(next, "BOOKED", 0, "")
	})
	w.verify()
}

// attendedTwiceSQL counts the customers who have several bookings of one date, or hold or are paying for
// them.
const attendedTwiceSQL = `select count(*) from (
	select b.event_date_id from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
	where not b.is_cancelled and t.status in ('held', 'pending', 'confirmed')
	group by b.event_date_id, coalesce(b.bought_for, t.purchaser_id) having count(*) > 1) n`

func TestOneBookingPerCustomerUnderConcurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	processes := []*world{w, w.process(), w.process()}
	for _, p := range processes[1:] {
		p.server.passes = w.passes
	}
	var customers []id.Customer
	for i := range 4 {
		c := w.customer(w.company, fmt.Sprint("C", i))
		w.passes.give(c, 1000)
		customers = append(customers, c)
	}
	e := w.ruled(3, time.Hour, &bookingv1.BookingRules{OncePerCustomer: true})
	date := e.GetDates()[0].GetId()
	t.Run("buyers at once, in three processes, with every kind of purchase, never book a customer twice (invariants 1, 26)", func(t *testing.T) {
		var granted, refused, full atomic.Int64
		together(24, func(worker int) {
			r := rand.New(rand.NewPCG(5, uint64(worker)))
			for range 12 {
				p := processes[r.IntN(len(processes))]
				buyer, other := customers[r.IntN(4)].String(), customers[r.IntN(4)].String()
				line := []*bookingv1.TransactionLine{{EventDateId: date, BoughtForId: other}}
				bought, err := p.anyPurchase(r, buyer, line)
				switch {
				case refusedFor(err, model.ReasonAlreadyBooked):
					refused.Add(1)
				case refusedFor(err, model.ReasonEventFull), refusedFor(err, model.ReasonAlreadyWaiting), refusedFor(err, model.ReasonEventNotFull):
					full.Add(1)
				case err != nil:
					t.Error(err)
				default:
					granted.Add(1)
				}
				if n := one[int64](w, attendedTwiceSQL); n != 0 {
					t.Errorf("%d customers have two bookings", n)
				}
				if bought != nil && r.IntN(4) > 0 {
					if _, err := p.bookings.CancelBooking(p.ctx, &bookingv1.CancelBookingRequest{BookingId: bought.GetBookings()[0].GetId()}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		if granted.Load() == 0 || refused.Load() == 0 || full.Load() == 0 {
			t.Errorf("%d granted, %d refused, %d full: not enough contention", granted.Load(), refused.Load(), full.Load())
		}
		w.inStepWithReleased()
		w.verify()
	})
}

// anyPurchase makes a random kind of purchase of one line.
func (w *world) anyPurchase(r *rand.Rand, buyer string, lines []*bookingv1.TransactionLine) (*bookingv1.Transaction, error) {
	req := &bookingv1.CreateTransactionRequest{PurchaserId: buyer, Lines: lines}
	switch r.IntN(5) {
	case 0:
		req.PaymentMethod = byPass
	case 1:
		held, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: buyer, Lines: lines})
		if err != nil {
			return nil, err
		}
		if r.IntN(2) == 0 {
			_, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: held.GetHold().GetId()})
			return nil, err
		}
		resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId()})
		return resp.GetTransaction(), err
	case 2:
		_, err := w.waitlist.JoinWaitlist(w.ctx, &bookingv1.JoinWaitlistRequest{EventDateId: lines[0].GetEventDateId(), CustomerId: buyer, Mode: byBooking})
		return nil, err
	}
	resp, err := w.bookings.CreateTransaction(w.ctx, req)
	return resp.GetTransaction(), err
}

// inStepWithReleased is inStep for a world in which holds were released.
func (w *world) inStepWithReleased() {
	w.t.Helper()
	w.exec(`delete from bookings b using transactions t where t.company_id = b.company_id and t.id = b.transaction_id and t.status = 'released'`)
	w.inStep()
}
