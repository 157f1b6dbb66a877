package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestEndOfADate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(timezone string, d *bookingv1.NewEventDate, r *bookingv1.Recurrence) (*bookingv1.Event, error) {
		resp, err := w.events.CreateEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Night watch", Timezone: timezone, Dates: []*bookingv1.NewEventDate{d}, Recurrence: r,
		})
		return resp.GetEvent(), err
	}
	for _, tt := range []struct {
		behaviour, timezone, start, end string
		minutes                         int32
	}{
		{"counts the repeated hour", "Europe/London", "2027-10-30T22:00:00", "2027-10-31T06:00:00", 540},
		{"does not count the skipped hour", "Europe/London", "2027-03-27T22:00:00", "2027-03-28T06:00:00", 420},
		{"is in the company's zone by default", "", "2027-10-30T22:00:00", "2027-10-31T06:00:00", 540},
		{"is in the event's zone", "Asia/Tokyo", "2027-10-30T22:00:00", "2027-10-31T06:00:00", 480},
		{"moves forward by the gap if it is skipped", "Europe/London", "2027-03-28T00:30:00", "2027-03-28T01:15:00", 105 - 60},
		{"is the first of two occurrences", "Europe/London", "2027-10-31T00:30:00", "2027-10-31T01:30:00", 60},
	} {
		t.Run("a local end "+tt.behaviour, func(t *testing.T) {
			for name, minutes := range map[string]int32{"without a duration": 0, "with the duration that it leaves": tt.minutes} {
				e, err := create(tt.timezone, &bookingv1.NewEventDate{LocalStart: tt.start, LocalEnd: tt.end, DurationMinutes: minutes}, nil)
				if err != nil || e.GetDates()[0].GetDurationMinutes() != tt.minutes {
					t.Errorf("%s: got %v, %v", name, e.GetDates(), err)
				}
			}
		})
	}
	start := time.Date(2027, 10, 30, 21, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		behaviour, field, rule string
		date                   *bookingv1.NewEventDate
	}{
		{"a duration that contradicts it", "dates[0].duration_minutes", "mismatch", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", LocalEnd: "2027-10-31T06:00:00", DurationMinutes: 480}},
		{"a duration that contradicts an instant", "dates[0].duration_minutes", "mismatch", &bookingv1.NewEventDate{StartsAt: timestamppb.New(start), EndsAt: timestamppb.New(start.Add(time.Hour)), DurationMinutes: 61}},
		{"an end at the start", "dates[0].ends_at", "min", &bookingv1.NewEventDate{StartsAt: timestamppb.New(start), EndsAt: timestamppb.New(start)}},
		{"an end before the start", "dates[0].local_end", "min", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", LocalEnd: "2027-10-30T21:00:00"}},
		{"an end after part of a minute", "dates[0].local_end", "min", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", LocalEnd: "2027-10-30T22:00:30"}},
		{"an end after more than a year", "dates[0].local_end", "min", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", LocalEnd: "2028-10-30T22:00:00"}},
		{"an end that is not a time", "dates[0].local_end", "format", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", LocalEnd: "late"}},
		{"two ends", "dates[0].local_end", "exclusive", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", LocalEnd: "2027-10-30T23:00:00", EndsAt: timestamppb.New(start)}},
		{"neither a duration nor an end", "dates[0].duration_minutes", "range", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00"}},
	} {
		t.Run("refuses "+tt.behaviour, func(t *testing.T) {
			_, err := create("Europe/London", tt.date, nil)
			wantField(t, err, tt.field, tt.rule)
		})
	}
	t.Run("a local end applies to each date of a rule", func(t *testing.T) {
		e, err := create("Europe/London", &bookingv1.NewEventDate{LocalEnd: "2027-10-24T06:00:00"},
			&bookingv1.Recurrence{Rule: "FREQ=WEEKLY;COUNT=3", LocalStart: "2027-10-23T22:00:00"})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int32{480, 540, 480} {
			if got := e.GetDates()[i].GetDurationMinutes(); got != want {
				t.Errorf("date %d has %d minutes, not %d", i, got, want)
			}
		}
		added, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{
			EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{{LocalEnd: "2027-03-28T06:00:00"}},
			Recurrence: &bookingv1.Recurrence{Rule: "FREQ=WEEKLY;COUNT=1", LocalStart: "2027-03-27T22:00:00"},
		})
		if err != nil || added.GetDates()[0].GetDurationMinutes() != 420 {
			t.Errorf("got %v, %v", added, err)
		}
		date, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: added.GetDates()[0].GetId()})
		if err != nil || !proto.Equal(added.GetScheduled(), date.GetDate()) {
			t.Errorf("the added date is %v, but reads %v, %v", added.GetScheduled(), date, err)
		}
	})
	t.Run("a duration must agree with the end on each date of a rule", func(t *testing.T) {
		date := &bookingv1.NewEventDate{LocalEnd: "2027-10-17T06:00:00", DurationMinutes: 480}
		e, err := create("Europe/London", date, &bookingv1.Recurrence{Rule: "FREQ=WEEKLY;COUNT=2", LocalStart: "2027-10-16T22:00:00"})
		if err != nil || e.GetDates()[1].GetDurationMinutes() != 480 {
			t.Errorf("got %v, %v", e.GetDates(), err)
		}
		_, err = create("Europe/London", date, &bookingv1.Recurrence{Rule: "FREQ=WEEKLY;COUNT=3", LocalStart: "2027-10-16T22:00:00"})
		wantField(t, err, "dates[0].duration_minutes", "mismatch") // the third is nine hours long
	})
	t.Run("a rule refuses an instant as the end, and a duration that contradicts it", func(t *testing.T) {
		rule := &bookingv1.Recurrence{Rule: "FREQ=WEEKLY;COUNT=2", LocalStart: "2027-10-23T22:00:00"}
		_, err := create("Europe/London", &bookingv1.NewEventDate{EndsAt: timestamppb.New(start)}, rule)
		wantField(t, err, "dates[0].ends_at", "local")
		_, err = create("Europe/London", &bookingv1.NewEventDate{LocalEnd: "2027-10-24T06:00:00", DurationMinutes: 60}, rule)
		wantField(t, err, "dates[0].duration_minutes", "mismatch")
	})
	t.Run("an update accepts ends as well", func(t *testing.T) {
		e, err := create("Europe/London", &bookingv1.NewEventDate{LocalStart: "2027-10-30T22:00:00", DurationMinutes: 60}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{LocalEnd: new("2027-10-31T06:00:00")}})
		if m := got.GetDates()[0].GetDurationMinutes(); m != 540 {
			t.Errorf("the event's end gives %d minutes", m)
		}
		got = w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{{Id: e.GetDates()[0].GetId(), LocalEnd: new("2027-10-31T05:00:00")}}})
		if m := got.GetDates()[0].GetDurationMinutes(); m != 480 {
			t.Errorf("the date's end gives %d minutes", m)
		}
		_, err = w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{LocalEnd: new("2027-10-31T06:00:00"), DurationMinutes: new(int32(30))}})
		wantField(t, err, "only_date.duration_minutes", "mismatch")
		date, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), LocalEnd: new("2027-10-31T06:00:00")}})
		if err != nil || date.GetDate().GetDurationMinutes() != 540 {
			t.Errorf("got %v, %v", date, err)
		}
	})
}
