package admin

import (
	"cmp"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// eventView is an event as a page shows it.
type eventView struct{ *bookingv1.Event }

// Kind is what kind of offering it is.
func (e eventView) Kind() string { return cmp.Or(enum.Name(e.GetType()), "event") }

// StateName says whether it is on offer.
func (e eventView) StateName() string {
	switch e.GetStatus() {
	case bookingv1.EventStatus_EVENT_STATUS_DRAFT:
		return "Draft"
	case bookingv1.EventStatus_EVENT_STATUS_CANCELLED:
		return "Cancelled"
	}
	return "Published"
}

// eventsPage is the list of events.
type eventsPage struct {
	Events []eventView
	Total  int64
	Next   string
	Status string
	States []option
}

func (eventsPage) head() (*message, string) { return literal("Events"), "events" }

func (r *request) events() error {
	status, _ := enum.Parse[bookingv1.EventStatus](r.query("status"))
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{
		PageSize: 50, PageToken: r.query("page"), Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC, Status: status,
	})
	if err != nil {
		return err
	}
	page := eventsPage{Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken()), Status: r.query("status"),
		States: []option{{"", "All"}, {"published", "Published"}, {"draft", "Drafts"}, {"cancelled", "Cancelled"}}}
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
	if now := r.midnight(r.web.now(), 0); page.Past {
		req.StartsBefore = timestamppb.New(now)
	} else {
		req.StartsFrom = timestamppb.New(now)
	}
	res, err := r.services.events.ListEventDates(r.ctx, req)
	if err != nil {
		return err
	}
	for _, d := range res.GetDates() {
		page.Dates = append(page.Dates, slot{d, r.session.Clock})
	}
	page.Next = r.with("page", res.GetNextPageToken())
	return r.render("event", page)
}

// eventFormPage makes an event.
type eventFormPage struct {
	Form  *form
	Kinds []option
	When  scheduleFields
}

func (eventFormPage) head() (*message, string) { return literal("Add Event"), "events" }

func (r *request) eventForm(f *form) eventFormPage {
	return eventFormPage{Form: f, Kinds: kindOptions(), When: scheduleIn(r.session.Clock.Zone)}
}

func (r *request) newEvent() error {
	tomorrow := r.midnight(r.web.now(), 1)
	return r.render("event-new", r.eventForm(newForm("type", "class", "start", tomorrow.Add(9*time.Hour).Format(wallLayout),
		"duration", "60", "count", "10", "name", "Drop-in", "tax", "0")))
}

func (r *request) createEvent() error {
	f := r.sent(eventNames)
	req := &bookingv1.CreateEventRequest{
		Title: f.required("title", literal("a title")), Description: f.text("description"), Location: f.text("location"), Type: kindOf(f.text("type")),
	}
	if f.Get("draft") != "" {
		req.Status = bookingv1.EventStatus_EVENT_STATUS_DRAFT
	}
	date, rule := f.schedule(r.session.Clock.Zone)
	req.Dates, req.Recurrence = []*bookingv1.NewEventDate{date}, rule
	f.addPolicy(req)
	price := readPrice(f)
	req.PricingOptions = []*bookingv1.NewPricingOption{{
		Name: price.GetName(), Price: price.GetPrice(), Credits: price.Credits, TaxRateBasisPoints: price.GetTaxRateBasisPoints(),
	}}
	res, err := submit(r, f, unindexed(r.services.events.CreateEvent), req)
	if err != nil {
		return r.again(err, "event-new", r.eventForm(f))
	}
	e := res.GetEvent()
	r.target(e.GetId())
	r.detail("title", "", e.GetTitle())
	return r.back("/events/"+e.GetId(), "The event is added, with "+plural(len(e.GetDates()), "date", "dates")+"."+later(e.GetDates(), rule, r.session.Clock.Zone))
}

// eventNames are the form's names of the service's fields.
var eventNames = withPolicyFields(map[string]string{
	"starts_at": "start", "local_start": "start", "duration_minutes": "duration", "rule": "every", "dates": "start",
	"tax_rate_basis_points": "tax", "pricing_options": "price",
})

// publishEvent puts a draft on offer.
func (r *request) publishEvent() error {
	path := "/events/" + r.path("id")
	_, err := perform(r, r.services.events.UpdateEvent, &bookingv1.UpdateEventRequest{
		Id: r.path("id"), Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
	})
	if err != nil {
		return r.refused(path, err)
	}
	return r.back(path, "The event is published and can be booked.")
}

// kindOptions are the kinds of offerings.
func kindOptions() []option {
	return optionsOf(enum.Names[bookingv1.EventType](), upperFirst)
}

// kindOf returns the kind with the name; EVENT_TYPE_UNSPECIFIED: there is none.
func kindOf(name string) bookingv1.EventType {
	kind, _ := enum.Parse[bookingv1.EventType](name)
	return kind
}

// eventEditPage changes what an event says of itself.
type eventEditPage struct {
	Event eventView
	Form  *form
	Kinds []option
}

func (p eventEditPage) head() (*message, string) {
	return literal("Change " + p.Event.GetTitle()), "events"
}

func (r *request) editEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := newForm("title", e.GetTitle(), "description", e.GetDescription(), "type", e.Kind(), "location", e.GetLocation())
	f.see(e.GetVersion())
	f.setPolicy(e)
	return r.render("event-edit", eventEditPage{e, f, kindOptions()})
}

func (r *request) updateEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := r.sent(withPolicyFields(nil))
	title, description, location := f.required("title", literal("a title")), f.text("description"), f.text("location")
	req := &bookingv1.UpdateEventRequest{
		Id: e.GetId(), Title: &title, Description: &description, Location: &location, ExpectedVersion: f.seen(e.GetVersion()),
	}
	if e.StateName() != "Cancelled" { // what a cancelled event sells is changed no more
		req.Type = kindOf(f.text("type"))
		f.changePolicy(req)
	}
	res, err := submit(r, f, r.services.events.UpdateEvent, req)
	if err != nil {
		return r.again(err, "event-edit", eventEditPage{e, f, kindOptions()})
	}
	after := eventView{res.GetEvent()}
	r.detail("title", e.GetTitle(), title)
	r.detail("location", e.GetLocation(), location)
	r.detail("kind", e.Kind(), after.Kind())
	r.detail("policy", e.Policy(), after.Policy())
	return r.back("/events/"+e.GetId(), "The event is changed.")
}

// confirmEvent asks before an event is cancelled or deleted.
func (r *request) confirmEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	p, back := confirmPage{Danger: true}, "/events/"+e.GetId()
	var dates, places int32
	for _, d := range e.GetDates() {
		if d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED && d.GetStartsAt().AsTime().After(r.web.now()) {
			dates++
			places += d.GetBooked()
		}
	}
	switch r.path("action") {
	case "cancel":
		if e.StateName() == "Cancelled" {
			return r.back(back, "This event was cancelled before.")
		}
		p.Title, p.Button, p.Reason = "Cancel this event", "Cancel the event", true
		p.Effects = []string{
			"All its dates to come are cancelled: " + plural(dates, "date", "dates") + ", of which " + plural(places, "place is", "places are") + " taken.",
			"Credits go back to the passes, whatever the policy. What was paid by card is yours to give back; record it as refunded then.",
			"What has taken place stays as it is. A cancelled event cannot be brought back.",
		}
	case "delete":
		p.Title, p.Button = "Delete this event", "Delete for good"
		p.Effects = []string{"It is gone from every list, with its dates. Bookings of it keep its title.", "An event that is still booked is not deleted: cancel it first."}
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
		return r.back(path, "The event is cancelled, with "+plural(res.GetCancelledBookings(), "booking", "bookings")+".")
	case "delete":
		if _, err := perform(r, r.services.events.DeleteEvent, &bookingv1.DeleteEventRequest{Id: event}); err != nil {
			return r.refused(path, err)
		}
		return r.back("/events", "The event is deleted.")
	}
	return fault.Missing("page")
}
