package admin

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestWeekQuietensThePast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	now := time.Now().UTC()
	noon := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, 12, 0, 0, 0, time.UTC)
	}
	for _, c := range []struct {
		name             string
		at               time.Time
		status           bookingv1.EventDateStatus
		over, off, plain int
	}{
		{"a date that has ended is over", noon(-14), bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED, 1, 0, 0},
		{"a cancelled date stays cancelled", noon(-14), bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED, 0, 1, 0},
		{"a date to come is not over", noon(14), bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
				return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{{EventId: "evt_1", EventTitle: "Yoga", Date: &bookingv1.EventDate{
					Id: "date_1", StartsAt: timestamppb.New(c.at), DurationMinutes: 60, Timezone: "Europe/London", Status: c.status,
				}}}}, nil
			})
			monday := c.at.AddDate(0, 0, -(int(c.at.Weekday())+6)%7)
			body := w.page("/week?from=" + monday.Format(time.DateOnly))
			for class, want := range map[string]int{"slot over": c.over, "slot off": c.off, "slot": c.plain} {
				if n := strings.Count(body, `<a class="`+class+`"`); n != want {
					t.Errorf("%d dates have the class %q, want %d", n, class, want)
				}
			}
		})
	}
}
