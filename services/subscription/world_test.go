package subscription

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"

	"reservation.dev/devkit/customertest"
	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakeAuth is a fake of the auth service that knows every company.
type fakeAuth struct{}

func (f *fakeAuth) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	return tenancy.Company{ID: company, Timezone: "Europe/London", Currency: "GBP", Version: 1}, nil
}

// clock is the time of the service in a test.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) Now() time.Time { return *c.now.Load() }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

// world is the service with real gRPC and PostgreSQL, for one company.
type world struct {
	t         testing.TB
	db        *pg.DB
	server    *Server
	plans     subscriptionv1.PlanServiceClient
	client    subscriptionv1.SubscriptionServiceClient
	tests     authv1.TestDataServiceClient
	deletions customerv1.CustomerDeletionServiceClient
	exports   privacyv1.PersonalDataServiceClient
	snapshots subscriptionv1.SubscriptionSnapshotServiceClient
	issuer    *tokentest.Issuer
	customers *customertest.Fake
	passes    *fakePasses
	media     fakeMedia
	clock     *clock
	company   id.Company
	owner     *pgx.Conn // of the database; nil unless openOwned opened the world
}

// fakeMedia is a fake of the media service, with the companies of collections.
type fakeMedia map[id.Collection]id.Company

func (f fakeMedia) Missing(_ context.Context, company id.Company, collections []id.Collection) (bool, error) {
	return slices.ContainsFunc(collections, func(c id.Collection) bool { return f[c] != company }), nil
}

// began is the time of the service at the start of a test: noon of a Monday in London.
var began = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// open starts the service on its own database. Tests that use it run in parallel.
func open(t testing.TB) *world {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	return openOn(t, testkit.DB(t, schema()))
}

// openOwned is open with a connection of the database's owner, who can write what the service cannot.
func openOwned(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, schema())
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := openOn(t, db)
	if w.owner, err = pgx.Connect(t.Context(), ownerURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.owner.Close(context.Background()) })
	return w
}

func schema() pg.Migrations {
	return pg.Migrations{Part: "subscription", FS: migrations.FS, AppRole: testkit.AppRole()}
}

func openOn(t testing.TB, db *pg.DB) *world {
	t.Helper()
	w := &world{
		t: t, db: db, issuer: tokentest.New(t), passes: newFakePasses(), clock: &clock{}, company: id.New[id.Company](),
		media: fakeMedia{}, customers: customertest.New(),
	}
	w.clock.set(began)
	w.server = w.newServer(db)
	conn := w.serve(Policy(), func(srv *rpc.Server) {
		subscriptionv1.RegisterPlanServiceServer(srv, w.server)
		subscriptionv1.RegisterSubscriptionServiceServer(srv, w.server)
		subscriptionv1.RegisterSubscriptionSnapshotServiceServer(srv, w.server)
		authv1.RegisterCompanyCopyServiceServer(srv, w.server.companies)
		outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(outbox.New(db, nil, testkit.Log(t), time.Now)))
		authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(db))
		customerv1.RegisterCustomerDeletionServiceServer(srv, w.server)
		privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(db))
	})
	w.plans, w.client = subscriptionv1.NewPlanServiceClient(conn), subscriptionv1.NewSubscriptionServiceClient(conn)
	w.tests, w.deletions = authv1.NewTestDataServiceClient(conn), customerv1.NewCustomerDeletionServiceClient(conn)
	w.exports = privacyv1.NewPersonalDataServiceClient(conn)
	w.snapshots = subscriptionv1.NewSubscriptionSnapshotServiceClient(conn)
	return w
}

// newServer returns a replica of the service, which calls the fake of the pass service over gRPC.
func (w *world) newServer(db *pg.DB) *Server {
	w.t.Helper()
	conn := w.serve(rpc.PolicyOf(&passv1.PassService_ServiceDesc, &passv1.SubscriptionPassService_ServiceDesc), func(srv *rpc.Server) {
		passv1.RegisterPassServiceServer(srv, w.passes)
		passv1.RegisterSubscriptionPassServiceServer(srv, w.passes)
	})
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return w.issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	log := testkit.Log(w.t)
	s := NewServer(db, outbox.New(db, nil, log, time.Now), NewCompanies(db, &fakeAuth{}), w.customers, NewPasses(conn, source), w.media, log)
	s.now = w.clock.Now
	// A busy machine must not make a request leave a state to the job, or a job stop early.
	s.limits = limits{syncWait: time.Minute, syncTime: time.Minute, runTime: time.Minute}
	return s
}

// serve serves gRPC services and returns a connection to them.
func (w *world) serve(policy rpc.Policy, register func(*rpc.Server)) *grpc.ClientConn {
	w.t.Helper()
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(w.t), Verifier: w.issuer.Verifier, Policy: policy, Idempotency: idem.WithKey})
	register(srv)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	w.t.Cleanup(srv.Stop)
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Timeout: time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// of returns a world for another company on the same server.
func (w *world) of(company id.Company) *world {
	other := *w
	other.company = company
	return &other
}

// ctx returns the context of a caller with every scope of the service.
func (w *world) ctx() context.Context {
	w.t.Helper()
	return w.with(w.issuer.Client(w.company, "plans:read", "plans:write", "subscriptions:read", "subscriptions:write"))
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

// tenCredits is a plan with ten credits for £50 a month, of which three can move to the next month.
func tenCredits() *subscriptionv1.CreatePlanRequest {
	return &subscriptionv1.CreatePlanRequest{
		Title: "Ten a month", Price: 5000, IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, Credits: 10, MaxRollover: 3,
	}
}

func (w *world) plan(changes ...func(*subscriptionv1.CreatePlanRequest)) *subscriptionv1.Plan {
	w.t.Helper()
	req := tenCredits()
	for _, change := range changes {
		change(req)
	}
	res, err := w.plans.CreatePlan(w.ctx(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetPlan()
}

// subscribe starts a paid subscription of a new customer.
func (w *world) subscribe(plan *subscriptionv1.Plan, changes ...func(*subscriptionv1.CreateSubscriptionRequest)) *subscriptionv1.Subscription {
	w.t.Helper()
	req := &subscriptionv1.CreateSubscriptionRequest{CustomerId: w.customer(), PlanId: plan.GetId()}
	if plan.GetTrialDays() == 0 && plan.GetPrice() > 0 {
		req.Payment = &subscriptionv1.SubscriptionPayment{Method: "CARD", Reference: "of the first period"}
	}
	for _, change := range changes {
		change(req)
	}
	res, err := w.client.CreateSubscription(w.ctx(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetSubscription()
}

// unpaid leaves out the payment of the first period.
func unpaid(r *subscriptionv1.CreateSubscriptionRequest) { r.Payment = nil }

func (w *world) get(subscription string) *subscriptionv1.Subscription {
	w.t.Helper()
	res, err := w.client.GetSubscription(w.ctx(), &subscriptionv1.GetSubscriptionRequest{Id: subscription})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetSubscription()
}

func (w *world) periods(subscription string) []*subscriptionv1.Period {
	w.t.Helper()
	res, err := w.client.ListPeriods(w.ctx(), &subscriptionv1.ListPeriodsRequest{SubscriptionId: subscription, PageSize: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetPeriods()
}

// pay records the payment of the oldest period with an amount due.
func (w *world) pay(subscription string) *subscriptionv1.Subscription {
	w.t.Helper()
	res, err := w.client.RecordPayment(w.ctx(), &subscriptionv1.RecordPaymentRequest{Id: subscription, Payment: &subscriptionv1.SubscriptionPayment{}})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetSubscription()
}

// at sets the clock and runs the jobs until they have nothing to do.
func (w *world) at(now time.Time) {
	w.t.Helper()
	w.clock.set(now)
	w.jobs()
}

// jobs runs the jobs until they have nothing to do.
func (w *world) jobs() {
	w.t.Helper()
	for range 1000 {
		due, err := w.server.due(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if !slices.Contains(due, true) {
			return
		}
		if err := w.server.runOnce(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Fatal("the jobs always find more work")
}

// differences returns what VerifySubscriptions reports.
func (w *world) differences() (found []*subscriptionv1.SubscriptionDifference, checked int64) {
	w.t.Helper()
	stream, err := w.client.VerifySubscriptions(w.ctx(), &subscriptionv1.VerifySubscriptionsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found, checked
		}
		if err != nil {
			w.t.Fatal(err)
		}
		checked += res.GetChecked()
		if diff := res.GetDifference(); diff != nil {
			found = append(found, diff)
		}
	}
}

// verify fails the test for every stored value that differs from the one computed from the rows.
func (w *world) verify() {
	w.t.Helper()
	found, checked := w.differences()
	for _, diff := range found {
		w.t.Errorf("%v", diff)
	}
	if checked == 0 {
		w.t.Error("nothing was checked")
	}
}

// write runs a statement of the company; its first argument is the company.
func (w *world) write(sql string, more ...any) {
	w.t.Helper()
	if err := w.tryWrite(sql, more...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tryWrite(sql string, more ...any) error {
	return w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sql, append([]any{w.company}, more...)...)
		return err
	})
}

// count runs a query for a number, over all companies.
func (w *world) count(sql string, args ...any) int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), sql, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

func wantReason(t testing.TB, err error, want string) {
	t.Helper()
	if got := reason(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}
