package admin

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// person is somebody who is affected by what is about to be done.
type person struct{ ID, Name, What string }

// affected is who has booked a date or waits for it. All are counted; as many are
// named as a page shows.
type affected struct {
	People  []person
	Booked  int64 // bookings
	Waiting int64
}

// peopleShown is how many people a page names.
const peopleShown = 200

// More is how many are not named.
func (a affected) More() int64 { return a.Booked + a.Waiting - int64(len(a.People)) }

// Seen stands for those whom the page names: who confirms has seen these.
func (a affected) Seen() string { return fmt.Sprintf("%d.%d", a.Booked, a.Waiting) }

// affected reads who is affected by a change of a date: three calls.
func (r *request) affected(s slot) (affected, error) {
	taken := false
	regs, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		EventId: s.GetEventId(), EventDateId: s.GetDate().GetId(), PageSize: peopleShown, Cancelled: &taken,
	})
	if err != nil {
		return affected{}, err
	}
	all := affected{Booked: regs.GetTotal()}
	for _, booked := range regs.GetRegistrations() {
		guest := registrationView{booked}.Guest()
		all.People = append(all.People, person{guest.GetId(), fullName(guest), plural(booked.GetBooking().GetSpaces(), "place", "places")})
	}
	entries, total, err := r.waitlist(s.GetDate().GetId())
	if err != nil {
		return all, err
	}
	all.Waiting = total
	for _, e := range entries {
		what := "waits for " + plural(e.GetSpaces(), "place", "places")
		if e.Offered() {
			what = "is offered " + plural(e.GetSpaces(), "place", "places")
		}
		all.People = append(all.People, person{e.GetCustomerId(), e.Name(), what})
	}
	return all, nil
}

// confirmDate asks before a date is cancelled, and names who is affected.
func (r *request) confirmDate() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	if s.Cancelled() {
		return r.back(s.Path(), "This date was cancelled before.")
	}
	who, err := r.affected(s)
	if err != nil {
		return err
	}
	return r.confirm(confirmPage{
		Title: "Cancel this date", Button: "Cancel the date", Danger: true, Reason: true, Affected: who,
		Effects: []string{
			bookingsText(who.Booked) + " cancelled.",
			"Credits go back to the passes, whatever the policy. What was paid by card is yours to give back; record it as refunded then.",
			"The waitlist ends, and offers of places with it. A cancelled date cannot be brought back.",
		},
	}, "events", e.GetTitle()+", "+r.session.Clock.Time(s.GetDate().GetStartsAt()), s.Path())
}

func bookingsText(n int64) string {
	if n == 0 {
		return "Nobody has booked: no booking is"
	}
	return plural(n, "booking is", "bookings are")
}

func (r *request) cancelDate() error {
	_, s, err := r.findDate()
	if err != nil {
		return err
	}
	if s.Cancelled() {
		return r.back(s.Path(), "This date was cancelled before.")
	}
	res, err := perform(r, r.services.events.CancelEventDate, &bookingv1.CancelEventDateRequest{Id: s.GetDate().GetId(), Reason: r.value("reason")})
	if err != nil {
		return r.refused(s.Path(), err)
	}
	r.detail("reason", "", r.value("reason"))
	return r.back(s.Path(), "The date is cancelled, with "+plural(res.GetCancelledBookings(), "booking", "bookings")+".")
}

// datePage changes a date.
type datePage struct {
	Event eventView
	Slot  slot
	Form  *form
	Zone  string
}

func (p datePage) head() (*message, string) { return literal("Change a date"), "events" }

// dateFields are what the form of a date has.
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
	p.Form.keep(dateFields...)
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

// dateChange reads what the form changes of a date; moves tells that it is when it
// takes place. nil: nothing.
func (p datePage) dateChange(z *time.Location) (change *bookingv1.EventDateChange, moves bool) {
	date, f := p.Slot.GetDate(), p.Form
	c := &bookingv1.EventDateChange{Id: date.GetId()}
	changed := false
	// A start that stands as it was is not read: the hour that comes twice in
	// autumn would become the first.
	if !f.stands("start") && f.text("start") != wallText(date.GetStartsAt(), z) {
		if wall, ok := f.wall("start", z); ok {
			local := wall.Format(wallLayout) + ":00"
			c.LocalStart, moves = &local, true
		}
	}
	if minutes := f.count("duration", literal("the duration"), 1, 525600); !f.stands("duration") && minutes != date.GetDurationMinutes() {
		c.DurationMinutes, moves = &minutes, true
	}
	capacity, given := f.integer("capacity", literal("the number of places"), 0, 1_000_000)
	switch n := int32(capacity); {
	case f.stands("capacity"):
	case !given && date.Capacity != nil:
		c.Unlimited, changed = true, true
	case given && (date.Capacity == nil || date.GetCapacity() != n):
		c.Capacity, changed = &n, true
		if n < date.GetBooked() {
			f.add("capacity", literal("There must be at least "+plural(date.GetBooked(), "place", "places")+", because so many are taken."))
		}
	}
	if !moves && !changed {
		return nil, false
	}
	return c, moves
}

// updateDate changes a date. Before it takes place at another time, everyone is
// named who has booked it or waits for it.
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
		// It may be by the same form, which was sent twice.
		return r.back(p.Slot.Path(), "Nothing is left to change: "+r.when(p.Slot)+". "+p.Slot.Fullness().Text()+".")
	}
	if moves {
		who, err := r.affected(p.Slot)
		if err != nil {
			return err
		}
		if who.Booked+who.Waiting > 0 && r.value("seen") != who.Seen() {
			return r.confirmMove(p, change, who)
		}
	}
	res, err := submit(r, p.Form, unindexed(r.services.events.UpdateEventDate), &bookingv1.UpdateEventDateRequest{Date: change})
	if err != nil {
		return r.again(err, "date-edit", p)
	}
	now := slot{&bookingv1.ScheduledDate{Date: res.GetDate()}, r.session.Clock}
	r.detail("starts_at", r.when(p.Slot), r.when(now))
	r.detail("capacity", p.Slot.Fullness().Text(), now.Fullness().Text())
	return r.back(p.Slot.Path(), "The date is changed: "+r.when(now)+". "+now.Fullness().Text()+".")
}

// when prints when a date takes place: "Sat 21 Nov 2026, 13:04–14:04".
func (r *request) when(s slot) string {
	return r.session.Clock.Time(s.GetDate().GetStartsAt()) + "–" + s.To()
}

// confirmMove asks before a date takes place at another time.
func (r *request) confirmMove(p datePage, change *bookingv1.EventDateChange, who affected) error {
	to := slot{&bookingv1.ScheduledDate{Date: &bookingv1.EventDate{StartsAt: p.Slot.GetDate().GetStartsAt(), DurationMinutes: p.Slot.GetDate().GetDurationMinutes()}}, r.session.Clock}
	if change.LocalStart != nil {
		if wall, ok := p.Form.wall("start", r.zoneOf(p.Event)); ok {
			at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, r.zoneOf(p.Event))
			to.Date.StartsAt = timestamppb.New(at)
		}
	}
	if change.DurationMinutes != nil {
		to.Date.DurationMinutes = change.GetDurationMinutes()
	}
	hidden := map[string]string{"seen": who.Seen()}
	for _, name := range dateFields {
		hidden[name] = p.Form.text(name)
		if was, known := p.Form.values["was-"+name]; known {
			hidden["was-"+name] = was[0]
		}
	}
	return r.confirm(confirmPage{
		Title: "Change when this takes place", Button: "Change it", Affected: who, Hidden: hidden,
		Effects: []string{
			"Until now: " + r.when(p.Slot) + ".",
			"From now on: " + r.when(to) + ".",
			"Bookings stay, and so do places in the waitlist. Nobody is written to from here: tell those named below.",
		},
	}, "events", p.Event.GetTitle(), p.Slot.Path())
}

// addDatesPage adds dates to an event.
type addDatesPage struct {
	Event eventView
	Form  *form
	When  scheduleFields
}

func (p addDatesPage) head() (*message, string) { return literal("Add dates"), "events" }

// newDates offers the day after the last date, at its time and of its size.
func (r *request) newDates() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	z := r.zoneOf(e)
	f := newForm("start", r.midnight(r.web.now(), 1).Add(9*time.Hour).Format(wallLayout), "duration", "60", "count", "10")
	if dates := e.GetDates(); len(dates) > 0 {
		last := dates[len(dates)-1]
		start := last.GetStartsAt().AsTime().In(z).AddDate(0, 0, 7)
		for start.Before(r.web.now()) {
			start = start.AddDate(0, 0, 7)
		}
		f = newForm("start", start.Format(wallLayout), "duration", strconv.Itoa(int(last.GetDurationMinutes())), "count", "10")
		if last.Capacity != nil {
			f.values.Set("capacity", strconv.Itoa(int(last.GetCapacity())))
		}
	}
	return r.render("dates-new", addDatesPage{e, f, scheduleIn(z)})
}

func (r *request) addDates() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	z := r.zoneOf(e)
	page := addDatesPage{e, r.sent(scheduleNames), scheduleIn(z)}
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
	return r.back("/events/"+e.GetId(), plural(n, "date is", "dates are")+" added, from "+first+" on."+later(res.GetDates(), rule, z))
}

// scheduleNames are the form's names of what the service says of dates.
var scheduleNames = map[string]string{
	"starts_at": "start", "local_start": "start", "duration_minutes": "duration", "rule": "every", "dates": "start",
}

// findDate returns an event and one of its dates.
func (r *request) findDate() (eventView, slot, error) {
	e, err := r.findEvent()
	if err != nil {
		return e, slot{}, err
	}
	for _, d := range e.GetDates() {
		if d.GetId() == r.path("date") {
			return e, slot{&bookingv1.ScheduledDate{
				Date: d, EventId: e.GetId(), EventTitle: e.GetTitle(), EventStatus: e.GetStatus(), EventType: e.GetType(), Location: e.GetLocation(),
			}, r.session.Clock}, nil
		}
	}
	return e, slot{}, fault.Missing("date")
}
