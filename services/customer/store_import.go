package customer

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	identifiersSQL = `select id, deleted_at is not null from customers where company_id = $1 and id = any($2)`

	emailRulesSQL = `select optional_emails, unique_emails from companies where company_id = $1`
)

// byIdentifier returns the customers whose identifiers are among the references, and which of them are deleted.
func (s *store) byIdentifier(ctx context.Context, tx *pg.Tx, company id.Company, references []string) (found map[string]id.Customer, deleted map[string]bool, err error) {
	var ids []id.Customer
	for _, r := range references {
		if customer, err := id.Parse[id.Customer](r); err == nil {
			ids = append(ids, customer)
		}
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	rows, err := tx.Query(ctx, identifiersSQL, company, ids)
	if err != nil {
		return nil, nil, err
	}
	found, deleted = map[string]id.Customer{}, map[string]bool{}
	var customer id.Customer
	var gone bool
	_, err = pgx.ForEachRow(rows, []any{&customer, &gone}, func() error {
		found[customer.String()] = customer
		deleted[customer.String()] = gone
		return nil
	})
	return found, deleted, err
}

// emailRules returns the rules of the company, without a lock: they can change before a commit.
func (s *store) emailRules(ctx context.Context, tx *pg.Tx, company id.Company) (rules emailRules, err error) {
	err = tx.QueryRow(ctx, emailRulesSQL, company).Scan(&rules.optional, &rules.unique)
	if errors.Is(err, pgx.ErrNoRows) {
		return rules, errNewCompany
	}
	return rules, err
}
