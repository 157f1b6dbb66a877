package booking

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// compare runs CompareCustomers. It returns the differences by customer and the number of checked
// copies.
func (w *world) compare(repair bool) (found map[string]string, checked int64) {
	w.t.Helper()
	stream, err := w.verifier.CompareCustomers(w.asPlatform(w.company), &bookingv1.CompareCustomersRequest{Repair: repair})
	if err != nil {
		w.t.Fatal(err)
	}
	found = map[string]string{}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found, checked
		}
		if err != nil {
			w.t.Fatal(err)
		}
		checked += res.GetChecked()
		if d := res.GetDifference(); d != nil {
			found[d.GetCustomerId()] = fmt.Sprint(d.GetCopiedVersion(), d.GetVersion(), d.GetRepaired())
		}
	}
}

// TestCompareCustomers compares with a customer service that was restored to a different time than
// the copy.
func TestCompareCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	same, behind, ahead, deleted, gone := w.customer(w.company, "Ada"), w.customer(w.company, "Bea"), w.customer(w.company, "Cleo"), w.customer(w.company, "Dora"), w.customer(w.company, "Eve")
	w.companies.add(tenancy.Company{ID: w.company, Timezone: "Europe/London", Currency: "GBP", Version: 1})
	other := id.New[id.Company]()
	elsewhere := w.customer(other, "Fay")
	change := func(customer id.Customer, version int64, first string, deletedAt time.Time) {
		r := w.customers.known[customer]
		r.Version, r.FirstName, r.DeletedAt = version, first, deletedAt
		w.customers.known[customer] = r
	}
	change(ahead, 4, "Cleo", time.Time{})
	if _, err := w.server.fetchCustomers(t.Context(), w.company, []id.Customer{same, behind, ahead, deleted, gone}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.server.fetchCustomers(t.Context(), other, []id.Customer{elsewhere}, nil); err != nil {
		t.Fatal(err)
	}
	change(behind, 5, "Beatrix", time.Time{})
	change(ahead, 2, "Cleopatra", time.Time{}) // earlier than the version in the copy
	change(deleted, 1, "Dora", time.Now())
	delete(w.customers.known, gone)
	change(elsewhere, 9, "Fanny", time.Time{})

	want := map[string]string{behind.String(): "1 5 false", ahead.String(): "4 2 false", deleted.String(): "1 1 false", gone.String(): "1 0 false"}
	found, checked := w.compare(false)
	if fmt.Sprint(found) != fmt.Sprint(want) || checked != 5 {
		t.Errorf("found %v of %d, want %v", found, checked, want)
	}
	want = map[string]string{behind.String(): "1 5 true", ahead.String(): "4 2 true", deleted.String(): "1 1 true", gone.String(): "1 0 false"}
	if found, _ := w.compare(true); fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("repaired %v, want %v", found, want)
	}
	if found, _ := w.compare(true); len(found) != 1 || found[gone.String()] == "" {
		t.Errorf("after the repair it found %v", found)
	}
	t.Run("requires platform:admin", func(t *testing.T) {
		stream, err := w.verifier.CompareCustomers(w.ctx, &bookingv1.CompareCustomersRequest{Repair: true})
		if err == nil {
			_, err = stream.Recv()
		}
		wantFault(t, err, fault.Forbidden, fault.ReasonInsufficientScope)
	})
	names, err := pg.Rows[string](t.Context(), w.db, pg.For(w.company), `select first_name from customers where company_id = $1 order by 1`, w.company)
	if err != nil || !slices.Equal(names, []string{"Ada", "Beatrix", "Cleopatra", "Dora", "Eve"}) {
		t.Errorf("the copy has %v, %v", names, err)
	}
}
