package admin

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// slot is a date as the calendar shows it.
type slot struct {
	*bookingv1.ScheduledDate
	clock clock
}

// fullness is how much of a capacity is taken.
type fullness struct {
	Booked    int32
	Capacity  int32
	Unlimited bool
}

func fullnessOf(d *bookingv1.EventDate) fullness {
	return fullness{Booked: d.GetBooked(), Capacity: d.GetCapacity(), Unlimited: d.Capacity == nil}
}

// Percent is how full it is, 0 to 100.
func (f fullness) Percent() int {
	if f.Unlimited || f.Capacity <= 0 {
		if !f.Unlimited {
			return 100
		}
		return 0
	}
	return min(100, int(100*int64(f.Booked)/int64(f.Capacity)))
}

// Class tells how full it is in three steps.
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

// Left is how many places are left.
func (f fullness) Left() int32 { return f.Capacity - f.Booked }

// Text says it in words.
func (f fullness) Text() string {
	switch {
	case f.Unlimited:
		return plural(f.Booked, "place", "places") + " taken"
	case f.Left() <= 0:
		return "Full: " + plural(f.Capacity, "place", "places")
	}
	return thousands(int64(f.Booked)) + " of " + plural(f.Capacity, "place", "places") + " taken"
}

// Fullness is how full the date is.
func (s slot) Fullness() fullness { return fullnessOf(s.GetDate()) }

// Cancelled tells that the date does not take place.
func (s slot) Cancelled() bool {
	return s.GetDate().GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
}

// Bookable tells that the date has not begun and takes place.
func (s slot) Bookable() bool { return !s.Cancelled() && !s.clock.Past(s.GetDate().GetStartsAt()) }

// Full tells that no place is left.
func (s slot) Full() bool { return s.Fullness().Class() == "full" }

// Over tells that the date has ended.
func (s slot) Over() bool {
	end := s.GetDate().GetStartsAt().AsTime().Add(time.Duration(s.GetDate().GetDurationMinutes()) * time.Minute)
	return end.Before(s.clock.now)
}

// From and To are the times of day.
func (s slot) From() string { return s.clock.Hour(s.GetDate().GetStartsAt()) }

// To is when it ends.
func (s slot) To() string {
	return s.GetDate().GetStartsAt().AsTime().In(s.clock.Zone).Add(time.Duration(s.GetDate().GetDurationMinutes()) * time.Minute).Format("15:04")
}

// Path is the page of the date.
func (s slot) Path() string { return datePath(s.GetEventId(), s.GetDate().GetId()) }

// Draft tells that the event cannot be booked yet.
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
	// Taken sums the places of the day's dates; Waiting who waits for more.
	Taken, Waiting int32
	Cut            bool
}

func (p dayPage) head() (*message, string) {
	if p.Day.Today {
		return literal("Today"), "today"
	}
	return literal(p.Day.At.Format("Monday 2 January 2006")), "today"
}

// midnight is the start of a day in the company's zone, with days added on the
// calendar.
func (r *request) midnight(t time.Time, days int) time.Time {
	zone := r.session.Clock.Zone
	t = t.In(zone)
	return startOf(t.Year(), t.Month(), t.Day()+days, zone)
}

// startOf is the first instant of a day. Where clocks are put forward at midnight,
// the day begins with the change.
func startOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if t.Hour() > 12 { // of the day before: this day has no midnight
		_, t = t.ZoneBounds()
	}
	return t
}

// dayOf reads a date as the start of that day.
func dayOf(text string, zone *time.Location) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, err
	}
	return startOf(t.Year(), t.Month(), t.Day(), zone), nil
}

// chosenDay is the day that the address names; today where it names none.
func (r *request) chosenDay(name string) time.Time {
	t, err := dayOf(r.query(name), r.session.Clock.Zone)
	if err != nil {
		return r.midnight(r.web.now(), 0)
	}
	return t
}

// The calendar reads at most calendarPages pages of dates.
const (
	calendarSize  = 200
	calendarPages = 3
)

// slots reads the dates of a time; cut tells that there are more than are shown.
func (r *request) slots(from, before time.Time) (all []slot, cut bool, err error) {
	req := &bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(before), PageSize: calendarSize}
	for range calendarPages {
		res, err := r.services.events.ListEventDates(r.ctx, req)
		if err != nil {
			return nil, false, err
		}
		for _, d := range res.GetDates() {
			all = append(all, slot{d, r.session.Clock})
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			return all, false, nil
		}
	}
	return all, true, nil
}

func (r *request) today() error {
	at := r.chosenDay("day")
	slots, cut, err := r.slots(at, r.midnight(at, 1))
	if err != nil {
		return err
	}
	page := dayPage{Previous: r.midnight(at, -1), Next: r.midnight(at, 1), Cut: cut}
	page.Day = day{At: at, Today: at.Equal(r.midnight(r.web.now(), 0)), Slots: slots}
	for _, s := range slots {
		if !s.Cancelled() {
			page.Taken += s.GetDate().GetBooked()
			page.Waiting += s.GetWaiting()
		}
	}
	return r.render("today", page)
}

// weekPage is the calendar of a week, from its Monday.
type weekPage struct {
	Days           []day
	From, To       time.Time
	Previous, Next time.Time
	Cut            bool
	Empty          bool
}

func (weekPage) head() (*message, string) { return literal("Week"), "week" }

func (r *request) week() error {
	from := r.chosenDay("from")
	from = r.midnight(from, -(int(from.Weekday())+6)%7)
	slots, cut, err := r.slots(from, r.midnight(from, 7))
	if err != nil {
		return err
	}
	page := weekPage{From: from, To: r.midnight(from, 6), Previous: r.midnight(from, -7), Next: r.midnight(from, 7), Cut: cut, Empty: len(slots) == 0}
	today := r.midnight(r.web.now(), 0)
	for i := range 7 {
		d := day{At: r.midnight(from, i)}
		d.Today = d.At.Equal(today)
		for _, s := range slots {
			if starts := s.GetDate().GetStartsAt().AsTime(); !starts.Before(d.At) && starts.Before(r.midnight(from, i+1)) {
				d.Slots = append(d.Slots, s)
			}
		}
		page.Days = append(page.Days, d)
	}
	return r.render("week", page)
}

// day reads a date of a filter as its start in the company's zone; nil: none.
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
