package store

import (
	"fmt"
	"time"

	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// rulesColumns are the columns of the booking rules of the event e.
	rulesColumns = `e.opens_at, e.closes_at, e.minimum_notice_minutes, e.maximum_advance_days, e.once_per_customer`

	// advanceSQL is when maximum_advance_days opens the booking of the date d: at the same wall time, or
	// at its first occurrence if the clocks show it twice. PostgreSQL alone returns the second one. No
	// zone sets its clocks back by another amount.
	advanceSQL = `(select min(n.at) from (select ((d.starts_at at time zone d.timezone) - make_interval(days => e.maximum_advance_days))
				at time zone d.timezone as at offset 0) last
			cross join lateral (values (last.at), (last.at - interval '30 minutes'), (last.at - interval '1 hour'), (last.at - interval '2 hours')) n(at)
			where n.at at time zone d.timezone = last.at at time zone d.timezone)`

	// bookableSQL is the condition that the date d of the event e can be booked at the time %s.
	bookableSQL = `d.status = 'scheduled' and not d.draft and d.starts_at > %s and (d.capacity is null or d.booked < d.capacity)
		and e.status = 'published' and coalesce(e.opens_at <= %s, true) and coalesce(e.closes_at > %s, true)
		and (e.minimum_notice_minutes = 0 or d.starts_at - make_interval(mins => e.minimum_notice_minutes) > %s)
		and (e.maximum_advance_days = 0 or ` + advanceSQL + ` <= %s)`
)

// rulesFields returns the scan targets of rulesColumns.
func rulesFields(r *model.BookingRules) []any {
	return []any{orZero{&r.OpensAt}, orZero{&r.ClosesAt}, &r.MinimumNotice, &r.MaximumAdvance, &r.OncePerCustomer}
}

// setRules adds the assignments of the rules to an update of events.
func setRules(s *pg.Statement, r *model.BookingRules) {
	s.SQL += `, opens_at = ` + s.Arg(timeOrNull(r.OpensAt)) + `, closes_at = ` + s.Arg(timeOrNull(r.ClosesAt)) +
		`, minimum_notice_minutes = ` + s.Arg(r.MinimumNotice) + `, maximum_advance_days = ` + s.Arg(r.MaximumAdvance) +
		`, once_per_customer = ` + s.Arg(r.OncePerCustomer)
}

// orZero scans a time; null is the zero time.
type orZero struct{ to *time.Time }

// Scan implements sql.Scanner.
func (z orZero) Scan(value any) error {
	switch at := value.(type) {
	case nil:
		*z.to = time.Time{}
	case time.Time:
		*z.to = at
	default:
		return fmt.Errorf("cannot scan %T into a time", value)
	}
	return nil
}
