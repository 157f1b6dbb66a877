package model

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
)

const (
	minImportMinutes = 5
	maxImportMinutes = 1440
	maxImportRooms   = 5
)

// ImportedAppointment is an appointment recorded by an earlier system.
type ImportedAppointment struct {
	Reference   string
	Customer    string   // a cust_ identifier or a reference
	Type        string   // an apt_ identifier or a reference
	Staff       string   // a staff_ identifier or a reference
	Rooms       []string // room_ identifiers or references; none: the service chooses the rooms of the type
	StartsAt    time.Time
	Minutes     int32
	Cancelled   bool
	Refunded    bool
	BoughtFor   string // in the form of Customer; "": that customer
	Payment     Payment
	PassID      string    // "": not given
	PurchasedAt time.Time // zero: not given
}

// Check returns the first fault of a that does not depend on stored data, or nil. It also parses the
// identifier of the pass.
func (a *ImportedAppointment) Check() *ImportRefusal {
	var faults check.Fields
	faults.Line("reference", a.Reference, 1, maxReference)
	faults.Line("customer", a.Customer, 1, maxReference)
	faults.Line("appointment_type", a.Type, 1, maxReference)
	faults.Line("staff", a.Staff, 1, maxReference)
	if faults.Count("rooms", len(a.Rooms), 0, maxImportRooms) {
		for i, room := range a.Rooms {
			faults.Line(fmt.Sprintf("rooms[%d]", i), room, 1, maxReference)
		}
	}
	faults.Instant("starts_at", a.StartsAt)
	faults.Range("length_minutes", int64(a.Minutes), minImportMinutes, maxImportMinutes)
	if !a.PurchasedAt.IsZero() {
		faults.Instant("purchased_at", a.PurchasedAt)
	}
	faults.Line("bought_for", a.BoughtFor, 0, maxReference)
	paid := ImportedBooking{Payment: a.Payment, PassID: a.PassID}
	paid.checkPayment(&faults, "")
	a.Payment = paid.Payment
	if faults.Len() == 0 {
		return nil
	}
	first := faults.List()[0]
	return refuse(first.Field, first.Rule, first.Message)
}

// ImportType is an appointment type that lines refer to.
type ImportType struct {
	ID           id.AppointmentType
	Title        string
	Timezone     string
	Listed       bool // its event
	Options      []ImportPrice
	Requirements [][]id.Room // in the order of preference
}

// ImportPrice is a pricing option of an appointment type.
type ImportPrice struct {
	Option  id.PricingOption
	Length  int32 // 0: all lengths
	TaxRate int32 // basis points
	Ended   bool
}

// price returns the pricing option of an imported appointment: one on sale for its length, or else any.
func (t *ImportType) price(minutes int32) (ImportPrice, bool) {
	if len(t.Options) == 0 {
		return ImportPrice{}, false
	}
	for _, o := range t.Options {
		if !o.Ended && (o.Length == 0 || o.Length == minutes) {
			return o, true
		}
	}
	return t.Options[0], true
}

// ImportRoom is a room that lines or appointment types refer to.
type ImportRoom struct {
	ID       id.Room
	Capacity int32
	Active   bool
}

// TimeSpan is a time from an instant to another.
type TimeSpan struct{ From, Until time.Time }

// Overlaps reports whether the spans have a time in common.
func (s TimeSpan) Overlaps(o TimeSpan) bool { return s.From.Before(o.Until) && o.From.Before(s.Until) }

// unitKey is a unit of a room; for a staff member the unit is 0.
type unitKey struct {
	resource id.UUID
	unit     int32
}

// AppointmentImport plans one commit of an import of appointments.
type AppointmentImport struct {
	newID    func() id.UUID
	Now      time.Time
	Company  id.Company
	timezone string // of the company
	// Existing maps references to imported appointments; zero: to another transaction.
	Existing  map[string]id.Appointment
	Customers map[string]id.Customer // by the names in lines; only those who are not deleted
	Names     map[id.Customer]Customer
	Types     map[string]*ImportType // by the names in lines
	Staff     map[string]id.StaffMember
	Rooms     map[string]id.Room
	RoomsByID map[id.Room]*ImportRoom
	taken     map[unitKey][]TimeSpan
	timeOff   map[id.UUID][]TimeSpan
	Recorded  []RecordedAppointment // to store
}

// RecordedAppointment is an imported appointment to store.
type RecordedAppointment struct {
	Transaction Transaction
	Reference   string
	Status      DateStatus
	Assignments []Assignment
}

// NewAppointmentImport returns an empty plan.
func NewAppointmentImport(company id.Company, timezone string, now time.Time, newID func() id.UUID) *AppointmentImport {
	return &AppointmentImport{
		newID: newID, Now: now, Company: company, timezone: timezone, Existing: map[string]id.Appointment{}, Customers: map[string]id.Customer{},
		Names: map[id.Customer]Customer{}, Types: map[string]*ImportType{}, Staff: map[string]id.StaffMember{}, Rooms: map[string]id.Room{},
		RoomsByID: map[id.Room]*ImportRoom{}, taken: map[unitKey][]TimeSpan{}, timeOff: map[id.UUID][]TimeSpan{},
	}
}

// AddTaken adds time that an assignment takes.
func (l *AppointmentImport) AddTaken(resource id.UUID, unit int32, s TimeSpan) {
	key := unitKey{resource, unit}
	l.taken[key] = append(l.taken[key], s)
}

// AddTimeOff adds time off of a staff member or a room.
func (l *AppointmentImport) AddTimeOff(resource id.UUID, s TimeSpan) {
	l.timeOff[resource] = append(l.timeOff[resource], s)
}

// Record plans one line. It returns the appointment to store, or the reason for refusing it.
func (l *AppointmentImport) Record(a *ImportedAppointment) (id.Appointment, *ImportRefusal) {
	customer, ok := l.Customers[a.Customer]
	if !ok {
		return id.Appointment{}, refuse("customer", "exists", "does not exist")
	}
	boughtFor, why := l.boughtFor(a, customer)
	if why != nil {
		return id.Appointment{}, why
	}
	of := l.Types[a.Type]
	if of == nil {
		return id.Appointment{}, refuse("appointment_type", "exists", "does not exist")
	}
	price, ok := of.price(a.Minutes)
	if !ok {
		return id.Appointment{}, refuse("appointment_type", "price", "has no price")
	}
	assigned, why := l.assign(a, of)
	if why != nil {
		return id.Appointment{}, why
	}
	date, booking := id.EventDate(l.newID()), id.Booking(l.newID())
	for i := range assigned {
		assigned[i].Date, assigned[i].Active = date, a.TakesTime(l.Now)
		if assigned[i].Active {
			l.AddTaken(assigned[i].Resource, assigned[i].Unit, TimeSpan{assigned[i].From, assigned[i].Until})
		}
	}
	b := Booking{
		ID: booking, Cancelled: a.Cancelled, Refunded: a.Refunded, Spaces: 1, BoughtFor: boughtFor, Option: price.Option,
		Date: BookedDate{
			ID: date, Event: id.Event(of.ID), StartsAt: a.StartsAt.Truncate(time.Second), Minutes: a.Minutes, Timezone: of.Timezone,
			EventTitle: of.Title, EventType: Appointment, OfAppointment: true,
		},
	}
	b.payImported(a.Payment, price.TaxRate)
	l.record(a, customer, b, assigned)
	return id.Appointment(booking), nil
}

// NewlyListed returns the appointment types whose first appointment the plan records.
func (l *AppointmentImport) NewlyListed() []id.AppointmentType {
	listed := map[id.AppointmentType]bool{}
	for _, t := range l.Types {
		listed[t.ID] = t.Listed
	}
	var first []id.AppointmentType
	for i := range l.Recorded {
		if t := id.AppointmentType(l.Recorded[i].Transaction.Bookings[0].Date.Event); !listed[t] {
			listed[t] = true
			first = append(first, t)
		}
	}
	return first
}

// record adds the transaction of one line.
func (l *AppointmentImport) record(a *ImportedAppointment, customer id.Customer, b Booking, assigned []Assignment) {
	at, status := a.PurchasedAt, Scheduled
	if at.IsZero() {
		at = l.Now
	}
	if a.Cancelled {
		status = DateCancelled
	}
	l.Existing[a.Reference] = id.Appointment(b.ID)
	l.Recorded = append(l.Recorded, RecordedAppointment{
		Reference: a.Reference, Status: status, Assignments: assigned,
		Transaction: Transaction{
			ID: id.Transaction(l.newID()), Purchaser: known(l.Names, customer), PurchasedAt: at.Truncate(time.Second),
			Timezone: l.timezone, Version: 1, UpdatedAt: l.Now, Bookings: []Booking{b},
		},
	})
}

// boughtFor returns the customer who attends; nil if it is the purchaser.
func (l *AppointmentImport) boughtFor(a *ImportedAppointment, purchaser id.Customer) (*Customer, *ImportRefusal) {
	if a.BoughtFor == "" {
		return nil, nil
	}
	customer, ok := l.Customers[a.BoughtFor]
	switch {
	case !ok:
		return nil, refuse("bought_for", "exists", "does not exist")
	case customer == purchaser:
		return nil, nil
	}
	attendee := known(l.Names, customer)
	return &attendee, nil
}

// Span returns the time of a. Imported appointments have no buffers.
func (a *ImportedAppointment) Span() TimeSpan {
	start := a.StartsAt.Truncate(time.Second)
	return TimeSpan{From: start, Until: start.Add(time.Duration(a.Minutes) * time.Minute)}
}

// TakesTime reports whether a takes the time of its staff member and rooms: it is not cancelled and has
// not ended.
func (a *ImportedAppointment) TakesTime(now time.Time) bool {
	return !a.Cancelled && a.Span().Until.After(now)
}

// assign returns the assignments of a: its staff member, and a unit of each room.
func (l *AppointmentImport) assign(a *ImportedAppointment, of *ImportType) ([]Assignment, *ImportRefusal) {
	staff, ok := l.Staff[a.Staff]
	if !ok {
		return nil, refuse("staff", "exists", "does not exist")
	}
	span := a.Span()
	taken := Assignment{Kind: StaffResource, Resource: staff.UUID(), From: span.From, Until: span.Until}
	if a.TakesTime(l.Now) {
		if overlaps(l.timeOff[taken.Resource], span) {
			return nil, refuse("staff", "time_off", "has time off")
		}
		if overlaps(l.taken[unitKey{taken.Resource, 0}], span) {
			return nil, refuse("staff", "overlap", "has another appointment or class at that time")
		}
	}
	assigned := []Assignment{taken}
	rooms, why := l.rooms(a, of, span)
	for i, room := range rooms {
		taken.Kind, taken.Resource, taken.Unit, taken.Position = RoomResource, room.resource, room.unit, int32(i)
		assigned = append(assigned, taken)
	}
	return assigned, why
}

// rooms returns the units that a takes: of its rooms, or, if it names none and takes time, of those that
// its type requires.
func (l *AppointmentImport) rooms(a *ImportedAppointment, of *ImportType, span TimeSpan) ([]unitKey, *ImportRefusal) {
	var units []unitKey
	used := map[id.Room]bool{}
	for i, text := range a.Rooms {
		field := fmt.Sprintf("rooms[%d]", i)
		room := l.RoomsByID[l.Rooms[text]]
		switch {
		case room == nil:
			return nil, refuse(field, "exists", "does not exist")
		case used[room.ID]:
			return nil, refuse(field, "unique", "is given more than once")
		}
		used[room.ID] = true
		unit := unitKey{room.ID.UUID(), 1}
		if a.TakesTime(l.Now) {
			if overlaps(l.timeOff[unit.resource], span) {
				return nil, refuse(field, "time_off", "has time off")
			}
			if unit.unit = l.freeUnit(room, span); unit.unit == 0 {
				return nil, refuse(field, "overlap", "has no free unit at that time")
			}
		}
		units = append(units, unit)
	}
	if len(a.Rooms) > 0 || !a.TakesTime(l.Now) {
		return units, nil
	}
	for _, anyOf := range of.Requirements {
		unit, ok := l.firstFree(anyOf, span)
		if !ok {
			return nil, refuse("rooms", "overlap", "of the appointment type are not free at that time")
		}
		units = append(units, unit)
	}
	return units, nil
}

// firstFree returns a unit of the first room that is active and free.
func (l *AppointmentImport) firstFree(anyOf []id.Room, span TimeSpan) (unitKey, bool) {
	for _, which := range anyOf {
		room := l.RoomsByID[which]
		if room == nil || !room.Active || overlaps(l.timeOff[which.UUID()], span) {
			continue
		}
		if unit := l.freeUnit(room, span); unit > 0 {
			return unitKey{which.UUID(), unit}, true
		}
	}
	return unitKey{}, false
}

// freeUnit returns the lowest unit of a room that is free throughout span, or 0.
func (l *AppointmentImport) freeUnit(room *ImportRoom, span TimeSpan) int32 {
	for unit := int32(1); unit <= room.Capacity; unit++ {
		if !overlaps(l.taken[unitKey{room.ID.UUID(), unit}], span) {
			return unit
		}
	}
	return 0
}

func overlaps(taken []TimeSpan, span TimeSpan) bool {
	for _, t := range taken {
		if t.Overlaps(span) {
			return true
		}
	}
	return false
}

// mergedGap is the time between spans that are read together.
const mergedGap = 7 * 24 * time.Hour

// Needed returns the spans of lines, by the staff members and rooms that can be assigned to them. Spans
// that are close to each other are merged.
func (l *AppointmentImport) Needed(lines []*ImportedAppointment) map[id.UUID][]TimeSpan {
	needed := map[id.UUID][]TimeSpan{}
	for _, a := range lines {
		of := l.Types[a.Type]
		if of == nil || !a.TakesTime(l.Now) {
			continue
		}
		var resources []id.UUID
		if staff, ok := l.Staff[a.Staff]; ok {
			resources = append(resources, staff.UUID())
		}
		for _, text := range a.Rooms {
			if room, ok := l.Rooms[text]; ok {
				resources = append(resources, room.UUID())
			}
		}
		if len(a.Rooms) == 0 {
			for _, room := range slices.Concat(of.Requirements...) {
				resources = append(resources, room.UUID())
			}
		}
		for _, r := range resources {
			needed[r] = append(needed[r], a.Span())
		}
	}
	for r, spans := range needed {
		needed[r] = merged(spans)
	}
	return needed
}

// merged sorts spans and merges those that are close to each other.
func merged(spans []TimeSpan) []TimeSpan {
	slices.SortFunc(spans, func(a, b TimeSpan) int { return a.From.Compare(b.From) })
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.From.Sub(last.Until) > mergedGap {
			out = append(out, s)
		} else if s.Until.After(last.Until) {
			last.Until = s.Until
		}
	}
	return out
}

// ImportReferenceTaken is the reason for refusing a line whose reference belongs to another transaction.
func ImportReferenceTaken() *ImportRefusal {
	return refuse("reference", "unique", "belongs to a transaction that is not an appointment")
}
