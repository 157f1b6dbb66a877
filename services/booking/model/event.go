package model

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/recurrence"
)

// EventType is the kind of event. Its values are stored.
type EventType string

// Values of EventType.
const (
	Class       EventType = "class"
	OneOff      EventType = "event"
	Workshop    EventType = "workshop"
	Course      EventType = "course"
	Appointment EventType = "appointment"
)

// EventStatus says whether an event is on offer.
type EventStatus string

// Values of EventStatus. Only a published event can be booked.
const (
	Draft     EventStatus = "draft"
	Published EventStatus = "published"
	Cancelled EventStatus = "cancelled"
)

// DateStatus says whether a date takes place.
type DateStatus string

// Values of DateStatus.
const (
	Scheduled     DateStatus = "scheduled"
	DateCancelled DateStatus = "cancelled"
)

// Event is something that can be booked.
type Event struct {
	ID          id.Event
	Title       string
	Description string
	Type        EventType
	Status      EventStatus
	Timezone    string // the zone of its dates
	Location    string
	Dates       []EventDate // by start, then id
	Options     []PricingOption
	Recurrence  *recurrence.Recurrence // nil: its first dates were listed one by one
	Policy      CancellationPolicy
	Rules       BookingRules
	// StaffAndRooms is who teaches new dates, and where.
	StaffAndRooms StaffAndRooms
	// OfAppointments means that the event has the appointments of the appointment type with its UUID.
	OfAppointments bool
	Summary        *Summary // of all dates; nil: not read
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        int64
}

// EventDate is one occurrence of an event.
type EventDate struct {
	ID       id.EventDate
	StartsAt time.Time // a whole second
	Minutes  int32
	Timezone string
	Capacity *int32 // nil: unlimited
	Booked   int32
	Status   DateStatus
	Assigned []Assignment // its staff and rooms, also those that it no longer has; nil: not read
}

// PricingOption is a price for one space of an event.
type PricingOption struct {
	ID       id.PricingOption
	Name     string
	Price    int64 // minor units, tax included
	Currency string
	Credits  *int32 // nil: cannot be paid by pass
	TaxRate  int32  // tax included in the price, in basis points: 2000 is 20 %
	// WholeCourse means that the prices are for one space on all dates of a course that are to come.
	WholeCourse bool
	// Length is the length of appointment to which the option applies, in minutes; 0: all lengths.
	Length int32
}

// checkEvent checks an event's own fields and its pricing options.
func (f *fields) checkEvent(e *Event) {
	f.Line("title", e.Title, 1, maxTitle)
	f.Prose("description", e.Description, 0, maxDescription)
	f.Line("location", e.Location, 0, maxLocation)
	if e.Type == "" {
		f.Add("type", "enum", "is not an event type")
	}
	if _, err := zone.Load(e.Timezone); err != nil {
		f.Add("timezone", "timezone", "must be an IANA time zone, for example Europe/London")
	}
	e.Policy.check(&f.Fields)
	e.Rules.check(f)
}

func (f *fields) options(options []PricingOption, of EventType) {
	if !f.Count("pricing_options", len(options), 0, maxOptions) {
		return
	}
	names := make(map[string]bool, len(options))
	for i := range options {
		f.option(fmt.Sprintf("pricing_options[%d].", i), &options[i])
		f.onlyOfCourse(fmt.Sprintf("pricing_options[%d].", i), &options[i], of)
		if names[options[i].Name] {
			f.nameTaken(i)
		}
		names[options[i].Name] = true
	}
}

func (f *fields) nameTaken(i int) {
	f.Add(fmt.Sprintf("pricing_options[%d].name", i), "unique", "is already used by another pricing option of the event")
}

func (f *fields) option(at string, o *PricingOption) {
	f.Line(at+"name", o.Name, 1, maxOptionName)
	if o.Price < 0 || o.Price > MaxPrice {
		f.Add(at+"price", "range", fmt.Sprintf("must be 0 to %d minor units", int64(MaxPrice)))
	}
	f.OneOf(at+"currency", o.Currency, money.Currencies())
	if o.Credits != nil {
		f.Range(at+"credits", int64(*o.Credits), 0, maxCredits)
	}
	f.Range(at+"tax_rate_basis_points", int64(o.TaxRate), 0, maxTaxRate)
}

// StartTaken is the fault of a date whose start another date of the event already has.
func StartTaken() *fault.Error {
	return fault.InvalidFields(fault.Field{
		Field: "dates", Rule: "unique", Message: "include a start at which the event already takes place",
	})
}

// SortDates sorts dates by their start.
func SortDates(dates []EventDate) {
	slices.SortFunc(dates, func(a, b EventDate) int {
		return cmp.Or(a.StartsAt.Compare(b.StartsAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// Raise increases the version of a locked event that changes now.
func (e *Event) Raise(now time.Time) {
	e.Version++
	e.UpdatedAt = now.Truncate(time.Microsecond)
}

func same(a, b *int32) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
