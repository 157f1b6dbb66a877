package admin

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// slot is an event date as the calendar shows it.
type slot struct {
	*bookingv1.ScheduledDate
	clock clock
	// appointment is the appointment that has the date; nil for other dates.
	appointment *appointmentView
}

// fullness is how much of a capacity is taken.
type fullness struct {
	Booked    int32
	Capacity  int32
	Unlimited bool
	// Short says that there is little space for the text.
	Short bool
}

func fullnessOf(d *bookingv1.EventDate) fullness {
	return fullness{Booked: d.GetBooked(), Capacity: d.GetCapacity(), Unlimited: d.Capacity == nil}
}

// Percent returns the booked share of the capacity, 0 to 100.
func (f fullness) Percent() int {
	if f.Unlimited || f.Capacity <= 0 {
		if !f.Unlimited {
			return 100
		}
		return 0
	}
	return min(100, int(100*int64(f.Booked)/int64(f.Capacity)))
}

// Class is the gauge's style: "", "nearly" from 80 % on, or "full".
func (f fullness) Class() string {
	switch {
	case f.Unlimited:
		return ""
	case f.Left() <= 0:
		return "full"
	case f.Percent() >= 80:
		return "nearly"
	}
	return ""
}

// Left returns the number of free spaces.
func (f fullness) Left() int32 { return f.Capacity - f.Booked }

// Text says it in words, such as "3 of 8 spaces booked".
func (f fullness) Text() *message {
	switch {
	case f.Unlimited:
		return msg("desk.full.booked", "spaces", spacesText(f.Booked))
	case f.Left() <= 0:
		return msg("desk.full.full", "spaces", spacesText(f.Capacity))
	case f.Short:
		return msg("door.week.of", "booked", f.Booked, "capacity", f.Capacity)
	}
	return msg("desk.full.of", "booked", f.Booked, "spaces", spacesText(f.Capacity))
}

// spacesText says a number of spaces: "3 spaces".
func spacesText(n int32) *message { return msg("desk.count.spaces", "count", n) }

// creditsText says a number of credits: "3 credits".
func creditsText(n int32) *message { return msg("desk.count.credits", "count", n) }

func (s slot) Fullness() fullness { return fullnessOf(s.GetDate()) }

// Cancelled reports whether the date was cancelled.
func (s slot) Cancelled() bool {
	return s.GetDate().GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
}

// Bookable reports whether the date has not started and is not cancelled.
func (s slot) Bookable() bool { return !s.Cancelled() && !s.Started() }

// Started reports whether the date has started.
func (s slot) Started() bool { return s.clock.Past(s.GetDate().GetStartsAt()) }

// Late reports whether the date can be booked with a reason only, because it has started.
func (s slot) Late() bool { return !s.Cancelled() && s.clock.late(s.GetDate().GetStartsAt()) }

// Full reports whether no space is left.
func (s slot) Full() bool { return s.Fullness().Class() == "full" }

// Over reports whether the date has ended.
func (s slot) Over() bool {
	end := s.GetDate().GetStartsAt().AsTime().Add(time.Duration(s.GetDate().GetDurationMinutes()) * time.Minute)
	return end.Before(s.clock.now)
}

// Running reports whether the date takes place at present.
func (s slot) Running() bool {
	return !s.Cancelled() && !s.Over() && s.clock.Past(s.GetDate().GetStartsAt())
}

// From returns the time of day at which the date starts.
func (s slot) From() string { return s.clock.Hour(s.GetDate().GetStartsAt()) }

// To returns the time of day at which the date ends.
func (s slot) To() string {
	return s.clock.Hour(timestamppb.New(s.span().until))
}

// Path returns the path of the date's page, or of its appointment's.
func (s slot) Path() string {
	if s.appointment != nil {
		return s.appointment.Path()
	}
	return datePath(s.GetEventId(), s.GetDate().GetId())
}

// Title returns the event's title; for an appointment, with its customer.
func (s slot) Title() *message {
	if s.appointment != nil {
		return msg("appointments.appointment.of", "title", s.GetEventTitle(), "name", s.appointment.Guest())
	}
	return literal(s.GetEventTitle())
}

// Appointment reports whether the date belongs to an appointment.
func (s slot) Appointment() bool { return s.appointment != nil }

// Draft reports whether the event is not published yet.
func (s slot) Draft() bool { return s.GetEventStatus() == bookingv1.EventStatus_EVENT_STATUS_DRAFT }

func datePath(event, date string) string { return "/events/" + event + "/dates/" + date }

// day is a day of the calendar.
type day struct {
	At    time.Time
	Today bool
	Slots []slot
}

// dayPage is the calendar of one day.
type dayPage struct {
	Day            day
	Previous, Next time.Time
	// Taken is the number of booked spaces on the day, Waiting the number of waitlist entries.
	Taken, Waiting int32
	// Offers are the open waitlist offers of the day's dates.
	Offers offers
	// Upcoming is the index of the first date that starts later than now; -1 on other days.
	Upcoming int
	// Cut says that the day has more dates than the page shows.
	Cut bool
}

func (p dayPage) head() (*message, string) {
	if p.Day.Today {
		return msg("desk.today.title"), "today"
	}
	return timeText("long_day", p.Day.At), "today"
}

// now returns the company's time.
func (r *request) now() time.Time { return r.session.Clock.now }

// midnight returns the start of t's day in the company's zone, days calendar days later.
func (r *request) midnight(t time.Time, days int) time.Time {
	zone := r.session.Clock.Zone
	t = t.In(zone)
	return startOf(t.Year(), t.Month(), t.Day()+days, zone)
}

// startOf returns the first instant of a day. If daylight saving skips midnight, the day
// begins at the change.
func startOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if t.Hour() > 12 { // of the day before: this day has no midnight
		_, t = t.ZoneBounds()
	}
	return t
}

// dayOf returns the start of a day, given as YYYY-MM-DD.
func dayOf(text string, zone *time.Location) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, err
	}
	return startOf(t.Year(), t.Month(), t.Day(), zone), nil
}

// chosenDay returns the day in a query parameter; today if there is none.
func (r *request) chosenDay(name string) time.Time {
	t, err := dayOf(r.query(name), r.session.Clock.Zone)
	if err != nil {
		return r.midnight(r.now(), 0)
	}
	return t
}

// The calendar reads at most calendarPages pages of dates.
const (
	calendarSize  = 200
	calendarPages = 3
)

// slots lists the dates from one instant to before another; cut reports that there are more
// than calendarPages pages.
func (r *request) slots(from, before time.Time) (all []slot, cut bool, err error) {
	req := &bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(before), PageSize: calendarSize}
	for range calendarPages {
		res, err := r.services.events.ListEventDates(r.ctx, req)
		if err != nil {
			return nil, false, err
		}
		for _, d := range res.GetDates() {
			all = append(all, slot{ScheduledDate: d, clock: r.session.Clock})
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			all, err = r.withAppointments(all, from, before)
			return all, false, err
		}
	}
	all, err = r.withAppointments(all, from, before)
	return all, true, err
}

// withAppointments adds to the dates of a time the appointments that have them, and leaves out the dates of
// appointments that were cancelled or moved.
func (r *request) withAppointments(all []slot, from, before time.Time) ([]slot, error) {
	if !slices.ContainsFunc(all, func(s slot) bool { return s.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT }) {
		return all, nil
	}
	appointments, err := r.appointmentsBetween(from, before)
	if err != nil {
		return nil, err
	}
	byDate := map[string]*appointmentView{}
	for i, v := range appointments {
		if date := v.GetBooking().GetEventDateId(); byDate[date] == nil || !v.Cancelled() {
			byDate[date] = &appointments[i]
		}
	}
	var kept []slot
	for _, s := range all {
		s.appointment = byDate[s.GetDate().GetId()]
		if s.appointment == nil && s.Cancelled() && s.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
			continue
		}
		kept = append(kept, s)
	}
	return kept, nil
}

func (r *request) today() error {
	at := r.chosenDay("day")
	if !r.plain {
		return r.to("/?day=" + at.Format(time.DateOnly))
	}
	slots, cut, err := r.slots(at, r.midnight(at, 1))
	if err != nil {
		return err
	}
	page := dayPage{Previous: r.midnight(at, -1), Next: r.midnight(at, 1), Cut: cut}
	page.Day = day{At: at, Today: at.Equal(r.midnight(r.now(), 0)), Slots: slots}
	page.Upcoming = -1
	if page.Day.Today {
		page.Upcoming = len(slots)
		if i := slices.IndexFunc(slots, func(s slot) bool { return !s.clock.Past(s.GetDate().GetStartsAt()) }); i >= 0 {
			page.Upcoming = i
		}
	}
	if page.Offers, err = r.offersOf(slots); err != nil {
		return err
	}
	for _, s := range slots {
		if !s.Cancelled() {
			page.Taken += s.GetDate().GetBooked()
			page.Waiting += s.GetWaiting()
		}
	}
	return r.render("today", page)
}

// day returns the start of a filter's day in the company's zone, plus days later; nil if the
// filter is empty.
func (r *request) day(name string, plus int) *timestamppb.Timestamp {
	return r.dayOf(r.query(name), plus)
}

func (r *request) dayOf(text string, plus int) *timestamppb.Timestamp {
	t, err := dayOf(text, r.session.Clock.Zone)
	if err != nil {
		return nil
	}
	return timestamppb.New(t.AddDate(0, 0, plus))
}
