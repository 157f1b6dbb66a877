package admin

import (
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// bookingMovePage moves a booking: its address has the choices, and the page shows their effect before the move.
type bookingMovePage struct {
	Registration registrationView
	Form         *form
	// Events, Dates and Options are the choices.
	Events, Dates, Options []option
	// When says when the chosen date is.
	When string
	// Started says that the booking leaves, or gets, a date that has started.
	Started bool
	// Outcome is the effect of the move; nil if the booking already is as chosen, or cannot be moved.
	Outcome *bookingv1.MoveOutcome
	// Refused says why the booking cannot be moved in this way; nil if it can.
	Refused *message
	Methods []grant
}

func (bookingMovePage) head() (*message, string) { return msg("changes.move.title"), "events" }

// Path is the path of the booking.
func (p bookingMovePage) Path() string { return bookingPath(p.Registration.GetBooking().GetId()) }

// bookingPath returns the path of a booking's page.
func bookingPath(id string) string { return "/bookings/" + id }

// Kept are the choices that the form of the move sends.
func (p bookingMovePage) Kept() map[string]string {
	kept := map[string]string{}
	for _, name := range moveChoices {
		kept[name] = p.Form.Get(name)
	}
	return kept
}

// moveChoices are the choices that the address of the page has.
var moveChoices = []string{"event", "date", "option", "spaces", "keep", "waive"}

// registration returns the booking in the path.
func (r *request) registration() (registrationView, error) {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return registrationView{}, err
	}
	if res.GetRegistration().GetBooking().GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		return registrationView{}, fault.Missing("booking") // an appointment has pages of its own
	}
	return registrationView{res.GetRegistration()}, nil
}

// bookingMove returns the page for the choices that get returns.
func (r *request) bookingMove(get func(name string) string) (bookingMovePage, error) {
	reg, err := r.registration()
	if err != nil {
		return bookingMovePage{}, err
	}
	b := reg.GetBooking()
	page := bookingMovePage{Registration: reg, Form: newForm("method", "card", "spaces", cmp.Or(get("spaces"), strconv.Itoa(int(b.GetSpaces()))))}
	for _, name := range []string{"keep", "waive", "reason"} {
		page.Form.values.Set(name, get(name))
	}
	page.Form.setVersion(reg.GetVersion())
	page.Methods = methodsOf(money.SubscriptionMethods())
	if err := r.chooseEvent(&page, get("event")); err != nil {
		return page, err
	}
	if err := r.chooseDate(&page, get); err != nil {
		return page, err
	}
	return page, nil
}

// eventsShown is the number of events to which a booking can be moved with the page.
const eventsShown = 100

// chooseEvent reads the published events with dates, newest first, and selects one.
func (r *request) chooseEvent(page *bookingMovePage, chosen string) error {
	b := page.Registration.GetBooking()
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{
		PageSize: eventsShown, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC, Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
		StartsFrom: timestamppb.New(r.now().AddDate(0, 0, -lateDays)),
	})
	if err != nil {
		return err
	}
	page.Events = []option{{b.GetEventId(), b.GetEventTitle()}}
	for _, e := range res.GetEvents() {
		if e.GetId() != b.GetEventId() && e.GetAppointmentTypeId() == "" {
			page.Events = append(page.Events, option{e.GetId(), e.GetTitle()})
		}
	}
	page.Form.values.Set("event", chosenOption(page.Events, chosen, b.GetEventId()))
	return nil
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

// datesShown is the number of dates from which the page lets choose.
const datesShown = 100

// chooseDate reads the dates and prices of the chosen event, and selects one of each.
func (r *request) chooseDate(page *bookingMovePage, get func(name string) string) error {
	b := page.Registration.GetBooking()
	eventID := page.Form.Get("event")
	res, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: eventID})
	if err != nil {
		return err
	}
	dates, err := r.services.events.ListEventDates(r.ctx, &bookingv1.ListEventDatesRequest{
		EventId: eventID, PageSize: datesShown, StartsFrom: timestamppb.New(r.now().AddDate(0, 0, -lateDays)),
		Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED,
	})
	if err != nil {
		return err
	}
	all := page.datesOf(r, eventID, dates.GetDates())
	page.Form.values.Set("date", chosenOption(page.Dates, get("date"), cmp.Or(page.upcoming(all), b.GetEventDateId())))
	for _, o := range res.GetEvent().GetPricingOptions() {
		if !o.GetWholeCourse() || o.GetId() == b.GetPricingOptionId() {
			page.Options = append(page.Options, option{o.GetId(), o.GetName() + ": " + r.text(optionPrice(o))})
		}
	}
	if eventID == b.GetEventId() && chosenOption(page.Options, b.GetPricingOptionId(), "") != b.GetPricingOptionId() {
		page.Options = slices.Insert(page.Options, 0, option{b.GetPricingOptionId(), r.text("changes.move.present_price")})
	}
	page.Form.values.Set("option", chosenOption(page.Options, get("option"), b.GetPricingOptionId()))
	for _, s := range all {
		if s.GetDate().GetId() == page.Form.Get("date") {
			page.When, page.Started = r.when(s), s.Started()
		}
	}
	page.Started = page.Started || r.session.Clock.Past(b.GetStartsAt())
	return nil
}

// datesOf sets the choices of dates, with the present one.
func (p *bookingMovePage) datesOf(r *request, eventID string, dates []*bookingv1.ScheduledDate) []slot {
	b := p.Registration.GetBooking()
	all := views(dates, func(d *bookingv1.ScheduledDate) slot { return slot{ScheduledDate: d, clock: r.session.Clock} })
	present := func(s slot) bool { return s.GetDate().GetId() == b.GetEventDateId() }
	if eventID == b.GetEventId() && !slices.ContainsFunc(all, present) {
		p.Dates = append(p.Dates, option{b.GetEventDateId(), r.session.Clock.Time(b.GetStartsAt())})
	}
	for _, s := range all {
		p.Dates = append(p.Dates, option{s.GetDate().GetId(), r.session.Clock.Time(s.GetDate().GetStartsAt()) + ", " + r.text(s.Fullness().Text())})
	}
	return all
}

// upcoming returns the first date that can be booked and is not the present one; "" if there is none.
func (p *bookingMovePage) upcoming(all []slot) string {
	for _, s := range all {
		if s.Bookable() && !s.Full() && s.GetDate().GetId() != p.Registration.GetBooking().GetEventDateId() {
			return s.GetDate().GetId()
		}
	}
	return ""
}

// preview asks for the effect of the choices.
func (r *request) preview(page *bookingMovePage) error {
	f := page.Form
	res, err := r.services.changes.PreviewMove(r.ctx, &bookingv1.PreviewMoveRequest{
		BookingId: r.path("id"), EventDateId: f.text("date"), PricingOptionId: f.text("option"), Spaces: f.spaces(),
		KeepPrice: f.text("keep") != "", WaivePolicy: f.text("waive") != "", AfterStart: page.Started,
	})
	if err != nil {
		if e := fault.From(err); isRefusal(e) {
			page.Refused = sentence(e)
			return nil
		}
		return err
	}
	if res.GetUnchanged() {
		page.Refused = msg("changes.move.unchanged")
		return nil
	}
	page.Outcome = res.GetOutcome()
	return nil
}

// spaces returns the number of spaces of the form.
func (f *form) spaces() int32 { return f.count("spaces", msg("desk.field.spaces"), 1, 1000) }

func (r *request) moveBookingForm() error {
	page, err := r.bookingMove(r.query)
	if err != nil {
		return err
	}
	if page.Registration.GetBooking().GetIsCancelled() {
		return r.sayFailed(page.Path(), r.text(reason("ALREADY_CANCELLED")))
	}
	if page.Form.spaces(); page.Form.Failed() {
		return r.notAccepted("move-booking", page)
	}
	if err := r.preview(&page); err != nil {
		return err
	}
	return r.render("move-booking", page)
}

// moveBookingNames are the form's names of the service's fields.
var moveBookingNames = map[string]string{
	"event_date_id": "date", "pricing_option_id": "option", "payment_method": "method", "payment_reference": "reference", "after_start_reason": "reason",
}

func (r *request) moveBooking() error {
	page, err := r.bookingMove(r.value)
	if err != nil {
		return err
	}
	f, b := r.sent(moveBookingNames), page.Registration.GetBooking()
	for name, values := range page.Form.values {
		if !f.values.Has(name) || slices.Contains([]string{"event", "date", "option"}, name) {
			f.values[name] = values
		}
	}
	page.Form = f
	if page.Started {
		f.required("reason", msg("desk.field.reason"))
	}
	method, _ := enum.Parse[bookingv1.PaymentMethod](f.text("method"))
	due, _ := strconv.ParseInt(f.text("due"), 10, 64)
	req := &bookingv1.MoveBookingRequest{
		BookingId: b.GetId(), EventDateId: r.value("date"), PricingOptionId: r.value("option"), Spaces: f.spaces(),
		ExpectedAmountDue: &due, KeepPrice: f.text("keep") != "", WaivePolicy: f.text("waive") != "",
		AfterStartReason: f.text("reason"), ExpectedVersion: f.expectedVersion(page.Registration.GetVersion()),
	}
	if due > 0 {
		req.PaymentMethod, req.PaymentReference = method, f.text("reference")
	}
	res, err := submit(r, f, r.services.changes.MoveBooking, req)
	if err != nil {
		if f.Failed() {
			err = cmp.Or(r.preview(&page), err)
		}
		return r.again(err, "move-booking", page)
	}
	return r.moved(page.Registration, res)
}

// moved records a move, and says what is due after it.
func (r *request) moved(before registrationView, res *bookingv1.MoveBookingResponse) error {
	path := bookingPath(before.GetBooking().GetId())
	if !res.GetChanged() {
		r.unchanged()
		return r.back(path, r.text("changes.move.unchanged"))
	}
	o := res.GetOutcome()
	r.recordMove(before, registrationView{res.GetRegistration()})
	said := r.text("changes.move.done", "event", res.GetRegistration().GetBooking().GetEventTitle(), "time", r.session.Clock.Time(res.GetRegistration().GetBooking().GetStartsAt()))
	if paid := o.GetAmountDue(); paid > 0 {
		said += " " + r.text("changes.move.paid", "amount", priceText(paid, o.GetCurrency()))
		r.detail("amount", "", priceText(paid, o.GetCurrency()))
	}
	if due := o.GetRefundDue(); due > 0 {
		said += " " + r.text("desk.outcome.refund_due", "amount", priceText(due, o.GetCurrency()))
	}
	return r.back(path, said)
}

// recordMove adds what a move or a swap changed to the audit entry.
func (r *request) recordMove(before, after registrationView) {
	was, is := before.GetBooking(), after.GetBooking()
	r.detail("customer", "", after.Guest().GetId())
	r.detail("event", was.GetEventTitle(), is.GetEventTitle())
	r.detail("starts_at", r.session.Clock.Time(was.GetStartsAt()), r.session.Clock.Time(is.GetStartsAt()))
	r.detail("spaces", strconv.Itoa(int(was.GetSpaces())), strconv.Itoa(int(is.GetSpaces())))
	r.detail("paid", r.text(paid(was)), r.text(paid(is)))
	if why := r.value("reason"); why != "" {
		r.detail("reason", "", why)
	}
}
