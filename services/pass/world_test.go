package pass

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"reservation.dev/devkit/customertest"
	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/services/pass/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakeAuth is a fake of the auth service that knows every company.
type fakeAuth struct {
	down  error
	moved *tenancy.Company
}

func (f *fakeAuth) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	if f.down != nil {
		return tenancy.Company{}, rpc.OwnError("auth", fault.Away(f.down))
	}
	if f.moved != nil {
		return *f.moved, nil
	}
	return tenancy.Company{ID: company, Timezone: "America/New_York", Currency: "USD", Version: 1}, nil
}

// world is the service with real gRPC and PostgreSQL, for one company.
type world struct {
	t      testing.TB
	db     *pg.DB
	server *Server
	client passv1.PassServiceClient
	// subscriptions is called as the subscription service calls it.
	subscriptions passv1.SubscriptionPassServiceClient
	snapshots     passv1.PassSnapshotServiceClient
	copies        authv1.CompanyCopyServiceClient
	deletions     customerv1.CustomerDeletionServiceClient
	issuer        *tokentest.Issuer
	customers     *customertest.Fake
	auth          *fakeAuth
	company       id.Company
}

// open starts the service on its own database. Tests that use it run in parallel.
func open(t testing.TB) *world {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	w := &world{
		t: t, db: testkit.DB(t, pg.Migrations{Part: "pass", FS: migrations.FS, AppRole: testkit.AppRole()}),
		issuer: tokentest.New(t), auth: &fakeAuth{}, customers: customertest.New(), company: id.New[id.Company](),
	}
	companies := NewCompanies(w.db, w.auth)
	w.server = NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), companies, w.customers)
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: w.issuer.Verifier, Policy: Policy(), Idempotency: idem.WithKey})
	passv1.RegisterPassServiceServer(srv, w.server)
	passv1.RegisterSubscriptionPassServiceServer(srv, w.server)
	passv1.RegisterPassSnapshotServiceServer(srv, w.server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(outbox.New(w.db, nil, testkit.Log(t), time.Now)))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(w.db))
	customerv1.RegisterCustomerDeletionServiceServer(srv, w.server)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w.client, w.copies = passv1.NewPassServiceClient(conn), authv1.NewCompanyCopyServiceClient(conn)
	w.subscriptions = passv1.NewSubscriptionPassServiceClient(conn)
	w.snapshots = passv1.NewPassSnapshotServiceClient(conn)
	w.deletions = customerv1.NewCustomerDeletionServiceClient(conn)
	return w
}

// as returns the context of a caller of a company, with every scope of the service.
func (w *world) as(company id.Company) context.Context {
	w.t.Helper()
	return w.with(w.issuer.Client(company, "passes:read", "passes:write", "customer-passes:read", "customer-passes:write", "redemptions:write"))
}

// with returns the context of a caller with a token.
func (w *world) with(raw string) context.Context {
	w.t.Helper()
	claims, err := w.issuer.Verifier.Verify(w.t.Context(), raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(w.t.Context(), claims)
}

func (w *world) customer() string {
	customer := id.New[id.Customer]()
	w.customers.Add(w.company, customer)
	return customer.String()
}

func tenClasses() *passv1.CreatePassTypeRequest {
	return &passv1.CreatePassTypeRequest{
		Title: "Ten Classes", TotalUses: 10, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
		Price: 11000, EligibleEventTypes: []string{"class", "class"},
	}
}

func (w *world) passType() *passv1.PassType {
	w.t.Helper()
	res, err := w.client.CreatePassType(w.as(w.company), tenClasses())
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetPassType()
}

func (w *world) assign(start string) *passv1.CustomerPass {
	w.t.Helper()
	res, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{
		CustomerId: w.customer(), PassTypeId: w.passType().GetId(), StartDate: start,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetCustomerPass()
}

// give assigns a pass to a customer. It creates the pass type if necessary.
func (w *world) give(customer string, change func(*passv1.CreatePassTypeRequest)) *passv1.CustomerPass {
	w.t.Helper()
	req := tenClasses()
	req.EligibleEventTypes = nil
	if change != nil {
		change(req)
	}
	made, err := w.client.CreatePassType(w.as(w.company), req)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: made.GetPassType().GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetCustomerPass()
}

func newTransaction() string { return id.New[id.Transaction]().String() }

// redeemRequest returns a redemption of bookings of classes with these costs in credits.
func redeemRequest(customer, pass string, credits ...int32) *passv1.RedeemCreditsRequest {
	req := &passv1.RedeemCreditsRequest{RedemptionId: newTransaction(), CustomerId: customer, CustomerPassId: pass}
	for _, n := range credits {
		req.Items = append(req.Items, &passv1.RedemptionItem{ItemId: id.New[id.Booking]().String(), EventType: "class", Credits: n})
	}
	return req
}

func (w *world) redeem(req *passv1.RedeemCreditsRequest) (*passv1.RedeemCreditsResponse, error) {
	return w.client.RedeemCredits(w.as(w.company), req)
}

func (w *world) mustRedeem(req *passv1.RedeemCreditsRequest) *passv1.RedeemCreditsResponse {
	w.t.Helper()
	res, err := w.redeem(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

func (w *world) get(pass string) *passv1.CustomerPass {
	w.t.Helper()
	res, err := w.client.GetCustomerPass(w.as(w.company), &passv1.GetCustomerPassRequest{Id: pass})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetCustomerPass()
}

func (w *world) ledger(pass string) []*passv1.LedgerEntry {
	w.t.Helper()
	res, err := w.client.ListLedgerEntries(w.as(w.company), &passv1.ListLedgerEntriesRequest{CustomerPassId: pass, PageSize: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetEntries()
}

func (w *world) update(req *passv1.UpdateCustomerPassRequest) *passv1.CustomerPass {
	w.t.Helper()
	res, err := w.client.UpdateCustomerPass(w.as(w.company), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetCustomerPass()
}

// verify fails the test for every stored number that differs from the rows.
func (w *world) verify() (checked int64) {
	w.t.Helper()
	stream, err := w.client.VerifyPasses(w.as(w.company), &passv1.VerifyPassesRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return checked
		}
		if err != nil {
			w.t.Fatal(err)
		}
		checked += res.GetChecked()
		if diff := res.GetDifference(); diff != nil {
			w.t.Errorf("%v", diff)
		}
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}
