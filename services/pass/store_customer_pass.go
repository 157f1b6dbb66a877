package pass

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const customerPassColumns = `id, customer_id, pass_type_id, remaining_uses, start_date, expiry_date, status, paused_on, version,
	created_at, updated_at, paid_gross, paid_currency, paid_method, paid_reference`

const (
	customerPassSQL = `select ` + customerPassColumns + ` from customer_passes where company_id = $1 and id = $2`

	addCustomerPassSQL = `insert into customer_passes (company_id, ` + customerPassColumns + `)
		values (@company, @id, @customer, @pass_type, @uses, @start, @expiry, @status, null, @version, @created_at, @updated_at,
			@paid_gross, @paid_currency, @paid_method, @paid_reference)`

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
	return pg.Get[CustomerPass](ctx, s.Store, company, "customer pass", customerPassSQL, company, pass)
}

// customerPassFilter filters a list of customer passes; zero means no filter.
type customerPassFilter struct {
	customer     *id.Customer
	passType     *id.PassType
	status       string    // the status as shown on day
	day          time.Time // of the status
	updatedSince time.Time
}

// customerPasses returns a page of customer passes and the number of matches.
func (s *store) customerPasses(ctx context.Context, company id.Company, f customerPassFilter, p page.Page) (passes []CustomerPass, total int64, err error) {
	l := f.list(company)
	var all totals
	err = s.ReadOf(ctx, company, l.page(customerPassColumns, "customer_passes", p).Query(pg.Collect(&passes)), l.count("customer_passes", &all, &total))
	if !l.filtered {
		total = all.customerPasses
	}
	return passes, total, err
}

func (f customerPassFilter) list(company id.Company) *list {
	l := newList(company)
	if f.customer != nil {
		l.and("customer_id = %s", *f.customer)
	}
	if f.passType != nil {
		l.and("pass_type_id = %s", *f.passType)
	}
	l.status(f.status, f.day)
	l.updatedSince(f.updatedSince)
	return l
}

// status adds the condition that a pass has a status on a day, as StatusOn defines it.
func (l *list) status(status string, day time.Time) {
	switch status {
	case statusActive:
		l.and("status = 'active' and expiry_date >= %s and start_date <= %s and remaining_uses > 0", day, day)
	case statusPending:
		l.and("status = 'active' and start_date > %s and remaining_uses > 0", day)
	case statusExhausted:
		l.and("status = 'active' and expiry_date >= %s and remaining_uses = 0", day)
	case statusExpired:
		l.and("status = 'active' and expiry_date < %s", day)
	case statusPaused, statusCancelled:
		l.and("status = %s", status)
	}
}

// addCustomerPass stores a new pass and the first entry of its ledger, when tx commits.
func addCustomerPass(tx *pg.Tx, company id.Company, p CustomerPass, actor string) {
	tx.Queue(
		pg.Query{SQL: addCustomerPassSQL, Args: []any{pgx.NamedArgs{
			"company": company, "id": p.ID, "customer": p.CustomerID, "pass_type": p.PassTypeID, "uses": p.RemainingUses,
			"start": p.StartDate, "expiry": p.ExpiryDate, "status": p.Status, "version": p.Version,
			"created_at": p.CreatedAt, "updated_at": p.UpdatedAt, "paid_gross": p.PaidGross, "paid_currency": p.PaidCurrency,
			"paid_method": p.PaidMethod, "paid_reference": p.PaidReference,
		}}},
		pg.Query{SQL: openLedgerSQL, Args: []any{company, p.ID, p.RemainingUses, actor, p.CreatedAt}},
		pg.Query{SQL: countCustomerPassSQL, Args: []any{company}})
}

// ledger returns a page of a pass's ledger.
func (s *store) ledger(ctx context.Context, company id.Company, pass id.CustomerPass, p page.Page) ([]LedgerEntry, error) {
	var after int64
	if p.After != nil {
		after = p.After.Key
	}
	var list []LedgerEntry
	exists := false
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: customerPassSQL, Args: []any{company, pass}, Scan: func(rows pgx.Rows) error {
			exists = rows.Next()
			return nil
		}},
		pg.Query{SQL: ledgerSQL, Args: []any{company, pass, after, p.Size + 1}, Scan: pg.Collect(&list)})
	if err == nil && !exists {
		err = fault.Missing("customer pass")
	}
	return list, err
}

const (
	lockCustomerPassSQL = customerPassSQL + ` for no key update`

	saveCustomerPassSQL = `update customer_passes set remaining_uses = $3, expiry_date = $4, status = $5, paused_on = $6,
			version = $7, updated_at = $8
		where company_id = $1 and id = $2`

	// The pass is locked, so the last sequence number does not change.
	appendLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at,
			redemption_id, item_id, reason)
		select @company, @pass, n.place + (select coalesce(max(l.sequence), 0) from ledger_entries l
				where l.company_id = @company and l.customer_pass_id = @pass),
			@kind, n.credits, n.balance, @actor, @created_at, n.redemption_id, n.item_id, @reason
		from unnest(@credits::integer[], @balances::integer[], @redemptions::uuid[], @items::uuid[])
			with ordinality n(credits, balance, redemption_id, item_id, place)`
)

// lockCustomerPass reads a customer pass and locks it until the end of tx.
func (s *store) lockCustomerPass(ctx context.Context, tx *pg.Tx, company id.Company, pass id.CustomerPass) (CustomerPass, error) {
	return pg.GetInTx[CustomerPass](ctx, tx, "customer pass", lockCustomerPassSQL, company, pass)
}

// entries are ledger entries of one pass to add together.
type entries struct {
	kind   string
	reason *string
	actor  string

	credits, balances []int32
	redemptions       []id.Transaction
	items             []id.Booking
}

// add adds an entry; balance is the pass's balance after it.
func (e *entries) add(credits, balance int32, redemption id.Transaction, item id.Booking) {
	e.credits = append(e.credits, credits)
	e.balances = append(e.balances, balance)
	e.redemptions = append(e.redemptions, redemption)
	e.items = append(e.items, item)
}

// saveCustomerPass returns the statements that store a locked pass and append to its ledger.
func saveCustomerPass(company id.Company, p CustomerPass, e entries) []pg.Query {
	queries := []pg.Query{{SQL: saveCustomerPassSQL, Args: []any{company, p.ID, p.RemainingUses, p.ExpiryDate, p.Status, p.PausedOn, p.Version, p.UpdatedAt}}}
	if len(e.credits) > 0 {
		queries = append(queries, pg.Query{SQL: appendLedgerSQL, Args: []any{pgx.NamedArgs{
			"company": company, "pass": p.ID, "kind": e.kind, "actor": e.actor, "created_at": p.UpdatedAt, "reason": e.reason,
			"credits": e.credits, "balances": e.balances, "redemptions": e.redemptions, "items": e.items,
		}}})
	}
	return queries
}
