package reports

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// The statements of reports read a generation ($2) in the span before and the span: from $3 to $5, of which
// the span begins on $4. They read sums, and facts to label them.
const (
	takingSums = `coalesce(sum(paid) filter (where day >= $4), 0)::bigint, coalesce(sum(refunded) filter (where day >= $4), 0)::bigint,
			coalesce(sum(net) filter (where day >= $4), 0)::bigint, coalesce(sum(payments) filter (where day >= $4), 0)::bigint,
			coalesce(sum(refunds) filter (where day >= $4), 0)::bigint,
			coalesce(sum(paid) filter (where day < $4), 0)::bigint, coalesce(sum(refunded) filter (where day < $4), 0)::bigint,
			coalesce(sum(net) filter (where day < $4), 0)::bigint, coalesce(sum(payments) filter (where day < $4), 0)::bigint,
			coalesce(sum(refunds) filter (where day < $4), 0)::bigint`
	inSpans = ` where company_id = $1 and generation = $2 and day between $3 and $5`

	takingsByDaySQL    = `select currency, day, ` + takingSums + ` from takings` + inSpans + ` group by currency, day`
	takingsByMethodSQL = `select currency, method, ` + takingSums + ` from takings` + inSpans + ` group by currency, method`
	takingsByTaxSQL    = `select currency, tax_rate, ` + takingSums + ` from takings` + inSpans + ` group by currency, tax_rate`

	// takingsByProductSQL sums up the products after the first $7 in a row without a product.
	takingsByProductSQL = `with sums as (select kind, product_id,
				coalesce(sum(paid) filter (where day >= $4), 0) as p, coalesce(sum(refunded) filter (where day >= $4), 0) as r,
				coalesce(sum(net) filter (where day >= $4), 0) as n, coalesce(sum(payments) filter (where day >= $4), 0) as ps,
				coalesce(sum(refunds) filter (where day >= $4), 0) as rs,
				coalesce(sum(paid) filter (where day < $4), 0) as bp, coalesce(sum(refunded) filter (where day < $4), 0) as br,
				coalesce(sum(net) filter (where day < $4), 0) as bn, coalesce(sum(payments) filter (where day < $4), 0) as bps,
				coalesce(sum(refunds) filter (where day < $4), 0) as brs
			from product_takings` + inSpans + ` and currency = $6 group by kind, product_id),
		ranked as (select *, row_number() over (order by p - r desc, kind, product_id) as place from sums
			where (p, r, n, ps, rs, bp, br, bn, bps, brs) <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
		listed as (select case when place <= $7 then kind end as kind, case when place <= $7 then product_id end as product_id, least(place, $7 + 1) as place,
				sum(p)::bigint as p, sum(r)::bigint as r, sum(n)::bigint as n, sum(ps)::bigint as ps, sum(rs)::bigint as rs,
				sum(bp)::bigint as bp, sum(br)::bigint as br, sum(bn)::bigint as bn, sum(bps)::bigint as bps, sum(brs)::bigint as brs
			from ranked group by 1, 2, 3)
		select coalesce(l.kind, 0), l.product_id, coalesce(case l.kind
				when 1 then (select title from events where company_id = $1 and generation = $2 and id = l.product_id)
				when 2 then (select title from pass_types where company_id = $1 and generation = $2 and id = l.product_id)
				when 3 then (select title from plans where company_id = $1 and generation = $2 and id = l.product_id) end, ''),
			p, r, n, ps, rs, bp, br, bn, bps, brs
		from listed l order by place`

	currenciesSQL = `select distinct currency from takings where company_id = $1 and generation = $2 and day between $3 and $4`

	// creditsSQL returns the balance before $3, and the changes in both spans, by pass type. Months before that
	// of $3 are summed up already.
	creditsSQL = `with changes as (
			select pass_type_id, 0 as part, added, used, expired, adjusted, case when currency = $6 then worth else 0 end as worth
				from monthly_credits where company_id = $1 and generation = $2 and day < date_trunc('month', $3::date)::date
			union all
			select pass_type_id, case when day < $3 then 0 when day < $4 then 1 else 2 end, added, used, expired, adjusted, case when currency = $6 then worth else 0 end
				from credits where company_id = $1 and generation = $2 and day between date_trunc('month', $3::date)::date and $5)
		select c.pass_type_id, coalesce(t.title, p.title, ''), p.id is not null, case when p.currency = $6 then p.price else 0 end, coalesce(p.credits, 0),
			c.opening, c.opening_worth, c.added, c.used, c.expired, c.adjusted, c.worth, c.added_before, c.used_before, c.expired_before, c.adjusted_before, c.worth_before
		from (select pass_type_id,
				coalesce(sum(added - used - expired + adjusted) filter (where part = 0), 0)::bigint as opening, coalesce(sum(worth) filter (where part = 0), 0)::bigint as opening_worth,
				coalesce(sum(added) filter (where part = 2), 0)::bigint as added, coalesce(sum(used) filter (where part = 2), 0)::bigint as used,
				coalesce(sum(expired) filter (where part = 2), 0)::bigint as expired, coalesce(sum(adjusted) filter (where part = 2), 0)::bigint as adjusted,
				coalesce(sum(worth) filter (where part = 2), 0)::bigint as worth,
				coalesce(sum(added) filter (where part = 1), 0)::bigint as added_before, coalesce(sum(used) filter (where part = 1), 0)::bigint as used_before,
				coalesce(sum(expired) filter (where part = 1), 0)::bigint as expired_before, coalesce(sum(adjusted) filter (where part = 1), 0)::bigint as adjusted_before,
				coalesce(sum(worth) filter (where part = 1), 0)::bigint as worth_before
			from changes group by pass_type_id) c
		left join pass_types t on t.company_id = $1 and t.generation = $2 and t.id = c.pass_type_id
		left join plans p on p.company_id = $1 and p.generation = $2 and p.id = c.pass_type_id`

	// creditCurrenciesSQL finds the currencies in which credits had a worth by $3. Credits of a subscription have that
	// of their plan.
	creditCurrenciesSQL = `select currency from monthly_credits where company_id = $1 and generation = $2 and day <= $3 and worth <> 0
		union
		select p.currency from plans p where p.company_id = $1 and p.generation = $2 and p.price > 0 and p.credits > 0
			and exists (select from monthly_credits m where m.company_id = $1 and m.generation = $2 and m.day <= $3 and m.pass_type_id = p.id)`

	// customersSQL counts customers in spans: from $3, to $4, each with the first day of the span before it, $5.
	// See pairs.
	customersSQL = `select coalesce((select sum(customers) from created_customers c
				where c.company_id = $1 and c.generation = $2 and c.day <= s.until), 0)::bigint,
			coalesce((select sum(customers) from created_customers c
				where c.company_id = $1 and c.generation = $2 and c.day between s.since and s.until), 0)::bigint,
			a.active, l.lost, a.returned
		from unnest($3::date[], $4::date[], $5::date[]) with ordinality as s (since, until, before, place)
		cross join lateral (select coalesce(sum(customers), 0)::bigint as active,
				coalesce(sum(customers) filter (where day < s.before and day > '0001-01-01'), 0)::bigint as returned
			from activity p where p.company_id = $1 and p.generation = $2 and p.next_day between s.since and s.until and p.day < s.since) a
		cross join lateral (select coalesce(sum(customers), 0)::bigint as lost
			from activity p where p.company_id = $1 and p.generation = $2 and p.day >= s.before and p.day < s.since and p.next_day > s.until) l
		order by s.place`
)

// compared are the spans that a report compares, in a generation.
type compared struct {
	company    id.Company
	generation int64
	span       span
	before     span
}

// args returns the first arguments of a report's statement.
func (c compared) args(more ...any) []any {
	return append([]any{c.company, c.generation, c.before.from, c.span.from, c.span.to}, more...)
}

// takingsRow is a row of takings in both spans.
type takingsRow[K any] struct {
	currency    string
	key         K
	now, before taking
}

func (t *taking) fields() []any { return []any{&t.paid, &t.refunded, &t.net, &t.payments, &t.refunds} }

// takings reads takings by a column.
func takings[K any](ctx context.Context, s *store, sql string, c compared) ([]takingsRow[K], error) {
	var all []takingsRow[K]
	err := s.ReadOf(ctx, c.company, pg.Query{SQL: sql, Args: c.args(), Scan: pg.Each(func(rows pgx.Rows) error {
		var r takingsRow[K]
		err := rows.Scan(append(append([]any{&r.currency, &r.key}, r.now.fields()...), r.before.fields()...)...)
		all = append(all, r)
		return err
	})})
	return all, err
}

// productRow is the takings of a product; without a product: of all products that are not listed.
type productRow struct {
	kind        productKind
	product     id.UUID
	title       string
	now, before taking
}

// productTakings reads takings by product in a currency, and the currencies of all takings.
func (s *store) productTakings(ctx context.Context, c compared, currency string) (all []productRow, currencies []string, err error) {
	err = s.ReadOf(ctx, c.company,
		pg.Query{SQL: takingsByProductSQL, Args: c.args(currency, maxRows), Scan: pg.Each(func(rows pgx.Rows) error {
			var r productRow
			err := rows.Scan(append(append([]any{&r.kind, &r.product, &r.title}, r.now.fields()...), r.before.fields()...)...)
			all = append(all, r)
			return err
		})},
		pg.Query{SQL: currenciesSQL, Args: []any{c.company, c.generation, c.before.from, c.span.to}, Scan: pg.Collect(&currencies)})
	return all, currencies, err
}

// creditsRow is the credits of a pass type: the balance before the span before, and the changes in both spans.
type creditsRow struct {
	passType       id.PassType
	title          string
	ofPlan         bool  // the pass type is that of a plan
	price, granted int64 // of the plan
	opening, worth int64
	now, before    creditChange
}

func (c *creditChange) fields() []any {
	return []any{&c.added, &c.used, &c.expired, &c.adjusted, &c.worth}
}

// credits reads credits by pass type, with their worth in a currency, and the currencies of all worth.
func (s *store) credits(ctx context.Context, c compared, currency string) (all []creditsRow, currencies []string, err error) {
	err = s.ReadOf(ctx, c.company, pg.Query{SQL: creditsSQL, Args: c.args(currency), Scan: pg.Each(func(rows pgx.Rows) error {
		var r creditsRow
		head := []any{&r.passType, &r.title, &r.ofPlan, &r.price, &r.granted, &r.opening, &r.worth}
		err := rows.Scan(append(append(head, r.now.fields()...), r.before.fields()...)...)
		all = append(all, r)
		return err
	})}, pg.Query{SQL: creditCurrenciesSQL, Args: []any{c.company, c.generation, c.span.to}, Scan: pg.Collect(&currencies)})
	return all, currencies, err
}

// customerCount is numbers of customers.
type customerCount struct{ total, created, active, lost, returned int64 }

// countCustomers counts the customers of spans, each compared with the span before it.
func (s *store) countCustomers(ctx context.Context, company id.Company, generation int64, spans []span) ([]customerCount, error) {
	var all []customerCount
	since, until, before := make([]Day, len(spans)), make([]Day, len(spans)), make([]Day, len(spans))
	for i, sp := range spans {
		since[i], until[i], before[i] = sp.from, sp.to, sp.before().from
	}
	err := s.ReadOf(ctx, company, pg.Query{
		SQL: customersSQL, Args: []any{company, generation, since, until, before}, Scan: pg.Each(func(rows pgx.Rows) error {
			var c customerCount
			err := rows.Scan(&c.total, &c.created, &c.active, &c.lost, &c.returned)
			all = append(all, c)
			return err
		}),
	})
	return all, err
}
