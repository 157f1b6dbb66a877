package booking

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// eventsQuery says which events a list is to hold.
type eventsQuery struct {
	paging
	eventType                              EventType   // "": any
	status                                 EventStatus // "": any
	startsFrom, startsBefore, updatedSince time.Time   // zero: none
	dates                                  string      // the statement that reads their dates; "": none
}

const (
	eventTotalSQL = `select events from event_totals where company_id = $1`

	countListedSQL = `select count(*) from events e where e.company_id = $1 and e.deleted_at is null`

	listEventsSQL = `select ` + eventColumns + ` from events e where e.company_id = $1 and e.deleted_at is null`

	// %s is the condition on the start.
	hasDateSQL = `exists (select from event_dates d where d.company_id = $1 and d.event_id = e.id and `
)

// filtered reports a query that does not want all events.
func (q *eventsQuery) filtered() bool {
	return q.eventType != "" || q.status != "" || !q.startsFrom.IsZero() || !q.startsBefore.IsZero() || !q.updatedSince.IsZero()
}

// filter adds the conditions of q.
func (q *eventsQuery) filter(s *statement) {
	if q.eventType != "" {
		s.where("e.type = %s", string(q.eventType))
	}
	if q.status != "" {
		s.where("e.status = %s", string(q.status))
	}
	if !q.updatedSince.IsZero() {
		s.where("e.updated_at >= %s", q.updatedSince)
	}
	switch from, before := !q.startsFrom.IsZero(), !q.startsBefore.IsZero(); {
	case from && before:
		s.where(hasDateSQL+"d.starts_at >= %s and d.starts_at < "+s.arg(q.startsBefore)+")", q.startsFrom)
	case from:
		s.where(hasDateSQL+"d.starts_at >= %s)", q.startsFrom)
	case before:
		s.where(hasDateSQL+"d.starts_at < %s)", q.startsBefore)
	}
}

// total is the statement that counts what q finds.
func (q *eventsQuery) total(company id.Company) statement {
	if !q.filtered() {
		return statement{sql: eventTotalSQL, args: []any{company}}
	}
	s := statement{sql: countListedSQL, args: []any{company}}
	q.filter(&s)
	return s
}

// page is the statement that reads the page, and one event more.
func (q *eventsQuery) page(company id.Company) statement {
	s := statement{sql: listEventsSQL, args: []any{company}}
	q.filter(&s)
	sorts := map[byte]struct{ key, compare, order string }{
		eventsByID:           {"", ">", "e.id"},
		eventsByCreation:     {"e.created_at", ">", "e.created_at, e.id"},
		eventsByCreationDesc: {"e.created_at", "<", "e.created_at desc, e.id desc"},
		eventsByChange:       {"e.updated_at", ">", "e.updated_at, e.id"},
		eventsByChangeDesc:   {"e.updated_at", "<", "e.updated_at desc, e.id desc"},
	}
	sort := sorts[q.order]
	if after := q.after; after != nil {
		// The zero identifier would be NULL, and no id is after that.
		last := s.arg([16]byte(after.id))
		if sort.key == "" {
			s.sql += " and e.id > " + last
		} else {
			s.where("("+sort.key+", e.id) "+sort.compare+" (%s, "+last+")", after.at)
		}
	}
	s.sql += " order by " + sort.order + " limit " + s.arg(q.size+1)
	if q.offset > 0 {
		s.sql += " offset " + s.arg(q.offset)
	}
	return s
}

// events reads a page of events with what belongs to them, and how many there are
// in all. The page holds one event more than asked for where there is another page.
func (s *store) events(ctx context.Context, company id.Company, q *eventsQuery) (events []Event, total int64, err error) {
	var found foundEvents
	page, count := q.page(company), q.total(company)
	err = s.read(ctx, company,
		pg.Query{SQL: page.sql, Args: page.args, Scan: scanEvents(&found.events)},
		pg.Query{SQL: count.sql, Args: count.args, Scan: each(func(rows pgx.Rows) error { return rows.Scan(&total) })},
	)
	if err != nil || len(found.events) == 0 {
		return nil, total, err
	}
	ids := make([]id.Event, len(found.events))
	for i := range found.events {
		ids[i] = found.events[i].ID
	}
	err = s.read(ctx, company, found.parts(company, ids, q.dates)...)
	return found.join(), total, err
}
