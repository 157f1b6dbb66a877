package customer

import (
	"context"
	"net"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	"reservation.dev/services/customer/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is the service on gRPC and PostgreSQL, for one company.
type world struct {
	t         testing.TB
	db        *pg.DB
	server    *Server
	client    customerv1.CustomerServiceClient
	notes     customerv1.NoteServiceClient
	snapshots customerv1.CustomerSnapshotServiceClient
	issuer    *tokentest.Issuer
	auth      *fakeAuth
	confirmer *fakeConfirmer
	company   id.Company
}

// open starts the service on its own database; tests that call it run in parallel.
func open(t testing.TB) *world {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	w := &world{
		t: t, db: testkit.DB(t, pg.Migrations{Part: "customer", FS: migrations.FS, AppRole: testkit.AppRole()}),
		issuer: tokentest.New(t), auth: &fakeAuth{}, confirmer: &fakeConfirmer{}, company: id.New[id.Company](),
	}
	companies := NewCompanies(w.db, w.auth)
	w.server = NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), companies, w.confirmer)
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: w.issuer.Verifier, Policy: Policy(), Idempotency: idem.WithKey})
	customerv1.RegisterCustomerServiceServer(srv, w.server)
	customerv1.RegisterNoteServiceServer(srv, Notes{Server: w.server})
	customerv1.RegisterCustomerSnapshotServiceServer(srv, w.server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(outbox.New(w.db, nil, testkit.Log(t), time.Now)))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(w.db))
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
	w.client, w.notes = customerv1.NewCustomerServiceClient(conn), customerv1.NewNoteServiceClient(conn)
	w.snapshots = customerv1.NewCustomerSnapshotServiceClient(conn)
	return w
}

// as returns a context of a caller of a company.
func (w *world) as(company id.Company, scopes ...string) context.Context {
	w.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"customers:read", "customers:write", "notes:read", "notes:write"}
	}
	claims, err := w.issuer.Verifier.Verify(w.t.Context(), w.issuer.Client(company, scopes...))
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(w.t.Context(), claims)
}

func (w *world) ctx() context.Context { return w.as(w.company) }

func (w *world) create(first string) *customerv1.Customer {
	w.t.Helper()
	res, err := w.client.CreateCustomer(w.ctx(), &customerv1.CreateCustomerRequest{FirstName: first, LastName: "O'Brien", Email: "a@example.com"})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetCustomer()
}

// events returns the number of events of a subject in the outbox.
func (w *world) events(subject string) int {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), `select count(*) from outbox where subject = $1`, subject)
	if err != nil {
		w.t.Fatal(err)
	}
	return int(n)
}

// total returns the total of the list, and checks it against the rows.
func (w *world) total() int64 {
	w.t.Helper()
	res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{PageSize: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	rows, err := pg.One[int64](w.t.Context(), w.db, pg.For(w.company), `select count(*) from customers where company_id = $1 and deleted_at is null`, w.company)
	if err != nil || rows != res.GetTotal() {
		w.t.Errorf("the total is %d, there are %d rows (%v)", res.GetTotal(), rows, err)
	}
	return res.GetTotal()
}

func ptr[T any](v T) *T { return &v }

// execUnlimited runs a statement that can take longer than the statement timeout.
func execUnlimited(ctx context.Context, tx *pg.Tx, sql string, args ...any) error {
	if _, err := tx.Exec(ctx, `set local statement_timeout = 0`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sql, args...)
	return err
}
