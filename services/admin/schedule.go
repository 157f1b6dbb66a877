package admin

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// wallLayout is the format of a date and time in a form field.
const wallLayout = "2006-01-02T15:04"

// maxRepeats is the largest number of dates that one form adds.
const maxRepeats = 366

// scheduleFields are the choices of the fields for dates.
type scheduleFields struct {
	Zone     string // the zone of the times
	Every    []option
	Weekdays []option
}

// frequencies are the recurrence rules that a form offers, with their messages.
var frequencies = []struct{ rule, message string }{
	{"FREQ=DAILY", "desk.schedule.daily"}, {"FREQ=WEEKLY", "desk.schedule.weekly"},
	{"FREQ=WEEKLY;INTERVAL=2", "desk.schedule.fortnightly"}, {"FREQ=MONTHLY", "desk.schedule.monthly"},
}

// weekdays are the days of the week as recurrence rules call them.
var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

func (r *request) scheduleIn(z *time.Location) scheduleFields {
	fields := scheduleFields{
		Zone: clock{Zone: z}.Name(), Every: []option{{"", r.text("desk.schedule.once")}},
		Weekdays: optionsOf(inWeek(r.locale, weekdays), func(day string) string { return r.text("desk.schedule.weekday." + day) }),
	}
	for _, f := range frequencies {
		fields.Every = append(fields.Every, option{f.rule, r.text(f.message)})
	}
	return fields
}

// wall returns the date and time in a field. A time that daylight saving skips in the zone is
// an error of the field.
func (f *form) wall(name string, z *time.Location) (time.Time, bool) {
	wall, err := time.Parse(wallLayout, f.text(name))
	if err != nil {
		f.add(name, msg("desk.field.no_time"))
		return wall, false
	}
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, z)
	if at.Format(wallLayout) != wall.Format(wallLayout) {
		f.add(name, msg("desk.schedule.skipped", "time", timeText("time", wall), "day", timeText("long_date", wall)))
		return wall, false
	}
	return wall, true
}

// schedule reads the fields for dates: a single date with its start, or the template of
// recurring dates with their rule.
func (f *form) schedule(z *time.Location) (*bookingv1.NewEventDate, *bookingv1.Recurrence) {
	date := &bookingv1.NewEventDate{DurationMinutes: f.count("duration", msg("desk.field.duration"), 1, 525600)}
	if capacity, given := f.integer("capacity", msg("desk.field.spaces"), 0, 1_000_000); given {
		n := int32(capacity)
		date.Capacity = &n
	} else {
		date.Unlimited = true
	}
	start, ok := f.wall("start", z)
	if !ok {
		return date, nil
	}
	local := start.Format(wallLayout) + ":00"
	rule := f.text("every")
	for _, known := range frequencies {
		if known.rule == rule {
			return date, &bookingv1.Recurrence{Rule: f.rule(rule), LocalStart: local}
		}
	}
	date.LocalStart = local
	return date, nil
}

// rule returns a recurrence rule with the ticked days of the week and the number of dates.
func (f *form) rule(rule string) string {
	var days []string
	for _, day := range weekdays {
		if f.Has("days", day) {
			days = append(days, day)
		}
	}
	if strings.HasPrefix(rule, "FREQ=WEEKLY") && len(days) > 0 {
		rule += ";BYDAY=" + strings.Join(days, ",")
	}
	return fmt.Sprintf("%s;COUNT=%d", rule, f.count("count", msg("desk.field.dates"), 1, maxRepeats))
}

// shifted lists the recurring dates that start later than their rule says, because daylight
// saving skips their time; "" if there are none.
func (r *request) shifted(dates []*bookingv1.EventDate, rule *bookingv1.Recurrence, z *time.Location) string {
	if rule == nil {
		return ""
	}
	var moved []string
	for _, d := range dates {
		if at := d.GetStartsAt().AsTime().In(z); at.Format(wallLayout)[11:] != rule.GetLocalStart()[11:16] {
			moved = append(moved, r.format("day_time", at))
		}
	}
	if len(moved) == 0 {
		return ""
	}
	return " " + r.text("desk.schedule.shifted", "dates", strings.Join(moved, "; "))
}

// zoneOf returns the zone of an event's dates; the company's zone if the event's is unknown.
func (r *request) zoneOf(e eventView) *time.Location {
	if z, err := zone.Load(e.GetTimezone()); err == nil {
		return z
	}
	return r.session.Clock.Zone
}

// wallText prints an instant in the format of a field.
func wallText(t *timestamppb.Timestamp, z *time.Location) string {
	return t.AsTime().In(z).Format(wallLayout)
}
