package auth

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const (
	insertEntrySQL = `insert into audit_log (company_id, id, at, actor, action, target, details) values ($1, $2, $3, $4, $5, $6, $7)`
)

// audit writes an entry to the audit log, in the transaction of the change.
func (s *store) audit(ctx context.Context, tx *pg.Tx, company id.Company, at time.Time, actor, action, target string, details ...Detail) error {
	return s.insertEntry(ctx, tx, Entry{
		Company: company, ID: id.New[id.AuditEntry](), At: at, Actor: actor, Action: action, Target: target, Details: details,
	})
}

func (s *store) insertEntry(ctx context.Context, tx *pg.Tx, e Entry) error {
	details, err := json.Marshal(e.Details)
	if e.Details == nil {
		details = []byte("[]")
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertEntrySQL, zeroable(e.Company), e.ID, e.At, e.Actor, e.Action, e.Target, details)
	return err
}

const (
	// insertChangesSQL adds entries of any companies. An entry that is stored already stays as it is.
	insertChangesSQL = `insert into audit_log (company_id, id, at, actor, action, target, details, by_credential)
		select company_id, id, at, actor, action, target, details::jsonb, true
		from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[])
			c (company_id, id, at, actor, action, target, details)
		on conflict do nothing`

	erasedAmongSQL = `select company_id, customer_id from erased_customers
		where (company_id, customer_id) in (select * from unnest($1::uuid[], $2::uuid[]))`
)

// companyCustomer is a customer of a company.
type companyCustomer struct {
	Company  id.Company  `db:"company_id"`
	Customer id.Customer `db:"customer_id"`
}

// insertChanges adds entries about changes by credentials, without what they say of erased customers.
func (s *store) insertChanges(ctx context.Context, tx *pg.Tx, list []Entry) error {
	if err := forgetErased(ctx, tx, list); err != nil {
		return err
	}
	details := make([]string, len(list))
	for i, e := range list {
		text, err := json.Marshal(append([]Detail{}, e.Details...))
		if err != nil {
			return err
		}
		details[i] = string(text)
	}
	_, err := tx.Exec(ctx, insertChangesSQL,
		column(list, func(e *Entry) id.Company { return e.Company }), column(list, func(e *Entry) id.AuditEntry { return e.ID }),
		column(list, func(e *Entry) time.Time { return e.At }), column(list, func(e *Entry) string { return e.Actor }),
		column(list, func(e *Entry) string { return e.Action }), column(list, func(e *Entry) string { return e.Target }), details)
	return err
}

// forgetErased removes from entries what they say of erased customers.
func forgetErased(ctx context.Context, tx *pg.Tx, list []Entry) error {
	var about []companyCustomer
	for i := range list {
		for _, customer := range list[i].customers() {
			about = append(about, companyCustomer{list[i].Company, customer})
		}
	}
	if len(about) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, erasedAmongSQL,
		column(about, func(c *companyCustomer) id.Company { return c.Company }), column(about, func(c *companyCustomer) id.Customer { return c.Customer }))
	if err != nil {
		return err
	}
	erased, err := pgx.CollectRows(rows, pgx.RowToStructByName[companyCustomer])
	for _, c := range erased {
		for i := range list {
			if list[i].Company == c.Company && slices.Contains(list[i].customers(), c.Customer) {
				list[i].forget(c.Customer)
			}
		}
	}
	return err
}

const (
	auditEntriesSQL = `select company_id, id, at, actor, action, target, details from audit_log
		where company_id = $1 and (at, id) < ($2, $3)
		and ($5 = '' or action = $5 or (right($5, 1) = '.' and starts_with(action, $5)))
		and ($7::timestamptz is null or at >= $7) and ($8::timestamptz is null or at < $8)`

	// Every action is one on a kind of thing, which has an index.
	byThingSQL = ` and thing = split_part($5, '.', 1)`

	// The constants are those of the conditions of the indexes.
	byCredentialsSQL = ` and by_credential`

	byOthersSQL = ` and not by_credential`

	// Each filter has its own statement, so that PostgreSQL can cache a plan that suits it.
	byActorSQL = ` and actor = $4`

	anyActorSQL = ` and $4 = ''`

	byTargetSQL = ` and target = $6`

	anyTargetSQL = ` and $6 = ''`

	newestSQL = ` order by at desc, id desc limit $9`
)

// auditEntries returns a page of the company's entries, newest first. The query always has a
// starting position, because a plan without one does not use the index.
func (s *store) auditEntries(ctx context.Context, company id.Company, f auditFilter, p page.Page) ([]Entry, error) {
	after := p.Order.Start()
	if p.After != nil {
		after = *p.After
	}
	actor, target := anyActorSQL, anyTargetSQL
	if f.actor != "" {
		actor = byActorSQL
	}
	if f.target != "" {
		target = byTargetSQL
	}
	filters := actor + target
	if f.action != "" {
		filters += byThingSQL
	}
	if f.byCredential != nil && *f.byCredential {
		filters += byCredentialsSQL
	} else if f.byCredential != nil {
		filters += byOthersSQL
	}
	list, err := pg.Rows[Entry](ctx, s.DB, pg.For(company), auditEntriesSQL+filters+newestSQL,
		company, after.Time(), [16]byte(after.ID), f.actor, f.action, f.target, f.since, f.until, p.Size+1)
	return list, pg.Fault(err, nil)
}

const (
	actorNamesSQL = `select id, name from administrators where company_id = $1 and id = any($2)
		union all select id, name from credentials where company_id = $1 and id = any($2)`
)

type actorName struct {
	ID   id.UUID `db:"id"`
	Name string  `db:"name"`
}

func (s *store) actorNames(ctx context.Context, company id.Company, actors map[string]id.UUID) (map[id.UUID]string, error) {
	ids := make([]id.UUID, 0, len(actors))
	for _, u := range actors {
		ids = append(ids, u)
	}
	list, err := pg.Rows[actorName](ctx, s.DB, pg.For(company), actorNamesSQL, company, ids)
	if err != nil {
		return nil, pg.Fault(err, nil)
	}
	names := make(map[id.UUID]string, len(list))
	for _, a := range list {
		names[a.ID] = a.Name
	}
	return names, nil
}

const forgetInAuditLogSQL = `select forget_in_audit_log($1, $2)`

// forgetInAuditLog removes what the audit log says of a customer; who did what, and when, stays.
func (s *store) forgetInAuditLog(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) error {
	_, err := tx.Exec(ctx, forgetInAuditLogSQL, company, customer.String())
	return err
}

// exportAuditLogSQL selects the entries about a customer, for privacy.Exporter.
const exportAuditLogSQL = `select id, to_jsonb(a) from audit_log a
	where company_id = $1 and (target = $2 or details @> jsonb_build_array(jsonb_build_object('after', $2::text))) order by at, id`

// companiesOfAuditLogSQL selects the companies that have entries. The zero company has the entries
// that concern the whole installation.
const companiesOfAuditLogSQL = `select company_id from companies union all select '00000000-0000-0000-0000-000000000000'`

func (s *store) companiesOfAuditLog(ctx context.Context) ([]id.Company, error) {
	return pg.Rows[id.Company](ctx, s.DB, pg.AllCompanies(), companiesOfAuditLogSQL)
}

const (
	cutAuditLogSQL = `select cut_audit_log($1, $2, $3)`

	cutChangesSQL = `select cut_credential_changes($1, $2, $3)`
)

// cutAuditLog deletes at most limit entries of the company from before an instant, and returns how
// many it deleted.
func (s *store) cutAuditLog(ctx context.Context, tx *pg.Tx, company id.Company, before time.Time, limit int) (n int, err error) {
	err = tx.QueryRow(ctx, cutAuditLogSQL, zeroable(company), before, limit).Scan(&n)
	return n, err
}

// cutChanges is cutAuditLog for the entries about changes by credentials.
func (s *store) cutChanges(ctx context.Context, tx *pg.Tx, company id.Company, before time.Time, limit int) (n int, err error) {
	err = tx.QueryRow(ctx, cutChangesSQL, zeroable(company), before, limit).Scan(&n)
	return n, err
}
