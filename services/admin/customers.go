package admin

import (
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// customersPage is the list of customers, or the result of a search.
type customersPage struct {
	Query     string
	Archived  bool
	Customers []*customerv1.Customer
	Total     int64
	Next      string
	Form      *form
}

// foundMost is the number up to which the service counts customers.
const foundMost = 1000

// Count says how many customers there are, and their order.
func (p customersPage) Count() *message {
	switch {
	case p.Query == "":
		return msg("desk.customers.count", "count", p.Total)
	case p.Total >= foundMost:
		return msg("desk.customers.found_many", "number", p.Total)
	}
	return msg("desk.customers.found", "count", p.Total)
}

func (customersPage) head() (*message, string) { return msg("desk.customers.title"), "customers" }

func (r *request) customers() error {
	page := customersPage{Query: r.query("q"), Archived: r.query("archived") != "", Form: newForm()}
	page.Form.names = map[string]string{"query": "q"}
	res, err := r.services.customers.ListCustomers(r.ctx, &customerv1.ListCustomersRequest{
		Query: page.Query, Archived: &page.Archived, PageSize: 50, PageToken: r.query("page"), TotalLimit: foundMost, Order: customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED_DESC,
	})
	if err != nil {
		if r.query("page") != "" || !page.Form.refuse(err) {
			return err
		}
		return r.notAccepted("customers", page)
	}
	page.Customers, page.Total, page.Next = res.GetCustomers(), res.GetTotal(), r.with("page", res.GetNextPageToken())
	if r.live() {
		return r.fragment("customers", "found", page)
	}
	return r.render("customers", page)
}

// customerFormPage adds a customer.
type customerFormPage struct{ Form *form }

func (customerFormPage) head() (*message, string) { return msg("desk.customer.add"), "customers" }

func (r *request) newCustomer() error {
	return r.render("customer-new", customerFormPage{newForm()})
}

// customerFields are the form's names of the service's fields.
var customerFields = map[string]string{"first_name": "first", "last_name": "last"}

// customerEmail returns the e-mail address of a form for a customer; nil is a new customer.
func (r *request) customerEmail(f *form, c *customerv1.Customer) string {
	if r.session.NeedsEmail(c) {
		return f.required("email", msg("desk.field.email"))
	}
	return f.text("email")
}

func (r *request) createCustomer() error {
	f := r.sent(customerFields)
	res, err := submit(r, f, r.services.customers.CreateCustomer, &customerv1.CreateCustomerRequest{
		FirstName: f.required("first", msg("desk.field.first")), LastName: f.required("last", msg("desk.field.last")),
		Email: r.customerEmail(f, nil), Mobile: f.text("mobile"),
	})
	if err != nil {
		return r.again(err, "customer-new", customerFormPage{f})
	}
	r.target(res.GetCustomer().GetId())
	return r.back("/customers/"+res.GetCustomer().GetId(), r.text("desk.customer.added"))
}

// purchaseView is a purchase as a page shows it.
type purchaseView struct{ *bookingv1.Transaction }

// Paid says what was paid for a booking of the purchase.
func (purchaseView) Paid(b *bookingv1.Booking) *message { return paid(b) }

// Bought says on which day a booking was bought, and for whom if it is for someone else.
func (purchaseView) Bought(b *bookingv1.Booking, day string) *message {
	if guest := b.GetBoughtFor(); guest != nil {
		return msg("desk.customer.bought_for", "day", day, "name", fullName(guest))
	}
	return msg("desk.customer.bought", "day", day)
}

// passView is a customer's pass as a page shows it.
type passView struct {
	*passv1.CustomerPass
	Title string
}

// State returns the pass's status.
func (p passView) State() stateTag {
	switch p.GetStatus() {
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE:
		return stateTag{"good", msg("desk.state.active")}
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PENDING:
		return stateTag{"warn", msg("desk.state.starts_later")}
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED:
		return stateTag{"bad", msg("desk.state.used_up")}
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED:
		return stateTag{"bad", msg("desk.state.expired")}
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED:
		return stateTag{"warn", msg("desk.state.paused")}
	}
	return stateTag{"bad", msg("desk.state.cancelled")}
}

// Left says how many credits are left, as a number.
func (p passView) Left() *message { return usesNumber(p.GetUnlimitedUses(), p.GetRemainingUses()) }

// lastDay says until when a pass is valid: "until 31 Jan 2027".
func lastDay(p *passv1.CustomerPass) *message {
	if p.GetNeverExpires() {
		return msg("desk.pass.no_expiry")
	}
	return msg("desk.valid.until", "to", wallDate(p.GetExpiryDate()))
}

// Paused reports whether the pass is paused.
func (p passView) Paused() bool {
	return p.GetStatus() == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED
}

// OfPlan reports whether the pass belongs to a subscription, which decides when it can be used.
func (p passView) OfPlan() bool { return p.GetSubscriptionId() != "" }

// Cancelled reports whether the pass was cancelled.
func (p passView) Cancelled() bool {
	return p.GetStatus() == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED
}

// Valid says from which to which day the pass is valid.
func (p passView) Valid() *message {
	if p.GetNeverExpires() {
		return msg("desk.pass.from_without_end", "from", wallDate(p.GetStartDate()))
	}
	return msg("desk.valid.between", "from", wallDate(p.GetStartDate()), "to", wallDate(p.GetExpiryDate()))
}

// customerPage is a customer with their purchases, passes, subscriptions, media, appointments and notes.
type customerPage struct {
	Customer   *customerv1.Customer
	Form       *form
	Purchases  []purchaseView
	Total      int64
	From, To   int64
	Newer      string
	Older      string
	Passes     []passView
	PassTotal  int64
	MorePasses string
	// Subscriptions and Media are empty while their service does not respond.
	Subscriptions     []subscriptionView
	MoreSubscriptions string
	SubscriptionsAway bool
	Media             []customerMediaView
	MediaTotal        int64
	MoreMedia         string
	MediaAway         bool
	// Appointments are the next ones.
	Appointments []appointmentView
	Notes        []noteView
	MoreNotes    string
	Visits       visits
}

func (p customerPage) head() (*message, string) { return literal(fullName(p.Customer)), "customers" }

// purchasesShown is the number of purchases on a customer's page.
const purchasesShown = 20

func (r *request) findCustomer() (customerPage, error) {
	res, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: r.path("id")})
	if err != nil {
		return customerPage{}, r.orDeleted(err)
	}
	c := res.GetCustomer()
	f := newForm("first", c.GetFirstName(), "last", c.GetLastName(), "email", c.GetEmail(), "mobile", c.GetMobile())
	f.setVersion(c.GetVersion())
	return customerPage{Customer: c, Form: f}, nil
}

// orDeleted replaces a NotFound error by one that says so if the customer was deleted.
func (r *request) orDeleted(err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	customerID := r.path("id")
	res, lookup := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: []string{customerID}, IncludeDeleted: true})
	if lookup != nil {
		return err
	}
	for _, c := range res.GetCustomers() {
		if c.GetId() == customerID && c.GetDeletedAt() != nil {
			return pageFault(fault.NotFound, fault.ReasonNotFound, "customer_deleted", "the customer is deleted")
		}
	}
	return err
}

func (r *request) customer() error {
	page, err := r.findCustomer()
	if err != nil {
		return err
	}
	if err := r.history(&page); err != nil {
		return err
	}
	if last := (page.Total - 1) / purchasesShown; len(page.Purchases) == 0 && page.Total > 0 {
		return r.to(r.with("purchases", strconv.FormatInt(last, 10)))
	}
	return r.render("customer", page)
}

// history reads a customer's notes, visits, purchases, passes, subscriptions and media, in twelve calls.
func (r *request) history(page *customerPage) (err error) {
	if err := r.notes(page); err != nil {
		return err
	}
	if page.Visits, err = r.visits(page.Customer.GetId()); err != nil {
		return err
	}
	number, err := strconv.ParseInt(r.query("purchases"), 10, 32)
	if err != nil || number < 0 {
		number = 0
	}
	n, size, since := int32(number), int32(purchasesShown), "1900-01-01"
	txns, err := r.services.bookings.ListTransactions(r.ctx, &bookingv1.ListTransactionsRequest{
		CustomerId: page.Customer.GetId(), Page: &n, PageSize: &size, StartDate: &since,
	})
	if err != nil {
		return err
	}
	for _, t := range txns.GetTransactions() {
		page.Purchases = append(page.Purchases, purchaseView{t})
	}
	page.Total = txns.GetTotal()
	page.From = number*purchasesShown + 1
	page.To = page.From + int64(len(page.Purchases)) - 1
	if page.To < page.Total {
		page.Older = r.with("purchases", strconv.FormatInt(number+1, 10))
	}
	if number > 0 {
		page.Newer = r.with("purchases", strconv.FormatInt(number-1, 10))
	}
	passes, err := r.services.passes.ListCustomerPasses(r.ctx, &passv1.ListCustomerPassesRequest{
		CustomerId: page.Customer.GetId(), PageSize: 20, PageToken: r.query("passes"), Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC,
	})
	if err != nil {
		return err
	}
	page.PassTotal, page.MorePasses = passes.GetTotal(), r.with("passes", passes.GetNextPageToken())
	if len(passes.GetCustomerPasses()) > 0 {
		titles, err := r.passTitles()
		if err != nil {
			return err
		}
		for _, p := range passes.GetCustomerPasses() {
			page.Passes = append(page.Passes, passView{p, titles[p.GetPassTypeId()]})
		}
	}
	if page.Appointments, err = r.appointmentsOf(page.Customer.GetId()); err != nil {
		return err
	}
	return r.memberships(page)
}

// appointmentsShown is the number of appointments on a customer's page.
const appointmentsShown = 10

// appointmentsOf returns the next appointments of a customer.
func (r *request) appointmentsOf(customer string) ([]appointmentView, error) {
	res, err := r.services.appointments.ListAppointments(r.ctx, &bookingv1.ListAppointmentsRequest{
		PageSize: appointmentsShown, CustomerId: customer, StartsFrom: timestamppb.New(r.midnight(r.now(), 0)),
		Statuses: []bookingv1.AppointmentStatus{bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED, bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD},
	})
	return views(res.GetAppointments(), func(v *bookingv1.Appointment) appointmentView { return appointmentView{v, r.session.Clock} }), err
}

func (r *request) updateCustomer() error {
	page, err := r.findCustomer()
	if err != nil {
		return err
	}
	f := r.sent(customerFields)
	page.Form = f
	first, last, email, mobile := f.required("first", msg("desk.field.first")), f.required("last", msg("desk.field.last")), r.customerEmail(f, page.Customer), f.text("mobile")
	_, err = submit(r, f, r.services.customers.UpdateCustomer, &customerv1.UpdateCustomerRequest{
		Id: page.Customer.GetId(), FirstName: &first, LastName: &last, Email: &email, Mobile: &mobile, ExpectedVersion: f.expectedVersion(page.Customer.GetVersion()),
	})
	if err == nil {
		return r.back("/customers/"+page.Customer.GetId(), r.text("shared.done.saved"))
	}
	if !f.Failed() {
		return err
	}
	if err := r.history(&page); err != nil {
		return err
	}
	return r.notAccepted("customer", page)
}

// confirmCustomerPage says what an action does to a customer; ok is false for an unknown action.
func (r *request) confirmCustomerPage() (p confirmPage, ok bool) {
	switch r.path("action") {
	case "archive":
		return confirmPage{
			Title: r.text("desk.customer.archive_title"), Button: r.text("desk.customer.archive_button"),
			Effects: []string{r.text("desk.customer.archive_lists"), r.text("desk.customer.archive_undo")},
		}, true
	case "restore":
		return confirmPage{
			Title: r.text("desk.customer.restore_title"), Button: r.text("desk.customer.restore_button"),
			Effects: []string{r.text("desk.customer.restore_lists")},
		}, true
	case "delete":
		return confirmPage{
			Title: r.text("desk.customer.delete_title"), Button: r.text("desk.customer.delete_button"), Danger: true,
			Effects: []string{r.text("desk.customer.delete_lists"), r.text("desk.customer.delete_bookings"), r.text("desk.customer.delete_final")},
		}, true
	}
	return p, false
}

func (r *request) confirmCustomer() error {
	p, ok := r.confirmCustomerPage()
	if !ok {
		return fault.Missing("page")
	}
	page, err := r.findCustomer()
	if err != nil {
		return err
	}
	return r.confirm(p, "customers", fullName(page.Customer), "/customers/"+page.Customer.GetId())
}

func (r *request) changeCustomer() error {
	s, customer := r.services.customers, r.path("id")
	path := "/customers/" + customer
	var err error
	switch r.path("action") {
	case "archive":
		if _, err = perform(r, s.ArchiveCustomer, &customerv1.ArchiveCustomerRequest{Id: customer, Archived: true}); err == nil {
			return r.back(path, r.text("desk.customer.archived"))
		}
	case "restore":
		if _, err = perform(r, s.ArchiveCustomer, &customerv1.ArchiveCustomerRequest{Id: customer}); err == nil {
			return r.back(path, r.text("desk.customer.restored"))
		}
	case "delete":
		if _, err = perform(r, s.DeleteCustomer, &customerv1.DeleteCustomerRequest{Id: customer}); err == nil {
			return r.back("/customers", r.text("desk.customer.deleted"))
		}
	default:
		return fault.Missing("page")
	}
	return r.refused(path, err)
}
