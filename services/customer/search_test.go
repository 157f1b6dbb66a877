package customer

import (
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestSearch(t *testing.T) {
	d := open(t)
	for _, p := range [][3]string{
		{"Ann", "Smith", "ann@example.com"}, {"Anna", "O'Neil", "oneil@example.com"}, {"Ben", "Annan", "ben_50%@example.com"},
		{"Þóra", "Jónsdóttir", "thora@example.is"}, {"李", "小龍", "li@example.com"},
	} {
		_, err := d.client.CreateCustomer(d.ctx(), &customerv1.CreateCustomerRequest{FirstName: p[0], LastName: p[1], Email: p[2]})
		if err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"ann": "Ann Anna Ben", "ANN SM": "Ann", "smith ann": "Ann", "o'n": "Anna", "ann@": "Ann", "þó": "Þóra", "ÞÓRA jóns": "Þóra", "李": "李",
		"ben_5": "Ben", "%": "", "mith": "", "  ": "Ann Anna Ben Þóra 李", "ann zzz": "",
	} {
		t.Run("a search for "+query+" finds whose names or address begin so", func(t *testing.T) {
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
	t.Run("a query of too many words is refused", func(t *testing.T) {
		for _, query := range []string{"a b c d e f", "a\x00"} {
			_, err := d.client.ListCustomers(d.ctx(), &customerv1.ListCustomersRequest{Query: query})
			if f := fault.From(err); f.Reason != fault.ReasonInvalidParameter {
				t.Errorf("%q: %v", query, err)
			}
		}
	})
}
