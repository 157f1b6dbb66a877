package gatewaya

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/service"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// gateway is Interface A on HTTP before small fakes of the services on gRPC.
type gateway struct {
	t         *testing.T
	url       string
	http      *http.Client
	issuer    *tokentest.Issuer
	company   id.Company
	contract  *openapitest.Contract
	customers *fakeCustomers
	bookings  *fakeBookings
	auth      *fakeAuth
	log       *lockedBuffer
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{
		t: t, issuer: tokentest.New(t), company: id.New[id.Company](), contract: openapitest.Load(t, openapi, ""),
		customers: &fakeCustomers{}, bookings: &fakeBookings{}, auth: &fakeAuth{}, log: &lockedBuffer{},
	}
	log := slog.New(slog.NewTextHandler(g.log, nil))
	srv := rpc.NewServer(rpc.ServerOptions{Log: log, Verifier: g.issuer.Verifier, Policy: rpc.Policy{
		authv1.TokenService_IssueToken_FullMethodName:             rpc.Public,
		customerv1.CustomerService_GetCustomer_FullMethodName:     "customers:read|profile:read",
		customerv1.CustomerService_UpdateCustomer_FullMethodName:  "customers:write|profile:write",
		customerv1.CustomerService_ListCustomers_FullMethodName:   "customers:read",
		customerv1.CustomerService_ExportCustomers_FullMethodName: "customers:read",
		bookingv1.BookingService_ListTransactions_FullMethodName:  "bookings:read",
		bookingv1.BookingService_GetTransaction_FullMethodName:    "bookings:read",
	}})
	authv1.RegisterTokenServiceServer(srv, g.auth)
	customerv1.RegisterCustomerServiceServer(srv, g.customers)
	bookingv1.RegisterBookingServiceServer(srv, g.bookings)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	host := &service.Host{Part: "gateway-a", Log: log, Metrics: prometheus.NewRegistry()}
	handler, err := newHandler(t.Context(), host, g.issuer.Verifier, nil, ratelimit.New(testkit.Bus(t), ratelimit.Options{}), services{
		tokens: authv1.NewTokenServiceClient(conn), customers: customerv1.NewCustomerServiceClient(conn),
		bookings: bookingv1.NewBookingServiceClient(conn),
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	g.url = web.URL
	g.http = &http.Client{Transport: g.contract.Transport(t, web.Client().Transport)}
	return g
}

// request describes one HTTP request of a test.
type request struct {
	method, path, token, media, body string
	header                           http.Header
}

type answer struct {
	code   int
	header http.Header
	body   string
}

func (g *gateway) do(r request) answer {
	g.t.Helper()
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(g.t.Context(), r.method, g.url+r.path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.media == "" && r.body != "" {
		r.media = jsonType
	}
	if r.media != "" {
		req.Header.Set("Content-Type", r.media)
	}
	res, err := g.http.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// token returns a token with all scopes of Interface A.
func (g *gateway) token() string {
	return g.issuer.Client(g.company, scopes.InterfaceA()...)
}

// fakeCustomers answers as its fields say, and keeps what it was asked.
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

	mu    sync.Mutex
	asked *authv1.IssueTokenRequest
}

func (f *fakeAuth) IssueToken(_ context.Context, req *authv1.IssueTokenRequest) (*authv1.IssueTokenResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = req
	if f.err != nil {
		return nil, f.err
	}
	if req.GetClientSecret() != "right" {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the client credentials are not valid")
	}
	return &authv1.IssueTokenResponse{AccessToken: "a.b.c", ExpiresIn: 3600, Scope: "customers:read"}, nil
}

// lockedBuffer collects log lines of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var errBroken = fmt.Errorf("connection to 10.0.0.7 lost, password=hunter2")
