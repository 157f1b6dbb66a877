package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

// planRow is a plan with what the service itself keeps about it.
type planRow struct {
	model.Plan
	HasPassType bool `db:"has_pass_type"` // it includes or included bookings
}

const planColumns = `id, title, description, price, currency, interval_unit, interval_count, trial_days, minimum_periods, bookings, credits,
	max_rollover, eligible_event_types, media_collection_ids, status, version, created_at, updated_at, has_pass_type`

const (
	planSQL = `select ` + planColumns + ` from plans where company_id = $1 and id = $2`

	// For callers who only see the catalog.
	catalogPlanSQL = planSQL + ` and status = 'active'`

	lockPlanSQL = planSQL + ` for no key update`

	// A subscription starts with a plan that does not change until it is stored.
	sharePlanSQL = planSQL + ` for share`

	addPlanSQL = `insert into plans (company_id, ` + planColumns + `, pass_sync_due, pass_sync_since)
		values (@company, @id, @title, @description, @price, @currency, @interval_unit, @interval_count, @trial_days, @minimum_periods,
			@bookings, @credits, @max_rollover, @eligible_event_types, @media_collection_ids, @status, @version, @created_at, @updated_at,
			@has_pass_type, @sync_due, @sync_since)`

	savePlanSQL = `update plans set title = @title, description = @description, price = @price, currency = @currency,
			interval_unit = @interval_unit, interval_count = @interval_count, trial_days = @trial_days, minimum_periods = @minimum_periods,
			bookings = @bookings, credits = @credits, max_rollover = @max_rollover, eligible_event_types = @eligible_event_types,
			media_collection_ids = @media_collection_ids, status = @status, version = @version, updated_at = @updated_at,
			has_pass_type = @has_pass_type, pass_sync_due = @sync_due, pass_sync_since = coalesce(pass_sync_since, @sync_since),
			pass_sync_attempts = 0
		where company_id = @company and id = @id`

	// A lock of the plan excludes changes that schedule it.
	planScheduledSQL = `select exists (select from subscriptions where company_id = $1 and next_plan_id = $2)`

	planTotalSQL = `select plans from subscription_totals where company_id = $1`

	countPlanSQL = `insert into subscription_totals as t (company_id, plans) values ($1, 1)
		on conflict (company_id) do update set plans = t.plans + 1`
)

// plan returns one plan.
func (s *store) plan(ctx context.Context, company id.Company, plan id.Plan) (planRow, error) {
	return pg.Get[planRow](ctx, s.Store, company, "plan", planSQL, company, plan)
}

// catalogPlan returns one plan that is on offer.
func (s *store) catalogPlan(ctx context.Context, company id.Company, plan id.Plan) (planRow, error) {
	return pg.Get[planRow](ctx, s.Store, company, "plan", catalogPlanSQL, company, plan)
}

// lockPlan reads a plan and locks it until the end of tx.
func (s *store) lockPlan(ctx context.Context, tx *pg.Tx, company id.Company, plan id.Plan) (planRow, error) {
	return pg.GetInTx[planRow](ctx, tx, "plan", lockPlanSQL, company, plan)
}

// sharePlan reads a plan, which does not change until the end of tx.
func (s *store) sharePlan(ctx context.Context, tx *pg.Tx, company id.Company, plan id.Plan) (planRow, error) {
	return pg.GetInTx[planRow](ctx, tx, "plan", sharePlanSQL, company, plan)
}

// isScheduled reports whether a subscription changes to a locked plan later.
func (s *store) isScheduled(ctx context.Context, tx *pg.Tx, company id.Company, plan id.Plan) (found bool, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: planScheduledSQL, Args: []any{company, plan}, Scan: pg.First(&found)})
	return found, err
}

// shareOffer reads a plan, which does not change until the end of tx, and the settings of the company.
func (s *store) shareOffer(ctx context.Context, tx *pg.Tx, company id.Company, plan id.Plan) (planRow, model.Settings, error) {
	p, err := s.sharePlan(ctx, tx, company, plan)
	if err != nil {
		return p, model.Settings{}, err
	}
	var found []model.Settings
	err = tx.Pipeline(ctx, settingsQuery(company, &found))
	return p, settingsOf(found), err
}

// planFilter filters a list of plans; zero means no filter.
type planFilter struct {
	catalog      bool // only plans that are on offer
	status       string
	updatedSince time.Time
}

// listPlans returns a page of plans and the number of matches.
func (s *store) listPlans(ctx context.Context, company id.Company, f planFilter, p page.Page) (plans []planRow, total int64, err error) {
	where := page.NewFilter("company_id = $1", company)
	if f.catalog {
		where.And("status = 'active'")
	}
	if f.status != "" {
		where.And("status = %s", f.status)
	}
	where.Since("updated_at", f.updatedSince)
	err = s.ReadOf(ctx, company, where.Page("select "+planColumns+" from plans", p).Query(pg.Collect(&plans)),
		where.Count("plans", planTotalSQL, &total))
	return plans, total, err
}

// addPlan stores a new plan when tx commits. Its pass type is sent again at due, if it has one.
func addPlan(tx *pg.Tx, company id.Company, p planRow, due time.Time) {
	tx.Queue(pg.Query{SQL: addPlanSQL, Args: rowOfPlan(company, p, due)}, pg.Query{SQL: countPlanSQL, Args: []any{company}})
}

// savePlan stores a locked plan when tx commits.
func savePlan(tx *pg.Tx, company id.Company, p planRow, due time.Time) {
	tx.Queue(pg.Query{SQL: savePlanSQL, Args: rowOfPlan(company, p, due)})
}

// rowOfPlan returns the column values of a plan.
func rowOfPlan(company id.Company, p planRow, due time.Time) []any {
	var sync *time.Time
	if p.HasPassType {
		sync = &due
	}
	return []any{pgx.NamedArgs{
		"company": company, "id": p.ID, "title": p.Title, "description": p.Description, "price": p.Price, "currency": p.Currency,
		"interval_unit": p.Unit, "interval_count": p.Count, "trial_days": p.TrialDays, "minimum_periods": p.MinimumPeriods,
		"bookings": p.Bookings, "credits": p.Credits, "max_rollover": p.MaxRollover,
		"eligible_event_types": p.EligibleEventTypes, "media_collection_ids": p.Collections, "status": p.Status,
		"version": p.Version, "created_at": p.CreatedAt, "updated_at": p.UpdatedAt, "has_pass_type": p.HasPassType,
		"sync_due": sync, "sync_since": sync,
	}}
}
