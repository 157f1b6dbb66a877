package admin

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// wallLayout is how a field of a date and time has its value.
const wallLayout = "2006-01-02T15:04"

// maxRepeats bounds how many dates a form makes.
const maxRepeats = 366

// scheduleFields are what the fields of dates offer.
type scheduleFields struct {
	Zone     string // in which they are meant
	Every    []option
	Weekdays []option
}

func scheduleIn(z *time.Location) scheduleFields {
	return scheduleFields{
		Zone:  clock{Zone: z}.Name(),
		Every: []option{{"", "Once"}, {"FREQ=DAILY", "Every day"}, {"FREQ=WEEKLY", "Every week"}, {"FREQ=WEEKLY;INTERVAL=2", "Every two weeks"}, {"FREQ=MONTHLY", "Every month"}},
		Weekdays: []option{{"MO", "Monday"}, {"TU", "Tuesday"}, {"WE", "Wednesday"}, {"TH", "Thursday"}, {"FR", "Friday"},
			{"SA", "Saturday"}, {"SU", "Sunday"}},
	}
}

// wall reads a date and time of day, which must exist in a zone: a night in spring
// lacks an hour.
func (f *form) wall(name string, z *time.Location) (time.Time, bool) {
	wall, err := time.Parse(wallLayout, f.text(name))
	if err != nil {
		f.add(name, literal("Give a date and a time."))
		return wall, false
	}
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, z)
	if at.Format(wallLayout) != wall.Format(wallLayout) {
		f.add(name, literal(fmt.Sprintf("%s does not exist on %s: the clocks go forward over it. Choose another time.", wall.Format("15:04"), wall.Format("2 January 2006"))))
		return wall, false
	}
	return wall, true
}

// schedule reads the fields of dates: one that is named, or the model of those that
// a rule gives.
func (f *form) schedule(z *time.Location) (*bookingv1.NewEventDate, *bookingv1.Recurrence) {
	date := &bookingv1.NewEventDate{DurationMinutes: f.count("duration", literal("the duration"), 1, 525600)}
	if capacity, given := f.integer("capacity", literal("the number of places"), 0, 1_000_000); given {
		n := int32(capacity)
		date.Capacity = &n
	}
	start, ok := f.wall("start", z)
	if !ok {
		return date, nil
	}
	local := start.Format(wallLayout) + ":00"
	rule := f.text("every")
	for _, every := range scheduleIn(z).Every {
		if every.Value == rule && rule != "" {
			return date, &bookingv1.Recurrence{Rule: f.rule(rule), LocalStart: local}
		}
	}
	date.LocalStart = local
	return date, nil
}

// rule completes a rule with the days of the week and the number of dates.
func (f *form) rule(rule string) string {
	var days []string
	for _, day := range scheduleIn(time.UTC).Weekdays {
		if f.Has("days", day.Value) {
			days = append(days, day.Value)
		}
	}
	if strings.HasPrefix(rule, "FREQ=WEEKLY") && len(days) > 0 {
		rule += ";BYDAY=" + strings.Join(days, ",")
	}
	return fmt.Sprintf("%s;COUNT=%d", rule, f.count("count", literal("the number of dates"), 1, maxRepeats))
}

// later says which dates of a rule begin later than it says, because their time
// does not exist; "": none.
func later(dates []*bookingv1.EventDate, rule *bookingv1.Recurrence, z *time.Location) string {
	if rule == nil {
		return ""
	}
	var moved []string
	for _, d := range dates {
		if at := d.GetStartsAt().AsTime().In(z); at.Format("15:04") != rule.GetLocalStart()[11:16] {
			moved = append(moved, at.Format("Mon 2 Jan 2006, 15:04"))
		}
	}
	if len(moved) == 0 {
		return ""
	}
	return " Where the clocks go forward, it begins later: " + strings.Join(moved, "; ") + "."
}

// zoneOf is the zone in which an event's dates are meant, or else the company's.
func (r *request) zoneOf(e eventView) *time.Location {
	if z, err := zone.Load(e.GetTimezone()); err == nil {
		return z
	}
	return r.session.Clock.Zone
}

// wallText prints an instant as a field has it.
func wallText(t *timestamppb.Timestamp, z *time.Location) string {
	return t.AsTime().In(z).Format(wallLayout)
}
