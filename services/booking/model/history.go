package model

import (
	"time"

	"reservation.dev/platform/id"
)

// BookingAction is the kind of a change of a booking. Its values are stored, except Booked.
type BookingAction string

// Values of BookingAction.
const (
	Booked             BookingAction = "booked" // the purchase
	Moved              BookingAction = "moved"
	Transferred        BookingAction = "transferred"
	BookingCancelled   BookingAction = "cancelled"
	BookingRefunded    BookingAction = "refunded"
	AttendanceRecorded BookingAction = "attendance_recorded"
)

// PlatformActor is the actor of changes that the platform makes by itself.
const PlatformActor = "booking"

// BookingFacts is what changes of a booking can change.
type BookingFacts struct {
	Date       id.EventDate
	StartsAt   time.Time
	Timezone   string
	Event      id.Event
	EventTitle string
	Option     id.PricingOption
	Spaces     int32
	Customer   id.Customer // attends
	ManagedBy  id.Customer // never zero
	Attendance Attendance
	Price      int64
	Credits    int32
}

// FactsOf returns the facts of b, a booking of t.
func FactsOf(t *Transaction, b *Booking) BookingFacts {
	d := &b.Date
	return BookingFacts{
		Date: d.ID, StartsAt: d.StartsAt.UTC(), Timezone: d.Timezone, Event: d.Event, EventTitle: d.EventTitle,
		Option: b.Option, Spaces: b.Spaces, Customer: t.Attendee(b), ManagedBy: t.Manager(b),
		Attendance: b.Attendance, Price: b.Price, Credits: b.Payment.Credits,
	}
}

// HistoryEntry is one change of a booking.
type HistoryEntry struct {
	Booking       id.Booking
	Sequence      int32 // 0: the purchase, or not stored yet
	Action        BookingAction
	At            time.Time // by the company's clock
	Actor         string    // the caller's identifier, or PlatformActor; "": not known
	Before, After BookingFacts
	Reason        string
	// The amount that was paid or refunded with the change, in minor units, and how.
	Amount       int64
	Net          int64  // without tax
	TaxRate      int32  // basis points
	Day          string // of At in the company's time zone, as YYYY-MM-DD; "": an earlier release stored no net, rate and day
	Method       Method
	Reference    string
	PolicyWaived bool
	SwappedWith  id.Booking // zero: not a swap
}
