package pass

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Each statement recomputes a stored number from the rows.
const (
	verifyUsesSQL = `select p.id, p.remaining_uses::bigint, coalesce(sum(e.credits), 0)::bigint
		from customer_passes p left join ledger_entries e on e.company_id = p.company_id and e.customer_pass_id = p.id
		where p.company_id = $1 group by p.id, p.remaining_uses`

	verifyBalancesSQL = `select e.customer_pass_id, e.balance::bigint,
			sum(e.credits) over (partition by e.customer_pass_id order by e.sequence)::bigint
		from ledger_entries e where e.company_id = $1`

	// changedItemsSQL is by how much changes have raised the credits of each booking.
	changedItemsSQL = `with changed as (select redemption_id, item_id,
				sum(coalesce(credits_after - credits_before, 0) + coalesce(undone, 0)) as credits
			from redemption_changes where company_id = $1 group by redemption_id, item_id)`

	// An item holds the credits that the ledger took for it and did not return. An entry without credits is of
	// a time when the pass had unlimited uses. If the previous release added it, it stands for all credits that
	// the item took first, or had when they were returned. The ledger has only the return of an imported booking.
	verifyRedemptionsSQL = changedItemsSQL + ` select i.redemption_id, (i.credits - i.returned)::bigint,
			case when r.customer_pass_id is null then 0 else coalesce(e.held, 0) end
		from redemption_items i
			join redemptions r on r.company_id = i.company_id and r.id = i.redemption_id
			left join changed c on c.redemption_id = i.redemption_id and c.item_id = i.item_id
			left join lateral (select -sum(case when e.credits <> 0 then e.credits when e.item_credits is not null then e.item_credits
					when e.kind = 'redeemed' then coalesce(c.credits, 0) - i.credits else i.credits end)::bigint as held
				from ledger_entries e
				where e.company_id = i.company_id and e.customer_pass_id = i.customer_pass_id
					and e.redemption_id = i.redemption_id and e.item_id = i.item_id) e on true
		where i.company_id = $1`

	// The credits that the items of a redemption had before their changes add up to those of its first answer.
	verifyChangesSQL = changedItemsSQL + ` select r.id, r.credits::bigint, least(sum(i.credits - coalesce(c.credits, 0)), 2147483647)::bigint
		from redemptions r
			join redemption_items i on i.company_id = r.company_id and i.redemption_id = r.id
			left join changed c on c.redemption_id = i.redemption_id and c.item_id = i.item_id
		where r.company_id = $1 and r.customer_pass_id is not null group by r.id, r.credits`

	// The entries of a period are its grant. The 999999 of unlimited uses are added when such periods
	// begin and removed when they end.
	verifyGrantsSQL = `with granted as (select customer_pass_id, period, granted - expired + 999999 * (unlimited_uses::integer
				- lag(unlimited_uses::integer, 1, 0) over (partition by customer_pass_id order by period)) as credits
			from pass_grants where company_id = $1),
		explained as (select customer_pass_id, period, sum(credits) as credits from ledger_entries
			where company_id = $1 and kind in ('assigned', 'granted', 'expired') and period is not null group by customer_pass_id, period)
		select customer_pass_id, coalesce(g.credits, 0)::bigint, coalesce(e.credits, 0)::bigint
		from granted g full join explained e using (customer_pass_id, period)`

	// begunSQL is each period with the balance before its first entry, which is null if it has no entries, and
	// the credits that expired when it began. Nothing rolls over when unlimited uses begin or end.
	begunSQL = `with begun as (select customer_pass_id, period, carried_over, expired, unlimited_uses,
				lag(unlimited_uses, 1, false) over (partition by customer_pass_id order by period) as was_unlimited
			from pass_grants where company_id = $1),
		explained as (select customer_pass_id, period, (array_agg(balance - credits order by sequence))[1] as before,
				coalesce(-sum(credits) filter (where kind = 'expired'), 0) as expired
			from ledger_entries where company_id = $1 and kind in ('assigned', 'granted', 'expired') and period is not null
			group by customer_pass_id, period)`

	verifyExpiredSQL = begunSQL + ` select customer_pass_id, b.expired::bigint,
			case when b.was_unlimited then 0 else coalesce(e.expired, 0) end::bigint
		from begun b left join explained e using (customer_pass_id, period)`

	// A period without entries granted and removed nothing, so that the ledger does not show what it carried over.
	verifyCarriedOverSQL = begunSQL + ` select customer_pass_id, b.carried_over::bigint,
			case when b.was_unlimited or b.unlimited_uses then 0 else coalesce(e.before - e.expired, b.carried_over) end::bigint
		from begun b left join explained e using (customer_pass_id, period)`

	verifyPeriodsSQL = `select p.id, coalesce(p.last_period, 0)::bigint,
			(select count(*) from pass_grants g where g.company_id = p.company_id and g.customer_pass_id = p.id)
		from customer_passes p where p.company_id = $1 and p.subscription_version is not null`

	verifyTotalsSQL = `select coalesce((select pass_types from pass_totals where company_id = $1), 0),
			(select count(*) from pass_types where company_id = $1 and plan_version is null),
			coalesce((select customer_passes from pass_totals where company_id = $1), 0),
			(select count(*) from customer_passes where company_id = $1)`

	exportRedemptionsSQL = `select redemption_id, item_id, customer_pass_id, credits - returned from redemption_items
		where company_id = $1 order by redemption_id, item_id`
)

// comparison is a stored number and the number computed from the rows.
type comparison struct {
	what, id         string
	stored, computed int64
}

// verify recomputes every number of a company and calls each with every comparison.
func (s *store) verify(ctx context.Context, company id.Company, each func(comparison) error) error {
	passID := func(u id.UUID) string { return id.CustomerPass(u).String() }
	redemptionID := func(u id.UUID) string { return id.Transaction(u).String() }
	for _, n := range []struct {
		what, sql string
		text      func(id.UUID) string
	}{
		{"customer_pass.remaining_uses", verifyUsesSQL, passID},
		{"ledger.balance", verifyBalancesSQL, passID},
		{"redemption.credits", verifyRedemptionsSQL, redemptionID},
		{"redemption.changes", verifyChangesSQL, redemptionID},
		{"pass_grant.credits", verifyGrantsSQL, passID},
		{"pass_grant.expired", verifyExpiredSQL, passID},
		{"pass_grant.carried_over", verifyCarriedOverSQL, passID},
		{"customer_pass.last_period", verifyPeriodsSQL, passID},
	} {
		if err := s.compare(ctx, company, n.sql, n.what, n.text, each); err != nil {
			return err
		}
	}
	return s.stream(ctx, company, verifyTotalsSQL, func(rows pgx.Rows) error {
		types, passes := comparison{what: "pass_types.total"}, comparison{what: "customer_passes.total"}
		if err := rows.Scan(&types.stored, &types.computed, &passes.stored, &passes.computed); err != nil {
			return err
		}
		if err := each(types); err != nil {
			return err
		}
		return each(passes)
	})
}

// compare calls each for the rows of a statement: an identifier, the stored number and the computed
// number.
func (s *store) compare(ctx context.Context, company id.Company, sql, what string, text func(id.UUID) string, each func(comparison) error) error {
	return s.stream(ctx, company, sql, func(rows pgx.Rows) error {
		var row id.UUID
		c := comparison{what: what}
		if err := rows.Scan(&row, &c.stored, &c.computed); err != nil {
			return err
		}
		c.id = text(row)
		return each(c)
	})
}

// redeemed is the credits of a pass that a booking holds.
type redeemed struct {
	redemption id.Transaction
	item       id.Booking
	pass       id.CustomerPass
	credits    int32
}

// exportRedemptions calls each for the credits that every booking holds.
func (s *store) exportRedemptions(ctx context.Context, company id.Company, each func(redeemed) error) error {
	return s.stream(ctx, company, exportRedemptionsSQL, func(rows pgx.Rows) error {
		var r redeemed
		if err := rows.Scan(&r.redemption, &r.item, &r.pass, &r.credits); err != nil {
			return err
		}
		return each(r)
	})
}

func (s *store) stream(ctx context.Context, company id.Company, sql string, each func(pgx.Rows) error) error {
	return s.Fault(s.Stream(ctx, pg.For(company), sql, []any{company}, each))
}
