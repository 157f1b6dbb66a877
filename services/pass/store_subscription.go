package pass

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	grantColumns = `period, granted, carried_over, expired, unlimited_uses, first_day`

	grantsSQL = `select ` + grantColumns + ` from pass_grants
		where company_id = $1 and customer_pass_id = $2 and period = any($3)`

	addGrantsSQL = `insert into pass_grants (company_id, customer_pass_id, ` + grantColumns + `)
		select $1, $2, n.period, n.granted, n.carried_over, n.expired, n.unlimited_uses, n.first_day
		from unnest($3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::boolean[], $8::date[])
			n(period, granted, carried_over, expired, unlimited_uses, first_day)`

	addSubscriptionPassSQL = `insert into customer_passes (company_id, id, customer_id, pass_type_id, total_uses, remaining_uses, unlimited_uses,
			start_date, expiry_date, status, paused_on, paused_at, version, created_at, updated_at,
			created_on, paid_gross, paid_currency, paid_method, paid_reference,
			subscription_version, subscription_state, last_period, period_last_day, unusable_from, usable_again_from)
		values (@company, @id, @customer, @pass_type, @total, @remaining, @unlimited,
			@start, @expiry, @status, @paused_on, @paused_at, @version, @created_at, @updated_at,
			@created_on, @paid_gross, @paid_currency, @paid_method, @paid_reference,
			@subscription_version, @subscription_state, @last_period, @period_last_day, @unusable_from, @usable_again_from)`

	saveSubscriptionPassSQL = `update customer_passes set pass_type_id = @pass_type, total_uses = @total, remaining_uses = @remaining,
			unlimited_uses = @unlimited, start_date = @start, expiry_date = @expiry, status = @status,
			paused_on = @paused_on, paused_at = @paused_at, version = @version, updated_at = @updated_at,
			subscription_version = @subscription_version, subscription_state = @subscription_state, last_period = @last_period,
			period_last_day = @period_last_day, unusable_from = @unusable_from, usable_again_from = @usable_again_from
		where company_id = @company and id = @id`

	exportGrantsSQL = `select customer_pass_id, ` + grantColumns + ` from pass_grants
		where company_id = $1 order by customer_pass_id, period`
)

// repeating is a store whose writes are repeated if another transaction has added the same row.
type repeating struct{ *store }

// Write implements idem.Store.
func (s repeating) Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return s.writeRepeatedly(ctx, company, fn)
}

// findPassType reads a pass type in tx. It returns nil if there is none.
func (s *store) findPassType(ctx context.Context, tx *pg.Tx, company id.Company, passType id.PassType, lock bool) (*PassType, error) {
	query := passTypeSQL
	if lock {
		query = lockPassTypeSQL
	}
	t, err := pg.GetInTx[PassType](ctx, tx, "pass type", query, company, passType)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &t, err
}

// lockSubscriptionPass reads a pass with its grants of some periods, and locks it until the end of tx. It
// reports whether the pass exists.
func (s *store) lockSubscriptionPass(ctx context.Context, tx *pg.Tx, company id.Company, in passSync) (p CustomerPass, known map[int32]grant, exists bool, err error) {
	periods := make([]int32, len(in.grants))
	for n, g := range in.grants {
		periods[n] = g.period
	}
	var passes []CustomerPass
	var grants []grant
	var entries int64
	err = tx.Pipeline(ctx,
		pg.Query{SQL: lockCustomerPassSQL, Args: []any{company, in.pass}, Scan: pg.Collect(&passes)},
		ledgerLength(company, in.pass, &entries),
		pg.Query{SQL: grantsSQL, Args: []any{company, in.pass, periods}, Scan: pg.Collect(&grants)})
	known = make(map[int32]grant, len(grants))
	for _, g := range grants {
		known[g.Period] = g
	}
	if err != nil || len(passes) == 0 {
		return p, known, false, err
	}
	passes[0].Entries = entries
	return passes[0], known, true, nil
}

// addSubscriptionPass returns the statements that store the new pass of a subscription.
func addSubscriptionPass(company id.Company, p *CustomerPass) []pg.Query {
	return []pg.Query{
		{SQL: addSubscriptionPassSQL, Args: rowOfSubscriptionPass(company, p)},
		{SQL: countCustomerPassSQL, Args: []any{company}},
	}
}

// saveSubscriptionPass returns the statement that stores the locked pass of a subscription.
func saveSubscriptionPass(company id.Company, p *CustomerPass) pg.Query {
	return pg.Query{SQL: saveSubscriptionPassSQL, Args: rowOfSubscriptionPass(company, p)}
}

// rowOfSubscriptionPass returns the column values of the pass of a subscription.
func rowOfSubscriptionPass(company id.Company, p *CustomerPass) []any {
	return []any{pgx.NamedArgs{
		"company": company, "id": p.ID, "customer": p.CustomerID, "pass_type": p.PassTypeID, "total": p.TotalUses,
		"remaining": p.RemainingUses, "unlimited": p.UnlimitedUses, "start": p.StartDate, "expiry": p.ExpiryDate, "status": p.Status,
		"paused_on": p.PausedOn, "paused_at": p.PausedAt, "version": p.Version, "created_at": p.CreatedAt, "updated_at": p.UpdatedAt,
		"created_on": p.CreatedOn,
		"paid_gross": p.PaidGross, "paid_currency": p.PaidCurrency, "paid_method": p.PaidMethod, "paid_reference": p.PaidReference,
		"subscription_version": p.SubscriptionVersion, "subscription_state": p.SubscriptionState, "last_period": p.LastPeriod,
		"period_last_day": p.PeriodLastDay, "unusable_from": p.UnusableFrom, "usable_again_from": p.UsableAgainFrom,
	}}
}

// addGrants returns the statement that stores grants of a pass, if there are any.
func addGrants(company id.Company, pass id.CustomerPass, grants []grant) []pg.Query {
	if len(grants) == 0 {
		return nil
	}
	n := len(grants)
	periods, granted, carried, expired := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	unlimited, days := make([]bool, n), make([]time.Time, n)
	for i, g := range grants {
		periods[i], granted[i], carried[i], expired[i] = g.Period, g.Granted, g.CarriedOver, g.Expired
		unlimited[i], days[i] = g.Unlimited, g.FirstDay
	}
	return []pg.Query{{SQL: addGrantsSQL, Args: []any{company, pass, periods, granted, carried, expired, unlimited, days}}}
}

// exportGrants calls each for every grant.
func (s *store) exportGrants(ctx context.Context, company id.Company, each func(id.CustomerPass, grant) error) error {
	return s.stream(ctx, company, exportGrantsSQL, func(rows pgx.Rows) error {
		var pass id.CustomerPass
		var g grant
		if err := rows.Scan(&pass, &g.Period, &g.Granted, &g.CarriedOver, &g.Expired, &g.Unlimited, &g.FirstDay); err != nil {
			return err
		}
		return each(pass, g)
	})
}
