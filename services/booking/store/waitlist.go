package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	"reservation.dev/services/booking/model"
)

const (
	waiterColumns = `w.id, w.seq, w.event_id, w.event_date_id, w.customer_id, w.spaces, w.mode, w.pricing_option_id, w.method,
		w.customer_pass_id, w.offer_minutes, w.timezone, w.state, w.transaction_id, coalesce(w.offer_expires_at, 'epoch'),
		coalesce(w.passed_over_reason, ''), coalesce(w.passed_over_at, 'epoch'), w.joined_at, w.updated_at, w.version`

	// datedWaiters reads entries with their dates, without positions.
	datedWaiters = `select ` + waiterColumns + `, d.starts_at, d.status, 0::bigint
		from waitlist_entries w join event_dates d on d.company_id = w.company_id and d.id = w.event_date_id
		where w.company_id = $1`

	insertWaiterSQL = `insert into waitlist_entries (company_id, id, event_id, event_date_id, customer_id, spaces, mode, pricing_option_id,
			method, customer_pass_id, offer_minutes, timezone, joined_at, updated_at, closes_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14)`

	selectWaiter = `select ` + waiterColumns + `, d.starts_at, d.status, (
				select count(*) from waitlist_entries x where x.company_id = $1 and x.event_date_id = w.event_date_id
					and x.state in ('waiting', 'booking') and x.seq <= w.seq)
		from waitlist_entries w join event_dates d on d.company_id = w.company_id and d.id = w.event_date_id
		where w.company_id = $1 and `

	waiterSQL = selectWaiter + `w.id = $2`

	lockWaiterOfferSQL = `select id from transactions where company_id = $1
		and id = (select transaction_id from waitlist_entries where company_id = $1 and id = $2) for no key update`

	lockWaiterDateSQL = `select from event_dates where company_id = $1
		and id = (select event_date_id from waitlist_entries where company_id = $1 and id = $2) for no key update`

	// Waiting entries that fit the free spaces, in waitlist order. After a refused entry, the
	// search continues behind it. It also returns to earlier entries that needed more spaces than
	// were free, but not to refused ones, so the rounds end.
	candidatesSQL = `select ` + waiterColumns + `, d.starts_at, d.status, 0::bigint
		from unnest($2::uuid[], $3::bigint[], $6::bigint[]) n(id, behind, refused)
		join event_dates d on d.company_id = $1 and d.id = n.id and d.status = 'scheduled' and not d.draft and d.starts_at > $4
			and ` + canServe + `
		join events e on e.company_id = $1 and e.id = d.event_id and e.status = 'published' and e.deleted_at is null
		join lateral (select * from waitlist_entries w where w.company_id = $1 and w.event_date_id = d.id and w.state = 'waiting'
			and w.seq > n.behind and (w.seq > n.refused or w.seq < n.refused and coalesce(w.passed_over_reason, $7) = $7)
			and (d.capacity is null or w.spaces <= d.capacity - d.booked)
			order by w.seq limit $5 for no key update) w on true
		order by w.event_date_id, w.seq`

	saveWaitersSQL = `update waitlist_entries w set state = n.state, transaction_id = n.transaction_id, offer_expires_at = n.offer_expires_at,
			passed_over_reason = n.passed_over_reason, passed_over_at = n.passed_over_at, version = n.version, updated_at = n.updated_at
		from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::timestamptz[], $6::text[], $7::timestamptz[], $8::bigint[], $9::timestamptz[])
			n(company_id, id, state, transaction_id, offer_expires_at, passed_over_reason, passed_over_at, version, updated_at)
		where w.company_id = n.company_id and w.id = n.id`

	overtakenSQL = `select ` + waiterColumns + `, d.starts_at, d.status, 0::bigint
		from unnest($2::uuid[], $3::bigint[]) n(id, last)
		join event_dates d on d.company_id = $1 and d.id = n.id
		join waitlist_entries w on w.company_id = $1 and w.event_date_id = n.id and w.state = 'waiting' and w.seq < n.last
			and w.passed_over_reason is null
		order by w.event_date_id, w.seq for no key update of w`

	// An entry with a transaction is changed under the lock of the transaction.
	lockReleasedWaitersSQL = `select ` + waiterColumns + `, d.starts_at, d.status, 0::bigint,
			exists (select from customers c where c.company_id = $1 and c.id = w.customer_id and c.deleted_at is not null)
		from waitlist_entries w join event_dates d on d.company_id = w.company_id and d.id = w.event_date_id
		where w.company_id = $1 and w.transaction_id is not null and w.transaction_id` + pg.AmongIDs + ` and w.state in ('offered', 'booking')
		order by w.id for no key update of w`

	refuseWaiterSQL = `update waitlist_entries set passed_over_reason = $3
		where company_id = $1 and transaction_id = $2 and state = 'booking'`

	lockDatesOfWaitersSQL = `select d.id from event_dates d where d.id in (select w.event_date_id
			from unnest($1::uuid[], $2::uuid[]) n(company_id, id)
			join waitlist_entries w on w.company_id = n.company_id and w.customer_id = n.id and w.state = 'waiting')
			and d.company_id = any($1)
		order by d.id for no key update`

	// Entries of deleted customers, in the order in which spaces are given to entries.
	lockWaitersOfSQL = `select ` + waiterColumns + `, d.starts_at, d.status, 0::bigint, w.company_id,
			coalesce((select c.clock_offset_seconds from companies c where c.company_id = w.company_id), 0)
		from unnest($1::uuid[], $2::uuid[]) n(company_id, id)
		join waitlist_entries w on w.company_id = n.company_id and w.customer_id = n.id and w.state = 'waiting'
		join event_dates d on d.company_id = w.company_id and d.id = w.event_date_id
		order by w.event_date_id, w.seq for no key update of w`

	promotingSQL = `update event_dates set promoting = $3 where company_id = $1 and id = any($2)`

	// In random order, so that a date that cannot be served does not block the others.
	ToPromoteSQL = `(select company_id, id from event_dates where promoting order by random() limit $3)
		union
		(select w.company_id, w.event_date_id from waitlist_entries w` + servable + ` and d.starts_at > $1
			where w.state = 'waiting' and w.passed_over_reason = '` + model.PassedOverPassAway + `' and w.passed_over_at <= $2
			group by 1, 2 order by 2 limit 2 * $3)
		union
		(select w.company_id, w.event_date_id` + awayByClock + servable + ` and d.starts_at > c.now group by 1, 2 order by random() limit $3)`

	// servable joins the published events of entries that fit the free spaces.
	servable = ` join event_dates d on d.company_id = w.company_id and d.id = w.event_date_id and d.status = 'scheduled' and not d.draft
				and (d.capacity is null or w.spaces <= d.capacity - d.booked)
			join events e on e.company_id = d.company_id and e.id = d.event_id and e.status = 'published' and e.deleted_at is null`
)

func scanWaiters(into *[]*model.WaitlistEntry) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		w, err := scanWaiter(rows)
		*into = append(*into, w)
		return err
	})
}

// scanReleased scans entries that report whether their customers are deleted.
func scanReleased(into *[]*model.WaitlistEntry) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		gone := false
		w, err := scanWaiter(rows, &gone)
		w.CustomerGone = gone
		*into = append(*into, w)
		return err
	})
}

// scanWaiter scans an entry, and further columns after it.
func scanWaiter(rows pgx.Rows, further ...any) (*model.WaitlistEntry, error) {
	var w model.WaitlistEntry
	fields := []any{&w.ID, &w.Seq, &w.Event, &w.Date, &w.Customer, &w.Spaces, &w.Mode, &w.Option, &w.Method,
		&w.Pass, &w.OfferMinutes, &w.Timezone, &w.State, &w.Transaction, &w.OfferExpiresAt,
		&w.PassedOver, &w.PassedOverAt, &w.JoinedAt, &w.UpdatedAt, &w.Version, &w.StartsAt, &w.DateStatus, &w.Position}
	err := rows.Scan(append(fields, further...)...)
	w.OfferExpiresAt, w.PassedOverAt = unlessEpoch(w.OfferExpiresAt), unlessEpoch(w.PassedOverAt)
	return &w, err
}

func unlessEpoch(t time.Time) time.Time {
	if t.Unix() == 0 {
		return time.Time{}
	}
	return t
}

// AddWaitlistEntry stores a new entry.
func (s *Store) AddWaitlistEntry(ctx context.Context, tx *pg.Tx, company id.Company, w *model.WaitlistEntry) error {
	_, err := tx.Exec(ctx, insertWaiterSQL, company, w.ID, w.Event, w.Date, w.Customer, w.Spaces, string(w.Mode), w.Option,
		string(w.Method), w.Pass, w.OfferMinutes, w.Timezone, w.JoinedAt, w.StartsAt)
	return err
}

// WaitlistEntry reads an entry. It returns fault.NotFound if it does not exist.
func (s *Store) WaitlistEntry(ctx context.Context, company id.Company, which id.WaitlistEntry) (*model.WaitlistEntry, error) {
	var found []*model.WaitlistEntry
	err := s.ReadOf(ctx, company, pg.Query{SQL: waiterSQL, Args: []any{company, which}, Scan: scanWaiters(&found)})
	return theWaiter(found, err)
}

// WaitlistEntryInTx is WaitlistEntry within tx.
func (s *Store) WaitlistEntryInTx(ctx context.Context, tx *pg.Tx, company id.Company, which id.WaitlistEntry) (*model.WaitlistEntry, error) {
	var found []*model.WaitlistEntry
	err := tx.Pipeline(ctx, pg.Query{SQL: waiterSQL, Args: []any{company, which}, Scan: scanWaiters(&found)})
	return theWaiter(found, err)
}

// LockWaitlistEntry reads an entry, and locks its transaction and its date until the end of tx. A
// transaction that changes the entry needs one of these locks. If the entry was served before the date was locked, its
// transaction is not locked, and tx must be repeated.
func (s *Store) LockWaitlistEntry(ctx context.Context, tx *pg.Tx, company id.Company, which id.WaitlistEntry) (*model.WaitlistEntry, error) {
	var locked id.Transaction
	var found []*model.WaitlistEntry
	args := []any{company, which}
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockWaiterOfferSQL, Args: args, Scan: pg.First(&locked)},
		pg.Query{SQL: lockWaiterDateSQL, Args: args},
		pg.Query{SQL: waiterSQL, Args: args, Scan: scanWaiters(&found)})
	w, err := theWaiter(found, err)
	if err == nil && !w.Ended() && !w.Transaction.IsZero() && w.Transaction != locked {
		return nil, fault.Away(pg.ErrLockOrder)
	}
	return w, err
}

func theWaiter(found []*model.WaitlistEntry, err error) (*model.WaitlistEntry, error) {
	if err == nil && len(found) == 0 {
		err = fault.Missing("waitlist entry")
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// WaitlistCandidates locks entries that fit the free spaces of their dates, in their order, up to a
// batch for each date.
func (s *Store) WaitlistCandidates(ctx context.Context, tx *pg.Tx, company id.Company, from []model.Promotion, limit int, now time.Time) ([]*model.WaitlistEntry, error) {
	dates := make([]id.EventDate, len(from))
	behind, refused := make([]int64, len(from)), make([]int64, len(from))
	for i, p := range from {
		dates[i], behind[i], refused[i] = p.Date, p.Behind, p.Refused
	}
	var found []*model.WaitlistEntry
	args := []any{company, dates, behind, now, limit, refused, model.PassedOverTooFew}
	err := tx.Pipeline(ctx, pg.Query{SQL: candidatesSQL, Args: args, Scan: scanWaiters(&found)})
	return found, err
}

// SaveWaitlistEntries stores changed entries, which tx has locked.
func (s *Store) SaveWaitlistEntries(ctx context.Context, tx *pg.Tx, company id.Company, all []*model.WaitlistEntry) error {
	if len(all) == 0 {
		return nil
	}
	return tx.Pipeline(ctx, saveWaiters(company, all))
}

func saveWaiters(company id.Company, all []*model.WaitlistEntry) pg.Query {
	owned := make([]OwnedEntry, len(all))
	for i, w := range all {
		owned[i] = OwnedEntry{tenancy.Company{ID: company}, w}
	}
	return saveOwnedWaiters(owned)
}

// OwnedEntry is a waitlist entry with the identifier of its company and, if LockWaitersOf returns it, the
// test clock.
type OwnedEntry struct {
	Company tenancy.Company
	*model.WaitlistEntry
}

func saveOwnedWaiters(all []OwnedEntry) pg.Query {
	var companies []id.Company
	var ids []id.WaitlistEntry
	var states []string
	var transactions []id.Transaction
	var expiries, passed []*time.Time
	var reasons []*string
	var versions []int64
	var changes []time.Time
	for _, w := range all {
		companies, ids = append(companies, w.Company.ID), append(ids, w.ID)
		states, transactions = append(states, string(w.State)), append(transactions, w.Transaction)
		expiries, passed = append(expiries, timeOrNull(w.OfferExpiresAt)), append(passed, timeOrNull(w.PassedOverAt))
		reasons, versions, changes = append(reasons, orNull(w.PassedOver)), append(versions, w.Version), append(changes, w.UpdatedAt)
	}
	return pg.Query{SQL: saveWaitersSQL, Args: []any{companies, ids, states, transactions, expiries, reasons, passed, versions, changes}}
}

// OvertakenEntries locks the waiting entries before the last one served of each date that have not
// been passed over before.
func (s *Store) OvertakenEntries(ctx context.Context, tx *pg.Tx, company id.Company, last map[id.EventDate]int64) ([]*model.WaitlistEntry, error) {
	if len(last) == 0 {
		return nil, nil
	}
	var dates []id.EventDate
	var seqs []int64
	for d, seq := range last {
		dates, seqs = append(dates, d), append(seqs, seq)
	}
	var over []*model.WaitlistEntry
	err := tx.Pipeline(ctx, pg.Query{SQL: overtakenSQL, Args: []any{company, dates, seqs}, Scan: scanWaiters(&over)})
	return over, err
}

// PromoteLater leaves the remaining entries of dates to the job.
func (s *Store) PromoteLater(ctx context.Context, tx *pg.Tx, company id.Company, from []model.Promotion) error {
	dates := make([]id.EventDate, len(from))
	for i, p := range from {
		dates[i] = p.Date
	}
	_, err := tx.Exec(ctx, promotingSQL, company, dates, true)
	return err
}

// ToPromote returns dates that were left to the job, and dates with spaces for an entry whose pass
// could not be checked and that were passed over before.
func (s *Store) ToPromote(ctx context.Context, now, before time.Time, limit int) ([]OwnedDate, error) {
	var due []OwnedDate
	err := s.Read(ctx, pg.AllCompanies(), pg.Query{SQL: ToPromoteSQL, Args: []any{now, before, limit}, Scan: scanDatesOf(&due)})
	return due, s.Fault(err)
}

// LockWaitersOf locks the waiting entries of the deleted customers among records, and their dates.
func (s *Store) LockWaitersOf(ctx context.Context, tx *pg.Tx, records []model.CustomerRecord) (waiting []OwnedEntry, err error) {
	var companies []id.Company
	var ids []id.Customer
	for _, r := range records {
		if !r.DeletedAt.IsZero() {
			companies, ids = append(companies, r.Company), append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{companies, ids}
	err = tx.Pipeline(ctx, pg.Query{SQL: lockDatesOfWaitersSQL, Args: args},
		pg.Query{SQL: lockWaitersOfSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var of OwnedEntry
			var err error
			of.WaitlistEntry, err = scanWaiter(rows, &of.Company.ID, &of.Company.ClockOffset)
			waiting = append(waiting, of)
			return err
		})})
	return waiting, err
}

// SaveEntriesOf stores changed entries of several companies, which tx has locked.
func (s *Store) SaveEntriesOf(ctx context.Context, tx *pg.Tx, all []OwnedEntry) error {
	if len(all) == 0 {
		return nil
	}
	return tx.Pipeline(ctx, saveOwnedWaiters(all))
}

// LockPromoting locks a date that was left to the job and removes its mark.
func (s *Store) LockPromoting(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) error {
	_, err := tx.Exec(ctx, promotingSQL, company, []id.EventDate{date}, false)
	return err
}
