package pass

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// The writes of credits. Locks are taken in one order everywhere: the redemption,
// then the customer, then passes by id.

const (
	lockCustomerPassSQL = customerPassSQL + ` for no key update`

	saveCustomerPassSQL = `update customer_passes set remaining_uses = $3, expiry_date = $4, status = $5, paused_on = $6,
			version = $7, updated_at = $8
		where company_id = $1 and id = $2`

	// The pass is locked, so that the last sequence stays the last.
	appendLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at,
			redemption_id, item_id, reason)
		select $1, $2, n.place + (select coalesce(max(l.sequence), 0) from ledger_entries l where l.company_id = $1 and l.customer_pass_id = $2),
			$3, n.credits, n.balance, $4, $5, n.redemption_id, n.item_id, $6
		from unnest($7::integer[], $8::integer[], $9::uuid[], $10::uuid[]) with ordinality n(credits, balance, redemption_id, item_id, place)`
)

// lockCustomerPass reads a customer pass for a change in tx.
func (s *store) lockCustomerPass(ctx context.Context, tx *pg.Tx, company id.Company, pass id.CustomerPass) (CustomerPass, error) {
	p, err := one[CustomerPass](ctx, tx, lockCustomerPassSQL, company, pass)
	return p, missing(err, "customer pass")
}

func one[T any](ctx context.Context, tx *pg.Tx, sql string, args ...any) (T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// entries are changes of one pass's credits that happen together.
type entries struct {
	kind   string
	reason *string
	actor  string

	credits, balances []int32
	redemptions       []id.Transaction
	items             []id.Booking
}

// add takes an entry of one more change; balance is that of the pass after it.
func (e *entries) add(credits, balance int32, redemption id.Transaction, item id.Booking) {
	e.credits = append(e.credits, credits)
	e.balances = append(e.balances, balance)
	e.redemptions = append(e.redemptions, redemption)
	e.items = append(e.items, item)
}

// saveCustomerPass returns the statements that store a locked pass and append to
// its ledger.
func saveCustomerPass(company id.Company, p CustomerPass, e entries) []pg.Query {
	queries := []pg.Query{{SQL: saveCustomerPassSQL, Args: []any{company, p.ID, p.RemainingUses, p.ExpiryDate, p.Status, p.PausedOn, p.Version, p.UpdatedAt}}}
	if len(e.credits) > 0 {
		queries = append(queries, pg.Query{SQL: appendLedgerSQL, Args: []any{company, p.ID, e.kind, e.actor, p.UpdatedAt, e.reason,
			e.credits, e.balances, e.redemptions, e.items}})
	}
	return queries
}

// storedRedemption is a redemption that has come, or was cancelled before.
type storedRedemption struct {
	ID            id.Transaction  `db:"id"`
	Pass          id.CustomerPass `db:"customer_pass_id"`
	Credits       int32           `db:"credits"`
	RemainingUses int32           `db:"remaining_uses"`
	CancelledAt   *time.Time      `db:"cancelled_at"`
}

// storedItem is what one booking took.
type storedItem struct {
	Item     id.Booking      `db:"item_id"`
	Pass     id.CustomerPass `db:"customer_pass_id"`
	Credits  int32           `db:"credits"`
	Returned int32           `db:"returned"`
}

const (
	// Waits for another request of the same redemption to end.
	claimRedemptionSQL = `insert into redemptions (company_id, id, credits, remaining_uses, created_at) values ($1, $2, 0, 0, $3)
		on conflict (company_id, id) do nothing`

	lockRedemptionSQL = `select id, customer_pass_id, credits, remaining_uses, cancelled_at from redemptions
		where company_id = $1 and id = $2 for update`

	saveRedemptionSQL = `update redemptions set customer_pass_id = $3, credits = $4, remaining_uses = $5, cancelled_at = $6
		where company_id = $1 and id = $2`

	addItemsSQL = `insert into redemption_items (company_id, redemption_id, item_id, customer_pass_id, credits, returned)
		select $1, $2, n.item_id, $3, n.credits, n.returned
		from unnest($4::uuid[], $5::integer[], $6::integer[]) n(item_id, credits, returned)`

	itemsSQL = `select item_id, customer_pass_id, credits, returned from redemption_items
		where company_id = $1 and redemption_id = $2 order by item_id`

	returnItemsSQL = `update redemption_items set returned = credits
		where company_id = $1 and redemption_id = $2 and item_id = any($3)`

	candidateColumns = `p.id, p.customer_id, p.pass_type_id, p.remaining_uses, p.start_date, p.expiry_date, p.status, p.paused_on,
		p.version, p.created_at, p.updated_at, p.paid_gross, p.paid_currency, p.paid_method, p.paid_reference, t.eligible_event_types`

	candidatesSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.customer_id = $2 order by p.created_at desc, p.id desc limit 1000`

	// The passes that could pay, as far as the row itself tells, in an order in
	// which everybody locks them.
	lockCandidatesSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.customer_id = $2 and ($3::uuid is null or p.id = $3)
			and p.status = 'active' and p.expiry_date >= $4 and p.start_date <= $4 and p.remaining_uses >= $5
			and (cardinality(t.eligible_event_types) = 0 or t.eligible_event_types @> $6)
		order by p.id for no key update of p`

	namedCandidateSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.id = $2`
)

// claim makes a redemption, or locks the one there is; made says which.
func (s *store) claim(ctx context.Context, tx *pg.Tx, company id.Company, redemption id.Transaction, now time.Time) (r storedRedemption, made bool, err error) {
	tag, err := tx.Exec(ctx, claimRedemptionSQL, company, redemption, now)
	if err != nil || tag.RowsAffected() == 1 {
		return storedRedemption{ID: redemption}, true, err
	}
	r, err = one[storedRedemption](ctx, tx, lockRedemptionSQL, company, redemption)
	return r, false, err
}

func saveRedemption(company id.Company, r storedRedemption) pg.Query {
	return pg.Query{SQL: saveRedemptionSQL, Args: []any{company, r.ID, r.Pass, r.Credits, r.RemainingUses, r.CancelledAt}}
}

// items returns what a redemption took, by item.
func (s *store) items(ctx context.Context, tx *pg.Tx, company id.Company, redemption id.Transaction) ([]storedItem, error) {
	rows, err := tx.Query(ctx, itemsSQL, company, redemption)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[storedItem])
}

// addItems returns the statement that stores what bookings took of a pass.
func addItems(company id.Company, redemption id.Transaction, pass id.CustomerPass, items []storedItem) pg.Query {
	ids := make([]id.Booking, len(items))
	credits, returned := make([]int32, len(items)), make([]int32, len(items))
	for n, i := range items {
		ids[n], credits[n], returned[n] = i.Item, i.Credits, i.Returned
	}
	return pg.Query{SQL: addItemsSQL, Args: []any{company, redemption, pass, ids, credits, returned}}
}

func returnItems(company id.Company, redemption id.Transaction, items []id.Booking) pg.Query {
	return pg.Query{SQL: returnItemsSQL, Args: []any{company, redemption, items}}
}

// lockCandidates reads the passes of a customer, or the one named, that can pay.
func (s *store) lockCandidates(ctx context.Context, tx *pg.Tx, company id.Company, r *redemption, today time.Time) ([]candidate, error) {
	var list []candidate
	err := tx.Pipeline(ctx, append(presentCustomer(company, r.customer), pg.Query{
		SQL: lockCandidatesSQL, Args: []any{company, r.customer, r.pass, today, r.credits(), r.eventTypes()}, Scan: collect(&list),
	})...)
	return list, err
}

// candidates reads the passes of a customer, the newest thousand of them.
func (s *store) candidates(ctx context.Context, company id.Company, customer id.Customer) ([]candidate, error) {
	list, err := pg.Rows[candidate](ctx, s.db, pg.For(company), candidatesSQL, company, customer)
	return list, pg.Fault(err, nil)
}

// candidatesIn is candidates within tx, or the pass named.
func (s *store) candidatesIn(ctx context.Context, tx *pg.Tx, company id.Company, r *redemption) ([]candidate, error) {
	sql, of := candidatesSQL, any(r.customer)
	if !r.pass.IsZero() {
		sql, of = namedCandidateSQL, r.pass
	}
	rows, err := tx.Query(ctx, sql, company, of)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[candidate])
}
