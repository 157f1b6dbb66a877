package reports

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const (
	expiringSQL = `select c.id, c.customer_id, c.pass_type_id, c.expires, c.remaining, c.assigned, c.is_unlimited, c.of_subscription, c.paid, c.currency,
			coalesce((select title from pass_types t where t.company_id = $1 and t.generation = $2 and t.id = c.pass_type_id), p.title, ''),
			coalesce(p.price, 0), coalesce(p.credits, 0), coalesce(p.currency, '')
		from (select * from customer_passes where company_id = $1 and generation = $2 and remaining > 0 and not is_cancelled
				and expires between $3 and $4`

	expiringEndSQL = `) c left join plans p on p.company_id = $1 and p.generation = $2 and p.id = c.pass_type_id order by c.expires, c.id`

	expiringCountSQL = `select count(*) from customer_passes where company_id = $1 and generation = $2 and remaining > 0 and not is_cancelled
		and expires between $3 and $4`

	// expiringPassesSQL are the passes that expire in the span before and the span, from $3 to $4. Each is worth the
	// same as in expiring.proto. $5 is the currency of passes for which nothing was paid.
	expiringPassesSQL = `(select c.expires, c.pass_type_id, p.id is not null as of_plan, p.title as plan, case when c.is_unlimited then 0 else c.remaining end as credits,
				coalesce(nullif(case when c.of_subscription then p.currency else c.currency end, ''), $5) as currency,
				case when c.is_unlimited then 0
					when c.of_subscription then case when p.credits > 0 then p.price * c.remaining / p.credits else 0 end
					when c.assigned > 0 then c.paid * least(c.remaining, c.assigned) / c.assigned
					else 0 end as worth
			from customer_passes c left join plans p on p.company_id = $1 and p.generation = $2 and p.id = c.pass_type_id
			where c.company_id = $1 and c.generation = $2 and c.remaining > 0 and not c.is_cancelled and c.expires between $3 and $4) e`

	// The worth is in the currency $6.
	expiringByDaySQL = `select expires, count(*), sum(credits)::bigint, coalesce(sum(worth) filter (where currency = $6), 0)::bigint
		from ` + expiringPassesSQL + ` group by expires`

	expiringByTypeSQL = `select s.pass_type_id, s.of_plan, coalesce((select title from pass_types t
				where t.company_id = $1 and t.generation = $2 and t.id = s.pass_type_id), s.plan, ''),
			passes, credits, worth, passes_before, credits_before, worth_before
		from (select pass_type_id, of_plan, plan,
				count(*) filter (where expires >= $7) as passes, coalesce(sum(credits) filter (where expires >= $7), 0)::bigint as credits,
				coalesce(sum(worth) filter (where expires >= $7 and currency = $6), 0)::bigint as worth,
				count(*) filter (where expires < $7) as passes_before, coalesce(sum(credits) filter (where expires < $7), 0)::bigint as credits_before,
				coalesce(sum(worth) filter (where expires < $7 and currency = $6), 0)::bigint as worth_before
			from ` + expiringPassesSQL + ` group by pass_type_id, of_plan, plan) s`

	expiringCurrenciesSQL = `select distinct currency from ` + expiringPassesSQL + ` where worth > 0`
)

// expiringOnDay is the passes that expire on a day.
type expiringOnDay struct {
	day Day
	sum expiringSum
}

// expiringOfType is the passes of a type that expire.
type expiringOfType struct {
	passType id.PassType
	ofPlan   bool
	title    string
	sums     comparedExpiring
}

// expiringByDay sums up the passes that expire in both spans by day, with their worth in a currency, and returns the
// currencies of all worth. standard is the currency of passes for which nothing was paid.
func (s *store) expiringByDay(ctx context.Context, c compared, currency, standard string) (all []expiringOnDay, currencies []string, err error) {
	err = s.ReadOf(ctx, c.company, pg.Query{SQL: expiringByDaySQL, Args: expiringArgs(c, standard, currency), Scan: pg.Each(func(rows pgx.Rows) error {
		var e expiringOnDay
		err := rows.Scan(&e.day, &e.sum.passes, &e.sum.credits, &e.sum.worth)
		all = append(all, e)
		return err
	})}, expiringCurrencies(c, standard, &currencies))
	return all, currencies, err
}

// expiringByType is expiringByDay by pass type.
func (s *store) expiringByType(ctx context.Context, c compared, currency, standard string) (all []expiringOfType, currencies []string, err error) {
	err = s.ReadOf(ctx, c.company, pg.Query{SQL: expiringByTypeSQL, Args: expiringArgs(c, standard, currency, c.span.from), Scan: pg.Each(func(rows pgx.Rows) error {
		var e expiringOfType
		now, before := &e.sums.now, &e.sums.before
		err := rows.Scan(&e.passType, &e.ofPlan, &e.title, &now.passes, &now.credits, &now.worth, &before.passes, &before.credits, &before.worth)
		all = append(all, e)
		return err
	})}, expiringCurrencies(c, standard, &currencies))
	return all, currencies, err
}

func expiringCurrencies(c compared, standard string, into *[]string) pg.Query {
	return pg.Query{SQL: expiringCurrenciesSQL, Args: expiringArgs(c, standard), Scan: pg.Collect(into)}
}

// expiringPasses returns a page of the passes with credits that expire in a span, and the number of all.
func (s *store) expiringPasses(ctx context.Context, company id.Company, generation int64, sp span, p page.Page) (all []expiring, total int64, err error) {
	args := []any{company, generation, sp.from, sp.to}
	list := &pg.Statement{SQL: expiringSQL, Args: args}
	p.Add(list)
	list.SQL += expiringEndSQL
	err = s.ReadOf(ctx, company, list.Query(pg.Each(func(rows pgx.Rows) error {
		var e expiring
		err := rows.Scan(&e.id, &e.customer, &e.passType, &e.expires, &e.remaining, &e.assigned, &e.isUnlimited, &e.ofSubscription, &e.paid,
			&e.passFact.currency, &e.title, &e.plan.price, &e.plan.granted, &e.currency)
		all = append(all, e)
		return err
	})), pg.Query{SQL: expiringCountSQL, Args: args, Scan: pg.First(&total)})
	return all, total, err
}

// expiringArgs returns the arguments of a statement about expiring passes.
func expiringArgs(c compared, more ...any) []any {
	return append([]any{c.company, c.generation, c.before.from, c.span.to}, more...)
}
