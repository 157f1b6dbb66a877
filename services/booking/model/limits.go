package model

import (
	"math"

	"reservation.dev/services/booking/recurrence"
)

// Limits of events and of what is booked.
const (
	maxTitle       = 200
	maxDescription = 10_000
	maxLocation    = 200
	maxOptionName  = 200
	maxDates       = recurrence.MaxDates // that one request adds
	MaxEventDates  = 5000                // of an event, so that one answer holds them
	MaxReason      = 500
	maxOptions     = 50
	maxMinutes     = 525_600
	maxTaxRate     = 10_000
	maxCredits     = 100_000
	// MaxPrice keeps every sum of an order within what JSON numbers and the
	// arithmetic of tax hold exactly.
	MaxPrice = 100_000_000_000
	// unlimited is the capacity of a date that has none: what the count can hold.
	unlimited = math.MaxInt32
)
