package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// The date of an entry is read row by row, in a subselect that the planner cannot turn into a join
	// of whole tables.
	fromWaiters = ` from waitlist_entries w cross join lateral (select d.starts_at, d.status from event_dates d
			where d.company_id = $1 and d.id = w.event_date_id offset 0) d
		where w.company_id = $1`

	// %s is the time at which the dates of waiting entries must not have started.
	stillWaitingSQL = `d.starts_at > %s and d.status <> 'cancelled'`

	// PositionsSQL counts the waiting entries up to each of the entries $2 of the dates $3.
	PositionsSQL = `select x.id, x.position from (
			select w.id, row_number() over (partition by w.event_date_id order by w.seq) as position from waitlist_entries w
			where w.company_id = $1 and w.event_date_id = any((select $3::uuid[])::uuid[]) and w.state in ('waiting', 'booking') and w.seq <= $4) x
		where x.id` + pg.AmongIDs

	dateExistsSQL = `select exists (select from event_dates d join events e on e.company_id = $1 and e.id = d.event_id and e.deleted_at is null
		where d.company_id = $1 and d.id = $2)`
)

// WaitlistQuery is the filters, the order and the page of a list of waitlist entries.
type WaitlistQuery struct {
	Page     page.Page
	Date     id.EventDate        // zero: of all dates
	Customer *id.Customer        // nil: of all customers
	State    model.WaitlistState // as readers see it; "": any
	Closed   bool                // with the state expired: also closed entries
	Ended    bool                // without a state: also entries that have ended
	Since    time.Time           // zero: none
	Now      time.Time
}

// filter adds the conditions of q.
func (q *WaitlistQuery) filter(s *pg.Statement) {
	if !q.Date.IsZero() {
		s.And("w.event_date_id = %s", q.Date)
	}
	if q.Customer != nil {
		s.And("w.customer_id = %s", *q.Customer)
	}
	if !q.Since.IsZero() {
		s.And("w.updated_at >= %s", q.Since)
	}
	switch {
	case q.State == model.EntryWaiting:
		s.And("w.state in ('waiting', 'booking') and "+stillWaitingSQL, q.Now)
	case q.State == model.EntryExpired && q.Closed:
		s.And("w.state in ('expired', 'closed')")
	case q.State != "":
		s.And("w.state = %s", string(q.State))
	case !q.Ended:
		s.And("w.state in ('waiting', 'booking', 'offered') and (w.state = 'offered' or "+stillWaitingSQL+")", q.Now)
	}
}

// Total returns the statement that counts the entries that match q.
func (q *WaitlistQuery) Total(company id.Company) pg.Statement {
	s := pg.Statement{SQL: `select count(*)` + fromWaiters, Args: []any{company}}
	q.filter(&s)
	return s
}

// List returns the statement that reads the page and one more entry, without positions.
func (q *WaitlistQuery) List(company id.Company) pg.Statement {
	s := pg.Statement{SQL: `select ` + waiterColumns + `, d.starts_at, d.status, 0::bigint` + fromWaiters, Args: []any{company}}
	q.filter(&s)
	if q.Page.Order != WaitersByJoining() {
		q.Page.Add(&s)
		return s
	}
	// The order is that of the sequence number, which is looked up by the cursor's identifier.
	if q.Page.After != nil {
		s.And("w.seq > coalesce((select x.seq from waitlist_entries x where x.company_id = $1 and x.id = %s), 0)", [16]byte(q.Page.After.ID))
	}
	s.SQL += " order by w.seq limit " + s.Arg(q.Page.Size+1) + " offset " + s.Arg(q.Page.Offset)
	return s
}

// Next returns the cursor after an entry.
func (q *WaitlistQuery) Next(last *model.WaitlistEntry) page.Cursor {
	if q.Page.Order.Column == "" {
		return page.Cursor{ID: last.ID.UUID()}
	}
	return page.At(last.UpdatedAt, last.ID.UUID())
}

// WaitlistEntries reads a page of waitlist entries and one more, with positions, and the total number
// of matches. It returns fault.NotFound if the date of q does not exist.
func (s *Store) WaitlistEntries(ctx context.Context, company id.Company, q *WaitlistQuery) (entries []*model.WaitlistEntry, total int64, err error) {
	exists := q.Date.IsZero()
	list, count := q.List(company), q.Total(company)
	queries := []pg.Query{list.Query(scanWaiters(&entries)), count.Query(pg.First(&total))}
	if !exists {
		queries = append(queries, pg.Query{SQL: dateExistsSQL, Args: []any{company, q.Date}, Scan: pg.First(&exists)})
	}
	err = s.ReadOf(ctx, company, queries...)
	if err == nil && !exists {
		err = fault.Missing("event date")
	}
	if err != nil {
		return nil, 0, err
	}
	return entries, total, s.readPositions(ctx, company, entries)
}

// readPositions sets the positions of the waiting entries.
func (s *Store) readPositions(ctx context.Context, company id.Company, entries []*model.WaitlistEntry) error {
	byID := map[id.WaitlistEntry]*model.WaitlistEntry{}
	var ids []id.WaitlistEntry
	var dates []id.EventDate
	var last int64
	for _, w := range entries {
		if w.State == model.EntryWaiting || w.State == model.EntryBooking {
			byID[w.ID] = w
			ids, dates, last = append(ids, w.ID), append(dates, w.Date), max(last, w.Seq)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	args := []any{company, ids, model.Distinct(dates), last}
	return s.ReadOf(ctx, company, pg.Query{SQL: PositionsSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
		var which id.WaitlistEntry
		var position int64
		err := rows.Scan(&which, &position)
		byID[which].Position = position
		return err
	})})
}

// Orders of waitlist entries and discount codes. An identifier begins with the time at which it was
// made, so its order is that of creation. Page tokens contain the codes of the orders.

// WaitersByJoining sorts the entries of a date by their sequence number.
func WaitersByJoining() page.Order { return page.Order{Code: 10} }

// WaitersByCreation sorts entries by creation time.
func WaitersByCreation() page.Order { return page.Order{Code: 30, ID: "w.id"} }

// WaitersByCreationDesc sorts entries by creation time, newest first.
func WaitersByCreationDesc() page.Order { return page.Order{Code: 31, ID: "w.id", Desc: true} }

// WaitersByChange sorts entries by the time of their last change.
func WaitersByChange() page.Order { return page.Order{Code: 32, Column: "w.updated_at", ID: "w.id"} }

// WaitersByChangeDesc sorts entries by the time of their last change, latest first.
func WaitersByChangeDesc() page.Order {
	return page.Order{Code: 33, Column: "w.updated_at", ID: "w.id", Desc: true}
}

// DiscountsByCreation sorts discount codes by creation time.
func DiscountsByCreation() page.Order { return page.Order{Code: 9} }

// DiscountsByCreationDesc sorts discount codes by creation time, newest first.
func DiscountsByCreationDesc() page.Order { return page.Order{Code: 34, Desc: true} }

// DiscountsByChange sorts discount codes by the time of their last change.
func DiscountsByChange() page.Order { return page.Order{Code: 35, Column: "updated_at"} }

// DiscountsByChangeDesc sorts discount codes by the time of their last change, latest first.
func DiscountsByChangeDesc() page.Order {
	return page.Order{Code: 36, Column: "updated_at", Desc: true}
}
