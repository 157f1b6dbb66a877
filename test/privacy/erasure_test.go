package privacy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/test/harness"
)

const (
	mark     = "Quetzalcoatlus"
	neighbor = "Rhamphorhynchus"
)

// TestErasure erases a customer with every kind of personal data while all services are killed,
// and searches all stored data.
func TestErasure(t *testing.T) {
	w := newWorld(t)
	w.fill(t)
	p, other := w.newPerson(t, mark), w.newPerson(t, neighbor)
	w.awaitAttempts(t, 2)

	t.Run("before the erasure the data is everywhere, and the export is complete", func(t *testing.T) { w.testBefore(t, p) })
	late := w.Events(t)
	lastPage := w.rows(t, "booking", `select count(*) from bookings`)
	balances := w.rows(t, "pass", `select sum(remaining_uses) from customer_passes`)
	t.Run("the erasure completes although every service is killed", func(t *testing.T) { w.testKilled(t, p) })
	t.Run("no database, NATS file or log has the data any more", func(t *testing.T) { w.testGone(t, p) })
	t.Run("other customers are unchanged", func(t *testing.T) {
		for name, records := range w.export(t, other) {
			if !says(records, neighbor) {
				t.Errorf("%s has erased data of another customer", name)
			}
		}
	})
	t.Run("money and counts are unchanged", func(t *testing.T) {
		if n := w.rows(t, "booking", `select count(*) from bookings`); n != lastPage {
			t.Errorf("%d bookings became %d", lastPage, n)
		}
		if n := w.rows(t, "pass", `select sum(remaining_uses) from customer_passes`); n != balances {
			t.Errorf("%d credits became %d", balances, n)
		}
		w.verify(t)
	})
	t.Run("the interfaces answer 404 for the customer and show no name", func(t *testing.T) { w.testInterfaces(t, p) })
	t.Run("late events and imports restore no data", func(t *testing.T) { w.testLate(t, p, late) })
	t.Run("a repeated erasure is answered, and can be forced to run again", func(t *testing.T) { w.testAgain(t, p) })
	t.Run("the operator erases a customer with reservectl", func(t *testing.T) { w.testCommand(t, other) })
}

// awaitAttempts returns when each customer's messages were delivered to one receiver and refused
// by the other.
func (w *world) awaitAttempts(t *testing.T, people int64) {
	t.Helper()
	harness.Eventually(t, limit, func() error {
		// Six messages for each customer: two tickets for a workshop, each also a registration, a
		// registration by pass, and the pass. Two more for another customer's ticket.
		for _, outcome := range []string{"delivered", "retried"} {
			if n := w.rows(t, "webhook", `select count(*) from attempts where outcome = '`+outcome+`' and position('cust_' in encode(response, 'escape')) > 0`); n < 6*people+2 {
				return fmt.Errorf("%d attempts were %s", n, outcome)
			}
		}
		return nil
	})
}

// rows returns a number from a service's database.
func (w *world) rows(t *testing.T, database, sql string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.OwnerURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// auditEntries is the number of entries of the audit log about a customer: two that a program adds, and one about a
// change by a credential.
const auditEntries = 3

func (w *world) testBefore(t *testing.T, p *person) {
	tables := strings.Join(w.inDatabases(t, mark), " ")
	for _, table := range []string{
		"auth.audit_log", "auth.idempotency_keys", "booking.customers", "booking.bookings", "booking.transactions", "booking.idempotency_keys",
		"customer.customers", "customer.idempotency_keys", "pass.customer_passes", "pass.ledger_entries",
		"pass.idempotency_keys", "webhook.messages", "webhook.attempts",
	} {
		if !strings.Contains(tables, table) {
			t.Errorf("%s has no data of the customer, so this test cannot show its erasure: %s", table, tables)
		}
	}
	if !slices.ContainsFunc(w.inFiles(t, mark), func(name string) bool { return strings.HasSuffix(name, ".blk") }) {
		t.Error("the stream's file has no data of the customer")
	}
	want := map[string]int{
		"auth audit_entry": auditEntries, "booking booking_history": 1, "booking customer_copy": 1, "booking transaction": 4, "booking waitlist_entry": 1, "customer customer": 1,
		"customer note": 1, "pass customer_pass": 1, "webhook webhook_message": 12,
	}
	// The audit log has the changes of credentials after their events, and the services send theirs independently.
	var all map[string][]*privacyv1.PersonalRecord
	harness.Eventually(t, limit, func() error {
		all = w.export(t, p)
		kinds := map[string]int{}
		for _, records := range all {
			for _, r := range records {
				kinds[r.GetService()+" "+r.GetKind()]++
			}
		}
		if !maps.Equal(kinds, want) {
			return fmt.Errorf("exported %v, want %v", kinds, want)
		}
		return nil
	})
	for name, records := range all {
		if !says(records, mark) {
			t.Errorf("the export of %s lacks the data: %v", name, records)
		}
		if says(records, neighbor) {
			t.Errorf("the export of %s has another customer's data", name)
		}
	}
}

// testKilled kills every service as soon as the erasure is accepted, and some of them again while
// it runs.
func (w *world) testKilled(t *testing.T, p *person) {
	res, err := w.erasures.EraseCustomer(w.ctx(t, "erase"), &privacyv1.EraseCustomerRequest{CustomerId: p.id})
	if err != nil {
		t.Fatal(err)
	}
	if e := res.GetErasure(); e.GetRequestedBy() == "" || e.GetCompletedAt() != nil || len(e.GetServices()) != 6 {
		t.Errorf("got %v", e)
	}
	for round := range 3 {
		names := []string{"booking", "pass", "subscription", "media", "webhook", "auth", "customer"}
		for i, name := range names {
			// Kill at different points of work that takes milliseconds.
			<-time.After(time.Duration(7*round+3*i) * time.Millisecond)
			w.Part(name).KillNow()
		}
		for _, name := range names {
			w.Part(name).Kill(t)
		}
		for _, name := range names {
			w.Part(name).Restart(t)
		}
	}
	w.awaitCompleted(t, p)
}

func (w *world) awaitCompleted(t *testing.T, p *person) *privacyv1.Erasure {
	t.Helper()
	var done *privacyv1.Erasure
	harness.Eventually(t, 2*limit, func() error {
		res, err := w.erasures.GetErasure(w.ctx(t, ""), &privacyv1.GetErasureRequest{CustomerId: p.id})
		if err != nil {
			return err
		}
		if done = res.GetErasure(); done.GetCompletedAt() == nil {
			return fmt.Errorf("the erasure is not completed: %v", done)
		}
		return nil
	})
	for _, s := range done.GetServices() {
		if s.GetErasedAt() == nil || s.GetConfirmedAt() == nil || s.GetConfirmedAt().AsTime().After(done.GetCompletedAt().AsTime()) {
			t.Errorf("the erasure completed without %v", s)
		}
	}
	return done
}

func (w *world) testGone(t *testing.T, p *person) {
	if tables := w.inDatabases(t, mark); len(tables) > 0 {
		t.Errorf("the customer is still in the tables %v", tables)
	}
	if files := w.inFiles(t, mark); len(files) > 0 {
		t.Errorf("the customer is still in the files %v", files)
	}
	for name, records := range w.export(t, p) {
		if says(records, mark) {
			t.Errorf("the export of %s still has the data: %v", name, records)
		}
	}
}

// verify recomputes every sum.
func (w *world) verify(t *testing.T) {
	t.Helper()
	bookings, err := bookingv1.NewVerificationServiceClient(w.Connect(t, w.Booking)).VerifyBookings(w.ctx(t, ""), &bookingv1.VerifyBookingsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		res, err := bookings.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := res.GetDifference(); d != nil {
			t.Errorf("bookings: %v", d)
		}
	}
	passes, err := w.op.Passes.VerifyPasses(w.ctx(t, ""), &passv1.VerifyPassesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		res, err := passes.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := res.GetDifference(); d != nil {
			t.Errorf("passes: %v", d)
		}
	}
}

func (w *world) testInterfaces(t *testing.T, p *person) {
	a := w.A(t)
	tokenA := a.Token(t, w.company.NewClient(t))
	for _, path := range []string{"/customer/" + p.id + "/profile", "/customer/" + p.id + "/bookings"} {
		a.Do(t, harness.Request{Path: path, Token: tokenA}).Refused(t, http.StatusNotFound, "NOT_FOUND")
	}
	if list := a.Do(t, harness.Request{Path: "/customers", Token: tokenA}); strings.Contains(string(list.Body), p.id) {
		t.Error("the list has an erased customer")
	}
	b := harness.NewB(t, w.GatewaysB[0])
	described := b.Do(t, harness.Request{Path: "/openapi.yaml"})
	described.Into(t, http.StatusOK, nil)
	b.Transport = openapitest.Load(t, described.Body, "/api/v1").Transport(t, b.Transport)
	tokenB := b.Token(t, w.company.NewKey(t, 0))
	b.Do(t, harness.Request{Path: "/customers/" + p.id, Token: tokenB}).Into(t, http.StatusNotFound, nil)
	var page struct {
		Registrations []struct{ CustomerID, CustomerName, CustomerEmail string }
	}
	b.Do(t, harness.Request{Path: "/events/" + w.class.GetId() + "/registrations", Token: tokenB}).Into(t, http.StatusOK, &page)
	named := 0
	for _, r := range page.Registrations {
		if r.CustomerID == p.id {
			named++
			if r.CustomerName != "Erased customer" || r.CustomerEmail != "erased@customer.invalid" {
				t.Errorf("got %+v", r)
			}
		}
	}
	if named != 3 {
		t.Errorf("%d registrations name the customer", named)
	}
	if _, err := w.op.Passes.AssignCustomerPass(w.ctx(t, ""), &passv1.AssignCustomerPassRequest{CustomerId: p.id, PassTypeId: w.kind}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a pass for an erased customer: %v", err)
	}
}

// testLate repeats everything that happened before the erasure: the events, the import, and a
// call about the pass.
func (w *world) testLate(t *testing.T, p *person, events []harness.Event) {
	published := 0
	for _, e := range events {
		if strings.Contains(string(e.Payload), p.id) {
			w.Publish(t, e)
			published++
		}
	}
	if published < 10 {
		t.Fatalf("only %d events were about the customer", published)
	}
	result := w.importCustomers(t, p.imported())[0]
	if result.GetOutcome() != customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED || result.GetRule() != "erased" {
		t.Errorf("the import reported %v", result)
	}
	if _, err := w.op.Passes.AdjustCredits(w.ctx(t, ""), &passv1.AdjustCreditsRequest{CustomerPassId: p.pass, Credits: -1, Reason: mark}); err != nil {
		t.Error(err)
	}
	// When a later customer's events have been handled, the late events have been handled too.
	w.newPerson(t, "Pterodaustro")
	w.awaitAttempts(t, 2) // those of the erased customer are deleted
	if tables := w.inDatabases(t, mark); len(tables) > 0 {
		t.Errorf("the data is back in %v", tables)
	}
}

func (w *world) testAgain(t *testing.T, p *person) {
	before := w.awaitCompleted(t, p)
	ask := func(repeat bool) *privacyv1.Erasure {
		res, err := w.erasures.EraseCustomer(w.ctx(t, ""), &privacyv1.EraseCustomerRequest{CustomerId: p.id, Repeat: repeat})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetErasure()
	}
	if e := ask(false); !e.GetCompletedAt().AsTime().Equal(before.GetCompletedAt().AsTime()) {
		t.Errorf("a repeat started a new erasure: %v", e)
	}
	if e := ask(true); e.GetCompletedAt() != nil || !e.GetRequestedAt().AsTime().Equal(before.GetRequestedAt().AsTime()) {
		t.Errorf("got %v", e)
	}
	if e := w.awaitCompleted(t, p); !e.GetCompletedAt().AsTime().After(before.GetCompletedAt().AsTime()) {
		t.Errorf("got %v", e)
	}
	// The stream contained the late events.
	w.testGone(t, p)
	list, err := w.erasures.ListErasures(w.ctx(t, ""), &privacyv1.ListErasuresRequest{})
	if err != nil || len(list.GetErasures()) != 1 || list.GetErasures()[0].GetCustomerId() != p.id {
		t.Errorf("listed %v, %v", list, err)
	}
}
