package browser

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/test/harness"
)

// reported is a company in test mode with a history of two months: its clock shows the first day of a third one.
type reported struct {
	*world
	t        *testing.T
	live     *harness.Company
	company  *harness.Company
	zone     *time.Location
	first    time.Time // the first day of the month before last
	password string
	email    string

	people map[string]string             // identifiers, by first name
	events map[string]*bookingv1.Event   // by title
	types  map[string]string             // identifiers of pass types, by title
	booked map[string]*bookingv1.Booking // by the name of the attendee, the title and the day
}

// newReported creates the company and its history.
func (w *world) newReported(t *testing.T) *reported {
	t.Helper()
	s := &reported{
		world: w, t: t, live: w.op.NewCompany(t, "Europe/London"), email: "pat@studio.example", password: "ten lords a-leaping",
		people: map[string]string{}, events: map[string]*bookingv1.Event{}, types: map[string]string{}, booked: map[string]*bookingv1.Booking{},
	}
	s.company = s.live.TestMode(t)
	var err error
	if s.zone, err = time.LoadLocation("Europe/London"); err != nil {
		t.Fatal(err)
	}
	_, err = w.op.Administrators.CreateAdministrator(s.live.Ctx(t.Context()), &authv1.CreateAdministratorRequest{
		Email: s.email, Name: "Pat", Password: s.password, Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER,
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().In(s.zone)
	s.first = time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, s.zone)
	s.monthBefore()
	s.lastMonth()
	s.clock(2, 1)
	return s
}

// at returns 9 o'clock on a day of the month that is so many months after the first one.
func (s *reported) at(month, day int) time.Time {
	return time.Date(s.first.Year(), s.first.Month()+time.Month(month), day, 9, 0, 0, 0, s.zone)
}

// call makes a call for the company, and returns the response.
func call[Q, R any](s *reported, method func(context.Context, *Q, ...grpc.CallOption) (*R, error), req *Q) *R {
	s.t.Helper()
	res, err := method(s.company.Ctx(s.t.Context()), req)
	if err != nil {
		s.t.Fatalf("%T: %v", req, err)
	}
	return res
}

// clock moves the test clock.
func (s *reported) clock(month, day int) {
	s.t.Helper()
	call(s, s.op.TestMode.AdvanceTestClock, &authv1.AdvanceTestClockRequest{To: timestamppb.New(s.at(month, day))})
}

func (s *reported) addPeople(names ...string) {
	s.t.Helper()
	for _, name := range names {
		res := call(s, s.op.Customers.CreateCustomer, &customerv1.CreateCustomerRequest{FirstName: name, LastName: "Studio", Email: name + "@example.com"})
		s.people[name] = res.GetCustomer().GetId()
	}
}

// addClass adds a class with a date on each of the days, given as months and days.
func (s *reported) addClass(title string, price int64, taxRate, capacity int32, days ...[2]int) {
	s.t.Helper()
	credits := int32(1)
	req := &bookingv1.CreateEventRequest{Title: title, PricingOptions: []*bookingv1.NewPricingOption{
		{Name: "Adult", Price: price, TaxRateBasisPoints: taxRate, Credits: &credits},
	}}
	for _, d := range days {
		date := &bookingv1.NewEventDate{StartsAt: timestamppb.New(s.at(d[0], d[1]).Add(time.Hour)), DurationMinutes: 60}
		if capacity > 0 {
			date.Capacity = &capacity
		}
		req.Dates = append(req.Dates, date)
	}
	s.events[title] = call(s, s.op.Events.CreateEvent, req).GetEvent()
}

// book books spaces on a date of a class, given by its place among the dates.
func (s *reported) book(key, name, title string, date int, spaces int32, method bookingv1.PaymentMethod) {
	s.t.Helper()
	res := call(s, s.op.Bookings.CreateTransaction, &bookingv1.CreateTransactionRequest{
		PurchaserId: s.people[name], PaymentMethod: method,
		Lines: []*bookingv1.TransactionLine{{EventDateId: s.events[title].GetDates()[date].GetId(), Spaces: spaces}},
	})
	s.booked[key] = res.GetTransaction().GetBookings()[0]
}

// sell sells a pass; with an empty method it is given away.
func (s *reported) sell(name, title, method string) string {
	s.t.Helper()
	req := &passv1.AssignCustomerPassRequest{CustomerId: s.people[name], PassTypeId: s.types[title]}
	if method != "" {
		req.Purchase = &passv1.PassPurchase{Method: method}
	}
	return call(s, s.op.Passes.AssignCustomerPass, req).GetCustomerPass().GetId()
}

// attend records the attendance of bookings.
func (s *reported) attend(attendance bookingv1.Attendance, keys ...string) {
	s.t.Helper()
	for _, key := range keys {
		call(s, s.op.Bookings.RecordAttendance, &bookingv1.RecordAttendanceRequest{BookingId: s.booked[key].GetId(), Attendance: attendance})
	}
}

// The ways to pay, and attendances.
const (
	byCard     = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
	byCash     = bookingv1.PaymentMethod_PAYMENT_METHOD_CASH
	byTransfer = bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER
	byPass     = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS
	came       = bookingv1.Attendance_ATTENDANCE_CHECKED_IN
	didNotCome = bookingv1.Attendance_ATTENDANCE_NO_SHOW
)

// monthBefore is the month before last: the classes begin, and four customers come.
func (s *reported) monthBefore() {
	s.t.Helper()
	s.clock(0, 2)
	s.addPeople("Ada", "Ben", "Cleo", "Dan")
	s.addClass("Yoga", 1200, 2000, 6, [2]int{0, 5}, [2]int{1, 6}, [2]int{1, 13})
	s.addClass("Pilates", 2150, 500, 3, [2]int{0, 7}, [2]int{1, 8}, [2]int{1, 15})
	s.addClass("Talk", 750, 0, 0, [2]int{1, 10})
	for _, kind := range []*passv1.CreatePassTypeRequest{
		{Title: "Five classes", TotalUses: 5, ValidityCount: 75, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_DAY, Price: 5005},
		{Title: "Three classes", TotalUses: 3, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_YEAR, Price: 3300},
	} {
		s.types[kind.GetTitle()] = call(s, s.op.Passes.CreatePassType, kind).GetPassType().GetId()
	}
	s.sell("Cleo", "Five classes", "CARD")
	s.sell("Ben", "Five classes", "")
	s.book("Ada yoga 0", "Ada", "Yoga", 0, 1, byCard)
	s.book("Ben yoga 0", "Ben", "Yoga", 0, 1, byCash)
	s.book("Cleo pilates 0", "Cleo", "Pilates", 0, 1, byPass)
	s.book("Dan pilates 0", "Dan", "Pilates", 0, 1, byCard)
	plan := call(s, s.op.Plans.CreatePlan, &subscriptionv1.CreatePlanRequest{
		Title: "Four a month", Price: 4000, Credits: 4, IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH,
	}).GetPlan()
	dan := call(s, s.op.Subscriptions.CreateSubscription, &subscriptionv1.CreateSubscriptionRequest{
		CustomerId: s.people["Dan"], PlanId: plan.GetId(), Payment: &subscriptionv1.SubscriptionPayment{Method: "CARD"},
	}).GetSubscription()
	s.clock(0, 20)
	s.attend(came, "Ada yoga 0", "Ben yoga 0", "Cleo pilates 0", "Dan pilates 0")

	s.clock(1, 2)
	// The second period is due a moment after the clock has moved.
	harness.Eventually(s.t, stepLimit, func() error {
		_, err := s.op.Subscriptions.RecordPayment(s.company.Ctx(s.t.Context()), &subscriptionv1.RecordPaymentRequest{
			Id: dan.GetId(), Payment: &subscriptionv1.SubscriptionPayment{Method: "CASH"},
		})
		return err
	})
}

// lastMonth has sales in every way, refunds, no-shows, and a customer who does not come back.
func (s *reported) lastMonth() {
	s.t.Helper()
	s.addPeople("Eve", "Finn", "Gus")
	s.sell("Ada", "Three classes", "CASH")
	cancelled := s.sell("Finn", "Three classes", "CARD")
	s.book("Ada yoga 1", "Ada", "Yoga", 1, 1, byCard)
	s.book("Eve yoga 1", "Eve", "Yoga", 1, 2, byCash)
	s.book("Ada pilates 1", "Ada", "Pilates", 1, 1, byPass)
	s.book("Cleo pilates 1", "Cleo", "Pilates", 1, 1, byPass)
	s.book("Eve pilates 2", "Eve", "Pilates", 2, 2, byCard)
	s.book("Dan pilates 2", "Dan", "Pilates", 2, 1, byCash)
	s.book("Finn yoga 2", "Finn", "Yoga", 2, 1, byTransfer)
	s.book("Eve talk", "Eve", "Talk", 0, 2, byTransfer)
	s.clock(1, 5)
	call(s, s.op.Bookings.CancelBooking, &bookingv1.CancelBookingRequest{BookingId: s.booked["Finn yoga 2"].GetId()})
	s.refund("Finn yoga 2", nil)
	s.clock(1, 20)
	s.attend(came, "Ada yoga 1", "Ada pilates 1", "Eve pilates 2", "Cleo pilates 1")
	s.attend(didNotCome, "Dan pilates 2", "Eve talk")
	part := int64(400)
	s.refund("Ada yoga 1", &part)
	call(s, s.op.Passes.UpdateCustomerPass, &passv1.UpdateCustomerPassRequest{Id: cancelled, Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED})
}

func (s *reported) refund(key string, amount *int64) {
	s.t.Helper()
	call(s, s.op.Bookings.RefundBooking, &bookingv1.RefundBookingRequest{BookingId: s.booked[key].GetId(), Amount: amount})
}

// ownersData are temporary tables with the data of the company in the databases of their owners.
type ownersData struct {
	s  *reported
	to *pgx.Conn
}

// database connects to a database of the platform.
func (w *world) database(t *testing.T, name string) *pgx.Conn {
	t.Helper()
	address, err := url.Parse(w.postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	conn, err := pgx.Connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// copy copies the rows of a statement in a service's database, with the company as $1, into a table.
func (d *ownersData) copy(part, table, sql string) {
	d.s.t.Helper()
	company, err := id.Parse[id.Company](d.s.company.ID)
	if err != nil {
		d.s.t.Fatal(err)
	}
	found, err := d.s.database(d.s.t, "reservation_"+part).Query(d.s.t.Context(), sql, company)
	if err != nil {
		d.s.t.Fatalf("%s: %v", table, err)
	}
	columns := make([]string, len(found.FieldDescriptions()))
	for i, f := range found.FieldDescriptions() {
		columns[i] = f.Name
	}
	rows, err := pgx.CollectRows(found, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	if err != nil {
		d.s.t.Fatalf("%s: %v", table, err)
	}
	n, err := d.to.CopyFrom(d.s.t.Context(), pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	if err != nil || n == 0 {
		d.s.t.Fatalf("%s: %d rows of the %s service: %v", table, n, part, err)
	}
}
