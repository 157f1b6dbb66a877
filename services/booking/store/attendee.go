package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	ownBookingsSQL = `select b.event_date_id from transactions t cross join lateral (select b.event_date_id, b.bought_for, b.is_cancelled
				from bookings b where b.company_id = $1 and b.transaction_id = t.id offset 0) b
			where t.company_id = $1 and t.purchaser_id = n.id and b.bought_for is null and not b.is_cancelled and `

	// AttendeesSQL finds the customers who have a booking of a date, or hold or are paying for one. A
	// purchase that is being undone can only end without one.
	AttendeesSQL = `select distinct a.event_date_id, n.id from unnest($3::uuid[]) n(id) cross join lateral (
			` + ownBookingsSQL + `t.status = 'confirmed'
			union all ` + ownBookingsSQL + `t.status in ('held', 'pending')
			union all
			select b.event_date_id from bookings b cross join lateral (select t.status from transactions t
				where t.company_id = $1 and t.id = b.transaction_id offset 0) t
			where b.company_id = $1 and b.bought_for = n.id and b.event_id = any($4) and not b.is_cancelled
				and t.status in ('confirmed', 'held', 'pending')
		) a where a.event_date_id` + pg.AmongIDs
)

// readAttendees completes an offer with the customers who cannot book its locked dates again. Only
// events with one booking per customer need this additional round trip.
func (s *Store) readAttendees(ctx context.Context, tx *pg.Tx, company id.Company, of *model.Offer, d model.Demand) error {
	dates := of.OncePerCustomer()
	if len(dates) == 0 {
		return nil
	}
	var events []id.Event
	for _, date := range dates {
		events = append(events, of.Dates[date].Event)
	}
	args := []any{company, dates, d.Attendees, model.Distinct(events)}
	return tx.Pipeline(ctx, pg.Query{SQL: AttendeesSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
		var date id.EventDate
		var customer id.Customer
		if err := rows.Scan(&date, &customer); err != nil {
			return err
		}
		of.AddAttendee(date, customer)
		return nil
	})})
}
