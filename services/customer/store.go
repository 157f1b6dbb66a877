package customer

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/combine"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// store is every SQL statement of the service. Its methods with a tx run in the
// caller's transaction; the others make one round trip of their own.
type store struct {
	db *pg.DB
	// customers reads single ones, several in a round trip.
	customers *combine.Reads[id.Customer, Customer]
}

func newStore(db *pg.DB) *store {
	s := &store{db: db}
	s.customers = combine.New(s.some)
	return s
}

// inTx runs fn in one transaction of the company; fn must be repeatable.
func (s *store) inTx(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return pg.Fault(s.db.InTx(ctx, pg.For(company), fn), nil)
}

const columns = `id, reference, first_name, last_name, email, mobile, archived, version, created_at, updated_at, deleted_at`

const (
	getSQL = `select ` + columns + ` from customers where company_id = $1 and id = any($2) and deleted_at is null`

	batchSQL = `select ` + columns + ` from customers
		where company_id = $1 and (id = any($2) or reference = any($3)) and (deleted_at is null or $4)`

	lockSQL = `select ` + columns + ` from customers where company_id = $1 and id = $2 and deleted_at is null for update`

	insertSQL = `insert into customers (company_id, ` + columns + `)
		values ($1, $2, null, $3, $4, $5, $6, $7, $8, $9, $10, null)`

	updateSQL = `update customers set first_name = $3, last_name = $4, email = $5, mobile = $6, archived = $7,
		version = $8, updated_at = $9, deleted_at = $10, deletion_unconfirmed = $10::timestamptz is not null where company_id = $1 and id = $2`

	countSQL = `insert into customer_counts as c (company_id, slot, live) values ($1, $2, $3)
		on conflict (company_id, slot) do update set live = c.live + excluded.live`
)

func missing() *fault.Error { return fault.Missing("customer") }

// get returns one customer that is not deleted.
func (s *store) get(ctx context.Context, company id.Company, customer id.Customer) (Customer, error) {
	c, ok, err := s.customers.Get(ctx, company, customer)
	if err == nil && !ok {
		err = missing()
	}
	return c, err
}

func (s *store) some(ctx context.Context, company id.Company, ids []id.Customer) (map[id.Customer]Customer, error) {
	rows, err := pg.Rows[Customer](ctx, s.db, pg.For(company), getSQL, company, ids)
	found := make(map[id.Customer]Customer, len(rows))
	for _, c := range rows {
		found[c.ID] = c
	}
	return found, pg.Fault(err, nil)
}

// batch returns those that exist, each once.
func (s *store) batch(ctx context.Context, company id.Company, ids []id.Customer, references []string, withDeleted bool) ([]Customer, error) {
	list, err := pg.Rows[Customer](ctx, s.db, pg.For(company), batchSQL, company, ids, references, withDeleted)
	return list, pg.Fault(err, nil)
}

// lock returns one customer that is not deleted, and keeps it from changing
// until tx ends.
func (s *store) lock(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (Customer, error) {
	rows, err := tx.Query(ctx, lockSQL, company, customer)
	if err != nil {
		return Customer{}, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Customer])
	if errors.Is(err, pgx.ErrNoRows) {
		return c, missing()
	}
	return c, err
}

// insert stores a new customer and counts it.
func (s *store) insert(ctx context.Context, tx *pg.Tx, company id.Company, c Customer) error {
	batch := &pgx.Batch{}
	batch.Queue(insertSQL, company, c.ID, c.FirstName, c.LastName, c.Email, c.Mobile, c.Archived, c.Version, c.CreatedAt, c.UpdatedAt)
	batch.Queue(countSQL, company, slot(), 1)
	return tx.SendBatch(ctx, batch).Close()
}

// save stores a changed customer, and counts a deleted one off.
func (s *store) save(ctx context.Context, tx *pg.Tx, company id.Company, c Customer) error {
	batch := &pgx.Batch{}
	batch.Queue(updateSQL, company, c.ID, c.FirstName, c.LastName, c.Email, c.Mobile, c.Archived, c.Version, c.UpdatedAt, c.DeletedAt)
	if c.DeletedAt != nil {
		batch.Queue(countSQL, company, slot(), -1)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// slots is over how many rows a company's count is spread.
const slots = 16

func slot() int16 { return int16(rand.IntN(slots)) }

// The columns of an export; the column constants name them by their place.
const (
	exportColumns = `id, first_name, last_name, email, mobile, archived, created_at, updated_at`

	exportSQL = `select ` + exportColumns + ` from customers
		where company_id = $1 and deleted_at is null and id > $2 order by id limit $3`

	exportSinceSQL = `select ` + exportColumns + ` from customers
		where company_id = $1 and deleted_at is null and id > $2 and updated_at >= $4 order by id limit $3`
)

// export calls each with the raw values of up to so many customers behind one,
// by id.
func (s *store) export(ctx context.Context, company id.Company, after id.Customer, rows int, since time.Time, each func(values [][]byte) error) error {
	query := pg.Query{SQL: exportSQL, Args: []any{company, [16]byte(after), rows}, Scan: func(rows pgx.Rows) error {
		for rows.Next() {
			if err := each(rows.RawValues()); err != nil {
				return err
			}
		}
		return nil
	}}
	if !since.IsZero() {
		query.SQL, query.Args = exportSinceSQL, append(query.Args, since)
	}
	return pg.Fault(s.db.Read(ctx, pg.For(company), query), nil)
}

const (
	importSQL = `insert into customers (company_id, ` + columns + `)
		select $1, n.id, n.reference, n.first_name, n.last_name, n.email, n.mobile, n.archived, 1, n.created_at, $9, null
		from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $10::timestamptz[])
			as n (id, reference, first_name, last_name, email, mobile, archived, created_at)
		on conflict (company_id, reference) where reference is not null do nothing
		returning id`

	referencesSQL = `select id, reference from customers where company_id = $1 and reference = any($2)`
)

// importNew stores those whose reference is not known yet, and counts them. It
// returns the identifiers of the new ones.
func (s *store) importNew(ctx context.Context, tx *pg.Tx, company id.Company, list []Customer, now time.Time) (map[id.Customer]bool, error) {
	n := len(list)
	ids, references := make([]id.Customer, n), make([]*string, n)
	firsts, lasts, emails, mobiles := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	archived, created := make([]bool, n), make([]time.Time, n)
	for i, c := range list {
		ids[i], references[i], firsts[i], lasts[i] = c.ID, c.Reference, c.FirstName, c.LastName
		emails[i], mobiles[i], archived[i], created[i] = c.Email, c.Mobile, c.Archived, c.CreatedAt
	}
	rows, err := tx.Query(ctx, importSQL, company, ids, references, firsts, lasts, emails, mobiles, archived, now, created)
	if err != nil {
		return nil, err
	}
	added, err := pgx.CollectRows(rows, pgx.RowTo[id.Customer])
	if err != nil || len(added) == 0 {
		return nil, err
	}
	isNew := make(map[id.Customer]bool, len(added))
	for _, c := range added {
		isNew[c] = true
	}
	_, err = tx.Exec(ctx, countSQL, company, slot(), len(added))
	return isNew, err
}

// byReference returns the identifiers of the customers with these references,
// deleted ones too.
func (s *store) byReference(ctx context.Context, tx *pg.Tx, company id.Company, references []string) (map[string]id.Customer, error) {
	rows, err := tx.Query(ctx, referencesSQL, company, references)
	if err != nil {
		return nil, err
	}
	found := make(map[string]id.Customer, len(references))
	var customer id.Customer
	var reference string
	_, err = pgx.ForEachRow(rows, []any{&customer, &reference}, func() error {
		found[reference] = customer
		return nil
	})
	return found, err
}

const (
	unconfirmedSQL = `select deletion_unconfirmed from customers where company_id = $1 and id = $2`

	confirmedSQL = `update customers set deletion_unconfirmed = false where company_id = $1 and id = $2 and deletion_unconfirmed`
)

// unconfirmed reports whether the deletion of a customer is to be confirmed.
func (s *store) unconfirmed(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (is bool, err error) {
	err = tx.QueryRow(ctx, unconfirmedSQL, company, customer).Scan(&is)
	return is, err
}

// confirmed takes the mark off a confirmed deletion, and reports whether it was
// there: of concurrent requests one does.
func (s *store) confirmed(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (bool, error) {
	tag, err := tx.Exec(ctx, confirmedSQL, company, customer)
	return tag.RowsAffected() > 0, err
}
