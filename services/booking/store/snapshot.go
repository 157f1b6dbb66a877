package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Reads of snapshots, each of which is a page in a transaction of its own.

const (
	// SnapshotBookingsSQL reads a page of the identifiers of confirmed bookings.
	SnapshotBookingsSQL = `select b.id from bookings b where b.company_id = $1 and b.id > $2
			and (select t.status from transactions t where t.company_id = $1 and t.id = b.transaction_id) = 'confirmed'
		order by b.id limit $3`

	// SnapshotEventsSQL reads a page of the events that event_created has announced.
	SnapshotEventsSQL = `select ` + eventColumns + ` from events e
		where e.company_id = $1 and e.deleted_at is null and e.listed and e.id > $2 order by e.id limit $3`

	// SnapshotDatesSQL reads dates of each event, in the order of the index, which has one date at a time.
	SnapshotDatesSQL = `select d.* from unnest($2::uuid[]) n(id)
		cross join lateral (select ` + dateColumns + ` from event_dates d
			where d.company_id = $1 and d.event_id = n.id and d.appointment_id is null and d.starts_at > $3
			order by d.starts_at limit $4 offset 0) d`
)

// SnapshotBookings reads up to limit confirmed bookings that follow after, by id, with what their movements need.
func (s *Store) SnapshotBookings(ctx context.Context, company id.Company, after id.Booking, limit int) ([]model.Registration, error) {
	var ids []id.Booking
	err := s.ReadOf(ctx, company, pg.Query{SQL: SnapshotBookingsSQL, Args: []any{company, [16]byte(after), limit}, Scan: pg.Collect(&ids)})
	if err != nil {
		return nil, err
	}
	var page []model.Registration
	for wanted := ids; len(wanted) > 0; {
		var found foundRegistrations
		money := moneys{}
		if err := s.ReadOf(ctx, company, append(found.queries(company, wanted), money.query(company, wanted))...); err != nil {
			return nil, err
		}
		all := found.in(wanted)
		wanted = nil
		for i := range all {
			if money.complete(&all[i].Transaction) {
				page = append(page, all[i])
			} else { // it has changed between the two statements
				wanted = append(wanted, all[i].Booking().ID)
			}
		}
	}
	slices.SortFunc(page, func(a, b model.Registration) int {
		x, y := a.Booking().ID, b.Booking().ID
		return bytes.Compare(x[:], y[:])
	})
	return page, nil
}

// SnapshotEvents reads up to limit events with their options and without dates, that follow after, by id.
func (s *Store) SnapshotEvents(ctx context.Context, company id.Company, after id.Event, limit int) ([]model.Event, error) {
	var found foundEvents
	err := s.ReadOf(ctx, company, pg.Query{SQL: SnapshotEventsSQL, Args: []any{company, [16]byte(after), limit}, Scan: scanEvents(&found.events)})
	if err != nil || len(found.events) == 0 {
		return nil, err
	}
	ids := make([]id.Event, len(found.events))
	for i := range found.events {
		ids[i] = found.events[i].ID
	}
	err = s.ReadOf(ctx, company, found.parts(company, ids, "")...)
	return found.join(), err
}

// SnapshotDates reads up to limit dates of each event that start later than after, by start. They are not those
// of appointments.
func (s *Store) SnapshotDates(ctx context.Context, company id.Company, events []id.Event, after time.Time, limit int) (map[id.Event][]model.EventDate, error) {
	dates := map[id.Event][]model.EventDate{}
	err := s.ReadOf(ctx, company, pg.Query{SQL: SnapshotDatesSQL, Args: []any{company, events, after, limit}, Scan: scanDates(dates)})
	for _, list := range dates {
		model.SortDates(list)
	}
	return dates, err
}
