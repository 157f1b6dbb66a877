package gatewayb

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/testkit/edgetest"
	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/gateway-b/openapi"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// gateway serves Interface B over HTTP, in front of small gRPC fakes of the services.
type gateway struct {
	t        *testing.T
	client   *edgetest.Client
	issuer   *tokentest.Issuer
	company  id.Company
	contract *openapitest.Contract
	services *fakes
	limiter  edge.Limiter
	log      *edgetest.Log
}

// unlimited allows all requests.
type unlimited struct{}

func (unlimited) Take(_ context.Context, _ string, limit int) ratelimit.Decision {
	return ratelimit.Decision{Allowed: true, Limit: limit, Remaining: limit - 1, Reset: time.Minute}
}

func newGateway(t *testing.T, limiter edge.Limiter) *gateway {
	t.Helper()
	g := &gateway{
		t: t, issuer: tokentest.New(t), company: id.New[id.Company](), contract: openapitest.Load(t, openapi.Description, base),
		services: &fakes{}, limiter: limiter, log: &edgetest.Log{},
	}
	log := slog.New(slog.NewTextHandler(g.log, nil))
	policy := rpc.Policy{authv1.TokenService_IssueToken_FullMethodName: rpc.Public, authv1.TokenService_ExchangePublishableKey_FullMethodName: rpc.Public}
	for _, desc := range []*grpc.ServiceDesc{
		&customerv1.CustomerService_ServiceDesc, &bookingv1.EventService_ServiceDesc, &bookingv1.BookingService_ServiceDesc,
		&bookingv1.BookingChangeService_ServiceDesc,
		&bookingv1.WaitlistService_ServiceDesc, &passv1.PassService_ServiceDesc,
		&subscriptionv1.PlanService_ServiceDesc, &subscriptionv1.SubscriptionService_ServiceDesc, &mediav1.MediaService_ServiceDesc, &reportsv1.ReportService_ServiceDesc,
		&bookingv1.DiscountService_ServiceDesc, &webhookv1.WebhookService_ServiceDesc, &authv1.RequestLogService_ServiceDesc, &authv1.TestModeService_ServiceDesc,
		&bookingv1.CalendarService_ServiceDesc, &bookingv1.StaffService_ServiceDesc, &bookingv1.RoomService_ServiceDesc,
		&bookingv1.AppointmentTypeService_ServiceDesc, &bookingv1.AppointmentService_ServiceDesc,
	} {
		for method := range rpc.PolicyOf(desc) {
			policy[method] = rpc.AnyToken
		}
	}
	policy[bookingv1.CalendarService_ReadCalendar_FullMethodName] = rpc.Public
	conn := edgetest.Services(t, rpc.ServerOptions{Log: log, Verifier: g.issuer.Verifier, Policy: policy}, func(s grpc.ServiceRegistrar) {
		authv1.RegisterTokenServiceServer(s, fakeTokens{fakes: g.services})
		customerv1.RegisterCustomerServiceServer(s, fakeCustomers{fakes: g.services})
		bookingv1.RegisterEventServiceServer(s, fakeEvents{fakes: g.services})
		bookingv1.RegisterBookingServiceServer(s, fakeBookings{fakes: g.services})
		bookingv1.RegisterBookingChangeServiceServer(s, fakeChanges{fakes: g.services})
		bookingv1.RegisterWaitlistServiceServer(s, fakeWaitlist{fakes: g.services})
		passv1.RegisterPassServiceServer(s, fakePasses{fakes: g.services})
		subscriptionv1.RegisterPlanServiceServer(s, fakePlans{fakes: g.services})
		subscriptionv1.RegisterSubscriptionServiceServer(s, fakeSubscriptions{fakes: g.services})
		mediav1.RegisterMediaServiceServer(s, fakeMedia{fakes: g.services})
		reportsv1.RegisterReportServiceServer(s, fakeReports{fakes: g.services})
		bookingv1.RegisterDiscountServiceServer(s, fakeDiscounts{fakes: g.services})
		webhookv1.RegisterWebhookServiceServer(s, fakeWebhooks{fakes: g.services})
		authv1.RegisterRequestLogServiceServer(s, fakeRequests{fakes: g.services})
		authv1.RegisterTestModeServiceServer(s, fakeTestMode{fakes: g.services})
		bookingv1.RegisterCalendarServiceServer(s, fakeCalendars{fakes: g.services})
		bookingv1.RegisterStaffServiceServer(s, fakeStaff{fakes: g.services})
		bookingv1.RegisterRoomServiceServer(s, fakeRooms{fakes: g.services})
		bookingv1.RegisterAppointmentTypeServiceServer(s, fakeAppointmentTypes{fakes: g.services})
		bookingv1.RegisterAppointmentServiceServer(s, fakeAppointments{fakes: g.services})
	})

	options := edge.Options{Log: log, Metrics: prometheus.NewRegistry(), Verifier: g.issuer.Verifier, Limiter: limiter, RateLimit: 100}
	handler, err := newHandler(t.Context(), options, services{
		tokens: authv1.NewTokenServiceClient(conn), customers: customerv1.NewCustomerServiceClient(conn),
		events: bookingv1.NewEventServiceClient(conn), bookings: bookingv1.NewBookingServiceClient(conn),
		changes: bookingv1.NewBookingChangeServiceClient(conn), waitlist: bookingv1.NewWaitlistServiceClient(conn),
		passes: passv1.NewPassServiceClient(conn), discounts: bookingv1.NewDiscountServiceClient(conn), webhooks: webhookv1.NewWebhookServiceClient(conn),
		plans: subscriptionv1.NewPlanServiceClient(conn), subscriptions: subscriptionv1.NewSubscriptionServiceClient(conn), media: mediav1.NewMediaServiceClient(conn),
		reports:  reportsv1.NewReportServiceClient(conn),
		requests: authv1.NewRequestLogServiceClient(conn), testMode: authv1.NewTestModeServiceClient(conn),
		staff: bookingv1.NewStaffServiceClient(conn), rooms: bookingv1.NewRoomServiceClient(conn),
		appointmentTypes: bookingv1.NewAppointmentTypeServiceClient(conn), appointments: bookingv1.NewAppointmentServiceClient(conn),
		calendars: bookingv1.NewCalendarServiceClient(conn), interfaceURL: "https://www.example.com/api/v1",
	})
	if err != nil {
		t.Fatal(err)
	}
	g.client = edgetest.Serve(t, handler, g.contract)
	return g
}

// request is a request that a test sends. Its path is relative to the base.
type request = edgetest.Request

type answer = edgetest.Answer

func (g *gateway) do(r request) answer {
	g.t.Helper()
	r.Path = base + r.Path
	return g.client.Do(r)
}

// token returns a token with all permissions.
func (g *gateway) token() string { return g.issuer.Key(g.company, scopes.InterfaceB()...) }

// fakes responds to every call with the prepared response of its type, and keeps the requests.
type fakes struct {
	mu       sync.Mutex
	answers  []proto.Message
	err      error
	requests []proto.Message
	metadata metadata.MD
}

// prepare sets the error and the responses of the services.
func (f *fakes) prepare(err error, answers ...proto.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.answers, f.requests = err, answers, nil
}

// last returns the last request of a type.
func last[T proto.Message](f *fakes) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found T
	for _, m := range f.requests {
		if m, ok := m.(T); ok {
			found = m
		}
	}
	return found
}

func reply[T proto.Message](ctx context.Context, f *fakes, req proto.Message) (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, req)
	f.metadata, _ = metadata.FromIncomingContext(ctx)
	var none T
	for _, m := range f.answers {
		if m, ok := m.(T); ok {
			return m, nil
		}
	}
	if f.err != nil {
		return none, f.err
	}
	return none, fault.Missing("resource")
}

type fakeTokens struct {
	authv1.UnimplementedTokenServiceServer
	*fakes
}

func (f fakeTokens) IssueToken(ctx context.Context, req *authv1.IssueTokenRequest) (*authv1.IssueTokenResponse, error) {
	if req.GetClientSecret() != "right" {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the credentials are invalid")
	}
	return reply[*authv1.IssueTokenResponse](ctx, f.fakes, req)
}

type fakeCustomers struct {
	customerv1.UnimplementedCustomerServiceServer
	*fakes
}

func (f fakeCustomers) ListCustomers(ctx context.Context, req *customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
	return reply[*customerv1.ListCustomersResponse](ctx, f.fakes, req)
}
func (f fakeCustomers) GetCustomer(ctx context.Context, req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	return reply[*customerv1.GetCustomerResponse](ctx, f.fakes, req)
}
func (f fakeCustomers) CreateCustomer(ctx context.Context, req *customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
	return reply[*customerv1.CreateCustomerResponse](ctx, f.fakes, req)
}
func (f fakeCustomers) UpdateCustomer(ctx context.Context, req *customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
	return reply[*customerv1.UpdateCustomerResponse](ctx, f.fakes, req)
}
func (f fakeCustomers) DeleteCustomer(ctx context.Context, req *customerv1.DeleteCustomerRequest) (*customerv1.DeleteCustomerResponse, error) {
	return reply[*customerv1.DeleteCustomerResponse](ctx, f.fakes, req)
}

type fakeEvents struct {
	bookingv1.UnimplementedEventServiceServer
	*fakes
}

func (f fakeEvents) ListEvents(ctx context.Context, req *bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
	return reply[*bookingv1.ListEventsResponse](ctx, f.fakes, req)
}
func (f fakeEvents) GetEvent(ctx context.Context, req *bookingv1.GetEventRequest) (*bookingv1.GetEventResponse, error) {
	return reply[*bookingv1.GetEventResponse](ctx, f.fakes, req)
}
func (f fakeEvents) CreateEvent(ctx context.Context, req *bookingv1.CreateEventRequest) (*bookingv1.CreateEventResponse, error) {
	return reply[*bookingv1.CreateEventResponse](ctx, f.fakes, req)
}
func (f fakeEvents) UpdateEvent(ctx context.Context, req *bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
	return reply[*bookingv1.UpdateEventResponse](ctx, f.fakes, req)
}
func (f fakeEvents) DeleteEvent(ctx context.Context, req *bookingv1.DeleteEventRequest) (*bookingv1.DeleteEventResponse, error) {
	return reply[*bookingv1.DeleteEventResponse](ctx, f.fakes, req)
}

func (f fakeEvents) ListEventDates(ctx context.Context, req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
	return reply[*bookingv1.ListEventDatesResponse](ctx, f.fakes, req)
}
func (f fakeEvents) GetEventDate(ctx context.Context, req *bookingv1.GetEventDateRequest) (*bookingv1.GetEventDateResponse, error) {
	return reply[*bookingv1.GetEventDateResponse](ctx, f.fakes, req)
}
func (f fakeEvents) UpdateEventDate(ctx context.Context, req *bookingv1.UpdateEventDateRequest) (*bookingv1.UpdateEventDateResponse, error) {
	return reply[*bookingv1.UpdateEventDateResponse](ctx, f.fakes, req)
}
func (f fakeEvents) CancelEventDate(ctx context.Context, req *bookingv1.CancelEventDateRequest) (*bookingv1.CancelEventDateResponse, error) {
	return reply[*bookingv1.CancelEventDateResponse](ctx, f.fakes, req)
}
func (f fakeEvents) AddEventDates(ctx context.Context, req *bookingv1.AddEventDatesRequest) (*bookingv1.AddEventDatesResponse, error) {
	return reply[*bookingv1.AddEventDatesResponse](ctx, f.fakes, req)
}

type fakeBookings struct {
	bookingv1.UnimplementedBookingServiceServer
	*fakes
}

func (f fakeBookings) ListRegistrations(ctx context.Context, req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
	return reply[*bookingv1.ListRegistrationsResponse](ctx, f.fakes, req)
}
func (f fakeBookings) GetRegistration(ctx context.Context, req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
	return reply[*bookingv1.GetRegistrationResponse](ctx, f.fakes, req)
}
func (f fakeBookings) CreateTransaction(ctx context.Context, req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
	return reply[*bookingv1.CreateTransactionResponse](ctx, f.fakes, req)
}
func (f fakeBookings) CancelBooking(ctx context.Context, req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
	return reply[*bookingv1.CancelBookingResponse](ctx, f.fakes, req)
}

func (f fakeBookings) PreviewCancellation(ctx context.Context, req *bookingv1.PreviewCancellationRequest) (*bookingv1.PreviewCancellationResponse, error) {
	return reply[*bookingv1.PreviewCancellationResponse](ctx, f.fakes, req)
}
func (f fakeBookings) RefundBooking(ctx context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	return reply[*bookingv1.RefundBookingResponse](ctx, f.fakes, req)
}
func (f fakeBookings) RecordAttendance(ctx context.Context, req *bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
	return reply[*bookingv1.RecordAttendanceResponse](ctx, f.fakes, req)
}
func (f fakeBookings) ListCompanyTransactions(ctx context.Context, req *bookingv1.ListCompanyTransactionsRequest) (*bookingv1.ListCompanyTransactionsResponse, error) {
	return reply[*bookingv1.ListCompanyTransactionsResponse](ctx, f.fakes, req)
}
func (f fakeBookings) GetTransaction(ctx context.Context, req *bookingv1.GetTransactionRequest) (*bookingv1.GetTransactionResponse, error) {
	return reply[*bookingv1.GetTransactionResponse](ctx, f.fakes, req)
}
func (f fakeBookings) HoldPlaces(ctx context.Context, req *bookingv1.HoldPlacesRequest) (*bookingv1.HoldPlacesResponse, error) {
	return reply[*bookingv1.HoldPlacesResponse](ctx, f.fakes, req)
}
func (f fakeBookings) GetHold(ctx context.Context, req *bookingv1.GetHoldRequest) (*bookingv1.GetHoldResponse, error) {
	return reply[*bookingv1.GetHoldResponse](ctx, f.fakes, req)
}
func (f fakeBookings) ConfirmHold(ctx context.Context, req *bookingv1.ConfirmHoldRequest) (*bookingv1.ConfirmHoldResponse, error) {
	return reply[*bookingv1.ConfirmHoldResponse](ctx, f.fakes, req)
}
func (f fakeBookings) ReleaseHold(ctx context.Context, req *bookingv1.ReleaseHoldRequest) (*bookingv1.ReleaseHoldResponse, error) {
	return reply[*bookingv1.ReleaseHoldResponse](ctx, f.fakes, req)
}

type fakeWaitlist struct {
	bookingv1.UnimplementedWaitlistServiceServer
	*fakes
}

func (f fakeWaitlist) JoinWaitlist(ctx context.Context, req *bookingv1.JoinWaitlistRequest) (*bookingv1.JoinWaitlistResponse, error) {
	return reply[*bookingv1.JoinWaitlistResponse](ctx, f.fakes, req)
}
func (f fakeWaitlist) ListWaitlist(ctx context.Context, req *bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
	return reply[*bookingv1.ListWaitlistResponse](ctx, f.fakes, req)
}
func (f fakeWaitlist) GetWaitlistEntry(ctx context.Context, req *bookingv1.GetWaitlistEntryRequest) (*bookingv1.GetWaitlistEntryResponse, error) {
	return reply[*bookingv1.GetWaitlistEntryResponse](ctx, f.fakes, req)
}
func (f fakeWaitlist) LeaveWaitlist(ctx context.Context, req *bookingv1.LeaveWaitlistRequest) (*bookingv1.LeaveWaitlistResponse, error) {
	return reply[*bookingv1.LeaveWaitlistResponse](ctx, f.fakes, req)
}
func (f fakeWaitlist) AcceptOffer(ctx context.Context, req *bookingv1.AcceptOfferRequest) (*bookingv1.AcceptOfferResponse, error) {
	return reply[*bookingv1.AcceptOfferResponse](ctx, f.fakes, req)
}

type fakePasses struct {
	passv1.UnimplementedPassServiceServer
	*fakes
}

func (f fakePasses) ListLedgerEntries(ctx context.Context, req *passv1.ListLedgerEntriesRequest) (*passv1.ListLedgerEntriesResponse, error) {
	return reply[*passv1.ListLedgerEntriesResponse](ctx, f.fakes, req)
}
func (f fakePasses) ListPassTypes(ctx context.Context, req *passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
	return reply[*passv1.ListPassTypesResponse](ctx, f.fakes, req)
}
func (f fakePasses) GetPassType(ctx context.Context, req *passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
	return reply[*passv1.GetPassTypeResponse](ctx, f.fakes, req)
}
func (f fakePasses) CreatePassType(ctx context.Context, req *passv1.CreatePassTypeRequest) (*passv1.CreatePassTypeResponse, error) {
	return reply[*passv1.CreatePassTypeResponse](ctx, f.fakes, req)
}
func (f fakePasses) UpdatePassType(ctx context.Context, req *passv1.UpdatePassTypeRequest) (*passv1.UpdatePassTypeResponse, error) {
	return reply[*passv1.UpdatePassTypeResponse](ctx, f.fakes, req)
}
func (f fakePasses) ListCustomerPasses(ctx context.Context, req *passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
	return reply[*passv1.ListCustomerPassesResponse](ctx, f.fakes, req)
}
func (f fakePasses) GetCustomerPass(ctx context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	return reply[*passv1.GetCustomerPassResponse](ctx, f.fakes, req)
}
func (f fakePasses) AssignCustomerPass(ctx context.Context, req *passv1.AssignCustomerPassRequest) (*passv1.AssignCustomerPassResponse, error) {
	return reply[*passv1.AssignCustomerPassResponse](ctx, f.fakes, req)
}
func (f fakePasses) UpdateCustomerPass(ctx context.Context, req *passv1.UpdateCustomerPassRequest) (*passv1.UpdateCustomerPassResponse, error) {
	return reply[*passv1.UpdateCustomerPassResponse](ctx, f.fakes, req)
}

var errBroken = errors.New("connection to 10.0.0.7 lost, password=hunter2")

// idOf is the identifier without its prefix in the responses of the services.
const idOf = "01jb4x9m3vf6ksn8w2d7pq5r0t"

func at(s string) *timestamppb.Timestamp {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return timestamppb.New(t)
}

func ptr[T any](v T) *T { return &v }

func aCustomer() *customerv1.Customer {
	return &customerv1.Customer{
		Id: "cust_" + idOf, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com", Version: 3,
		CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-02T10:00:00Z"),
	}
}

// anEvent returns an event with the given dates to come.
func anEvent(dates ...*bookingv1.EventDate) *bookingv1.Event {
	summary := &bookingv1.DatesSummary{Upcoming: int32(len(dates)), Dates: int32(len(dates)), Capacity: new(int64)}
	for i, d := range dates {
		if i == 0 {
			summary.Next, summary.StartsAt, summary.DurationMinutes = d, d.GetStartsAt(), d.GetDurationMinutes()
		}
		summary.EndsAt = timestamppb.New(d.GetStartsAt().AsTime().Add(time.Duration(d.GetDurationMinutes()) * time.Minute))
		summary.Booked += int64(d.GetBooked())
		*summary.Capacity += int64(d.GetCapacity())
	}
	return &bookingv1.Event{
		Summary: summary,
		Id:      "evt_" + idOf, Title: "Morning Flow", Type: bookingv1.EventType_EVENT_TYPE_CLASS, Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
		Timezone: "Europe/London", Dates: dates, Version: 2, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"),
		PricingOptions: []*bookingv1.PricingOption{{Id: "po-" + idOf, Name: "Drop-in", Price: 1250, Currency: "GBP", TaxRateBasisPoints: 1750}},
	}
}

func aDate(start string, capacity *int32, booked int32) *bookingv1.EventDate {
	return &bookingv1.EventDate{
		Id: "date_" + idOf, StartsAt: at(start), DurationMinutes: 60, Timezone: "Europe/London", Capacity: capacity, Booked: booked,
		Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED,
	}
}

func aRegistration() *bookingv1.Registration {
	return &bookingv1.Registration{
		TransactionId: "txn_" + idOf, Purchaser: &bookingv1.CustomerReference{Id: "cust_" + idOf, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com"},
		CreatedAt: at("2026-03-01T10:00:00Z"), Version: 5,
		Booking: &bookingv1.Booking{
			Id: "booking_" + idOf, Spaces: 2, EventId: "evt_" + idOf, EventTitle: "Morning Flow", EventDateId: "date_" + idOf,
			StartsAt: at("2026-03-30T08:30:00Z"), Timezone: "Europe/London", DurationMinutes: 60, PricingOptionId: "po-" + idOf, CreatedAt: at("2026-03-01T10:00:00Z"),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 2500, Net: 2083, DiscountCode: "SPRING"}},
		},
	}
}

func aTransaction() *bookingv1.Transaction {
	r := aRegistration()
	return &bookingv1.Transaction{
		Id: r.GetTransactionId(), Purchaser: r.GetPurchaser(), PurchasedAt: r.GetCreatedAt(), UpdatedAt: r.GetCreatedAt(), Version: 5,
		Bookings: []*bookingv1.Booking{r.GetBooking(), r.GetBooking()},
	}
}

func aHold(status bookingv1.HoldStatus) *bookingv1.Hold {
	return &bookingv1.Hold{
		Id: "txn_" + idOf, PurchaserId: "cust_" + idOf, ExpiresAt: at("2026-03-01T10:15:00Z"), CreatedAt: at("2026-03-01T10:00:00Z"),
		Bookings: []*bookingv1.Booking{aRegistration().GetBooking()}, Status: status, Version: 1,
	}
}

func aScheduledDate() *bookingv1.ScheduledDate {
	twelve, price := int32(12), int64(1250)
	return &bookingv1.ScheduledDate{
		Date: aDate("2026-03-30T08:30:00Z", &twelve, 3), EventId: "evt_" + idOf, EventTitle: "Morning Flow", EventType: bookingv1.EventType_EVENT_TYPE_CLASS,
		EventStatus: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Location: "Studio 1", Waiting: 2, LowestPrice: &price, Currency: "GBP",
		Available: true, ClosesAt: at("2026-03-30T07:30:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 6,
	}
}

func aWaitlistEntry(state bookingv1.WaitlistState) *bookingv1.WaitlistEntry {
	return &bookingv1.WaitlistEntry{
		Id: "wait_" + idOf, EventId: "evt_" + idOf, EventDateId: "date_" + idOf, CustomerId: "cust_" + idOf, Spaces: 2, PricingOptionId: "po-" + idOf,
		Mode: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER, State: state, TransactionId: "txn_" + idOf, OfferMinutes: 15,
		PassedOverReason: "NOT_ENOUGH_PLACES", PassedOverAt: at("2026-03-01T11:00:00Z"), JoinedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 3,
	}
}

func aPassType() *passv1.PassType {
	return &passv1.PassType{
		Id: "pass_" + idOf, Title: "Ten Classes", TotalUses: 10, ValidityCount: 3, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 11_000,
		Currency: "GBP", Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 1,
	}
}

func aCustomerPass() *passv1.CustomerPass {
	return &passv1.CustomerPass{
		Id: "cp_" + idOf, CustomerId: "cust_" + idOf, PassTypeId: "pass_" + idOf, RemainingUses: 9, StartDate: "2026-03-01", ExpiryDate: "2026-06-01",
		Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, Version: 4, Title: "Ten Classes", TotalUses: 10,
		CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-12T09:30:00Z"),
	}
}
