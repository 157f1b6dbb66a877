package customer

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// allowNoEmail sets whether customers of the company may have no e-mail address, in a company that requires unique ones.
func (w *world) allowNoEmail(version int64, optional bool) {
	w.t.Helper()
	w.keep(tenancy.Company{ID: w.company, UniqueEmails: true, OptionalEmails: optional, Version: version})
}

// wantFailed checks the rules that a request breaks, in their order.
func wantFailed(t *testing.T, err error, want ...string) {
	t.Helper()
	var got []string
	for _, f := range fault.From(err).Fields {
		got = append(got, f.Field+" "+f.Rule)
	}
	if !fault.Is(err, fault.Invalid) || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v with %q, want %q", err, got, want)
	}
}

func TestOptionalEmails(t *testing.T) { // invariant 17
	w := openUnique(t)
	invalid := &customerv1.CreateCustomerRequest{LastName: "B", Mobile: "1\x00"}
	t.Run("a company that does not allow it gets the refusals of a required address", func(t *testing.T) {
		for _, email := range []string{"", " \t"} {
			_, err := w.createWith(w.ctx(), email)
			wantFailed(t, err, "email required")
		}
		_, err := w.client.CreateCustomer(w.ctx(), invalid)
		wantFailed(t, err, "first_name required", "email required", "mobile characters")
		ann := w.mustCreateWith("ann@example.com")
		wantFailed(t, w.setEmail(ann, ""), "email required")
		_, err = w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: ann.GetId(), Email: ptr(" "), ExpectedVersion: ptr[int64](9)})
		wantFailed(t, err, "email required")
		if w.total() != 1 || w.events(subjectCreated) != 1 || w.events(subjectUpdated) != 0 {
			t.Errorf("total %d, events %d and %d", w.total(), w.events(subjectCreated), w.events(subjectUpdated))
		}
	})

	w.allowNoEmail(2, true)
	key := rpc.WithIdempotencyKey(w.ctx(), "guest")
	first, err := w.createWith(key, " ")
	if err != nil || first.GetEmail() != "" {
		t.Fatalf("got %v, %v", first, err)
	}
	second := w.mustCreateWith("")
	t.Run("several customers have no address in a company that requires unique ones", func(t *testing.T) {
		if first.GetId() == second.GetId() || w.total() != 3 {
			t.Errorf("total %d", w.total())
		}
	})
	t.Run("the other rules hold", func(t *testing.T) {
		_, err := w.createWith(w.ctx(), "ANN@example.com")
		wantTaken(t, err)
		_, err = w.createWith(w.ctx(), "nonsense")
		wantFailed(t, err, "email email")
		_, err = w.client.CreateCustomer(w.ctx(), invalid)
		wantFailed(t, err, "first_name required", "mobile characters")
		wantTaken(t, w.setEmail(first, "ann@example.com"))
	})
	t.Run("an update can remove an address and set one again", func(t *testing.T) {
		zoe := w.mustCreateWith("zoe@example.com")
		if err := w.setEmail(zoe, ""); err != nil {
			t.Fatal(err)
		}
		yan := w.mustCreateWith("zoe@example.com")
		wantTaken(t, w.setEmail(zoe, "zoe@example.com"))
		w.remove(yan)
		if err := w.setEmail(zoe, "zoe@example.com"); err != nil {
			t.Error(err)
		}
		w.remove(zoe)
	})
	t.Run("a caller can require an address all the same", func(t *testing.T) {
		_, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: first.GetId(), Email: ptr(""), RequireEmail: true})
		wantFailed(t, err, "email required")
	})
	t.Run("lists and searches find customers without an address", func(t *testing.T) {
		w.change(&customerv1.UpdateCustomerRequest{Id: second.GetId(), FirstName: ptr("Nell"), Mobile: ptr("+44 7700 900123")})
		for _, q := range []string{"nell", "nell b", "b 7700", "900123"} {
			res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Query: q})
			if err != nil || len(res.GetCustomers()) != 1 || res.GetCustomers()[0].GetId() != second.GetId() {
				t.Errorf("%q: got %v, %v", q, res, err)
			}
		}
		res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Email: "ann@example.com"})
		if err != nil || len(res.GetCustomers()) != 1 {
			t.Errorf("by address: got %v, %v", res, err)
		}
	})

	w.allowNoEmail(3, false)
	t.Run("after it is switched off, a customer without an address can be changed and archived", func(t *testing.T) {
		c := w.change(&customerv1.UpdateCustomerRequest{Id: first.GetId(), FirstName: ptr("Ida"), Email: ptr(" ")})
		if c.GetFirstName() != "Ida" || c.GetEmail() != "" {
			t.Errorf("got %v", c)
		}
		if _, err := w.client.ArchiveCustomer(w.ctx(), &customerv1.ArchiveCustomerRequest{Id: first.GetId(), Archived: true}); err != nil {
			t.Error(err)
		}
		_, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: first.GetId(), FirstName: ptr(""), Email: ptr("")})
		wantFailed(t, err, "first_name required")
	})
	t.Run("after it is switched off, no address can be removed and no customer be added without one", func(t *testing.T) {
		_, err := w.createWith(w.ctx(), "")
		wantFailed(t, err, "email required")
		if err := w.setEmail(second, "nell@example.com"); err != nil {
			t.Fatal(err)
		}
		wantFailed(t, w.setEmail(second, ""), "email required")
	})
	t.Run("a retry of a request from before gets the stored response", func(t *testing.T) {
		again, err := w.createWith(key, " ")
		if err != nil || !proto.Equal(again, first) {
			t.Errorf("got %v, %v", again, err)
		}
	})
	t.Run("a customer without an address can be deleted", func(t *testing.T) {
		w.remove(first)
	})
}

func TestOptionalEmailsOfImports(t *testing.T) { // invariants 5 and 17
	w := openUnique(t)
	lines := [][2]string{{"a", ""}, {"b", " "}, {"a", "ann@example.com"}, {"c", "ANN@example.com"}, {"", ""}, {"d", "nonsense"}}
	expect := func(want ...string) {
		t.Helper()
		if got := w.importOne(lines...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	w.allowNoEmail(1, true)
	expect("a CREATED", "b CREATED", "a EXISTED", "c CREATED", " REFUSED reference required", "d REFUSED email email")
	expect("a EXISTED", "b EXISTED", "a EXISTED", "c EXISTED", " REFUSED reference required", "d REFUSED email email")
	w.allowNoEmail(2, false)
	lines = [][2]string{{"e", ""}, {"e", "eve@example.com"}, {"f", "\t"}}
	expect("e REFUSED email required", "e CREATED", "f REFUSED email required")
	if w.total() != 4 || w.events(subjectCreated) != 4 {
		t.Errorf("total %d, events %d", w.total(), w.events(subjectCreated))
	}
}
