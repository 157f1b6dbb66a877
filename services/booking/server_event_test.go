package booking

import (
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

func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	t.Run("the stored event equals the response, with its dates in order", func(t *testing.T) {
		made := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "  Yoga ", Description: "Two\nlines", Type: bookingv1.EventType_EVENT_TYPE_COURSE, Timezone: "America/New_York", Location: "Hall",
			Dates: []*bookingv1.NewEventDate{newDate(3*time.Hour, nil), newDate(time.Hour, new(int32(0))), newDate(2*time.Hour, new(int32(7)))},
			PricingOptions: []*bookingv1.NewPricingOption{
				{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000, Credits: new(int32(0))}, {Name: "Child", Currency: "EUR"},
			},
		})
		read, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: made.GetId()})
		if err != nil || !proto.Equal(read.GetEvent(), made) {
			t.Errorf("read %v, %v\nwant %v", read.GetEvent(), err, made)
		}
		if made.GetTitle() != "Yoga" || made.GetStatus() != bookingv1.EventStatus_EVENT_STATUS_PUBLISHED || made.GetVersion() != 1 {
			t.Errorf("made %v", made)
		}
		if !slices.IsSortedFunc(made.GetDates(), func(a, b *bookingv1.EventDate) int { return a.GetStartsAt().AsTime().Compare(b.GetStartsAt().AsTime()) }) {
			t.Error("the dates are out of order")
		}
		if d := made.GetDates()[0]; d.Capacity == nil || d.GetCapacity() != 0 || d.GetTimezone() != "America/New_York" {
			t.Errorf("the first date is %v", d)
		}
		if o := made.GetPricingOptions(); o[0].Credits == nil || o[0].GetCurrency() != "GBP" || o[1].Credits != nil || o[1].GetCurrency() != "EUR" {
			t.Errorf("the options are %v", o)
		}
	})
	t.Run("an event without options gets a free one, so that it can be booked", func(t *testing.T) {
		made := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Open day", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
		booked := w.mustBook(w.ctx, w.customer(w.company, "ann"), made, 2)
		b := booked.GetBookings()[0]
		if b.GetPricingOptionId() != made.GetPricingOptions()[0].GetId() || b.GetCard().GetGross() != 0 || b.GetCard().GetCurrency() != "GBP" {
			t.Errorf("booked %v", b)
		}
	})
	t.Run("dates can be added, which increases the version", func(t *testing.T) {
		made := w.event(w.ctx, nil)
		added, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{
			EventId: made.GetId(), Dates: []*bookingv1.NewEventDate{newDate(5*time.Hour, nil), newDate(4*time.Hour, new(int32(2)))},
		})
		if err != nil || len(added.GetDates()) != 2 {
			t.Fatalf("got %v, %v", added, err)
		}
		read, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: made.GetId()})
		e := read.GetEvent()
		if err != nil || len(e.GetDates()) != 3 || e.GetVersion() != 2 || !e.GetUpdatedAt().AsTime().After(made.GetUpdatedAt().AsTime()) {
			t.Fatalf("read %v, %v", e, err)
		}
		if !proto.Equal(e.GetDates()[1], added.GetDates()[1]) || !proto.Equal(e.GetDates()[2], added.GetDates()[0]) {
			t.Errorf("read %v\nadded %v", e.GetDates(), added.GetDates())
		}
	})
	t.Run("refuses a start that the event already has, and adds nothing", func(t *testing.T) {
		made := w.event(w.ctx, nil)
		taken := &bookingv1.NewEventDate{StartsAt: made.GetDates()[0].GetStartsAt(), DurationMinutes: 30}
		_, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{
			EventId: made.GetId(), Dates: []*bookingv1.NewEventDate{newDate(9*time.Hour, nil), taken},
		})
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		read, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: made.GetId()})
		if err != nil || !proto.Equal(read.GetEvent(), made) {
			t.Errorf("read %v, %v", read, err)
		}
	})
	t.Run("refuses dates for a cancelled event", func(t *testing.T) {
		made := w.event(w.ctx, nil)
		w.exec(`update events set status = 'cancelled' where id = $1`, idOf[id.Event](t, made.GetId()))
		_, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: made.GetId(), Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("a retry with the same Idempotency-Key creates the event once", func(t *testing.T) {
		ctx := withKey(w.ctx, "event-1")
		req := &bookingv1.CreateEventRequest{Title: "Once", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}}
		if first, again := w.createEvent(ctx, req), w.createEvent(ctx, req); !proto.Equal(first, again) {
			t.Errorf("got %v\nthen %v", first, again)
		}
	})
	t.Run("returns NOT_FOUND for an event that does not exist", func(t *testing.T) {
		for _, which := range []string{"", "evt_x", id.New[id.Event]().String()} {
			_, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: which, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
}

func TestEventRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	date := func(change func(*bookingv1.NewEventDate)) func(*bookingv1.CreateEventRequest) {
		return func(r *bookingv1.CreateEventRequest) { change(r.Dates[0]) }
	}
	option := func(o *bookingv1.NewPricingOption) func(*bookingv1.CreateEventRequest) {
		return func(r *bookingv1.CreateEventRequest) { r.PricingOptions = []*bookingv1.NewPricingOption{o} }
	}
	tests := []struct {
		behaviour, field, rule string
		change                 func(r *bookingv1.CreateEventRequest)
	}{
		{"no title", "title", "required", func(r *bookingv1.CreateEventRequest) { r.Title = " " }},
		{"a long title", "title", "max_length", func(r *bookingv1.CreateEventRequest) { r.Title = strings.Repeat("ä", 201) }},
		{"a title of two lines", "title", "characters", func(r *bookingv1.CreateEventRequest) { r.Title = "a\nb" }},
		{"a long description", "description", "max_length", func(r *bookingv1.CreateEventRequest) { r.Description = strings.Repeat("a", 10_001) }},
		{"a description with NUL", "description", "characters", func(r *bookingv1.CreateEventRequest) { r.Description = "a\x00" }},
		{"an unknown type", "type", "enum", func(r *bookingv1.CreateEventRequest) { r.Type = 99 }},
		{"a cancelled event", "status", "enum", func(r *bookingv1.CreateEventRequest) {
			r.Status = bookingv1.EventStatus_EVENT_STATUS_CANCELLED
		}},
		{"an unknown zone", "timezone", "timezone", func(r *bookingv1.CreateEventRequest) { r.Timezone = "Local" }},
		{"no dates", "dates", "required", func(r *bookingv1.CreateEventRequest) { r.Dates = nil }},
		{"too many dates", "dates", "max_items", func(r *bookingv1.CreateEventRequest) { r.Dates = make([]*bookingv1.NewEventDate, 1001) }},
		{"no start", "dates[0].starts_at", "required", date(func(d *bookingv1.NewEventDate) { d.StartsAt = nil })},
		{"a start within a second", "dates[0].starts_at", "precision", date(func(d *bookingv1.NewEventDate) { d.StartsAt.Nanos = 1 })},
		{"a start beyond four digits of year", "dates[0].starts_at", "range", date(func(d *bookingv1.NewEventDate) { d.StartsAt = &timestamppb.Timestamp{Seconds: 1 << 60} })},
		{"no duration", "dates[0].duration_minutes", "range", date(func(d *bookingv1.NewEventDate) { d.DurationMinutes = 0 })},
		{"more than a year", "dates[0].duration_minutes", "range", date(func(d *bookingv1.NewEventDate) { d.DurationMinutes = 525_601 })},
		{"a negative capacity", "dates[0].capacity", "min", date(func(d *bookingv1.NewEventDate) { d.Capacity = new(int32(-1)) })},
		{"two dates with the same start", "dates[1].starts_at", "unique", func(r *bookingv1.CreateEventRequest) { r.Dates = append(r.Dates, r.Dates[0]) }},
		{"too many options", "pricing_options", "max_items", func(r *bookingv1.CreateEventRequest) { r.PricingOptions = make([]*bookingv1.NewPricingOption, 51) }},
		{"an option without name", "pricing_options[0].name", "required", option(&bookingv1.NewPricingOption{})},
		{"two options with the same name", "pricing_options[1].name", "unique", func(r *bookingv1.CreateEventRequest) {
			r.PricingOptions = []*bookingv1.NewPricingOption{{Name: "a"}, {Name: " a"}}
		}},
		{"a negative price", "pricing_options[0].price", "range", option(&bookingv1.NewPricingOption{Name: "a", Price: -1})},
		{"a price above the limit", "pricing_options[0].price", "range", option(&bookingv1.NewPricingOption{Name: "a", Price: model.MaxPrice + 1})},
		{"another currency", "pricing_options[0].currency", "enum", option(&bookingv1.NewPricingOption{Name: "a", Currency: "gbp"})},
		{"negative credits", "pricing_options[0].credits", "range", option(&bookingv1.NewPricingOption{Name: "a", Credits: new(int32(-1))})},
		{"a negative tax", "pricing_options[0].tax_rate_basis_points", "range", option(&bookingv1.NewPricingOption{Name: "a", TaxRateBasisPoints: -1})},
		{"a tax above 100 %", "pricing_options[0].tax_rate_basis_points", "range", option(&bookingv1.NewPricingOption{Name: "a", TaxRateBasisPoints: 10_001})},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			req := &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}}
			tt.change(req)
			_, err := w.events.CreateEvent(w.ctx, req)
			f := wantFault(t, err, fault.Invalid, fault.ReasonValidation)
			if len(f.Fields) != 1 || f.Fields[0].Field != tt.field || f.Fields[0].Rule != tt.rule {
				t.Errorf("got %+v", f.Fields)
			}
		})
	}
	t.Run("reports all faults together", func(t *testing.T) {
		_, err := w.events.CreateEvent(w.ctx, &bookingv1.CreateEventRequest{Timezone: "x"})
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); len(f.Fields) != 3 {
			t.Errorf("got %+v", f.Fields)
		}
	})
	t.Run("the refused requests created nothing", func(t *testing.T) {
		resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{})
		if err != nil || resp.GetTotal() != 0 || len(resp.GetEvents()) != 0 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

func TestListEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for range 7 {
		ids = append(ids, w.event(w.ctx, nil).GetId())
	}
	t.Run("pages contain every event once, by id, with its options and the total", func(t *testing.T) {
		var got []string
		token := ""
		for page := 0; ; page++ {
			resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 3, PageToken: token})
			if err != nil || resp.GetTotal() != 7 {
				t.Fatalf("got %v, %v", resp, err)
			}
			for _, e := range resp.GetEvents() {
				got = append(got, e.GetId())
				if len(e.GetPricingOptions()) != 1 || len(e.GetDates()) != 0 {
					t.Errorf("got %v", e)
				}
			}
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("got %v, want %v", got, ids)
		}
	})
	t.Run("a full last page has no next page", func(t *testing.T) {
		resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 7})
		if err != nil || resp.GetNextPageToken() != "" || len(resp.GetEvents()) != 7 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("refuses invalid paging parameters", func(t *testing.T) {
		for field, req := range map[string]*bookingv1.ListEventsRequest{
			"page_size": {PageSize: 201}, "page_token": {PageToken: "garbage"},
		} {
			_, err := w.events.ListEvents(w.ctx, req)
			if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != field {
				t.Errorf("got %+v", f.Fields)
			}
		}
		_, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: -1})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
	})
}
