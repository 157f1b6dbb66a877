package customer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// fakeAuth is a fake of the auth service.
type fakeAuth struct {
	mu     sync.Mutex
	unique bool  // whether every company requires unique addresses
	err    error // returned instead of a company
	calls  int
}

func (f *fakeAuth) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return tenancy.Company{ID: company, UniqueEmails: f.unique, Version: 1}, f.err
}

// keep stores versions of the company in the copy.
func (w *world) keep(states ...tenancy.Company) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return w.server.companies.Keep(ctx, tx, states)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// state returns the company at a version.
func (w *world) state(version int64, unique bool) tenancy.Company {
	return tenancy.Company{ID: w.company, UniqueEmails: unique, Version: version}
}

// uniqueNow reports whether the copy says that the company requires unique addresses.
func (w *world) uniqueNow() bool {
	w.t.Helper()
	unique, err := pg.One[bool](w.t.Context(), w.db, pg.For(w.company), `select unique_emails from companies where company_id = $1`, w.company)
	if err != nil {
		w.t.Fatal(err)
	}
	return unique
}

func (w *world) createWith(ctx context.Context, email string) (*customerv1.Customer, error) {
	res, err := w.client.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B", Email: email})
	return res.GetCustomer(), err
}

func (w *world) mustCreateWith(email string) *customerv1.Customer {
	w.t.Helper()
	c, err := w.createWith(w.ctx(), email)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) setEmail(c *customerv1.Customer, email string) error {
	_, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: c.GetId(), Email: &email})
	return err
}

// wantTaken checks that err reports a taken address.
func wantTaken(t *testing.T, err error) {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Kind != fault.Refused || f.Reason != ReasonEmailExists || len(f.Fields) != 1 || f.Fields[0].Field != "email" || f.Fields[0].Rule != "unique" {
		t.Errorf("got %v, want %s", err, ReasonEmailExists)
	}
}

// doubles returns the number of customers of the company whose address another customer has.
func (w *world) doubles() int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.For(w.company), `select coalesce(sum(n), 0)::bigint from
		(select count(*) n from customers where company_id = $1 and deleted_at is null group by lower(email) having count(*) > 1) s`, w.company)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// openUnique returns the service for a company that requires unique addresses.
func openUnique(t testing.TB) *world {
	w := open(t)
	w.auth.unique = true
	return w
}

func TestUniqueEmails(t *testing.T) { // invariant 8
	w := openUnique(t)
	ann := w.mustCreateWith("Ann@example.com")
	t.Run("a taken address is refused regardless of case, and nothing is stored", func(t *testing.T) {
		for _, email := range []string{"Ann@example.com", "ann@EXAMPLE.COM", " ANN@example.com "} {
			_, err := w.createWith(w.ctx(), email)
			wantTaken(t, err)
		}
		if w.total() != 1 || w.events(subjectCreated) != 1 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectCreated))
		}
	})
	t.Run("an update to a taken address is refused too", func(t *testing.T) {
		ben := w.mustCreateWith("ben@example.com")
		wantTaken(t, w.setEmail(ben, "ANN@example.com"))
		if err := w.setEmail(ben, "Benny@example.com"); err != nil {
			t.Error(err)
		}
		if err := w.setEmail(ann, "BEN@example.com"); err != nil {
			t.Error("an address that is no longer used is not free:", err)
		}
	})
	t.Run("a customer can change the spelling of their own address, and other fields", func(t *testing.T) {
		if err := w.setEmail(ann, "Ben@Example.com"); err != nil {
			t.Error(err)
		}
		w.change(&customerv1.UpdateCustomerRequest{Id: ann.GetId(), FirstName: ptr("Anna")})
	})
	t.Run("an archived customer keeps the address, a deleted one frees it", func(t *testing.T) {
		carl := w.mustCreateWith("carl@example.com")
		w.change(&customerv1.UpdateCustomerRequest{Id: carl.GetId(), Archived: ptr(true)})
		_, err := w.createWith(w.ctx(), "carl@example.com")
		wantTaken(t, err)
		w.remove(carl)
		w.mustCreateWith("carl@example.com")
	})
	t.Run("another company's customers do not take addresses", func(t *testing.T) {
		if _, err := w.createWith(w.as(id.New[id.Company]()), "carl@example.com"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a retry with the same key gets the stored response", func(t *testing.T) {
		ctx := rpc.WithIdempotencyKey(w.ctx(), "again")
		one, err := w.createWith(ctx, "dora@example.com")
		if err != nil {
			t.Fatal(err)
		}
		two, err := w.createWith(ctx, "dora@example.com")
		if err != nil || !proto.Equal(one, two) {
			t.Errorf("got %v, %v, want %v", two, err, one)
		}
		refused := rpc.WithIdempotencyKey(w.ctx(), "refused")
		for range 2 {
			_, err := w.createWith(refused, "DORA@example.com")
			wantTaken(t, err)
		}
	})
}

func TestExistingDuplicateEmails(t *testing.T) { // invariant 8
	w := open(t)
	one, two := w.mustCreateWith("same@example.com"), w.mustCreateWith("Same@example.com")
	w.keep(w.state(2, true))
	t.Run("stay, and can be changed as before", func(t *testing.T) {
		w.change(&customerv1.UpdateCustomerRequest{Id: one.GetId(), Mobile: ptr("1"), Email: ptr("SAME@example.com")})
		w.change(&customerv1.UpdateCustomerRequest{Id: two.GetId(), Archived: ptr(true)})
		if w.doubles() != 2 {
			t.Errorf("%d doubles", w.doubles())
		}
	})
	t.Run("a third customer cannot get the address", func(t *testing.T) {
		_, err := w.createWith(w.ctx(), "same@example.com")
		wantTaken(t, err)
		wantTaken(t, w.setEmail(w.mustCreateWith("other@example.com"), "same@example.com"))
	})
	t.Run("a duplicate cannot return after one customer has changed the address", func(t *testing.T) {
		if err := w.setEmail(one, "one@example.com"); err != nil {
			t.Fatal(err)
		}
		wantTaken(t, w.setEmail(one, "same@example.com"))
	})
	t.Run("duplicates are allowed again when the company no longer requires unique addresses", func(t *testing.T) {
		w.keep(w.state(3, false))
		w.mustCreateWith("same@example.com")
	})
}

// importOne imports a batch and returns the outcome of its lines, by reference.
func (w *world) importOne(lines ...[2]string) []string {
	w.t.Helper()
	req := &customerv1.ImportCustomersRequest{}
	for _, l := range lines {
		req.Customers = append(req.Customers, &customerv1.ImportedCustomer{Reference: l[0], FirstName: "A", LastName: "B", Email: l[1]})
	}
	stream, err := w.client.ImportCustomers(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := stream.Send(req); err != nil {
		w.t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		w.t.Error(err)
		return nil
	}
	if err := stream.CloseSend(); err != nil {
		w.t.Error(err)
	}
	var outcomes []string
	for _, r := range res.GetResults() {
		outcome := r.GetOutcome().String()[len("IMPORT_OUTCOME_"):]
		if (r.GetId() == "") != (outcome == "REFUSED") {
			w.t.Errorf("%s %s has the identifier %q", r.GetReference(), outcome, r.GetId())
		}
		if outcome == "REFUSED" {
			outcome += " " + r.GetField() + " " + r.GetRule()
		}
		outcomes = append(outcomes, r.GetReference()+" "+outcome)
	}
	return outcomes
}

func TestUniqueEmailsOfImports(t *testing.T) { // invariants 5 and 8
	w := openUnique(t)
	w.mustCreateWith("ann@example.com")
	lines := [][2]string{
		{"a", "ANN@example.com"}, {"b", "ben@example.com"}, {"c", "Ben@example.com"}, {"b", "zoe@example.com"},
		{"a", "free@example.com"}, {"d", "zoe@example.com"}, {"e", "nonsense"},
	}
	want := []string{
		"a REFUSED email unique", "b CREATED", "c REFUSED email unique", "b EXISTED",
		"a REFUSED email unique", "d CREATED", "e REFUSED email email",
	}
	if got := w.importOne(lines...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want[1], want[5] = "b EXISTED", "d EXISTED"
	if got := w.importOne(lines...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("again: got  %q\nwant %q", got, want)
	}
	if w.total() != 3 || w.events(subjectCreated) != 3 || w.doubles() != 0 {
		t.Errorf("total %d, events %d, doubles %d", w.total(), w.events(subjectCreated), w.doubles())
	}
}

func TestUniqueEmailsOfConcurrentWriters(t *testing.T) { // invariant 8
	const addresses, rounds = 12, 6
	w := openUnique(t)
	w.mustCreateWith("first@example.com")
	email := func(n int) string {
		if n%2 == 0 {
			return fmt.Sprintf("Person.%d@example.com", n%addresses)
		}
		return fmt.Sprintf("person.%d@EXAMPLE.com", n%addresses)
	}
	var movers []*customerv1.Customer
	for i := range 20 {
		movers = append(movers, w.mustCreateWith(fmt.Sprintf("mover.%d@example.com", i)))
	}
	var wg sync.WaitGroup
	for round := range rounds {
		for i := range 40 {
			wg.Go(func() {
				c, err := w.createWith(w.ctx(), email(i+round))
				if err != nil {
					wantTaken(t, err)
				} else if i%3 == 0 {
					_, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: c.GetId()})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i, c := range movers {
			wg.Go(func() {
				if err := w.setEmail(c, email(i*round)); err != nil {
					wantTaken(t, err)
				}
			})
		}
		for i := range 2 {
			wg.Go(func() {
				var lines [][2]string
				for n := range 3 * addresses {
					lines = append(lines, [2]string{fmt.Sprintf("%d-%d-%d", round, i, n), email(n)})
				}
				w.importOne(lines...)
			})
		}
	}
	wg.Wait()
	if n := w.doubles(); n != 0 {
		t.Errorf("%d customers have an address that another has", n)
	}
	w.total()
}

func TestCompanies(t *testing.T) { // invariant 9
	t.Run("a company without a copy is fetched once", func(t *testing.T) {
		w := openUnique(t)
		w.mustCreateWith("a@example.com")
		_, err := w.createWith(w.ctx(), "a@example.com")
		wantTaken(t, err)
		if w.auth.calls != 1 {
			t.Errorf("auth was called %d times", w.auth.calls)
		}
	})
	t.Run("a company that does not exist has no customers", func(t *testing.T) {
		w := open(t)
		w.auth.err = fault.Missing("company")
		if _, err := w.createWith(w.ctx(), "a@example.com"); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if w.total() != 0 {
			t.Errorf("total %d", w.total())
		}
	})
	t.Run("while auth is unavailable, only writes of a company without a copy fail", func(t *testing.T) {
		w := open(t)
		w.auth.err = fault.Away(errors.New("down"))
		if _, err := w.createWith(w.ctx(), "a@example.com"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		w.keep(w.state(1, true))
		w.mustCreateWith("a@example.com")
	})
	t.Run("events update the copy in any order and with repeats", func(t *testing.T) {
		w := open(t)
		second := w.state(2, true)
		for i, step := range []struct {
			states []tenancy.Company
			want   bool
		}{
			{[]tenancy.Company{second, w.state(1, false)}, true},
			{[]tenancy.Company{w.state(1, false)}, true},
			{[]tenancy.Company{w.state(4, false), w.state(3, true)}, false},
			{[]tenancy.Company{second}, false},
		} {
			if w.keep(step.states...); w.uniqueNow() != step.want {
				t.Errorf("step %d: the copy says %t", i, w.uniqueNow())
			}
		}
	})
	t.Run("events reach the copy over the bus", func(t *testing.T) {
		w := open(t)
		b := testkit.Bus(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.server.companies.Follow(ctx, b, companyConsumer) }()
		created, err := proto.Marshal(&authv1.CompanyCreated{Company: &authv1.CompanySnapshot{Id: w.company.String(), Version: 1, UniqueCustomerEmails: true}})
		if err != nil {
			t.Fatal(err)
		}
		m := bus.Message{ID: id.NewUUID(), Company: w.company, Subject: subjects.CompanyCreated, Payload: created, OccurredAt: time.Now()}
		if _, err := b.Publish(t.Context(), []bus.Message{m}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			_, err := pg.One[bool](t.Context(), w.db, pg.For(w.company), `select unique_emails from companies`)
			return err
		})
		if !w.uniqueNow() {
			t.Error("the copy does not have the change")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
