package admin

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// kinds are the kinds of offerings.
var kinds = []struct {
	kind bookingv1.EventType
	name string
}{
	{bookingv1.EventType_EVENT_TYPE_CLASS, "class"}, {bookingv1.EventType_EVENT_TYPE_EVENT, "event"},
	{bookingv1.EventType_EVENT_TYPE_WORKSHOP, "workshop"}, {bookingv1.EventType_EVENT_TYPE_COURSE, "course"},
	{bookingv1.EventType_EVENT_TYPE_APPOINTMENT, "appointment"},
}

func kindName(k bookingv1.EventType) string {
	for _, other := range kinds {
		if other.kind == k {
			return other.name
		}
	}
	return "event"
}

// eventView is an event as a page shows it.
type eventView struct{ *bookingv1.Event }

// Kind is what kind of offering it is.
func (e eventView) Kind() string { return kindName(e.GetType()) }

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

// Policy says until when cancelling is free.
func (e eventView) Policy() string {
	if e.FreeCancellationMinutes == nil {
		return "Cancelling is free until the start. After that, what was paid is kept."
	}
	return "Cancelling is free until " + duration(e.GetFreeCancellationMinutes()) + " before the start. After that, what was paid is kept."
}

// eventsPage is the list of events.
type eventsPage struct {
	Events []eventView
	Total  int64
	Next   string
	Status string
	States []option
}

func (eventsPage) head() (string, string) { return "Events", "events" }

var eventStates = map[string]bookingv1.EventStatus{
	"published": bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, "draft": bookingv1.EventStatus_EVENT_STATUS_DRAFT,
	"cancelled": bookingv1.EventStatus_EVENT_STATUS_CANCELLED,
}

func (r *request) events() error {
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{
		PageSize: 50, PageToken: r.query("page"), Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC, Status: eventStates[r.query("status")],
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

func (p eventPage) head() (string, string) { return p.Event.GetTitle(), "events" }

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

// registrationView is a booking as those see it who run the event.
type registrationView struct {
	*bookingv1.Registration
}

// Guest is whom the place is for.
func (r registrationView) Guest() *bookingv1.CustomerReference {
	if c := r.GetBooking().GetBoughtFor(); c != nil {
		return c
	}
	return r.GetPurchaser()
}

// Paid says how much was paid and how.
func (r registrationView) Paid() string { return paid(r.GetBooking()) }

// Here tells that the guest is checked in, Absent that they did not come.
func (r registrationView) Here() bool {
	return r.GetBooking().GetAttendance() == bookingv1.Attendance_ATTENDANCE_CHECKED_IN
}

// Absent tells that the guest did not come.
func (r registrationView) Absent() bool {
	return r.GetBooking().GetAttendance() == bookingv1.Attendance_ATTENDANCE_NO_SHOW
}

func paid(b *bookingv1.Booking) string {
	if p := b.GetPass(); p != nil {
		return plural(p.GetCreditsUsed(), "credit", "credits")
	}
	text := money(b.GetCard().GetGross(), b.GetCard().GetCurrency())
	if code := b.GetCard().GetDiscountCode(); code != "" {
		text += " with " + code
	}
	return text
}

// entryView is somebody on the waitlist.
type entryView struct {
	*bookingv1.WaitlistEntry
	Customer *customerv1.Customer
}

// Name is who waits.
func (e entryView) Name() string {
	if e.Customer == nil {
		return e.GetCustomerId()
	}
	return fullName(e.Customer)
}

// Offered tells that places are held for the customer.
func (e entryView) Offered() bool {
	return e.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
}

// PassedOver says why others were served before.
func (e entryView) PassedOver() string {
	switch e.GetPassedOverReason() {
	case "":
		return ""
	case "NOT_ENOUGH_PLACES":
		return "Passed over: fewer places were free than wanted."
	case "PASS_UNAVAILABLE":
		return "Passed over: the pass could not be asked. It is tried again."
	}
	return "Passed over: " + sentences[e.GetPassedOverReason()]
}

// eventDatePage is a date with who comes and who waits.
type eventDatePage struct {
	Event         eventView
	Slot          slot
	Registrations []registrationView
	Total         int64
	Next          string
	Waitlist      []entryView
	Waiting       int64
	Cancelled     bool // shows the cancelled ones
	Self          string
	CheckedIn     int
}

func (p eventDatePage) head() (string, string) { return p.Event.GetTitle(), "events" }

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

func (r *request) eventDate() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	page := eventDatePage{Event: e, Slot: s, Cancelled: r.query("show") == "cancelled", Self: r.http.URL.RequestURI()}
	regs, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		EventId: e.GetId(), EventDateId: s.GetDate().GetId(), PageSize: 100, PageToken: r.query("page"), Cancelled: &page.Cancelled,
	})
	if err != nil {
		return err
	}
	page.Total, page.Next = regs.GetTotal(), r.with("page", regs.GetNextPageToken())
	for _, booked := range regs.GetRegistrations() {
		view := registrationView{booked}
		if view.Here() {
			page.CheckedIn++
		}
		page.Registrations = append(page.Registrations, view)
	}
	if page.Waitlist, page.Waiting, err = r.waitlist(s.GetDate().GetId()); err != nil {
		return err
	}
	return r.render("event-date", page)
}

// waitlist returns who waits for a date, with names.
func (r *request) waitlist(date string) ([]entryView, int64, error) {
	res, err := r.services.waitlist.ListWaitlist(r.ctx, &bookingv1.ListWaitlistRequest{EventDateId: date, PageSize: 100})
	if err != nil || len(res.GetEntries()) == 0 {
		return nil, 0, err
	}
	var ids []string
	for _, e := range res.GetEntries() {
		ids = append(ids, e.GetCustomerId())
	}
	names, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: ids, IncludeDeleted: true})
	if err != nil {
		return nil, 0, err
	}
	byID := map[string]*customerv1.Customer{}
	for _, c := range names.GetCustomers() {
		byID[c.GetId()] = c
	}
	var views []entryView
	for _, e := range res.GetEntries() {
		views = append(views, entryView{e, byID[e.GetCustomerId()]})
	}
	return views, res.GetTotal(), nil
}

// eventFormPage makes an event.
type eventFormPage struct {
	Form  *form
	Kinds []option
	When  scheduleFields
}

func (eventFormPage) head() (string, string) { return "Add Event", "events" }

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
		Title: f.required("title", "A title"), Description: f.text("description"), Location: f.text("location"), Type: kindOf(f.text("type")),
	}
	if f.Get("draft") != "" {
		req.Status = bookingv1.EventStatus_EVENT_STATUS_DRAFT
	}
	date, rule := f.schedule(r.session.Clock.Zone)
	req.Dates, req.Recurrence = []*bookingv1.NewEventDate{date}, rule
	req.FreeCancellationMinutes = f.policy()
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
var eventNames = map[string]string{
	"starts_at": "start", "local_start": "start", "duration_minutes": "duration", "rule": "every", "dates": "start",
	"tax_rate_basis_points": "tax", "free_cancellation_minutes": "policy", "pricing_options": "price",
}

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
