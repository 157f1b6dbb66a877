package auth

import (
	"context"
	"encoding/json"
	"time"

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
	auditEntriesSQL = `select company_id, id, at, actor, action, target, details from audit_log
		where company_id = $1 and (at, id) < ($2, $3)
		and ($5 = '' or action = $5 or (right($5, 1) = '.' and starts_with(action, $5)))
		and ($7::timestamptz is null or at >= $7) and ($8::timestamptz is null or at < $8)`

	// Each has its own statement, so that its plan can be cached and fits.
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
	list, err := pg.Rows[Entry](ctx, s.DB, pg.For(company), auditEntriesSQL+actor+target+newestSQL,
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

// Selects the entries about a customer, for privacy.Exporter.
const exportAuditLogSQL = `select id, to_jsonb(a) from audit_log a
	where company_id = $1 and (target = $2 or details @> jsonb_build_array(jsonb_build_object('after', $2::text))) order by at, id`

// The zero company has the entries that concern the whole installation.
const companiesOfAuditLogSQL = `select company_id from companies union all select '00000000-0000-0000-0000-000000000000'`

func (s *store) companiesOfAuditLog(ctx context.Context) ([]id.Company, error) {
	return pg.Rows[id.Company](ctx, s.DB, pg.AllCompanies(), companiesOfAuditLogSQL)
}

const cutAuditLogSQL = `select cut_audit_log($1, $2, $3)`

// cutAuditLog deletes at most limit entries of the company from before an instant, and returns how
// many it deleted.
func (s *store) cutAuditLog(ctx context.Context, tx *pg.Tx, company id.Company, before time.Time, limit int) (n int, err error) {
	err = tx.QueryRow(ctx, cutAuditLogSQL, zeroable(company), before, limit).Scan(&n)
	return n, err
}
