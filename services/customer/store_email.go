package customer

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// If a company requires unique addresses, a transaction that sets an address locks it until the
// transaction ends, and then checks whether another customer has it. A unique index would not work:
// duplicates from before the company required unique addresses stay, and the change of the setting
// must not read all customers. Locks for many addresses would fill PostgreSQL's lock table.
// Transactions with many addresses therefore lock the company instead, and transactions with one
// address share that lock. Customers without an address are never duplicates of each other.
const (
	companyKey = `hashtextextended('customer-emails ' || $1::uuid, 0)`
	addressKey = `hashtextextended('customer-email ' || $1::uuid || ' ' || lower($2::text), 0)`

	// A separate statement, so that the next one sees what the previous holder of the lock has
	// committed.
	lockAddressSQL = `select unique_emails, case when unique_emails
			then pg_advisory_xact_lock_shared(` + companyKey + `)::text || pg_advisory_xact_lock(` + addressKey + `)::text end
		from companies where company_id = $1`

	// A different spelling of the customer's own address needs no check.
	addressTakenSQL = `select lower($2::text) <> lower($3::text) and exists (select from customers
		where company_id = $1 and deleted_at is null and email_key = lower($2::text) and id <> $4)`

	lockAddressesSQL = `select optional_emails, unique_emails, case when unique_emails then pg_advisory_xact_lock(` + companyKey + `)::text end
		from companies where company_id = $1`

	optionalEmailsSQL = `select optional_emails from companies where company_id = $1`

	addressesTakenSQL = `select n.reference from (
			select reference, lower(email) as key, row_number() over (partition by lower(email) order by line) as nth
			from unnest($2::text[], $3::text[]) with ordinality as n (reference, email, line) where email <> '') n
		where n.nth > 1 or exists (select from customers c where c.company_id = $1 and c.deleted_at is null and c.email_key = n.key)`

	byEmailSQL = `select c.* from (select distinct lower(email) as key from unnest($2::text[]) n(email)) n
		cross join lateral (select ` + columns + ` from customers
			where company_id = $1 and deleted_at is null and email_key = n.key order by id limit 2) c`
)

// byEmail returns the customers who have e-mail addresses, up to two for each address.
func (s *store) byEmail(ctx context.Context, company id.Company, emails []string) ([]Customer, error) {
	list, err := pg.Rows[Customer](ctx, s.DB, pg.For(company), s.sql(byEmailSQL), company, emails)
	return list, pg.Fault(err, nil)
}

// giveEmail rejects the address of a new customer if the company does not allow it: a missing one, or one that
// another customer has.
func (s *store) giveEmail(ctx context.Context, tx *pg.Tx, company id.Company, c Customer) error {
	if c.Email == "" {
		return s.omitEmail(ctx, tx, company)
	}
	return s.takeEmail(ctx, tx, company, c, "")
}

// omitEmail rejects a missing address, unless the company allows it.
func (s *store) omitEmail(ctx context.Context, tx *pg.Tx, company id.Company) error {
	var optional bool
	err := tx.QueryRow(ctx, optionalEmailsSQL, company).Scan(&optional)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errNewCompany
	case err == nil && !optional:
		return emailMissing()
	}
	return err
}

// takeEmail rejects an address that another customer has if the company requires unique addresses,
// and locks the address until tx ends. former is the customer's previous address; "" for a new
// customer.
func (s *store) takeEmail(ctx context.Context, tx *pg.Tx, company id.Company, c Customer, former string) error {
	var unique, taken bool
	var locked *string
	batch := &pgx.Batch{}
	batch.Queue(lockAddressSQL, company, c.Email).QueryRow(func(row pgx.Row) error { return row.Scan(&unique, &locked) })
	batch.Queue(addressTakenSQL, company, c.Email, former, c.ID).QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
	err := tx.SendBatch(ctx, batch).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errNewCompany
	case err != nil:
		return err
	case unique && taken:
		return emailExists()
	}
	return nil
}

// emailRules are the rules of a company for the addresses of its customers.
type emailRules struct {
	optional, unique bool
}

// lockEmails returns the rules of the company. If it requires unique addresses, it locks all of them until tx ends.
func (s *store) lockEmails(ctx context.Context, tx *pg.Tx, company id.Company) (rules emailRules, err error) {
	var locked *string
	err = tx.QueryRow(ctx, lockAddressesSQL, company).Scan(&rules.optional, &rules.unique, &locked)
	if errors.Is(err, pgx.ErrNoRows) {
		return rules, errNewCompany
	}
	return rules, err
}

// takenEmails returns the references of new customers with an address that another customer has. If several
// customers of the list have the same address, the first one gets it.
func (s *store) takenEmails(ctx context.Context, tx *pg.Tx, company id.Company, list []Customer) (refused map[string]bool, err error) {
	references, emails := make([]string, len(list)), make([]string, len(list))
	for i, c := range list {
		references[i], emails[i] = *c.Reference, c.Email
	}
	known, err := s.byReference(ctx, tx, company, references)
	if err != nil {
		return nil, err
	}
	references, emails = references[:0], emails[:0]
	for _, c := range list {
		if _, stored := known[*c.Reference]; !stored {
			references, emails = append(references, *c.Reference), append(emails, c.Email)
		}
	}
	rows, err := tx.Query(ctx, addressesTakenSQL, company, references, emails)
	if err != nil {
		return nil, err
	}
	taken, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	refused = make(map[string]bool, len(taken))
	for _, reference := range taken {
		refused[reference] = true
	}
	return refused, nil
}
