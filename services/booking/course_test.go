package booking

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// courseWorld is a world with a course of three dates to come, one that has passed and one that is
// cancelled.
type courseWorld struct {
	*world
	course        *bookingv1.Event
	whole, single string // its options
	toCome        []string
}

func newCourseWorld(t *testing.T, capacity int32) *courseWorld {
	t.Helper()
	w := &courseWorld{world: newWorld(t)}
	const week = 7 * 24 * time.Hour
	w.course = w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Pottery", Type: bookingv1.EventType_EVENT_TYPE_COURSE,
		Dates: []*bookingv1.NewEventDate{
			newDate(-week, &capacity), newDate(time.Hour, &capacity), newDate(week, &capacity), newDate(2*week, &capacity), newDate(3*week, &capacity),
		},
		PricingOptions: []*bookingv1.NewPricingOption{
			{Name: "Term", Price: 10_000, TaxRateBasisPoints: 2000, Credits: new(int32(8)), WholeCourse: true},
			{Name: "Drop in", Price: 4000, TaxRateBasisPoints: 2000, Credits: new(int32(3))},
		},
	})
	dates := w.course.GetDates()
	w.toCome = []string{dates[1].GetId(), dates[3].GetId(), dates[4].GetId()}
	if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: dates[2].GetId()}); err != nil {
		t.Fatal(err)
	}
	w.whole, w.single = w.course.GetPricingOptions()[0].GetId(), w.course.GetPricingOptions()[1].GetId()
	return w
}

func (w *courseWorld) enrol(req *bookingv1.CreateTransactionRequest, purchaser id.Customer) (*bookingv1.Transaction, error) {
	req.PurchaserId = purchaser.String()
	req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventId: w.course.GetId(), PricingOptionId: w.whole})
	resp, err := w.bookings.CreateTransaction(w.ctx, req)
	return resp.GetTransaction(), err
}

func datesOf(t *bookingv1.Transaction) (dates []string) {
	for _, b := range t.GetBookings() {
		dates = append(dates, b.GetEventDateId())
	}
	return dates
}

func grossOf(bookings []*bookingv1.Booking) (gross []int64) {
	for _, b := range bookings {
		gross = append(gross, b.GetCard().GetGross())
	}
	return gross
}

func creditsOf(bookings []*bookingv1.Booking) (credits []int32) {
	for _, b := range bookings {
		credits = append(credits, b.GetPass().GetCreditsUsed())
	}
	return credits
}

func TestWholeCourse(t *testing.T) { // invariant 27
	t.Parallel()
	w := newCourseWorld(t, 4)
	ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
	w.passes.give(ben, 30)
	t.Run("one line books every date to come, at equal parts of one price", func(t *testing.T) {
		bought, err := w.enrol(&bookingv1.CreateTransactionRequest{}, ann)
		if err != nil || !slices.Equal(datesOf(bought), w.toCome) || !slices.Equal(grossOf(bought.GetBookings()), []int64{3334, 3333, 3333}) {
			t.Fatalf("got %v, %v", bought, err)
		}
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: bought.GetId()})
		if err != nil || !slices.Equal(grossOf(read.GetTransaction().GetBookings()), []int64{3334, 3333, 3333}) {
			t.Errorf("read %v, %v", read, err)
		}
		if n := w.published(subjectBookingConfirmed); n != 3 {
			t.Errorf("%d confirmations were published", n)
		}
		preview, err := w.bookings.PreviewCancellation(w.ctx, &bookingv1.PreviewCancellationRequest{BookingId: bought.GetBookings()[1].GetId()})
		if err != nil || preview.GetOutcome().GetRefundDue() != 3333 {
			t.Errorf("cancelling one date owes %v, %v", preview, err)
		}
		w.cancel(bought)
	})
	t.Run("a payment by pass divides the credits, and cancelling one date returns its part", func(t *testing.T) {
		bought, err := w.enrol(&bookingv1.CreateTransactionRequest{PaymentMethod: byPass}, ben)
		if err != nil || !slices.Equal(creditsOf(bought.GetBookings()), []int32{3, 3, 2}) {
			t.Fatalf("got %v, %v", bought, err)
		}
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: bought.GetBookings()[2].GetId()})
		if err != nil || resp.GetOutcome().GetCreditsReturned() != 2 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("a discount code counts once and lowers the whole price", func(t *testing.T) {
		w.code(percent("TENTH", 1000))
		bought, err := w.enrol(&bookingv1.CreateTransactionRequest{DiscountCode: "TENTH"}, ann)
		if err != nil || !slices.Equal(grossOf(bought.GetBookings()), []int64{3000, 3000, 3000}) {
			t.Fatalf("got %v, %v", bought, err)
		}
		if uses := one[int32](w.world, `select uses from discount_codes where code = 'TENTH'`); uses != 1 {
			t.Errorf("counts %d uses", uses)
		}
		w.cancel(bought)
	})
	t.Run("a hold of the course is confirmed by card or by pass", func(t *testing.T) {
		for _, method := range []bookingv1.PaymentMethod{0, byPass} {
			held, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: ben.String(), Lines: []*bookingv1.TransactionLine{
				{EventId: w.course.GetId(), PricingOptionId: w.whole}, {EventDateId: w.toCome[0], PricingOptionId: w.single},
			}})
			if err != nil || !slices.Equal(grossOf(held.GetHold().GetBookings()), []int64{3334, 3333, 3333, 4000}) {
				t.Fatalf("got %v, %v", held, err)
			}
			resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId(), PaymentMethod: method})
			bookings := resp.GetTransaction().GetBookings()
			if err != nil || method == byPass && !slices.Equal(creditsOf(bookings), []int32{3, 3, 2, 3}) || method == 0 && grossOf(bookings)[0] != 3334 {
				t.Errorf("got %v, %v", resp, err)
			}
			w.cancel(resp.GetTransaction())
		}
	})
	t.Run("refuses the option with a date, on the waitlist, and more than 200 bookings", func(t *testing.T) {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: w.toCome[0], PricingOptionId: w.whole}},
		})
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		_, err = w.waitlist.JoinWaitlist(w.ctx, &bookingv1.JoinWaitlistRequest{EventDateId: w.toCome[0], CustomerId: ann.String(), PricingOptionId: w.whole, Spaces: 9})
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "pricing_option_id" {
			t.Errorf("got %v", f.Fields)
		}
		var many []*bookingv1.NewEventDate
		for i := range 201 {
			many = append(many, newDate(time.Duration(i+1)*24*time.Hour, nil))
		}
		long := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Clay", Type: bookingv1.EventType_EVENT_TYPE_COURSE, Dates: many,
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Year", Price: 1, WholeCourse: true}}})
		_, err = w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventId: long.GetId()}}})
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Rule != "max_items" {
			t.Errorf("got %v", f.Fields)
		}
		if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: long.GetDates()[7].GetId()}); err != nil {
			t.Fatal(err)
		}
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventId: long.GetId()}}})
		if err != nil || len(resp.GetTransaction().GetBookings()) != 200 {
			t.Errorf("200 dates: %d bookings, %v", len(resp.GetTransaction().GetBookings()), err)
		}
	})
	t.Run("books nothing if one date is full, and names the date", func(t *testing.T) {
		full, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: w.toCome[1], PricingOptionId: w.single, Spaces: 3}},
		})
		if err != nil {
			t.Fatal(err)
		}
		before := one[int64](w.world, `select sum(booked) from event_dates`)
		_, err = w.enrol(&bookingv1.CreateTransactionRequest{}, ann)
		if f := wantFault(t, err, fault.Refused, model.ReasonEventFull); f.Meta["event_date_id"] != w.toCome[1] {
			t.Errorf("got the facts %v", f.Meta)
		}
		if after := one[int64](w.world, `select sum(booked) from event_dates`); after != before {
			t.Errorf("%d spaces were booked, now %d", before, after)
		}
		w.cancel(full.GetTransaction())
	})
	t.Run("refuses a course whose dates have passed, and one that is cancelled since", func(t *testing.T) {
		course := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Clay", Type: bookingv1.EventType_EVENT_TYPE_COURSE,
			Dates:          []*bookingv1.NewEventDate{newDate(-2*time.Hour, nil), newDate(-time.Hour, nil)},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Term", Price: 1, WholeCourse: true}}})
		enrol := func() error {
			_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventId: course.GetId()}}})
			return err
		}
		wantFault(t, enrol(), fault.Refused, model.ReasonEventPast)
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: course.GetId()}); err != nil {
			t.Fatal(err)
		}
		wantFault(t, enrol(), fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("an option belongs to a course, for as long as it is sold, and does not change", func(t *testing.T) {
		whole := []*bookingv1.NewPricingOption{{Name: "Term", Price: 1, WholeCourse: true}}
		_, err := w.events.CreateEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}, PricingOptions: whole})
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "pricing_options[0].whole_course" {
			t.Errorf("a class: got %v", f.Fields)
		}
		change := func(req *bookingv1.UpdateEventRequest) error {
			req.Id = w.course.GetId()
			_, err := w.events.UpdateEvent(w.ctx, req)
			return err
		}
		f := wantFault(t, change(&bookingv1.UpdateEventRequest{Type: bookingv1.EventType_EVENT_TYPE_CLASS}), fault.Invalid, fault.ReasonValidation)
		if f.Fields[0].Field != "type" {
			t.Errorf("another type: got %v", f.Fields)
		}
		f = wantFault(t, change(&bookingv1.UpdateEventRequest{PricingOptions: []*bookingv1.PricingOptionChange{{Id: w.single, WholeCourse: new(true)}}}), fault.Invalid, fault.ReasonValidation)
		if f.Fields[0].Rule != "immutable" {
			t.Errorf("another kind of option: got %v", f.Fields)
		}
		if err := change(&bookingv1.UpdateEventRequest{PricingOptions: []*bookingv1.PricingOptionChange{
			{Id: w.single, WholeCourse: new(false)}, {Id: w.whole, WholeCourse: new(true), Name: new("Whole term")}, {Name: new("Half"), Price: new(int64(5)), WholeCourse: new(true)},
		}}); err != nil {
			t.Error(err)
		}
		added := w.getEvent(w.course.GetId()).GetPricingOptions()
		if len(added) != 3 || !added[0].GetWholeCourse() || added[1].GetWholeCourse() || !added[2].GetWholeCourse() {
			t.Fatalf("got %v", added)
		}
		if err := change(&bookingv1.UpdateEventRequest{Type: bookingv1.EventType_EVENT_TYPE_CLASS, PricingOptions: []*bookingv1.PricingOptionChange{
			{Id: w.whole, Ended: true}, {Id: added[2].GetId(), Ended: true},
		}}); err != nil {
			t.Errorf("with the options ended: %v", err)
		}
	})
	w.verify()
	w.reconcile()
}

func TestWholeCourseUnderConcurrency(t *testing.T) {
	t.Parallel()
	t.Run("concurrent courses and single dates fill every date exactly, and a course is booked as a whole or not at all (invariants 1, 2, 27)", func(t *testing.T) {
		w := newCourseWorld(t, 10)
		other := w.process()
		ann := w.customer(w.company, "ann")
		w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1)
		var courses, singles, full atomic.Int64
		together(60, func(i int) {
			p := []*world{w.world, other}[i%2]
			line := &bookingv1.TransactionLine{EventId: w.course.GetId(), PricingOptionId: w.whole}
			granted := &courses
			if i%4 == 0 { // five of each date, so that courses fit too
				line = &bookingv1.TransactionLine{EventDateId: w.toCome[i/4%len(w.toCome)], PricingOptionId: w.single}
				granted = &singles
			}
			_, err := p.bookings.CreateTransaction(p.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{line}})
			switch {
			case refusedFor(err, model.ReasonEventFull):
				full.Add(1)
			case err != nil:
				t.Error(err)
			default:
				granted.Add(1)
			}
		})
		booked := one[int64](w.world, `select count(*) from bookings where event_id = $1`, idOf[id.Event](t, w.course.GetId()))
		if booked != 3*courses.Load()+singles.Load() || courses.Load() == 0 || full.Load() == 0 {
			t.Errorf("%d bookings of %d courses and %d dates; %d were refused", booked, courses.Load(), singles.Load(), full.Load())
		}
		w.inStep()
		w.verify()
	})
}
