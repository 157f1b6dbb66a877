package pass

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	forgetPaymentsSQL = `update customer_passes set paid_reference = null
		where company_id = $1 and customer_id = $2 and paid_reference is not null`

	forgetReferencesSQL = `update customer_passes set reference = null
		where company_id = $1 and customer_id = $2 and reference is not null`

	forgetReasonsSQL = `update ledger_entries l set reason = null from customer_passes p
		where p.company_id = $1 and p.customer_id = $2 and l.company_id = $1 and l.customer_pass_id = p.id and l.reason is not null`
)

// erase deletes the free texts of the customer's passes. Money and credits stay.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.Write(ctx, e.Company, func(ctx context.Context, tx *pg.Tx) error {
		for _, statement := range []string{forgetPaymentsSQL, forgetReferencesSQL, forgetReasonsSQL} {
			if _, err := tx.Exec(ctx, statement, e.Company, e.Customer); err != nil {
				return err
			}
		}
		return nil
	})
}

const passesOfSQL = `select id from customer_passes where company_id = $1 and customer_id = $2`

// passesOf returns the identifiers of the passes that a customer holds.
func (s *store) passesOf(ctx context.Context, e privacy.Erasure) ([]string, error) {
	var passes []id.CustomerPass
	err := s.ReadOf(ctx, e.Company, pg.Query{SQL: passesOfSQL, Args: []any{e.Company, e.Customer}, Scan: pg.Collect(&passes)})
	names := make([]string, len(passes))
	for i, p := range passes {
		names[i] = p.String()
	}
	return names, err
}

const exportPassesSQL = `select p.id, to_jsonb(p) || jsonb_build_object('title', t.title,
		'subscription_id', case when p.subscription_version is not null then p.id end, 'ledger', (
		select jsonb_agg(to_jsonb(l) - array['company_id', 'customer_pass_id'] order by l.sequence) from ledger_entries l
		where l.company_id = p.company_id and l.customer_pass_id = p.id))
	from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
	where p.company_id = $1 and p.customer_id = $2 order by p.id`
