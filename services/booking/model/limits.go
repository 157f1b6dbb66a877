package model

import (
	"math"

	"reservation.dev/services/booking/recurrence"
)

// Limits of events and bookings.
const (
	maxTitle       = 200
	maxDescription = 10_000
	maxLocation    = 200
	maxOptionName  = 200
	maxDates       = recurrence.MaxDates // added by one request
	MaxEventDates  = 5000                // of an event, so that they fit in one response
	MaxReason      = 500
	maxOptions     = 50
	maxMinutes     = 525_600
	maxTaxRate     = 10_000
	maxCredits     = 100_000
	// MaxPrice keeps the sums of an order within the exact range of JSON numbers and of the tax
	// calculation.
	MaxPrice = 100_000_000_000
	// unlimited is the capacity of a date without one: the maximum that the count can hold.
	unlimited = math.MaxInt32
)
