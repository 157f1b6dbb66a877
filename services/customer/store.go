package customer

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/combine"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// store has every SQL statement of the service. Methods with a tx run in the caller's transaction;
// the others make one round trip.
type store struct {
	pg.Store
	// customers reads single customers and batches concurrent reads into one round trip.
	customers *combine.Reads[id.Company, id.Customer, Customer]
	// marks replaces the placeholders of statements; see sql.
	marks *strings.Replacer
}

func newStore(db *pg.DB) *store {
	var names, values, arrays []string
	for _, f := range fields() {
		names, values, arrays = append(names, f.name), append(values, "@"+f.name), append(arrays, "@"+f.name+"::text[]")
	}
	s := &store{Store: pg.Store{DB: db}, marks: strings.NewReplacer(
		"{fields}", strings.Join(names, ", "), "{values}", strings.Join(values, ", "), "{arrays}", strings.Join(arrays, ", "))}
	s.customers = combine.New(s.some)
	return s
}

// sql returns a statement in which {fields} is replaced by the names of the customer's fields,
// {values} by their arguments, and {arrays} by arrays of them.
func (s *store) sql(statement string) string { return s.marks.Replace(statement) }

const columns = `id, reference, {fields}, archived, version, created_at, updated_at, deleted_at`

const (
	getSQL = `select ` + columns + ` from customers where company_id = $1 and id = $2 and deleted_at is null`

	getSeveralSQL = `select ` + columns + ` from customers where company_id = $1 and id` + pg.AmongIDs + ` and deleted_at is null`

	batchSQL = `select ` + columns + ` from customers
		where company_id = $1 and (id = any($2) or reference = any($3)) and (deleted_at is null or $4)`

	lockSQL = `select ` + columns + ` from customers where company_id = $1 and id = $2 and deleted_at is null for update`

	insertSQL = `insert into customers (company_id, ` + columns + `)
		values (@company, @id, @reference, {values}, @archived, @version, @created_at, @updated_at, @deleted_at)`

	updateSQL = `update customers set ({fields}, archived, version, updated_at, deleted_at, deletion_unconfirmed)
			= ({values}, @archived, @version, @updated_at, @deleted_at, @deleted_at::timestamptz is not null)
		where company_id = @company and id = @id`

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
	list, err := s.several(ctx, company, ids)
	found := make(map[id.Customer]Customer, len(list))
	for _, c := range list {
		found[c.ID] = c
	}
	return found, err
}

// several returns the customers that exist and are not deleted, each once.
func (s *store) several(ctx context.Context, company id.Company, ids []id.Customer) (list []Customer, err error) {
	if len(ids) == 1 { // the cheaper plan
		list, err = pg.Rows[Customer](ctx, s.DB, pg.For(company), s.sql(getSQL), company, ids[0])
	} else {
		list, err = pg.Rows[Customer](ctx, s.DB, pg.For(company), s.sql(getSeveralSQL), company, ids)
	}
	return list, pg.Fault(err, nil)
}

// batch returns the customers that exist, each once.
func (s *store) batch(ctx context.Context, company id.Company, ids []id.Customer, references []string, withDeleted bool) ([]Customer, error) {
	if len(references) == 0 && !withDeleted {
		return s.several(ctx, company, ids)
	}
	list, err := pg.Rows[Customer](ctx, s.DB, pg.For(company), s.sql(batchSQL), company, ids, references, withDeleted)
	return list, pg.Fault(err, nil)
}

// lock returns one customer that is not deleted, and locks it until tx ends.
func (s *store) lock(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (Customer, error) {
	return pg.GetInTx[Customer](ctx, tx, "customer", s.sql(lockSQL), company, customer)
}

// rowOf returns a customer's row as arguments, by column.
func rowOf(company id.Company, c Customer) pgx.NamedArgs {
	row := pgx.NamedArgs{
		"company": company, "id": c.ID, "reference": c.Reference, "archived": c.Archived, "version": c.Version,
		"created_at": c.CreatedAt, "updated_at": c.UpdatedAt, "deleted_at": c.DeletedAt,
	}
	for _, f := range fields() {
		row[f.name] = *f.value(&c)
	}
	return row
}

// insert stores a new customer and counts it, when tx commits.
func (s *store) insert(tx *pg.Tx, company id.Company, c Customer) {
	tx.Queue(pg.Query{SQL: s.sql(insertSQL), Args: []any{rowOf(company, c)}}, count(company, 1))
}

// save stores a changed customer, and subtracts a deleted one from the counters, when tx commits.
func (s *store) save(tx *pg.Tx, company id.Company, c Customer) {
	tx.Queue(pg.Query{SQL: s.sql(updateSQL), Args: []any{rowOf(company, c)}})
	if c.DeletedAt != nil {
		tx.Queue(count(company, -1))
	}
}

// count returns the statement that adds n customers to the company's count.
func count(company id.Company, n int) pg.Query {
	return pg.Query{SQL: countSQL, Args: []any{company, slot(), n}}
}

// slots is the number of rows that share a company's count.
const slots = 16

func slot() int16 { return int16(rand.IntN(slots)) }

const (
	exportSQL = `select id, {fields}, archived, created_at, updated_at from customers
		where company_id = $1 and deleted_at is null and id > $2 order by id limit $3`

	exportSinceSQL = `select id, {fields}, archived, created_at, updated_at from customers
		where company_id = $1 and deleted_at is null and id > $2 and updated_at >= $4 order by id limit $3`
)

// export calls each with the raw values of at most rows customers that follow after, by id.
func (s *store) export(ctx context.Context, company id.Company, after id.Customer, rows int, since time.Time, each func(values [][]byte) error) error {
	query := pg.Query{SQL: exportSQL, Args: []any{company, [16]byte(after), rows},
		Scan: pg.Each(func(rows pgx.Rows) error { return each(rows.RawValues()) })}
	if !since.IsZero() {
		query.SQL, query.Args = exportSinceSQL, append(query.Args, since)
	}
	query.SQL = s.sql(query.SQL)
	return s.ReadOf(ctx, company, query)
}

const snapshotSQL = `select ` + columns + ` from customers where company_id = $1 and deleted_at is null and id > $2 order by id limit $3`

// snapshot returns at most limit customers that follow after, by id.
func (s *store) snapshot(ctx context.Context, company id.Company, after id.Customer, limit int) ([]Customer, error) {
	return pg.Rows[Customer](ctx, s.DB, pg.For(company), s.sql(snapshotSQL), company, [16]byte(after), limit)
}

const (
	importSQL = `insert into customers (company_id, ` + columns + `)
		select @company, id, reference, {fields}, archived, 1, created_at, @now, null
		from unnest(@id::uuid[], @reference::text[], @archived::boolean[], @created_at::timestamptz[], {arrays})
			as n (id, reference, archived, created_at, {fields})
		on conflict (company_id, reference) where reference is not null do nothing
		returning id`

	referencesSQL = `select id, reference from customers where company_id = $1 and reference = any($2)`
)

// importNew stores the customers whose reference is new, and counts them. It returns the
// identifiers of the new ones.
func (s *store) importNew(ctx context.Context, tx *pg.Tx, company id.Company, list []Customer, now time.Time) (map[id.Customer]bool, error) {
	rows, err := tx.Query(ctx, s.sql(importSQL), rowsOf(company, list, now))
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
	tx.Queue(count(company, len(added)))
	return isNew, nil
}

// rowsOf returns the rows of new customers as arguments: one array per column.
func rowsOf(company id.Company, list []Customer, now time.Time) pgx.NamedArgs {
	rows := pgx.NamedArgs{
		"company": company, "now": now,
		"id":         each(list, func(c *Customer) id.Customer { return c.ID }),
		"reference":  each(list, func(c *Customer) *string { return c.Reference }),
		"archived":   each(list, func(c *Customer) bool { return c.Archived }),
		"created_at": each(list, func(c *Customer) time.Time { return c.CreatedAt }),
	}
	for _, f := range fields() {
		rows[f.name] = each(list, f.value)
	}
	return rows
}

func each[T any](list []Customer, value func(*Customer) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = value(&list[i])
	}
	return out
}

// byReference returns the identifiers of the customers with the given references, including deleted
// ones.
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

// unconfirmed reports whether the deletion of a customer still has to be confirmed.
func (s *store) unconfirmed(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (is bool, err error) {
	err = tx.QueryRow(ctx, unconfirmedSQL, company, customer).Scan(&is)
	return is, err
}

// confirmed removes the mark of an unconfirmed deletion, and reports whether it existed. Only
// one of several concurrent requests gets true.
func (s *store) confirmed(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (bool, error) {
	tag, err := tx.Exec(ctx, confirmedSQL, company, customer)
	return tag.RowsAffected() > 0, err
}
