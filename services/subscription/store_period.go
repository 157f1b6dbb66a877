package subscription

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

// periodColumns are the columns of a period p. periodFields has the same order.
const periodColumns = `p.number, p.plan_id, p.first_day, p.last_day, p.trial, p.trial_days, p.anchor, p.anchor_day, p.anchor_index,
	p.interval_unit, p.interval_count, p.paused_days, p.cut_short,
	p.price, p.currency, p.credit_applied, p.amount_due, p.unused_value, p.payment_status,
	p.due_at, p.dunning_from, p.past_due_after_days, p.grace_days, p.reminder_days, p.end_after_days, p.reminders_sent,
	p.paid_at, p.paid_on, p.paid_amount, p.payment_method, p.payment_reference, p.waive_reason, p.failure_reason, p.failed_attempts,
	p.bookings, p.credits, p.max_rollover, p.granted, p.credits_granted, p.credits_carried_over, p.credits_expired,
	p.granted_first_day, p.created_at,
	case when p.paid_at is not null and p.paid_on is null then earlier_zone(p.company_id) else '' end as earlier_zone`

// periodFields returns pointers to the fields of a period, in the order of periodColumns.
func periodFields(p *model.Period) []any {
	return []any{
		&p.Number, &p.PlanID, &p.FirstDay, &p.LastDay, &p.Trial, &p.TrialDays, &p.Anchor, &p.AnchorDay, &p.AnchorIndex,
		&p.Unit, &p.Count, &p.PausedDays, &p.CutShort,
		&p.Price, &p.Currency, &p.CreditApplied, &p.AmountDue, &p.UnusedValue, &p.PaymentStatus,
		&p.DueAt, &p.DunningFrom, &p.PastDueAfterDays, &p.GraceDays, &p.ReminderDays, &p.EndAfterDays, &p.RemindersSent,
		&p.PaidAt, &p.PaidOn, &p.PaidAmount, &p.PaymentMethod, &p.PaymentReference, &p.WaiveReason, &p.FailureReason, &p.FailedAttempts,
		&p.Bookings, &p.Credits, &p.MaxRollover, &p.Granted, &p.CreditsGranted, &p.CreditsCarriedOver, &p.CreditsExpired,
		&p.GrantedFirstDay, &p.CreatedAt, &p.EarlierZone,
	}
}

const (
	addPeriodSQL = `insert into periods (company_id, subscription_id, number, plan_id, first_day, last_day, trial, trial_days,
			anchor, anchor_day, anchor_index, interval_unit, interval_count, paused_days, cut_short,
			price, currency, credit_applied, amount_due, unused_value, payment_status,
			due_at, dunning_from, past_due_after_days, grace_days, reminder_days, end_after_days, reminders_sent,
			paid_at, paid_on, paid_amount, payment_method, payment_reference, waive_reason, failure_reason, failed_attempts,
			bookings, credits, max_rollover, created_at)
		values (@company, @subscription, @number, @plan, @first_day, @last_day, @trial, @trial_days,
			@anchor, @anchor_day, @anchor_index, @interval_unit, @interval_count, @paused_days, @cut_short,
			@price, @currency, @credit_applied, @amount_due, @unused_value, @payment_status,
			@due_at, @dunning_from, @past_due_after_days, @grace_days, @reminder_days, @end_after_days, @reminders_sent,
			@paid_at, @paid_on, @paid_amount, @payment_method, @payment_reference, @waive_reason, @failure_reason, @failed_attempts,
			@bookings, @credits, @max_rollover, @created_at)`

	// The answer of the pass service is stored by confirmGrantsSQL only.
	savePeriodSQL = `update periods set first_day = @first_day, last_day = @last_day, trial = @trial, trial_days = @trial_days,
			anchor = @anchor, anchor_day = @anchor_day, anchor_index = @anchor_index,
			interval_unit = @interval_unit, interval_count = @interval_count, paused_days = @paused_days, cut_short = @cut_short,
			credit_applied = @credit_applied, amount_due = @amount_due, unused_value = @unused_value, payment_status = @payment_status,
			due_at = @due_at, dunning_from = @dunning_from, past_due_after_days = @past_due_after_days, grace_days = @grace_days,
			reminder_days = @reminder_days, end_after_days = @end_after_days, reminders_sent = @reminders_sent,
			paid_at = @paid_at, paid_on = @paid_on, paid_amount = @paid_amount, payment_method = @payment_method, payment_reference = @payment_reference,
			waive_reason = @waive_reason, failure_reason = @failure_reason, failed_attempts = @failed_attempts,
			bookings = @bookings, credits = @credits, max_rollover = @max_rollover
		where company_id = @company and subscription_id = @subscription and number = @number`

	addEntrySQL = `insert into account_entries (company_id, subscription_id, sequence, kind, credit, refund, credit_balance, refund_balance,
			period, reference, actor, created_at, day, payment_method, plan_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, nullif($14, ''), $15)`

	periodsTotalSQL = `select periods from subscriptions where company_id = $1 and id = $2`

	entriesTotalSQL = `select entry_count from subscriptions where company_id = $1 and id = $2`

	periodsSQL = `select ` + periodColumns + ` from periods p
		where p.company_id = $1 and p.subscription_id = $2 and p.number > coalesce($5::bigint, $4::bigint) order by p.number limit $3`

	periodsDescSQL = `select ` + periodColumns + ` from periods p
		where p.company_id = $1 and p.subscription_id = $2 and p.number < coalesce($5::bigint, (` + periodsTotalSQL + `) + 1 - $4::bigint)
		order by p.number desc limit $3`

	entryColumns = `sequence, kind, credit, refund, credit_balance, refund_balance, period, reference, actor, created_at, day,
		case when day is null then earlier_zone(company_id) else '' end as earlier_zone,
		coalesce(payment_method, '') as payment_method, plan_id`

	entriesSQL = `select ` + entryColumns + ` from account_entries
		where company_id = $1 and subscription_id = $2 and sequence > coalesce($5::bigint, $4::bigint) order by sequence limit $3`

	entriesDescSQL = `select ` + entryColumns + ` from account_entries
		where company_id = $1 and subscription_id = $2 and sequence < coalesce($5::bigint, (` + entriesTotalSQL + `) + 1 - $4::bigint)
		order by sequence desc limit $3`
)

// scanPeriods reads periods.
func scanPeriods(out *[]model.Period) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var p model.Period
		err := rows.Scan(periodFields(&p)...)
		*out = append(*out, p)
		return err
	})
}

// listPeriods returns a page of the periods of a subscription and their number. The numbers of periods have
// no gaps, so an offset is a number.
func (s *store) listPeriods(ctx context.Context, company id.Company, of id.Subscription, p page.Page) (periods []model.Period, total int64, err error) {
	total, err = s.numbered(ctx, company, of, p, periodsTotalSQL, periodsSQL, periodsDescSQL, scanPeriods(&periods))
	return periods, total, err
}

// listEntries returns a page of the account entries of a subscription and their number.
func (s *store) listEntries(ctx context.Context, company id.Company, of id.Subscription, p page.Page) (entries []model.AccountEntry, total int64, err error) {
	total, err = s.numbered(ctx, company, of, p, entriesTotalSQL, entriesSQL, entriesDescSQL, pg.Collect(&entries))
	return entries, total, err
}

// numbered reads a page of rows of a subscription that are numbered from 1 without gaps.
func (s *store) numbered(ctx context.Context, company id.Company, of id.Subscription, p page.Page, totalSQL, asc, desc string,
	scan func(pgx.Rows) error) (total int64, err error) {
	rows := pg.Query{SQL: asc, Args: []any{company, of, p.Size + 1, p.Offset, nil}, Scan: scan}
	if p.Order.Desc {
		rows.SQL = desc
	}
	if p.After != nil {
		rows.Args[4] = p.After.Key
	}
	found := false
	err = s.ReadOf(ctx, company, pg.Query{SQL: totalSQL, Args: []any{company, of}, Scan: pg.Each(func(r pgx.Rows) error {
		found = true
		return r.Scan(&total)
	})}, rows)
	if err == nil && !found {
		err = fault.Missing("subscription")
	}
	return total, err
}

// rowOfPeriod returns the column values of a period.
func rowOfPeriod(company id.Company, of id.Subscription, p model.Period) []any {
	reminders := p.ReminderDays
	if reminders == nil {
		reminders = []int32{}
	}
	return []any{pgx.NamedArgs{
		"company": company, "subscription": of, "number": p.Number, "plan": p.PlanID, "first_day": p.FirstDay, "last_day": p.LastDay,
		"trial": p.Trial, "trial_days": p.TrialDays, "anchor": p.Anchor, "anchor_day": p.AnchorDay, "anchor_index": p.AnchorIndex,
		"interval_unit": p.Unit, "interval_count": p.Count, "paused_days": p.PausedDays, "cut_short": p.CutShort,
		"price": p.Price, "currency": p.Currency, "credit_applied": p.CreditApplied, "amount_due": p.AmountDue,
		"unused_value": p.UnusedValue, "payment_status": p.PaymentStatus,
		"due_at": p.DueAt, "dunning_from": p.DunningFrom, "past_due_after_days": p.PastDueAfterDays, "grace_days": p.GraceDays,
		"reminder_days": reminders, "end_after_days": p.EndAfterDays, "reminders_sent": p.RemindersSent,
		"paid_at": p.PaidAt, "paid_on": p.PaidOn, "paid_amount": p.PaidAmount, "payment_method": p.PaymentMethod, "payment_reference": p.PaymentReference,
		"waive_reason": p.WaiveReason, "failure_reason": p.FailureReason, "failed_attempts": p.FailedAttempts,
		"bookings": p.Bookings, "credits": p.Credits, "max_rollover": p.MaxRollover, "created_at": p.CreatedAt,
	}}
}
