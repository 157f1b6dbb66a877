package customer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// addCustomers creates customers with a first name, a last name, an address and, optionally, a
// phone number.
func (w *world) addCustomers(list ...[]string) {
	w.t.Helper()
	for _, p := range list {
		req := &customerv1.CreateCustomerRequest{FirstName: p[0], LastName: p[1], Email: p[2]}
		if len(p) > 3 {
			req.Mobile = p[3]
		}
		if _, err := w.client.CreateCustomer(w.ctx(), req); err != nil {
			w.t.Fatal(err)
		}
	}
}

// found returns the first names of the customers that a query finds, by id, and fails if the total
// is different.
func (w *world) found(req *customerv1.ListCustomersRequest) string {
	w.t.Helper()
	res, err := w.client.ListCustomers(w.ctx(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, c := range res.GetCustomers() {
		names = append(names, c.GetFirstName())
	}
	if int(res.GetTotal()) != len(names) {
		w.t.Errorf("the total is %d, and %q are found", res.GetTotal(), names)
	}
	return strings.Join(names, " ")
}

func TestSearch(t *testing.T) {
	w := open(t)
	w.addCustomers(
		[]string{"Ann", "Smith", "ann@example.com"}, []string{"Anna", "O'Neil", "oneil@example.com"},
		[]string{"Ben", "Annan", "ben_50%@example.com"}, []string{"Þóra", "Jónsdóttir", "thora@example.is"},
		[]string{"李", "小龍", "li@example.com"}, []string{"Jack", "de Vries", "jdv@example.com"},
		[]string{"María", "Núñez", "maria@example.com"}, []string{"Gina", "D’Angelo", "gina@example.com"},
		[]string{"Joanne", "Weiß-Łuk", "joanne.w@example.com"}, []string{"IŞIL", "Çelik", "isil@example.com"},
		[]string{"Юлия", "Ёлкина", "yulia@example.com"}, []string{"Søren", "St. John", "soren@example.dk"},
		[]string{"Maria Jose", "de la Cruz y Lopez Roldan", "mj@example.es"}, []string{"김", "철수", "kim@example.kr"},
	)
	for query, want := range map[string]string{
		// Whole words come first, then beginnings of words, then the rest.
		"ann": "Ann Anna Ben Joanne", "ANN SM": "Ann", "smith ann": "Ann", "ann zzz": "", "mith": "Ann", "  ": "Ann Anna Ben Þóra 李 Jack María Gina Joanne IŞIL Юлия Søren Maria Jose 김",
		"o'n": "Anna Þóra", "o'ne": "Anna", "oneil": "Anna", "O’Neil": "Anna", "dangelo": "Gina", "d'angelo": "Gina", "D´Angelo": "Gina", "dʼangelo": "Gina", "angelo": "Gina",
		"nunez": "María", "Núñez": "María", "NUN\u0303EZ": "María", "uñe": "María", "maria nunez": "María",
		"þó": "Þóra", "ÞÓRA jóns": "Þóra", "thora": "Þóra", "dottir": "Þóra",
		"李": "李", "龍": "李", "小龍 李": "李", "김": "김", "철수": "김", "수": "김",
		"jack de vries": "Jack", "de vries": "Jack", "Vries, Jack": "Jack", "e vri": "Jack", "de": "Jack Maria Jose", "JACK DE VRIES": "Jack",
		"weiss": "Joanne", "WEIẞ": "Joanne", "weiss luk": "Joanne", "Weiss-Luk": "Joanne", "weiß–łuk": "Joanne",
		"isil celik": "IŞIL", "Işıl": "IŞIL", "ışıl": "IŞIL", "юлия": "Юлия", "ЮЛИЯ ЕЛКИНА": "Юлия", "лки": "Юлия",
		"soren": "Søren", "st john": "Søren", "St. John": "Søren", "SØREN": "Søren",
		"Maria Jose de la Cruz y Lopez Roldan": "Maria Jose",
		"ann@":                                 "Ann", "example.dk": "Søren", "ben_5": "Ben", "%": "Ben", "_": "Ben", "w@ex": "Joanne", "x_": "", "'": "", "’ - ,": "", "...": "", "' ann": "Ann Anna Ben Joanne",
		// One typo in a word of at least four letters, if nothing matches without it.
		"smyth": "Ann", "simth": "Ann", "smiith": "Ann", "smth": "Ann", "ann smyth": "Ann", "vires jack": "Jack", "devries": "Jack", "jakc": "Jack",
		"nunes": "María", "jonsdotir": "Þóra", "jnosd": "", "smxxth": "", "bne": "", "soern": "Søren", "gina@exmaple.com": "Gina", "dangello": "Gina",
	} {
		t.Run("a search for "+query+" finds the right customers", func(t *testing.T) {
			w.t = t
			if got := w.found(&customerv1.ListCustomersRequest{Query: query}); got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
	w.t = t
	t.Run("a query with too many words is refused", func(t *testing.T) {
		for _, query := range []string{"a b c d e f g h i j k", "a\x00"} {
			_, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Query: query})
			if f := fault.From(err); f.Reason != fault.ReasonInvalidParameter {
				t.Errorf("%q: %v", query, err)
			}
		}
	})
	t.Run("another company's customers are not found", func(t *testing.T) {
		for _, query := range []string{"ann", "a", "smyth", "李"} {
			res, err := w.client.ListCustomers(w.as(id.New[id.Company]()), &customerv1.ListCustomersRequest{Query: query})
			if err != nil || len(res.GetCustomers()) > 0 || res.GetTotal() != 0 {
				t.Errorf("%q: %v, %v", query, res, err)
			}
		}
	})
	t.Run("finds a changed customer by the new name, and no deleted customer", func(t *testing.T) {
		w := open(t)
		w.addCustomers([]string{"Eva", "Brandt", "eva@example.com"})
		found, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Query: "brandt"})
		if err != nil {
			t.Fatal(err)
		}
		eva := found.GetCustomers()[0].GetId()
		if _, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: eva, LastName: ptr("Øster")}); err != nil {
			t.Fatal(err)
		}
		if got := w.found(&customerv1.ListCustomersRequest{Query: "oster"}) + w.found(&customerv1.ListCustomersRequest{Query: "brandt"}); got != "Eva" {
			t.Errorf("found %q", got)
		}
		if _, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: eva}); err != nil {
			t.Fatal(err)
		}
		if got := w.found(&customerv1.ListCustomersRequest{Query: "oster"}); got != "" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("searches for a typo only if nothing in the list matches without it", func(t *testing.T) {
		w := open(t)
		w.addCustomers([]string{"Jon", "Smyth", "jon@example.com"}, []string{"Will", "Smith", "will@example.com"})
		found, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Query: "smyth"})
		if err != nil || len(found.GetCustomers()) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		if _, err := w.client.ArchiveCustomer(w.ctx(), &customerv1.ArchiveCustomerRequest{Id: found.GetCustomers()[0].GetId(), Archived: true}); err != nil {
			t.Fatal(err)
		}
		if got := w.found(&customerv1.ListCustomersRequest{Query: "smyth", Archived: ptr(false)}); got != "Will" {
			t.Errorf("found %q", got)
		}
	})
}

// Every order, page size and way of paging returns the same list: customers with a whole word
// first, then those with the beginning of a word, then the others.
func TestSearchPages(t *testing.T) {
	w := open(t)
	var want []string
	for _, last := range []string{"Ann", "Anning", "Hannah"} {
		for i := range 7 {
			w.addCustomers([]string{fmt.Sprint(last, i), last, fmt.Sprintf("p%d@example.com", i)})
			want = append(want, fmt.Sprint(last, i))
		}
	}
	w.addCustomers([]string{"Zed", "Zimmer", "zed@example.com"})
	for _, order := range []customerv1.CustomerOrder{customerv1.CustomerOrder_CUSTOMER_ORDER_UNSPECIFIED, customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED_DESC} {
		want := slices.Clone(want)
		if order == customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED_DESC {
			for tier := range slices.Chunk(want, 7) {
				slices.Reverse(tier)
			}
		}
		for _, size := range []int32{1, 3, 7, 20, 21, 22} {
			t.Run(fmt.Sprintf("pages of %d in order %s", size, order), func(t *testing.T) {
				for name, got := range map[string][]string{"tokens": w.walk("ann", order, size, true), "offsets": w.walk("ann", order, size, false)} {
					if !slices.Equal(got, want) {
						t.Errorf("by %s: %q, want %q", name, got, want)
					}
				}
				if got := w.walk("zimmre", order, size, true); !slices.Equal(got, []string{"Zed"}) {
					t.Errorf("with a typo: %q", got)
				}
			})
		}
	}
	t.Run("a page token of a typo search continues after an exact match was added", func(t *testing.T) {
		w.addCustomers([]string{"Zoe", "Zimmer", "zoe@example.com"})
		req := &customerv1.ListCustomersRequest{Query: "zimmre", PageSize: 1}
		first, err := w.client.ListCustomers(w.ctx(), req)
		if err != nil {
			t.Fatal(err)
		}
		w.addCustomers([]string{"Zac", "Zimmre", "zac@example.com"})
		req.PageToken = first.GetNextPageToken()
		second, err := w.client.ListCustomers(w.ctx(), req)
		if err != nil || len(second.GetCustomers()) != 1 || second.GetCustomers()[0].GetFirstName() != "Zoe" {
			t.Errorf("%v, %v", second, err)
		}
	})
}

func (w *world) walk(query string, order customerv1.CustomerOrder, size int32, byToken bool) (names []string) {
	w.t.Helper()
	req := &customerv1.ListCustomersRequest{Query: query, Order: order, PageSize: size}
	for {
		res, err := w.client.ListCustomers(w.ctx(), req)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, c := range res.GetCustomers() {
			names = append(names, c.GetFirstName())
		}
		switch {
		case res.GetNextPageToken() == "":
			return names
		case byToken:
			req.PageToken = res.GetNextPageToken()
		default:
			req.Offset += int64(size)
		}
	}
}

// The pattern of a word with a typo matches every word that the typo can make of it.
func TestTypos(t *testing.T) {
	for _, word := range []string{"anna", "smith", "50%_off", "jonsdottir"} {
		all := typos(word)
		if unique := slices.Compact(slices.Sorted(slices.Values(all))); len(all) > 4*len(word)+1 || len(unique) < 3*len(word) {
			t.Errorf("%s: %d patterns, %d unique", word, len(all), len(unique))
		}
	}
	for _, word := range []string{"ann", "12345678", "小龍小龍", strings.Repeat("a", maxTypo+1)} {
		if all := typos(word); all != nil {
			t.Errorf("%s: %q", word, all)
		}
	}
}

func TestDistinct(t *testing.T) {
	got := distinct([]string{"de", "小龍小龍", "vries", "de", "jack"})
	if want := []string{"vries", "jack", "小龍小龍", "de"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		t.Error("a word without a trigram is before one with")
	}
}

// fold has the same result in every locale of the database.
func TestFold(t *testing.T) {
	w := open(t)
	for text, want := range map[string]string{
		"Núñez": "nunez", "N\u0303": "n", "ß ẞ": "ss ss", "Øystein Łukasz Ægir Œuvre": "oystein lukasz aegir oeuvre", "İI ıi": "ii ii",
		"D'Angelo D’Angelo D‘A Dʼa D`a D´a": "dangelo dangelo da da da da", "Anne-Marie  Smith,": "anne marie smith", "Anne‑Marie": "anne marie",
		"李小龍 が 김철수": "李小龍 が 김철수", "ЙОШКА Ёж": "иошка еж", "ΣΟΦΊΑΣ": "σοφιασ", "Ｆｕｌｌ": "full", "St. J.R. a.b@c.de": "st j.r a.b@c.de", "'": "",
	} {
		var got string
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return tx.QueryRow(ctx, `select fold($1)`, text).Scan(&got)
		})
		if err != nil || got != want {
			t.Errorf("%q becomes %q, want %q: %v", text, got, want, err)
		}
	}
}
