package customer

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// of returns a world for another company on the same server.
func (w *world) of(company id.Company) *world {
	other := *w
	other.company = company
	return &other
}

// importCreated imports a customer who was created at a time, and returns the result.
func (w *world) importCreated(at time.Time) customerv1.ImportOutcome {
	w.t.Helper()
	stream, err := w.client.ImportCustomers(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	req := &customerv1.ImportCustomersRequest{Customers: []*customerv1.ImportedCustomer{{
		Reference: "r-1", FirstName: "Zoë", LastName: "O'Brien", Email: "z@example.com", CreatedAt: timestamppb.New(at),
	}}}
	if err := stream.Send(req); err != nil {
		w.t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetResults()[0].GetOutcome()
}

func TestTestClockIsShown(t *testing.T) { // invariant 16
	live := open(t)
	test := live.of(live.company.Test())
	const ahead = 400 * 24 * time.Hour
	test.keep(tenancy.Company{ID: test.company, Version: 2, ClockOffset: int64(ahead / time.Second)})
	for w, by := range map[*world]time.Duration{live: 0, test: ahead} {
		recent := func(what string, at *timestamppb.Timestamp) {
			t.Helper()
			if d := time.Now().Add(by).Sub(at.AsTime()); d < -time.Second || d > time.Minute {
				t.Errorf("%s of %s is %s from the company's time", what, w.company, d)
			}
		}
		c := w.create("Zoë")
		recent("the creation of a customer", c.GetCreatedAt())
		recent("the change of a customer", w.change(&customerv1.UpdateCustomerRequest{Id: c.GetId(), FirstName: ptr("Zora")}).GetUpdatedAt())
		archived, err := w.client.ArchiveCustomer(w.ctx(), &customerv1.ArchiveCustomerRequest{Id: c.GetId(), Archived: true})
		if err != nil {
			t.Fatal(err)
		}
		recent("the archiving of a customer", archived.GetCustomer().GetUpdatedAt())
		n := w.note(c.GetId(), "Prefers mornings.")
		recent("the creation of a note", n.GetCreatedAt())
		changed, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: n.GetId(), Body: ptr("Prefers evenings.")})
		if err != nil {
			t.Fatal(err)
		}
		recent("the change of a note", changed.GetNote().GetUpdatedAt())
		want := customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED
		if by > 0 {
			want = customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED
		}
		if got := w.importCreated(time.Now().Add(24 * time.Hour)); got != want {
			t.Errorf("the import of a customer of tomorrow to %s is %s, want %s", w.company, got, want)
		}
		w.remove(w.create("Max"))
		erased, err := (Erasures{Server: w.server}).EraseCustomer(w.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: w.create("Ben").GetId()})
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(erased.GetErasure().GetRequestedAt().AsTime()); d < -time.Second || d > time.Minute {
			t.Errorf("the erasure for %s was requested %s ago", w.company, d)
		}
	}
	for what, sql := range map[string]string{
		"events that did not occur at the real time": `select count(*) from outbox where occurred_at > clock_timestamp() or occurred_at < clock_timestamp() - interval '1 hour'`,
		"deletions and erasures before the creation": `select count(*) from customers where deleted_at < created_at`,
	} {
		if n, err := pg.One[int64](t.Context(), live.db, pg.AllCompanies(), sql); err != nil || n > 0 {
			t.Errorf("%d %s, %v", n, what, err)
		}
	}
}

func TestDeletedTestData(t *testing.T) { // invariants 3 and 16
	live := open(t)
	test, neighbour := live.of(live.company.Test()), live.of(id.New[id.Company]().Test())
	customers := map[*world]*customerv1.Customer{}
	for _, w := range []*world{live, test, neighbour} {
		customers[w] = w.create("Zoë")
		w.note(customers[w].GetId(), "Prefers mornings.")
		w.create("Max")
	}
	reset := tenancy.NewTestData(live.db)
	if _, err := reset.DeleteTestData(rpc.WithClaims(t.Context(), &token.Claims{Company: test.company}), &authv1.DeleteTestDataRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := test.client.GetCustomer(test.ctx(), &customerv1.GetCustomerRequest{Id: customers[test].GetId()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want no customer", err)
	}
	for w, want := range map[*world]int64{live: 2, test: 0, neighbour: 2} {
		if n := w.total(); n != want {
			t.Errorf("%s has %d customers, want %d", w.company, n, want)
		}
	}
	test.create("Zoë")
	if n := test.total(); n != 1 {
		t.Errorf("%d customers after a new one", n)
	}
}
