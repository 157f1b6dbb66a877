package booking

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
)

// customerRecord is a customer as the copy keeps it.
type customerRecord struct {
	company id.Company
	Customer
	reference string // the key in an earlier system, or ""
	version   int64
	deletedAt time.Time // zero: not deleted
}

// Customers is what the booking service asks of the customer service.
type Customers interface {
	// Lookup returns those of the customers that exist, deleted ones included,
	// each once. Together the ids and references are at most maxLookup.
	Lookup(ctx context.Context, company id.Company, ids []id.Customer, references []string) ([]customerRecord, error)
}

// maxLookup is how many customers one request may ask for.
const maxLookup = 5000

// meet fetches customers whom the copy does not have and stores them. Those who
// do not exist stay unknown.
func (s *Server) meet(ctx context.Context, company id.Company, ids []id.Customer, references []string) ([]customerRecord, error) {
	var met []customerRecord
	for len(ids)+len(references) > 0 {
		n := min(len(ids), maxLookup)
		m := min(len(references), maxLookup-n)
		some, err := s.customers.Lookup(ctx, company, ids[:n], references[:m])
		if err != nil {
			return nil, err
		}
		met = append(met, some...)
		ids, references = ids[n:], references[m:]
	}
	if len(met) == 0 {
		return nil, nil
	}
	for i := range met {
		met[i].company = company
	}
	return met, s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return keepCustomers(ctx, tx, met)
	})
}

// knowing runs do, and once more when do named customers whom the copy did not
// have and who were fetched meanwhile.
func (s *Server) knowing(ctx context.Context, company id.Company, do func() error) error {
	err := do()
	unknown, ok := asUnknown(err)
	if !ok {
		return err
	}
	if _, err := s.meet(ctx, company, unknown.ids, nil); err != nil {
		return err
	}
	err = do()
	if _, ok := asUnknown(err); ok {
		return fault.Missing("customer")
	}
	return err
}

// exists returns why a customer cannot be served: deleted, or, where c is nil, not
// in the copy.
func (c *knownCustomer) exists(customer id.Customer) error {
	switch {
	case c == nil:
		return &unknownCustomers{ids: []id.Customer{customer}}
	case c.deleted:
		return fault.Missing("customer")
	}
	return nil
}

// keepCustomersSQL stores news about customers. What is older than the copy
// changes nothing, in whatever order news comes.
const keepCustomersSQL = `insert into customers as c
		(company_id, id, reference, first_name, last_name, email, version, deleted_at)
	select n.company_id, n.id, n.reference, n.first_name, n.last_name, n.email, n.version, n.deleted_at
	from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::timestamptz[])
		n(company_id, id, reference, first_name, last_name, email, version, deleted_at)
	on conflict (company_id, id) do update
		set reference = excluded.reference, first_name = excluded.first_name, last_name = excluded.last_name,
			email = excluded.email, version = excluded.version, deleted_at = excluded.deleted_at
		where c.version < excluded.version`

func keepCustomers(ctx context.Context, tx *pg.Tx, records []customerRecord) error {
	newest := newestOf(records, func(r customerRecord) (rowKey, int64) {
		return rowKey{r.company, r.ID.UUID()}, r.version
	})
	var companies []id.Company
	var ids []id.Customer
	var references []*string
	var firsts, lasts, emails []string
	var versions []int64
	var deletions []*time.Time
	for _, r := range newest {
		companies, ids = append(companies, r.company), append(ids, r.ID)
		references = append(references, orNull(r.reference))
		firsts, lasts = append(firsts, r.FirstName), append(lasts, r.LastName)
		emails, versions = append(emails, r.Email), append(versions, r.version)
		var deleted *time.Time
		if !r.deletedAt.IsZero() {
			deleted = &r.deletedAt
		}
		deletions = append(deletions, deleted)
	}
	_, err := tx.Exec(ctx, keepCustomersSQL, companies, ids, references, firsts, lasts, emails, versions, deletions)
	return err
}

// rowKey is the primary key of a row.
type rowKey struct {
	company id.Company
	id      id.UUID
}

func (k rowKey) compare(other rowKey) int {
	if c := bytes.Compare(k.company[:], other.company[:]); c != 0 {
		return c
	}
	return bytes.Compare(k.id[:], other.id[:])
}

// newestOf keeps of each row the record with the highest version, in the order
// of the keys: one statement cannot change a row twice, and two that lock rows in
// one order do not wait for each other.
func newestOf[T any](records []T, keyOf func(T) (key rowKey, version int64)) []T {
	sorted := slices.Clone(records)
	slices.SortFunc(sorted, func(a, b T) int {
		ka, va := keyOf(a)
		kb, vb := keyOf(b)
		return cmp.Or(ka.compare(kb), cmp.Compare(vb, va))
	})
	return slices.CompactFunc(sorted, func(a, b T) bool {
		ka, _ := keyOf(a)
		kb, _ := keyOf(b)
		return ka == kb
	})
}

const (
	customersByIDSQL = `select id, coalesce(reference, ''), deleted_at is not null
		from customers where company_id = $1 and id = any($2)`

	customersByReferenceSQL = `select id, reference, deleted_at is not null
		from customers where company_id = $1 and reference = any($2)`
)

// resolved is what is known of the customers that an import names. Those who are
// deleted are there with a zero identifier.
type resolved struct {
	byID        map[id.Customer]id.Customer
	byReference map[string]id.Customer
}

// resolve looks customers up in the copy in one round trip.
func (s *store) resolve(ctx context.Context, company id.Company, ids []id.Customer, references []string) (resolved, error) {
	r := resolved{byID: map[id.Customer]id.Customer{}, byReference: map[string]id.Customer{}}
	scan := each(func(rows pgx.Rows) error {
		var customer id.Customer
		var reference string
		var deleted bool
		err := rows.Scan(&customer, &reference, &deleted)
		r.note(customer, reference, deleted)
		return err
	})
	return r, s.read(ctx, company,
		pg.Query{SQL: customersByIDSQL, Args: []any{company, ids}, Scan: scan},
		pg.Query{SQL: customersByReferenceSQL, Args: []any{company, references}, Scan: scan},
	)
}

// note records a customer. Of several with one reference it means one who is not
// deleted.
func (r *resolved) note(customer id.Customer, reference string, deleted bool) {
	known := customer
	if deleted {
		known = id.Customer{}
	}
	r.byID[customer] = known
	if reference != "" && r.byReference[reference].IsZero() {
		r.byReference[reference] = known
	}
}
