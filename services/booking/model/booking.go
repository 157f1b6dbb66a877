package model

import (
	"encoding/binary"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
)

// Customer is a customer as a transaction shows it.
type Customer struct {
	ID        id.Customer
	FirstName string
	LastName  string
	Email     string
}

// Transaction is one purchase.
type Transaction struct {
	ID          id.Transaction
	Purchaser   Customer
	PurchasedAt time.Time // a whole second
	Timezone    string    // the company's at the purchase
	Version     int64     // raised by every change of it or of its bookings
	Bookings    []Booking // in the order in which they were bought
}

// Booking is a number of spaces on one event date.
type Booking struct {
	ID        id.Booking
	Cancelled bool
	Refunded  bool
	Spaces    int32
	BoughtFor *Customer // nil: the purchaser
	Date      BookedDate
	Option    id.PricingOption
	Payment   Payment

	CancelledAt time.Time // zero: not cancelled, or not known
	Attendance  Attendance
}

// BookedDate is an event date as a booking shows it.
type BookedDate struct {
	ID         id.EventDate
	StartsAt   time.Time
	Timezone   string
	Minutes    int32
	Event      id.Event
	EventTitle string
	EventType  EventType
}

// LocalDay returns the day of the date in its own zone, as YYYY-MM-DD.
func (d *BookedDate) LocalDay() string { return zone.Day(d.StartsAt, d.Timezone) }

// Method is how a booking was paid for. The value is what is stored.
type Method string

const (
	// Card is money that an outside payment provider took, possibly none.
	Card Method = "CARD"
	// Pass is credits of a customer pass.
	Pass Method = "PASS"
)

// Payment is what a booking cost. Card uses the upper four members, Pass the
// lower two.
type Payment struct {
	Method    Method
	Currency  string
	Gross     int64 // minor units, tax included, after the discount
	Net       int64 // minor units, without tax
	Reference string
	Discount  int64  // what a code took off, minor units
	Code      string // the code as it was written; "": none

	Credits      int32
	CustomerPass id.CustomerPass // zero where an import did not name it
}

// Attendance says whether somebody came. The value is what is stored; "" is NULL.
type Attendance string

// What is known of attendance.
const (
	NotRecorded Attendance = ""
	CheckedIn   Attendance = "checked_in"
	NoShow      Attendance = "no_show"
)

// TransactionStatus is where a transaction is in its life. The value is what is stored.
type TransactionStatus string

const (
	// Held has places until it expires.
	Held TransactionStatus = "held"
	// Pending has places, and credits are being taken.
	Pending TransactionStatus = "pending"
	// Undoing has places, and credits are being given back.
	Undoing TransactionStatus = "undoing"
	// Confirmed is what readers see.
	Confirmed TransactionStatus = "confirmed"
	// Released has no places any more.
	Released TransactionStatus = "released"
)

// Registration is a confirmed booking as those see it who run the event: its
// transaction holds it alone.
type Registration struct {
	Transaction
	ChangedAt time.Time
}

// Booking returns the booking.
func (r *Registration) Booking() *Booking { return &r.Bookings[0] }

// CreatedAt is when the booking was made, to the millisecond. Its identifier
// begins with it (UUID version 7), so that the order of identifiers is that of
// creation, and no other column or index is needed for it.
func (r *Registration) CreatedAt() time.Time { return CreatedAt(r.Booking().ID.UUID()) }

// CreatedAt is the time with which an identifier begins.
func CreatedAt(u id.UUID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC()
}
