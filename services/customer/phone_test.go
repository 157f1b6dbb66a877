package customer

import (
	"context"
	"testing"

	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestSearchByNumber(t *testing.T) {
	w := open(t)
	w.addCustomers(
		[]string{"Ann", "Smith", "ann@example.com", "+44 (0)7700 900123"}, []string{"Ben", "Jones", "770@example.com", "07700 900456"},
		[]string{"Cleo", "Diaz", "cleo@example.com", "+1 (212) 555-0123"}, []string{"Dora", "Kiss", "dora@example.com", "0036 30 123 4567"},
		[]string{"Eve", "None", "eve@example.com", ""}, []string{"Finn", "Odd", "finn@example.com", "ask reception"},
	)
	for query, want := range map[string]string{
		"07700 900123": "Ann", "+447700900123": "Ann", "0044 7700 900 123": "Ann", "447700900123": "Ann", "(07700) 900-123": "Ann",
		"+44 7700 900456": "Ben", "07700900456": "Ben", "0 77 00 90 04 56": "Ben",
		"0770": "Ann Ben", "+44 77": "Ann", "+44 7700": "Ann Ben", "44 770": "Ann",
		"0123": "Ann Cleo Dora", "456": "Ben Dora", "4567": "Dora", "3630": "Dora", "30 123": "Dora", "+36 30": "Dora", "212-555": "Cleo",
		"770": "Ann Ben", "ann 07700": "Ann", "07700 smith": "Ann", "ben 900123": "", "900": "Ann Ben", "12": "Cleo Ann Dora", "7009001": "Ann", "555": "Cleo", "007": "", "+44 7701": "",
	} {
		t.Run("a search for "+query+" finds the right customers", func(t *testing.T) {
			w.t = t
			if got := w.found(&customerv1.ListCustomersRequest{Query: query}); got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
	w.t = t
	t.Run("a number is normalized in the same way here and in the database", func(t *testing.T) {
		for _, number := range []string{"+44 (0)7700 900123", "07700 900456", "+1 (212) 555-0123", "0036 30 123 4567", "+353 87 123 4567", "+7 912 345 67 89", "00000", "123"} {
			var digits, key string
			err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
				return tx.QueryRow(ctx, `select coalesce(written_number($1), ''), coalesce(national_number($1), '')`, number).Scan(&digits, &key)
			})
			if err != nil {
				t.Fatal(err)
			}
			if written, national := writtenNumber(number), nationalNumber(number); written != digits || national != key {
				t.Errorf("%s: %q and %q here, %q and %q there", number, written, national, digits, key)
			}
		}
	})
	t.Run("a total is counted up to the requested limit", func(t *testing.T) {
		res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Query: "770", TotalLimit: 1})
		if err != nil || res.GetTotal() != 1 || len(res.GetCustomers()) != 2 {
			t.Errorf("%v, %v", res, err)
		}
	})
}
