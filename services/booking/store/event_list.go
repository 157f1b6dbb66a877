package store

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// EventQuery is the filters, the order and the page of a list of events.
type EventQuery struct {
	Page                                   page.Page
	EventType                              model.EventType   // "": any
	Status                                 model.EventStatus // "": any
	StartsFrom, StartsBefore, UpdatedSince time.Time         // zero: none
	WithDates                              bool
	MostDates                              int       // on the whole page
	MaxDates                               int       // of each event; 0: all
	Published                              bool      // only published events, and none of appointments
	Now                                    time.Time // divides the dates
}

const (
	eventTotalSQL = `select events from event_totals where company_id = $1`

	// An index counts the events that match. Another one counts the few of them that are not shown.
	countMatchingSQL = `select (select count(*) from events e where e.company_id = $1 and e.deleted_at is null`

	lessHiddenSQL = `) - (select count(*) from events e where e.company_id = $1 and e.deleted_at is null and e.of_appointments`

	listEventsSQL = `select ` + eventColumns + ` from events e where e.company_id = $1 and e.deleted_at is null and e.listed`

	// %s is the condition on the start.
	hasDateSQL = `exists (select from event_dates d where d.company_id = $1 and d.event_id = e.id` + notVacated + ` and `
)

// filtered reports whether q has a filter.
func (q *EventQuery) filtered() bool {
	return q.EventType != "" || q.Status != "" || !q.StartsFrom.IsZero() || !q.StartsBefore.IsZero() || !q.UpdatedSince.IsZero() || q.Published
}

// filter adds the conditions of q.
func (q *EventQuery) filter(s *pg.Statement) {
	if q.EventType != "" {
		s.And("e.type = %s", string(q.EventType))
	}
	if q.Status != "" {
		s.And("e.status = %s", string(q.Status))
	}
	if q.Published {
		s.SQL += " and e.status = 'published'"
	}
	if !q.UpdatedSince.IsZero() {
		s.And("e.updated_at >= %s", q.UpdatedSince)
	}
	switch from, before := !q.StartsFrom.IsZero(), !q.StartsBefore.IsZero(); {
	case from && before:
		s.And(hasDateSQL+"d.starts_at >= %s and d.starts_at < %s)", q.StartsFrom, q.StartsBefore)
	case from:
		s.And(hasDateSQL+"d.starts_at >= %s)", q.StartsFrom)
	case before:
		s.And(hasDateSQL+"d.starts_at < %s)", q.StartsBefore)
	}
}

// Next returns the cursor after an event.
func (q *EventQuery) Next(last *model.Event) page.Cursor {
	c := page.Cursor{ID: last.ID.UUID()}
	switch q.Page.Order.Column {
	case "e.created_at":
		c = page.At(last.CreatedAt, last.ID.UUID())
	case "e.updated_at":
		c = page.At(last.UpdatedAt, last.ID.UUID())
	}
	c.Code = q.Page.Order.Code
	return c
}

// Total returns the statement that counts the events that match q.
func (q *EventQuery) Total(company id.Company) pg.Statement {
	if !q.filtered() {
		return pg.Statement{SQL: eventTotalSQL, Args: []any{company}}
	}
	s := pg.Statement{SQL: countMatchingSQL, Args: []any{company}}
	q.filter(&s)
	s.SQL += lessHiddenSQL
	if !q.Published {
		s.SQL += " and not e.listed"
	}
	q.filter(&s)
	s.SQL += ")"
	return s
}

// List returns the statement that reads the page and one more event.
func (q *EventQuery) List(company id.Company) pg.Statement {
	s := pg.Statement{SQL: listEventsSQL, Args: []any{company}}
	if q.Published {
		s.SQL += " and not e.of_appointments"
	}
	q.filter(&s)
	q.Page.Add(&s)
	return s
}

// ListedDates is the maximum number of dates on a page of events. Ten events with the maximum
// number of dates fit in a message with room to spare.
const ListedDates = 10 * model.MaxEventDates

// listedDatesSQL selects dates in the order of the page, so that the first events have all their
// dates.
const listedDatesSQL = `select ` + dateColumns + ` from unnest($2::uuid[]) with ordinality n(id, position)
	join event_dates d on d.company_id = $1 and d.event_id = n.id and d.appointment_id is null order by n.position limit $3`

// Events reads a page of events with their options, dates and the summaries of these. It reports whether there are more
// events after the page, and the total number of events.
func (s *Store) Events(ctx context.Context, company id.Company, q *EventQuery) (events []model.Event, more bool, total int64, err error) {
	var found foundEvents
	list, count := q.List(company), q.Total(company)
	err = s.ReadOf(ctx, company,
		pg.Query{SQL: list.SQL, Args: list.Args, Scan: scanEvents(&found.events)},
		pg.Query{SQL: count.SQL, Args: count.Args, Scan: pg.First(&total)},
	)
	if err != nil || len(found.events) == 0 {
		return nil, false, total, err
	}
	if more = len(found.events) > q.Page.Size; more {
		found.events = found.events[:q.Page.Size]
	}
	ids := make([]id.Event, len(found.events))
	for i := range found.events {
		ids[i] = found.events[i].ID
	}
	queries := append(found.parts(company, ids, ""), found.summarize(company, ids, q.Now))
	switch {
	case q.WithDates && q.MaxDates > 0:
		queries = append(queries, found.shownDates(company, ids, q.Now, q.MaxDates))
	case q.WithDates:
		queries = append(queries, pg.Query{SQL: listedDatesSQL, Args: []any{company, ids, q.MostDates}, Scan: scanDates(found.dates)},
			found.shownAppointments(company, ids, q.Now))
	}
	if err = s.ReadOf(ctx, company, queries...); err != nil {
		return nil, false, 0, err
	}
	if whole := found.whole(q.MostDates); q.MaxDates == 0 && whole < len(found.events) {
		found.events, more = found.events[:whole], true
	}
	return found.join(), more, total, nil
}

// whole returns the number of events whose dates were all read. most is the limit of the query that
// read the dates.
func (f *foundEvents) whole(most int) int {
	read, last := 0, 0
	for i := range f.events {
		if f.events[i].OfAppointments { // another query read its dates
			continue
		}
		if n := len(f.dates[f.events[i].ID]); n > 0 {
			read, last = read+n, i
		}
	}
	if read < most {
		return len(f.events)
	}
	return max(last, 1)
}

// Orders of events, dates and registrations. Page tokens contain their codes.

// EventsByID sorts events by identifier.
func EventsByID() page.Order { return page.Order{Code: 1, ID: "e.id"} }

// EventsByCreation sorts events by creation time.
func EventsByCreation() page.Order { return page.Order{Code: 2, Column: "e.created_at", ID: "e.id"} }

// EventsByCreationDesc sorts events by creation time, newest first.
func EventsByCreationDesc() page.Order {
	return page.Order{Code: 3, Column: "e.created_at", ID: "e.id", Desc: true}
}

// EventsByChange sorts events by the time of their last change.
func EventsByChange() page.Order { return page.Order{Code: 4, Column: "e.updated_at", ID: "e.id"} }

// EventsByChangeDesc sorts events by the time of their last change, latest first.
func EventsByChangeDesc() page.Order {
	return page.Order{Code: 5, Column: "e.updated_at", ID: "e.id", Desc: true}
}

// RegistrationsByCreation sorts registrations by creation time.
func RegistrationsByCreation() page.Order { return page.Order{Code: 6, ID: "b.id"} }

// RegistrationsByCreationDesc sorts registrations by creation time, newest first.
func RegistrationsByCreationDesc() page.Order { return page.Order{Code: 7, ID: "b.id", Desc: true} }

// DatesByStart sorts dates by their start.
func DatesByStart() page.Order { return page.Order{Code: 8, Column: "d.starts_at", ID: "d.id"} }
