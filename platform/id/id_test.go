package id_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"reservation.dev/platform/id"
)

const sample = "01jb4x9m3vf6ksn8w2d7pq5r0t"

func TestParse(t *testing.T) {
	t.Parallel()
	t.Run("parses the text of a new identifier", func(t *testing.T) {
		t.Parallel()
		for range 1000 {
			c := id.New[id.Customer]()
			got, err := id.Parse[id.Customer](c.String())
			if err != nil || got != c {
				t.Fatalf("%s: %v, %v", c, got, err)
			}
		}
	})
	t.Run("agrees with the examples in the TypeID specification", func(t *testing.T) {
		t.Parallel()
		// The pairs are from valid.yml of the specification.
		for text, want := range map[string]string{
			"00000000000000000000000000": "00000000-0000-0000-0000-000000000000",
			"00000000000000000000000001": "00000000-0000-0000-0000-000000000001",
			"0000000000000000000000000a": "00000000-0000-0000-0000-00000000000a",
			"0000000000000000000000000g": "00000000-0000-0000-0000-000000000010",
			"00000000000000000000000010": "00000000-0000-0000-0000-000000000020",
			"7zzzzzzzzzzzzzzzzzzzzzzzzz": "ffffffff-ffff-ffff-ffff-ffffffffffff",
			"0123456789abcdefghjkmnpqrs": "0110c853-1d09-52d8-d73e-1194e95b5f19",
			"01h455vb4pex5vsknk084sn02q": "01890a5d-ac96-774b-bcce-b302099a8057",
		} {
			u, err := id.ParseUUID(text)
			if err != nil || uuid.UUID(u).String() != want || u.String() != text {
				t.Errorf("%s is %s, %v; want %s", text, uuid.UUID(u), err, want)
			}
		}
	})
	t.Run("refuses malformed identifiers", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"", "cust_", sample, "cust" + sample, "comp_" + sample, "CUST_" + sample,
			"cust_" + strings.ToUpper(sample), "cust_" + sample[1:], "cust_" + sample + "0", " cust_" + sample,
			"cust_8" + sample[1:], "cust_" + sample[:25] + "l", "cust_" + sample[:25] + "i",
			"cust_" + sample[:25] + "o", "cust_" + sample[:25] + "u", "cust_" + sample[:25] + "-", "cust_" + sample[:24] + "é",
		} {
			if got, err := id.Parse[id.Customer](text); !errors.Is(err, id.ErrMalformed) || !got.IsZero() {
				t.Errorf("%q gives %v, %v", text, got, err)
			}
		}
	})
	t.Run("refuses the identifier with 26 zeros, because the zero value means none", func(t *testing.T) {
		t.Parallel()
		const zeros = "cust_00000000000000000000000000"
		if got, err := id.Parse[id.Customer](zeros); !errors.Is(err, id.ErrMalformed) {
			t.Errorf("Parse gives %v, %v", got, err)
		}
		var c id.Customer
		if err := c.UnmarshalText([]byte(zeros)); !errors.Is(err, id.ErrMalformed) {
			t.Errorf("UnmarshalText gives %v", err)
		}
	})
	t.Run("a filter distinguishes an absent identifier from a malformed one", func(t *testing.T) {
		t.Parallel()
		some := id.New[id.Customer]()
		if got := id.Filter[id.Customer](""); got != nil {
			t.Errorf("an absent identifier gives %v", got)
		}
		if got := id.Filter[id.Customer](some.String()); got == nil || *got != some {
			t.Errorf("%s gives %v", some, got)
		}
		for _, text := range []string{"nonsense", "evt_" + sample, "cust_00000000000000000000000000"} {
			if got := id.Filter[id.Customer](text); got == nil || !got.IsZero() {
				t.Errorf("%q gives %v, want the zero identifier, which is NULL", text, got)
			}
		}
	})
	t.Run("refuses the identifier of another kind", func(t *testing.T) {
		t.Parallel()
		texts := []string{
			id.New[id.Company]().String(), id.New[id.APIClient]().String(), id.New[id.ServiceCredential]().String(),
			id.New[id.Customer]().String(), id.New[id.Transaction]().String(), id.New[id.Booking]().String(),
			id.New[id.Event]().String(), id.New[id.EventDate]().String(), id.New[id.PricingOption]().String(),
			id.New[id.PassType]().String(), id.New[id.CustomerPass]().String(),
		}
		for _, text := range texts {
			_, isPass := errorOf(id.Parse[id.PassType](text))
			_, isCustomerPass := errorOf(id.Parse[id.CustomerPass](text))
			_, isOption := errorOf(id.Parse[id.PricingOption](text))
			_, isCompany := errorOf(id.Parse[id.Company](text))
			if isPass != strings.HasPrefix(text, "pass_") || isCustomerPass != strings.HasPrefix(text, "cp_") ||
				isOption != strings.HasPrefix(text, "po-") || isCompany != strings.HasPrefix(text, "comp_") {
				t.Errorf("%s: pass %t, customer pass %t, option %t, company %t", text, isPass, isCustomerPass, isOption, isCompany)
			}
		}
	})
}

func errorOf[T any](v T, err error) (T, bool) { return v, err == nil }

func TestOrder(t *testing.T) {
	t.Parallel()
	t.Run("text and bytes sort by time", func(t *testing.T) {
		t.Parallel()
		var ids []id.Customer
		for range 2000 {
			ids = append(ids, id.New[id.Customer]())
		}
		if !slices.IsSortedFunc(ids, func(a, b id.Customer) int { return bytes.Compare(a[:], b[:]) }) {
			t.Error("later identifiers do not sort after earlier ones as bytes")
		}
		if !slices.IsSortedFunc(ids, func(a, b id.Customer) int { return strings.Compare(a.String(), b.String()) }) {
			t.Error("later identifiers do not sort after earlier ones as text")
		}
	})
	t.Run("goroutines never get the same UUID", func(t *testing.T) {
		t.Parallel()
		const workers, each = 8, 2000
		var wg sync.WaitGroup
		made := make([][]id.UUID, workers)
		for w := range workers {
			wg.Go(func() {
				for range each {
					made[w] = append(made[w], id.NewUUID())
				}
			})
		}
		wg.Wait()
		seen := map[id.UUID]bool{}
		for _, u := range slices.Concat(made...) {
			if seen[u] {
				t.Fatalf("%s was made twice", u)
			}
			seen[u] = true
		}
	})
}

func TestZero(t *testing.T) {
	t.Parallel()
	var zero id.Customer
	t.Run("is empty as text and NULL in a database", func(t *testing.T) {
		t.Parallel()
		text, _ := zero.MarshalText()
		value, _ := zero.UUIDValue()
		if zero.String() != "" || len(text) != 0 || value.Valid || !zero.IsZero() {
			t.Fatalf("%q %q %v", zero.String(), text, value)
		}
	})
	t.Run("survives a round trip through JSON", func(t *testing.T) {
		t.Parallel()
		doc, err := json.Marshal(map[string]id.Customer{"c": zero})
		if err != nil || string(doc) != `{"c":""}` {
			t.Fatalf("%s %v", doc, err)
		}
		var back map[string]id.Customer
		if err := json.Unmarshal(doc, &back); err != nil || !back["c"].IsZero() {
			t.Fatalf("%v %v", back, err)
		}
	})
	t.Run("is scanned from NULL", func(t *testing.T) {
		t.Parallel()
		c := id.New[id.Customer]()
		if err := c.ScanUUID(pgtype.UUID{}); err != nil || !c.IsZero() {
			t.Fatalf("%v %v", c, err)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	t.Run("is a string in JSON", func(t *testing.T) {
		t.Parallel()
		c := id.New[id.Booking]()
		doc, err := json.Marshal(c)
		if err != nil || string(doc) != `"`+c.String()+`"` {
			t.Fatalf("%s %v", doc, err)
		}
		var back id.Booking
		if err := json.Unmarshal(doc, &back); err != nil || back != c {
			t.Fatalf("%v %v", back, err)
		}
	})
	t.Run("refuses an identifier of another kind and keeps the value", func(t *testing.T) {
		t.Parallel()
		c := id.New[id.Booking]()
		before := c
		if err := c.UnmarshalText([]byte("cust_" + sample)); !errors.Is(err, id.ErrMalformed) || c != before {
			t.Fatalf("%v %v", c, err)
		}
	})
}

func TestAppendAllocatesNothing(t *testing.T) {
	c := id.New[id.Customer]()
	buf := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { buf = c.Append(buf[:0]) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestDatabaseValue(t *testing.T) {
	t.Parallel()
	c := id.New[id.Customer]()
	value, err := c.UUIDValue()
	if err != nil || !value.Valid || value.Bytes != c {
		t.Fatalf("%v %v", value, err)
	}
	var back id.Customer
	if err := back.ScanUUID(value); err != nil || back != c {
		t.Fatalf("%v %v", back, err)
	}
}

func TestUUIDDatabaseValue(t *testing.T) {
	u := id.NewUUID()
	value, err := u.UUIDValue()
	if err != nil || !value.Valid || value.Bytes != u || u.IsZero() {
		t.Fatalf("%v %v", value, err)
	}
	var back id.UUID
	if err := back.ScanUUID(value); err != nil || back != u {
		t.Fatalf("%v %v", back, err)
	}
	if none, err := (id.UUID{}).UUIDValue(); err != nil || none.Valid || !(id.UUID{}).IsZero() {
		t.Errorf("the zero value is not NULL: %v %v", none, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("cust_" + sample)
	f.Add("cust_7zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Add("cust_8zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Add("po-" + sample)
	f.Add("\xff\x00cust_")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := id.Parse[id.Customer](text); err == nil && !c.IsZero() && c.String() != text {
			t.Fatalf("%q was parsed as %s, a second spelling of one identifier", text, c)
		}
		if u, err := id.ParseUUID(text); err == nil && u.String() != text {
			t.Fatalf("%q was read as %s", text, u)
		}
		var p id.PricingOption
		if err := p.UnmarshalText([]byte(text)); err == nil && !p.IsZero() && p.String() != text {
			t.Fatalf("%q was read as %s", text, p)
		}
	})
}
