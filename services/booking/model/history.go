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

// BookingFacts is what changes of a booking can change. It is stored as JSON.
type BookingFacts struct {
	Date       id.EventDate     `json:"event_date_id"`
	StartsAt   time.Time        `json:"starts_at"`
	Timezone   string           `json:"timezone"`
	Event      id.Event         `json:"event_id"`
	EventTitle string           `json:"event_title"`
	Option     id.PricingOption `json:"pricing_option_id"`
	Spaces     int32            `json:"spaces"`
	Customer   id.Customer      `json:"customer_id"`   // attends
	ManagedBy  id.Customer      `json:"managed_by_id"` // never zero
	Attendance Attendance       `json:"attendance,omitempty"`
	Price      int64            `json:"price,omitempty"`
	Credits    int32            `json:"credits,omitempty"`
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
	// What was paid or refunded with the change, minor units, and how.
	Amount       int64
	Method       Method
	Reference    string
	PolicyWaived bool
	SwappedWith  id.Booking // zero: not a swap
}
