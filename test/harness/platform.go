package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Platform is a running platform as its users see it: its addresses and its operator's
// credential.
type Platform struct {
	// BaseURL is the base address of Interface A.
	BaseURL string
	// Auth, Customer, Booking, Pass, Subscription, Media, Reports and Webhook are gRPC addresses. If a
	// service has several replicas, their addresses are separated by commas. Webhook is empty if
	// there is no webhook service.
	Auth, Customer, Booking, Pass, Subscription, Media, Reports, Webhook string
	// MediaURL is the base address of the files of media.
	MediaURL           string
	OperatorCredential Credential
	// TLS is the operator's certificate; nil: the platform uses gRPC without TLS.
	TLS *mtls.Files
}

// Credential is a client's or a service's id and secret.
type Credential struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Operator calls the services over gRPC as the platform's operator.
type Operator struct {
	Tokens          authv1.TokenServiceClient
	Companies       authv1.CompanyServiceClient
	Clients         authv1.ApiClientServiceClient
	APIKeys         authv1.ApiKeyServiceClient
	PublishableKeys authv1.PublishableKeyServiceClient
	Credentials     authv1.ServiceCredentialServiceClient
	Keys            authv1.SigningKeyServiceClient
	Administrators  authv1.AdministratorServiceClient
	TestMode        authv1.TestModeServiceClient
	Requests        authv1.RequestLogServiceClient
	Audit           authv1.AuditServiceClient
	Customers       customerv1.CustomerServiceClient
	Notes           customerv1.NoteServiceClient
	Events          bookingv1.EventServiceClient
	Bookings        bookingv1.BookingServiceClient
	Waitlist        bookingv1.WaitlistServiceClient
	Staff           bookingv1.StaffServiceClient
	Rooms           bookingv1.RoomServiceClient
	Types           bookingv1.AppointmentTypeServiceClient
	Appointments    bookingv1.AppointmentServiceClient
	Calendars       bookingv1.CalendarServiceClient
	Passes          passv1.PassServiceClient
	Plans           subscriptionv1.PlanServiceClient
	Subscriptions   subscriptionv1.SubscriptionServiceClient
	Media           mediav1.MediaServiceClient
	Webhooks        webhookv1.WebhookServiceClient // nil: there is no webhook service

	source *token.Source
}

// waitForReady lets a call that sets up a test wait, within requestLimit, until its service
// accepts connections. Without it the call fails immediately while the connection to a restarted
// service is in its backoff.
var waitForReady = grpc.WaitForReady(true)

// Operator connects to the services. The connections end with the test.
func (p *Platform) Operator(t testing.TB) *Operator {
	t.Helper()
	dial := func(part, addr string) *grpc.ClientConn {
		conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: requestLimit, TLS: p.TLS, Part: part})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	auth, customer, booking, pass := dial("auth", p.Auth), dial("customer", p.Customer), dial("booking", p.Booking), dial("pass", p.Pass)
	subscription, media := dial("subscription", p.Subscription), dial("media", p.Media)
	op := &Operator{
		Tokens: authv1.NewTokenServiceClient(auth), Companies: authv1.NewCompanyServiceClient(auth),
		Clients: authv1.NewApiClientServiceClient(auth), APIKeys: authv1.NewApiKeyServiceClient(auth), PublishableKeys: authv1.NewPublishableKeyServiceClient(auth),
		Requests: authv1.NewRequestLogServiceClient(auth), Audit: authv1.NewAuditServiceClient(auth),
		Credentials: authv1.NewServiceCredentialServiceClient(auth), Keys: authv1.NewSigningKeyServiceClient(auth),
		Administrators: authv1.NewAdministratorServiceClient(auth), TestMode: authv1.NewTestModeServiceClient(auth),
		Customers: customerv1.NewCustomerServiceClient(customer), Notes: customerv1.NewNoteServiceClient(customer),
		Events: bookingv1.NewEventServiceClient(booking), Bookings: bookingv1.NewBookingServiceClient(booking), Waitlist: bookingv1.NewWaitlistServiceClient(booking),
		Staff: bookingv1.NewStaffServiceClient(booking), Rooms: bookingv1.NewRoomServiceClient(booking), Types: bookingv1.NewAppointmentTypeServiceClient(booking),
		Appointments: bookingv1.NewAppointmentServiceClient(booking), Calendars: bookingv1.NewCalendarServiceClient(booking),
		Passes: passv1.NewPassServiceClient(pass),
		Plans:  subscriptionv1.NewPlanServiceClient(subscription), Subscriptions: subscriptionv1.NewSubscriptionServiceClient(subscription),
		Media: mediav1.NewMediaServiceClient(media),
	}
	if p.Webhook != "" {
		op.Webhooks = webhookv1.NewWebhookServiceClient(dial("webhook", p.Webhook))
	}
	credential := p.OperatorCredential
	op.source = token.NewSource(func(ctx context.Context) (string, time.Time, error) {
		asked := time.Now()
		res, err := op.Tokens.IssueToken(ctx, &authv1.IssueTokenRequest{ClientId: credential.ID, ClientSecret: credential.Secret}, waitForReady)
		if err != nil {
			return "", time.Time{}, err
		}
		return res.GetAccessToken(), asked.Add(time.Duration(res.GetExpiresIn()) * time.Second), nil
	})
	return op
}

// As returns ctx for calls on behalf of a company (comp_…); "" means none.
func (op *Operator) As(ctx context.Context, company string) context.Context {
	c, err := id.Parse[id.Company](company)
	if err != nil {
		c = id.Company{}
	}
	return rpc.As(ctx, op.source, c)
}

// WithToken returns ctx for gRPC calls with the given access token.
func WithToken(ctx context.Context, raw string) context.Context {
	source := token.NewSource(func(context.Context) (string, time.Time, error) { return raw, time.Now().Add(time.Hour), nil })
	return rpc.As(ctx, source, id.Company{})
}

// Company is a company that a test uses.
type Company struct {
	ID string
	op *Operator
}

// NewCompany creates a company with the currency GBP.
func (op *Operator) NewCompany(t testing.TB, zone string) *Company {
	t.Helper()
	res, err := op.Companies.CreateCompany(op.As(t.Context(), ""), &authv1.CreateCompanyRequest{
		Name: "Company of " + t.Name(), Timezone: zone, Currency: "GBP",
	}, waitForReady)
	if err != nil {
		t.Fatalf("company: %v", err)
	}
	return &Company{ID: res.GetCompany().GetId(), op: op}
}

// Company returns an existing company.
func (op *Operator) Company(id string) *Company { return &Company{ID: id, op: op} }

// Ctx returns a context with which the operator makes calls on behalf of the company.
func (c *Company) Ctx(ctx context.Context) context.Context { return c.op.As(ctx, c.ID) }

// TestMode returns the company in test mode that belongs to the company.
func (c *Company) TestMode(t testing.TB) *Company {
	t.Helper()
	res, err := c.op.TestMode.EnableTestMode(c.Ctx(t.Context()), &authv1.EnableTestModeRequest{}, waitForReady)
	if err != nil {
		t.Fatalf("test mode: %v", err)
	}
	return c.op.Company(res.GetCompany().GetId())
}

// Operator returns the operator that created the company.
func (c *Company) Operator() *Operator { return c.op }

// AllScopes returns every scope of Interface A.
func AllScopes() []string {
	return []string{"customers:read", "profile:read", "profile:write", "bookings:read", "passes:read", "notes:read", "notes:write",
		"subscriptions:read", "media:read", "appointments:read"}
}

// NewClient creates an API client with the given scopes; none given means all.
func (c *Company) NewClient(t testing.TB, scopes ...string) Credential {
	t.Helper()
	if len(scopes) == 0 {
		scopes = AllScopes()
	}
	res, err := c.op.Clients.CreateApiClient(c.Ctx(t.Context()), &authv1.CreateApiClientRequest{Name: t.Name(), Scopes: scopes}, waitForReady)
	if err != nil {
		t.Fatalf("API client: %v", err)
	}
	return Credential{ID: res.GetApiClient().GetId(), Secret: res.GetClientSecret()}
}

// NewKey creates an API key with all permissions and a limit of requests in any 60 seconds; 0
// means the platform's default.
func (c *Company) NewKey(t testing.TB, limit int32) Credential {
	t.Helper()
	req := &authv1.CreateApiKeyRequest{Name: t.Name()}
	if limit > 0 {
		req.RateLimit = &limit
	}
	res, err := c.op.APIKeys.CreateApiKey(c.Ctx(t.Context()), req, waitForReady)
	if err != nil {
		t.Fatalf("API key: %v", err)
	}
	return Credential{ID: res.GetApiKey().GetId(), Secret: res.GetApiSecret()}
}

// NewCustomer adds a customer with the given names.
func (c *Company) NewCustomer(t testing.TB, first, last string) *customerv1.Customer {
	t.Helper()
	res, err := c.op.Customers.CreateCustomer(c.Ctx(t.Context()), &customerv1.CreateCustomerRequest{
		FirstName: first, LastName: last, Email: "somebody@example.com", Mobile: "+44 7700 900123",
	}, waitForReady)
	if err != nil {
		t.Fatalf("customer: %v", err)
	}
	return res.GetCustomer()
}

// importBatch is the number of items in each message of an import.
const importBatch = 2000

// ImportCustomers imports n customers with the references prefix0, prefix1, … and returns their
// identifiers in that order.
func (c *Company) ImportCustomers(t testing.TB, prefix string, n int) []string {
	t.Helper()
	stream, err := c.op.Customers.ImportCustomers(c.Ctx(t.Context()), waitForReady)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	var ids []string
	for from := 0; from < n; from += importBatch {
		req := &customerv1.ImportCustomersRequest{}
		for i := from; i < min(from+importBatch, n); i++ {
			req.Customers = append(req.Customers, &customerv1.ImportedCustomer{
				Reference: fmt.Sprint(prefix, i), FirstName: fmt.Sprint("Zoë ", i), LastName: "O'Brien-Ångström",
				Email: fmt.Sprintf("%s%d@example.com", prefix, i), Mobile: "+44 7700 900123", Archived: i%50 == 49,
			})
		}
		if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("import: %v", err)
		}
		res, err := stream.Recv()
		if err != nil {
			t.Fatalf("import: %v", err)
		}
		for _, r := range res.GetResults() {
			if r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
				t.Fatalf("import: %v", r)
			}
			ids = append(ids, r.GetId())
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("end of the import: %v", err)
	}
	return ids
}

// ImportTransactions imports purchases, fails t if one is refused, and returns their identifiers
// in the same order.
func (c *Company) ImportTransactions(t testing.TB, transactions ...*bookingv1.ImportedTransaction) []string {
	t.Helper()
	stream, err := c.op.Bookings.ImportTransactions(c.Ctx(t.Context()), waitForReady)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	var ids []string
	for from := 0; from < len(transactions); from += importBatch {
		req := &bookingv1.ImportTransactionsRequest{Transactions: transactions[from:min(from+importBatch, len(transactions))]}
		if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("import: %v", err)
		}
		res, err := stream.Recv()
		if err != nil {
			t.Fatalf("import: %v", err)
		}
		for _, r := range res.GetResults() {
			if r.GetOutcome() == bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
				t.Fatalf("import: %v", r)
			}
			ids = append(ids, r.GetId())
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("end of the import: %v", err)
	}
	return ids
}
