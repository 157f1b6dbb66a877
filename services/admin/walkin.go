package admin

import (
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// walkInPage books a person at the door: one form adds the customer, books, records the payment and checks in.
type walkInPage struct {
	bookPage
	// Methods are the ways to pay, as buttons.
	Methods []grant
	// Added says that this request added the customer, who has no booking yet.
	Added bool
}

func (walkInPage) head() (*message, string) { return msg("sales.walk_in.title"), "events" }

// doorMethods are the ways to pay at the door, the most frequent first.
var doorMethods = []string{money.MethodCash, money.MethodCard, money.MethodBankTransfer, money.MethodFree}

// doorOpens is for how long before the start of a date a walk-in is checked in, unless the form says otherwise.
const doorOpens = 12 * time.Hour

// walkInPage reads what the form offers to a customer; "" is a new one.
func (r *request) walkInPage(customer string) (walkInPage, error) {
	book, err := r.bookPage(false, customer)
	if err != nil {
		return walkInPage{}, err
	}
	page := walkInPage{bookPage: book, Methods: methodsOf(doorMethods)}
	page.Form = newForm("spaces", "1", "method", "cash")
	if len(page.Passes) > 0 {
		page.Methods = append(page.Methods, grant{Name: "pass", Title: msg("desk.pay.pass")})
	}
	if len(page.Options) > 0 {
		page.Form.values.Set("option", page.Options[0].Value)
	}
	if start := page.Slot.GetDate().GetStartsAt().AsTime(); start.Before(r.now().Add(doorOpens)) {
		page.Form.values.Set("checkin", "on")
	}
	return page, nil
}

func (r *request) walkInForm() error {
	page, err := r.walkInPage(r.query("customer"))
	if err != nil {
		return err
	}
	if !r.live() {
		return r.render("walk-in", page)
	}
	if page.Found, err = r.namesakes(r.query("first"), r.query("last")); err != nil {
		return err
	}
	return r.fragment("walk-in", "found", page)
}

// namesakesShown is the number of known customers that the page proposes.
const namesakesShown = 3

// namesakes returns customers with the name that is typed; none while it is shorter than three letters.
func (r *request) namesakes(first, last string) ([]*customerv1.Customer, error) {
	name := strings.TrimSpace(first + " " + last)
	if len([]rune(name)) < 3 || len(name) > 100 {
		return nil, nil
	}
	res, err := r.services.customers.ListCustomers(r.ctx, &customerv1.ListCustomersRequest{Query: name, PageSize: namesakesShown, TotalLimit: 1, Archived: new(bool)})
	return res.GetCustomers(), err
}

// walkIn adds the customer if the form has a new one, books, and checks in. A form that is sent twice does each
// of them once. It adds nobody if the date was full when the page was made, and still is. A date that was not full
// then is not checked, because the first of two such forms can have taken the last space.
func (r *request) walkIn() error {
	page, err := r.walkInPage(r.value("customer"))
	if err != nil {
		return err
	}
	page.Form = r.sent(bookFields)
	purchase := page.purchase()
	if page.Customer == nil {
		if r.value("full") != "" && page.Slot.Full() {
			return r.notAccepted("walk-in", page)
		}
		if page.Customer, err = r.addGuest(page.Form); err != nil {
			return r.again(err, "walk-in", page)
		}
		purchase.PurchaserId, page.Added = page.Customer.GetId(), true
	}
	res, err := submit(r, page.Form, r.services.bookings.CreateTransaction, purchase)
	if err != nil {
		return r.again(err, "walk-in", page)
	}
	bookings := res.GetTransaction().GetBookings()
	booked := r.recordBooking(page.bookPage, bookings)
	if page.Form.Get("checkin") == "" {
		return r.back(page.Slot.Path(), booked)
	}
	r.record()
	return r.checkInGuest(page, bookings, booked)
}

// checkInGuest checks a customer in who was just booked, and says what was done. A whole course that is bought after
// the start has no booking on the date of the page.
func (r *request) checkInGuest(page walkInPage, bookings []*bookingv1.Booking, booked string) error {
	at := slices.IndexFunc(bookings, func(b *bookingv1.Booking) bool { return b.GetEventDateId() == page.Slot.GetDate().GetId() })
	if at < 0 {
		return r.sayFailed(page.Slot.Path(), booked+" "+r.text("sales.walk_in.not_on_date"))
	}
	if err := r.checkInBought(bookings[at].GetId()); err != nil {
		return r.sayFailed(page.Slot.Path(), booked+" "+r.text("sales.walk_in.not_checked_in", "why", sentence(fault.From(err))))
	}
	return r.back(page.Slot.Path(), booked+" "+r.text("desk.attend.checked_in", "name", fullName(page.Customer)))
}

// checkInBought checks in a booking that this request has made, with an audit entry of its own.
func (r *request) checkInBought(booking string) error {
	_, err := performPart(r, "check-in "+booking, r.services.bookings.RecordAttendance, &bookingv1.RecordAttendanceRequest{
		BookingId: booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
	})
	if err != nil {
		return err
	}
	r.change.details = nil
	r.action("booking.attendance")
	r.target(booking)
	r.detail("attendance", "", "checked-in")
	r.record()
	return nil
}

// addGuest adds the new customer of a form, with an audit entry of its own.
func (r *request) addGuest(f *form) (*customerv1.Customer, error) {
	req := &customerv1.CreateCustomerRequest{
		FirstName: f.required("first", msg("desk.field.first")), LastName: f.required("last", msg("desk.field.last")),
		Email: r.customerEmail(f, nil), Mobile: f.text("mobile"),
	}
	if f.Failed() {
		return nil, errNotAccepted
	}
	res, err := performPart(r, "customer", r.services.customers.CreateCustomer, req)
	if err != nil {
		if f.refuse(err) {
			return nil, errNotAccepted
		}
		return nil, err
	}
	r.action("customer.create")
	r.target(res.GetCustomer().GetId())
	r.record()
	r.change = change{}
	return res.GetCustomer(), nil
}
