package reservectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

const (
	companyID = "comp_01jbqk2m3n4p5q6r7s8t9v0w1x"
	rawToken  = "token-t0ps3cret"
	secret    = "secret-t0ps3cret"
)

// world is a fake of the services over real gRPC that records the requests it receives. The
// end-to-end tests run the same commands against the real services.
type world struct {
	authv1.UnimplementedCompanyServiceServer
	authv1.UnimplementedApiClientServiceServer
	authv1.UnimplementedTokenServiceServer
	customerv1.UnimplementedCustomerServiceServer
	bookingv1.UnimplementedBookingServiceServer

	dir      string
	file     string // the credentials.json
	webhooks *webhookWorld
	builds   *buildWorld
	plans    *planWorld
	library  *libraryWorld
	salon    *salonWorld

	mu        sync.Mutex
	customers map[string]*customerv1.ImportedCustomer
	purchases map[string]*bookingv1.ImportedTransaction
	batches   []int
	cutAfter  int // number of batches after which the stream fails; 0: never
	made      *authv1.CreateCompanyRequest
	client    *authv1.CreateApiClientRequest
	rotated   *authv1.RotateApiClientSecretRequest
	changed   *authv1.UpdateApiClientRequest
	companies []*authv1.Company
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		dir: t.TempDir(), webhooks: &webhookWorld{}, builds: &buildWorld{}, plans: &planWorld{}, library: newLibraryWorld(t),
		salon:     &salonWorld{hours: map[string]*bookingv1.SetWorkingHoursRequest{}, imported: map[string]*bookingv1.ImportedAppointment{}},
		customers: map[string]*customerv1.ImportedCustomer{}, purchases: map[string]*bookingv1.ImportedTransaction{},
		companies: []*authv1.Company{{Id: companyID, Name: "Jóga & Þór 瑜伽", Timezone: "Europe/London", Currency: "GBP"}},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	authv1.RegisterCompanyServiceServer(srv, w)
	authv1.RegisterApiClientServiceServer(srv, w)
	authv1.RegisterTokenServiceServer(srv, w)
	customerv1.RegisterCustomerServiceServer(srv, w)
	bookingv1.RegisterBookingServiceServer(srv, w)
	bookingv1.RegisterStaffServiceServer(srv, w.salon)
	bookingv1.RegisterRoomServiceServer(srv, w.salon)
	bookingv1.RegisterAppointmentTypeServiceServer(srv, w.salon)
	bookingv1.RegisterAppointmentServiceServer(srv, w.salon)
	webhookv1.RegisterWebhookServiceServer(srv, w.webhooks)
	subscriptionv1.RegisterPlanServiceServer(srv, w.plans)
	subscriptionv1.RegisterSubscriptionServiceServer(srv, w.plans)
	mediav1.RegisterMediaServiceServer(srv, w.library)
	reportsv1.RegisterReportMaintenanceServiceServer(srv, w.builds)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() { srv.Stop(); <-done })
	addr := l.Addr().String()
	text, err := json.Marshal(map[string]any{"company_id": companyID, "grpc": map[string]any{
		"auth": addr, "customer": addr, "booking": addr, "subscription": addr, "media": addr, "reports": addr, "webhook": addr, "service_token": rawToken,
		"service_credential": map[string]any{"id": "svc_1", "secret": secret},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.file = w.write(t, "credentials.json", string(text))
	t.Setenv("RESERVATION_CREDENTIALS", w.file)
	t.Setenv("RESERVATION_TOKEN", "")
	return w
}

func (w *world) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// result is the result of a command.
type result struct {
	code        int
	out, errOut string
}

func run(t *testing.T, input string, args ...string) result {
	t.Helper()
	return runUntil(t.Context(), strings.NewReader(input), args...)
}

func runUntil(ctx context.Context, in io.Reader, args ...string) result {
	var out, errOut bytes.Buffer
	code := Main(ctx, args, in, &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// ok runs a command that must succeed, and returns its output.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	r := run(t, "", args...)
	if r.code != 0 {
		t.Fatalf("%v: exit status %d: %s", args, r.code, r.errOut)
	}
	return r.out
}

type counts struct {
	Read, Created, Existed, Refused int
	Report                          string
}

func summed(t *testing.T, r result) counts {
	t.Helper()
	var c counts
	if err := json.Unmarshal([]byte(r.out), &c); err != nil {
		t.Fatalf("exit status %d: %v in %q; %s", r.code, err, r.out, r.errOut)
	}
	return c
}

func (w *world) IssueToken(context.Context, *authv1.IssueTokenRequest) (*authv1.IssueTokenResponse, error) {
	return &authv1.IssueTokenResponse{AccessToken: rawToken, ExpiresIn: 3600}, nil
}

func (w *world) CreateCompany(_ context.Context, req *authv1.CreateCompanyRequest) (*authv1.CreateCompanyResponse, error) {
	w.made = req
	if req.GetName() == "refused" {
		return nil, fault.Status(fault.InvalidFields(
			fault.Field{Field: "timezone", Rule: "timezone", Message: "must be an IANA time zone, as Europe/London"},
			fault.Field{Field: "currency", Rule: "enum", Message: fault.OneOf(money.Currencies())},
		)).Err()
	}
	return &authv1.CreateCompanyResponse{Company: &authv1.Company{
		Id: companyID, Name: req.GetName(), Timezone: req.GetTimezone(), Currency: req.GetCurrency(),
	}}, nil
}

func (w *world) GetCompany(context.Context, *authv1.GetCompanyRequest) (*authv1.GetCompanyResponse, error) {
	return &authv1.GetCompanyResponse{Company: w.companies[0]}, nil
}

// ListCompanies returns one company a page.
func (w *world) ListCompanies(_ context.Context, req *authv1.ListCompaniesRequest) (*authv1.ListCompaniesResponse, error) {
	at := len(req.GetPageToken())
	res := &authv1.ListCompaniesResponse{}
	if at < len(w.companies) {
		res.Companies = w.companies[at : at+1]
	}
	if at+1 < len(w.companies) {
		res.NextPageToken = strings.Repeat("x", at+1)
	}
	return res, nil
}

func (w *world) CreateApiClient(_ context.Context, req *authv1.CreateApiClientRequest) (*authv1.CreateApiClientResponse, error) {
	w.client = req
	return &authv1.CreateApiClientResponse{
		ApiClient: &authv1.ApiClient{Id: "m2m_1", Name: req.GetName(), Scopes: req.GetScopes()}, ClientSecret: secret,
	}, nil
}

func (w *world) RotateApiClientSecret(_ context.Context, req *authv1.RotateApiClientSecretRequest) (*authv1.RotateApiClientSecretResponse, error) {
	w.rotated = req
	res := &authv1.RotateApiClientSecretResponse{ApiClient: &authv1.ApiClient{Id: req.GetId()}, ClientSecret: secret}
	if days := req.GetOverlapDays(); days > 0 {
		res.ApiClient.PreviousSecretExpiresAt = timestamppb.New(time.Date(2026, 3, 29+int(days), 9, 30, 0, 0, time.UTC))
	}
	return res, nil
}

func (w *world) UpdateApiClient(_ context.Context, req *authv1.UpdateApiClientRequest) (*authv1.UpdateApiClientResponse, error) {
	w.changed = req
	return &authv1.UpdateApiClientResponse{ApiClient: &authv1.ApiClient{Id: req.GetId(), AllowedNetworks: req.GetAllowedNetworks().GetValues()}}, nil
}

func (w *world) ListApiClients(context.Context, *authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
	return &authv1.ListApiClientsResponse{ApiClients: []*authv1.ApiClient{{Id: "m2m_1", Name: "Þ", Scopes: []string{"customers:read"}}}}, nil
}

// cut records a batch of n items and reports whether the stream is to fail before its answer.
func (w *world) cut(n int) bool {
	w.batches = append(w.batches, n)
	return w.cutAfter > 0 && len(w.batches) >= w.cutAfter
}

func (w *world) ImportCustomers(stream grpc.BidiStreamingServer[customerv1.ImportCustomersRequest, customerv1.ImportCustomersResponse]) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		res, cut := w.storeCustomers(req)
		if cut { // the batch is stored, but the answer is lost
			return fault.Status(fault.Away(errors.New("cut"))).Err()
		}
		if err := stream.Send(res); err != nil {
			return err
		}
	}
}

// BatchGetCustomers returns the customers with the given references.
func (w *world) BatchGetCustomers(_ context.Context, req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	res := &customerv1.BatchGetCustomersResponse{}
	for _, reference := range req.GetReferences() {
		if w.customers[reference] != nil {
			res.Customers = append(res.Customers, &customerv1.Customer{Id: "cust_of_" + reference, Reference: reference})
		}
	}
	return res, nil
}

func (w *world) storeCustomers(req *customerv1.ImportCustomersRequest) (*customerv1.ImportCustomersResponse, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	res := &customerv1.ImportCustomersResponse{}
	for _, c := range req.GetCustomers() {
		r := &customerv1.ImportCustomerResult{Reference: c.GetReference(), Outcome: customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
		switch {
		case !strings.Contains(c.GetEmail(), "@"):
			r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED
			r.Field, r.Rule, r.Message = "email", "format", "must be an email address"
		case w.customers[c.GetReference()] != nil:
			r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
		default:
			w.customers[c.GetReference()] = c
		}
		res.Results = append(res.Results, r)
	}
	return res, w.cut(len(req.GetCustomers()))
}

func (w *world) ImportTransactions(stream grpc.BidiStreamingServer[bookingv1.ImportTransactionsRequest, bookingv1.ImportTransactionsResponse]) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(w.storePurchases(req)); err != nil {
			return err
		}
	}
}

func (w *world) storePurchases(req *bookingv1.ImportTransactionsRequest) *bookingv1.ImportTransactionsResponse {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut(len(req.GetTransactions()))
	res := &bookingv1.ImportTransactionsResponse{}
	for _, p := range req.GetTransactions() {
		r := &bookingv1.ImportTransactionResult{Reference: p.GetReference(), Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
		switch {
		case p.GetCustomer() == "nobody":
			r.Outcome = bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED
			r.Field, r.Rule, r.Message = "customer", "exists", "customer does not exist"
		case w.purchases[p.GetReference()] != nil:
			r.Outcome = bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
		default:
			w.purchases[p.GetReference()] = p
		}
		res.Results = append(res.Results, r)
	}
	return res
}
