package booking

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
)

// What has places and is not confirmed loses them when its time is up.

const (
	releaseSQL = `update transactions set status = 'released' where company_id = $1 and id = any($2)`

	lockUnconfirmedSQL = `select id, discount_code_id from transactions where company_id = $1 and id = any($2) and status = any($3)
		order by id for no key update`

	placesSQL = `select event_date_id, sum(spaces)::integer from bookings where company_id = $1 and transaction_id = any($2)
		group by event_date_id order by event_date_id`

	lockDatesAloneSQL = `select id from event_dates where company_id = $1 and id = any($2) order by id for no key update`

	lockUsedCodesSQL = `select id from discount_codes where company_id = $1 and id = any($2) order by id for no key update`

	givePlacesSQL = `update event_dates d set booked = d.booked - n.spaces from unnest($2::uuid[], $3::integer[]) n(id, spaces)
		where d.company_id = $1 and d.id = n.id`

	giveUsesSQL = `update discount_codes c set uses = c.uses - n.uses
		from (select x.id, count(*)::integer as uses from unnest($2::uuid[]) x(id) group by x.id) n
		where c.company_id = $1 and c.id = n.id`
)

// release takes the places of a transaction away, if it still has the status. Its
// discount code can be used once more, and its places go to those who wait.
func (s *Server) release(ctx context.Context, company id.Company, t id.Transaction, from ...status) error {
	return s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := s.releaseIn(ctx, tx, company, []id.Transaction{t}, from...)
		return err
	})
}

// releaseIn is release of several within tx, and says how many it were. Locks are
// taken in the order of all: transactions, dates, discount codes.
func (s *Server) releaseIn(ctx context.Context, tx *pg.Tx, company id.Company, all []id.Transaction, from ...status) (int, error) {
	var ids []id.Transaction
	var codes []id.DiscountCode
	err := tx.Pipeline(ctx, pg.Query{SQL: lockUnconfirmedSQL, Args: []any{company, all, statusTexts(from)}, Scan: each(func(rows pgx.Rows) error {
		var t id.Transaction
		var code id.DiscountCode
		if err := rows.Scan(&t, &code); err != nil {
			return err
		}
		ids = append(ids, t)
		if !code.IsZero() {
			codes = append(codes, code)
		}
		return nil
	})})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	var dates []id.EventDate
	var spaces []int32
	err = tx.Pipeline(ctx, pg.Query{SQL: placesSQL, Args: []any{company, ids}, Scan: each(func(rows pgx.Rows) error {
		var d id.EventDate
		var n int32
		err := rows.Scan(&d, &n)
		dates, spaces = append(dates, d), append(spaces, n)
		return err
	})})
	if err != nil {
		return 0, err
	}
	queries := []pg.Query{
		{SQL: releaseSQL, Args: []any{company, ids}},
		{SQL: lockDatesAloneSQL, Args: []any{company, dates}},
		{SQL: givePlacesSQL, Args: []any{company, dates, spaces}},
	}
	if len(codes) > 0 {
		args := []any{company, codes}
		queries = append(queries, pg.Query{SQL: lockUsedCodesSQL, Args: args}, pg.Query{SQL: giveUsesSQL, Args: args})
	}
	var waited []*waiter
	queries = append(queries, pg.Query{SQL: releaseWaitersSQL, Args: []any{company, ids, s.now()}, Scan: scanWaiters(&waited)})
	if err := tx.Pipeline(ctx, queries...); err != nil {
		return 0, err
	}
	return len(ids), s.promoteReleased(ctx, tx, company, dates, waited)
}

const holdsOfDateSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'held' and t.id in (
		select b.transaction_id from bookings b where b.company_id = $1 and b.event_date_id = $2) order by t.id limit $3`

// releaseHolds releases holds that have places of a date, up to a batch, and says
// how many it were.
func (s *Server) releaseHolds(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) (int, error) {
	var holds []id.Transaction
	err := tx.Pipeline(ctx, pg.Query{SQL: holdsOfDateSQL, Args: []any{company, date, cancelBatch}, Scan: each(func(rows pgx.Rows) error {
		var t id.Transaction
		err := rows.Scan(&t)
		holds = append(holds, t)
		return err
	})})
	if err != nil || len(holds) == 0 {
		return 0, err
	}
	return s.releaseIn(ctx, tx, company, holds, held)
}

func statusTexts(list []status) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

const beforehandSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.id = $2 and t.status = $3)` + selectBookings + inOrder

const unconfirmedPurchaserSQL = `select c.id, c.first_name, c.last_name, c.email, c.deleted_at is not null as deleted
	from customers c where c.company_id = $1 and c.id = (select t.purchaser_id from transactions t where t.company_id = $1 and t.id = $2)`

// unconfirmed reads a transaction that readers do not see; fault.NotFound where it
// does not have the status.
func (s *store) unconfirmed(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction, as status) (*Transaction, error) {
	var l listing
	err := tx.Pipeline(ctx,
		pg.Query{SQL: beforehandSQL, Args: []any{company, which, string(as)}, Scan: l.scanTransactions},
		pg.Query{SQL: unconfirmedPurchaserSQL, Args: []any{company, which}, Scan: l.scanPurchaser})
	if err != nil {
		return nil, err
	}
	if len(l.transactions) == 0 {
		return nil, fault.Missing("transaction")
	}
	return &l.named().transactions[0], nil
}

// confirmations are the events of a transaction that has become visible.
func confirmations(t *Transaction) []outbox.Event {
	events := make([]outbox.Event, len(t.Bookings))
	for i := range t.Bookings {
		events[i] = bookingConfirmed(snapshotToProto(t, &t.Bookings[i]))
	}
	return events
}

const (
	// expiriesEvery is how often what has expired is looked for.
	expiriesEvery = time.Second
	// expiryBatch is how many expired transactions share a commit.
	expiryBatch = 200
	// callsAtOnce is how many calls of the pass service wait for it at a time.
	callsAtOnce = 8
	// undoTime is how long an undoing belongs to the process that does it.
	undoTime = 30 * time.Second
	// keptReleased is how long what was released is kept.
	keptReleased = 24 * time.Hour

	expiredHoldsSQL = `select company_id, id from transactions where status = 'held' and expires_at <= $1
		order by expires_at limit $2`

	// Whoever marks them first undoes them; a process that dies while doing so is
	// followed by another.
	claimUndoingSQL = `update transactions t set status = 'undoing', expires_at = $2 from (
			select company_id, id from transactions where status in ('pending', 'undoing') and expires_at <= $1
			order by expires_at limit $3 for no key update skip locked) due
		where t.company_id = due.company_id and t.id = due.id returning t.company_id, t.id`

	removeReleasedSQL = `with gone as (delete from transactions where (company_id, id) in (
			select company_id, id from transactions where status = 'released' and expires_at <= $1 limit 1000 for update skip locked)
			returning company_id, id),
		keys as (delete from purchase_keys k using gone where k.company_id = gone.company_id and k.transaction_id = gone.id)
		delete from bookings b using gone where b.company_id = gone.company_id and b.transaction_id = gone.id`

	removeKeysSQL = `delete from purchase_keys where created_at <= $1`
)

// Expire gives back what has expired, undoes purchases by pass that a crash left,
// and sees to it that credits which are owed get back, until ctx ends. Any number
// of processes may do it at once. A pass service that is slow holds up nothing but
// what waits for it.
func (s *Server) Expire(ctx context.Context, jobs *service.Jobs) error {
	var wg sync.WaitGroup
	for name, once := range map[string]func(context.Context) error{
		"expire_holds": s.expireHolds, "undo_pending": s.undoPending, "return_credits": s.returnDue,
		"remove_released": s.removeReleased, "promote_waiting": s.promoteDue,
	} {
		wg.Go(func() { _ = jobs.Every(ctx, name, expiriesEvery, once) })
	}
	wg.Wait()
	return nil
}

// atOnce does f for each of all, some of them at a time.
func atOnce[T any](all []T, f func(T) error) error {
	faults := make([]error, len(all))
	turns := make(chan struct{}, callsAtOnce)
	var wg sync.WaitGroup
	for n, one := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			faults[n] = f(one)
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// owned is a transaction of some company.
type owned struct {
	company id.Company
	id      id.Transaction
}

func (s *Server) expireOnce(ctx context.Context) error {
	return errors.Join(s.expireHolds(ctx), s.undoPending(ctx), s.returnDue(ctx), s.removeReleased(ctx), s.promoteDue(ctx))
}

// expireHolds releases holds whose time is up.
func (s *Server) expireHolds(ctx context.Context) error {
	var due []owned
	err := s.store.db.Read(ctx, pg.AllCompanies(), pg.Query{SQL: expiredHoldsSQL, Args: []any{s.now(), expiryBatch}, Scan: scanOwned(&due)})
	if err != nil {
		return s.store.fault(err)
	}
	byCompany := map[id.Company][]id.Transaction{}
	for _, o := range due {
		byCompany[o.company] = append(byCompany[o.company], o.id)
	}
	var faults []error
	for company, ids := range byCompany {
		released := 0
		err := s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
			released, err = s.releaseIn(ctx, tx, company, ids, held)
			return err
		})
		if err == nil {
			s.metrics.expired.Add(float64(released))
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// undoPending undoes purchases by pass whose time is up: the credits first, then
// the places.
func (s *Server) undoPending(ctx context.Context) error {
	var due []owned
	err := s.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		due = nil
		now := s.now()
		return tx.Pipeline(ctx, pg.Query{SQL: claimUndoingSQL, Args: []any{now, now.Add(undoTime), expiryBatch}, Scan: scanOwned(&due)})
	})
	if err != nil {
		return s.store.fault(err)
	}
	return atOnce(due, func(o owned) error {
		if err := s.passes.Cancel(ctx, o.company, o.id); err != nil {
			return err
		}
		err := s.release(ctx, o.company, o.id, undoing)
		if err == nil {
			s.metrics.undone.Inc()
		}
		return err
	})
}

func (s *Server) removeReleased(ctx context.Context) error {
	return s.store.fault(s.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, removeReleasedSQL, s.now().Add(-keptReleased))
		if err == nil {
			_, err = tx.Exec(ctx, removeKeysSQL, s.now().Add(-2*keptReleased))
		}
		return err
	}))
}

func scanOwned(into *[]owned) func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error {
		var o owned
		err := rows.Scan(&o.company, &o.id)
		*into = append(*into, o)
		return err
	})
}

// creditReturn is what a booking gives back to a pass.
type creditReturn struct {
	company     id.Company
	booking     id.Booking
	transaction id.Transaction
	pass        id.CustomerPass
	credits     int32
}

const (
	oweCreditsSQL = `insert into credit_returns (company_id, booking_id, transaction_id, customer_pass_id, credits, due_at)
		select $1, n.booking_id, n.transaction_id, n.customer_pass_id, n.credits, $2
		from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::integer[]) n(booking_id, transaction_id, customer_pass_id, credits)
		on conflict (company_id, booking_id) do nothing`

	// A return that fails is tried again after a while, by whoever looks first.
	claimReturnsSQL = `update credit_returns r set due_at = $2 from (
			select company_id, booking_id from credit_returns where due_at <= $1 order by due_at limit $3 for no key update skip locked) due
		where r.company_id = due.company_id and r.booking_id = due.booking_id
		returning r.company_id, r.booking_id, r.transaction_id, r.customer_pass_id, r.credits`

	returnedSQL = `delete from credit_returns where company_id = $1 and booking_id = $2`

	// returnAhead is how long the request that owes credits has to return them
	// itself.
	returnAhead = 5 * time.Second
	returnAgain = 10 * time.Second
	// returnWait is how long a request waits for credits to be back.
	returnWait = 2 * time.Second
)

// owe records in tx that bookings give their credits back.
func (s *Server) owe(ctx context.Context, tx *pg.Tx, company id.Company, returns []creditReturn) error {
	if len(returns) == 0 {
		return nil
	}
	var bookings []id.Booking
	var transactions []id.Transaction
	var passes []id.CustomerPass
	var credits []int32
	for _, r := range returns {
		bookings, transactions = append(bookings, r.booking), append(transactions, r.transaction)
		passes, credits = append(passes, r.pass), append(credits, r.credits)
	}
	_, err := tx.Exec(ctx, oweCreditsSQL, company, s.now().Add(returnAhead), bookings, transactions, passes, credits)
	return err
}

// owes is what b gives back when it is refunded; false: nothing.
func owes(company id.Company, t *Transaction, b *Booking) (creditReturn, bool) {
	p := &b.Payment
	if p.Method != Pass || p.Credits == 0 || p.CustomerPass.IsZero() {
		return creditReturn{}, false
	}
	return creditReturn{company: company, booking: b.ID, transaction: t.ID, pass: p.CustomerPass, credits: p.Credits}, true
}

// returning returns credits that are committed as owed, while nobody waits.
func (s *Server) returning(returns []creditReturn) {
	if len(returns) > 0 {
		go s.giveBack(context.Background(), returns)
	}
}

// giveBack returns credits that were committed as owed, if it can be done at once;
// what fails is left to the job.
func (s *Server) giveBack(ctx context.Context, returns []creditReturn) {
	if len(returns) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnWait)
	defer cancel()
	for _, r := range returns {
		if s.returnOne(ctx, r) != nil {
			return
		}
	}
}

func (s *Server) returnOne(ctx context.Context, r creditReturn) error {
	err := s.passes.Return(ctx, r.company, r)
	if f := fault.From(err); f != nil && f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return err
	}
	// What the pass service does not know cannot be returned to it.
	return s.store.inTx(ctx, r.company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, returnedSQL, r.company, r.booking)
		return err
	})
}

// returnDue returns credits whose request did not.
func (s *Server) returnDue(ctx context.Context) error {
	var due []creditReturn
	err := s.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		due = nil
		now := s.now()
		return tx.Pipeline(ctx, pg.Query{SQL: claimReturnsSQL, Args: []any{now, now.Add(returnAgain), expiryBatch}, Scan: each(func(rows pgx.Rows) error {
			var r creditReturn
			err := rows.Scan(&r.company, &r.booking, &r.transaction, &r.pass, &r.credits)
			due = append(due, r)
			return err
		})})
	})
	if err != nil {
		return s.store.fault(err)
	}
	return atOnce(due, func(r creditReturn) error { return s.returnOne(ctx, r) })
}
