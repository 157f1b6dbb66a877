package booking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

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
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/booking/migrations"
	"reservation.dev/services/booking/model"
)

// world is the service with real gRPC and PostgreSQL, and one company.
type world struct {
	t            testing.TB
	db           *pg.DB
	server       *Server
	ahead        atomic.Int64 // how far the server's clock is ahead, as a time.Duration
	conn         *grpc.ClientConn
	bookings     bookingv1.BookingServiceClient
	events       bookingv1.EventServiceClient
	issuer       *tokentest.Issuer
	customers    *fakeCustomers
	companies    *fakeCompanies
	passes       *fakePasses
	discounts    bookingv1.DiscountServiceClient
	verifier     bookingv1.VerificationServiceClient
	changes      bookingv1.BookingChangeServiceClient
	snapshots    bookingv1.BookingSnapshotServiceClient
	waitlist     bookingv1.WaitlistServiceClient
	staffClient  bookingv1.StaffServiceClient
	roomClient   bookingv1.RoomServiceClient
	typeClient   bookingv1.AppointmentTypeServiceClient
	appointments bookingv1.AppointmentServiceClient
	company      id.Company
	// ctx carries a token of the company with every scope of the service.
	ctx context.Context
}

func schema() pg.Migrations { return pg.Migrations{Part: "booking", FS: migrations.FS} }

// serveOn registers srv on its own server and returns a connection to it.
func serveOn(t testing.TB, srv *rpc.Server) *grpc.ClientConn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(rpc.MaxMessage), grpc.MaxCallSendMsgSize(rpc.MaxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); srv.Stop(); <-done })
	return conn
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, testkit.DB(t, schema()))
}

func newWorldOn(t testing.TB, db *pg.DB) *world {
	t.Helper()
	w := &world{
		t: t, db: db, issuer: tokentest.New(t), company: id.New[id.Company](),
		customers: &fakeCustomers{known: map[id.Customer]model.CustomerRecord{}}, companies: &fakeCompanies{},
		passes: newFakePasses(),
	}
	copies := NewCompanies(w.db, w.companies)
	w.server = NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), w.customers, copies, w.passes)
	w.server.now = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	srv := rpc.NewServer(rpc.ServerOptions{
		Log: testkit.Log(t), Verifier: w.issuer.Verifier, Policy: Policy(), Idempotency: idem.WithKey,
	})
	bookingv1.RegisterBookingServiceServer(srv, w.server)
	bookingv1.RegisterEventServiceServer(srv, w.server)
	bookingv1.RegisterDiscountServiceServer(srv, w.server)
	bookingv1.RegisterVerificationServiceServer(srv, w.server)
	bookingv1.RegisterWaitlistServiceServer(srv, w.server)
	bookingv1.RegisterCalendarServiceServer(srv, w.server)
	bookingv1.RegisterBookingChangeServiceServer(srv, w.server)
	bookingv1.RegisterOwnClassServiceServer(srv, w.server)
	bookingv1.RegisterBookingSnapshotServiceServer(srv, w.server)
	bookingv1.RegisterAppointmentServiceServer(srv, w.server)
	bookingv1.RegisterStaffServiceServer(srv, w.server)
	bookingv1.RegisterRoomServiceServer(srv, w.server)
	bookingv1.RegisterAppointmentTypeServiceServer(srv, w.server)
	authv1.RegisterCompanyCopyServiceServer(srv, copies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(outbox.New(w.db, nil, testkit.Log(t), time.Now)))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(w.db))
	customerv1.RegisterCustomerDeletionServiceServer(srv, w.server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(w.db))
	w.conn = serveOn(t, srv)
	w.bookings, w.events = bookingv1.NewBookingServiceClient(w.conn), bookingv1.NewEventServiceClient(w.conn)
	w.discounts, w.verifier = bookingv1.NewDiscountServiceClient(w.conn), bookingv1.NewVerificationServiceClient(w.conn)
	w.changes = bookingv1.NewBookingChangeServiceClient(w.conn)
	w.snapshots = bookingv1.NewBookingSnapshotServiceClient(w.conn)
	w.waitlist = bookingv1.NewWaitlistServiceClient(w.conn)
	w.appointments = bookingv1.NewAppointmentServiceClient(w.conn)
	w.staffClient, w.roomClient = bookingv1.NewStaffServiceClient(w.conn), bookingv1.NewRoomServiceClient(w.conn)
	w.typeClient = bookingv1.NewAppointmentTypeServiceClient(w.conn)
	w.ctx = w.as(w.company)
	return w
}

// shift sets the server's clock ahead of the real one. Background work can read the clock at the
// same time.
func (w *world) shift(ahead time.Duration) { w.ahead.Store(int64(ahead)) }

// as returns a context with a token of the company.
func (w *world) as(company id.Company) context.Context {
	return bearer(w.t.Context(), w.issuer.Client(company, "bookings:read", "bookings:write", "events:read", "events:write", "discounts:read", "discounts:write",
		"staff:read", "staff:write", "rooms:read", "rooms:write", "appointment-types:read", "appointment-types:write", "appointments:read", "appointments:write"))
}

func bearer(ctx context.Context, raw string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+raw)
}

func withKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "idempotency-key", key)
}

// asPlatform returns a context with a platform credential that acts for company.
func (w *world) asPlatform(company id.Company) context.Context {
	return metadata.AppendToOutgoingContext(bearer(w.t.Context(), w.issuer.Admin()), "reservation-company", company.String())
}

// customer creates a customer that the customer service knows and the copy does not have.
func (w *world) customer(company id.Company, first string) id.Customer {
	return w.customers.add(company, model.CustomerRecord{Customer: model.Customer{
		ID: id.New[id.Customer](), FirstName: first, LastName: "Smith", Email: first + "@example.com",
	}, Version: 1})
}

// event creates a published event with one option and one date an hour from now.
func (w *world) event(ctx context.Context, capacity *int32) *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, capacity)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000}},
	})
}

func (w *world) createEvent(ctx context.Context, req *bookingv1.CreateEventRequest) *bookingv1.Event {
	w.t.Helper()
	resp, err := w.events.CreateEvent(ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetEvent()
}

func newDate(from time.Duration, capacity *int32) *bookingv1.NewEventDate {
	at := time.Now().Add(from).Truncate(time.Second)
	return &bookingv1.NewEventDate{StartsAt: timestamppb.New(at), DurationMinutes: 60, Capacity: capacity}
}

// send imports lines as one batch on its own stream.
func (w *world) send(ctx context.Context, lines ...*bookingv1.ImportedTransaction) ([]*bookingv1.ImportTransactionResult, error) {
	stream, err := w.bookings.ImportTransactions(ctx)
	if err != nil {
		return nil, err
	}
	// Recv returns the error of a broken stream.
	_ = stream.Send(&bookingv1.ImportTransactionsRequest{Transactions: lines})
	_ = stream.CloseSend()
	resp, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the stream ended with %w", err)
	}
	return resp.GetResults(), nil
}

// book buys spaces on the event's first date.
func (w *world) book(ctx context.Context, purchaser id.Customer, e *bookingv1.Event, spaces int32) (*bookingv1.Transaction, error) {
	resp, err := w.bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: purchaser.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: e.GetDates()[0].GetId(), Spaces: spaces}},
	})
	return resp.GetTransaction(), err
}

func (w *world) mustBook(ctx context.Context, purchaser id.Customer, e *bookingv1.Event, spaces int32) *bookingv1.Transaction {
	w.t.Helper()
	t, err := w.book(ctx, purchaser, e, spaces)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// one reads a single value, across all companies.
func one[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	v, err := pg.One[T](w.t.Context(), w.db, pg.AllCompanies(), sql, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// published returns the number of events of a subject in the outbox.
func (w *world) published(subject string) int64 {
	w.t.Helper()
	return one[int64](w, `select count(*) from outbox where subject = $1`, subject)
}

// exec changes rows that no RPC can change. A statement can take any time, because some make many rows.
func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `set local statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// inStep checks that every date's count is the sum of its bookings and at most its capacity.
func (w *world) inStep() {
	w.t.Helper()
	off, err := pg.Rows[string](w.t.Context(), w.db, pg.AllCompanies(), `
		select format('%s: %s booked of %s, bookings sum up to %s', d.id, d.booked, coalesce(d.capacity::text, 'any'), coalesce(sum(b.spaces), 0))
		from event_dates d left join bookings b on b.company_id = d.company_id and b.event_date_id = d.id and not b.is_cancelled
			and not exists (select from transactions t where t.company_id = b.company_id and t.id = b.transaction_id and t.status = 'released')
		group by d.company_id, d.id
		having d.booked <> coalesce(sum(b.spaces), 0) or d.booked > d.capacity`)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range off {
		w.t.Error(line)
	}
}

// wantFault checks the kind and the reason of an error.
func wantFault(t testing.TB, err error, kind fault.Kind, reason string) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Kind != kind || f.Reason != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
	return f
}

// wantMember wants the fault of a member of the request that names something that does not exist.
func wantMember(t testing.TB, err error, member string) {
	t.Helper()
	f := wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	if len(f.Fields) != 1 || f.Fields[0].Field != member || f.Fields[0].Rule != "exists" {
		t.Errorf("got %v about %v, want %s", f, f.Fields, member)
	}
}

func refusedFor(err error, reason string) bool {
	f := fault.From(err)
	return f != nil && f.Kind == fault.Refused && f.Reason == reason
}

// fakeCustomers is a fake of the customer service.
type fakeCustomers struct {
	mu    sync.Mutex
	known map[id.Customer]model.CustomerRecord
	calls int
	err   error
}

func (f *fakeCustomers) add(company id.Company, c model.CustomerRecord) id.Customer {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.Company = company
	f.known[c.ID] = c
	return c.ID
}

func (f *fakeCustomers) goAway() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = fault.Away(nil)
}

func (f *fakeCustomers) lookups() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fakeCustomers) Lookup(_ context.Context, company id.Company, ids []id.Customer, references []string) ([]model.CustomerRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	var found []model.CustomerRecord
	for _, c := range ids {
		if r, ok := f.known[c]; ok && r.Company == company {
			found = append(found, r)
		}
	}
	wanted := map[string]bool{}
	for _, reference := range references {
		wanted[reference] = true
	}
	for _, r := range f.known {
		if r.Company == company && wanted[r.Reference] && r.Reference != "" {
			found = append(found, r)
		}
	}
	return found, f.err
}

// fakeCompanies is a fake of the auth service.
type fakeCompanies struct {
	mu    sync.Mutex
	known map[id.Company]tenancy.Company
	calls int
}

func (f *fakeCompanies) add(c tenancy.Company) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[id.Company]tenancy.Company{}
	}
	f.known[c.ID] = c
}

func (f *fakeCompanies) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	c, ok := f.known[company]
	if !ok {
		return tenancy.Company{}, fault.Missing("company")
	}
	return c, nil
}

// serverSide returns the context of an RPC from a caller of the company.
func (w *world) serverSide() context.Context {
	w.t.Helper()
	claims, err := w.issuer.Verifier.Verify(w.t.Context(), w.issuer.Client(w.company, "bookings:write"))
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(w.t.Context(), claims)
}
