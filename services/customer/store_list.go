package customer

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// page returns the statement for the page and one customer more, which shows whether there is
// another page.
func (l list) page(company id.Company) *pg.Statement {
	p, f := l.Page, l.filter
	// PostgreSQL can start reading an index at one lower bound only, so it gets the later of the two.
	var bound *time.Time
	switch {
	case p.Order.Desc:
	case p.Order.Column == byUpdated:
		bound = &f.since
	case p.Order.Column == byCreated:
		bound = &f.createdFrom
	}
	if bound != nil {
		if p.After.Time().Before(*bound) {
			p.After = new(page.At(*bound, id.UUID{}))
		}
		*bound = time.Time{}
	}
	s := f.where(company)
	s.SQL = "select " + columns + " from customers where " + s.SQL
	p.Add(s)
	return s
}

// total returns the statement for the number of matching customers: from the stored counters, or by
// a count that reads only an index and, for a search, stops at the limit of the list.
func (l list) total(company id.Company) *pg.Statement {
	f := l.filter
	kept := f
	kept.archived = nil
	if kept.isZero() {
		switch {
		case f.archived == nil:
			return &pg.Statement{SQL: totalSQL, Args: []any{company}}
		case *f.archived:
			return &pg.Statement{SQL: totalArchivedSQL, Args: []any{company}}
		}
		return &pg.Statement{SQL: totalCurrentSQL, Args: []any{company}}
	}
	s := f.where(company)
	if l.most == 0 {
		s.SQL = "select count(*) from customers where " + s.SQL
		return s
	}
	s.SQL = "select count(*) from (select 1 from customers where " + s.SQL + " limit " + s.Arg(l.most) + ") few"
	return s
}

// where returns the where clause of the filter.
func (f filter) where(company id.Company) *pg.Statement {
	s := &pg.Statement{SQL: "company_id = $1 and deleted_at is null", Args: []any{company}}
	if f.archived != nil {
		s.And("archived = %s", *f.archived)
	}
	if f.email != "" {
		s.And("email_key = lower(%s)", f.email)
	}
	if f.match != nil {
		f.match.where(s)
	}
	if !f.since.IsZero() {
		s.And("updated_at >= %s", f.since)
	}
	if !f.createdFrom.IsZero() {
		s.And("created_at >= %s", f.createdFrom)
	}
	if !f.createdBefore.IsZero() {
		s.And("created_at < %s", f.createdBefore)
	}
	return s
}

const (
	totalSQL         = `select coalesce(sum(live), 0)::bigint from customer_counts where company_id = $1`
	totalArchivedSQL = `select coalesce(sum(archived), 0)::bigint from customer_counts where company_id = $1`
	totalCurrentSQL  = `select coalesce(sum(live) - sum(archived), 0)::bigint from customer_counts where company_id = $1`
)

// listed is a page of a list.
type listed struct {
	customers []Customer
	tier      tier   // of the last customer
	next      string // the token of the next page; "": there is none
	total     int64
}

// add appends the rows of a list statement. There is at most one more row than the page has room
// for.
func (p *listed) add(l list, rows []Customer) {
	fitting := rows[:min(len(rows), l.Size)]
	if len(fitting) > 0 {
		p.customers, p.tier = append(p.customers, fitting...), l.matchTier()
	}
	if len(rows) > len(fitting) {
		p.next = l.token(p.tier, p.customers[len(p.customers)-1])
	}
}

// list returns a page of a list and the total number of matching customers.
func (s *store) list(ctx context.Context, company id.Company, l list) (listed, error) {
	if len(l.filter.query) > 0 {
		return s.search(ctx, company, l)
	}
	return s.page(ctx, company, l)
}

// page returns a page of a list without a query.
func (s *store) page(ctx context.Context, company id.Company, l list) (out listed, err error) {
	var rows []Customer
	err = s.read(ctx, company, l, s.pageQuery(l, company, &rows), s.totalQuery(l, company, &out.total))
	out.add(l, rows)
	return out, err
}

// rows returns the customers of a page, and one more if there is one.
func (s *store) rows(ctx context.Context, company id.Company, l list) (rows []Customer, err error) {
	page := s.pageQuery(l, company, &rows)
	if l.filter.match.ids == nil {
		err = s.read(ctx, company, l, setting(walkListSQL), page)
	} else {
		err = s.read(ctx, company, l, page)
	}
	return rows, err
}

// count returns the number of matching customers, up to the limit of the list.
func (s *store) count(ctx context.Context, company id.Company, l list) (total int64, err error) {
	err = s.read(ctx, company, l, s.totalQuery(l, company, &total))
	return total, err
}

func (s *store) read(ctx context.Context, company id.Company, l list, queries ...pg.Query) error {
	if l.filter.match != nil {
		queries = append([]pg.Query{planSearch()}, queries...)
	}
	return s.ReadOf(ctx, company, queries...)
}

func (s *store) pageQuery(l list, company id.Company, into *[]Customer) pg.Query {
	q := l.page(company).Query(pg.Collect(into))
	q.SQL = s.sql(q.SQL)
	return q
}

func (s *store) totalQuery(l list, company id.Company, into *int64) pg.Query {
	return l.total(company).Query(pg.First(into))
}

const planSearchSQL = `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true)`

// walkListSQL makes PostgreSQL walk the list in its order until the page is full, because many customers match.
// The planner does not know that: row-level security keeps the statistics of the search texts from it. It would
// read all customers of the company.
const walkListSQL = `select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)`

// planSearch makes PostgreSQL plan a search for its specific words: it then walks the list for a
// single letter and uses an index for a rare name, where a generic plan would do the same for both.
// It also disables sequential scans: for a word that most customers match, the planner would read
// the table from its beginning, where the company may have no customers.
func planSearch() pg.Query { return setting(planSearchSQL) }

// setting changes the settings of the queries after it in the same round trip.
func setting(sql string) pg.Query {
	return pg.Query{SQL: sql, Scan: func(pgx.Rows) error { return nil }}
}
