package admin

import (
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// transferPage gives a booking to another customer.
type transferPage struct {
	Registration registrationView
	Customer     *customerv1.Customer
	Form         *form
	Started      bool
}

func (transferPage) head() (*message, string) { return msg("changes.transfer.title"), "events" }

// Path is the path of the booking.
func (p transferPage) Path() string { return bookingPath(p.Registration.GetBooking().GetId()) }

// pickFor finds the other customer of a change of a booking; label is the question.
func (r *request) pickFor(reg registrationView, title, label *message) error {
	path := r.http.URL.Path
	return r.pick(pickPage{
		Back: bookingPath(reg.GetBooking().GetId()), Of: r.text("desk.booking.of", "name", reg.GuestName()), Section: "events", Title: title, Label: label,
		path: func(customer string) string { return path + "?customer=" + url.QueryEscape(customer) },
	})
}

// transferPage returns the page for a customer.
func (r *request) transferPage(reg registrationView, customer string) (transferPage, error) {
	res, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: customer})
	page := transferPage{Registration: reg, Customer: res.GetCustomer(), Form: newForm(), Started: r.session.Clock.Past(reg.GetBooking().GetStartsAt())}
	page.Form.setVersion(reg.GetVersion())
	return page, err
}

func (r *request) transferForm() error {
	reg, err := r.registration()
	if err != nil {
		return err
	}
	if reg.GetBooking().GetIsCancelled() {
		return r.sayFailed(bookingPath(r.path("id")), r.text(reason("ALREADY_CANCELLED")))
	}
	if r.query("customer") == "" {
		return r.pickFor(reg, msg("changes.transfer.title"), msg("changes.transfer.who"))
	}
	page, err := r.transferPage(reg, r.query("customer"))
	if err != nil {
		return err
	}
	return r.render("transfer", page)
}

// transferFields are the form's names of the service's fields.
var transferFields = map[string]string{"customer_id": "customer", "after_start_reason": "reason"}

func (r *request) transferBooking() error {
	reg, err := r.registration()
	if err != nil {
		return err
	}
	page, err := r.transferPage(reg, r.value("customer"))
	if err != nil {
		return err
	}
	f := r.sent(transferFields)
	page.Form = f
	if page.Started {
		f.required("reason", msg("changes.reason.field"))
	}
	res, err := submit(r, f, r.services.changes.TransferBooking, &bookingv1.TransferBookingRequest{
		BookingId: r.path("id"), CustomerId: page.Customer.GetId(), BuyerKeepsControl: f.text("control") != "",
		AfterStartReason: f.text("reason"), ExpectedVersion: f.expectedVersion(reg.GetVersion()),
	})
	if err != nil {
		return r.again(err, "transfer", page)
	}
	if !res.GetChanged() {
		r.unchanged()
		return r.back(page.Path(), r.text("changes.transfer.unchanged", "name", fullName(page.Customer)))
	}
	r.detail("customer", "", page.Customer.GetId())
	r.detail("earlier_customer", "", reg.Guest().GetId())
	r.detail("buyer_keeps_control", "", yes(f.text("control") != ""))
	if why := f.text("reason"); why != "" {
		r.detail("reason", "", why)
	}
	return r.back(page.Path(), r.text("changes.transfer.done", "name", fullName(page.Customer)))
}

// swapPage swaps a booking with another one.
type swapPage struct {
	Registration registrationView
	// Customer has the other booking. Others are a page of the customer's bookings, from which Other is chosen. Next is
	// the address of the next page; "" if there is none.
	Customer *customerv1.Customer
	Others   []registrationView
	Next     string
	Other    *registrationView
	Form     *form
	Started  bool
}

func (swapPage) head() (*message, string) { return msg("changes.swap.title"), "events" }

// Path is the path of the booking.
func (p swapPage) Path() string { return bookingPath(p.Registration.GetBooking().GetId()) }

// With is the address of the page with another booking.
func (p swapPage) With(r registrationView) string {
	return p.Path() + "/swap?other=" + url.QueryEscape(r.GetBooking().GetId())
}

func (r *request) swapForm() error {
	reg, err := r.registration()
	if err != nil {
		return err
	}
	page := swapPage{Registration: reg, Form: newForm()}
	switch {
	case reg.GetBooking().GetIsCancelled():
		return r.sayFailed(page.Path(), r.text(reason("ALREADY_CANCELLED")))
	case r.query("other") != "":
		err = r.chooseOther(&page, r.query("other"))
	case r.query("customer") != "":
		err = r.othersOf(&page, r.query("customer"))
	default:
		return r.pickFor(reg, msg("changes.swap.title"), msg("changes.swap.who"))
	}
	if err != nil {
		return err
	}
	return r.render("swap", page)
}

// othersShown is the number of bookings on a page of those with which a booking can be swapped.
const othersShown = 100

// othersOf reads a page of the bookings of a customer with which the booking can be swapped.
func (r *request) othersOf(page *swapPage, customer string) error {
	res, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: customer})
	if err != nil {
		return err
	}
	page.Customer = res.GetCustomer()
	all, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		CustomerId: customer, PageSize: othersShown, PageToken: r.query("page"), Cancelled: new(bool),
		Order: bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC, StartsFrom: timestamppb.New(r.session.Clock.earliest()),
	})
	page.Next = r.with("page", all.GetNextPageToken())
	for _, reg := range all.GetRegistrations() {
		b := reg.GetBooking()
		if b.GetId() != r.path("id") && b.GetEventType() != bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
			page.Others = append(page.Others, registrationView{reg})
		}
	}
	slices.SortFunc(page.Others, func(x, y registrationView) int {
		return x.GetBooking().GetStartsAt().AsTime().Compare(y.GetBooking().GetStartsAt().AsTime())
	})
	return err
}

// chooseOther reads the other booking.
func (r *request) chooseOther(page *swapPage, booking string) error {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: booking})
	if err != nil {
		return err
	}
	page.Other = &registrationView{res.GetRegistration()}
	clock := r.session.Clock
	page.Started = clock.Past(page.Registration.GetBooking().GetStartsAt()) || clock.Past(page.Other.GetBooking().GetStartsAt())
	page.Form.setVersion(page.Registration.GetVersion())
	page.Form.values.Set("other-version", page.otherVersion())
	return nil
}

// otherVersion is the version of the other booking, as a field has it.
func (p swapPage) otherVersion() string {
	f := newForm()
	f.setVersion(p.Other.GetVersion())
	return f.Get("version")
}

func (r *request) swapBookings() error {
	reg, err := r.registration()
	if err != nil {
		return err
	}
	page := swapPage{Registration: reg, Form: newForm()}
	if err := r.chooseOther(&page, r.value("other")); err != nil {
		return err
	}
	f := r.sent(transferFields)
	page.Form = f
	if page.Started {
		f.required("reason", msg("changes.reason.field"))
	}
	other := newForm("version", f.Get("other-version"))
	res, err := submit(r, f, r.services.changes.SwapBookings, &bookingv1.SwapBookingsRequest{
		BookingId: r.path("id"), OtherBookingId: page.Other.GetBooking().GetId(), WaivePolicy: f.text("waive") != "", AfterStartReason: f.text("reason"),
		ExpectedVersion: f.expectedVersion(reg.GetVersion()), OtherExpectedVersion: other.expectedVersion(page.Other.GetVersion()),
	})
	if err != nil {
		switch f.refused {
		case fault.ReasonVersionMismatch:
			f.values.Set("other-version", page.otherVersion())
		case reasonEventFull:
			f.Summary = msg("changes.swap.full")
		}
		return r.again(err, "swap", page)
	}
	if !res.GetChanged() {
		r.unchanged()
		return r.back(page.Path(), r.text("changes.swap.unchanged"))
	}
	r.recordMove(reg, registrationView{res.GetRegistration()})
	r.detail("policy_waived", "", yes(f.text("waive") != ""))
	r.detail("swapped_with", "", page.Other.GetBooking().GetId())
	return r.back(page.Path(), strings.TrimSpace(r.text("changes.swap.done", "name", page.Other.GuestName(),
		"event", res.GetRegistration().GetBooking().GetEventTitle(), "time", r.session.Clock.Time(res.GetRegistration().GetBooking().GetStartsAt()))))
}
