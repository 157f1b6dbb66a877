package model

import (
	"encoding/binary"
	"slices"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	"reservation.dev/platform/zone"
)

// Customer is a customer as shown in a transaction.
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
	Timezone    string    // the company's zone at the time of the purchase
	Version     int64     // increases with every change of the transaction or its bookings
	UpdatedAt   time.Time // of the last change of the transaction or its bookings
	Bookings    []Booking // in the order of the purchase's lines
}

// Customers returns the purchaser and the customers who attend or manage the bookings.
func (t *Transaction) Customers() []id.Customer {
	all := []id.Customer{t.Purchaser.ID}
	for i := range t.Bookings {
		b := &t.Bookings[i]
		if b.BoughtFor != nil {
			all = append(all, b.BoughtFor.ID)
		}
		if !b.ManagedBy.IsZero() {
			all = append(all, b.ManagedBy)
		}
	}
	return all
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
	Price     int64 // now, minor units; 0 if the payment is by pass
	// ManagedBy is the customer who manages the booking; zero: the purchaser.
	ManagedBy id.Customer
	// Imported reports whether the purchase was imported. The pass service has no redemption for it.
	Imported bool

	CancelledAt time.Time // zero: not cancelled, or unknown
	Late        bool      // cancelled after the end of free cancellation, and the policy was not waived
	Reason      string    // of the cancellation; "": none was given
	RefundDue   int64     // what is owed after the cancellation or a move and not refunded yet, minor units
	// RefundedAmount is what was refunded, minor units; 0 if the payment was by pass.
	RefundedAmount int64
	RefundedAt     time.Time // of the last refund; zero: none, or unknown
	Attendance     Attendance

	// Money is set in what changes a booking, and in what publishes it.
	Money BookingMoney
	// UnrecordedRefundAt is when refunds without an entry in the history were recorded; zero: RefundedAt.
	UnrecordedRefundAt time.Time
}

// PaidByPass returns the bookings that a pass pays.
func (t *Transaction) PaidByPass() []*Booking {
	var all []*Booking
	for i := range t.Bookings {
		if b := &t.Bookings[i]; b.Payment.Method == Pass {
			all = append(all, b)
		}
	}
	return all
}

// Manager returns the customer who manages b, a booking of t.
func (t *Transaction) Manager(b *Booking) id.Customer {
	if b.ManagedBy.IsZero() {
		return t.Purchaser.ID
	}
	return b.ManagedBy
}

// Attendee returns the customer who attends b, a booking of t.
func (t *Transaction) Attendee(b *Booking) id.Customer {
	if b.BoughtFor == nil {
		return t.Purchaser.ID
	}
	return b.BoughtFor.ID
}

// CreditsReturned returns the credits that were returned to the pass.
func (b *Booking) CreditsReturned() int32 {
	if p := &b.Payment; b.Refunded && p.Method == Pass && !p.CustomerPass.IsZero() {
		return p.Credits
	}
	return 0
}

// BookedDate is an event date as shown in a booking.
type BookedDate struct {
	ID         id.EventDate
	StartsAt   time.Time
	Timezone   string
	Minutes    int32
	Event      id.Event
	EventTitle string
	EventType  EventType
	// OfAppointment means that the date is that of an appointment.
	OfAppointment bool
}

// LocalDay returns the day of the date in its own zone, as YYYY-MM-DD.
func (d *BookedDate) LocalDay() string { return zone.Day(d.StartsAt, d.Timezone) }

// Method is how a booking was paid. Its values are stored.
type Method string

const (
	// Card is money that an external payment provider collected; the amount can be 0.
	Card Method = money.MethodCard
	// Pass is credits of a customer pass.
	Pass Method = money.MethodPass
	// Free is a booking for which nothing is paid: its amounts are 0, regardless of the price. The other methods
	// of money.BookingMethods are money that was collected in another way than by card.
	Free Method = money.MethodFree
)

// MoneyMethods returns the names of the methods other than a pass.
func MoneyMethods() []string {
	return slices.DeleteFunc(money.BookingMethods(), func(m string) bool { return m == money.MethodPass })
}

// IsMoney reports whether a payment has amounts. All payments have amounts except those by pass.
func (m Method) IsMoney() bool { return m != "" && m != Pass }

// Payment is what a booking cost. A payment by pass uses the last two members, any other payment
// the members above them.
type Payment struct {
	Method    Method
	Currency  string
	Gross     int64 // minor units, tax included, after the discount
	Net       int64 // minor units, without tax
	TaxRate   int32 // of the pricing option at the purchase, basis points
	Reference string
	Discount  int64  // what the discount code took off, minor units
	Code      string // the discount code as entered; "": none

	Credits      int32
	CustomerPass id.CustomerPass // zero if an import did not give it
}

// Attendance records whether the customer attended. Its values are stored; "" is NULL.
type Attendance string

// Values of Attendance.
const (
	NotRecorded Attendance = ""
	CheckedIn   Attendance = "checked_in"
	NoShow      Attendance = "no_show"
)

// TransactionStatus is the state of a transaction. Its values are stored.
type TransactionStatus string

const (
	// Held has spaces until it expires.
	Held TransactionStatus = "held"
	// Pending has spaces, and its credits are being taken.
	Pending TransactionStatus = "pending"
	// Undoing has spaces, and its credits are being returned.
	Undoing TransactionStatus = "undoing"
	// Confirmed is visible to readers.
	Confirmed TransactionStatus = "confirmed"
	// Released has no spaces any more.
	Released TransactionStatus = "released"
)

// Registration is a confirmed booking as shown to the people who run the event. Its transaction
// contains only this booking.
type Registration struct{ Transaction }

// Booking returns the registration's only booking.
func (r *Registration) Booking() *Booking { return &r.Bookings[0] }

// CreatedAt returns when the booking was made, to the millisecond. The booking's identifier (a UUID
// version 7) begins with this time. Identifiers therefore sort by creation, and no other column or
// index is needed for it.
func (r *Registration) CreatedAt() time.Time { return CreatedAt(r.Booking().ID.UUID()) }

// CreatedAt returns the time at the beginning of an identifier.
func CreatedAt(u id.UUID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC()
}
