package admin

import (
	"cmp"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// bookPage books spaces on a date, or adds a customer to its waitlist. It first finds the
// customer, then shows the form.
type bookPage struct {
	Event    eventView
	Slot     slot
	Wait     bool
	Query    string
	Found    []*customerv1.Customer
	Customer *customerv1.Customer
	Form     *form
	Options  []option
	Passes   []option
	Action   string
}

func (p bookPage) head() (*message, string) {
	if p.Wait {
		return msg("desk.wait.title"), "events"
	}
	return msg("desk.book.title"), "events"
}

func (r *request) bookForm() error { return r.bookOrWait(false) }
func (r *request) waitForm() error { return r.bookOrWait(true) }

func (r *request) bookOrWait(wait bool) error {
	page, err := r.bookPage(wait, r.query("customer"))
	if err != nil {
		return err
	}
	if page.Customer == nil {
		page.Query = r.query("q")
		res, err := r.services.customers.ListCustomers(r.ctx, &customerv1.ListCustomersRequest{Query: page.Query, PageSize: 20, TotalLimit: 1, Archived: new(bool)})
		if err != nil && r.live() {
			return err // a search while typing must not leave the page
		}
		if err != nil {
			return r.refused(page.Slot.Path(), err)
		}
		page.Found = res.GetCustomers()
		if r.live() {
			return r.fragment("book", "found", page)
		}
	}
	return r.render("book", page)
}

// bookPage reads what the form offers. The passes are the customer's passes that could pay for
// one space at the pricing option with the fewest credits.
func (r *request) bookPage(wait bool, customer string) (bookPage, error) {
	e, s, err := r.findDate()
	if err != nil {
		return bookPage{}, err
	}
	page := bookPage{Event: e, Slot: s, Wait: wait, Form: newForm("spaces", "1", "method", "card"), Action: r.http.URL.Path}
	var least int32
	var payable bool
	if page.Options, least, payable = r.prices(e, wait); customer == "" {
		return page, nil
	}
	res, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: customer})
	if err != nil {
		return page, err
	}
	page.Customer = res.GetCustomer()
	if !payable {
		return page, nil
	}
	page.Passes, err = r.payingPasses(customer, page.Event, page.Slot, least)
	return page, err
}

// prices returns the choices of an event's pricing options. least is the fewest credits of an option that
// passes can pay for, and payable says that there is one. A waitlist has no options for a whole course.
func (r *request) prices(e eventView, wait bool) (options []option, least int32, payable bool) {
	for _, o := range e.GetPricingOptions() {
		if o.Credits != nil && (!payable || o.GetCredits() < least) {
			least, payable = o.GetCredits(), true
		}
		if !wait || !o.GetWholeCourse() {
			options = append(options, option{o.GetId(), o.GetName() + ": " + r.text(optionPrice(o))})
		}
	}
	return options, least, payable
}

// payingPasses returns the choices of a customer's passes that could pay that many credits for
// a date; none if there is no such pass.
func (r *request) payingPasses(customer string, e eventView, s slot, credits int32) ([]option, error) {
	day := zone.Day(s.GetDate().GetStartsAt().AsTime(), s.GetDate().GetTimezone())
	return r.passOptions(&passv1.ListEligiblePassesRequest{
		CustomerId: customer, EventTypes: []string{e.Kind()}, Credits: credits, Days: []string{day},
	})
}

// passOptions returns eligible passes as choices; none if there is no such pass.
func (r *request) passOptions(req *passv1.ListEligiblePassesRequest) (options []option, err error) {
	passes, err := r.services.passes.ListEligiblePasses(r.ctx, req)
	if err != nil {
		return nil, err
	}
	for i, p := range passes.GetCustomerPasses() {
		if i == 0 {
			options = append(options, option{"", r.text("desk.pay.any_pass")})
		}
		options = append(options, option{p.GetId(), r.text("desk.pay.pass_option", "uses", usesLeft(p), "until", lastDay(p))})
	}
	return options, nil
}

// usesLeft says how many credits a pass has left: "5 credits left".
func usesLeft(p *passv1.CustomerPass) *message {
	if p.GetUnlimitedUses() {
		return msg("desk.pass.unlimited_uses")
	}
	return msg("desk.pay.credits_left", "count", p.GetRemainingUses())
}

func (r *request) book() error {
	page, err := r.bookPage(false, r.value("customer"))
	if err != nil || page.Customer == nil {
		return orMissing(err)
	}
	page.Form = r.sent(bookFields)
	res, err := submit(r, page.Form, r.services.bookings.CreateTransaction, page.purchase())
	if err != nil {
		return r.again(err, "book", page)
	}
	return r.back(page.Slot.Path(), r.recordBooking(page, res.GetTransaction().GetBookings()))
}

// purchase returns the request of the form, whose errors are in the form.
func (p bookPage) purchase() *bookingv1.CreateTransactionRequest {
	spaces, pay := p.Form.count("spaces", msg("desk.field.spaces"), 1, 1000), p.Form.payment()
	return &bookingv1.CreateTransactionRequest{
		PurchaserId:   p.Customer.GetId(),
		Lines:         []*bookingv1.TransactionLine{p.line(p.Form.text("option"), spaces)},
		PaymentMethod: pay.method, PaymentReference: pay.reference, DiscountCode: pay.discount, CustomerPassId: pay.pass,
		AfterStartReason: p.Form.afterStart(p.Slot.Started()),
	}
}

// recordBooking adds the details of a booking to the audit entry, and says what was booked.
func (r *request) recordBooking(page bookPage, bookings []*bookingv1.Booking) string {
	r.target(bookings[0].GetId())
	r.detail("customer", "", page.Customer.GetId())
	r.detail("event", "", page.Event.GetTitle())
	total := paid(sum(bookings))
	r.detail("paid", "", r.logTexts().text(total))
	if page.Slot.Started() {
		r.detail("reason", "", page.Form.text("reason"))
	}
	return page.booked(r, bookings, total)
}

// line returns the booking of spaces on the date, or on all dates if the price is for the whole course.
func (p bookPage) line(optionID string, spaces int32) *bookingv1.TransactionLine {
	line := &bookingv1.TransactionLine{EventId: p.Event.GetId(), EventDateId: p.Slot.GetDate().GetId(), PricingOptionId: optionID, Spaces: spaces}
	for _, o := range p.Event.GetPricingOptions() {
		if o.GetId() == optionID && o.GetWholeCourse() {
			line.EventDateId = ""
		}
	}
	return line
}

// booked says what was booked.
func (p bookPage) booked(r *request, bookings []*bookingv1.Booking, total *message) string {
	spaces, name := spacesText(bookings[0].GetSpaces()), fullName(p.Customer)
	if n := len(bookings); n > 1 {
		return r.text("desk.book.booked_course", "spaces", spaces, "dates", datesText(n), "name", name, "paid", total)
	}
	return r.text("desk.book.booked", "spaces", spaces, "name", name, "paid", total)
}

// bookFields are the form's names of the service's fields.
var bookFields = map[string]string{
	"payment_reference": "reference", "discount_code": "discount", "customer_pass_id": "pass", "payment_method": "method",
	"after_start_reason": "reason", "first_name": "first", "last_name": "last", "lines[0].spaces": "spaces", "lines[0].pricing_option_id": "option", "lines": "spaces", "pricing_option_id": "option",
}

// orMissing returns err; if it is nil, that the customer is missing.
func orMissing(err error) error {
	if err == nil {
		err = fault.Missing("customer")
	}
	return err
}

// fullName returns a customer's first and last name.
func fullName(c interface {
	GetFirstName() string
	GetLastName() string
}) string {
	return strings.TrimSpace(c.GetFirstName() + " " + c.GetLastName())
}

// bookingPage is a booking, with what cancelling it would do now.
type bookingPage struct {
	Registration registrationView
	Outcome      *bookingv1.CancellationOutcome // nil if the booking is cancelled
	Back         string
	// Appointment is the path of the appointment; "" if the booking is none.
	Appointment string
	// Ticket is the code that is scanned at the door.
	Ticket ticket
}

func (p bookingPage) head() (*message, string) { return p.Title(), "events" }

// Title says whose booking it is.
func (p bookingPage) Title() *message {
	return msg("desk.booking.of", "name", fullName(p.Registration.Guest()))
}

func (r *request) findBooking() (bookingPage, error) {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return bookingPage{}, err
	}
	p := bookingPage{Registration: registrationView{res.GetRegistration()}}
	b := res.GetRegistration().GetBooking()
	p.Back = datePath(b.GetEventId(), b.GetEventDateId())
	if b.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		p.Appointment = appointmentPath(appointmentOf(b.GetId()))
	}
	if p.Ticket, err = ticketOf(b); err != nil {
		return p, err
	}
	p.Outcome, err = r.outcome(b)
	return p, err
}

// appointmentOf returns the identifier of the appointment of a booking: both have the same UUID.
func appointmentOf(booking string) string {
	return "appt_" + strings.TrimPrefix(booking, "booking_")
}

// outcome returns what cancelling a booking would do now; nil if it is cancelled.
func (r *request) outcome(b *bookingv1.Booking) (*bookingv1.CancellationOutcome, error) {
	if b.GetIsCancelled() {
		return nil, nil
	}
	preview, err := r.services.bookings.PreviewCancellation(r.ctx, &bookingv1.PreviewCancellationRequest{BookingId: b.GetId()})
	if err != nil || preview.GetAlreadyCancelled() {
		return nil, err
	}
	return preview.GetOutcome(), nil
}

func (r *request) confirmBooking() error {
	p, err := r.findBooking()
	if err != nil {
		return err
	}
	if action := r.path("action"); action != "cancel" && action != "waive" {
		return fault.Missing("page")
	}
	b := p.Registration.GetBooking()
	return r.confirmCancellation(p, "events", b.GetEventTitle(), "/bookings/"+b.GetId())
}

// confirmCancellation shows what cancelling a booking does, before it is done; back is the path of its page.
func (r *request) confirmCancellation(p bookingPage, section, title, back string) error {
	if p.Outcome == nil {
		return r.back(back, r.text(reason("ALREADY_CANCELLED")))
	}
	b := p.Registration.GetBooking()
	c := confirmPage{
		Danger: true, Reason: true, Title: r.text("desk.booking.cancel_title"), Button: r.text("desk.booking.cancel_button"), Effects: r.outcomeText(b, p.Outcome),
	}
	if r.path("action") == "waive" {
		c.Title, c.Button = r.text("desk.booking.waive_title"), r.text("desk.booking.waive_button")
		c.Effects = []string{r.text(freedText(b)), r.text("desk.booking.waive_effect")}
	}
	return r.confirm(c, section, fullName(p.Registration.Guest())+", "+title+", "+r.session.Clock.Time(b.GetStartsAt()), back)
}

func (r *request) changeBooking() error {
	switch action := r.path("action"); action {
	case "cancel", "waive":
		r.action("booking.cancel")
		req := &bookingv1.CancelBookingRequest{BookingId: r.path("id"), WaivePolicy: action == "waive", Reason: r.value("reason")}
		return r.cancelBooking(req, "/bookings/"+r.path("id"))
	}
	return fault.Missing("page")
}

// cancelBooking cancels a booking and redirects to a page.
func (r *request) cancelBooking(req *bookingv1.CancelBookingRequest, path string) error {
	res, err := perform(r, r.services.bookings.CancelBooking, req)
	if err != nil {
		return r.refused(path, err)
	}
	if !res.GetChanged() {
		r.unchanged()
		return r.back(path, r.text(reason("ALREADY_CANCELLED")))
	}
	var outcome, next *message // next adds what to do about the outcome
	switch o := res.GetOutcome(); {
	case o.GetCreditsReturned() > 0:
		outcome = msg("desk.booking.credits_returned", "count", o.GetCreditsReturned())
	case o.GetLate() && o.GetRefundDue() > 0:
		due := priceText(o.GetRefundDue(), o.GetCurrency())
		outcome = msg("desk.booking.was_late_due", "due", msg("desk.outcome.refund_amount", "amount", due))
		next = msg("desk.booking.was_late_due", "due", msg("desk.outcome.refund_due", "amount", due))
	case o.GetRefundDue() > 0:
		due := priceText(o.GetRefundDue(), o.GetCurrency())
		outcome, next = msg("desk.outcome.refund_amount", "amount", due), msg("desk.outcome.refund_due", "amount", due)
	case o.GetLate():
		outcome = msg("desk.booking.was_late")
	}
	r.target(req.GetBookingId())
	r.detail("reason", "", req.GetReason())
	cancelled := r.text("desk.booking.cancelled")
	r.detail("outcome", "", strings.TrimSpace(r.logTexts().text("desk.booking.cancelled")+" "+r.logTexts().text(outcome)))
	return r.back(path, strings.TrimSpace(cancelled+" "+r.text(cmp.Or(next, outcome))))
}
