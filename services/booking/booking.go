package booking

import (
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

// localDay returns the day of the date in its own zone, as YYYY-MM-DD.
func (d *BookedDate) localDay() string { return zone.Day(d.StartsAt, d.Timezone) }

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

// change is what cancelling or refunding did.
type change struct {
	changed bool
	frees   int32 // spaces to give back to the date
	returns bool  // what a pass paid goes back to it
	refused error // why nothing is changed
}

// cancel sets the flag, once, and says how many spaces become free.
func (b *Booking) cancel() change {
	if b.Cancelled {
		return change{}
	}
	b.Cancelled = true
	return change{changed: true, frees: b.Spaces}
}

// refund sets the flag, once. It does not cancel: a business may give the money
// back and keep the place.
func (b *Booking) refund() change {
	if b.Refunded {
		return change{}
	}
	b.Refunded = true
	return change{changed: true}
}
