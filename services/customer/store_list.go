package customer

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// direction returns the SQL of the direction, and what is behind a row in it.
func (o order) direction() (sql, beyond string) {
	if o.desc {
		return " desc", "<"
	}
	return "", ">"
}

// page returns the statement of the page and one customer more, who tells
// whether there is another page.
func (l list) page(company id.Company) (sql string, args []any) {
	after, f := l.after, l.filter
	if l.order.by == byUpdated && !l.order.desc {
		// Of two bounds PostgreSQL picks one to begin at: give it the later one.
		if after.at.Before(f.since) {
			after = cursor{at: f.since}
		}
		f.since = time.Time{}
	}
	w := f.where(company)
	direction, beyond := l.order.direction()
	keys := "id" + direction
	if l.order.by == "" {
		w.add("id "+beyond+" %s", [16]byte(after.id))
	} else {
		keys = l.order.by + direction + ", " + keys
		w.add("("+l.order.by+", id) "+beyond+" (%s, %s)", after.at, [16]byte(after.id))
	}
	return "select " + columns + " from customers where " + w.sql + " order by " + keys +
		" limit " + w.place(l.size+1) + " offset " + w.place(l.offset), w.args
}

// total returns the statement of how many customers match: the kept counters, or
// a count that reads an index alone, of a search no further than it is asked for.
func (l list) total(company id.Company) (sql string, args []any) {
	f := l.filter
	kept := f
	kept.archived = nil
	if kept.isZero() {
		switch {
		case f.archived == nil:
			return totalSQL, []any{company}
		case *f.archived:
			return totalArchivedSQL, []any{company}
		}
		return totalCurrentSQL, []any{company}
	}
	w := f.where(company)
	if l.most == 0 {
		return "select count(*) from customers where " + w.sql, w.args
	}
	return "select count(*) from (select 1 from customers where " + w.sql + " limit " + w.place(l.most) + ") few", w.args
}

func (f filter) where(company id.Company) *conditions {
	w := &conditions{sql: "company_id = $1 and deleted_at is null", args: []any{company}}
	if f.archived != nil {
		w.add("archived = %s", *f.archived)
	}
	if f.email != "" {
		w.add("email_key = lower(%s)", f.email)
	}
	if f.match != nil {
		f.match.where(w)
	}
	if !f.since.IsZero() {
		w.add("updated_at >= %s", f.since)
	}
	return w
}

// conditions is the where clause of a statement, and its arguments.
type conditions struct {
	sql  string
	args []any
}

// place adds an argument and returns its placeholder.
func (c *conditions) place(arg any) string {
	c.args = append(c.args, arg)
	return fmt.Sprintf("$%d", len(c.args))
}

// add joins a condition, in which each %s stands for the next argument.
func (c *conditions) add(sql string, args ...any) {
	places := make([]any, len(args))
	for i, arg := range args {
		places[i] = c.place(arg)
	}
	c.sql += " and " + fmt.Sprintf(sql, places...)
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

// add appends the rows of a statement of a list, which has at most one more row than the
// page has room for.
func (p *listed) add(l list, rows []Customer) {
	fitting := rows[:min(len(rows), l.size)]
	if len(fitting) > 0 {
		p.customers, p.tier = append(p.customers, fitting...), l.tier()
	}
	if len(rows) > len(fitting) {
		p.next = l.order.token(p.tier, p.customers[len(p.customers)-1])
	}
}

// list returns a page of a list and how many customers match in all.
func (s *store) list(ctx context.Context, company id.Company, l list) (listed, error) {
	if len(l.filter.query) > 0 {
		return s.search(ctx, company, l)
	}
	return s.page(ctx, company, l)
}

// page is list without a query.
func (s *store) page(ctx context.Context, company id.Company, l list) (out listed, err error) {
	var rows []Customer
	err = s.read(ctx, company, l, s.pageQuery(l, company, &rows), s.totalQuery(l, company, &out.total))
	out.add(l, rows)
	return out, err
}

// rows returns the customers of a page and one more, if there is one.
func (s *store) rows(ctx context.Context, company id.Company, l list) (rows []Customer, err error) {
	err = s.read(ctx, company, l, s.pageQuery(l, company, &rows))
	return rows, err
}

// count returns how many customers match, as far as the list counts them.
func (s *store) count(ctx context.Context, company id.Company, l list) (total int64, err error) {
	err = s.read(ctx, company, l, s.totalQuery(l, company, &total))
	return total, err
}

func (s *store) read(ctx context.Context, company id.Company, l list, queries ...pg.Query) error {
	if l.filter.match != nil {
		queries = append([]pg.Query{planSearch()}, queries...)
	}
	return pg.Fault(s.db.Read(ctx, pg.For(company), queries...), nil)
}

func (s *store) pageQuery(l list, company id.Company, into *[]Customer) pg.Query {
	sql, args := l.page(company)
	return pg.Query{SQL: s.sql(sql), Args: args, Scan: func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[Customer])
		return err
	}}
}

func (s *store) totalQuery(l list, company id.Company, into *int64) pg.Query {
	sql, args := l.total(company)
	return pg.Query{SQL: sql, Args: args, Scan: func(rows pgx.Rows) error {
		rows.Next()
		return rows.Scan(into)
	}}
}

const planSearchSQL = `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true)`

// planSearch makes PostgreSQL plan a search for its words: it walks the list for one
// letter and uses an index for a rare name. A generic plan would do the same for both.
// For what most customers have, the planner would read the table from its beginning,
// where a company may have nobody.
func planSearch() pg.Query {
	return pg.Query{SQL: planSearchSQL, Scan: func(pgx.Rows) error { return nil }}
}
