package booking

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func optionNames(e *bookingv1.Event) (names []string) {
	for _, o := range e.GetPricingOptions() {
		names = append(names, o.GetName())
	}
	return names
}

func TestEndingPricingOptions(t *testing.T) { // invariant 20
	t.Parallel()
	w := newWorld(t)
	one32 := int32(1)
	made := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, &one32)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Early", Price: 900}, {Name: "Full", Price: 1200}},
	})
	early, full := made.GetPricingOptions()[0].GetId(), made.GetPricingOptions()[1].GetId()
	buy := func(option string) (*bookingv1.Transaction, error) {
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: w.customer(w.company, "B").String(),
			Lines:       []*bookingv1.TransactionLine{{EventDateId: made.GetDates()[0].GetId(), PricingOptionId: option}},
		})
		return resp.GetTransaction(), err
	}
	bought, err := buy(early)
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking, PricingOptionId: early}, w.customer(w.company, "W"), made)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("an ended option disappears from the event, in one published change", func(t *testing.T) {
		before := w.published(subjectEventUpdated)
		e := w.updateEvent(&bookingv1.UpdateEventRequest{Id: made.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{{Id: early, Ended: true}}})
		if got := optionNames(e); !slices.Equal(got, []string{"Full"}) || e.GetVersion() != made.GetVersion()+1 || w.published(subjectEventUpdated) != before+1 {
			t.Errorf("%v in version %d, %d events", got, e.GetVersion(), w.published(subjectEventUpdated)-before)
		}
	})
	t.Run("an ended option cannot be bought, used on the waitlist, changed, or ended again", func(t *testing.T) {
		_, err := buy(early)
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.join(&bookingv1.JoinWaitlistRequest{PricingOptionId: early}, w.customer(w.company, "X"), made)
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		for _, change := range []*bookingv1.PricingOptionChange{{Id: early, Ended: true}, {Id: early, Price: new(int64(1))}} {
			_, err = w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: made.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{change}})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("existing bookings keep it, and earlier waitlist entries can be served with it", func(t *testing.T) {
		read, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: bought.GetBookings()[0].GetId()})
		if err != nil || read.GetRegistration().GetBooking().GetPricingOptionId() != early {
			t.Errorf("%v, %v", read, err)
		}
		w.cancel(bought)
		w.wantEntry(waiting, "BOOKED", 0, "")
		if paid := one[int64](w, `select gross from bookings where not is_cancelled`); paid != 900 {
			t.Errorf("paid %d", paid)
		}
	})
	t.Run("its name can be reused immediately, and new options come after the remaining ones", func(t *testing.T) {
		e := w.updateEvent(&bookingv1.UpdateEventRequest{Id: made.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{
			{Name: new("Full"), Price: new(int64(1300))}, {Id: full, Ended: true}, {Name: new("Early"), Price: new(int64(1000))},
		}})
		if got := optionNames(e); !slices.Equal(got, []string{"Full", "Early"}) || e.GetPricingOptions()[0].GetPrice() != 1300 {
			t.Errorf("%v", e.GetPricingOptions())
		}
		e = w.updateEvent(&bookingv1.UpdateEventRequest{Id: made.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{{Name: new("Child"), Price: new(int64(500))}}})
		if got := optionNames(e); !slices.Equal(got, []string{"Full", "Early", "Child"}) {
			t.Errorf("%v", got)
		}
	})
	t.Run("an event keeps one option, and ending cannot be combined with another change", func(t *testing.T) {
		e := w.getEvent(made.GetId())
		var all []*bookingv1.PricingOptionChange
		for _, o := range e.GetPricingOptions() {
			all = append(all, &bookingv1.PricingOptionChange{Id: o.GetId(), Ended: true})
		}
		for _, changes := range [][]*bookingv1.PricingOptionChange{all, {{Id: all[0].GetId(), Ended: true, Price: new(int64(1))}}, {{Ended: true}}} {
			_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: made.GetId(), PricingOptions: changes})
			wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		}
	})
	w.inStep()
	w.verify()
}

func TestAddingDatesByARule(t *testing.T) { // invariant 12
	t.Parallel()
	w := newWorld(t)
	eight := int32(8)
	made := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Timezone: "Europe/London", Dates: []*bookingv1.NewEventDate{
		{LocalStart: "2027-03-15T09:30:00", DurationMinutes: 60},
	}})
	add := func(rule, start string, exceptions ...string) (*bookingv1.AddEventDatesResponse, error) {
		return w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{
			EventId: made.GetId(), Dates: []*bookingv1.NewEventDate{{DurationMinutes: 45, Capacity: &eight}},
			Recurrence: &bookingv1.Recurrence{Rule: rule, LocalStart: start, Exceptions: exceptions},
		})
	}
	t.Run("adds the dates of a rule in wall time, each with the given duration and capacity", func(t *testing.T) {
		res, err := add("FREQ=WEEKLY;COUNT=3", "2027-03-22T09:30:00")
		if err != nil {
			t.Fatal(err)
		}
		if got := starts(res.GetDates()); !slices.Equal(got, []string{"2027-03-22T09:30", "2027-03-29T08:30", "2027-04-05T08:30"}) {
			t.Errorf("%v", got)
		}
		for _, d := range res.GetDates() {
			if d.GetDurationMinutes() != 45 || d.GetCapacity() != 8 {
				t.Errorf("%v", d)
			}
		}
		if e := w.getEvent(made.GetId()); len(e.GetDates()) != 4 || e.GetRecurrence() != nil {
			t.Errorf("%v", e)
		}
	})
	t.Run("refuses a start that is taken, once and by its time, and adds nothing; an exception leaves it out", func(t *testing.T) {
		_, err := add("FREQ=WEEKLY;COUNT=4", "2027-03-15T09:30:00")
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Field != "recurrence.rule" || f.Fields[0].Message != "gives 2027-03-15T09:30:00, at which the event already takes place" {
			t.Errorf("%v", f.Fields)
		}
		res, err := add("FREQ=WEEKLY;COUNT=6", "2027-03-15T09:30:00", "2027-03-15", "2027-03-22", "2027-03-29", "2027-04-05")
		if err != nil || !slices.Equal(starts(res.GetDates()), []string{"2027-04-12T08:30", "2027-04-19T08:30"}) {
			t.Errorf("%v, %v", res, err)
		}
	})
	t.Run("refuses an invalid rule, a rule without an end, and a rule with several dates", func(t *testing.T) {
		for _, rule := range []string{"", "FREQ=WEEKLY", "nonsense"} {
			_, err := add(rule, "2027-05-03T09:30:00")
			wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		}
		_, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{
			EventId: made.GetId(), Dates: []*bookingv1.NewEventDate{{DurationMinutes: 45}, {DurationMinutes: 60}},
			Recurrence: &bookingv1.Recurrence{Rule: "FREQ=WEEKLY;COUNT=2", LocalStart: "2027-05-03T09:30:00"},
		})
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
	})
	t.Run("a retry with the same Idempotency-Key adds the dates once", func(t *testing.T) {
		ctx := withKey(w.ctx, "rule-1")
		req := &bookingv1.AddEventDatesRequest{
			EventId: made.GetId(), Dates: []*bookingv1.NewEventDate{{DurationMinutes: 45}},
			Recurrence: &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=2", LocalStart: "2027-06-01T07:00:00"},
		}
		for range 2 {
			if _, err := w.events.AddEventDates(ctx, req); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.getEvent(made.GetId()).GetDates()); n != 8 {
			t.Errorf("%d dates", n)
		}
	})
}
