package store

import (
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// The date of an appointment is cancelled in the commit that frees its space, unless a waiting customer
// takes it. This changes the event of the appointment type. So every statement that can free a space of an
// appointment locks its event first.

const (
	// VacateSQL cancels those of the dates that are free dates of appointments. A trigger ends their assignments.
	// Entries that still wait are closed by the job that empties closed dates.
	VacateSQL = `with vacant as (update event_dates d set status = 'cancelled', closing = ` + toEmptySQL + `
			where d.company_id = $1 and d.id` + pg.AmongIDs + ` and d.appointment_id is not null and d.booked = 0 and d.status = 'scheduled'
			returning d.event_id)
		update events e set version = e.version + 1, updated_at = $3
		where e.company_id = $1 and e.id in (select v.event_id from vacant v)`

	lockEvents = `select e.id from events e where e.company_id = $1 and e.of_appointments and e.id `

	byEvent = ` order by e.id for no key update of e`

	lockEventOfBookingSQL = lockEvents + `= (select b.event_id from bookings b where b.company_id = $1 and b.id = $2)` + byEvent

	lockEventOfDateSQL = lockEvents + `= (select d.event_id from event_dates d where d.company_id = $1 and d.id = $2)` + byEvent

	lockEventOfWaiterSQL = lockEvents + `= (select w.event_id from waitlist_entries w where w.company_id = $1 and w.id = $2)` + byEvent

	lockEventsOfTransactionsSQL = lockEvents + `in (select b.event_id from bookings b where b.company_id = $1
		and b.transaction_id` + pg.AmongIDs + `)` + byEvent
)

// Vacate cancels those of the dates that are free dates of appointments, when tx commits or with its next
// statement. tx has locked the dates.
func Vacate(tx *pg.Tx, company id.Company, dates []id.EventDate, now time.Time) {
	if len(dates) > 0 {
		tx.Queue(pg.Query{SQL: VacateSQL, Args: []any{company, dates, now}})
	}
}

// lockEventOf returns the query that locks the event of a booking, a date or a waitlist entry, if it has
// appointments.
func lockEventOf[T id.EventDate | id.Booking | id.WaitlistEntry](sql string, company id.Company, which T) pg.Query {
	return pg.Query{SQL: sql, Args: []any{company, which}}
}
