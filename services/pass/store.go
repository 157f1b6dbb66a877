package pass

import (
	"context"
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
		redemptionChangeKey: errStoredMeanwhile(), importReferenceKey: errStoredMeanwhile(),
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

	passTypeTotalSQL = `select pass_types from pass_totals where company_id = $1`
)

// passType returns one pass type.
func (s *store) passType(ctx context.Context, company id.Company, passType id.PassType) (PassType, error) {
	return pg.Get[PassType](ctx, s.Store, company, "pass type", passTypeSQL, company, passType)
}

// catalogPassType returns one pass type that is on offer.
func (s *store) catalogPassType(ctx context.Context, company id.Company, passType id.PassType) (PassType, error) {
	return pg.Get[PassType](ctx, s.Store, company, "pass type", catalogPassTypeSQL, company, passType)
}

// passTypeFilter filters a list of pass types; zero means no filter.
type passTypeFilter struct {
	catalog      bool // only pass types that are on offer
	ofPlans      bool // also pass types of plans
	status       string
	updatedSince time.Time
}

// passTypes returns a page of pass types and the number of matches.
func (s *store) passTypes(ctx context.Context, company id.Company, f passTypeFilter, p page.Page) (types []PassType, total int64, err error) {
	where, stored := page.NewFilter("company_id = $1 and plan_version is null", company), passTypeTotalSQL
	if f.ofPlans && !f.catalog {
		where, stored = page.NewFilter("company_id = $1", company), "" // the stored total leaves out pass types of plans
	}
	if f.catalog {
		where.And("status = 'active'")
	}
	if f.status != "" {
		where.And("status = %s", f.status)
	}
	where.Since("updated_at", f.updatedSince)
	err = s.ReadOf(ctx, company, where.Page("select "+passTypeColumns+" from pass_types", p).Query(pg.Collect(&types)),
		where.Count("pass_types", stored, &total))
	return types, total, err
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
