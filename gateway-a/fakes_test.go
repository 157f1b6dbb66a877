package gatewaya

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/testkit/edgetest"
	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/gateway-a/openapi"
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
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// gateway serves Interface A over HTTP, in front of small gRPC fakes of the services.
type gateway struct {
	t             *testing.T
	client        *edgetest.Client
	issuer        *tokentest.Issuer
	company       id.Company
	contract      *openapitest.Contract
	customers     *fakeCustomers
	bookings      *fakeBookings
	passes        *fakePasses
	notes         *fakeNotes
	subscriptions *fakeSubscriptions
	appointments  *fakeAppointments
	media         *fakeMedia
	auth          *fakeAuth
	log           *edgetest.Log
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{
		t: t, issuer: tokentest.New(t), company: id.New[id.Company](), contract: openapitest.Load(t, openapi.Description, ""),
		customers: &fakeCustomers{}, bookings: &fakeBookings{}, passes: &fakePasses{}, notes: &fakeNotes{},
		subscriptions: &fakeSubscriptions{}, appointments: &fakeAppointments{}, media: &fakeMedia{}, auth: &fakeAuth{}, log: &edgetest.Log{},
	}
	log := slog.New(slog.NewTextHandler(g.log, nil))
	conn := edgetest.Services(t, rpc.ServerOptions{Log: log, Verifier: g.issuer.Verifier, Policy: rpc.PolicyOf(
		&authv1.TokenService_ServiceDesc, &customerv1.CustomerService_ServiceDesc, &customerv1.NoteService_ServiceDesc,
		&bookingv1.BookingService_ServiceDesc, &passv1.PassService_ServiceDesc,
		&subscriptionv1.SubscriptionService_ServiceDesc, &mediav1.MediaService_ServiceDesc,
		&bookingv1.AppointmentService_ServiceDesc,
	)}, func(s grpc.ServiceRegistrar) {
		authv1.RegisterTokenServiceServer(s, g.auth)
		customerv1.RegisterCustomerServiceServer(s, g.customers)
		bookingv1.RegisterBookingServiceServer(s, g.bookings)
		passv1.RegisterPassServiceServer(s, g.passes)
		customerv1.RegisterNoteServiceServer(s, g.notes)
		subscriptionv1.RegisterSubscriptionServiceServer(s, g.subscriptions)
		mediav1.RegisterMediaServiceServer(s, g.media)
		bookingv1.RegisterAppointmentServiceServer(s, g.appointments)
	})

	options := edge.Options{
		Log: log, Metrics: prometheus.NewRegistry(), Verifier: g.issuer.Verifier, Limiter: ratelimit.New(testkit.Bus(t), ratelimit.Options{}),
	}
	handler, err := newHandler(t.Context(), options, services{
		tokens: authv1.NewTokenServiceClient(conn), customers: customerv1.NewCustomerServiceClient(conn),
		bookings: bookingv1.NewBookingServiceClient(conn), passes: passv1.NewPassServiceClient(conn), notes: customerv1.NewNoteServiceClient(conn),
		subscriptions: subscriptionv1.NewSubscriptionServiceClient(conn), media: mediav1.NewMediaServiceClient(conn),
		appointments: bookingv1.NewAppointmentServiceClient(conn),
	})
	if err != nil {
		t.Fatal(err)
	}
	g.client = edgetest.Serve(t, handler, g.contract)
	return g
}

// request is a request that a test sends.
type request = edgetest.Request

type answer = edgetest.Answer

func (g *gateway) do(r request) answer {
	g.t.Helper()
	return g.client.Do(r)
}

// token returns a token with all scopes of Interface A.
func (g *gateway) token() string {
	return g.issuer.Client(g.company, scopes.InToken(scopes.InterfaceA())...)
}

// fakeCustomers responds as its fields say, and keeps the requests that it gets.
type fakeCustomers struct {
	customerv1.UnimplementedCustomerServiceServer
	answer *customerv1.Customer
	err    error
	chunks []string
	cut    error // ends the export after its chunks

	mu       sync.Mutex
	updated  *customerv1.UpdateCustomerRequest
	listed   *customerv1.ListCustomersRequest
	metadata metadata.MD
}

func (f *fakeCustomers) GetCustomer(ctx context.Context, _ *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.metadata, _ = metadata.FromIncomingContext(ctx)
	if f.answer == nil && f.err == nil {
		return nil, fault.Missing("customer")
	}
	return &customerv1.GetCustomerResponse{Customer: f.answer}, f.err
}

func (f *fakeCustomers) UpdateCustomer(ctx context.Context, req *customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.metadata, _ = metadata.FromIncomingContext(ctx)
	f.updated = req
	return &customerv1.UpdateCustomerResponse{Customer: f.answer}, f.err
}

func (f *fakeCustomers) ListCustomers(_ context.Context, req *customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = req
	return &customerv1.ListCustomersResponse{Customers: []*customerv1.Customer{f.answer}, Total: 41}, f.err
}

func (f *fakeCustomers) ExportCustomers(_ *customerv1.ExportCustomersRequest, out grpc.ServerStreamingServer[customerv1.ExportCustomersResponse]) error {
	if f.err != nil {
		return f.err
	}
	for _, chunk := range f.chunks {
		if err := out.Send(&customerv1.ExportCustomersResponse{Json: []byte(chunk)}); err != nil {
			return err
		}
	}
	return f.cut
}

type fakeBookings struct {
	bookingv1.UnimplementedBookingServiceServer
	transactions []*bookingv1.Transaction
	err          error

	mu     sync.Mutex
	listed *bookingv1.ListTransactionsRequest
}

func (f *fakeBookings) ListTransactions(_ context.Context, req *bookingv1.ListTransactionsRequest) (*bookingv1.ListTransactionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = req
	return &bookingv1.ListTransactionsResponse{Transactions: f.transactions, Total: int64(len(f.transactions)), PageSize: 30}, f.err
}

func (f *fakeBookings) GetTransaction(_ context.Context, req *bookingv1.GetTransactionRequest) (*bookingv1.GetTransactionResponse, error) {
	if f.err != nil {
		return nil, f.err
	}
	for _, t := range f.transactions {
		if t.GetId() == req.GetTransactionId() {
			return &bookingv1.GetTransactionResponse{Transaction: t}, nil
		}
	}
	return nil, fault.Missing("transaction")
}

type fakeAuth struct {
	authv1.UnimplementedTokenServiceServer
	err error

	mu      sync.Mutex
	request *authv1.IssueTokenRequest
}

func (f *fakeAuth) IssueToken(_ context.Context, req *authv1.IssueTokenRequest) (*authv1.IssueTokenResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.request = req
	if f.err != nil {
		return nil, f.err
	}
	if req.GetClientSecret() != "right" {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the client credentials are invalid")
	}
	return &authv1.IssueTokenResponse{AccessToken: "a.b.c", ExpiresIn: 3600, Scope: "customers:read"}, nil
}

var errBroken = fmt.Errorf("connection to 10.0.0.7 lost, password=hunter2")
