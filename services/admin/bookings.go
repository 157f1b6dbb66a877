package admin

import (
	"net/url"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// bookPage books places of a date for a customer, or puts the customer on the
// waitlist: first the customer is found, then the rest is asked.
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

func (p bookPage) head() (string, string) {
	if p.Wait {
		return "Add to the waitlist", "events"
	}
	return "Book", "events"
}

func (v *visit) bookForm() error { return v.bookOrWait(false) }
func (v *visit) waitForm() error { return v.bookOrWait(true) }

func (v *visit) bookOrWait(wait bool) error {
	page, err := v.bookPage(wait, v.query("customer"))
	if err != nil {
		return err
	}
	if page.Customer == nil {
		page.Query = v.query("q")
		res, err := v.services.customers.ListCustomers(v.ctx, &customerv1.ListCustomersRequest{Query: page.Query, PageSize: 20, TotalLimit: 1, Archived: new(bool)})
		if err != nil && v.r.Header.Get("Hx-Request") != "" {
			return err // nobody is led away while they type
		}
		if err != nil {
			return v.refused(page.Slot.Path(), err)
		}
		page.Found = res.GetCustomers()
		if v.r.Header.Get("Hx-Request") != "" {
			return v.fragment("book", "found", page)
		}
	}
	return v.render("book", page)
}

// bookPage reads what the form offers. Passes are those that the customer has and
// that could pay for one place of the first option that takes credits.
func (v *visit) bookPage(wait bool, customer string) (bookPage, error) {
	e, s, err := v.findDate()
	if err != nil {
		return bookPage{}, err
	}
	page := bookPage{Event: e, Slot: s, Wait: wait, Form: newForm("spaces", "1", "method", "card"), Action: v.r.URL.Path}
	if customer == "" {
		return page, nil
	}
	res, err := v.services.customers.GetCustomer(v.ctx, &customerv1.GetCustomerRequest{Id: customer})
	if err != nil {
		return page, err
	}
	page.Customer = res.GetCustomer()
	least, payable := int32(0), false
	for _, o := range e.GetPricingOptions() {
		text := o.GetName() + ": " + money(o.GetPrice(), o.GetCurrency())
		if o.Credits != nil {
			text += " or " + plural(o.GetCredits(), "credit", "credits")
			if !payable || o.GetCredits() < least {
				least, payable = o.GetCredits(), true
			}
		}
		page.Options = append(page.Options, option{o.GetId(), text})
	}
	if !payable {
		return page, nil
	}
	page.Passes, err = v.payingPasses(customer, page.Event, page.Slot, least)
	return page, err
}

// payingPasses offers the passes of a customer that could pay so many credits for
// a date.
func (v *visit) payingPasses(customer string, e eventView, s slot, credits int32) (options []option, err error) {
	day := zone.Day(s.GetDate().GetStartsAt().AsTime(), s.GetDate().GetTimezone())
	passes, err := v.services.passes.ListEligiblePasses(v.ctx, &passv1.ListEligiblePassesRequest{
		CustomerId: customer, EventTypes: []string{kindName(e.GetType())}, Credits: credits, Days: []string{day},
	})
	if err != nil {
		return nil, err
	}
	for i, p := range passes.GetCustomerPasses() {
		if i == 0 {
			options = append(options, option{"", "The one that fits and expires first"})
		}
		options = append(options, option{p.GetId(), plural(p.GetRemainingUses(), "credit", "credits") + " left, until " + wallDate(p.GetExpiryDate())})
	}
	return options, nil
}

func (v *visit) book() error {
	page, err := v.bookPage(false, v.value("customer"))
	if err != nil || page.Customer == nil {
		return orMissing(err)
	}
	page.Form = v.sent(bookFields)
	spaces := page.Form.count("spaces", "The number of places", 1, 1000)
	req := &bookingv1.CreateTransactionRequest{
		PurchaserId: page.Customer.GetId(),
		Lines: []*bookingv1.TransactionLine{{
			EventId: page.Event.GetId(), EventDateId: page.Slot.GetDate().GetId(), PricingOptionId: page.Form.text("option"), Spaces: spaces,
		}},
		PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, PaymentReference: page.Form.text("reference"), DiscountCode: page.Form.text("discount"),
	}
	if page.Form.text("method") == "pass" {
		req.PaymentMethod, req.CustomerPassId = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, page.Form.text("pass")
		req.PaymentReference, req.DiscountCode = "", ""
	}
	res, err := submit(v, page.Form, v.services.bookings.CreateTransaction, req)
	if err != nil {
		return v.again(err, "book", page)
	}
	b := res.GetTransaction().GetBookings()[0]
	v.target(b.GetId())
	v.detail("customer", "", page.Customer.GetId())
	v.detail("event", "", page.Event.GetTitle())
	v.detail("paid", "", paid(b))
	return v.back(page.Slot.Path(), "Booked: "+plural(b.GetSpaces(), "place", "places")+" for "+fullName(page.Customer)+", "+paid(b)+".")
}

// bookFields are the form's names of the service's fields.
var bookFields = map[string]string{
	"payment_reference": "reference", "discount_code": "discount", "customer_pass_id": "pass", "payment_method": "method",
	"lines[0].spaces": "spaces", "lines[0].pricing_option_id": "option", "lines": "spaces", "pricing_option_id": "option",
}

// orMissing is the error of what was not found.
func orMissing(err error) error {
	if err == nil {
		err = fault.Missing("customer")
	}
	return err
}

func fullName(c interface {
	GetFirstName() string
	GetLastName() string
}) string {
	return strings.TrimSpace(c.GetFirstName() + " " + c.GetLastName())
}

var attendances = map[string]struct {
	value bookingv1.Attendance
	said  string
}{
	"checked-in": {bookingv1.Attendance_ATTENDANCE_CHECKED_IN, "Checked in: "},
	"no-show":    {bookingv1.Attendance_ATTENDANCE_NO_SHOW, "Marked as not come: "},
	"unknown":    {bookingv1.Attendance_ATTENDANCE_UNKNOWN, "Taken back: "},
}

func (v *visit) attendance() error {
	back := local(v.value("back"), home)
	a, ok := attendances[v.value("attendance")]
	if !ok {
		return fault.Missing("page")
	}
	_, err := performPart(v, v.value("attendance"), v.services.bookings.RecordAttendance, &bookingv1.RecordAttendanceRequest{BookingId: v.r.PathValue("id"), Attendance: a.value})
	if err != nil {
		return v.refused(back, err)
	}
	v.detail("attendance", "", v.value("attendance"))
	// Who checks many in stays at the row where they were.
	if row := v.value("row"); row != "" {
		back += "#" + url.PathEscape(row)
	}
	return v.back(back, a.said+v.value("name")+".")
}

// bookingPage is one booking, with what cancelling it would do now.
type bookingPage struct {
	Registration registrationView
	Outcome      *bookingv1.CancellationOutcome // nil: cancelled already
	Back         string
}

func (p bookingPage) head() (string, string) {
	return "Booking of " + fullName(p.Registration.Guest()), "events"
}

func (v *visit) findBooking() (bookingPage, error) {
	res, err := v.services.bookings.GetRegistration(v.ctx, &bookingv1.GetRegistrationRequest{BookingId: v.r.PathValue("id")})
	if err != nil {
		return bookingPage{}, err
	}
	p := bookingPage{Registration: registrationView{res.GetRegistration()}}
	b := res.GetRegistration().GetBooking()
	p.Back = datePath(b.GetEventId(), b.GetEventDateId())
	if !b.GetIsCancelled() {
		preview, err := v.services.bookings.PreviewCancellation(v.ctx, &bookingv1.PreviewCancellationRequest{BookingId: b.GetId()})
		if err != nil {
			return p, err
		}
		if !preview.GetAlreadyCancelled() {
			p.Outcome = preview.GetOutcome()
		}
	}
	return p, nil
}

func (v *visit) booking() error {
	p, err := v.findBooking()
	if err != nil {
		return err
	}
	return v.render("booking", p)
}

// outcomeText says what the policy makes of a cancellation.
func (v *visit) outcomeText(b *bookingv1.Booking, o *bookingv1.CancellationOutcome) []string {
	texts := []string{plural(b.GetSpaces(), "place becomes", "places become") + " free, for the waitlist first."}
	switch {
	case o.GetLate():
		texts = append(texts, "It is late: cancelling was free until "+v.session.Clock.Time(o.GetFreeUntil())+", so what was paid is kept.")
	case b.GetPass() != nil && o.GetCreditsReturned() > 0:
		texts = append(texts, plural(o.GetCreditsReturned(), "credit goes", "credits go")+" back to the pass.")
	case o.GetRefundDue() > 0:
		texts = append(texts, "By the policy, "+money(o.GetRefundDue(), o.GetCurrency())+" are owed to the customer. Give them back where they were paid, then record the refund here.")
	default:
		texts = append(texts, "Nothing was paid, so nothing is owed.")
	}
	return texts
}

func (v *visit) confirmBooking() error {
	p, err := v.findBooking()
	if err != nil {
		return err
	}
	b := p.Registration.GetBooking()
	c, back := confirmPage{Danger: true}, "/bookings/"+b.GetId()
	switch v.r.PathValue("action") {
	case "cancel", "waive":
		if p.Outcome == nil {
			return v.back(back, sentences["ALREADY_CANCELLED"])
		}
		c.Title, c.Button, c.Effects = "Cancel this booking", "Cancel the booking", v.outcomeText(b, p.Outcome)
		if v.r.PathValue("action") == "waive" {
			c.Title, c.Button = "Cancel this booking, as if it were in time", "Cancel and waive the policy"
			c.Effects = []string{plural(b.GetSpaces(), "place becomes", "places become") + " free, for the waitlist first.", "The policy is waived: credits go back, and what was paid by card is owed to the customer."}
		}
	case "refund":
		c.Title, c.Button = "Record the refund", "Record the refund"
		c.Effects = []string{"The booking is marked as refunded. It is not cancelled by that."}
		if b.GetPass() != nil {
			c.Effects = append(c.Effects, plural(b.GetPass().GetCreditsUsed(), "credit goes", "credits go")+" back to the pass, once.")
		} else {
			c.Effects = append(c.Effects, "No money is moved: give "+paid(b)+" back where it was paid.")
		}
	default:
		return fault.Missing("page")
	}
	return v.confirm(c, "events", fullName(p.Registration.Guest())+", "+b.GetEventTitle()+", "+v.session.Clock.Time(b.GetStartsAt()), back)
}

func (v *visit) changeBooking() error {
	switch action := v.r.PathValue("action"); action {
	case "cancel", "waive":
		return v.cancelBooking(&bookingv1.CancelBookingRequest{BookingId: v.r.PathValue("id"), WaivePolicy: action == "waive"})
	case "refund":
		return v.refundBooking(v.r.PathValue("id"))
	}
	return fault.Missing("page")
}

func (v *visit) cancelBooking(req *bookingv1.CancelBookingRequest) error {
	path := "/bookings/" + req.GetBookingId()
	res, err := perform(v, v.services.bookings.CancelBooking, req)
	if err != nil {
		return v.refused(path, err)
	}
	if !res.GetChanged() {
		v.unchanged()
		return v.back(path, sentences["ALREADY_CANCELLED"])
	}
	text := "The booking is cancelled."
	switch o := res.GetOutcome(); {
	case o.GetCreditsReturned() > 0:
		text += " " + plural(o.GetCreditsReturned(), "credit went", "credits went") + " back to the pass."
	case o.GetRefundDue() > 0:
		text += " " + money(o.GetRefundDue(), o.GetCurrency()) + " are owed to the customer."
	case o.GetLate():
		text += " It was late: what was paid is kept."
	}
	v.detail("outcome", "", text)
	return v.back(path, text)
}

func (v *visit) refundBooking(booking string) error {
	path := "/bookings/" + booking
	res, err := perform(v, v.services.bookings.RefundBooking, &bookingv1.RefundBookingRequest{BookingId: booking})
	if err != nil {
		return v.refused(path, err)
	}
	if !res.GetChanged() {
		v.unchanged()
		return v.back(path, sentences["ALREADY_REFUNDED"])
	}
	return v.back(path, "The refund is recorded.")
}
