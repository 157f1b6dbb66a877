package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const (
	// eventsShown is the number of events on a page of the choices of a move.
	eventsShown = 200
	// datesShown is the number of dates on a page of the choices of a move.
	datesShown = 100
	// startedShown is the number of dates that have started among the choices of a move.
	startedShown = 200
)

// moveChoices are the choices that decide what a move does.
var moveChoices = []string{"event", "date", "option", "spaces", "keep", "waive"}

// moveAddress are the parameters of the page's address. from is the day with which the list of dates starts.
var moveAddress = append(slices.Clone(moveChoices), "from", "method")

// moveAddressOf returns the address of the page for the choices that get returns, with other parameters: name, value, …
func moveAddressOf(path string, get func(name string) string, pairs ...string) string {
	query := url.Values{}
	for _, name := range moveAddress {
		if value := get(name); value != "" {
			query.Set(name, value)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + query.Encode()
}

// Seen identifies the choices whose effect the page shows. The form sends it with the choices, so that a move
// does what was shown.
func (p bookingMovePage) Seen() string {
	query := url.Values{}
	for _, name := range moveChoices {
		query.Set(name, p.Form.Get(name))
	}
	return query.Encode()
}

// next returns the address of the page with the choices of the form and a page of a list; "" without a token.
func (p bookingMovePage) next(name, token string) string {
	if token == "" {
		return ""
	}
	return moveAddressOf(p.Path()+"/move", p.Form.Get, name, token)
}

// chosenOption returns the chosen value if it is one of the options; otherwise fallback if it is, and otherwise
// the first.
func chosenOption(options []option, chosen, fallback string) string {
	for _, value := range []string{chosen, fallback} {
		if slices.ContainsFunc(options, func(o option) bool { return o.Value == value }) {
			return value
		}
	}
	if len(options) == 0 {
		return ""
	}
	return options[0].Value
}

// chooseEvent reads the chosen event and a page of the published events with dates. Events that are chosen, or
// that the booking is of, are among the choices of every page.
func (r *request) chooseEvent(page *bookingMovePage, get func(name string) string) (*bookingv1.Event, error) {
	b := page.Registration.GetBooking()
	chosen, err := r.movableTo(page.Form, b, get("event"))
	if err != nil {
		return nil, err
	}
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{
		PageSize: eventsShown, PageToken: get("events"), Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC,
		Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, StartsFrom: timestamppb.New(r.session.Clock.earliest()),
	})
	if err != nil {
		return nil, err
	}
	for _, e := range append(res.GetEvents(), chosen) {
		listed := slices.ContainsFunc(page.Events, func(o option) bool { return o.Value == e.GetId() })
		if e.GetId() != b.GetEventId() && e.GetAppointmentTypeId() == "" && !listed {
			page.Events = append(page.Events, option{e.GetId(), e.GetTitle()})
		}
	}
	slices.SortStableFunc(page.Events, func(x, y option) int { return strings.Compare(strings.ToLower(x.Text), strings.ToLower(y.Text)) })
	page.Events = slices.Insert(page.Events, 0, option{b.GetEventId(), b.GetEventTitle()})
	page.Form.values.Set("event", chosen.GetId())
	page.MoreEvents = page.next("events", res.GetNextPageToken())
	return chosen, nil
}

// movableTo returns the chosen event. If the booking cannot be moved to it, movableTo adds an error to the form and
// returns the event of the booking.
func (r *request) movableTo(f *form, b *bookingv1.Booking, chosen string) (*bookingv1.Event, error) {
	if chosen != "" && chosen != b.GetEventId() {
		res, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: chosen})
		e := res.GetEvent()
		if err == nil && e.GetAppointmentTypeId() == "" && e.GetStatus() == bookingv1.EventStatus_EVENT_STATUS_PUBLISHED {
			return e, nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		f.add("event", msg("changes.move.no_event"))
	}
	res, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: b.GetEventId()})
	return res.GetEvent(), err
}

// moveDates are dates to which a booking can be moved.
type moveDates struct {
	// upcoming are in the order of their starts; started have the latest one first.
	upcoming, started []slot
	// next is the token of the next page.
	next string
	// cut says that more dates have started than are listed.
	cut bool
}

// add adds dates, which are in the order of their starts.
func (d *moveDates) add(dates []*bookingv1.ScheduledDate, c clock) {
	for _, date := range dates {
		s := slot{ScheduledDate: date, clock: c}
		if s.Started() {
			d.started = slices.Insert(d.started, 0, s)
		} else {
			d.upcoming = append(d.upcoming, s)
		}
	}
}

// find returns a listed date.
func (d *moveDates) find(id string) (slot, bool) {
	for _, list := range [][]slot{d.upcoming, d.started} {
		if i := slices.IndexFunc(list, func(s slot) bool { return s.GetDate().GetId() == id }); i >= 0 {
			return list[i], true
		}
	}
	return slot{}, false
}

// first returns the first upcoming date with a space left. If there is none, it returns the first upcoming date,
// and otherwise the one that started last; "" without dates.
func (d *moveDates) first() string {
	all := slices.Concat(d.upcoming, d.started)
	for _, s := range all {
		if s.Bookable() && !s.Full() {
			return s.GetDate().GetId()
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].GetDate().GetId()
}

// movableDates reads a page of the dates of an event. Without a token, it starts with the day; if the day is zero,
// with the dates to come, and adds dates that have started.
func (r *request) movableDates(event string, day time.Time, token string) (d moveDates, err error) {
	c := r.session.Clock
	list := &bookingv1.ListEventDatesRequest{
		EventId: event, StartsFrom: timestamppb.New(c.now), PageSize: datesShown, PageToken: token, Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED,
	}
	if !day.IsZero() {
		list.StartsFrom = timestamppb.New(later(day, c.earliest()))
	}
	res, err := r.services.events.ListEventDates(r.ctx, list)
	if err != nil {
		return d, err
	}
	d.add(res.GetDates(), c)
	if d.next = res.GetNextPageToken(); token == "" && day.IsZero() {
		err = r.addStarted(&d, list)
	}
	return d, err
}

// addStarted adds the dates that have started and can still be booked. If they are too many, it adds those of
// yesterday and today.
func (r *request) addStarted(d *moveDates, list *bookingv1.ListEventDatesRequest) error {
	c := r.session.Clock
	list.StartsBefore, list.PageSize = list.GetStartsFrom(), startedShown
	for _, from := range []time.Time{c.earliest(), r.midnight(c.now, -1)} {
		list.StartsFrom = timestamppb.New(from)
		res, err := r.services.events.ListEventDates(r.ctx, list)
		if err != nil {
			return err
		}
		if res.GetNextPageToken() == "" || d.cut {
			d.add(res.GetDates(), c)
			return nil
		}
		d.cut = true
	}
	return nil
}

// addChosen adds a chosen date of the event that another page of the list has. A date that cannot be chosen is an
// error of the form. One of another event is not if the event was chosen too: the person has changed the event.
func (r *request) addChosen(page *bookingMovePage, d *moveDates, date, event string) error {
	if _, listed := d.find(date); listed || date == "" {
		return nil
	}
	res, err := r.services.events.GetEventDate(r.ctx, &bookingv1.GetEventDateRequest{Id: date})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	s := slot{ScheduledDate: res.GetDate(), clock: r.session.Clock}
	switch other := s.GetEventId() != page.Form.Get("event"); {
	case err == nil && other && event != "":
	case err == nil && !other && s.Bookable():
		d.upcoming = slices.Insert(d.upcoming, 0, s)
	case err == nil && !other && s.Late():
		d.started = slices.Insert(d.started, 0, s)
	default:
		page.Form.add("date", msg("changes.move.no_date"))
	}
	return nil
}

// chooseDate reads the dates of the chosen event, and selects one.
func (r *request) chooseDate(page *bookingMovePage, get func(name string) string) error {
	b, event := page.Registration.GetBooking(), page.Form.Get("event")
	day, err := dayOf(get("from"), r.session.Clock.Zone)
	if err != nil {
		day = time.Time{}
		page.Form.values.Del("from")
		if get("from") != "" {
			page.Form.add("from", msg("changes.move.no_day"))
		}
	}
	d, err := r.movableDates(event, day, get("later"))
	if err != nil {
		return err
	}
	present := ""
	if event == b.GetEventId() {
		present = b.GetEventDateId()
		page.Present = []option{{present, r.text("changes.move.present_date", "time", r.session.Clock.Time(b.GetStartsAt()))}}
	}
	if chosen := get("date"); chosen != present {
		if err := r.addChosen(page, &d, chosen, get("event")); err != nil {
			return err
		}
	}
	page.Upcoming, page.Past = r.dateOptions(d.upcoming, present), r.dateOptions(d.started, present)
	page.Form.values.Set("date", chosenOption(slices.Concat(page.Present, page.Upcoming, page.Past), get("date"), cmp.Or(present, d.first())))
	page.Later, page.Cut = page.next("later", d.next), d.cut
	page.Started = r.session.Clock.Past(b.GetStartsAt())
	if s, listed := d.find(page.Form.Get("date")); listed && page.Form.Get("date") != present {
		page.When, page.Started = r.when(s), page.Started || s.Started()
	}
	return nil
}

// dateOptions returns dates as choices, without the present one.
func (r *request) dateOptions(dates []slot, present string) (options []option) {
	for _, s := range dates {
		if id := s.GetDate().GetId(); id != present {
			options = append(options, option{id, r.session.Clock.Time(s.GetDate().GetStartsAt()) + ", " + r.text(s.Fullness().Text())})
		}
	}
	return options
}

// choosePrice selects a price of the chosen event. The present one can be kept although it is no longer sold.
func (r *request) choosePrice(page *bookingMovePage, event *bookingv1.Event, chosen string) {
	b := page.Registration.GetBooking()
	present := b.GetPricingOptionId()
	for _, o := range event.GetPricingOptions() {
		if !o.GetWholeCourse() || o.GetId() == present {
			page.Options = append(page.Options, option{o.GetId(), o.GetName() + ": " + r.text(optionPrice(o))})
		}
	}
	if event.GetId() == b.GetEventId() && chosenOption(page.Options, present, "") != present {
		page.Options = slices.Insert(page.Options, 0, option{present, r.text("changes.move.present_option")})
	}
	page.Form.values.Set("option", chosenOption(page.Options, chosen, present))
}
