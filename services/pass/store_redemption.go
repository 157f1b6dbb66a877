package pass

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Writes of credits. To prevent deadlocks, all of them take locks in the same order, rows of each
// kind by id:
//
//  1. one redemption that exists, to cancel it, to return its credits or to change what a booking costs
//  2. customers
//  3. passes
//  4. customers who have no row yet, with a new row
//  5. redemptions and changes of redemptions that do not exist yet, with a new row
//
// A change of what a booking costs locks the customer only if it can take credits.
//
// A change by a subscription adds the customer's row first and locks the customer, the pass and, if its
// plan has changed, the pass type. A subscription's customer has a row before the pass exists, so it adds
// none while another transaction can have the pass. No other write locks the pass type of a plan.
//
// A new row makes other transactions wait that add a row with the same key. When such a wait ends
// with a row of the other transaction, the waiting transaction is rolled back and repeated, and then
// finds the row. So nothing is locked before the decision, and a redemption is still decided once:
// of two that add its row, one does not commit.
//
// Nobody waits in a circle, except with a process of the previous release, which locks a redemption
// before its pass: PostgreSQL then ends one of the two, which is repeated. A transaction that has
// added a customer's row (4) holds passes, and can only wait for another transaction of 4 or 5;
// these add their rows by id. The other transactions that add a customer's row, to assign a pass or
// to delete the customer, never wait for a redemption or for a pass of an earlier commit. A
// transaction that waits for a new redemption or change (5) waits for one that has every other lock. A
// change is read under the lock of its redemption. If the redemption does not exist, or if a caller uses one
// identifier for two redemptions, the key of the changes decides which transaction is repeated. Repeated
// redemptions read the existing row without a lock: it never changes from a refusal to a success, and
// its pass and credits, those of the first answer, never change. Its item has what a booking holds now.

// storedRedemption is a redemption that has arrived or was cancelled before it arrived.
type storedRedemption struct {
	ID            id.Transaction  `db:"id"`
	Pass          id.CustomerPass `db:"customer_pass_id"`
	Credits       int32           `db:"credits"`
	RemainingUses int32           `db:"remaining_uses"`
	CancelledAt   *time.Time      `db:"cancelled_at"`
}

// storedItem is the credits that one booking took, and took or returned in changes since then.
type storedItem struct {
	Redemption id.Transaction  `db:"redemption_id"`
	Item       id.Booking      `db:"item_id"`
	Pass       id.CustomerPass `db:"customer_pass_id"`
	Credits    int32           `db:"credits"`
	Returned   int32           `db:"returned"`
	ReturnedAt *time.Time      `db:"returned_at"`
}

// isReturned reports whether the credits were returned, also if there were none. The previous release
// does not store the time.
func (i storedItem) isReturned() bool { return i.ReturnedAt != nil || i.Returned > 0 }

const (
	redemptionsSQL = `select id, customer_pass_id, credits, remaining_uses, cancelled_at from redemptions
		where company_id = $1 and id = any($2)`

	lockRedemptionSQL = redemptionsSQL + ` for update`

	addRedemptionsSQL = `insert into redemptions (company_id, id, customer_pass_id, credits, remaining_uses, cancelled_at, created_at)
		select $1, n.id, n.customer_pass_id, n.credits, n.remaining_uses, n.cancelled_at, $2
		from unnest($3::uuid[], $4::uuid[], $5::integer[], $6::integer[], $7::timestamptz[])
			n(id, customer_pass_id, credits, remaining_uses, cancelled_at)
		order by n.id`

	cancelRedemptionSQL = `update redemptions set cancelled_at = $3 where company_id = $1 and id = $2`

	addItemsSQL = `insert into redemption_items (company_id, redemption_id, item_id, customer_pass_id, credits, returned, returned_at)
		select $1, n.redemption_id, n.item_id, n.customer_pass_id, n.credits, n.returned, n.returned_at
		from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::integer[], $6::integer[], $7::timestamptz[])
			n(redemption_id, item_id, customer_pass_id, credits, returned, returned_at)`

	itemsSQL = `select redemption_id, item_id, customer_pass_id, credits, returned, returned_at from redemption_items
		where company_id = $1 and redemption_id = $2 order by item_id`

	returnItemsSQL = `update redemption_items set returned = credits, returned_at = $4
		where company_id = $1 and redemption_id = $2 and item_id = any($3)`

	candidateColumns = passColumns + `, t.title, t.eligible_event_types`

	candidatesSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.customer_id = $2 order by p.created_at desc, p.id desc limit 1000`

	// The passes that can pay for a redemption, by their status, last day and uses. Each pass is
	// found along one index and locked along another, even if the planner has no statistics.
	lockCandidatesSQL = `select ` + candidateColumns + `
		from (select distinct q.id from unnest($2::uuid[], $3::uuid[], $4::date[], $5::integer[]) r(customer_id, customer_pass_id, day, credits)
			cross join lateral (select q.id from customer_passes q where q.company_id = $1 and q.customer_id = r.customer_id
				and q.status = 'active' and (r.customer_pass_id is null or r.customer_pass_id = q.id)
				and r.day <= q.expiry_date and (q.unlimited_uses or greatest(r.credits, 1) <= q.remaining_uses) offset 0) q order by q.id) n
		cross join lateral (select * from customer_passes p where p.company_id = $1 and p.id = n.id and p.status = 'active' for no key update) p
		cross join lateral (select t.title, t.eligible_event_types from pass_types t
			where t.company_id = $1 and t.id = p.pass_type_id offset 0) t`

	// The lengths of the ledgers of the passes that lockCandidatesSQL has locked.
	candidateLedgersSQL = `select n.id, (select coalesce(max(l.sequence), 0) from ledger_entries l where l.company_id = $1 and l.customer_pass_id = n.id)
		from (select distinct q.id from unnest($2::uuid[], $3::uuid[], $4::date[], $5::integer[]) r(customer_id, customer_pass_id, day, credits)
			cross join lateral (select q.id from customer_passes q where q.company_id = $1 and q.customer_id = r.customer_id
				and q.status = 'active' and (r.customer_pass_id is null or r.customer_pass_id = q.id)
				and r.day <= q.expiry_date and (q.unlimited_uses or greatest(r.credits, 1) <= q.remaining_uses) offset 0) q) n`

	requestedCandidateSQL = `select ` + candidateColumns + `
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.id = $2`
)

// redemptionKey is the constraint that a redemption violates if another transaction has added it
// since this one looked for it.
const redemptionKey = "redemptions_pkey"

// passTypeKey and customerPassKey are the same for the pass type of a plan and the pass of a subscription.
const (
	passTypeKey     = "pass_types_pkey"
	customerPassKey = "customer_passes_pkey"
)

// errStoredMeanwhile is the fault of a violated key. No caller sees it.
func errStoredMeanwhile() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "another request has stored the same row")
}

// writeRepeatedly is Write for transactions that add rows with keys of the caller: redemptions, pass types
// of plans and passes of subscriptions. It repeats those that come second. These rows are never removed,
// so each attempt finds more of them.
func (s *store) writeRepeatedly(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	for {
		if err := s.Write(ctx, company, fn); !errors.Is(err, errStoredMeanwhile()) {
			return err
		}
	}
}

// lockRedemption locks a redemption until the end of tx. It reports whether it exists. more are queries
// that it runs after that.
func (s *store) lockRedemption(ctx context.Context, tx *pg.Tx, company id.Company, redemption id.Transaction, more ...pg.Query) (r storedRedemption, items []storedItem, exists bool, err error) {
	var found []storedRedemption
	err = tx.Pipeline(ctx, append([]pg.Query{
		{SQL: lockRedemptionSQL, Args: []any{company, []id.Transaction{redemption}}, Scan: pg.Collect(&found)},
		{SQL: itemsSQL, Args: []any{company, redemption}, Scan: pg.Collect(&items)},
	}, more...)...)
	if err != nil || len(found) == 0 {
		return storedRedemption{ID: redemption}, nil, false, err
	}
	return found[0], items, true, nil
}

// addRedemptions returns the statement that stores new redemptions.
func addRedemptions(company id.Company, now time.Time, list ...storedRedemption) pg.Query {
	n := len(list)
	ids, passes := make([]id.Transaction, n), make([]id.CustomerPass, n)
	credits, left, cancelled := make([]int32, n), make([]int32, n), make([]*time.Time, n)
	for i, r := range list {
		ids[i], passes[i], credits[i], left[i], cancelled[i] = r.ID, r.Pass, r.Credits, r.RemainingUses, r.CancelledAt
	}
	return pg.Query{SQL: addRedemptionsSQL, Args: []any{company, now, ids, passes, credits, left, cancelled}}
}

// addItems returns the statement that stores the credits that bookings took.
func addItems(company id.Company, items []storedItem) pg.Query {
	n := len(items)
	redemptions, ids, passes := make([]id.Transaction, n), make([]id.Booking, n), make([]id.CustomerPass, n)
	credits, returned, returnedAt := make([]int32, n), make([]int32, n), make([]*time.Time, n)
	for i, item := range items {
		redemptions[i], ids[i], passes[i] = item.Redemption, item.Item, item.Pass
		credits[i], returned[i], returnedAt[i] = item.Credits, item.Returned, item.ReturnedAt
	}
	return pg.Query{SQL: addItemsSQL, Args: []any{company, redemptions, ids, passes, credits, returned, returnedAt}}
}

func cancelRedemption(company id.Company, redemption id.Transaction, now time.Time) pg.Query {
	return pg.Query{SQL: cancelRedemptionSQL, Args: []any{company, redemption, now}}
}

func returnItems(company id.Company, redemption id.Transaction, items []id.Booking, now time.Time) pg.Query {
	return pg.Query{SQL: returnItemsSQL, Args: []any{company, redemption, items, now}}
}

// lockBatch reads what redemptions depend on, and locks the customers and the passes that can pay.
func (s *store) lockBatch(ctx context.Context, tx *pg.Tx, company id.Company, redemptions []*redemption, at moment) (*batch, error) {
	b := &batch{redemptions: redemptions, stored: map[id.Transaction]storedRedemption{}, deleted: map[id.Customer]bool{}}
	n := len(redemptions)
	ids, holders, passes := make([]id.Transaction, n), make([]id.Customer, n), make([]id.CustomerPass, n)
	days, credits := make([]time.Time, n), make([]int32, n)
	for i, r := range redemptions {
		ids[i], holders[i], passes[i], days[i], credits[i] = r.id, r.customer, r.pass, r.period(at).last, r.credits()
	}
	err := tx.Pipeline(ctx, pg.ByIndex(),
		customers.Lock(company, holders, b.deleted),
		pg.Query{SQL: lockCandidatesSQL, Args: []any{company, holders, passes, days, credits}, Scan: collectCandidates(&b.passes)},
		pg.Query{SQL: candidateLedgersSQL, Args: []any{company, holders, passes, days, credits}, Scan: pg.Each(b.scanLength)},
		pg.Query{SQL: redemptionsSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			r, err := pgx.RowToStructByName[storedRedemption](rows)
			b.stored[r.ID] = r
			return err
		})})
	if err != nil {
		return nil, err
	}
	return b, s.addCustomers(ctx, tx, company, b)
}

// scanLength reads the length of the ledger of a locked pass.
func (b *batch) scanLength(rows pgx.Rows) error {
	var pass id.CustomerPass
	var entries int64
	err := rows.Scan(&pass, &entries)
	for _, p := range b.passes {
		if p.ID == pass {
			p.Entries = entries
		}
	}
	return err
}

// addCustomers adds the missing rows of customers who have passes, and locks them. Only customers
// whose passes were all assigned by an early release have none.
func (s *store) addCustomers(ctx context.Context, tx *pg.Tx, company id.Company, b *batch) error {
	var missing []id.Customer
	for _, p := range b.passes {
		if _, known := b.deleted[p.CustomerID]; !known && !slices.Contains(missing, p.CustomerID) {
			missing = append(missing, p.CustomerID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err := tx.Pipeline(ctx, customers.Add(company, missing), customers.Lock(company, missing, b.deleted))
	for _, customer := range missing {
		if _, locked := b.deleted[customer]; !locked {
			b.deleted[customer] = true
		}
	}
	return err
}

// candidates returns the newest 1000 passes of a customer.
func (s *store) candidates(ctx context.Context, company id.Company, customer id.Customer) (list []*candidate, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: candidatesSQL, Args: []any{company, customer}, Scan: collectCandidates(&list)})
	return list, err
}

func collectCandidates(into *[]*candidate) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[candidate])
		return err
	}
}

// reasonOf returns the query for the reason why no pass of the customer can pay for a redemption or,
// if the request has a pass, why that pass cannot. It sets reason.
func reasonOf(company id.Company, r *redemption, at moment, reason *error) pg.Query {
	query := pg.Query{SQL: candidatesSQL, Args: []any{company, r.customer}}
	if !r.pass.IsZero() {
		query.SQL, query.Args[1] = requestedCandidateSQL, r.pass
	}
	query.Scan = func(rows pgx.Rows) error {
		var passes []*candidate
		err := collectCandidates(&passes)(rows)
		*reason = r.reason(passes, at)
		return err
	}
	return query
}
