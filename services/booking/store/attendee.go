package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// AttendeesSQL finds the customers who have a booking of a date, or hold or are paying for one. A
// purchase that is being undone can only end without one. The bookings of the dates, which are locked,
// limit its cost, not the history of the customers.
const AttendeesSQL = `select distinct b.event_date_id, t.attendee
	from bookings b cross join lateral (select coalesce(b.bought_for, t.purchaser_id) as attendee from transactions t
		where t.company_id = $1 and t.id = b.transaction_id and t.status in ('confirmed', 'held', 'pending') offset 0) t
	where b.company_id = $1 and b.event_date_id` + pg.AmongIDs + ` and not b.is_cancelled and b.id <> all($4::uuid[])
		and (b.bought_for is null or b.bought_for = any($3)) and t.attendee = any($3)`

// readAttendees completes an offer with the customers who cannot book its locked dates again. Only
// events with one booking per customer need this additional round trip.
func (s *Store) readAttendees(ctx context.Context, tx *pg.Tx, company id.Company, of *model.Offer, d model.Demand) error {
	dates := of.OncePerCustomer()
	if len(dates) == 0 {
		return nil
	}
	return tx.Pipeline(ctx, attendeesOf(company, of, dates, d))
}

// attendeesOf returns the query that completes an offer with the customers who cannot book dates again.
func attendeesOf(company id.Company, of *model.Offer, dates []id.EventDate, d model.Demand) pg.Query {
	return pg.Query{SQL: AttendeesSQL, Args: []any{company, dates, d.Attendees, orEmpty(d.Moved)}, Scan: pg.Each(func(rows pgx.Rows) error {
		var date id.EventDate
		var customer id.Customer
		if err := rows.Scan(&date, &customer); err != nil {
			return err
		}
		of.AddAttendee(date, customer)
		return nil
	})}
}
