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
)

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
