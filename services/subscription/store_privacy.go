package subscription

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	// The reference of an import is text of the caller too.
	forgetTextsSQL = `update subscriptions set cancel_reason = '', pause_reason = '', reference = null
		where company_id = $1 and customer_id = $2 and (cancel_reason <> '' or pause_reason <> '' or reference is not null)`

	forgetPaymentsSQL = `update periods p set payment_reference = '', waive_reason = '', failure_reason = ''
		from subscriptions s where s.company_id = $1 and s.customer_id = $2 and p.company_id = $1 and p.subscription_id = s.id
			and (p.payment_reference <> '' or p.waive_reason <> '' or p.failure_reason <> '')`

	forgetRefundsSQL = `update account_entries e set reference = ''
		from subscriptions s where s.company_id = $1 and s.customer_id = $2 and e.company_id = $1 and e.subscription_id = s.id and e.reference <> ''`

	// Actions that began before the customer was marked as erased end before these locks are taken.
	lockOfCustomerSQL = `select from subscriptions where company_id = $1 and customer_id = $2 order by id for no key update`
)

// erase deletes the free texts of the customer's subscriptions. Money and periods stay.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.Write(ctx, e.Company, func(ctx context.Context, tx *pg.Tx) error {
		for _, statement := range []string{lockOfCustomerSQL, forgetTextsSQL, forgetPaymentsSQL, forgetRefundsSQL} {
			if _, err := tx.Exec(ctx, statement, e.Company, e.Customer); err != nil {
				return err
			}
		}
		return nil
	})
}

const subscriptionsOfSQL = `select id from subscriptions where company_id = $1 and customer_id = $2`

// subscriptionsOf returns the identifiers of the subscriptions of a customer.
func (s *store) subscriptionsOf(ctx context.Context, e privacy.Erasure) ([]string, error) {
	var found []id.Subscription
	err := s.ReadOf(ctx, e.Company, pg.Query{SQL: subscriptionsOfSQL, Args: []any{e.Company, e.Customer}, Scan: pg.Collect(&found)})
	names := make([]string, len(found))
	for i, n := range found {
		names[i] = n.String()
	}
	return names, err
}

const (
	exportSubscriptionsSQL = `select s.id, to_jsonb(s) - array['state_id', 'advance_at', 'advance_attempts', 'pass_exists', 'pass_sync_due',
			'pass_sync_since', 'pass_sync_attempts'] || jsonb_build_object('plan_title', l.title, 'account', (
			select jsonb_agg(to_jsonb(e) - array['company_id', 'subscription_id'] order by e.sequence) from account_entries e
			where e.company_id = s.company_id and e.subscription_id = s.id))
		from subscriptions s join plans l on l.company_id = s.company_id and l.id = s.plan_id
		where s.company_id = $1 and s.customer_id = $2 order by s.id`

	exportPeriodsSQL = `select s.id, to_jsonb(p) from subscriptions s join periods p on p.company_id = s.company_id and p.subscription_id = s.id
		where s.company_id = $1 and s.customer_id = $2 order by s.id, p.number`
)
