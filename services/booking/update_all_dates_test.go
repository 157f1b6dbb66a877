package booking

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// shownBack returns the update that a caller sends back after reading an event: its dates, and the
// values that Interface B shows for all dates together.
func shownBack(e *bookingv1.Event, now time.Time) *bookingv1.UpdateEventRequest {
	s := summaryOf(e.GetDates(), now)
	req := &bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{
		StartsAt: timestamppb.New(s.StartsAt), EndsAt: timestamppb.New(s.EndsAt), DurationMinutes: &s.Minutes, Unlimited: s.Capacity == nil,
	}}
	if s.Capacity != nil {
		req.OnlyDate.Capacity = new(int32(*s.Capacity))
	}
	for _, d := range e.GetDates() {
		req.Dates = append(req.Dates, &bookingv1.EventDateChange{
			Id: d.GetId(), StartsAt: d.GetStartsAt(), DurationMinutes: new(d.GetDurationMinutes()), Capacity: d.Capacity, Unlimited: d.Capacity == nil,
		})
	}
	return req
}

// datesWorld is a world for tests of requests that change all dates of an event.
type datesWorld struct {
	*world
	now time.Time
}

const day = 24 * time.Hour

func newDatesWorld(t *testing.T) *datesWorld {
	return &datesWorld{world: newWorld(t), now: time.Now().Truncate(time.Second)}
}

func (w *datesWorld) newDate(from time.Duration, minutes int32, capacity *int32) *bookingv1.NewEventDate {
	return &bookingv1.NewEventDate{StartsAt: timestamppb.New(w.now.Add(from)), DurationMinutes: minutes, Capacity: capacity}
}

func (w *datesWorld) event(dates ...*bookingv1.NewEventDate) *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Clay", Dates: dates})
}

// course creates an event with a past date and two upcoming dates.
func (w *datesWorld) course() *bookingv1.Event {
	w.t.Helper()
	return w.event(w.newDate(-day, 60, new(int32(4))), w.newDate(day, 60, new(int32(5))), w.newDate(2*day, 90, new(int32(6))))
}

func (w *datesWorld) updateAll(e *bookingv1.Event, d *bookingv1.EventDateChange) (*bookingv1.Event, error) {
	resp, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: d})
	return resp.GetEvent(), err
}

func capacities(e *bookingv1.Event) (all []int32) {
	for _, d := range e.GetDates() {
		all = append(all, d.GetCapacity())
	}
	return all
}

func durations(e *bookingv1.Event) (all []int32) {
	for _, d := range e.GetDates() {
		all = append(all, d.GetDurationMinutes())
	}
	return all
}

func TestUpdateWithUnchangedValues(t *testing.T) {
	t.Parallel()
	w := newDatesWorld(t)
	t.Run("sending back the values that were read changes nothing", func(t *testing.T) {
		for name, e := range map[string]*bookingv1.Event{
			"of one date": w.event(w.newDate(day, 60, new(int32(5)))), "of one without a limit": w.event(w.newDate(day, 60, nil)), "of a past one": w.event(w.newDate(-day, 60, new(int32(1)))),
			"of several": w.course(), "of several past ones": w.event(w.newDate(-2*day, 60, new(int32(2))), w.newDate(-day, 60, new(int32(2)))),
			"of several, one without a limit": w.event(w.newDate(day, 60, nil), w.newDate(2*day, 60, new(int32(2)))),
		} {
			if got := w.updateEvent(shownBack(e, w.now)); got.GetVersion() != e.GetVersion() {
				t.Errorf("%s: got %v", name, got)
			}
		}
	})
	t.Run("sending back values that were read before a date started changes nothing", func(t *testing.T) {
		e := w.event(w.newDate(-time.Minute, 60, new(int32(4))), w.newDate(day, 60, new(int32(5))))
		if got := w.updateEvent(shownBack(e, w.now.Add(-2*time.Minute))); got.GetVersion() != e.GetVersion() {
			t.Errorf("got %v", got)
		}
	})
	t.Run("sending back more dates than a request can add changes nothing", func(t *testing.T) {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Clay", Dates: []*bookingv1.NewEventDate{{DurationMinutes: 5, Capacity: new(int32(3))}},
			Recurrence: &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=1000", LocalStart: "2090-01-01T09:00:00"},
		})
		if _, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{w.newDate(day, 60, nil)}}); err != nil {
			t.Fatal(err)
		}
		e = w.getEvent(e.GetId())
		if got := w.updateEvent(shownBack(e, w.now)); len(got.GetDates()) != 1001 || got.GetVersion() != e.GetVersion() {
			t.Errorf("%d dates, version %d after %d", len(got.GetDates()), got.GetVersion(), e.GetVersion())
		}
	})
	t.Run("sending back a cancelled event changes nothing, and another capacity is refused", func(t *testing.T) {
		e := w.course()
		e = w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED})
		if got := w.updateEvent(shownBack(e, w.now)); got.GetVersion() != e.GetVersion() {
			t.Errorf("got %v", got)
		}
		_, err := w.updateAll(e, &bookingv1.EventDateChange{Capacity: new(int32(9))})
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("changing one of the values that were read changes only that value", func(t *testing.T) {
		req := shownBack(w.course(), w.now)
		req.Dates[2].Capacity = new(int32(20))
		if got := w.updateEvent(req); !slices.Equal(capacities(got), []int32{4, 5, 20}) {
			t.Errorf("got %v", got)
		}
		for name, change := range map[string]func(*bookingv1.UpdateEventRequest){
			"the start": func(r *bookingv1.UpdateEventRequest) {
				r.OnlyDate.StartsAt = timestamppb.New(w.now.Add(30 * time.Hour))
			},
			"the start of the date": func(r *bookingv1.UpdateEventRequest) {
				r.Dates[0].StartsAt = timestamppb.New(w.now.Add(30 * time.Hour))
			},
			"the start in dates and in only_date": func(r *bookingv1.UpdateEventRequest) {
				r.OnlyDate.StartsAt = timestamppb.New(w.now.Add(30 * time.Hour))
				r.Dates[0].StartsAt = r.OnlyDate.StartsAt
			},
			"the start and the end": func(r *bookingv1.UpdateEventRequest) {
				r.OnlyDate.StartsAt = timestamppb.New(w.now.Add(30 * time.Hour))
				r.OnlyDate.EndsAt = timestamppb.New(w.now.Add(31 * time.Hour))
			},
		} {
			req := shownBack(w.event(w.newDate(day, 60, nil)), w.now)
			change(req)
			if d := w.updateEvent(req).GetDates()[0]; !d.GetStartsAt().AsTime().Equal(w.now.Add(30*time.Hour)) || d.GetDurationMinutes() != 60 {
				t.Errorf("%s: got %v", name, d)
			}
		}
		for name, change := range map[string]func(*bookingv1.UpdateEventRequest){
			"the end": func(r *bookingv1.UpdateEventRequest) {
				r.OnlyDate.EndsAt = timestamppb.New(w.now.Add(day + 90*time.Minute))
			},
			"the duration":        func(r *bookingv1.UpdateEventRequest) { r.OnlyDate.DurationMinutes = new(int32(90)) },
			"the date's duration": func(r *bookingv1.UpdateEventRequest) { r.Dates[0].DurationMinutes = new(int32(90)) },
			"both durations, which agree": func(r *bookingv1.UpdateEventRequest) {
				r.OnlyDate.DurationMinutes, r.OnlyDate.EndsAt = new(int32(90)), timestamppb.New(w.now.Add(day+90*time.Minute))
			},
		} {
			req := shownBack(w.event(w.newDate(day, 60, nil)), w.now)
			change(req)
			if d := w.updateEvent(req).GetDates()[0]; !d.GetStartsAt().AsTime().Equal(w.now.Add(day)) || d.GetDurationMinutes() != 90 {
				t.Errorf("%s: got %v", name, d)
			}
		}
	})
}

func TestUpdateAllDates(t *testing.T) {
	t.Parallel()
	w := newDatesWorld(t)
	t.Run("a capacity changes every upcoming date", func(t *testing.T) {
		got, err := w.updateAll(w.course(), &bookingv1.EventDateChange{Capacity: new(int32(9))})
		if err != nil || !slices.Equal(capacities(got), []int32{4, 9, 9}) {
			t.Errorf("got %v, %v", got, err)
		}
		got, err = w.updateAll(got, &bookingv1.EventDateChange{Unlimited: true})
		if err != nil || got.GetDates()[0].Capacity == nil || got.GetDates()[1].Capacity != nil || got.GetDates()[2].Capacity != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a duration changes every upcoming date", func(t *testing.T) {
		got, err := w.updateAll(w.course(), &bookingv1.EventDateChange{DurationMinutes: new(int32(45))})
		if err != nil || !slices.Equal(durations(got), []int32{60, 45, 45}) {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a capacity without dates is set for every date, even if it equals the sum", func(t *testing.T) {
		alike := w.event(w.newDate(day, 60, new(int32(10))), w.newDate(2*day, 60, new(int32(10))))
		got, err := w.updateAll(alike, &bookingv1.EventDateChange{Capacity: new(int32(20))})
		if err != nil || !slices.Equal(capacities(got), []int32{20, 20}) {
			t.Errorf("got %v, %v", got, err)
		}
		started := w.event(w.newDate(-time.Minute, 60, new(int32(10))), w.newDate(day, 60, new(int32(10))))
		got, err = w.updateAll(started, &bookingv1.EventDateChange{Capacity: new(int32(20))})
		if err != nil || !slices.Equal(capacities(got), []int32{10, 20}) {
			t.Errorf("with the sum of a minute ago: got %v, %v", got, err)
		}
		unlimited := w.event(w.newDate(day, 60, new(int32(10))), w.newDate(2*day, 60, nil))
		got, err = w.updateAll(unlimited, &bookingv1.EventDateChange{Unlimited: true})
		if err != nil || got.GetDates()[0].Capacity != nil || got.GetDates()[1].Capacity != nil {
			t.Errorf("without a limit: got %v, %v", got, err)
		}
	})
	t.Run("a capacity that equals the sum changes nothing if a date is added", func(t *testing.T) {
		e := w.event(w.newDate(day, 60, new(int32(10))), w.newDate(2*day, 60, new(int32(10))))
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{Capacity: new(int32(20))},
			Dates: []*bookingv1.EventDateChange{{StartsAt: timestamppb.New(w.now.Add(3 * day)), DurationMinutes: new(int32(60))}},
		})
		if !slices.Equal(capacities(got), []int32{10, 10, 10}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a duration without dates is set for every date, even if it equals the first one", func(t *testing.T) {
		got, err := w.updateAll(w.event(w.newDate(day, 60, nil), w.newDate(2*day, 90, nil)), &bookingv1.EventDateChange{DurationMinutes: new(int32(60))})
		if err != nil || !slices.Equal(durations(got), []int32{60, 60}) {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("without a duration, a moved start with an unchanged end makes the date longer", func(t *testing.T) {
		got, err := w.updateAll(w.event(w.newDate(day, 60, nil)), &bookingv1.EventDateChange{StartsAt: timestamppb.New(w.now.Add(day - time.Hour)), EndsAt: timestamppb.New(w.now.Add(day + time.Hour))})
		if err != nil || got.GetDates()[0].GetDurationMinutes() != 120 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("an added date gets the capacity and the duration", func(t *testing.T) {
		e := w.course()
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{Capacity: new(int32(9)), DurationMinutes: new(int32(45))},
			Dates: []*bookingv1.EventDateChange{{StartsAt: timestamppb.New(w.now.Add(3 * day))}},
		})
		if !slices.Equal(capacities(got), []int32{4, 9, 9, 9}) || !slices.Equal(durations(got), []int32{60, 45, 45, 45}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestUpdateAllDatesRefusals(t *testing.T) {
	t.Parallel()
	w := newDatesWorld(t)
	t.Run("refuses a capacity below the booked spaces", func(t *testing.T) {
		e := w.course()
		if _, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: w.customer(w.company, "ann").String(), Lines: []*bookingv1.TransactionLine{{EventDateId: e.GetDates()[2].GetId(), Spaces: 3}},
		}); err != nil {
			t.Fatal(err)
		}
		_, err := w.updateAll(e, &bookingv1.EventDateChange{Capacity: new(int32(2))})
		wantField(t, err, "only_date.capacity", "min")
		if got := w.getEvent(e.GetId()); !slices.Equal(capacities(got), []int32{4, 5, 6}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("refuses an earlier sum that is sent back with the dates", func(t *testing.T) {
		dozen := func() *bookingv1.Event {
			return w.event(w.newDate(day, 60, new(int32(12))), w.newDate(2*day, 60, new(int32(12))), w.newDate(3*day, 60, new(int32(12))))
		}
		for behaviour, change := range map[string]func(e *bookingv1.Event) error{
			"after a date was cancelled": func(e *bookingv1.Event) error {
				_, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[1].GetId()})
				return err
			},
			"after a date was added": func(e *bookingv1.Event) error {
				between := []*bookingv1.NewEventDate{w.newDate(60*time.Hour, 60, new(int32(12)))}
				_, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: between})
				return err
			},
			"after a date got more spaces": func(e *bookingv1.Event) error {
				more := &bookingv1.EventDateChange{Id: e.GetDates()[2].GetId(), Capacity: new(int32(15))}
				_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: more})
				return err
			},
		} {
			e := dozen()
			stale := shownBack(e, w.now)
			if err := change(e); err != nil {
				t.Fatal(err)
			}
			before := w.getEvent(e.GetId())
			if behaviour == "after a date got more spaces" {
				stale.Dates = stale.Dates[:2] // the third one would set the sum that was read
			}
			_, err := w.events.UpdateEvent(w.ctx, stale)
			t.Run(behaviour, func(t *testing.T) { wantField(t, err, "only_date.capacity", "ambiguous") })
			if got := w.getEvent(e.GetId()); got.GetVersion() != before.GetVersion() {
				t.Errorf("%s: a refused change was stored: %v", behaviour, got)
			}
		}
	})
	t.Run("refuses a value for all dates if dates gives it too", func(t *testing.T) {
		e := w.course()
		for field, req := range map[string]*bookingv1.UpdateEventRequest{
			"capacity": {
				OnlyDate: &bookingv1.EventDateChange{Capacity: new(int32(9))},
				Dates:    []*bookingv1.EventDateChange{{Id: e.GetDates()[1].GetId(), Capacity: new(int32(7))}},
			},
			"duration_minutes": {
				OnlyDate: &bookingv1.EventDateChange{DurationMinutes: new(int32(45))},
				Dates:    []*bookingv1.EventDateChange{{StartsAt: timestamppb.New(w.now.Add(3 * day)), DurationMinutes: new(int32(30))}},
			},
		} {
			req.Id = e.GetId()
			_, err := w.events.UpdateEvent(w.ctx, req)
			wantField(t, err, "only_date."+field, "ambiguous")
		}
	})
	t.Run("refuses a capacity for several dates if none of them is upcoming", func(t *testing.T) {
		_, err := w.updateAll(w.event(w.newDate(-2*day, 60, nil), w.newDate(-day, 60, nil)), &bookingv1.EventDateChange{Capacity: new(int32(2))})
		wantField(t, err, "only_date.capacity", "exists")
	})
	t.Run("refuses two values for the only date", func(t *testing.T) {
		req := shownBack(w.event(w.newDate(day, 60, new(int32(3)))), w.now)
		req.OnlyDate.Capacity, req.Dates[0].Capacity = new(int32(4)), new(int32(5))
		_, err := w.events.UpdateEvent(w.ctx, req)
		wantField(t, err, "only_date.capacity", "exclusive")
	})
	t.Run("accepts the event's own recurrence and refuses another one", func(t *testing.T) {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Clay", Dates: []*bookingv1.NewEventDate{{DurationMinutes: 60}},
			Recurrence: &bookingv1.Recurrence{Rule: "freq=daily;count=3", LocalStart: "2099-01-01T09:00:00", Exceptions: []string{"2099-01-02"}},
		})
		r := e.GetRecurrence()
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Glaze"), Recurrence: &bookingv1.Recurrence{Rule: r.GetRule(), Exceptions: r.GetExceptions()}})
		if got.GetTitle() != "Glaze" {
			t.Errorf("got %v", got)
		}
		_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Recurrence: &bookingv1.Recurrence{Rule: r.GetRule()}})
		wantField(t, err, "recurrence", "immutable")
	})
}

func TestCancelledEventIsRenamed(t *testing.T) { // invariant 13
	t.Parallel()
	w := newWorld(t)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Clay", Dates: []*bookingv1.NewEventDate{{LocalStart: "2099-01-01T09:00:00", DurationMinutes: 60}}})
	w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED})
	got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Clay (cancelled)"), Description: new("Sorry"), Location: new("Nowhere")})
	if got.GetTitle() != "Clay (cancelled)" || got.GetDescription() != "Sorry" || got.GetLocation() != "Nowhere" || got.GetStatus() != bookingv1.EventStatus_EVENT_STATUS_CANCELLED {
		t.Errorf("got %v", got)
	}
	date, option := got.GetDates()[0].GetId(), got.GetPricingOptions()[0].GetId()
	for what, req := range map[string]*bookingv1.UpdateEventRequest{
		"the type":     {Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP},
		"the zone":     {Timezone: new("Asia/Tokyo")},
		"the policy":   {FreeCancellationMinutes: new(int32(5))},
		"the status":   {Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED},
		"a price":      {PricingOptions: []*bookingv1.PricingOptionChange{{Id: option, Price: new(int64(5))}}},
		"a new price":  {PricingOptions: []*bookingv1.PricingOptionChange{{Name: new("New"), Price: new(int64(5))}}},
		"a date":       {Dates: []*bookingv1.EventDateChange{{Id: date, DurationMinutes: new(int32(5))}}},
		"a new date":   {Dates: []*bookingv1.EventDateChange{{LocalStart: new("2099-01-02T09:00:00"), DurationMinutes: new(int32(5))}}},
		"the capacity": {OnlyDate: &bookingv1.EventDateChange{Capacity: new(int32(5))}},
	} {
		req.Id, req.Title = e.GetId(), new("Other")
		_, err := w.events.UpdateEvent(w.ctx, req)
		t.Run("refuses to change "+what, func(t *testing.T) { wantFault(t, err, fault.Refused, model.ReasonEventCancelled) })
	}
	if got := w.getEvent(e.GetId()); got.GetTitle() != "Clay (cancelled)" {
		t.Errorf("a refused change renamed it: %v", got)
	}
}

func TestAddedDatesAreLikeTheLastOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	later := newDate(48*time.Hour, new(int32(7)))
	later.DurationMinutes = 45
	for behaviour, tt := range map[string]struct {
		change   *bookingv1.EventDateChange
		minutes  int32
		capacity *int32
	}{
		"in the fields that are not given":              {&bookingv1.EventDateChange{LocalStart: new("2030-01-01T09:00:00")}, 45, new(int32(7))},
		"in the capacity, with a duration":              {&bookingv1.EventDateChange{LocalStart: new("2029-01-01T09:00:00"), DurationMinutes: new(int32(5))}, 5, new(int32(7))},
		"in the capacity, with an end":                  {&bookingv1.EventDateChange{LocalStart: new("2029-01-02T09:00:00"), LocalEnd: new("2029-01-02T09:10:00")}, 10, new(int32(7))},
		"in the duration, with a capacity":              {&bookingv1.EventDateChange{LocalStart: new("2029-01-03T09:00:00"), Capacity: new(int32(3))}, 45, new(int32(3))},
		"in the duration, and are unlimited on request": {&bookingv1.EventDateChange{LocalStart: new("2029-01-04T09:00:00"), Unlimited: true}, 45, nil},
	} {
		t.Run(behaviour, func(t *testing.T) {
			e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{later, newDate(time.Hour, new(int32(2)))}})
			before := e.GetDates()
			resp, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{tt.change}})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range resp.GetEvent().GetDates() {
				isNew := !slices.ContainsFunc(before, func(b *bookingv1.EventDate) bool { return b.GetId() == d.GetId() })
				if isNew && (d.GetDurationMinutes() != tt.minutes || !reflect.DeepEqual(d.Capacity, tt.capacity)) {
					t.Errorf("got %v", d)
				}
			}
			if len(resp.GetEvent().GetDates()) != len(before)+1 {
				t.Errorf("got %d dates", len(resp.GetEvent().GetDates()))
			}
		})
	}
}
