package pass

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// store is every SQL statement of the service. Its methods with a tx run in the
// caller's transaction; the others make one round trip of their own.
type store struct{ db *pg.DB }

// inTx runs fn in one transaction of the company; fn must be repeatable.
func (s *store) inTx(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return pg.Fault(s.db.InTx(ctx, pg.For(company), fn), nil)
}

const passTypeColumns = `id, title, description, total_uses, validity_count, validity_unit, price, currency,
	eligible_event_types, status, version, created_at, updated_at`

const (
	passTypeSQL = `select ` + passTypeColumns + ` from pass_types where company_id = $1 and id = $2`

	passTypesSQL = `select ` + passTypeColumns + ` from pass_types
		where company_id = $1 and id > $2 order by id limit $3`

	addPassTypeSQL = `insert into pass_types (company_id, ` + passTypeColumns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $12, $12)`

	countPassTypeSQL = `insert into pass_totals as t (company_id, pass_types) values ($1, 1)
		on conflict (company_id) do update set pass_types = t.pass_types + 1`

	totalsSQL = `select pass_types, customer_passes from pass_totals where company_id = $1`
)

// passType returns one pass type.
func (s *store) passType(ctx context.Context, company id.Company, passType id.PassType) (PassType, error) {
	t, err := pg.One[PassType](ctx, s.db, pg.For(company), passTypeSQL, company, passType)
	return t, missing(err, "pass type")
}

// missing answers a row that is not there.
func missing(err error, what string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Missing(what)
	}
	return pg.Fault(err, nil)
}

// totals are how many rows a company has.
type totals struct{ passTypes, customerPasses int64 }

func (t *totals) query(company id.Company) pg.Query {
	return pg.Query{SQL: totalsSQL, Args: []any{company}, Scan: func(rows pgx.Rows) error {
		if !rows.Next() {
			return nil // the first row makes the counter
		}
		return rows.Scan(&t.passTypes, &t.customerPasses)
	}}
}

// passTypes returns a page of pass types after one, and how many there are.
func (s *store) passTypes(ctx context.Context, company id.Company, after id.UUID, limit int) ([]PassType, int64, error) {
	var list []PassType
	var count totals
	err := s.db.Read(ctx, pg.For(company),
		pg.Query{SQL: passTypesSQL, Args: []any{company, uuidFrom(after), limit}, Scan: collect(&list)},
		count.query(company))
	return list, count.passTypes, pg.Fault(err, nil)
}

// uuidFrom makes the zero value comparable: in a query it would be NULL.
func uuidFrom(u id.UUID) [16]byte { return u }

func collect[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	}
}

// addPassType stores a new pass type.
func (s *store) addPassType(ctx context.Context, tx *pg.Tx, company id.Company, t PassType) error {
	batch := &pgx.Batch{}
	batch.Queue(addPassTypeSQL, company, t.ID, t.Title, t.Description, t.TotalUses, t.ValidityCount, t.ValidityUnit,
		t.Price, t.Currency, t.EligibleEventTypes, t.Status, t.CreatedAt)
	batch.Queue(countPassTypeSQL, company)
	return tx.SendBatch(ctx, batch).Close()
}

const customerPassColumns = `id, customer_id, pass_type_id, remaining_uses, start_date, expiry_date, status, version,
	created_at, updated_at`

const (
	customerPassSQL = `select ` + customerPassColumns + ` from customer_passes where company_id = $1 and id = $2`

	customerPassesSQL = `select ` + customerPassColumns + ` from customer_passes
		where company_id = $1 and id > $2 order by id limit $3`

	passesOfCustomerSQL = `select ` + customerPassColumns + ` from customer_passes
		where company_id = $1 and customer_id = $2 and id > $3 order by id limit $4`

	countOfCustomerSQL = `select count(*) from customer_passes where company_id = $1 and customer_id = $2`

	addCustomerPassSQL = `insert into customer_passes (company_id, ` + customerPassColumns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9)`

	countCustomerPassSQL = `insert into pass_totals as t (company_id, customer_passes) values ($1, 1)
		on conflict (company_id) do update set customer_passes = t.customer_passes + 1`

	openLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
		values ($1, $2, 1, 'assigned', $3, $3, $4, $5)`

	ledgerSQL = `select sequence, kind, credits, balance, actor, created_at from ledger_entries
		where company_id = $1 and customer_pass_id = $2 and sequence > $3 order by sequence limit $4`
)

// customerPass returns one customer pass.
func (s *store) customerPass(ctx context.Context, company id.Company, pass id.CustomerPass) (CustomerPass, error) {
	p, err := pg.One[CustomerPass](ctx, s.db, pg.For(company), customerPassSQL, company, pass)
	return p, missing(err, "customer pass")
}

// customerPasses returns a page of customer passes after one, of one customer
// or (zero) of all, and how many there are.
func (s *store) customerPasses(ctx context.Context, company id.Company, customer id.Customer, after id.UUID, limit int) ([]CustomerPass, int64, error) {
	var list []CustomerPass
	if customer.IsZero() {
		var count totals
		err := s.db.Read(ctx, pg.For(company),
			pg.Query{SQL: customerPassesSQL, Args: []any{company, uuidFrom(after), limit}, Scan: collect(&list)},
			count.query(company))
		return list, count.customerPasses, pg.Fault(err, nil)
	}
	var count int64
	err := s.db.Read(ctx, pg.For(company),
		pg.Query{SQL: passesOfCustomerSQL, Args: []any{company, customer, uuidFrom(after), limit}, Scan: collect(&list)},
		pg.Query{SQL: countOfCustomerSQL, Args: []any{company, customer}, Scan: func(rows pgx.Rows) error {
			rows.Next()
			return rows.Scan(&count)
		}})
	return list, count, pg.Fault(err, nil)
}

// addCustomerPass stores a new pass and opens its ledger with its uses.
func (s *store) addCustomerPass(ctx context.Context, tx *pg.Tx, company id.Company, p CustomerPass, actor string) error {
	batch := &pgx.Batch{}
	batch.Queue(addCustomerPassSQL, company, p.ID, p.CustomerID, p.PassTypeID, p.RemainingUses, p.StartDate, p.ExpiryDate, p.Status, p.CreatedAt)
	batch.Queue(openLedgerSQL, company, p.ID, p.RemainingUses, actor, p.CreatedAt)
	batch.Queue(countCustomerPassSQL, company)
	return tx.SendBatch(ctx, batch).Close()
}

// ledger returns a page of a pass's ledger after an entry.
func (s *store) ledger(ctx context.Context, company id.Company, pass id.CustomerPass, after int64, limit int) ([]LedgerEntry, error) {
	var list []LedgerEntry
	exists := false
	err := s.db.Read(ctx, pg.For(company),
		pg.Query{SQL: customerPassSQL, Args: []any{company, pass}, Scan: func(rows pgx.Rows) error {
			exists = rows.Next()
			return nil
		}},
		pg.Query{SQL: ledgerSQL, Args: []any{company, pass, after, limit}, Scan: collect(&list)})
	if err == nil && !exists {
		return nil, fault.Missing("customer pass")
	}
	return list, pg.Fault(err, nil)
}

// instant cuts a time to what PostgreSQL keeps.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
