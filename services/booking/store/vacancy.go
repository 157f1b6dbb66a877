package store

import (
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// The date of an appointment is cancelled in the commit that frees its space, unless a waiting customer
// takes it.

const (
	// VacateSQL cancels those of the dates that are free dates of appointments. A trigger ends their
	// assignments. The job that empties closed dates closes the entries that still wait. A date that no
	// booking and no entry names is removed later. A date whose waitlist the job continues to serve stays.
	VacateSQL = `update event_dates d set status = 'cancelled', closing = ` + toEmptySQL + `,
			vacated_at = case when ` + unnamed + ` and not exists (select from bookings b
				where b.company_id = d.company_id and b.event_date_id = d.id and exists (select from transactions t
					where t.company_id = d.company_id and t.id = b.transaction_id and t.status <> 'released')) then $3::timestamptz end
		where d.company_id = $1 and d.id` + pg.AmongIDs + ` and d.appointment_id is not null and d.booked = 0 and d.status = 'scheduled' and not d.promoting`

	// unnamed is the condition that no waitlist entry names the date d.
	unnamed = `not exists (select from waitlist_entries w where w.company_id = d.company_id and w.event_date_id = d.id)`

	// canServe is the condition that the date d is not that of an appointment whose staff member or room
	// is inactive or has time off.
	canServe = `(d.appointment_id is null or not exists (select from assignments a
			left join staff s on s.company_id = a.company_id and s.id = a.resource_id
			left join rooms r on r.company_id = a.company_id and r.id = a.resource_id
			where a.company_id = d.company_id and a.event_date_id = d.id and a.active and (not s.active or not r.active
				or exists (select from time_off o where o.company_id = a.company_id and o.resource_id = a.resource_id
					and o.ends_at > a.taken_from and o.starts_at < a.taken_until))))`

	// The bookings of released transactions are removed after a day, and only then is a date without any.
	removeVacatedSQL = `with gone as (delete from event_dates where (company_id, id) in (select d.company_id, d.id from event_dates d
				where d.vacated_at <= $1 and ` + unnamed + `
					and not exists (select from bookings b where b.company_id = d.company_id and b.event_date_id = d.id)
				limit $2 for update skip locked)
			returning company_id, id)
		delete from assignments a using gone where a.company_id = gone.company_id and a.event_date_id = gone.id`
)

// Vacate cancels those of the dates that are free dates of appointments, when tx commits or with its next
// statement. tx has locked the dates. now is the real time.
func Vacate(tx *pg.Tx, company id.Company, dates []id.EventDate, now time.Time) {
	if len(dates) > 0 {
		tx.Queue(pg.Query{SQL: VacateSQL, Args: []any{company, dates, now}})
	}
}
