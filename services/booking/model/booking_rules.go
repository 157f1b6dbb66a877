package model

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
)

// Reasons for refusing a booking because of the event's rules.
const (
	ReasonBookingNotOpen = "BOOKING_NOT_OPEN"
	ReasonBookingClosed  = "BOOKING_CLOSED"
	ReasonAlreadyBooked  = "ALREADY_BOOKED"
)

const maxAdvanceDays = 3650

// BookingRules limits when and how often an event can be booked. The zero value means no limit.
type BookingRules struct {
	OpensAt, ClosesAt time.Time // zero: no limit
	MinimumNotice     int32     // minutes before the start of a date at which its booking closes
	MaximumAdvance    int32     // days before the start of a date at which its booking opens; 0: no limit
	OncePerCustomer   bool
}

// check reports the faults of an event's rules.
func (r *BookingRules) check(f *fields) {
	f.Range("booking_rules.minimum_notice_minutes", int64(r.MinimumNotice), 0, maxMinutes)
	f.Range("booking_rules.maximum_advance_days", int64(r.MaximumAdvance), 0, maxAdvanceDays)
	before := f.Len()
	if !r.OpensAt.IsZero() {
		f.Second("booking_rules.opens_at", r.OpensAt)
	}
	if !r.ClosesAt.IsZero() {
		f.Second("booking_rules.closes_at", r.ClosesAt)
	}
	if f.Len() == before && !r.OpensAt.IsZero() && !r.ClosesAt.IsZero() && !r.ClosesAt.After(r.OpensAt) {
		f.Add("booking_rules.closes_at", "min", "must be after opens_at")
	}
}

func (r *BookingRules) equal(other *BookingRules) bool {
	return r.OpensAt.Equal(other.OpensAt) && r.ClosesAt.Equal(other.ClosesAt) && r.MinimumNotice == other.MinimumNotice &&
		r.MaximumAdvance == other.MaximumAdvance && r.OncePerCustomer == other.OncePerCustomer
}

// Window returns when the rules open and close the booking of a date; zero means no limit. Booking
// closes at the start of the date at the latest.
func (r *BookingRules) Window(start time.Time, timezone string) (opens, closes time.Time) {
	opens, closes = r.OpensAt, r.ClosesAt
	if r.MaximumAdvance > 0 {
		if at := daysBefore(start, r.MaximumAdvance, timezone); at.After(opens) {
			opens = at
		}
	}
	if !closes.IsZero() && closes.After(start) {
		closes = start
	}
	if r.MinimumNotice > 0 {
		at := start.Add(-time.Duration(r.MinimumNotice) * time.Minute)
		if closes.IsZero() || at.Before(closes) {
			closes = at
		}
	}
	return opens, closes
}

// daysBefore returns the instant with the same wall time as start, n days earlier. A time that a
// clock change skips moves forward by the gap; if a time occurs twice, the first occurrence counts.
func daysBefore(start time.Time, n int32, timezone string) time.Time {
	loc, err := zone.Load(timezone)
	if err != nil {
		loc = time.UTC
	}
	l := start.In(loc)
	wall := time.Date(l.Year(), l.Month(), l.Day()-int(n), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	return zone.Instant(wall, loc)
}

// refuses returns why a date cannot be booked now under the rules; nil if it can.
func (r *BookingRules) refuses(start time.Time, timezone string, now time.Time) *fault.Error {
	opens, closes := r.Window(start, timezone)
	switch {
	case !closes.IsZero() && !now.Before(closes):
		return fault.Refuse(ReasonBookingClosed, "booking has closed").With("closes_at", rfc3339(closes)).With("timezone", timezone)
	case now.Before(opens):
		return fault.Refuse(ReasonBookingNotOpen, "booking has not opened yet").With("opens_at", rfc3339(opens)).With("timezone", timezone)
	}
	return nil
}

func rfc3339(at time.Time) string { return at.UTC().Format(time.RFC3339) }
