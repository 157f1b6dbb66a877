package pass

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// store runs the SQL statements of the service. Methods with a tx run in the caller's transaction;
// the others make one round trip of their own.
type store struct{ pg.Store }

func newStore(db *pg.DB) *store {
	return &store{pg.Store{DB: db, Constraints: map[string]*fault.Error{
		redemptionKey: errStoredMeanwhile(), passTypeKey: errStoredMeanwhile(), customerPassKey: errStoredMeanwhile(),
		redemptionChangeKey: errStoredMeanwhile(),
	}}}
}

const passTypeColumns = `id, title, description, total_uses, validity_count, validity_unit, price, currency,
	eligible_event_types, status, version, created_at, updated_at, unlimited_uses, never_expires, plan_version`

const (
	passTypeSQL = `select ` + passTypeColumns + ` from pass_types where company_id = $1 and id = $2`

	// For callers who only see the catalog.
	catalogPassTypeSQL = passTypeSQL + ` and status = 'active' and plan_version is null`

	lockPassTypeSQL = passTypeSQL + ` for no key update`

	savePassTypeSQL = `update pass_types set title = @title, description = @description, total_uses = @total_uses,
			validity_count = @validity_count, validity_unit = @validity_unit, price = @price, currency = @currency,
			eligible_event_types = @eligible_event_types, status = @status, version = @version, updated_at = @updated_at,
			unlimited_uses = @unlimited_uses, never_expires = @never_expires, plan_version = @plan_version
		where company_id = @company and id = @id`

	addPassTypeSQL = `insert into pass_types (company_id, ` + passTypeColumns + `)
		values (@company, @id, @title, @description, @total_uses, @validity_count, @validity_unit, @price, @currency,
			@eligible_event_types, @status, @version, @created_at, @updated_at, @unlimited_uses, @never_expires,
			@plan_version)`

	countPassTypeSQL = `insert into pass_totals as t (company_id, pass_types) values ($1, 1)
		on conflict (company_id) do update set pass_types = t.pass_types + 1`

	totalsSQL = `select pass_types, customer_passes from pass_totals where company_id = $1`
)

// passType returns one pass type.
func (s *store) passType(ctx context.Context, company id.Company, passType id.PassType) (PassType, error) {
	return pg.Get[PassType](ctx, s.Store, company, "pass type", passTypeSQL, company, passType)
}

// catalogPassType returns one pass type that is on offer.
func (s *store) catalogPassType(ctx context.Context, company id.Company, passType id.PassType) (PassType, error) {
	return pg.Get[PassType](ctx, s.Store, company, "pass type", catalogPassTypeSQL, company, passType)
}

// totals are the numbers of rows of a company.
type totals struct{ passTypes, customerPasses int64 }

// passTypeFilter filters a list of pass types; zero means no filter.
type passTypeFilter struct {
	catalog      bool // only pass types that are on offer
	ofPlans      bool // also pass types of plans
	status       string
	updatedSince time.Time
}

// passTypes returns a page of pass types and the number of matches.
func (s *store) passTypes(ctx context.Context, company id.Company, f passTypeFilter, p page.Page) (types []PassType, total int64, err error) {
	l := newList(company)
	if f.ofPlans && !f.catalog {
		l.filtered = true // the counters leave out pass types of plans
	} else {
		l.where.And("plan_version is null")
	}
	if f.catalog {
		l.and("status = 'active'")
	}
	if f.status != "" {
		l.and("status = %s", f.status)
	}
	l.updatedSince(f.updatedSince)
	var all totals
	err = s.ReadOf(ctx, company, l.page(passTypeColumns, "pass_types", p).Query(pg.Collect(&types)), l.count("pass_types", &all, &total))
	if !l.filtered {
		total = all.passTypes
	}
	return types, total, err
}

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
		return pg.Query{SQL: totalsSQL, Args: []any{l.company}, Scan: pg.First(&all.passTypes, &all.customerPasses)}
	}
	return pg.Query{SQL: "select count(*) from " + table + " where " + l.where.SQL, Args: l.where.Args, Scan: pg.First(matching)}
}

// addPassType stores a new pass type when tx commits. Pass types of plans are not counted.
func addPassType(tx *pg.Tx, company id.Company, t PassType) {
	tx.Queue(pg.Query{SQL: addPassTypeSQL, Args: rowOfPassType(company, t)})
	if !t.ofPlan() {
		tx.Queue(pg.Query{SQL: countPassTypeSQL, Args: []any{company}})
	}
}

// lockPassType reads a pass type and locks it until the end of tx.
func (s *store) lockPassType(ctx context.Context, tx *pg.Tx, company id.Company, passType id.PassType) (PassType, error) {
	return pg.GetInTx[PassType](ctx, tx, "pass type", lockPassTypeSQL, company, passType)
}

// savePassType stores a locked pass type when tx commits.
func savePassType(tx *pg.Tx, company id.Company, t PassType) {
	tx.Queue(pg.Query{SQL: savePassTypeSQL, Args: rowOfPassType(company, t)})
}

// rowOfPassType returns the column values of a pass type.
func rowOfPassType(company id.Company, t PassType) []any {
	return []any{pgx.NamedArgs{
		"company": company, "id": t.ID, "title": t.Title, "description": t.Description, "total_uses": t.TotalUses,
		"validity_count": t.ValidityCount, "validity_unit": t.ValidityUnit, "price": t.Price, "currency": t.Currency,
		"eligible_event_types": t.EligibleEventTypes, "status": t.Status, "version": t.Version,
		"created_at": t.CreatedAt, "updated_at": t.UpdatedAt, "unlimited_uses": t.UnlimitedUses, "never_expires": t.NeverExpires,
		"plan_version": t.PlanVersion,
	}}
}
