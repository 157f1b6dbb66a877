package pass

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	// The customer who holds a pass never changes.
	payerSQL = `select p.customer_id from redemptions r
			join customer_passes p on p.company_id = r.company_id and p.id = r.customer_pass_id
		where r.company_id = $1 and r.id = $2`

	redemptionChangeSQL = `select id, redemption_id, item_id, credits_before, credits_after, remaining_uses, cancelled_at, undone
		from redemption_changes where company_id = $1 and id = $2`

	addRedemptionChangeSQL = `insert into redemption_changes (company_id, id, redemption_id, item_id, credits_before, credits_after,
			remaining_uses, cancelled_at, undone, created_at)
		values (@company, @id, @redemption, @item, @before, @after, @uses, @cancelled_at, @undone, @now)`

	cancelRedemptionChangeSQL = `update redemption_changes set cancelled_at = $3, undone = $4 where company_id = $1 and id = $2`

	changeItemSQL = `update redemption_items set credits = $4 where company_id = $1 and redemption_id = $2 and item_id = $3`

	lockCandidateSQL = requestedCandidateSQL + ` for no key update of p`
)

// redemptionChangeKey is the constraint that a change violates if another transaction has stored it since
// this one looked for it.
const redemptionChangeKey = "redemption_changes_pkey"

// lockItem locks the redemption of a booking, if it exists, and reads what a change of the booking depends on.
func (s *store) lockItem(ctx context.Context, tx *pg.Tx, company id.Company, redemption id.Transaction, booking id.Booking, change id.UUID) (changedItem, error) {
	var i changedItem
	var changes []storedChange
	var items []storedItem
	var err error
	i.redemption, items, _, err = s.lockRedemption(ctx, tx, company, redemption,
		pg.Query{SQL: payerSQL, Args: []any{company, redemption}, Scan: pg.Each(func(rows pgx.Rows) error { return rows.Scan(&i.customer) })},
		pg.Query{SQL: redemptionChangeSQL, Args: []any{company, change}, Scan: pg.Collect(&changes)})
	if n := slices.IndexFunc(items, func(it storedItem) bool { return it.Item == booking }); n >= 0 {
		i.item = &items[n]
	}
	if len(changes) > 0 {
		i.change = &changes[0]
	}
	return i, err
}

// lockPayer locks the pass that paid a booking. If credits can be taken, it first locks the customer, and
// reports a deleted one as missing.
func (s *store) lockPayer(ctx context.Context, tx *pg.Tx, company id.Company, i changedItem, takes bool) (*candidate, error) {
	b := &batch{deleted: map[id.Customer]bool{}}
	var entries int64
	queries := []pg.Query{
		{SQL: lockCandidateSQL, Args: []any{company, i.item.Pass}, Scan: collectCandidates(&b.passes)}, ledgerLength(company, i.item.Pass, &entries),
	}
	if takes {
		queries = slices.Insert(queries, 0, customers.Lock(company, []id.Customer{i.customer}, b.deleted))
	}
	if err := tx.Pipeline(ctx, queries...); err != nil {
		return nil, err
	}
	if len(b.passes) == 0 {
		return nil, fault.Missing("customer pass")
	}
	b.passes[0].Entries = entries
	if takes {
		if err := s.addCustomers(ctx, tx, company, b); err != nil {
			return nil, err
		}
	}
	if b.deleted[i.customer] {
		return nil, fault.Missing("customer")
	}
	return b.passes[0], nil
}

// addRedemptionChange returns the statement that stores a new change.
func addRedemptionChange(company id.Company, now time.Time, c storedChange) pg.Query {
	return pg.Query{SQL: addRedemptionChangeSQL, Args: []any{pgx.NamedArgs{
		"company": company, "id": c.ID, "redemption": c.Redemption, "item": c.Item, "before": c.Before, "after": c.After,
		"uses": c.RemainingUses, "cancelled_at": c.CancelledAt, "undone": c.Undone, "now": now,
	}}}
}

// cancelRedemptionChange returns the statement that cancels a stored change. undone is what the
// cancellation adds to the credits of the booking.
func cancelRedemptionChange(company id.Company, change id.UUID, now time.Time, undone int32) pg.Query {
	return pg.Query{SQL: cancelRedemptionChangeSQL, Args: []any{company, change, now, undone}}
}

// changeItem returns the statement that stores the credits that a booking holds after a change.
func changeItem(company id.Company, i storedItem) pg.Query {
	return pg.Query{SQL: changeItemSQL, Args: []any{company, i.Redemption, i.Item, i.Credits}}
}
