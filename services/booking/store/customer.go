package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// A version that is older than the copy changes nothing, so events can arrive in any order.
	keepCustomersSQL = `insert into customers as c
			(company_id, id, reference, first_name, last_name, email, version, deleted_at)
		select n.company_id, n.id, n.reference, n.first_name, n.last_name, n.email, n.version, n.deleted_at
		from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::timestamptz[])
			n(company_id, id, reference, first_name, last_name, email, version, deleted_at)
		on conflict (company_id, id) do update
			set reference = excluded.reference, first_name = excluded.first_name, last_name = excluded.last_name,
				email = excluded.email, version = excluded.version, deleted_at = excluded.deleted_at
			where c.version < excluded.version`

	customersByIDSQL = `select id, coalesce(reference, ''), deleted_at is not null
		from customers where company_id = $1 and id` + pg.AmongIDs

	customersByReferenceSQL = `select id, reference, deleted_at is not null
		from customers where company_id = $1 and reference = any($2)`
)

// KeepCustomers applies records of customers to the copy.
func (s *Store) KeepCustomers(ctx context.Context, tx *pg.Tx, records []model.CustomerRecord) error {
	var companies []id.Company
	var ids []id.Customer
	var references []*string
	var firsts, lasts, emails []string
	var versions []int64
	var deletions []*time.Time
	for _, r := range newestRecords(records) {
		companies, ids = append(companies, r.Company), append(ids, r.ID)
		references = append(references, orNull(r.Reference))
		firsts, lasts = append(firsts, r.FirstName), append(lasts, r.LastName)
		emails, versions = append(emails, r.Email), append(versions, r.Version)
		deletions = append(deletions, timeOrNull(r.DeletedAt))
	}
	_, err := tx.Exec(ctx, keepCustomersSQL, companies, ids, references, firsts, lasts, emails, versions, deletions)
	return err
}

// newestRecords returns the record with the highest version of each customer, ordered by
// identifier. One statement cannot change a row twice, and locking rows in the same order prevents
// deadlocks.
func newestRecords(records []model.CustomerRecord) []model.CustomerRecord {
	sorted := slices.Clone(records)
	key := func(a, b model.CustomerRecord) int {
		return cmp.Or(bytes.Compare(a.Company[:], b.Company[:]), bytes.Compare(a.ID[:], b.ID[:]))
	}
	slices.SortFunc(sorted, func(a, b model.CustomerRecord) int { return cmp.Or(key(a, b), cmp.Compare(b.Version, a.Version)) })
	return slices.CompactFunc(sorted, func(a, b model.CustomerRecord) bool { return key(a, b) == 0 })
}

// Resolve looks customers up in the copy in one round trip.
func (s *Store) Resolve(ctx context.Context, company id.Company, ids []id.Customer, references []string) (model.ResolvedCustomers, error) {
	r := model.ResolvedCustomers{ByID: map[id.Customer]id.Customer{}, ByReference: map[string]id.Customer{}}
	scan := pg.Each(func(rows pgx.Rows) error {
		var customer id.Customer
		var reference string
		var deleted bool
		err := rows.Scan(&customer, &reference, &deleted)
		r.Note(customer, reference, deleted)
		return err
	})
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: customersByIDSQL, Args: []any{company, ids}, Scan: scan},
		pg.Query{SQL: customersByReferenceSQL, Args: []any{company, references}, Scan: scan},
	)
	return r, err
}

const (
	copiesSQL = `select id, coalesce(reference, '') as reference, first_name, last_name, email, version, deleted_at is not null as deleted
		from customers where company_id = $1 and id > $2 order by id limit $3`

	// The copy can have any version, because it can be newer than a restored customer service. A
	// copy that an event has changed since it was read is left unchanged.
	repairCopySQL = `update customers set reference = $4, first_name = $5, last_name = $6, email = $7, version = $8, deleted_at = $9
		where company_id = $1 and id = $2 and version = $3`
)

// CustomerCopy is a customer in the copy.
type CustomerCopy struct {
	ID        id.Customer `db:"id"`
	Reference string      `db:"reference"`
	FirstName string      `db:"first_name"`
	LastName  string      `db:"last_name"`
	Email     string      `db:"email"`
	Version   int64       `db:"version"`
	Deleted   bool        `db:"deleted"`
}

// Differs reports whether the copy differs from the record of the customer service.
func (c *CustomerCopy) Differs(r model.CustomerRecord) bool {
	return c.Version != r.Version || c.FirstName != r.FirstName || c.LastName != r.LastName || c.Email != r.Email ||
		c.Reference != r.Reference || c.Deleted == r.DeletedAt.IsZero()
}

// CopiesAfter reads copies of customers, ordered by identifier.
func (s *Store) CopiesAfter(ctx context.Context, company id.Company, after id.Customer, limit int) ([]CustomerCopy, error) {
	copies, err := pg.Rows[CustomerCopy](ctx, s.DB, pg.For(company), copiesSQL, company, [16]byte(after), limit)
	return copies, s.Fault(err)
}

// RepairCopy overwrites a copy with the record of the customer service, and reports whether it did.
func (s *Store) RepairCopy(ctx context.Context, company id.Company, c *CustomerCopy, r model.CustomerRecord) (repaired bool, err error) {
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, repairCopySQL, company, c.ID, c.Version, orNull(r.Reference), r.FirstName, r.LastName, r.Email,
			r.Version, timeOrNull(r.DeletedAt))
		repaired = err == nil && tag.RowsAffected() == 1
		return err
	})
	return repaired, err
}

const customersOfSQL = `select c.deleted_at is not null from customers c where c.company_id = $1 and c.id in (
		select t.purchaser_id from transactions t where t.company_id = $1 and t.id = $2
		union all
		select b.bought_for from bookings b where b.company_id = $1 and b.transaction_id = $2)
	order by c.id for key share of c`

// refuseDeletedCustomers returns the query that refuses a transaction if its purchaser, or a
// customer that it is bought for, is deleted. It locks the customers, so that a later deletion is
// confirmed only after tx.
func refuseDeletedCustomers(company id.Company, t id.Transaction) pg.Query {
	return pg.Query{SQL: customersOfSQL, Args: []any{company, t}, Scan: pg.Each(func(rows pgx.Rows) error {
		var deleted bool
		err := rows.Scan(&deleted)
		if err == nil && deleted {
			err = fault.Missing("customer")
		}
		return err
	})}
}
