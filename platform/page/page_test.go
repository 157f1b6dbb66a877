package page_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var sizes = page.Sizes{Default: 3, Max: 10}

func TestRead(t *testing.T) {
	byTime := page.Order{Code: 2, Column: "created_at"}
	row := page.At(time.Date(2026, 3, 29, 1, 0, 0, 123_000, time.UTC), id.NewUUID())
	row.Code = byTime.Code
	within := page.Order{Code: 2, Within: id.NewUUID()}
	bound := page.Cursor{Code: 2, ID: id.NewUUID(), Within: within.Within}
	late := row
	late.Key = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

	for _, c := range []struct {
		name  string
		r     page.Request
		order page.Order
		fault string // "parameter rule"
	}{
		{name: "reads the first page by default", order: byTime},
		{name: "reads the page after a token", r: page.Request{Token: row.Token()}, order: byTime},
		{name: "reads the page after a token of one of several lists", r: page.Request{Token: bound.Token()}, order: within},
		{name: "refuses a token of another order", r: page.Request{Token: row.Token()}, order: page.Order{Code: 3}, fault: "page_token order"},
		{name: "refuses a token of another list", r: page.Request{Token: bound.Token()}, order: page.Order{Code: 2, Within: id.NewUUID()}, fault: "page_token order"},
		{name: "refuses a token without the owner of the list", r: page.Request{Token: row.Token()}, order: within, fault: "page_token order"},
		{name: "refuses text that is not a token", r: page.Request{Token: "x"}, order: byTime, fault: "page_token format"},
		{name: "refuses a token that is cut off", r: page.Request{Token: row.Token()[:20]}, order: byTime, fault: "page_token format"},
		{name: "refuses a second spelling of a token", r: page.Request{Token: row.Token()[:33] + "B"}, order: byTime, fault: "page_token format"},
		{name: "refuses a time that PostgreSQL cannot store", r: page.Request{Token: late.Token()}, order: byTime, fault: "page_token format"},
		{name: "refuses a token and an offset", r: page.Request{Token: row.Token(), Offset: 1}, order: byTime, fault: "offset exclusive"},
		{name: "refuses a negative offset", r: page.Request{Offset: -1}, order: byTime, fault: "offset range"},
		{name: "refuses a negative size", r: page.Request{Size: -1}, order: byTime, fault: "page_size range"},
		{name: "refuses a size above the maximum", r: page.Request{Size: 11}, order: byTime, fault: "page_size range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := page.Read(c.r, c.order, sizes)
			if got := faultOf(err); got != c.fault {
				t.Fatalf("fault %q, want %q", got, c.fault)
			}
			if err == nil && c.r.Token != "" && p.After.Token() != c.r.Token {
				t.Errorf("cursor %+v does not match the token", p.After)
			}
			if err == nil && p.Size != sizes.Default {
				t.Errorf("size %d", p.Size)
			}
		})
	}
}

func faultOf(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return ""
	}
	return f.Fields[0].Field + " " + f.Fields[0].Rule
}

type row struct {
	ID      id.UUID
	Created time.Time `db:"created_at"`
}

var schema = pg.Migrations{Part: "sample", FS: fstest.MapFS{
	"0001_rows.sql": {Data: []byte("-- +goose Up\ncreate table rows (id uuid primary key, created_at timestamptz not null);\n")},
}}

// TestPages checks that pages contain each row once and in order, even if rows with equal times are on
// both sides of a page's end, and the last row of a page is deleted before the next page is read.
func TestPages(t *testing.T) {
	db := testkit.DB(t, schema)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []row
	for i := range 10 {
		all = append(all, row{id.NewUUID(), start.Add(time.Duration(i/4) * time.Second)})
	}
	insert := func(r row) {
		t.Helper()
		if _, err := db.Pool().Exec(t.Context(), "insert into rows values ($1, $2)", r.ID, r.Created); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []page.Order{{Code: 1}, {Code: 2, Desc: true}, {Code: 3, Column: "created_at"}, {Code: 4, Column: "created_at", Desc: true}} {
		if _, err := db.Pool().Exec(t.Context(), "delete from rows"); err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			insert(r)
		}
		want := slices.Clone(all)
		if o.Desc {
			slices.Reverse(want)
		}
		var got []row
		req := page.Request{}
		for n := 0; n == 0 || req.Token != ""; n++ {
			if n > len(all) {
				t.Fatal("the list does not end")
			}
			p, err := page.Read(req, o, sizes)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 && o.Column != "" {
				p.After = new(o.Start())
			}
			s := pg.Statement{SQL: "select id, created_at from rows where true"}
			p.Add(&s)
			var rows []row
			if err := db.Read(t.Context(), pg.AllCompanies(), s.Query(pg.Collect(&rows))); err != nil {
				t.Fatal(err)
			}
			rows, req.Token = page.Cut(p, rows, func(r *row) page.Cursor { return page.At(r.Created, r.ID) })
			got = append(got, rows...)
			if _, err := db.Pool().Exec(t.Context(), "delete from rows where id = $1", got[len(got)-1].ID); err != nil {
				t.Fatal(err)
			}
		}
		equal := slices.EqualFunc(got, want, func(a, b row) bool { return a.ID == b.ID && a.Created.Equal(b.Created) })
		if !equal {
			t.Errorf("order %+v:\n got %v\nwant %v", o, got, want)
		}
	}
}

func TestOffset(t *testing.T) {
	p, err := page.Read(page.Request{Size: 2, Offset: 4}, page.Order{ID: "e.id"}, sizes)
	if err != nil {
		t.Fatal(err)
	}
	s := pg.Statement{SQL: "select from e where company_id = $1", Args: []any{1}}
	s.And("a >= %s and a < %s", 2, 3)
	p.Add(&s)
	if want := "select from e where company_id = $1 and a >= $2 and a < $3 order by e.id limit $4 offset $5"; s.SQL != want {
		t.Errorf("got  %s\nwant %s", s.SQL, want)
	}
	if !slices.Equal(s.Args, []any{1, 2, 3, 3, int64(4)}) {
		t.Errorf("arguments %v", s.Args)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(page.At(time.Now(), id.NewUUID()).Token())
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 41)))
	f.Fuzz(func(t *testing.T, token string) {
		c, err := page.Decode(token)
		if err == nil && c.Token() != token && !c.Within.IsZero() {
			t.Errorf("%q became %q", token, c.Token())
		}
		if y := c.Time().Year(); err == nil && (y < 1 || y > 9999) {
			t.Errorf("year %d", y)
		}
	})
}
