package customer

import (
	"context"
	"strings"
	"testing"

	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestSearchByNumber(t *testing.T) {
	d := open(t)
	for _, p := range [][4]string{
		{"Ann", "Smith", "ann@example.com", "+44 (0)7700 900123"}, {"Ben", "Jones", "770@example.com", "07700 900456"},
		{"Cleo", "Diaz", "cleo@example.com", "+1 (212) 555-0123"}, {"Dora", "Kiss", "dora@example.com", "0036 30 123 4567"},
		{"Eve", "None", "eve@example.com", ""}, {"Finn", "Odd", "finn@example.com", "ask reception"},
	} {
		_, err := d.client.CreateCustomer(d.ctx(), &customerv1.CreateCustomerRequest{FirstName: p[0], LastName: p[1], Email: p[2], Mobile: p[3]})
		if err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"07700 900123": "Ann", "+447700900123": "Ann", "0044 7700 900 123": "Ann", "447700900123": "Ann", "(07700) 900-123": "Ann",
		"+44 7700 900456": "Ben", "07700900456": "Ben", "0 77 00 90 04 56": "Ben",
		"0770": "Ann Ben", "+44 77": "Ann", "+44 7700": "Ann Ben", "44 770": "Ann",
		"0123": "Ann Cleo", "456": "Ben", "4567": "Dora", "3630": "Dora", "30 123": "Dora", "+36 30": "Dora", "212-555": "Cleo",
		"770": "Ann Ben", "ann 07700": "Ann", "07700 smith": "Ann", "ben 900123": "", "900": "", "12": "", "+44 7701": "",
	} {
		t.Run("a search for "+query+" finds whose number begins or ends so", func(t *testing.T) {
			res, err := d.client.ListCustomers(d.ctx(), &customerv1.ListCustomersRequest{Query: query})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range res.GetCustomers() {
				names = append(names, c.GetFirstName())
			}
			if got := strings.Join(names, " "); got != want || int(res.GetTotal()) != len(names) {
				t.Errorf("found %q of %d, want %q", got, res.GetTotal(), want)
			}
		})
	}
	t.Run("a number is written alike here and in the database", func(t *testing.T) {
		for _, number := range []string{"+44 (0)7700 900123", "07700 900456", "+1 (212) 555-0123", "0036 30 123 4567", "+353 87 123 4567", "+7 912 345 67 89", "00000", "123"} {
			var digits, key string
			err := d.db.InTx(t.Context(), pg.For(d.company), func(ctx context.Context, tx *pg.Tx) error {
				return tx.QueryRow(ctx, `select coalesce(written_number($1), ''), coalesce(national_number($1), '')`, number).Scan(&digits, &key)
			})
			if err != nil {
				t.Fatal(err)
			}
			if p, _ := phoneOf(number); p.digits != digits || p.key != key {
				t.Errorf("%s: %q and %q here, %q and %q there", number, p.digits, p.key, digits, key)
			}
		}
	})
	t.Run("a total is counted no further than it is asked for", func(t *testing.T) {
		res, err := d.client.ListCustomers(d.ctx(), &customerv1.ListCustomersRequest{Query: "770", TotalLimit: 1})
		if err != nil || res.GetTotal() != 1 || len(res.GetCustomers()) != 2 {
			t.Errorf("%v, %v", res, err)
		}
	})
}
