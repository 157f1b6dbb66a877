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
	withDates                              bool
	mostDates                              int
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

// listedDates is how many dates a page of events holds at most: all those of ten
// events with as many as there may be, which fit a message with room to spare.
const listedDates = 10 * maxEventDates

// In the order of the page, so that the dates of its first events are all there.
const listedDatesSQL = `select ` + dateColumns + ` from unnest($2::uuid[]) with ordinality n(id, position)
	join event_dates d on d.company_id = $1 and d.event_id = n.id order by n.position limit $3`

// events reads a page of events with what belongs to them, whether there are more
// behind it, and how many there are in all.
func (s *store) events(ctx context.Context, company id.Company, q *eventsQuery) (events []Event, more bool, total int64, err error) {
	var found foundEvents
	page, count := q.page(company), q.total(company)
	err = s.read(ctx, company,
		pg.Query{SQL: page.sql, Args: page.args, Scan: scanEvents(&found.events)},
		pg.Query{SQL: count.sql, Args: count.args, Scan: each(func(rows pgx.Rows) error { return rows.Scan(&total) })},
	)
	if err != nil || len(found.events) == 0 {
		return nil, false, total, err
	}
	if more = len(found.events) > q.size; more {
		found.events = found.events[:q.size]
	}
	ids := make([]id.Event, len(found.events))
	for i := range found.events {
		ids[i] = found.events[i].ID
	}
	queries := found.parts(company, ids, "")
	if q.withDates {
		queries = append(queries, pg.Query{SQL: listedDatesSQL, Args: []any{company, ids, q.mostDates}, Scan: scanDates(found.dates)})
	}
	if err = s.read(ctx, company, queries...); err != nil {
		return nil, false, 0, err
	}
	if whole := found.whole(q.mostDates); whole < len(found.events) {
		found.events, more = found.events[:whole], true
	}
	return found.join(), more, total, nil
}

// whole is of how many events all dates were read, if at most so many were.
func (f *foundEvents) whole(most int) int {
	read, last := 0, 0
	for i := range f.events {
		if n := len(f.dates[f.events[i].ID]); n > 0 {
			read, last = read+n, i
		}
	}
	if read < most {
		return len(f.events)
	}
	return max(last, 1)
}
