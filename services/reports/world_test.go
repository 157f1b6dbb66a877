package reports

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/reports/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakeAuth is a fake of the auth service that knows every company, in one zone.
type fakeAuth struct{ zone string }

func (f *fakeAuth) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	return tenancy.Company{ID: company, Timezone: f.zone, Currency: "GBP", Version: 1}, nil
}

// clock is the time of the service in a test.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) Now() time.Time { return *c.now.Load() }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

// world is the service with real gRPC and PostgreSQL, for one company, and fakes of the services that own
// the data.
type world struct {
	t           testing.TB
	db          *pg.DB
	server      *Server
	client      reportsv1.ReportServiceClient
	maintenance reportsv1.ReportMaintenanceServiceClient
	tests       authv1.TestDataServiceClient
	issuer      *tokentest.Issuer
	sources     *sources
	clock       *clock
	company     id.Company
	zone        string
}

// began is the time of the service at the start of a test.
var began = time.Date(2027, 3, 15, 12, 0, 0, 0, time.UTC)

func schema() pg.Migrations {
	return pg.Migrations{Part: "reports", FS: migrations.FS, AppRole: testkit.AppRole()}
}

// open starts the service on its own database. Tests that use it run in parallel.
func open(t testing.TB) *world {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	return openOn(t, testkit.DB(t, schema()))
}

// openOwned is open with a connection of the database's owner.
func openOwned(t *testing.T) (*world, *pgx.Conn) {
	t.Helper()
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, schema())
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close(context.Background()) })
	return openOn(t, db), owner
}

func openOn(t testing.TB, db *pg.DB) *world {
	t.Helper()
	w := &world{
		t: t, db: db, issuer: tokentest.New(t), sources: newSources(), clock: &clock{}, company: id.New[id.Company](), zone: "Europe/London",
	}
	w.clock.set(began)
	w.sources.now = w.clock.Now
	w.server = w.newServer()
	conn := w.serve(Policy(), func(srv *rpc.Server) {
		reportsv1.RegisterReportServiceServer(srv, w.server)
		reportsv1.RegisterReportMaintenanceServiceServer(srv, w.server)
		authv1.RegisterCompanyCopyServiceServer(srv, w.server.companies)
		authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(w.db, "progress"))
	})
	w.client, w.maintenance = reportsv1.NewReportServiceClient(conn), reportsv1.NewReportMaintenanceServiceClient(conn)
	w.tests = authv1.NewTestDataServiceClient(conn)
	return w
}

// newServer returns a replica of the service.
func (w *world) newServer() *Server {
	w.t.Helper()
	policy := rpc.PolicyOf(&bookingv1.BookingSnapshotService_ServiceDesc, &passv1.PassSnapshotService_ServiceDesc,
		&subscriptionv1.SubscriptionSnapshotService_ServiceDesc, &customerv1.CustomerSnapshotService_ServiceDesc,
		&outboxv1.OutboxService_ServiceDesc)
	conn := w.serve(policy, func(srv *rpc.Server) {
		bookingv1.RegisterBookingSnapshotServiceServer(srv, w.sources)
		passv1.RegisterPassSnapshotServiceServer(srv, w.sources)
		subscriptionv1.RegisterSubscriptionSnapshotServiceServer(srv, w.sources)
		customerv1.RegisterCustomerSnapshotServiceServer(srv, w.sources)
		outboxv1.RegisterOutboxServiceServer(srv, w.sources)
	})
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return w.issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	companies := NewCompanies(w.db, &fakeAuth{zone: w.zone})
	s := NewServer(w.db, companies, NewSnapshots(conn, conn, conn, conn, source), testkit.Log(w.t))
	s.now, s.intake.now, s.builder.now = w.clock.Now, w.clock.Now, w.clock.Now
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

// ctx returns the context of a caller of the company.
func (w *world) ctx() context.Context {
	return w.with(w.issuer.Client(w.company, "reports:read", "reports:write", "test-mode:write"))
}

// admin returns the context of an operator, for the company.
func (w *world) admin() context.Context {
	return rpc.WithCompany(w.with(w.issuer.Admin()), w.company)
}

func (w *world) with(raw string) context.Context {
	w.t.Helper()
	claims, err := w.issuer.Verifier.Verify(w.t.Context(), raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(w.t.Context(), claims)
}

// handle applies events with the server of the world.
func (w *world) handle(msgs ...bus.Message) {
	w.t.Helper()
	if len(msgs) == 0 {
		return
	}
	if err := w.server.intake.handle(w.t.Context(), msgs); err != nil {
		w.t.Fatal(err)
	}
}

// build builds everything that is due.
func (w *world) build() {
	w.t.Helper()
	if err := w.server.builder.buildOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// rebuild builds the read models again.
func (w *world) rebuild() {
	w.t.Helper()
	if _, err := w.maintenance.RebuildReports(w.ctx(), &reportsv1.RebuildReportsRequest{}); err != nil {
		w.t.Fatal(err)
	}
	w.build()
}

func (w *world) status() *reportsv1.ReportStatus {
	w.t.Helper()
	res, err := w.maintenance.GetReportStatus(w.ctx(), &reportsv1.GetReportStatusRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetStatus()
}

// verified is what VerifyReports streams.
type verified struct {
	differences []*reportsv1.ReportDifference
	facts       []*reportsv1.ReportFact
	checked     int64
}

func (w *world) verified() (v verified) {
	w.t.Helper()
	stream, err := w.maintenance.VerifyReports(w.admin(), &reportsv1.VerifyReportsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return v
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if res.GetDifference() != nil {
			v.differences = append(v.differences, res.GetDifference())
		}
		v.facts = append(v.facts, res.GetFacts()...)
		v.checked += res.GetChecked()
	}
}

// verify fails the test for every sum that differs from the one computed from the facts (invariant 1).
func (w *world) verify() verified {
	w.t.Helper()
	v := w.verified()
	for i, d := range v.differences {
		if i < 20 {
			w.t.Errorf("%v", d)
		}
	}
	return v
}

// exec runs a statement over all companies.
func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
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
