package subscription

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

// Reads of snapshots, each of which is a page in a transaction of its own.

const (
	snapshotPlansSQL = `select ` + planColumns + ` from plans where company_id = $1 and id > $2 order by id limit $3`

	// A refund needs account credit, which only a payment gives.
	paidSubscriptionsSQL = `select s.id, s.customer_id, s.currency from subscriptions s where s.company_id = $1 and s.id > $2
			and (s.refunded_amount > 0 or exists (select from periods p
				where p.company_id = $1 and p.subscription_id = s.id and p.paid_amount > 0))
		order by s.id limit $3`

	paidPeriodsSQL = `select n.id, p.* from unnest($2::uuid[]) n(id)
		cross join lateral (select ` + periodColumns + ` from periods p
			where p.company_id = $1 and p.subscription_id = n.id and p.paid_amount > 0 offset 0) p
		order by n.id, p.number`

	// A refund of an earlier release has the method of the last payment and the present plan.
	refundsSQL = `select n.id, e.* from unnest($2::uuid[]) n(id)
		cross join lateral (select sequence, kind, credit, refund, credit_balance, refund_balance, period, reference, actor, created_at, day,
				case when day is null then earlier_zone(company_id) else '' end as earlier_zone,
				coalesce(payment_method, (` + lastMethodOfSQL + ` p.subscription_id = n.id` + lastMethodEndSQL + `), 'OTHER') as payment_method,
				coalesce(plan_id, (select s.plan_id from subscriptions s where s.company_id = $1 and s.id = n.id)) as plan_id
			from account_entries where company_id = $1 and subscription_id = n.id and kind = 'refunded' offset 0) e
		order by n.id, e.sequence`

	lastMethodOfSQL = `select p.payment_method from periods p where p.company_id = $1 and`

	lastMethodEndSQL = ` and p.paid_amount > 0 order by p.number desc limit 1`

	lastMethodSQL = lastMethodOfSQL + ` p.subscription_id = $2` + lastMethodEndSQL
)

// paidSubscription is a subscription with its movements of money: payments by period, then refunds.
type paidSubscription struct {
	ID         id.Subscription  `db:"id"`
	CustomerID id.Customer      `db:"customer_id"`
	Currency   string           `db:"currency"`
	Movements  []model.Movement `db:"-"`
}

func (s *store) snapshotPlans(ctx context.Context, company id.Company, after id.Plan, limit int) (page []planRow, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: snapshotPlansSQL, Args: []any{company, [16]byte(after), limit}, Scan: pg.Collect(&page)})
	return page, err
}

// paidSubscriptions reads up to limit subscriptions for which money was paid, that follow after, by id.
func (s *store) paidSubscriptions(ctx context.Context, company id.Company, after id.Subscription, limit int) (page []paidSubscription, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: paidSubscriptionsSQL, Args: []any{company, [16]byte(after), limit}, Scan: pg.Collect(&page)})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	ids, byID := make([]id.Subscription, len(page)), make(map[id.Subscription]*paidSubscription, len(page))
	for i := range page {
		ids[i] = page[i].ID
		byID[page[i].ID] = &page[i]
	}
	err = s.ReadOf(ctx, company,
		pg.Query{SQL: paidPeriodsSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var of id.Subscription
			var p model.Period
			err := rows.Scan(append([]any{&of}, periodFields(&p)...)...)
			if m, ok := p.Movement(); ok && err == nil {
				byID[of].Movements = append(byID[of].Movements, m)
			}
			return err
		})},
		pg.Query{SQL: refundsSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			e, err := pgx.RowToStructByName[refundRow](rows)
			if m, ok := e.Movement(byID[e.Of].Currency); ok && err == nil {
				byID[e.Of].Movements = append(byID[e.Of].Movements, m)
			}
			return err
		})})
	return page, err
}

// refundRow is an account entry with its subscription.
type refundRow struct {
	Of id.Subscription `db:"id"`
	model.AccountEntry
}

// lastMethod returns the method of the last payment of a locked subscription; "" if there is none.
func (s *store) lastMethod(ctx context.Context, tx *pg.Tx, company id.Company, of id.Subscription) (method string, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: lastMethodSQL, Args: []any{company, of}, Scan: pg.First(&method)})
	return method, err
}
