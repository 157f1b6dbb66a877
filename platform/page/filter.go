package page

import (
	"slices"
	"time"

	"reservation.dev/platform/pg"
)

// Filter is the where clause of a list. The statement that reads a page and the one that counts the
// rows share it.
//
//	where := page.NewFilter("company_id = $1", company)
//	if status != "" {
//		where.And("status = %s", status)
//	}
//	err := s.ReadOf(ctx, company,
//		where.Page("select id, title from plans", p).Query(pg.Collect(&plans)),
//		where.Count("plans", "select plans from plan_totals where company_id = $1", &total))
type Filter struct {
	where    pg.Statement
	narrowed bool // by And or Since
}

// NewFilter returns the filter of a list that shows every row that meets a condition. The condition
// names its arguments $1, $2 and so on.
func NewFilter(condition string, args ...any) *Filter {
	return &Filter{where: pg.Statement{SQL: condition, Args: slices.Clone(args)}}
}

// And narrows the list by a condition. Each %s in the condition stands for the next argument.
func (f *Filter) And(condition string, args ...any) {
	f.where.And(condition, args...)
	f.narrowed = true
}

// Since narrows the list to rows whose column is at or after a time. The zero time changes nothing.
func (f *Filter) Since(column string, t time.Time) {
	if !t.IsZero() {
		f.And(column+" >= %s", t)
	}
}

// Rows returns the statement that consists of sql, which ends with a from clause, and the where clause.
func (f *Filter) Rows(sql string) *pg.Statement {
	return &pg.Statement{SQL: sql + " where " + f.where.SQL, Args: slices.Clone(f.where.Args)}
}

// Page returns the statement that reads a page of the rows that sql, which ends with a from clause, selects.
func (f *Filter) Page(sql string, p Page) *pg.Statement {
	s := f.Rows(sql)
	p.Add(s)
	return s
}

// Count returns the query that sets total to the number of rows in a table that match. For a list that is not
// narrowed, it runs the statement stored, which reads a number that the service keeps. stored has the
// arguments of NewFilter. If it returns no row, the total stays 0. Without a stored number, it is "".
func (f *Filter) Count(table, stored string, total *int64) pg.Query {
	if !f.narrowed && stored != "" {
		return pg.Query{SQL: stored, Args: f.where.Args, Scan: pg.First(total)}
	}
	return f.Rows("select count(*) from " + table).Query(pg.First(total))
}

// CountUpTo is Count that stops at most rows, so that its cost does not depend on the number of rows; 0: at none.
func (f *Filter) CountUpTo(table, stored string, most int64, total *int64) pg.Query {
	if most == 0 || !f.narrowed && stored != "" {
		return f.Count(table, stored, total)
	}
	s := f.Rows("select count(*) from (select from " + table)
	s.SQL += " limit " + s.Arg(most) + ") few"
	return s.Query(pg.First(total))
}
