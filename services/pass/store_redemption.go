package pass

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Writes of credits. To prevent deadlocks, all statements take locks in the same order: the
// redemption, then the customer, then passes by id.

// storedRedemption is a redemption that has arrived or was cancelled before it arrived.
type storedRedemption struct {
	ID            id.Transaction  `db:"id"`
	Pass          id.CustomerPass `db:"customer_pass_id"`
	Credits       int32           `db:"credits"`
	RemainingUses int32           `db:"remaining_uses"`
	CancelledAt   *time.Time      `db:"cancelled_at"`
}

// storedItem is the credits that one booking took.
type storedItem struct {
	Item     id.Booking      `db:"item_id"`
	Pass     id.CustomerPass `db:"customer_pass_id"`
	Credits  int32           `db:"credits"`
	Returned int32           `db:"returned"`
}

const (
	// Waits for a concurrent request of the same redemption to end.
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

	// The passes that can pay, as far as their rows show, in the lock order that all statements
	// use.
	lockCandidatesSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.customer_id = $2 and ($3::uuid is null or p.id = $3)
			and p.status = 'active' and p.start_date <= $4 and p.expiry_date >= $5 and p.remaining_uses >= $6
			and (cardinality(t.eligible_event_types) = 0 or t.eligible_event_types @> $7)
		order by p.id for no key update of p`

	requestedCandidateSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.id = $2`
)

// claim creates a redemption, or locks the existing one.
func (s *store) claim(ctx context.Context, tx *pg.Tx, company id.Company, redemption id.Transaction, now time.Time) (r storedRedemption, isNew bool, err error) {
	tag, err := tx.Exec(ctx, claimRedemptionSQL, company, redemption, now)
	if err != nil || tag.RowsAffected() == 1 {
		return storedRedemption{ID: redemption}, true, err
	}
	r, err = pg.GetInTx[storedRedemption](ctx, tx, "redemption", lockRedemptionSQL, company, redemption)
	return r, false, err
}

func saveRedemption(company id.Company, r storedRedemption) pg.Query {
	return pg.Query{SQL: saveRedemptionSQL, Args: []any{company, r.ID, r.Pass, r.Credits, r.RemainingUses, r.CancelledAt}}
}

// items returns the items of a redemption.
func (s *store) items(ctx context.Context, tx *pg.Tx, company id.Company, redemption id.Transaction) ([]storedItem, error) {
	rows, err := tx.Query(ctx, itemsSQL, company, redemption)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[storedItem])
}

// addItems returns the statement that stores the credits that bookings took from a pass.
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

// lockCandidates reads and locks the passes that can pay: passes of the customer, or only the pass
// in the request.
func (s *store) lockCandidates(ctx context.Context, tx *pg.Tx, company id.Company, r *redemption, when period) ([]candidate, error) {
	var list []candidate
	err := tx.Pipeline(ctx, append(presentCustomer(company, r.customer), pg.Query{
		SQL: lockCandidatesSQL, Args: []any{company, r.customer, r.pass, when.first, when.last, r.credits(), r.eventTypes()}, Scan: pg.Collect(&list),
	})...)
	return list, err
}

// candidates returns the newest 1000 passes of a customer.
func (s *store) candidates(ctx context.Context, company id.Company, customer id.Customer) (list []candidate, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: candidatesSQL, Args: []any{company, customer}, Scan: pg.Collect(&list)})
	return list, err
}

// candidatesIn returns candidates within tx, or only the pass in the request.
func (s *store) candidatesIn(ctx context.Context, tx *pg.Tx, company id.Company, r *redemption) (list []candidate, err error) {
	query := pg.Query{SQL: candidatesSQL, Args: []any{company, r.customer}, Scan: pg.Collect(&list)}
	if !r.pass.IsZero() {
		query.SQL, query.Args[1] = requestedCandidateSQL, r.pass
	}
	err = tx.Pipeline(ctx, query)
	return list, err
}
