package admin

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// eventView is an event as a page shows it.
type eventView struct{ *bookingv1.Event }

// Kind returns the name of the event's type, as the API has it: "class".
func (e eventView) Kind() string { return cmp.Or(enum.Name(e.GetType()), "event") }

// KindName returns the event's type as people call it.
func (e eventView) KindName() *message { return kindName(e.Kind()) }

// kindName returns an event type as people call it.
func kindName(kind string) *message { return msg("desk.kind." + kind).or(upperFirst(kind)) }

// Draft reports whether the event is not published yet.
func (e eventView) Draft() bool { return e.GetStatus() == bookingv1.EventStatus_EVENT_STATUS_DRAFT }

// Cancelled reports whether the event was cancelled.
func (e eventView) Cancelled() bool {
	return e.GetStatus() == bookingv1.EventStatus_EVENT_STATUS_CANCELLED
}

// OfAppointments reports whether the event has the appointments of an appointment type, which alone changes
// it.
func (e eventView) OfAppointments() bool { return e.GetAppointmentTypeId() != "" }

// State returns the event's status.
func (e eventView) State() stateTag {
	switch {
	case e.Draft():
		return stateTag{"", msg("desk.state.draft")}
	case e.Cancelled():
		return stateTag{"bad", msg("desk.state.cancelled")}
	}
	return stateTag{"good", msg("desk.state.published")}
}

// optionPrice says what a pricing option costs: "£12.50 or 2 credits".
func optionPrice(o *bookingv1.PricingOption) *message {
	price := priceOrCredits(o, 1)
	if o.GetWholeCourse() {
		return msg("desk.price.for_course", "price", price)
	}
	return price
}

// priceOrCredits says what a number of spaces costs at a pricing option.
func priceOrCredits(o *bookingv1.PricingOption, spaces int32) *message {
	price := priceOrFree(o.GetPrice()*int64(spaces), o.GetCurrency())
	if o.Credits == nil {
		return price
	}
	return msg("desk.price.or_credits", "price", price, "credits", creditsText(o.GetCredits()*spaces))
}

// priceOrFree prints a price: "£12.50", or "free" if it is zero.
func priceOrFree(minor int64, currency string) *message {
	if minor == 0 {
		return msg("desk.price.free")
	}
	return priceText(minor, currency)
}

// eventsPage is the list of events.
type eventsPage struct {
	Events []eventView
	Total  int64
	Next   string
	Status string
	States []option
}

func (eventsPage) head() (*message, string) { return msg("desk.events.title"), "events" }

func (r *request) events() error {
	status, _ := enum.Parse[bookingv1.EventStatus](r.query("status"))
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{
		PageSize: 50, PageToken: r.query("page"), Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC, Status: status,
	})
	if err != nil {
		return err
	}
	page := eventsPage{Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken()), Status: r.query("status"),
		States: []option{
			{"", r.text("desk.events.all")}, {"published", r.text("desk.state.published")}, {"draft", r.text("desk.events.drafts")},
			{"cancelled", r.text("desk.state.cancelled")},
		}}
	for _, e := range res.GetEvents() {
		page.Events = append(page.Events, eventView{e})
	}
	return r.render("events", page)
}

// eventPage is an event with its dates.
type eventPage struct {
	Event eventView
	Dates []slot
	Past  bool
	Next  string
	// Teachers and Rooms are the names of who teaches new dates, and where.
	Teachers, Rooms string
}

func (p eventPage) head() (*message, string) { return literal(p.Event.GetTitle()), "events" }

func (r *request) findEvent() (eventView, error) {
	res, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: r.path("id")})
	return eventView{res.GetEvent()}, err
}

func (r *request) event() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	page := eventPage{Event: e, Past: r.query("dates") == "past"}
	req := &bookingv1.ListEventDatesRequest{EventId: e.GetId(), PageSize: 20, PageToken: r.query("page")}
	if now := r.midnight(r.now(), 0); page.Past {
		req.StartsBefore = timestamppb.New(now)
	} else {
		req.StartsFrom = timestamppb.New(now)
	}
	res, err := r.services.events.ListEventDates(r.ctx, req)
	if err != nil {
		return err
	}
	for _, d := range res.GetDates() {
		page.Dates = append(page.Dates, slot{ScheduledDate: d, clock: r.session.Clock})
	}
	page.Next = r.with("page", res.GetNextPageToken())
	if page.Teachers, page.Rooms, err = r.assignedNames(e.GetStaffAndRooms()); err != nil {
		return err
	}
	return r.render("event", page)
}

// eventFormPage adds an event.
type eventFormPage struct {
	Form  *form
	Kinds []option
	When  scheduleFields
}

func (eventFormPage) head() (*message, string) { return msg("desk.event.add"), "events" }

func (r *request) eventForm(f *form) eventFormPage {
	return eventFormPage{Form: f, Kinds: r.newKindOptions(), When: r.scheduleIn(r.session.Clock.Zone)}
}

// tomorrowAtNine returns the start that a new date has in its form: 9:00 on the next day in a zone, also if the clocks
// change on it.
func (r *request) tomorrowAtNine(zone *time.Location) string {
	return r.now().In(zone).AddDate(0, 0, 1).Format(time.DateOnly) + "T09:00"
}

func (r *request) newEvent() error {
	return r.render("event-new", r.eventForm(newForm("type", "class", "start", r.tomorrowAtNine(r.session.Clock.Zone),
		"duration", "60", "count", "10", "name", r.text("desk.price.default_name"), "tax", "0")))
}

func (r *request) createEvent() error {
	f := r.sent(eventNames)
	req := &bookingv1.CreateEventRequest{
		Title: f.required("title", msg("desk.field.title")), Description: f.text("description"), Location: f.text("location"), Type: kindOf(f.text("type")),
	}
	if f.Get("draft") != "" {
		req.Status = bookingv1.EventStatus_EVENT_STATUS_DRAFT
	}
	date, rule := f.schedule(r.session.Clock.Zone)
	req.Dates, req.Recurrence = []*bookingv1.NewEventDate{date}, rule
	f.addPolicy(req)
	req.BookingRules = f.bookingRules(nil, r.session.Clock.Zone)
	price := readPrice(f)
	req.PricingOptions = []*bookingv1.NewPricingOption{{
		Name: price.GetName(), Price: price.GetPrice(), Credits: price.Credits, TaxRateBasisPoints: price.GetTaxRateBasisPoints(),
		WholeCourse: f.Get("whole") != "" && req.GetType() == bookingv1.EventType_EVENT_TYPE_COURSE,
	}}
	res, err := submit(r, f, unindexed(r.services.events.CreateEvent), req)
	if err != nil {
		return r.again(err, "event-new", r.eventForm(f))
	}
	e := res.GetEvent()
	r.target(e.GetId())
	r.detail("title", "", e.GetTitle())
	return r.back("/events/"+e.GetId(), r.text("desk.event.added", "dates", datesText(len(e.GetDates())))+r.shifted(e.GetDates(), rule, r.session.Clock.Zone))
}

// eventNames are the form's names of the service's fields.
var eventNames = withRuleFields(withPolicyFields(map[string]string{
	"starts_at": "start", "local_start": "start", "duration_minutes": "duration", "rule": "every", "dates": "start",
	"tax_rate_basis_points": "tax", "pricing_options": "price",
}))

// publishEvent makes a draft bookable.
func (r *request) publishEvent() error {
	path := "/events/" + r.path("id")
	_, err := perform(r, r.services.events.UpdateEvent, &bookingv1.UpdateEventRequest{
		Id: r.path("id"), Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
	})
	if err != nil {
		return r.refused(path, err)
	}
	return r.back(path, r.text("desk.event.published"))
}

// datesText says a number of dates: "3 dates".
func datesText(n int) *message { return msg("desk.count.dates", "count", n) }

// kindOptions are the choices of an event's type.
func (r *request) kindOptions() []option {
	return optionsOf(enum.Names[bookingv1.EventType](), func(kind string) string { return r.text(kindName(kind)) })
}

// newKindOptions are the choices of the type of a new event. Appointments have appointment types instead.
func (r *request) newKindOptions() []option {
	return slices.DeleteFunc(r.kindOptions(), func(o option) bool { return o.Value == appointmentKind })
}

// kindOf returns the event type with a name; EVENT_TYPE_UNSPECIFIED if there is none.
func kindOf(name string) bookingv1.EventType {
	kind, _ := enum.Parse[bookingv1.EventType](name)
	return kind
}

// eventEditPage changes the details of an event.
type eventEditPage struct {
	Event eventView
	Form  *form
	Kinds []option
	Zone  string // of the times
}

func (p eventEditPage) head() (*message, string) {
	return msg("desk.event.edit_title", "event", p.Event.GetTitle()), "events"
}

func (r *request) eventEdit(e eventView, f *form) eventEditPage {
	return eventEditPage{Event: e, Form: f, Kinds: r.kindOptions(), Zone: clock{Zone: r.zoneOf(e)}.Name()}
}

func (r *request) editEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := newForm("title", e.GetTitle(), "description", e.GetDescription(), "type", e.Kind(), "location", e.GetLocation())
	f.setVersion(e.GetVersion())
	f.setPolicy(r.locale, e)
	f.setRules(r.locale, e.GetBookingRules(), r.zoneOf(e))
	return r.render("event-edit", r.eventEdit(e, f))
}

func (r *request) updateEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := r.sent(withRuleFields(withPolicyFields(nil)))
	title, description, location := f.required("title", msg("desk.field.title")), f.text("description"), f.text("location")
	req := &bookingv1.UpdateEventRequest{
		Id: e.GetId(), Title: &title, Description: &description, Location: &location, ExpectedVersion: f.expectedVersion(e.GetVersion()),
	}
	if !e.Cancelled() { // the service refuses to change what a cancelled event sells
		req.Type = kindOf(f.text("type"))
		f.changePolicy(req)
		req.BookingRules = f.bookingRules(e.GetBookingRules(), r.zoneOf(e))
	}
	res, err := submit(r, f, r.services.events.UpdateEvent, req)
	if err != nil {
		return r.again(err, "event-edit", r.eventEdit(e, f))
	}
	after := eventView{res.GetEvent()}
	r.detail("title", e.GetTitle(), title)
	r.detail("location", e.GetLocation(), location)
	r.detail("kind", e.Kind(), after.Kind())
	r.detail("policy", r.logTexts().text(e.Policy()), r.logTexts().text(after.Policy()))
	r.detail("rules", r.rulesText(e), r.rulesText(after))
	return r.back("/events/"+e.GetId(), r.text("desk.event.changed"))
}

// confirmEvent shows what cancelling or deleting an event does, before it is done.
func (r *request) confirmEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	p, back := confirmPage{Danger: true}, "/events/"+e.GetId()
	var dates, booked int32
	for _, d := range e.GetDates() {
		if d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED && d.GetStartsAt().AsTime().After(r.now()) {
			dates++
			booked += d.GetBooked()
		}
	}
	switch r.path("action") {
	case "cancel":
		if e.Cancelled() {
			return r.back(back, r.text("desk.event.already_cancelled"))
		}
		p.Title, p.Button, p.Reason = r.text("desk.event.cancel_title"), r.text("desk.event.cancel_button"), true
		p.Effects = []string{
			r.text("desk.event.cancel_dates", "dates", datesText(int(dates)), "spaces", spacesText(booked)),
			r.text("desk.date.cancel_refunds"),
			r.text("desk.event.cancel_final"),
		}
	case "delete":
		p.Title, p.Button = r.text("desk.event.delete_title"), r.text("desk.event.delete_button")
		p.Effects = []string{r.text("desk.event.delete_lists"), r.text("desk.event.delete_booked")}
	default:
		return fault.Missing("page")
	}
	return r.confirm(p, "events", e.GetTitle(), back)
}

func (r *request) changeEvent() error {
	event := r.path("id")
	path := "/events/" + event
	switch r.path("action") {
	case "cancel":
		res, err := perform(r, r.services.events.CancelEvent, &bookingv1.CancelEventRequest{Id: event, Reason: r.value("reason")})
		if err != nil {
			return r.refused(path, err)
		}
		r.detail("reason", "", r.value("reason"))
		return r.back(path, r.text("desk.event.cancelled", "bookings", bookingsText(res.GetCancelledBookings())))
	case "delete":
		if _, err := perform(r, r.services.events.DeleteEvent, &bookingv1.DeleteEventRequest{Id: event}); err != nil {
			return r.refused(path, err)
		}
		return r.back("/events", r.text("desk.event.deleted"))
	}
	return fault.Missing("page")
}
