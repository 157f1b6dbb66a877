package customer

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// totals returns the totals of the lists of all, of the archived and of the other customers.
func (w *world) totals() (all [3]int64) {
	w.t.Helper()
	for i, archived := range []*bool{nil, ptr(true), ptr(false)} {
		res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{PageSize: 1, Archived: archived})
		if err != nil {
			w.t.Fatal(err)
		}
		all[i] = res.GetTotal()
	}
	return all
}

// counted returns the same numbers, counted from the rows.
func (w *world) counted() (all [3]int64) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return tx.QueryRow(ctx, `select count(*), count(*) filter (where archived), count(*) filter (where not archived)
			from customers where deleted_at is null`).Scan(&all[0], &all[1], &all[2])
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func TestTotals(t *testing.T) { // invariant 3
	w := open(t)
	t.Run("the totals are right after concurrent changes of every kind", func(t *testing.T) {
		const writers, each = 8, 12
		var work sync.WaitGroup
		for n := range writers {
			work.Go(func() {
				for i := range each {
					if err := w.liveThrough(fmt.Sprintf("%d.%d@example.com", n, i), i); err != nil {
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		if got, want := w.totals(), w.counted(); got != want || want[1] == 0 || want[2] == 0 {
			t.Errorf("the totals of all, archived and others are %d, want %d", got, want)
		}
	})
	t.Run("a writer of a release without the archived counter keeps it right", func(t *testing.T) {
		for _, sql := range []string{
			`insert into customers (company_id, id, first_name, last_name, email, mobile, archived, created_at, updated_at)
				select $1, gen_random_uuid(), 'A', 'B', 'c@example.com', '', g % 3 = 0, now(), now() from generate_series(1, 30) g`,
			`update customers set archived = not archived where company_id = $1 and deleted_at is null`,
			`update customers set deleted_at = now() where company_id = $1 and deleted_at is null and email = 'c@example.com' and id::text < '8'`,
		} {
			err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, sql, w.company)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := w.totals(), w.counted(); got[1] != want[1] {
				t.Errorf("after %s: the total of archived customers is %d, want %d", sql, got[1], want[1])
			}
		}
	})
}

// liveThrough creates a customer and changes it n times: archived, restored, deleted.
func (w *world) liveThrough(email string, n int) error {
	res, err := w.client.CreateCustomer(w.ctx(), &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B", Email: email})
	if err != nil {
		return err
	}
	customer := res.GetCustomer().GetId()
	for _, archived := range []bool{true, false, true}[:n%4] {
		if _, err := w.client.ArchiveCustomer(w.ctx(), &customerv1.ArchiveCustomerRequest{Id: customer, Archived: archived}); err != nil {
			return err
		}
	}
	if n%5 == 0 {
		_, err = w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: customer})
	}
	return err
}
