package privacy

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	markSQL = `insert into erased_customers (company_id, customer_id, erased_at) values ($1, $2, $3) on conflict do nothing`

	erasedSQL = `select exists (select from erased_customers where company_id = $1 and customer_id = $2)`

	erasedAmongSQL = `select customer_id from erased_customers where company_id = $1 and customer_id` + pg.AmongIDs

	// The stored responses of one company, which are kept for a day. They are protobuf, where an
	// identifier is plain text.
	forgetAnswersSQL = `delete from idempotency_keys where company_id = $1 and position(convert_to($2, 'UTF8') in response) > 0`

	answersSQL = `select caller, key, response from idempotency_keys where company_id = $1`

	forgetKeysSQL = `delete from idempotency_keys k using unnest($2::text[], $3::text[]) as n (caller, key)
		where k.company_id = $1 and k.caller = n.caller and k.key = n.key`

	waitingSQL = `select exists (select from outbox_events
		where company_id = $1 and position(convert_to($2, 'UTF8') in payload) > 0 and subject <> all ($3))`
)

// Mark records that a database must erase a customer. A repeated call changes nothing.
func Mark(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, at time.Time) error {
	if _, err := tx.Exec(ctx, markSQL, company, customer, at); err != nil {
		return fmt.Errorf("privacy: %w", err)
	}
	return nil
}

// Erased reports whether the database of tx must erase a customer.
func Erased(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (erased bool, err error) {
	if err := tx.QueryRow(ctx, erasedSQL, company, customer).Scan(&erased); err != nil {
		return false, fmt.Errorf("privacy: %w", err)
	}
	return erased, nil
}

// ErasedAmong returns the query that stores in erased which of the customers a database must erase.
func ErasedAmong(company id.Company, customers []id.Customer, erased map[id.Customer]bool) pg.Query {
	return pg.Query{SQL: erasedAmongSQL, Args: []any{company, customers}, Scan: pg.Each(func(rows pgx.Rows) error {
		var customer id.Customer
		err := rows.Scan(&customer)
		erased[customer] = true
		return err
	})}
}

// ForgetAnswers deletes the stored responses of idempotency keys that are about a customer. A retry
// of such a request finds that the customer no longer exists.
func ForgetAnswers(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) error {
	if _, err := tx.Exec(ctx, forgetAnswersSQL, company, customer.String()); err != nil {
		return fmt.Errorf("privacy: %w", err)
	}
	return nil
}

// identifierForm matches identifiers in a stored response.
var identifierForm = regexp.MustCompile(`[a-z]{2,12}_[0-9a-z]{26}`)

// forgetAnswersTo deletes the stored responses that contain any of the names. It reads the stored
// responses of the company, which are kept for a day, only once, regardless of the number of names.
func forgetAnswersTo(ctx context.Context, db *pg.DB, company id.Company, names []string) error {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	var callers, keys []string
	err := db.Stream(ctx, pg.For(company), answersSQL, []any{company}, func(rows pgx.Rows) error {
		var caller, key string
		var response []byte
		if err := rows.Scan(&caller, &key, &response); err != nil {
			return err
		}
		for _, found := range identifierForm.FindAll(response, -1) {
			if wanted[string(found)] {
				callers, keys = append(callers, caller), append(keys, key)
				return nil
			}
		}
		return nil
	})
	if err == nil && len(keys) > 0 {
		err = db.InTx(ctx, pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, forgetKeysSQL, company, callers, keys)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("privacy: %w", err)
	}
	return nil
}

// Waiting reports whether events about a customer wait in the outbox of db, except those on the
// subjects in except.
func Waiting(ctx context.Context, db *pg.DB, company id.Company, customer id.Customer, except ...string) (bool, error) {
	waiting, err := pg.One[bool](ctx, db, pg.For(company), waitingSQL, company, customer.String(), except)
	if err != nil {
		return false, fmt.Errorf("privacy: %w", err)
	}
	return waiting, nil
}
