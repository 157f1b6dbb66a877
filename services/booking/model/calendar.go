package model

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// CalendarKind is whose dates a calendar shows.
type CalendarKind string

// The kinds of calendars.
const (
	StaffCalendar    CalendarKind = "staff"
	CustomerCalendar CalendarKind = "customer"
	CompanyCalendar  CalendarKind = "company"
)

// Limits of calendars.
const (
	// MaxCalendars is how many calendars a company can have.
	MaxCalendars = 200
	// MaxCalendarEntries is how many entries a calendar shows.
	MaxCalendarEntries = 5000
	// maxCalendarSize is the length of all entries of a calendar together, in bytes, so that they fit in one
	// response. Only thousands of entries with the longest texts exceed it.
	maxCalendarSize = 12 << 20
	// maxEntryDescription is the longest description of an entry, and otherFields the length of the fields
	// that are not texts, in bytes.
	maxEntryDescription = 1000
	otherFields         = 200
	// calendarPast is how long ago the first entry of a calendar starts.
	calendarPast = 30 * 24 * time.Hour
	// calendarReadInterval is how often the time of the last read is stored.
	calendarReadInterval = time.Hour
)

// ReasonTooManyCalendars is the reason of a fault about a company that has the maximum number of calendars.
const ReasonTooManyCalendars = "TOO_MANY_CALENDARS"

// TooManyCalendars is the fault of a calendar beyond the limit.
func TooManyCalendars() *fault.Error {
	return fault.Refuse(ReasonTooManyCalendars, fmt.Sprintf("the company already has %d calendars; revoke one first", MaxCalendars))
}

// Calendar is a calendar with a secret address.
type Calendar struct {
	ID          id.Calendar
	Kind        CalendarKind
	Subject     id.UUID // of the staff member or the customer; zero: the company
	SecretStart string
	CreatedAt   time.Time
	LastReadAt  *time.Time // nil: never
}

// NeedsReadTime reports whether the time of a read at now must be stored.
func (c *Calendar) NeedsReadTime(now time.Time) bool {
	return c.LastReadAt == nil || now.Sub(*c.LastReadAt) >= calendarReadInterval
}

// CalendarWindow is the time in which the dates of a calendar start: From to Until. Dates before Now are past.
type CalendarWindow struct{ From, Now, Until time.Time }

// CalendarWindowAt returns the window of a calendar that is read at now.
func CalendarWindowAt(now time.Time) CalendarWindow {
	return CalendarWindow{From: now.Add(-calendarPast), Now: now, Until: now.AddDate(1, 0, 0)}
}

// CalendarEntry is a date, or a booking of a date, in a calendar.
type CalendarEntry struct {
	Date                                id.EventDate
	Booking                             id.Booking // zero: the entry is the date itself
	Sequence                            int32
	Cancelled                           bool
	Title, Location                     string
	CustomerFirstName, CustomerLastName string
	Staff, Rooms                        []string
	StartsAt                            time.Time
	Minutes                             int32
	Timezone                            string
	UpdatedAt                           time.Time
}

// UID identifies the entry for its life.
func (e *CalendarEntry) UID() string {
	if e.Booking.IsZero() {
		return e.Date.String()
	}
	return e.Booking.String()
}

// CreatedAt returns when the date or the booking was made.
func (e *CalendarEntry) CreatedAt() time.Time {
	if e.Booking.IsZero() {
		return e.Date.UUID().Time()
	}
	return e.Booking.UUID().Time()
}

// Customer returns the name of the customer who has the appointment; "" if the entry is not an appointment,
// or if the calendar does not show it.
func (e *CalendarEntry) Customer() string {
	return strings.TrimSpace(e.CustomerFirstName + " " + e.CustomerLastName)
}

// Summary returns the title, with the name of the customer of an appointment.
func (e *CalendarEntry) Summary() string {
	if customer := e.Customer(); customer != "" {
		return e.Title + ": " + customer
	}
	return e.Title
}

// Description returns the names of the customer, the staff members and the rooms, a line each.
func (e *CalendarEntry) Description() string {
	var b strings.Builder
	for _, name := range slices.Concat([]string{e.Customer()}, e.Staff, e.Rooms) {
		if name == "" || b.Len()+1+len(name) > maxEntryDescription {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(name)
	}
	return b.String()
}

// size returns the largest length of the entry in bytes, with any names of staff members and rooms.
func (e *CalendarEntry) size() int {
	return len(e.Summary()) + len(e.Location) + maxEntryDescription + otherFields
}

// ChooseEntries returns the entries that a calendar shows, by start. upcoming has the earliest ones first, and
// past the latest ones first. An identifier appears once: of several dates of one booking, the latest counts.
// If there are too many entries, those that are farthest in the past are left out first, and then those that
// are farthest in the future.
func ChooseEntries(upcoming, past []*CalendarEntry) []*CalendarEntry {
	nearest := slices.Concat(upcoming, past)
	shown := latestDates(nearest)
	var before, after []*CalendarEntry
	for i, size := 0, 0; i < len(nearest) && len(before)+len(after) < MaxCalendarEntries; i++ {
		e := nearest[i]
		if shown[e.UID()] != e {
			continue
		}
		if size += e.size(); size > maxCalendarSize {
			break
		}
		if i < len(upcoming) {
			after = append(after, e)
		} else {
			before = append(before, e)
		}
	}
	slices.Reverse(before)
	return append(before, after...)
}

// latestDates returns the entry to show for each identifier. An identifier begins with the time at which it was
// made, so the latest date has the highest one.
func latestDates(entries []*CalendarEntry) map[string]*CalendarEntry {
	latest := make(map[string]*CalendarEntry, len(entries))
	for _, e := range entries {
		if known := latest[e.UID()]; known == nil || bytes.Compare(e.Date[:], known.Date[:]) > 0 {
			latest[e.UID()] = e
		}
	}
	return latest
}
