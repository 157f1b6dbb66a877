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
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// fakeAuth stands for the auth service.
type fakeAuth struct {
	mu     sync.Mutex
	unique bool  // what every company asks for
	err    error // what it answers instead
	calls  int
}

func (f *fakeAuth) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return tenancy.Company{ID: company, UniqueEmails: f.unique, Version: 1}, f.err
}

// keep stores states of the company in the copy.
func (d *desk) keep(states ...tenancy.Company) {
	d.t.Helper()
	err := d.db.InTx(d.t.Context(), pg.For(d.company), func(ctx context.Context, tx *pg.Tx) error {
		return d.server.companies.Keep(ctx, tx, states)
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// state is the company as of a version.
func (d *desk) state(version int64, unique bool) tenancy.Company {
	return tenancy.Company{ID: d.company, UniqueEmails: unique, Version: version}
}

// uniqueNow is whether the copy says that the company asks for unique addresses.
func (d *desk) uniqueNow() bool {
	d.t.Helper()
	unique, err := pg.One[bool](d.t.Context(), d.db, pg.For(d.company), `select unique_emails from companies where company_id = $1`, d.company)
	if err != nil {
		d.t.Fatal(err)
	}
	return unique
}

func (d *desk) createWith(ctx context.Context, email string) (*customerv1.Customer, error) {
	res, err := d.client.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B", Email: email})
	return res.GetCustomer(), err
}

func (d *desk) mustCreateWith(email string) *customerv1.Customer {
	d.t.Helper()
	c, err := d.createWith(d.ctx(), email)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *desk) setEmail(c *customerv1.Customer, email string) error {
	_, err := d.client.UpdateCustomer(d.ctx(), &customerv1.UpdateCustomerRequest{Id: c.GetId(), Email: &email})
	return err
}

// wantTaken checks that err refuses an address.
func wantTaken(t *testing.T, err error) {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Kind != fault.Refused || f.Reason != ReasonEmailExists || len(f.Fields) != 1 || f.Fields[0].Field != "email" || f.Fields[0].Rule != "unique" {
		t.Errorf("got %v, want %s", err, ReasonEmailExists)
	}
}

// doubles is how many customers of the company have an address that another has.
func (d *desk) doubles() int64 {
	d.t.Helper()
	n, err := pg.One[int64](d.t.Context(), d.db, pg.For(d.company), `select coalesce(sum(n), 0)::bigint from
		(select count(*) n from customers where company_id = $1 and deleted_at is null group by lower(email) having count(*) > 1) s`, d.company)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// openUnique is the service for a company that asks for unique addresses.
func openUnique(t testing.TB) *desk {
	d := open(t)
	d.auth.unique = true
	return d
}

func TestUniqueEmails(t *testing.T) { // invariant 8
	d := openUnique(t)
	ann := d.mustCreateWith("Ann@example.com")
	t.Run("a taken address is refused, whatever its case, and nothing is stored", func(t *testing.T) {
		for _, email := range []string{"Ann@example.com", "ann@EXAMPLE.COM", " ANN@example.com "} {
			_, err := d.createWith(d.ctx(), email)
			wantTaken(t, err)
		}
		if d.total() != 1 || d.events(subjectCreated) != 1 {
			t.Errorf("total %d, events %d", d.total(), d.events(subjectCreated))
		}
	})
	t.Run("an address is taken over by nobody either", func(t *testing.T) {
		ben := d.mustCreateWith("ben@example.com")
		wantTaken(t, d.setEmail(ben, "ANN@example.com"))
		if err := d.setEmail(ben, "Benny@example.com"); err != nil {
			t.Error(err)
		}
		if err := d.setEmail(ann, "BEN@example.com"); err != nil {
			t.Error("an address that was given up is not free:", err)
		}
	})
	t.Run("a customer may spell the own address otherwise, and change all else", func(t *testing.T) {
		if err := d.setEmail(ann, "Ben@Example.com"); err != nil {
			t.Error(err)
		}
		d.change(&customerv1.UpdateCustomerRequest{Id: ann.GetId(), FirstName: ptr("Anna")})
	})
	t.Run("an archived customer keeps the address, a deleted one gives it up", func(t *testing.T) {
		carl := d.mustCreateWith("carl@example.com")
		d.change(&customerv1.UpdateCustomerRequest{Id: carl.GetId(), Archived: ptr(true)})
		_, err := d.createWith(d.ctx(), "carl@example.com")
		wantTaken(t, err)
		d.remove(carl)
		d.mustCreateWith("carl@example.com")
	})
	t.Run("another company's customers take nothing", func(t *testing.T) {
		if _, err := d.createWith(d.as(id.New[id.Company]()), "carl@example.com"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a request that is repeated under its key is answered as before", func(t *testing.T) {
		ctx := rpc.WithIdempotencyKey(d.ctx(), "again")
		one, err := d.createWith(ctx, "dora@example.com")
		if err != nil {
			t.Fatal(err)
		}
		two, err := d.createWith(ctx, "dora@example.com")
		if err != nil || !proto.Equal(one, two) {
			t.Errorf("got %v, %v, want %v", two, err, one)
		}
		refused := rpc.WithIdempotencyKey(d.ctx(), "refused")
		for range 2 {
			_, err := d.createWith(refused, "DORA@example.com")
			wantTaken(t, err)
		}
	})
}

func TestDoublesFromBefore(t *testing.T) { // invariant 8
	d := open(t)
	one, two := d.mustCreateWith("same@example.com"), d.mustCreateWith("Same@example.com")
	d.keep(d.state(2, true))
	t.Run("stay, and are changed as before", func(t *testing.T) {
		d.change(&customerv1.UpdateCustomerRequest{Id: one.GetId(), Mobile: ptr("1"), Email: ptr("SAME@example.com")})
		d.change(&customerv1.UpdateCustomerRequest{Id: two.GetId(), Archived: ptr(true)})
		if d.doubles() != 2 {
			t.Errorf("%d doubles", d.doubles())
		}
	})
	t.Run("are not joined by a third", func(t *testing.T) {
		_, err := d.createWith(d.ctx(), "same@example.com")
		wantTaken(t, err)
		wantTaken(t, d.setEmail(d.mustCreateWith("other@example.com"), "same@example.com"))
	})
	t.Run("do not come back once one of them has another address", func(t *testing.T) {
		if err := d.setEmail(one, "one@example.com"); err != nil {
			t.Fatal(err)
		}
		wantTaken(t, d.setEmail(one, "same@example.com"))
	})
	t.Run("are allowed again when the company no longer asks", func(t *testing.T) {
		d.keep(d.state(3, false))
		d.mustCreateWith("same@example.com")
	})
}

// importOne imports a batch and returns what became of its lines, by reference.
func (d *desk) importOne(lines ...[2]string) []string {
	d.t.Helper()
	req := &customerv1.ImportCustomersRequest{}
	for _, l := range lines {
		req.Customers = append(req.Customers, &customerv1.ImportedCustomer{Reference: l[0], FirstName: "A", LastName: "B", Email: l[1]})
	}
	stream, err := d.client.ImportCustomers(d.ctx())
	if err != nil {
		d.t.Fatal(err)
	}
	if err := stream.Send(req); err != nil {
		d.t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		d.t.Error(err)
		return nil
	}
	if err := stream.CloseSend(); err != nil {
		d.t.Error(err)
	}
	var outcomes []string
	for _, r := range res.GetResults() {
		outcome := r.GetOutcome().String()[len("IMPORT_OUTCOME_"):]
		if (r.GetId() == "") != (outcome == "REFUSED") {
			d.t.Errorf("%s %s has the identifier %q", r.GetReference(), outcome, r.GetId())
		}
		if outcome == "REFUSED" {
			outcome += " " + r.GetField() + " " + r.GetRule()
		}
		outcomes = append(outcomes, r.GetReference()+" "+outcome)
	}
	return outcomes
}

func TestUniqueEmailsOfImports(t *testing.T) { // invariants 5 and 8
	d := openUnique(t)
	d.mustCreateWith("ann@example.com")
	lines := [][2]string{
		{"a", "ANN@example.com"}, {"b", "ben@example.com"}, {"c", "Ben@example.com"}, {"b", "zoe@example.com"},
		{"a", "free@example.com"}, {"d", "zoe@example.com"}, {"e", "nonsense"},
	}
	want := []string{
		"a REFUSED email unique", "b CREATED", "c REFUSED email unique", "b EXISTED",
		"a REFUSED email unique", "d CREATED", "e REFUSED email email",
	}
	if got := d.importOne(lines...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want[1], want[5] = "b EXISTED", "d EXISTED"
	if got := d.importOne(lines...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("again: got  %q\nwant %q", got, want)
	}
	if d.total() != 3 || d.events(subjectCreated) != 3 || d.doubles() != 0 {
		t.Errorf("total %d, events %d, doubles %d", d.total(), d.events(subjectCreated), d.doubles())
	}
}

func TestUniqueEmailsAtOnce(t *testing.T) { // invariant 8
	const addresses, rounds = 12, 6
	d := openUnique(t)
	d.mustCreateWith("first@example.com")
	email := func(n int) string {
		if n%2 == 0 {
			return fmt.Sprintf("Person.%d@example.com", n%addresses)
		}
		return fmt.Sprintf("person.%d@EXAMPLE.com", n%addresses)
	}
	var movers []*customerv1.Customer
	for i := range 20 {
		movers = append(movers, d.mustCreateWith(fmt.Sprintf("mover.%d@example.com", i)))
	}
	var wg sync.WaitGroup
	for round := range rounds {
		for i := range 40 {
			wg.Go(func() {
				c, err := d.createWith(d.ctx(), email(i+round))
				if err != nil {
					wantTaken(t, err)
				} else if i%3 == 0 {
					_, err := d.client.DeleteCustomer(d.ctx(), &customerv1.DeleteCustomerRequest{Id: c.GetId()})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i, c := range movers {
			wg.Go(func() {
				if err := d.setEmail(c, email(i*round)); err != nil {
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
				d.importOne(lines...)
			})
		}
	}
	wg.Wait()
	if n := d.doubles(); n != 0 {
		t.Errorf("%d customers have an address that another has", n)
	}
	d.total()
}

func TestCompanies(t *testing.T) { // invariant 9
	t.Run("a company that is met for the first time is fetched, once", func(t *testing.T) {
		d := openUnique(t)
		d.mustCreateWith("a@example.com")
		_, err := d.createWith(d.ctx(), "a@example.com")
		wantTaken(t, err)
		if d.auth.calls != 1 {
			t.Errorf("auth was asked %d times", d.auth.calls)
		}
	})
	t.Run("one that does not exist has no customers", func(t *testing.T) {
		d := open(t)
		d.auth.err = fault.Missing("company")
		if _, err := d.createWith(d.ctx(), "a@example.com"); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if d.total() != 0 {
			t.Errorf("total %d", d.total())
		}
	})
	t.Run("while auth is away, only a company that is not known waits", func(t *testing.T) {
		d := open(t)
		d.auth.err = fault.Away(errors.New("down"))
		if _, err := d.createWith(d.ctx(), "a@example.com"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		d.keep(d.state(1, true))
		d.mustCreateWith("a@example.com")
	})
	t.Run("events keep the copy, in whatever order and however often they come", func(t *testing.T) {
		d := open(t)
		second := d.state(2, true)
		for i, step := range []struct {
			states []tenancy.Company
			want   bool
		}{
			{[]tenancy.Company{second, d.state(1, false)}, true},
			{[]tenancy.Company{d.state(1, false)}, true},
			{[]tenancy.Company{d.state(4, false), d.state(3, true)}, false},
			{[]tenancy.Company{second}, false},
		} {
			if d.keep(step.states...); d.uniqueNow() != step.want {
				t.Errorf("step %d: the copy says %t", i, d.uniqueNow())
			}
		}
	})
	t.Run("events reach the copy over the bus", func(t *testing.T) {
		d := open(t)
		b := testkit.Bus(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.server.companies.Follow(ctx, b, companyConsumer) }()
		created, err := proto.Marshal(&authv1.CompanyCreated{Company: &authv1.CompanySnapshot{Id: d.company.String(), Version: 1, UniqueCustomerEmails: true}})
		if err != nil {
			t.Fatal(err)
		}
		m := bus.Message{ID: id.NewUUID(), Company: d.company, Subject: tenancy.SubjectCompanyCreated, Payload: created, OccurredAt: time.Now()}
		if _, err := b.Publish(t.Context(), []bus.Message{m}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 20*time.Second, func() error {
			_, err := pg.One[bool](t.Context(), d.db, pg.For(d.company), `select unique_emails from companies`)
			return err
		})
		if !d.uniqueNow() {
			t.Error("the copy does not say so")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
