package booking

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func (w *world) getEvent(which string) *bookingv1.Event {
	w.t.Helper()
	resp, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: which})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetEvent()
}

func (w *world) updateEvent(req *bookingv1.UpdateEventRequest) *bookingv1.Event {
	w.t.Helper()
	resp, err := w.events.UpdateEvent(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	if read := w.getEvent(req.GetId()); !proto.Equal(read, resp.GetEvent()) {
		w.t.Errorf("answered %v\nread %v", resp.GetEvent(), read)
	}
	return resp.GetEvent()
}

func starts(dates []*bookingv1.EventDate) []string {
	var out []string
	for _, d := range dates {
		out = append(out, d.GetStartsAt().AsTime().Format("2006-01-02T15:04"))
	}
	return out
}

func TestCreateEventInWallTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("local starts are in the event's zone, and a skipped start moves forward", func(t *testing.T) {
		made := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Timezone: "America/New_York", Dates: []*bookingv1.NewEventDate{
			{LocalStart: "2027-03-14T02:30:00", DurationMinutes: 60}, {LocalStart: "2027-11-07T01:30:00", DurationMinutes: 60},
		}})
		if got := starts(made.GetDates()); !slices.Equal(got, []string{"2027-03-14T07:30", "2027-11-07T05:30"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a rule generates dates with the given duration and capacity, and is stored (invariant 12)", func(t *testing.T) {
		made := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Yoga", Timezone: "Europe/London", FreeCancellationMinutes: new(int32(90)),
			Dates: []*bookingv1.NewEventDate{{DurationMinutes: 45, Capacity: new(int32(8))}},
			Recurrence: &bookingv1.Recurrence{
				Rule: "freq=weekly;byday=sa,su;count=4", LocalStart: "2027-03-27T09:30", Exceptions: []string{"2027-04-03"},
			},
		})
		if got := starts(made.GetDates()); !slices.Equal(got, []string{"2027-03-27T09:30", "2027-03-28T08:30", "2027-04-04T08:30"}) {
			t.Errorf("got %v", got)
		}
		for _, d := range made.GetDates() {
			if d.GetDurationMinutes() != 45 || d.GetCapacity() != 8 || d.GetTimezone() != "Europe/London" {
				t.Errorf("got %v", d)
			}
		}
		want := &bookingv1.Recurrence{Rule: "FREQ=WEEKLY;BYDAY=SA,SU;COUNT=4", LocalStart: "2027-03-27T09:30:00", Exceptions: []string{"2027-04-03"}}
		if read := w.getEvent(made.GetId()); !proto.Equal(read, made) || !proto.Equal(read.GetRecurrence(), want) || read.GetFreeCancellationMinutes() != 90 {
			t.Errorf("read %v\nmade %v", read, made)
		}
	})
	t.Run("generates 1000 dates and refuses more", func(t *testing.T) {
		req := &bookingv1.CreateEventRequest{
			Title: "Daily", Dates: []*bookingv1.NewEventDate{{DurationMinutes: 45}},
			Recurrence: &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=1000", LocalStart: "2027-01-01T09:30:00"},
		}
		if made := w.createEvent(w.ctx, req); len(made.GetDates()) != 1000 {
			t.Errorf("%d dates", len(made.GetDates()))
		}
		req.Recurrence.Rule = "FREQ=DAILY;UNTIL=20291231"
		_, err := w.events.CreateEvent(w.ctx, req)
		wantField(t, err, "recurrence.rule", "max_items")
	})
	for behaviour, tt := range map[string]struct {
		field, rule string
		change      func(r *bookingv1.CreateEventRequest)
	}{
		"two starts": {"dates[0].local_start", "exclusive", func(r *bookingv1.CreateEventRequest) { r.Dates[0].LocalStart = "2027-01-01T09:00:00" }},
		"a malformed start": {"dates[0].local_start", "format", func(r *bookingv1.CreateEventRequest) {
			r.Dates[0].StartsAt, r.Dates[0].LocalStart = nil, "tomorrow"
		}},
		"two wall times that a clock change makes one instant": {"dates[1].local_start", "unique", func(r *bookingv1.CreateEventRequest) {
			r.Dates = []*bookingv1.NewEventDate{{LocalStart: "2027-03-28T02:30:00", DurationMinutes: 1}, {LocalStart: "2027-03-28T01:30:00", DurationMinutes: 1}}
		}},
		"a rule with two dates": {"dates", "max_items", func(r *bookingv1.CreateEventRequest) {
			r.Recurrence = &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=2", LocalStart: "2027-01-01T09:00:00"}
			r.Dates = append(r.Dates, r.Dates[0])
		}},
		"a rule with a date without a duration": {"dates[0].duration_minutes", "range", func(r *bookingv1.CreateEventRequest) {
			r.Recurrence = &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=2", LocalStart: "2027-01-01T09:00:00"}
			r.Dates[0].DurationMinutes = 0
		}},
		"an empty rule": {"recurrence.rule", "required", func(r *bookingv1.CreateEventRequest) {
			r.Recurrence = &bookingv1.Recurrence{LocalStart: "2027-01-01T09:00:00"}
		}},
		"free cancellation beyond a year":   {"free_cancellation_minutes", "range", func(r *bookingv1.CreateEventRequest) { r.FreeCancellationMinutes = new(int32(525_601)) }},
		"free cancellation after the start": {"free_cancellation_minutes", "range", func(r *bookingv1.CreateEventRequest) { r.FreeCancellationMinutes = new(int32(-1)) }},
	} {
		t.Run(behaviour+" is refused", func(t *testing.T) {
			req := &bookingv1.CreateEventRequest{Title: "Yoga", Timezone: "Europe/London", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}}
			tt.change(req)
			_, err := w.events.CreateEvent(w.ctx, req)
			wantField(t, err, tt.field, tt.rule)
		})
	}
}

// wantField checks that a request is refused because of one field.
func wantField(t testing.TB, err error, field, rule string) {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != field || f.Fields[0].Rule != rule {
		t.Fatalf("got %v %+v, want %s %s", err, f.Fields, field, rule)
	}
}

// eventOfTwoDates creates an event with two dates and two pricing options.
func (w *world) eventOfTwoDates() *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Description: "Mats", Location: "Hall", FreeCancellationMinutes: new(int32(60)), Timezone: "Europe/London",
		Dates: []*bookingv1.NewEventDate{{LocalStart: "2027-01-04T09:00:00", DurationMinutes: 60, Capacity: new(int32(3))}, {LocalStart: "2027-01-05T09:00:00", DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{
			{Name: "Adult", Price: 1200, Credits: new(int32(2))}, {Name: "Child", Price: 600},
		},
	})
}

func TestUpdateEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("changes the given fields and no others, in one commit and one version (invariant 4)", func(t *testing.T) {
		e := w.eventOfTwoDates()
		before := w.published(subjectEventUpdated)
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id: e.GetId(), Title: new(" Pilates "), Type: bookingv1.EventType_EVENT_TYPE_COURSE, ExpectedVersion: new(int64(1)),
			Dates: []*bookingv1.EventDateChange{
				{Id: e.GetDates()[0].GetId(), LocalStart: new("2027-07-04T09:00:00"), Capacity: new(int32(5))},
				{StartsAt: timestamppb.New(time.Date(2027, 1, 6, 9, 0, 0, 0, time.UTC)), DurationMinutes: new(int32(30))},
			},
			PricingOptions: []*bookingv1.PricingOptionChange{
				{Id: e.GetPricingOptions()[0].GetId(), Price: new(int64(1500)), NoCredits: true}, {Name: new("Senior"), Price: new(int64(900))},
			},
		})
		if got.GetTitle() != "Pilates" || got.GetDescription() != "Mats" || got.GetLocation() != "Hall" || got.GetVersion() != 2 ||
			got.GetType() != bookingv1.EventType_EVENT_TYPE_COURSE || got.GetFreeCancellationMinutes() != 60 {
			t.Errorf("got %v", got)
		}
		if s := starts(got.GetDates()); !slices.Equal(s, []string{"2027-01-05T09:00", "2027-01-06T09:00", "2027-07-04T08:00"}) || got.GetDates()[2].GetCapacity() != 5 {
			t.Errorf("got %v", got.GetDates())
		}
		o := got.GetPricingOptions()
		if len(o) != 3 || o[0].GetPrice() != 1500 || o[0].Credits != nil || o[1].GetPrice() != 600 || o[2].GetName() != "Senior" || o[2].GetCurrency() != "GBP" {
			t.Errorf("got %v", o)
		}
		for subject, want := range map[string]int64{subjectEventUpdated: before + 1, subjectEventDatesAdded: 1, subjectDateUpdated: 1} {
			if n := w.published(subject); n != want {
				t.Errorf("%d of %s", n, subject)
			}
		}
	})
	t.Run("a change without effect does not increase the version and publishes nothing", func(t *testing.T) {
		e := w.eventOfTwoDates()
		before := one[int64](w, `select count(*) from outbox`)
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id: e.GetId(), Title: new("Yoga"), Status: e.GetStatus(), Timezone: new("Europe/London"), FreeCancellationMinutes: new(int32(60)),
			Dates:          []*bookingv1.EventDateChange{{Id: e.GetDates()[0].GetId(), StartsAt: e.GetDates()[0].GetStartsAt(), Capacity: new(int32(3))}, {Id: e.GetDates()[1].GetId(), Unlimited: true}},
			PricingOptions: []*bookingv1.PricingOptionChange{{Id: e.GetPricingOptions()[0].GetId(), Name: new("Adult"), Price: new(int64(1200))}},
		})
		if !proto.Equal(got, e) || one[int64](w, `select count(*) from outbox`) != before {
			t.Errorf("got %v\nwas %v", got, e)
		}
	})
	t.Run("texts can be cleared, and the policy removed", func(t *testing.T) {
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: w.eventOfTwoDates().GetId(), Description: new(""), Location: new(""), FreeCancellationMinutes: new(int32(-1))})
		if got.GetDescription() != "" || got.GetLocation() != "" || got.FreeCancellationMinutes != nil || got.GetTitle() != "Yoga" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a new zone shows the dates in local time and keeps their instants", func(t *testing.T) {
		e := w.eventOfTwoDates()
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Timezone: new("Asia/Tokyo"), Dates: []*bookingv1.EventDateChange{
			{LocalStart: new("2027-02-01T09:00:00"), DurationMinutes: new(int32(10))},
		}})
		if s := starts(got.GetDates()); !slices.Equal(s, append(starts(e.GetDates()), "2027-02-01T00:00")) {
			t.Errorf("got %v", s)
		}
		for _, d := range got.GetDates() {
			if d.GetTimezone() != "Asia/Tokyo" {
				t.Errorf("got %v", d)
			}
		}
	})
	t.Run("two dates can swap their starts, and two options their names", func(t *testing.T) {
		e := w.eventOfTwoDates()
		d, o := e.GetDates(), e.GetPricingOptions()
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id:             e.GetId(),
			Dates:          []*bookingv1.EventDateChange{{Id: d[0].GetId(), StartsAt: d[1].GetStartsAt()}, {Id: d[1].GetId(), StartsAt: d[0].GetStartsAt()}},
			PricingOptions: []*bookingv1.PricingOptionChange{{Id: o[0].GetId(), Name: new("Child")}, {Id: o[1].GetId(), Name: new("Adult")}},
		})
		if got.GetDates()[0].GetId() != d[1].GetId() || got.GetPricingOptions()[0].GetName() != "Child" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the id in only_date is not used", func(t *testing.T) {
		e := w.event(w.ctx, new(int32(3)))
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{Id: "whatever", Unlimited: true}})
		if got.GetDates()[0].Capacity != nil || got.GetDates()[0].GetDurationMinutes() != 60 {
			t.Errorf("got %v", got.GetDates())
		}
	})
	t.Run("bookings keep the price at which they were made (invariant 11)", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		ann := w.customer(w.company, "ann")
		made := w.mustBook(w.ctx, ann, e, 1)
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{{Id: e.GetPricingOptions()[0].GetId(), Price: new(int64(9900))}}})
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: made.GetId()})
		if err != nil || read.GetTransaction().GetBookings()[0].GetCard().GetGross() != 1200 {
			t.Errorf("got %v, %v", read, err)
		}
	})
}

func TestUpdateEventStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("a draft cannot be booked until it is published, and a booked event cannot become a draft", func(t *testing.T) {
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, new(int32(3)))
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT})
		_, err := w.book(w.ctx, ann, e, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventNotPublished)
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED})
		w.mustBook(w.ctx, ann, e, 1)
		_, err = w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT})
		wantFault(t, err, fault.Refused, model.ReasonHasRegistrations)
	})
	t.Run("booking a cancelled draft is refused because it is cancelled", func(t *testing.T) {
		e := w.event(w.ctx, new(int32(3)))
		for _, status := range []bookingv1.EventStatus{bookingv1.EventStatus_EVENT_STATUS_DRAFT, bookingv1.EventStatus_EVENT_STATUS_CANCELLED} {
			w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Status: status})
		}
		_, err := w.book(w.ctx, w.customer(w.company, "ann"), e, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
}

func TestUpdateEventVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("refuses a stale version and changes nothing", func(t *testing.T) {
		e := w.eventOfTwoDates()
		_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("x"), ExpectedVersion: new(int64(2))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		_, err = w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId(), ExpectedVersion: new(int64(2))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		if got := w.getEvent(e.GetId()); !proto.Equal(got, e) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a retry with the same Idempotency-Key makes the change once", func(t *testing.T) {
		e := w.eventOfTwoDates()
		ctx := withKey(w.ctx, "update-1")
		req := &bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{{LocalStart: new("2027-03-01T09:00:00"), DurationMinutes: new(int32(10))}}}
		for range 2 {
			if got, err := w.events.UpdateEvent(ctx, req); err != nil || got.GetEvent().GetVersion() != 2 || len(got.GetEvent().GetDates()) != 3 {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
}

func TestUpdateEventRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Timezone: "Europe/London",
		Dates:          []*bookingv1.NewEventDate{newDate(time.Hour, new(int32(5))), newDate(2*time.Hour, nil)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult"}, {Name: "Child"}},
	})
	other := w.event(w.ctx, nil)
	_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: e.GetDates()[0].GetId(), Spaces: 3, PricingOptionId: e.GetPricingOptions()[0].GetId()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e = w.getEvent(e.GetId())
	first, second := e.GetDates()[0], e.GetDates()[1]
	adult, child := e.GetPricingOptions()[0], e.GetPricingOptions()[1]
	date := func(d *bookingv1.EventDateChange) *bookingv1.UpdateEventRequest {
		return &bookingv1.UpdateEventRequest{Dates: []*bookingv1.EventDateChange{d}}
	}
	option := func(o ...*bookingv1.PricingOptionChange) *bookingv1.UpdateEventRequest {
		return &bookingv1.UpdateEventRequest{PricingOptions: o}
	}
	tests := []struct {
		behaviour, field, rule string
		req                    *bookingv1.UpdateEventRequest
	}{
		{"no title", "title", "required", &bookingv1.UpdateEventRequest{Title: new(" ")}},
		{"a long description", "description", "max_length", &bookingv1.UpdateEventRequest{Description: new(strings.Repeat("a", 10_001))}},
		{"an unknown type", "type", "enum", &bookingv1.UpdateEventRequest{Type: 99}},
		{"an unknown status", "status", "enum", &bookingv1.UpdateEventRequest{Status: 99}},
		{"an unknown zone", "timezone", "timezone", &bookingv1.UpdateEventRequest{Timezone: new("")}},
		{"a policy below -1", "free_cancellation_minutes", "range", &bookingv1.UpdateEventRequest{FreeCancellationMinutes: new(int32(-2))}},
		{"a policy beyond a year", "free_cancellation_minutes", "range", &bookingv1.UpdateEventRequest{FreeCancellationMinutes: new(int32(525_601))}},
		{"a capacity below the booked spaces (invariant 1)", "dates[0].capacity", "min", date(&bookingv1.EventDateChange{Id: first.GetId(), Capacity: new(int32(2))})},
		{"a negative capacity", "dates[0].capacity", "min", date(&bookingv1.EventDateChange{Id: second.GetId(), Capacity: new(int32(-1))})},
		{"a capacity together with unlimited", "dates[0].unlimited", "exclusive", date(&bookingv1.EventDateChange{Id: first.GetId(), Capacity: new(int32(9)), Unlimited: true})},
		{"a date to add without start", "dates[0].starts_at", "required", date(&bookingv1.EventDateChange{DurationMinutes: new(int32(1))})},
		{"a date to add with a duration of 0", "dates[0].duration_minutes", "range", date(&bookingv1.EventDateChange{LocalStart: new("2027-01-01T09:00:00"), DurationMinutes: new(int32(0))})},
		{"no duration", "dates[0].duration_minutes", "range", date(&bookingv1.EventDateChange{Id: first.GetId(), DurationMinutes: new(int32(0))})},
		{"a start with a fraction of a second", "dates[0].starts_at", "precision", date(&bookingv1.EventDateChange{Id: first.GetId(), StartsAt: &timestamppb.Timestamp{Nanos: 1}})},
		{"a start that is not a time", "dates[0].local_start", "format", date(&bookingv1.EventDateChange{Id: first.GetId(), LocalStart: new("9:00")})},
		{"two starts", "dates[0].local_start", "exclusive", date(&bookingv1.EventDateChange{Id: first.GetId(), LocalStart: new("2027-01-01T09:00:00"), StartsAt: first.GetStartsAt()})},
		{"a start of another date", "dates[0].starts_at", "unique", date(&bookingv1.EventDateChange{Id: first.GetId(), StartsAt: second.GetStartsAt()})},
		{"a date to add at a start that is taken", "dates[0].starts_at", "unique", date(&bookingv1.EventDateChange{DurationMinutes: new(int32(1)), StartsAt: second.GetStartsAt()})},
		{"a date changed twice", "dates[1].id", "unique", &bookingv1.UpdateEventRequest{Dates: []*bookingv1.EventDateChange{{Id: first.GetId()}, {Id: first.GetId()}}}},
		{"too many dates", "dates", "max_items", &bookingv1.UpdateEventRequest{Dates: make([]*bookingv1.EventDateChange, 1001)}},
		{"a start of an event with two dates", "only_date.starts_at", "ambiguous", &bookingv1.UpdateEventRequest{OnlyDate: &bookingv1.EventDateChange{StartsAt: &timestamppb.Timestamp{Seconds: 4_000_000_000}}}},
		{"an end of an event with two dates", "only_date.local_end", "ambiguous", &bookingv1.UpdateEventRequest{OnlyDate: &bookingv1.EventDateChange{LocalEnd: new("2027-01-01T09:00:00")}}},
		{"an empty currency", "pricing_options[0].currency", "enum", option(&bookingv1.PricingOptionChange{Id: adult.GetId(), Currency: new("")})},
		{"a recurrence of an event without one", "recurrence", "immutable", &bookingv1.UpdateEventRequest{Recurrence: &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=2"}}},
		{"an option to add without name", "pricing_options[0].name", "required", option(&bookingv1.PricingOptionChange{Price: new(int64(1))})},
		{"an option to add without price", "pricing_options[0].price", "required", option(&bookingv1.PricingOptionChange{Name: new("New")})},
		{"an option with the name of another", "pricing_options[0].name", "unique", option(&bookingv1.PricingOptionChange{Id: adult.GetId(), Name: new(" Child")})},
		{"an option to add with the name of another", "pricing_options[0].name", "unique", option(&bookingv1.PricingOptionChange{Name: new("Child"), Price: new(int64(1))})},
		{"a negative price", "pricing_options[0].price", "range", option(&bookingv1.PricingOptionChange{Id: adult.GetId(), Price: new(int64(-1))})},
		{"another currency", "pricing_options[0].currency", "enum", option(&bookingv1.PricingOptionChange{Id: adult.GetId(), Currency: new("YEN")})},
		{"a tax above 100 %", "pricing_options[0].tax_rate_basis_points", "range", option(&bookingv1.PricingOptionChange{Id: adult.GetId(), TaxRateBasisPoints: new(int32(10_001))})},
		{"credits together with no_credits", "pricing_options[0].no_credits", "exclusive", option(&bookingv1.PricingOptionChange{Id: adult.GetId(), Credits: new(int32(1)), NoCredits: true})},
		{"an option changed twice", "pricing_options[1].id", "unique", option(&bookingv1.PricingOptionChange{Id: child.GetId()}, &bookingv1.PricingOptionChange{Id: child.GetId()})},
		{"too many options", "pricing_options", "max_items", option(make([]*bookingv1.PricingOptionChange, 51)...)},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour+" is refused", func(t *testing.T) {
			tt.req.Id = e.GetId()
			_, err := w.events.UpdateEvent(w.ctx, tt.req)
			wantField(t, err, tt.field, tt.rule)
		})
	}
	t.Run("refuses more options than an event can have, including the existing ones", func(t *testing.T) {
		req := &bookingv1.UpdateEventRequest{Id: e.GetId()}
		for i := range 49 {
			req.PricingOptions = append(req.PricingOptions, &bookingv1.PricingOptionChange{Name: new(strings.Repeat("n", i+1)), Price: new(int64(1))})
		}
		_, err := w.events.UpdateEvent(w.ctx, req)
		wantField(t, err, "pricing_options", "max_items")
	})
	for behaviour, req := range map[string]*bookingv1.UpdateEventRequest{
		"a date of another event":      date(&bookingv1.EventDateChange{Id: other.GetDates()[0].GetId()}),
		"a malformed date":             date(&bookingv1.EventDateChange{Id: "date_x"}),
		"an option of another event":   option(&bookingv1.PricingOptionChange{Id: other.GetPricingOptions()[0].GetId()}),
		"a malformed option":           option(&bookingv1.PricingOptionChange{Id: "po-x"}),
		"an unknown date":              date(&bookingv1.EventDateChange{Id: id.New[id.EventDate]().String()}),
		"an unknown option":            option(&bookingv1.PricingOptionChange{Id: id.New[id.PricingOption]().String()}),
		"an event that does not exist": {Id: id.New[id.Event]().String(), Title: new("x")},
	} {
		t.Run(behaviour+" is not found", func(t *testing.T) {
			if req.Id == "" {
				req.Id = e.GetId()
			}
			_, err := w.events.UpdateEvent(w.ctx, req)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		})
	}
	t.Run("the refused requests changed nothing", func(t *testing.T) {
		if got := w.getEvent(e.GetId()); !proto.Equal(got, e) {
			t.Errorf("got %v\nwas %v", got, e)
		}
		if n := w.published(subjectEventUpdated) + w.published(subjectDateUpdated); n != 0 {
			t.Errorf("%d events", n)
		}
	})
}

func TestUpdateEventDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	update := func(ctx context.Context, d *bookingv1.EventDateChange) (*bookingv1.EventDate, error) {
		resp, err := w.events.UpdateEventDate(ctx, &bookingv1.UpdateEventDateRequest{Date: d})
		return resp.GetDate(), err
	}
	t.Run("moves a date with its bookings", func(t *testing.T) {
		e := w.event(w.ctx, new(int32(3)))
		ann := w.customer(w.company, "ann")
		made := w.mustBook(w.ctx, ann, e, 2)
		d, err := update(w.ctx, &bookingv1.EventDateChange{
			Id: e.GetDates()[0].GetId(), LocalStart: new("2027-07-01T09:00:00"), DurationMinutes: new(int32(15)), Capacity: new(int32(2)),
		})
		if err != nil || d.GetBooked() != 2 || d.GetCapacity() != 2 || d.GetDurationMinutes() != 15 {
			t.Fatalf("got %v, %v", d, err)
		}
		read := w.getEvent(e.GetId())
		if !proto.Equal(read.GetDates()[0], d) || read.GetVersion() != 2 || w.published(subjectDateUpdated) != 1 {
			t.Errorf("read %v", read)
		}
		booked, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: made.GetId()})
		if err != nil || !proto.Equal(booked.GetTransaction().GetBookings()[0].GetStartsAt(), d.GetStartsAt()) {
			t.Errorf("booked %v, %v", booked, err)
		}
	})
	t.Run("a change without effect does not increase the version", func(t *testing.T) {
		e := w.event(w.ctx, new(int32(3)))
		if _, err := update(w.ctx, &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), Capacity: new(int32(3))}); err != nil {
			t.Fatal(err)
		}
		if got := w.getEvent(e.GetId()); !proto.Equal(got, e) {
			t.Errorf("got %v", got)
		}
	})
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, new(int32(4))), newDate(2*time.Hour, nil)}})
	w.mustBook(w.ctx, w.customer(w.company, "ann"), e, 3)
	first, second := e.GetDates()[0].GetId(), e.GetDates()[1]
	for behaviour, tt := range map[string]struct {
		field, rule string
		change      *bookingv1.EventDateChange
	}{
		"a capacity below the booked spaces (invariant 1)": {"date.capacity", "min", &bookingv1.EventDateChange{Id: first, Capacity: new(int32(2))}},
		"a start that is taken":                            {"date.starts_at", "unique", &bookingv1.EventDateChange{Id: first, StartsAt: second.GetStartsAt()}},
		"no duration":                                      {"date.duration_minutes", "range", &bookingv1.EventDateChange{Id: first, DurationMinutes: new(int32(0))}},
	} {
		t.Run(behaviour+" is refused", func(t *testing.T) {
			_, err := update(w.ctx, tt.change)
			wantField(t, err, tt.field, tt.rule)
		})
	}
	t.Run("returns NOT_FOUND for a date that does not exist", func(t *testing.T) {
		for _, which := range []string{"", "date_x", id.New[id.EventDate]().String()} {
			_, err := update(w.ctx, &bookingv1.EventDateChange{Id: which, Unlimited: true})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
}
