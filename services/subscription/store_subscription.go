package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

// subscriptionColumns are the columns of a subscription s, with those of its plan. The plan is in
// subselects, so that lists and locks concern only rows of subscriptions. subscriptionFields has the same
// order.
const subscriptionColumns = `s.id, s.customer_id, s.plan_id,
	(select l.title from plans l where l.company_id = s.company_id and l.id = s.plan_id) as plan_title,
	(select l.media_collection_ids from plans l where l.company_id = s.company_id and l.id = s.plan_id) as media_collection_ids,
	s.price, s.currency, s.interval_unit, s.interval_count, s.bookings, s.credits, s.max_rollover, s.minimum_periods,
	s.status, s.start_day, s.periods, s.has_pass, s.imported, s.term_from, s.reference, s.last_period, s.last_day, s.end_reason, s.ended_at,
	s.cancelled_at, s.cancel_reason, s.cancel_at_period_end, s.paused, s.pause_first_day, s.pause_resumes_on, s.pause_reason,
	s.next_plan_id, s.amount_due, s.account_credit, s.refund_due, s.refunded_amount, s.entry_count,
	s.past_due_since, s.suspended_from, s.unpaid_end_at, s.suspended, s.next_at, s.version, s.created_at, s.updated_at`

// subscriptionFields returns pointers to the fields of a subscription, in the order of subscriptionColumns.
func subscriptionFields(s *model.Subscription) []any {
	return []any{
		&s.ID, &s.CustomerID, &s.PlanID, &s.PlanTitle, &s.Collections,
		&s.Price, &s.Currency, &s.Unit, &s.Count, &s.Bookings, &s.Credits, &s.MaxRollover, &s.MinimumPeriods,
		&s.Status, &s.StartDay, &s.Periods, &s.HasPass, &s.Imported, &s.TermFrom, &s.Reference, &s.LastPeriod, &s.LastDay, &s.EndReason, &s.EndedAt,
		&s.CancelledAt, &s.CancelReason, &s.CancelAtPeriodEnd, &s.Paused, &s.PauseFirstDay, &s.PauseResumesOn, &s.PauseReason,
		&s.NextPlanID, &s.AmountDue, &s.AccountCredit, &s.RefundDue, &s.RefundedAmount, &s.EntryCount,
		&s.PastDueSince, &s.SuspendedFrom, &s.UnpaidEndAt, &s.Suspended, &s.NextAt, &s.Version, &s.CreatedAt, &s.UpdatedAt,
	}
}

const (
	subscriptionSQL = `select ` + subscriptionColumns + ` from subscriptions s where s.company_id = $1 and s.id = $2`

	lockSubscriptionSQL = subscriptionSQL + ` for no key update`

	// A job leaves a subscription to the one that has locked it.
	lockDueSQL = subscriptionSQL + ` and s.advance_at <= $3 for no key update skip locked`

	viewSQL = `select ` + subscriptionColumns + `, ` + periodColumns + viewFrom

	viewFrom = `
		from subscriptions s join periods p on p.company_id = s.company_id and p.subscription_id = s.id and p.number = s.periods
		where s.company_id = $1 and s.id = $2`

	// The periods that a decision needs: see model.Record.
	periodsOfRecordSQL = `select ` + periodColumns + ` from periods p where p.company_id = $1 and p.subscription_id = $2
			and (p.amount_due > 0 or p.number = $3 or p.number = (select s.periods from subscriptions s where s.company_id = $1 and s.id = $2))
		order by p.number`

	addSubscriptionSQL = `insert into subscriptions (company_id, id, customer_id, plan_id,
			price, currency, interval_unit, interval_count, bookings, credits, max_rollover, minimum_periods,
			status, start_day, periods, has_pass, imported, term_from, reference, last_period, last_day, end_reason, ended_at,
			cancelled_at, cancel_reason, cancel_at_period_end, paused, pause_first_day, pause_resumes_on, pause_reason,
			next_plan_id, amount_due, account_credit, refund_due, refunded_amount, entry_count,
			past_due_since, suspended_from, unpaid_end_at, suspended, next_at, version, created_at, updated_at,
			advance_at, state_id, pass_sync_due, pass_sync_since)
		values (@company, @id, @customer, @plan,
			@price, @currency, @interval_unit, @interval_count, @bookings, @credits, @max_rollover, @minimum_periods,
			@status, @start_day, @periods, @has_pass, @imported, @term_from, @reference, @last_period, @last_day, @end_reason, @ended_at,
			@cancelled_at, @cancel_reason, @cancel_at_period_end, @paused, @pause_first_day, @pause_resumes_on, @pause_reason,
			@next_plan, @amount_due, @account_credit, @refund_due, @refunded_amount, @entry_count,
			@past_due_since, @suspended_from, @unpaid_end_at, @suspended, @next_at, @version, @created_at, @updated_at,
			@next_at, @state_id, @sync_due, @sync_since)`

	saveSubscriptionSQL = `update subscriptions set plan_id = @plan,
			price = @price, currency = @currency, interval_unit = @interval_unit, interval_count = @interval_count, bookings = @bookings,
			credits = @credits, max_rollover = @max_rollover, minimum_periods = @minimum_periods,
			status = @status, periods = @periods, has_pass = @has_pass, term_from = @term_from,
			last_period = @last_period, last_day = @last_day, end_reason = @end_reason, ended_at = @ended_at,
			cancelled_at = @cancelled_at, cancel_reason = @cancel_reason, cancel_at_period_end = @cancel_at_period_end,
			paused = @paused, pause_first_day = @pause_first_day, pause_resumes_on = @pause_resumes_on, pause_reason = @pause_reason,
			next_plan_id = @next_plan, amount_due = @amount_due, account_credit = @account_credit, refund_due = @refund_due,
			refunded_amount = @refunded_amount, entry_count = @entry_count,
			past_due_since = @past_due_since, suspended_from = @suspended_from, unpaid_end_at = @unpaid_end_at, suspended = @suspended,
			next_at = @next_at, version = @version, updated_at = @updated_at,
			advance_at = @next_at, advance_attempts = 0, state_id = @state_id,
			pass_sync_due = @sync_due, pass_sync_since = coalesce(pass_sync_since, @sync_since), pass_sync_attempts = 0
		where company_id = @company and id = @id`

	subscriptionTotalSQL = `select subscriptions from subscription_totals where company_id = $1`

	countSubscriptionSQL = `insert into subscription_totals as t (company_id, subscriptions) values ($1, 1)
		on conflict (company_id) do update set subscriptions = t.subscriptions + 1`

	byReferenceSQL = `select id from subscriptions where company_id = $1 and reference = $2`
)

// view returns one subscription with its current period.
func (s *store) view(ctx context.Context, company id.Company, subscription id.Subscription) (model.View, error) {
	var views []model.View
	err := s.ReadOf(ctx, company, pg.Query{SQL: viewSQL, Args: []any{company, subscription}, Scan: scanViews(&views)})
	if err == nil && len(views) == 0 {
		err = fault.Missing("subscription")
	}
	if err != nil {
		return model.View{}, err
	}
	return views[0], nil
}

// scanViews reads subscriptions with their current periods.
func scanViews(out *[]model.View) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var v model.View
		err := rows.Scan(append(subscriptionFields(&v.Subscription), periodFields(&v.Current)...)...)
		*out = append(*out, v)
		return err
	})
}

// subscriptionFilter filters a list of subscriptions; zero means no filter.
type subscriptionFilter struct {
	customer     *id.Customer
	plan         *id.Plan
	status       string
	paymentDue   bool
	updatedSince time.Time
}

// listViews returns a page of subscriptions with their current periods, and the number of matches.
func (s *store) listViews(ctx context.Context, company id.Company, f subscriptionFilter, p page.Page) (views []model.View, total int64, err error) {
	where := f.where(company)
	err = s.ReadOf(ctx, company, f.page(where, p).Query(scanViews(&views)), where.Count("subscriptions", subscriptionTotalSQL, &total))
	return views, total, err
}

func (f subscriptionFilter) where(company id.Company) *page.Filter {
	where := page.NewFilter("company_id = $1", company)
	if f.customer != nil {
		where.And("customer_id = %s", *f.customer)
	}
	if f.plan != nil {
		where.And("plan_id = %s", *f.plan)
	}
	f.hasStatus(where)
	if f.paymentDue {
		where.And("amount_due > 0")
	}
	where.Since("updated_at", f.updatedSince)
	return where
}

// hasStatus adds the condition that a subscription has the status of f. It is a literal, so that every plan can tell
// common statuses from rare ones.
func (f subscriptionFilter) hasStatus(where *page.Filter) {
	switch model.Status(f.status) {
	case model.Trialing:
		where.And("status = 'trialing'")
	case model.Active:
		where.And("status = 'active'")
	case model.PastDue:
		where.And("status = 'past_due'")
	case model.Paused:
		where.And("status = 'paused'")
	case model.Ending:
		where.And("status = 'ending'")
	case model.Ended:
		where.And("status = 'ended'")
	}
}

// page returns the statement that reads a page. The periods are joined after the page is cut off.
func (f subscriptionFilter) page(where *page.Filter, p page.Page) *pg.Statement {
	order := "s.id"
	if p.Order.Column != "" {
		order = "s." + p.Order.Column + ", s.id"
		if p.Order.Desc {
			order = "s." + p.Order.Column + " desc, s.id desc"
		}
	}
	s := where.Page("select * from subscriptions", p)
	s.SQL = "select " + subscriptionColumns + ", " + periodColumns + " from (" + s.SQL + `) s
		join periods p on p.company_id = s.company_id and p.subscription_id = s.id and p.number = s.periods order by ` + order
	return s
}

// record is a locked subscription with what its next commit needs.
type record struct {
	*model.Record
	settings model.Settings
}

// lockRecord reads a subscription with the periods that a decision needs, one of them with the given number
// if it is not 0, and the company's settings. It locks the subscription until the end of tx.
func (s *store) lockRecord(ctx context.Context, tx *pg.Tx, company id.Company, subscription id.Subscription, number int32) (record, error) {
	return s.record(ctx, tx, company, number, lockSubscriptionSQL, company, subscription)
}

// readRecord is lockRecord without a lock.
func (s *store) readRecord(ctx context.Context, tx *pg.Tx, company id.Company, subscription id.Subscription) (record, error) {
	return s.record(ctx, tx, company, 0, subscriptionSQL, company, subscription)
}

// lockDue is lockRecord for a job at a time of the company. The fault is NOT_FOUND if the subscription is not
// due, or if another transaction has locked it.
func (s *store) lockDue(ctx context.Context, tx *pg.Tx, company id.Company, subscription id.Subscription, now time.Time) (record, error) {
	return s.record(ctx, tx, company, 0, lockDueSQL, company, subscription, now)
}

// record reads the subscription that a statement selects. The periods are read by a later statement, so they
// are those that the lock protects.
func (s *store) record(ctx context.Context, tx *pg.Tx, company id.Company, number int32, sql string, args ...any) (record, error) {
	var found []model.Subscription
	var periods []model.Period
	var settings []model.Settings
	err := tx.Pipeline(ctx,
		pg.Query{SQL: sql, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var n model.Subscription
			err := rows.Scan(subscriptionFields(&n)...)
			found = append(found, n)
			return err
		})},
		pg.Query{SQL: periodsOfRecordSQL, Args: []any{company, args[1], number}, Scan: scanPeriods(&periods)},
		settingsQuery(company, &settings))
	if err == nil && len(found) == 0 {
		err = fault.Missing("subscription")
	}
	if err != nil {
		return record{}, err
	}
	return record{Record: model.Load(found[0], periods), settings: settingsOf(settings)}, nil
}

// byReference returns the subscription that was imported with a reference, or the zero value.
func (s *store) byReference(ctx context.Context, tx *pg.Tx, company id.Company, reference string) (found id.Subscription, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: byReferenceSQL, Args: []any{company, reference}, Scan: pg.First(&found)})
	return found, err
}

// state is what a commit stores about a subscription in addition to the record.
type state struct {
	id    id.UUID
	sync  time.Time // when the job sends the state of the pass
	actor string    // of the new account entries
}

// addRecord stores a new subscription when tx commits.
func addRecord(tx *pg.Tx, company id.Company, r *model.Record, n state) {
	tx.Queue(pg.Query{SQL: addSubscriptionSQL, Args: rowOfSubscription(company, r.Subscription, n)},
		pg.Query{SQL: countSubscriptionSQL, Args: []any{company}})
	saveParts(tx, company, r, n)
}

// saveRecord stores a locked subscription when tx commits.
func saveRecord(tx *pg.Tx, company id.Company, r *model.Record, n state) {
	tx.Queue(pg.Query{SQL: saveSubscriptionSQL, Args: rowOfSubscription(company, r.Subscription, n)})
	saveParts(tx, company, r, n)
}

// saveParts stores the changed and new periods and the new account entries of a record.
func saveParts(tx *pg.Tx, company id.Company, r *model.Record, n state) {
	for _, p := range r.ChangedPeriods() {
		tx.Queue(pg.Query{SQL: savePeriodSQL, Args: rowOfPeriod(company, r.ID, p)})
	}
	for _, p := range r.NewPeriods() {
		tx.Queue(pg.Query{SQL: addPeriodSQL, Args: rowOfPeriod(company, r.ID, p)})
	}
	for _, e := range r.Entries {
		tx.Queue(pg.Query{SQL: addEntrySQL, Args: []any{
			company, r.ID, e.Sequence, e.Kind, e.Credit, e.Refund, e.CreditBalance, e.RefundBalance, e.Period, e.Reference, n.actor, e.CreatedAt,
			e.Day, e.Method, e.PlanID,
		}})
	}
}

// rowOfSubscription returns the column values of a subscription.
func rowOfSubscription(company id.Company, s model.Subscription, n state) []any {
	var sync *time.Time
	if s.HasPass {
		sync = &n.sync
	}
	return []any{pgx.NamedArgs{
		"company": company, "id": s.ID, "customer": s.CustomerID, "plan": s.PlanID,
		"price": s.Price, "currency": s.Currency, "interval_unit": s.Unit, "interval_count": s.Count,
		"bookings": s.Bookings, "credits": s.Credits, "max_rollover": s.MaxRollover, "minimum_periods": s.MinimumPeriods,
		"status": s.Status, "start_day": s.StartDay, "periods": s.Periods, "has_pass": s.HasPass, "imported": s.Imported,
		"term_from": s.TermFrom, "reference": s.Reference,
		"last_period": s.LastPeriod, "last_day": s.LastDay, "end_reason": s.EndReason, "ended_at": s.EndedAt,
		"cancelled_at": s.CancelledAt, "cancel_reason": s.CancelReason, "cancel_at_period_end": s.CancelAtPeriodEnd,
		"paused": s.Paused, "pause_first_day": s.PauseFirstDay, "pause_resumes_on": s.PauseResumesOn, "pause_reason": s.PauseReason,
		"next_plan": s.NextPlanID, "amount_due": s.AmountDue, "account_credit": s.AccountCredit, "refund_due": s.RefundDue,
		"refunded_amount": s.RefundedAmount, "entry_count": s.EntryCount,
		"past_due_since": s.PastDueSince, "suspended_from": s.SuspendedFrom, "unpaid_end_at": s.UnpaidEndAt, "suspended": s.Suspended,
		"next_at": s.NextAt, "version": s.Version, "created_at": s.CreatedAt, "updated_at": s.UpdatedAt,
		"state_id": n.id, "sync_due": sync, "sync_since": sync,
	}}
}
