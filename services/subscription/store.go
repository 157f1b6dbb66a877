package subscription

import (
	"context"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// store runs the SQL statements of the service. Methods with a tx run in the caller's transaction;
// the others make one round trip of their own.
type store struct{ pg.Store }

func newStore(db *pg.DB) *store {
	return &store{pg.Store{DB: db, Constraints: map[string]*fault.Error{referenceIndex: errReferenceStored}}}
}

// referenceIndex is the index that keeps the references of imported subscriptions unique.
const referenceIndex = "subscriptions_reference"

// errReferenceStored is the fault of an import that another request made at the same time.
var errReferenceStored = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "the subscription is being imported").After(time.Second)

const totalsSQL = `select plans, subscriptions from subscription_totals where company_id = $1`

// totals are the numbers of rows of a company.
type totals struct{ plans, subscriptions int64 }

// list is the WHERE clause of a list, which is also used to count the rows.
type list struct {
	where    pg.Statement
	company  id.Company
	filtered bool // by more than the company
}

func newList(company id.Company) *list {
	return &list{where: pg.Statement{SQL: "company_id = $1", Args: []any{company}}, company: company}
}

// and adds a condition; see pg.Statement.
func (l *list) and(condition string, args ...any) {
	l.where.And(condition, args...)
	l.filtered = true
}

func (l *list) updatedSince(t time.Time) {
	if !t.IsZero() {
		l.and("updated_at >= %s", t)
	}
}

// page returns the statement that reads a page.
func (l *list) page(columns, table string, p page.Page) *pg.Statement {
	s := pg.Statement{SQL: "select " + columns + " from " + table + " where " + l.where.SQL, Args: slices.Clone(l.where.Args)}
	p.Add(&s)
	return &s
}

// count returns the query for the number of matching rows. Without a filter it reads the company's
// counters.
func (l *list) count(table string, all *totals, matching *int64) pg.Query {
	if !l.filtered {
		return pg.Query{SQL: totalsSQL, Args: []any{l.company}, Scan: pg.First(&all.plans, &all.subscriptions)}
	}
	return pg.Query{SQL: "select count(*) from " + table + " where " + l.where.SQL, Args: l.where.Args, Scan: pg.First(matching)}
}

// readAll runs queries of all companies in one round trip.
func (s *store) readAll(ctx context.Context, queries ...pg.Query) error {
	return s.Fault(s.Read(ctx, pg.AllCompanies(), queries...))
}
