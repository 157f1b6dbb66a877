package admin

import (
	"cmp"
	"strconv"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// bookingMovePage moves a booking. Its address has the choices, and the page shows their effect. The booking is
// moved only with the choices whose effect was shown.
type bookingMovePage struct {
	Registration registrationView
	Form         *form
	// Events and Options are choices. MoreEvents is the address of the page with more events; "" if there are none.
	Events, Options []option
	MoreEvents      string
	// Present, Upcoming and Past are the choices of dates. Later is the address of the page with later dates.
	Present, Upcoming, Past []option
	Later                   string
	// Cut says that the page does not list all dates that have started.
	Cut bool
	// When says when the chosen date is; "" for the present one.
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

// EventTitle is the title of the chosen event.
func (p bookingMovePage) EventTitle() string {
	for _, o := range p.Events {
		if o.Value == p.Form.Get("event") {
			return o.Text
		}
	}
	return ""
}

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
	page := bookingMovePage{Registration: reg, Methods: methodsOf(money.SubscriptionMethods())}
	page.Form = newForm("method", cmp.Or(get("method"), "card"), "spaces", cmp.Or(get("spaces"), strconv.Itoa(int(reg.GetBooking().GetSpaces()))))
	for _, name := range []string{"keep", "waive", "from"} {
		page.Form.values.Set(name, get(name))
	}
	page.Form.setVersion(reg.GetVersion())
	event, err := r.chooseEvent(&page, get)
	if err != nil {
		return page, err
	}
	r.choosePrice(&page, event, get("option"))
	return page, r.chooseDate(&page, get)
}

// preview asks for the effect of the choices.
func (r *request) preview(page *bookingMovePage) error {
	f := page.Form
	if f.text("date") == "" {
		page.Refused = msg("changes.move.no_dates")
		return nil
	}
	res, err := r.services.changes.PreviewMove(r.ctx, &bookingv1.PreviewMoveRequest{
		BookingId: r.path("id"), EventDateId: f.text("date"), PricingOptionId: f.text("option"), Spaces: f.spaces(),
		KeepPrice: f.text("keep") != "", WaivePolicy: f.text("waive") != "", AfterStart: page.Started,
	})
	if err != nil {
		if e := fault.From(err); isRefusal(e) {
			page.Refused = moveSentence(e)
			return nil
		}
		return err
	}
	page.Outcome = res.GetOutcome()
	return nil
}

// reasonEventFull is the reason with which a date that has too few spaces left is refused.
const reasonEventFull = "EVENT_FULL"

// moveSentence says why a booking cannot be moved. It does not propose the waitlist, because the customer would then
// have two bookings.
func moveSentence(e *fault.Error) *message {
	if e.Reason == reasonEventFull {
		return msg("changes.move.full")
	}
	return sentence(e)
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

// moveBooking moves the booking if the form has the choices whose effect was shown. Otherwise it shows the effect of
// the choices, and the person confirms it.
func (r *request) moveBooking() error {
	switch r.value("do") {
	case "move":
	case "show":
		return r.to(moveAddressOf(r.http.URL.Path, r.value) + "#effect")
	default: // a choice has changed
		return r.to(moveAddressOf(r.http.URL.Path, r.value))
	}
	page, err := r.bookingMove(r.value)
	if err != nil {
		return err
	}
	page.Form = r.sentMove(page.Form)
	f := page.Form
	spaces := f.spaces()
	if seen := page.Seen(); seen != r.value("seen") && !f.Failed() {
		f.Summary = msg("changes.move.differs")
		f.setVersion(page.Registration.GetVersion())
	} else if page.Started {
		f.required("reason", msg("changes.reason.field"))
	}
	due, _ := strconv.ParseInt(f.text("due"), 10, 64)
	req := &bookingv1.MoveBookingRequest{
		BookingId: page.Registration.GetBooking().GetId(), EventDateId: f.text("date"), PricingOptionId: f.text("option"), Spaces: spaces,
		ExpectedAmountDue: &due, KeepPrice: f.text("keep") != "", WaivePolicy: f.text("waive") != "",
		AfterStartReason: f.text("reason"), ExpectedVersion: f.expectedVersion(page.Registration.GetVersion()),
	}
	if due > 0 {
		req.PaymentMethod, _ = enum.Parse[bookingv1.PaymentMethod](f.text("method"))
		req.PaymentReference = f.text("reference")
	}
	res, err := submit(r, f, r.services.changes.MoveBooking, req)
	if err != nil {
		if f.refused == reasonEventFull {
			f.Summary = msg("changes.move.full")
		}
		if f.Failed() && f.Error("spaces") == nil {
			err = cmp.Or(r.preview(&page), err)
		}
		return r.again(err, "move-booking", page)
	}
	return r.moved(page.Registration, req, res)
}

// sentMove returns the submitted form with the choices that the page offers.
func (r *request) sentMove(offered *form) *form {
	f := r.sent(moveBookingNames)
	for _, name := range []string{"event", "date", "option", "spaces", "method"} {
		f.values[name] = offered.values[name]
	}
	return f
}

// moved records a move, and says what is due after it. The form has the date that the booking left, because the
// booking already has the new date if the form is sent twice.
func (r *request) moved(before registrationView, req *bookingv1.MoveBookingRequest, res *bookingv1.MoveBookingResponse) error {
	path, now := bookingPath(before.GetBooking().GetId()), res.GetRegistration().GetBooking()
	if !res.GetChanged() {
		r.unchanged()
		return r.back(path, r.text("changes.move.unchanged"))
	}
	o := res.GetOutcome()
	r.recordMove(before, registrationView{res.GetRegistration()})
	r.detail("policy_waived", "", yes(req.GetWaivePolicy()))
	r.detail("price_kept", "", yes(req.GetKeepPrice()))
	said := r.text("changes.move.done", "event", now.GetEventTitle(), "time", r.session.Clock.Time(now.GetStartsAt()))
	if present := cmp.Or(r.value("present"), before.GetBooking().GetEventDateId()); present == now.GetEventDateId() {
		said = r.text("changes.move.changed", "spaces", spacesText(now.GetSpaces()), "paid", paid(now))
	}
	if paid := o.GetAmountDue(); paid > 0 {
		said += " " + r.text("changes.move.paid", "amount", priceText(paid, o.GetCurrency()))
		r.detail("amount", "", r.logTexts().price(paid, o.GetCurrency()))
		r.detail("method", "", enum.Name(req.GetPaymentMethod()))
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
	c := r.logClock()
	r.detail("starts_at", c.Time(was.GetStartsAt()), c.Time(is.GetStartsAt()))
	r.detail("spaces", strconv.Itoa(int(was.GetSpaces())), strconv.Itoa(int(is.GetSpaces())))
	r.detail("paid", r.logTexts().text(paid(was)), r.logTexts().text(paid(is)))
	if why := r.value("reason"); why != "" {
		r.detail("reason", "", why)
	}
}
