package admin

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// person is a customer whom an action affects. The field What names the effect.
type person struct {
	ID, Name string
	What     *message
}

// affected are the customers who have booked a date or are on its waitlist. People has at most
// as many as a page shows; Booked and Waiting count all of them.
type affected struct {
	People  []person
	Booked  int64
	Waiting int64
}

// peopleShown is the number of bookings that a page lists.
const peopleShown = 200

// More returns how many customers People does not have.
func (a affected) More() int64 { return a.Booked + a.Waiting - int64(len(a.People)) }

// Seen returns the numbers of bookings and waitlist entries that a page has shown. A confirmation
// sends them back, so that bookings made since are shown before the date changes.
func (a affected) Seen() string { return fmt.Sprintf("%d.%d", a.Booked, a.Waiting) }

// affected reads the customers whom a change of a date affects, in three calls.
func (r *request) affected(s slot) (affected, error) {
	cancelled := false
	regs, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		EventId: s.GetEventId(), EventDateId: s.GetDate().GetId(), PageSize: peopleShown, Cancelled: &cancelled,
	})
	if err != nil {
		return affected{}, err
	}
	all := affected{Booked: regs.GetTotal()}
	for _, booked := range regs.GetRegistrations() {
		guest := registrationView{booked}.Guest()
		all.People = append(all.People, person{guest.GetId(), fullName(guest), spacesText(booked.GetBooking().GetSpaces())})
	}
	entries, total, err := r.waitlist(s.GetDate().GetId())
	if err != nil {
		return all, err
	}
	all.Waiting = total
	for _, e := range entries {
		what := msg("desk.affected.waiting", "spaces", spacesText(e.GetSpaces()))
		if e.Offered() {
			what = msg("desk.affected.offered", "spaces", spacesText(e.GetSpaces()))
		}
		all.People = append(all.People, person{e.GetCustomerId(), e.Name(), what})
	}
	return all, nil
}

// confirmDate shows what cancelling a date does and whom it affects, before it is done.
func (r *request) confirmDate() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	if s.Cancelled() {
		return r.back(s.Path(), r.text("desk.date.already_cancelled"))
	}
	people, err := r.affected(s)
	if err != nil {
		return err
	}
	bookings := r.text("desk.date.cancel_none")
	if people.Booked > 0 {
		bookings = r.text("desk.date.cancel_bookings", "count", people.Booked)
	}
	return r.confirm(confirmPage{
		Title: r.text("desk.date.cancel_title"), Button: r.text("desk.date.cancel_button"), Danger: true, Reason: true, Affected: people,
		Effects: []string{bookings, r.text("desk.date.cancel_refunds"), r.text("desk.date.cancel_final")},
	}, "events", e.GetTitle()+", "+r.session.Clock.Time(s.GetDate().GetStartsAt()), s.Path())
}

// bookingsText says a number of bookings: "3 bookings".
func bookingsText[N int32 | int64](n N) *message { return msg("desk.count.bookings", "count", n) }

func (r *request) cancelDate() error {
	_, s, err := r.findDate()
	if err != nil {
		return err
	}
	if s.Cancelled() {
		return r.back(s.Path(), r.text("desk.date.already_cancelled"))
	}
	res, err := perform(r, r.services.events.CancelEventDate, &bookingv1.CancelEventDateRequest{Id: s.GetDate().GetId(), Reason: r.value("reason")})
	if err != nil {
		return r.refused(s.Path(), err)
	}
	r.detail("reason", "", r.value("reason"))
	return r.back(s.Path(), r.text("desk.date.cancelled_with", "bookings", bookingsText(res.GetCancelledBookings())))
}

// datePage changes a date.
type datePage struct {
	Event eventView
	Slot  slot
	Form  *form
	Zone  string
}

func (p datePage) head() (*message, string) { return msg("desk.date.edit"), "events" }

// dateFields are the fields of a date's form.
var dateFields = []string{"start", "duration", "capacity"}

func (r *request) datePage() (datePage, error) {
	e, s, err := r.findDate()
	if err != nil {
		return datePage{}, err
	}
	z := r.zoneOf(e)
	p := datePage{Event: e, Slot: s, Zone: clock{Zone: z}.Name()}
	p.Form = newForm("start", wallText(s.GetDate().GetStartsAt(), z), "duration", strconv.Itoa(int(s.GetDate().GetDurationMinutes())))
	if s.GetDate().Capacity != nil {
		p.Form.values.Set("capacity", strconv.Itoa(int(s.GetDate().GetCapacity())))
	}
	p.Form.remember(dateFields...)
	return p, nil
}

func (r *request) editDate() error {
	p, err := r.datePage()
	if err != nil {
		return err
	}
	if p.Slot.Cancelled() {
		return r.sayFailed(p.Slot.Path(), r.text(reason("EVENT_CANCELLED")))
	}
	return r.render("date-edit", p)
}

// dateChange returns the changes that the form makes to a date; nil if there are none. moves
// reports whether its start or its duration changes.
func (p datePage) dateChange(z *time.Location) (change *bookingv1.EventDateChange, moves bool) {
	date, f := p.Slot.GetDate(), p.Form
	c := &bookingv1.EventDateChange{Id: date.GetId()}
	changed := false
	// An unchanged start is not read: when clocks go back, an hour occurs twice, and its second
	// occurrence would become the first.
	if !f.unchanged("start") && f.text("start") != wallText(date.GetStartsAt(), z) {
		if wall, ok := f.wall("start", z); ok {
			local := wall.Format(wallLayout) + ":00"
			c.LocalStart, moves = &local, true
		}
	}
	if minutes := f.count("duration", msg("desk.field.duration"), 1, 525600); !f.unchanged("duration") && minutes != date.GetDurationMinutes() {
		c.DurationMinutes, moves = &minutes, true
	}
	capacity, given := f.integer("capacity", msg("desk.field.spaces"), 0, 1_000_000)
	switch n := int32(capacity); {
	case f.unchanged("capacity"):
	case !given && date.Capacity != nil:
		c.Unlimited, changed = true, true
	case given && (date.Capacity == nil || date.GetCapacity() != n):
		c.Capacity, changed = &n, true
		if n < date.GetBooked() {
			f.add("capacity", msg("desk.date.too_few", "count", date.GetBooked()))
		}
	}
	if !moves && !changed {
		return nil, false
	}
	return c, moves
}

// updateDate changes a date. Before the date moves, the page lists the customers who have
// booked it or are on its waitlist.
func (r *request) updateDate() error {
	p, err := r.datePage()
	if err != nil {
		return err
	}
	p.Form = r.sent(scheduleNames)
	change, moves := p.dateChange(r.zoneOf(p.Event))
	if p.Form.Failed() {
		return r.notAccepted("date-edit", p)
	}
	if change == nil {
		// The same form may have been sent twice.
		return r.back(p.Slot.Path(), r.text("desk.date.unchanged", "when", r.when(p.Slot), "booked", p.Slot.Fullness().Text()))
	}
	if moves {
		people, err := r.affected(p.Slot)
		if err != nil {
			return err
		}
		if people.Booked+people.Waiting > 0 && r.value("seen") != people.Seen() {
			return r.confirmMove(p, change, people)
		}
	}
	res, err := submit(r, p.Form, unindexed(r.services.events.UpdateEventDate), &bookingv1.UpdateEventDateRequest{Date: change})
	if err != nil {
		return r.again(err, "date-edit", p)
	}
	now := slot{ScheduledDate: &bookingv1.ScheduledDate{Date: res.GetDate()}, clock: r.session.Clock}
	r.detail("starts_at", r.when(p.Slot), r.when(now))
	r.detail("capacity", r.logTexts().text(p.Slot.Fullness().Text()), r.logTexts().text(now.Fullness().Text()))
	return r.back(p.Slot.Path(), r.text("desk.date.changed", "when", r.when(now), "booked", now.Fullness().Text()))
}

// when prints the start and end of a date: "Sat 21 Nov 2026, 13:04–14:04".
func (r *request) when(s slot) string {
	return r.session.Clock.Time(s.GetDate().GetStartsAt()) + "–" + s.To()
}

// confirmMove shows the new time of a date and whom the change affects, before it is done.
func (r *request) confirmMove(p datePage, change *bookingv1.EventDateChange, people affected) error {
	to := slot{clock: r.session.Clock, ScheduledDate: &bookingv1.ScheduledDate{
		Date: &bookingv1.EventDate{StartsAt: p.Slot.GetDate().GetStartsAt(), DurationMinutes: p.Slot.GetDate().GetDurationMinutes()},
	}}
	if change.LocalStart != nil {
		if wall, ok := p.Form.wall("start", r.zoneOf(p.Event)); ok {
			at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, r.zoneOf(p.Event))
			to.Date.StartsAt = timestamppb.New(at)
		}
	}
	if change.DurationMinutes != nil {
		to.Date.DurationMinutes = change.GetDurationMinutes()
	}
	hidden := map[string]string{"seen": people.Seen()}
	for _, name := range dateFields {
		hidden[name] = p.Form.text(name)
		if was, known := p.Form.values["was-"+name]; known {
			hidden["was-"+name] = was[0]
		}
	}
	return r.confirm(confirmPage{
		Title: r.text("desk.date.move_title"), Button: r.text("desk.date.move_button"), Affected: people, Hidden: hidden,
		Effects: []string{
			r.text("desk.date.move_from", "when", r.when(p.Slot)), r.text("desk.date.move_to", "when", r.when(to)), r.text("desk.date.move_bookings"),
		},
	}, "events", p.Event.GetTitle(), p.Slot.Path())
}

// addDatesPage adds dates to an event.
type addDatesPage struct {
	Event eventView
	Form  *form
	When  scheduleFields
}

func (p addDatesPage) head() (*message, string) { return msg("desk.dates.add"), "events" }

// newDates shows the form, filled in from the event's last date: its time a week or more later,
// its duration and its capacity.
func (r *request) newDates() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	z := r.zoneOf(e)
	f := newForm("start", r.tomorrowAtNine(z), "duration", "60", "count", "10")
	if dates := e.GetDates(); len(dates) > 0 {
		last := dates[len(dates)-1]
		start := last.GetStartsAt().AsTime().In(z).AddDate(0, 0, 7)
		for start.Before(r.now()) {
			start = start.AddDate(0, 0, 7)
		}
		f = newForm("start", start.Format(wallLayout), "duration", strconv.Itoa(int(last.GetDurationMinutes())), "count", "10")
		if last.Capacity != nil {
			f.values.Set("capacity", strconv.Itoa(int(last.GetCapacity())))
		}
	}
	return r.render("dates-new", addDatesPage{e, f, r.scheduleIn(z)})
}

func (r *request) addDates() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	z := r.zoneOf(e)
	page := addDatesPage{e, r.sent(scheduleNames), r.scheduleIn(z)}
	date, rule := page.Form.schedule(z)
	res, err := submit(r, page.Form, unindexed(r.services.events.AddEventDates), &bookingv1.AddEventDatesRequest{
		EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{date}, Recurrence: rule,
	})
	if err != nil {
		return r.again(err, "dates-new", page)
	}
	n := len(res.GetDates())
	r.detail("dates", "", strconv.Itoa(n))
	first := r.session.Clock.Time(res.GetDates()[0].GetStartsAt())
	return r.back("/events/"+e.GetId(), r.text("desk.dates.added", "count", n, "time", first)+r.shifted(res.GetDates(), rule, z))
}

// scheduleNames are the form's names of the service's fields of dates.
var scheduleNames = map[string]string{
	"starts_at": "start", "local_start": "start", "duration_minutes": "duration", "rule": "every", "dates": "start",
}

// findDate returns an event and one of its dates.
func (r *request) findDate() (eventView, slot, error) {
	e, err := r.findEvent()
	if err != nil {
		return e, slot{}, err
	}
	res, err := r.services.events.GetEventDate(r.ctx, &bookingv1.GetEventDateRequest{Id: r.path("date")})
	if err != nil {
		return e, slot{}, err
	}
	if res.GetDate().GetEventId() != e.GetId() {
		return e, slot{}, fault.Missing("date")
	}
	return e, slot{ScheduledDate: res.GetDate(), clock: r.session.Clock}, nil
}
