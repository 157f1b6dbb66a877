package page_test

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// storedTotal is a stored total that differs from the number of rows, so that a test sees which one was
// read. Its argument is that of the filter.
const storedTotal = `select 1000::bigint where $1::timestamptz is not null`

func TestFilter(t *testing.T) {
	db := testkit.DB(t, schema)
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rows := make([]row, 6)
	for i := range rows {
		rows[i] = row{id.NewUUID(), first.Add(time.Duration(i) * time.Hour)}
		if _, err := db.Pool().Exec(t.Context(), "insert into rows values ($1, $2)", rows[i].ID, rows[i].Created); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		narrow func(*page.Filter)
		stored string
		want   []row
		total  int64
	}{
		{name: "reads the stored total of a list that is not narrowed", narrow: func(*page.Filter) {}, stored: storedTotal, want: rows[1:], total: 1000},
		{name: "is not narrowed by the zero time", narrow: func(f *page.Filter) { f.Since("created_at", time.Time{}) }, stored: storedTotal,
			want: rows[1:], total: 1000},
		{name: "leaves the total at 0 if none is stored yet", narrow: func(*page.Filter) {}, stored: storedTotal + " and false", want: rows[1:]},
		{name: "counts the rows of a list without a stored total", narrow: func(*page.Filter) {}, want: rows[1:], total: 5},
		{name: "counts the rows since a time", narrow: func(f *page.Filter) { f.Since("created_at", rows[2].Created) }, stored: storedTotal,
			want: rows[2:], total: 4},
		{name: "counts the rows that meet several conditions", narrow: func(f *page.Filter) {
			f.And("created_at between %s and %s", rows[0].Created, rows[4].Created)
			f.And("id <> %s", rows[3].ID)
		}, stored: storedTotal, want: []row{rows[1], rows[2], rows[4]}, total: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			where := page.NewFilter("created_at > $1", first)
			c.narrow(where)
			got, total := readFiltered(t, db, where, c.stored)
			if !slices.EqualFunc(got, c.want, func(a, b row) bool { return a.ID == b.ID }) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
			if total != c.total {
				t.Errorf("total %d, want %d", total, c.total)
			}
		})
	}
}

// readFiltered returns all rows of a list, page by page, and the total that came with the last page.
func readFiltered(t *testing.T, db *pg.DB, where *page.Filter, stored string) (all []row, total int64) {
	t.Helper()
	for req, more := (page.Request{Size: 2}), true; more; more = req.Token != "" {
		p, err := page.Read(req, page.Order{Code: 3, Column: "created_at"}, sizes)
		if err != nil {
			t.Fatal(err)
		}
		var rows []row
		total = 0
		err = db.Read(t.Context(), pg.AllCompanies(), where.Page("select id, created_at from rows", p).Query(pg.Collect(&rows)),
			where.Count("rows", stored, &total))
		if err != nil {
			t.Fatal(err)
		}
		rows, req.Token = page.Cut(p, rows, func(r *row) page.Cursor { return page.At(r.Created, r.ID) })
		all = append(all, rows...)
	}
	return all, total
}

// TestCountUpTo counts the rows of a list up to a limit.
func TestCountUpTo(t *testing.T) {
	db := testkit.DB(t, schema)
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 5 {
		if _, err := db.Pool().Exec(t.Context(), "insert into rows values ($1, $2)", id.NewUUID(), first.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		narrowed bool
		most     int64
		want     int64
	}{
		{"stops at the limit", true, 3, 3},
		{"counts all rows below the limit", true, 5, 4},
		{"counts all rows without a limit", true, 0, 4},
		{"reads the stored total of a list that is not narrowed", false, 3, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			where := page.NewFilter("created_at >= $1", first)
			if c.narrowed {
				where.And("created_at > %s", first)
			}
			var total int64
			if err := db.Read(t.Context(), pg.AllCompanies(), where.CountUpTo("rows", storedTotal, c.most, &total)); err != nil || total != c.want {
				t.Errorf("%d, %v; want %d", total, err, c.want)
			}
		})
	}
}

// TestFilterRepeated checks that a statement does not change the ones that are made after it.
func TestFilterRepeated(t *testing.T) {
	where := page.NewFilter("company_id = $1", 1)
	where.And("status = %s", "active")
	p := page.Page{Size: 2}
	want := where.Page("select id from plans", p)
	where.Rows("select id from plans").And("price > %s", 3)
	got := where.Page("select id from plans", p)
	if got.SQL != want.SQL || !slices.Equal(got.Args, want.Args) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if sql := "select id from plans where company_id = $1 and status = $2 order by id limit $3"; want.SQL != sql || !slices.Equal(want.Args, []any{1, "active", 3}) {
		t.Errorf("got %+v, want %s", want, sql)
	}
}
