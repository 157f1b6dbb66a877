package reports

import (
	"time"

	"reservation.dev/platform/id"
)

// eventFact is what the service knows of an event.
type eventFact struct {
	id      id.Event
	version int64 // 0 if only a booking has named the event
	title   string
	status  string
}

// The statuses of an event.
const (
	eventDraft     = "draft"
	eventPublished = "published"
	eventDeleted   = "deleted"
)

// dateFact is what the service knows of a date of an event, without those of appointments.
type dateFact struct {
	id          id.EventDate
	version     int64
	event       id.Event
	day         Day // noDay if only the cancellation has arrived
	capacity    *int32
	isCancelled bool
}

// activeDay returns the day on which the bookings of the date make customers active.
func (d dateFact) activeDay() Day {
	if d.isCancelled {
		return noDay
	}
	return d.day
}

// bookingFact is what the service knows of a booking, without its movements.
type bookingFact struct {
	id       id.Booking
	version  int64
	event    id.Event
	date     id.EventDate
	customer id.Customer // who attends
	spaces   int32
	status   string
	late     bool // cancelled late
	day      Day  // of an appointment, which has no dateFact; otherwise noDay
}

// The statuses of a booking.
const (
	bookingConfirmed = "confirmed"
	bookingAttended  = "attended"
	bookingNoShow    = "no_show"
	bookingCancelled = "cancelled"
)

// isAppointment reports whether the booking is an appointment.
func (b bookingFact) isAppointment() bool { return b.day != noDay }

// isActive reports whether the booking makes its customer active.
func (b bookingFact) isActive() bool {
	return b.status == bookingConfirmed || b.status == bookingAttended
}

// movementKey identifies a movement of money of a booking.
type movementKey struct {
	booking  id.Booking
	sequence int32
}

// movement is an amount that was paid for a booking; negative: refunded.
type movement struct {
	movementKey
	day        Day
	gross, net int64
	currency   string
	method     string
	taxRate    int32
}

// passFact is what the service knows of a customer pass, without its ledger.
type passFact struct {
	id             id.CustomerPass
	version        int64
	passType       id.PassType
	customer       id.Customer
	expires        Day // the last day; afterAll: none
	remaining      int32
	assigned       int32
	isUnlimited    bool
	isCancelled    bool
	ofSubscription bool
	paid           int64
	currency       string // "": nothing was paid
	method         string
	createdAt      time.Time // only in changes
	createdOn      Day       // noDay in events of earlier releases: then that of createdAt in the generation's zone
}

// entryKey identifies an entry of a ledger.
type entryKey struct {
	pass     id.CustomerPass
	sequence int64
}

// entryFact is an entry of the ledger of a customer pass.
type entryFact struct {
	entryKey
	kind    string
	credits int32
	day     Day
}

// The kinds of entries that are not adjustments.
const (
	entryAssigned = "assigned"
	entryRedeemed = "redeemed"
	entryReturned = "returned"
	entryGranted  = "granted"
	entryExpired  = "expired"
)

// passTypeFact labels rows.
type passTypeFact struct {
	id      id.PassType
	version int64
	title   string
}

// planFact labels rows, and says what the credits of its subscriptions are worth.
type planFact struct {
	id       id.Plan
	version  int64
	title    string
	price    int64
	currency string
	credits  int32
}

// subscriptionKey identifies a movement of money of a subscription.
type subscriptionKey struct {
	subscription id.Subscription
	period       int32
	entry        int64
}

// subscriptionMovement is an amount that was paid for a subscription; negative: refunded.
type subscriptionMovement struct {
	subscriptionKey
	day      Day
	amount   int64
	currency string
	method   string
	plan     id.Plan
}

// customerFact is what the service knows of a customer.
type customerFact struct {
	id        id.Customer
	version   int64
	createdAt time.Time // only in changes
	createdOn Day       // in the zone of the generation
	isDeleted bool
}
