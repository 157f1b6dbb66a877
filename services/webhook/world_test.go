package webhook

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/webhookevent"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
	"reservation.dev/services/webhook/migrations"
)

// world is the service on gRPC and PostgreSQL with one engine, for one company.
type world struct {
	t        testing.TB
	db       *pg.DB
	ownerURL string // of the role that owns the tables
	engine   *Engine
	stop     func() // ends the engine as SIGTERM does
	intake   *Intake
	server   *Server
	client   webhookv1.WebhookServiceClient
	issuer   *tokentest.Issuer
	company  id.Company
	settings Delivery
	sealer   *seal.Sealer
}

// quick returns settings with short times, for tests. The limits of a request and of a lease are long, because a busy
// machine is slow.
func quick() Delivery {
	return Delivery{
		Issuer: "reservation", Timeout: 30 * time.Second, Retries: []time.Duration{20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond},
		RetryAfterMax: 24 * time.Hour, Concurrency: 256, EndpointConcurrency: 16, Lease: 90 * time.Second, BreakerFailures: 1000,
		BreakerPause: 50 * time.Millisecond, BreakerPauseMax: 200 * time.Millisecond, WarnAfter: 96 * time.Hour, DisableAfter: 120 * time.Hour,
		Sweep: 100 * time.Millisecond, PrivateAddresses: privateAllowed,
	}
}

// otherServices are fakes of the customer service and auth.
type otherServices struct{}

func (otherServices) Customers(_ context.Context, _ id.Company, customers []string) (map[string]message.Person, error) {
	out := map[string]message.Person{}
	for _, c := range customers {
		out[c] = message.Person{ID: c, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com"}
	}
	return out, nil
}

func (otherServices) Currency(context.Context, id.Company) (string, error) { return "EUR", nil }

func open(t testing.TB, settings Delivery) *world {
	t.Helper()
	w := openStopped(t, settings)
	w.start()
	return w
}

// openSteady is open for tests of times. The engine reports only once, so it stays registered, and its time is that of
// the test: on a busy machine, the differences that it measures between the clocks change by more than these times.
func openSteady(t testing.TB, settings Delivery) *world {
	t.Helper()
	w := openStopped(t, settings)
	w.engine.pulse = slowPulse()
	w.start()
	w.awaitRegistration()
	w.engine.offset.Store(0) // the database has the same clock
	return w
}

// slowPulse is longer than any test.
func slowPulse() pulse { return pulse{every: time.Hour, fresh: time.Hour, lost: time.Hour} }

// awaitRegistration waits until the engine may send.
func (w *world) awaitRegistration() {
	w.t.Helper()
	waitFor(w.t, func() error {
		w.engine.mu.Lock()
		defer w.engine.mu.Unlock()
		if !w.engine.registered() {
			return errors.New("the engine is not registered")
		}
		return nil
	})
}

// openStopped returns a world whose engine does not run yet.
func openStopped(t testing.TB, settings Delivery) *world {
	t.Helper()
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "webhook", FS: migrations.FS, AppRole: testkit.AppRole()})
	db := openDB(t, appURL)
	sealer, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	settings.CAFile = testCA(t)
	w := &world{t: t, db: db, ownerURL: ownerURL, issuer: tokentest.New(t), company: id.New[id.Company](), settings: settings, sealer: sealer}
	w.engine = w.newEngine()
	w.intake = NewIntake(w.engine, otherServices{})
	w.server = NewServer(w.engine)
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: w.issuer.Verifier, Policy: Policy(), Idempotency: idem.WithKey})
	webhookv1.RegisterWebhookServiceServer(srv, w.server)
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
	w.client = webhookv1.NewWebhookServiceClient(conn)
	return w
}

func openDB(t testing.TB, url string) *pg.DB {
	t.Helper()
	db, err := pg.Open(t.Context(), pg.Config{URL: pgSecret(url)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// newEngine returns an engine on the same database, as another process has one.
func (w *world) newEngine() *Engine {
	return NewEngine(w.settings, w.db, outbox.New(w.db, nil, testkit.Log(w.t), time.Now), w.sealer, testkit.Log(w.t))
}

func (w *world) start() { w.stop = w.run(w.engine) }

// run runs an engine until the test ends or stop is called; stop waits for it.
func (w *world) run(e *Engine) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
		e.abort()
	})
	w.t.Cleanup(stop)
	return stop
}

// testCA writes the certificate of httptest's servers to a file.
func testCA(t testing.TB) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// as returns a context of a caller of a company.
func (w *world) as(company id.Company) context.Context {
	w.t.Helper()
	raw := w.issuer.Client(company, "webhooks:read", "webhooks:write")
	claims, err := w.issuer.Verifier.Verify(context.Background(), raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(context.Background(), claims)
}

// endpoint creates an endpoint of the company for all events.
func (w *world) endpoint(url string) *webhookv1.CreateEndpointResponse {
	w.t.Helper()
	res, err := w.client.CreateEndpoint(w.as(w.company), &webhookv1.CreateEndpointRequest{
		Url: url, Events: webhookevent.Types(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// classBooking is the event of a class that was booked by card.
func classBooking(company id.Company) bus.Message {
	return bookingEvent(company, bookingv1.EventType_EVENT_TYPE_CLASS)
}

func bookingEvent(company id.Company, kind bookingv1.EventType) bus.Message {
	now := time.Now()
	payload, err := proto.Marshal(&bookingv1.BookingConfirmed{Booking: &bookingv1.BookingSnapshot{
		TransactionId: id.New[id.Transaction]().String(), PurchasedAt: timestamppb.New(now), Version: 1,
		Purchaser: &bookingv1.CustomerReference{Id: id.New[id.Customer]().String(), FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com"},
		Booking: &bookingv1.Booking{
			Id: id.New[id.Booking]().String(), Spaces: 2, EventId: id.New[id.Event]().String(), EventTitle: "Sunrise yoga", EventType: kind,
			StartsAt: timestamppb.New(now.Add(time.Hour)), Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{
				Currency: "GBP", Gross: 2450, Net: 2042, DiscountCode: "SPRING",
			}},
		},
	}})
	if err != nil {
		panic(err)
	}
	return bus.Message{ID: id.NewUUID(), Company: company, Subject: "booking.v1.booking_confirmed", Payload: payload, OccurredAt: now}
}

// changedBooking is a classBooking after a change.
func changedBooking(company id.Company, change func(*bookingv1.BookingSnapshot)) bus.Message {
	e := classBooking(company)
	var confirmed bookingv1.BookingConfirmed
	err := proto.Unmarshal(e.Payload, &confirmed)
	if err == nil {
		change(confirmed.GetBooking())
		e.Payload, err = proto.Marshal(&confirmed)
	}
	if err != nil {
		panic(err)
	}
	return e
}

func passEvent(company id.Company, purchase *passv1.PassPurchase) bus.Message {
	payload, err := proto.Marshal(&passv1.CustomerPassAssigned{
		CustomerPass: &passv1.CustomerPass{
			Id: id.New[id.CustomerPass]().String(), CustomerId: id.New[id.Customer]().String(), PassTypeId: id.New[id.PassType]().String(),
			RemainingUses: 10, StartDate: "2026-01-31", ExpiryDate: "2026-02-28", Purchase: purchase,
		},
		PassType: &passv1.PassType{Title: "Ten Classes", TotalUses: 10, Currency: "GBP"},
	})
	if err != nil {
		panic(err)
	}
	return bus.Message{ID: id.NewUUID(), Company: company, Subject: "pass.v1.customer_pass_assigned", Payload: payload, OccurredAt: time.Now()}
}

// newCustomer is the event of a created customer.
func newCustomer(company id.Company) bus.Message {
	now := time.Now()
	payload, err := proto.Marshal(&customerv1.CustomerCreated{Customer: &customerv1.CustomerSnapshot{
		Id: id.New[id.Customer]().String(), FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com",
		CreatedAt: timestamppb.New(now), UpdatedAt: timestamppb.New(now), Version: 1,
	}})
	if err != nil {
		panic(err)
	}
	return bus.Message{ID: id.NewUUID(), Company: company, Subject: subjects.CustomerCreated, Payload: payload, OccurredAt: now}
}

// consume handles events as the bus does.
func (w *world) consume(events ...bus.Message) {
	w.t.Helper()
	if err := w.intake.handle(context.Background(), events); err != nil {
		w.t.Fatal(err)
	}
}

// bookings consumes n bookings of classes and returns the identifiers of their messages.
func (w *world) bookings(n int) []string {
	w.t.Helper()
	events := make([]bus.Message, n)
	ids := make([]string, n)
	for i := range events {
		events[i] = classBooking(w.company)
		ids[i] = id.WebhookMessage(events[i].ID).String()
	}
	for len(events) > 0 {
		batch := events[:min(len(events), intakeBatch)]
		events = events[len(batch):]
		w.consume(batch...)
	}
	return ids
}

// received is a request as a receiver has seen it.
type received struct {
	header http.Header
	body   []byte
	at     time.Time
}

// receiver is an endpoint that records its requests.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  []received
	byID map[string]int
}

// newReceiver responds as handle does; nil: with 204.
func newReceiver(t testing.TB, handle http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{byID: map[string]int{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, received{header: req.Header.Clone(), body: body, at: time.Now()})
		r.byID[req.Header.Get("Webhook-Id")]++
		r.mu.Unlock()
		if handle == nil {
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		handle(rw, req)
	}))
	r.Config.ErrorLog = quietLog()
	r.StartTLS()
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

func (r *receiver) distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

func (r *receiver) at(i int) received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[i]
}

// wait returns when the receiver has n requests.
func (r *receiver) wait(t testing.TB, n int) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if got := r.count(); got < n {
			return fmt.Errorf("%d requests, want %d", got, n)
		}
		return nil
	})
}

// delivery waits until the only delivery to an endpoint is in a state.
func (w *world) delivery(endpoint string, state webhookv1.DeliveryState) *webhookv1.GetDeliveryResponse {
	w.t.Helper()
	var out *webhookv1.GetDeliveryResponse
	testkit.Eventually(w.t, patience, func() error {
		list, err := w.client.ListDeliveries(w.as(w.company), &webhookv1.ListDeliveriesRequest{EndpointId: endpoint})
		if err != nil {
			return err
		}
		if n := len(list.GetDeliveries()); n != 1 {
			return fmt.Errorf("%d deliveries, want 1", n)
		}
		d := list.GetDeliveries()[0]
		if d.GetState() != state {
			return fmt.Errorf("state %s after %d attempts (%s), want %s", d.GetState(), d.GetAttempts(), d.GetLastFailure(), state)
		}
		out, err = w.client.GetDelivery(w.as(w.company), &webhookv1.GetDeliveryRequest{Id: d.GetId()})
		return err
	})
	return out
}

// settled waits until no delivery is pending.
func (w *world) settled() {
	w.t.Helper()
	testkit.Eventually(w.t, patience, w.pending)
}

// pending returns an error while a delivery is pending.
func (w *world) pending() error {
	n, err := pg.One[int64](context.Background(), w.db, pg.AllCompanies(), `select count(*) from deliveries where state = 'pending'`)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d deliveries are pending", n)
	}
	return err
}
