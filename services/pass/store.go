package pass

import (
	"context"
	"errors"
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
	// companies reads the copy of companies, which every request needs: those that
	// come together share a round trip.
	companies *combine.Reads[id.Company, companyRecord]
}

func newStore(db *pg.DB) *store {
	s := &store{db: db}
	s.companies = combine.New(s.readCompanies)
	return s
}

// inTx runs fn in one transaction of the company; fn must be repeatable.
func (s *store) inTx(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return pg.Fault(s.db.InTx(ctx, pg.For(company), fn), nil)
}

const passTypeColumns = `id, title, description, total_uses, validity_count, validity_unit, price, currency,
	eligible_event_types, status, version, created_at, updated_at`

const (
	passTypeSQL = `select ` + passTypeColumns + ` from pass_types where company_id = $1 and id = $2`

	lockPassTypeSQL = passTypeSQL + ` for no key update`

	savePassTypeSQL = `update pass_types set title = $3, description = $4, total_uses = $5, validity_count = $6, validity_unit = $7,
			price = $8, currency = $9, eligible_event_types = $10, status = $11, version = $12, updated_at = $13
		where company_id = $1 and id = $2`

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

// passTypes returns a page of pass types, one row longer than asked for, and how
// many match.
func (s *store) passTypes(ctx context.Context, company id.Company, l list) ([]PassType, int64, error) {
	var page []PassType
	sql, args := l.page(passTypeColumns, "pass_types")
	count, total := l.count(company, "pass_types", func(t totals) int64 { return t.passTypes })
	err := s.db.Read(ctx, pg.For(company), pg.Query{SQL: sql, Args: args, Scan: collect(&page)}, count)
	return page, total(), pg.Fault(err, nil)
}

// count returns the query of how many rows match, and what it found. Without a
// filter that is a counter.
func (l *list) count(company id.Company, table string, counter func(totals) int64) (pg.Query, func() int64) {
	if !l.where.filtered {
		var t totals
		return t.query(company), func() int64 { return counter(t) }
	}
	var n int64
	return pg.Query{SQL: "select count(*) from " + table + " where " + l.where.sql, Args: l.where.args, Scan: func(rows pgx.Rows) error {
		rows.Next()
		return rows.Scan(&n)
	}}, func() int64 { return n }
}

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

// lockPassType reads a pass type for a change in tx.
func (s *store) lockPassType(ctx context.Context, tx *pg.Tx, company id.Company, passType id.PassType) (PassType, error) {
	rows, err := tx.Query(ctx, lockPassTypeSQL, company, passType)
	if err != nil {
		return PassType{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[PassType])
	return t, missing(err, "pass type")
}

// savePassType stores a locked pass type.
func (s *store) savePassType(ctx context.Context, tx *pg.Tx, company id.Company, t PassType) error {
	_, err := tx.Exec(ctx, savePassTypeSQL, company, t.ID, t.Title, t.Description, t.TotalUses, t.ValidityCount, t.ValidityUnit,
		t.Price, t.Currency, t.EligibleEventTypes, t.Status, t.Version, t.UpdatedAt)
	return err
}

const customerPassColumns = `id, customer_id, pass_type_id, remaining_uses, start_date, expiry_date, status, paused_on, version,
	created_at, updated_at, paid_gross, paid_currency, paid_method, paid_reference`

const (
	customerPassSQL = `select ` + customerPassColumns + ` from customer_passes where company_id = $1 and id = $2`

	addCustomerPassSQL = `insert into customer_passes (company_id, ` + customerPassColumns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, null, 1, $9, $9, $10, $11, $12, $13)`

	countCustomerPassSQL = `insert into pass_totals as t (company_id, customer_passes) values ($1, 1)
		on conflict (company_id) do update set customer_passes = t.customer_passes + 1`

	openLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
		values ($1, $2, 1, 'assigned', $3, $3, $4, $5)`

	ledgerSQL = `select sequence, kind, credits, balance, actor, created_at, redemption_id, item_id, coalesce(reason, '') as reason
		from ledger_entries
		where company_id = $1 and customer_pass_id = $2 and sequence > $3 order by sequence limit $4`
)

// customerPass returns one customer pass.
func (s *store) customerPass(ctx context.Context, company id.Company, pass id.CustomerPass) (CustomerPass, error) {
	p, err := pg.One[CustomerPass](ctx, s.db, pg.For(company), customerPassSQL, company, pass)
	return p, missing(err, "customer pass")
}

// customerPasses returns a page of customer passes, one row longer than asked
// for, and how many match.
func (s *store) customerPasses(ctx context.Context, company id.Company, l list) ([]CustomerPass, int64, error) {
	var page []CustomerPass
	sql, args := l.page(customerPassColumns, "customer_passes")
	count, total := l.count(company, "customer_passes", func(t totals) int64 { return t.customerPasses })
	err := s.db.Read(ctx, pg.For(company), pg.Query{SQL: sql, Args: args, Scan: collect(&page)}, count)
	return page, total(), pg.Fault(err, nil)
}

// addCustomerPass stores a new pass and opens its ledger with its uses.
func (s *store) addCustomerPass(ctx context.Context, tx *pg.Tx, company id.Company, p CustomerPass, actor string) error {
	batch := &pgx.Batch{}
	batch.Queue(addCustomerPassSQL, company, p.ID, p.CustomerID, p.PassTypeID, p.RemainingUses, p.StartDate, p.ExpiryDate, p.Status, p.CreatedAt,
		p.PaidGross, p.PaidCurrency, p.PaidMethod, p.PaidReference)
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
