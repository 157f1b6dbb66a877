package subscription

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

const (
	wholesSQL = `select ` + subscriptionColumns + ` from subscriptions s where s.company_id = $1 and s.id > $2 order by s.id limit $3`

	periodsOfAllSQL = `select p.subscription_id, ` + periodColumns + ` from periods p
		where p.company_id = $1 and p.subscription_id = any((select $2::uuid[])::uuid[]) order by p.subscription_id, p.number`

	entriesOfAllSQL = `select e.subscription_id, ` + entryColumns + ` from account_entries e
		where e.company_id = $1 and e.subscription_id = any((select $2::uuid[])::uuid[]) order by e.subscription_id, e.sequence`

	countedSQL = `select coalesce((select plans from subscription_totals where company_id = $1), 0),
			(select count(*) from plans where company_id = $1),
			coalesce((select subscriptions from subscription_totals where company_id = $1), 0),
			(select count(*) from subscriptions where company_id = $1)`

	exportGrantsSQL = `select subscription_id, number, credits_granted, credits_carried_over, credits_expired from periods
		where company_id = $1 and granted order by subscription_id, number`
)

// wholes returns subscriptions after one, in the order of their identifiers, with all their rows.
func (s *store) wholes(ctx context.Context, company id.Company, after id.Subscription, limit int) ([]whole, error) {
	var all []whole
	err := s.ReadOf(ctx, company, pg.Query{SQL: wholesSQL, Args: []any{company, [16]byte(after), limit}, Scan: scanWholes(&all)})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all, s.ReadOf(ctx, company, partsOf(company, all)...)
}

// lockWhole returns a subscription with all its rows at one moment.
func (s *store) lockWhole(ctx context.Context, company id.Company, subscription id.Subscription) (whole, error) {
	var all []whole
	err := s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		all = nil
		err := tx.Pipeline(ctx, pg.Query{SQL: lockSubscriptionSQL, Args: []any{company, subscription}, Scan: scanWholes(&all)})
		if err != nil || len(all) == 0 {
			return err
		}
		return tx.Pipeline(ctx, partsOf(company, all)...)
	})
	if err != nil || len(all) == 0 {
		return whole{}, err
	}
	return all[0], nil
}

func scanWholes(out *[]whole) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var w whole
		err := rows.Scan(subscriptionFields(&w.subscription)...)
		*out = append(*out, w)
		return err
	})
}

// partsOf returns the queries that read the periods and entries of subscriptions into them.
func partsOf(company id.Company, all []whole) []pg.Query {
	ids, at := make([]id.Subscription, len(all)), map[id.Subscription]*whole{}
	for i := range all {
		ids[i] = all[i].subscription.ID
		at[ids[i]] = &all[i]
	}
	return []pg.Query{
		{SQL: periodsOfAllSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var of id.Subscription
			var p model.Period
			err := rows.Scan(append([]any{&of}, periodFields(&p)...)...)
			if w := at[of]; w != nil {
				w.periods = append(w.periods, p)
			}
			return err
		})},
		{SQL: entriesOfAllSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var of id.Subscription
			var e model.AccountEntry
			err := rows.Scan(&of, &e.Sequence, &e.Kind, &e.Credit, &e.Refund, &e.CreditBalance, &e.RefundBalance, &e.Period, &e.Reference, &e.Actor, &e.CreatedAt,
				&e.Day, &e.EarlierZone, &e.Method, &e.PlanID)
			if w := at[of]; w != nil {
				w.entries = append(w.entries, e)
			}
			return err
		})},
	}
}

// totals are the numbers of rows of a company.
type totals struct{ plans, subscriptions int64 }

// countAll returns the stored numbers of rows of a company, and the counted ones.
func (s *store) countAll(ctx context.Context, company id.Company) (stored, counted totals, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: countedSQL, Args: []any{company},
		Scan: pg.First(&stored.plans, &counted.plans, &stored.subscriptions, &counted.subscriptions)})
	return stored, counted, err
}

// exportGrants calls each for the credits that every period has granted.
func (s *store) exportGrants(ctx context.Context, company id.Company, each func(grant) error) error {
	return s.Fault(s.Stream(ctx, pg.For(company), exportGrantsSQL, []any{company}, func(rows pgx.Rows) error {
		var g grant
		if err := rows.Scan(&g.subscription, &g.period, &g.granted, &g.carriedOver, &g.expired); err != nil {
			return err
		}
		return each(g)
	}))
}
