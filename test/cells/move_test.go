package cells

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

// shop is a company whose clients reach it through routers.
type shop struct {
	company *harness.Company
	client  *harness.RetryingClient
	a, b    *router
	pass    string
}

// open creates a company in a cell, with a client.
func open(t *testing.T, c *cell) *shop {
	t.Helper()
	s := &shop{company: c.op.NewCompany(t, "Europe/London"), a: newRouter(t), b: newRouter(t)}
	s.follow(t, c)
	client, key := s.company.NewClient(t), s.company.NewKey(t, 10_000)
	var credentials harness.Credentials
	credentials.InterfaceA.BaseURL, credentials.InterfaceA.ClientID, credentials.InterfaceA.ClientSecret = s.a.url, client.ID, client.Secret
	credentials.InterfaceB.BaseURL, credentials.InterfaceB.APIKey, credentials.InterfaceB.APISecret = s.b.url, key.ID, key.Secret
	s.client = harness.NewRetryingClient(t, credentials)
	s.pass = s.create(t, "/passes", `{"title":"Ten","totalUses":10,"validityCount":1,"validityUnit":"month","price":90,"currency":"GBP"}`, "pass")
	return s
}

// follow sends the clients to a cell.
func (s *shop) follow(t *testing.T, c *cell) {
	t.Helper()
	s.a.send(t, c.Credentials.InterfaceA.BaseURL)
	s.b.send(t, c.Credentials.InterfaceB.BaseURL)
}

func (s *shop) create(t *testing.T, path, body, key string) string {
	t.Helper()
	answer, err := s.client.Write(t.Context(), path, body, key, http.StatusCreated)
	if err != nil {
		t.Fatal(err)
	}
	return idOf(t, answer)
}

func idOf(t *testing.T, a harness.Answer) string {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal(a.Body, &made); err != nil || made.ID == "" {
		t.Fatalf("%s: %v", a.Body, err)
	}
	return made.ID
}

// traffic is what people do while their company moves: they book, cancel every third booking, and buy passes. Every
// request has a key and is repeated until it succeeds.
type traffic struct {
	shop *shop
	stop chan struct{}
	all  sync.WaitGroup

	mu        sync.Mutex
	booked    map[string]string // registrations by key
	cancelled map[string]bool
	passes    map[string]string // by key
}

const people = 2

func (s *shop) start(t *testing.T) *traffic {
	f := &traffic{shop: s, stop: make(chan struct{}), booked: map[string]string{}, cancelled: map[string]bool{}, passes: map[string]string{}}
	for n := range people {
		f.all.Go(func() {
			tick := time.NewTicker(150 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				if !f.step(t, fmt.Sprintf("%d-%d", n, i), i) {
					return
				}
				select {
				case <-f.stop:
					return
				case <-tick.C:
				}
			}
		})
	}
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { f.end() }) })
	return f
}

// step does what one person does next. It reports whether everything succeeded.
func (f *traffic) step(t *testing.T, key string, i int) bool {
	s := f.shop
	registration, err := s.client.Book(t.Context(), "book-"+key, http.Header{"Idempotency-Key": {"book-" + key}})
	if err != nil {
		t.Errorf("book: %v", err)
		return false
	}
	f.note(f.booked, key, registration)
	if i%3 == 0 {
		if _, err := s.client.Write(t.Context(), "/registrations/"+registration+"/cancel", "", "cancel-"+key, http.StatusOK); err != nil {
			t.Errorf("cancel: %v", err)
			return false
		}
		f.mu.Lock()
		f.cancelled[registration] = true
		f.mu.Unlock()
	}
	if i%2 == 0 {
		answer, err := s.client.Write(t.Context(), "/customer-passes", f.sale(), "pass-"+key, http.StatusCreated)
		if err != nil {
			t.Errorf("pass: %v", err)
			return false
		}
		f.note(f.passes, key, idOf(t, answer))
	}
	if err := s.client.ListBookings(t.Context(), s.client.Customer()); err != nil {
		t.Errorf("list: %v", err)
		return false
	}
	return true
}

func (f *traffic) sale() string {
	return fmt.Sprintf(`{"customerId":%q,"passId":%q,"startDate":"2026-01-05"}`, f.shop.client.Customer(), f.shop.pass)
}

func (f *traffic) note(in map[string]string, key, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in[key] = id
}

func (f *traffic) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.booked) + len(f.cancelled) + len(f.passes)
}

// awaitMore waits until everybody has done more.
func (f *traffic) awaitMore(t *testing.T) {
	t.Helper()
	before := f.count()
	harness.Eventually(t, time.Minute, func() error {
		if f.count() < before+4*people {
			return fmt.Errorf("%d requests have succeeded since", f.count()-before)
		}
		return nil
	})
}

func (f *traffic) end() {
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	f.all.Wait()
}

// check compares what was acknowledged with what a cell has: nothing is lost, and nothing is doubled.
func (f *traffic) check(t *testing.T, c *cell) {
	t.Helper()
	company := uuidOf(t, f.shop.company.ID)
	registrations := map[string]bool{}
	for _, registration := range f.booked {
		registrations[registration] = true
	}
	if len(registrations) != len(f.booked) {
		t.Errorf("%d keys have %d registrations", len(f.booked), len(registrations))
	}
	for what, n := range map[string]struct {
		service, sql string
		want         int
	}{
		"bookings":           {"booking", `select count(*) from bookings where company_id = $1`, len(f.booked)},
		"cancelled bookings": {"booking", `select count(*) from bookings where company_id = $1 and is_cancelled`, len(f.cancelled)},
		"passes":             {"pass", `select count(*) from customer_passes where company_id = $1`, len(f.passes)},
	} {
		if got := query[int](t, c, n.service, n.sql, company); got != n.want {
			t.Errorf("%s has %d %s; %d were acknowledged", c.name, got, what, n.want)
		}
	}
}

// repeat sends requests again that were acknowledged before the move. The responses must be the same.
func (f *traffic) repeat(t *testing.T, before map[string]string) {
	t.Helper()
	repeated := 0
	for key, want := range before {
		answer, err := f.shop.client.Write(t.Context(), "/customer-passes", f.sale(), "pass-"+key, http.StatusCreated)
		if err != nil {
			t.Fatal(err)
		}
		if got := idOf(t, answer); got != want {
			t.Errorf("the key of %s has made %s", want, got)
		}
		if repeated++; repeated == 20 {
			return
		}
	}
}

func uuidOf(t *testing.T, company string) string {
	t.Helper()
	c, err := id.Parse[id.Company](company)
	if err != nil {
		t.Fatal(err)
	}
	return uuid.UUID(c).String()
}

// deliveries counts the messages that a receiver gets about each registration.
type deliveries struct {
	mu       sync.Mutex
	messages map[string]map[string]int // by registration, by message
}

func (d *deliveries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var message struct {
		Data struct {
			RegistrationID string `json:"registrationId"`
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &message)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	registration := message.Data.RegistrationID
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.messages[registration] == nil {
		d.messages[registration] = map[string]int{}
	}
	d.messages[registration][r.Header.Get("Webhook-Id")]++
}

// await waits until every registration has been delivered, each with one message.
func (d *deliveries) await(t *testing.T, booked map[string]string) {
	t.Helper()
	harness.Eventually(t, time.Minute, func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		missing := 0
		for _, registration := range booked {
			if len(d.messages[registration]) == 0 {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d registrations were not delivered", missing, len(booked))
		}
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	for registration, messages := range d.messages {
		if len(messages) != 1 {
			t.Errorf("registration %s has %d messages", registration, len(messages))
		}
	}
}

// town is two cells, the companies in them, and what people do there.
type town struct {
	west, east                   *cell
	moving, neighbour, resident  *shop // the neighbour stays in west, the resident in east
	movings, neighbours, natives *traffic
	received                     *deliveries
	company                      string // the moving one, as rows have it
	move                         *command
}

func newTown(t *testing.T) *town {
	t.Helper()
	harness.Program(t, "standalone", "reservectl")
	var s shared
	w := &town{west: newCell(t, "west", &s, nil), east: newCell(t, "east", &s, nil), received: &deliveries{messages: map[string]map[string]int{}}}
	w.moving, w.neighbour, w.resident = open(t, w.west), open(t, w.west), open(t, w.east)
	w.moving.company.TestMode(t)
	w.moving.company.NewEndpoint(t, w.west.Listen(t, w.received))
	w.company = uuidOf(t, w.moving.company.ID)
	w.move = newCommand(t, w.moving.company.ID, w.west, w.east)
	w.movings, w.neighbours, w.natives = w.moving.start(t), w.neighbour.start(t), w.resident.start(t)
	w.movings.awaitMore(t)
	return w
}

// aborts stops a move after a line and aborts it, which leaves no trace.
func (w *town) aborts(t *testing.T, kill string, before ...func(t *testing.T)) {
	t.Helper()
	if _, done := w.move.run(t, kill); done {
		t.Fatal("the move was to be killed")
	}
	for _, happens := range before {
		happens(t)
	}
	w.move.run(t, "", "--abort")
	if n := w.west.leftovers(t) + w.east.leftovers(t); n != 0 {
		t.Errorf("%d publications, slots, subscriptions and marks are left", n)
	}
	if n := w.east.rows(t, w.company); n != 0 {
		t.Errorf("%d rows are left in east", n)
	}
	w.movings.awaitMore(t)
}

// isLate lets the company have an open transaction during a freeze. The source opens again, and the command says why.
func (w *town) isLate(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.west.database("booking"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `begin; select 1`); err != nil {
		t.Fatal(err)
	}
	w.move.mayFail = true
	out, done := w.move.run(t, "", "--freeze", "3s")
	w.move.mayFail = false
	if done || !strings.Contains(out, "booking: transactions that began before the freeze have not ended") || !strings.Contains(out, "open again in west") {
		t.Errorf("with an open transaction: %v, %s", done, out)
	}
	w.movings.awaitMore(t)
}

// losesSlot drops a replication slot of the source, which a failover would lose.
func (w *town) losesSlot(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.west.database("pass"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	harness.Eventually(t, time.Minute, func() error {
		_, err := conn.Exec(t.Context(), `do $$ begin
			perform pg_terminate_backend(active_pid) from pg_replication_slots where slot_name like 'move_pass%' and active;
			perform pg_sleep(0.02);
			perform pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name like 'move_pass%';
		end $$`)
		return err
	})
}

// moves moves the company. The command is killed after each of the lines, and repeated. Then everything that was
// acknowledged must be in east, once.
func (w *town) moves(t *testing.T, kills ...string) {
	t.Helper()
	w.movings.mu.Lock()
	before := maps.Clone(w.movings.passes)
	w.movings.mu.Unlock()
	out, done := "", false
	for _, kill := range append(kills, "") {
		if out, done = w.move.run(t, kill); done {
			break
		}
	}
	w.moving.follow(t, w.east)
	var result struct {
		State    string
		FrozenMS int64 `json:"frozen_ms"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.State != "moved" {
		t.Fatalf("%s: %v", out, err)
	}
	fmt.Printf("company move: no cell answered for %d ms (0: the command was killed); %d requests were repeated\n", result.FrozenMS, w.moving.client.Repeats())
	all := []*traffic{w.movings, w.neighbours, w.natives}
	for _, one := range all {
		one.awaitMore(t)
	}
	for _, one := range all {
		one.end()
	}
	w.movings.check(t, w.east)
	w.movings.repeat(t, before)
	w.movings.check(t, w.east)
	w.neighbours.check(t, w.west)
	w.natives.check(t, w.east)
	for _, other := range []*shop{w.neighbour, w.resident} {
		if n := other.client.Repeats(); n != 0 {
			t.Errorf("%d requests of another company were repeated", n)
		}
	}
	w.received.await(t, w.movings.booked)
}

// finishes deletes the company in west.
func (w *town) finishes(t *testing.T) {
	t.Helper()
	neighbour := uuidOf(t, w.neighbour.company.ID)
	kept := w.west.rows(t, neighbour)
	w.move.run(t, "", "--finish")
	if n := w.west.rows(t, w.company); n != 0 {
		t.Errorf("%d rows are left in west", n)
	}
	if n := w.west.rows(t, neighbour); n < kept {
		t.Errorf("another company had %d rows, and has %d", kept, n)
	}
	w.movings.check(t, w.east)
	if n := w.east.leftovers(t); n != 0 {
		t.Errorf("%d publications, slots, subscriptions and marks are left in east", n)
	}
	w.east.verify(t, w.moving.company.ID)
	w.east.verify(t, w.resident.company.ID)
	w.west.verify(t, w.neighbour.company.ID)
}

// TestSlowCompanyMovesWhileItIsUsed moves a company between two cells while people book, cancel and buy passes.
func TestSlowCompanyMovesWhileItIsUsed(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.moves(t)
	w.finishes(t)
}

// TestSlowCompanyMoveSurvivesKills kills the command in each of its phases.
func TestSlowCompanyMoveSurvivesKills(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.aborts(t, "copying booking")
	w.aborts(t, "requests are refused", w.losesSlot)
	w.isLate(t)
	w.moves(t, "copying", "copied; refusing", "requests are refused", "events are handled", "sequences are raised")
	w.finishes(t)
}

// verify recomputes a company's numbers.
func (c *cell) verify(t *testing.T, company string) {
	t.Helper()
	r := harness.Run(t, harness.Command{Program: "reservectl", Args: []string{"verify", "--credentials", c.CredentialsFile(), "--company", company}})
	if r.Code != 0 || strings.Contains(r.Output, "stored") {
		t.Errorf("verify in %s: %s%s", c.name, r.Output, r.Errors)
	}
}
