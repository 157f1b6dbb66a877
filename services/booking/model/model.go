// Package model holds the types and the decisions of the booking service: what can be booked, at
// which price, and what a change or a cancellation does. It does no I/O and reads no clock.
package model

import (
	"reservation.dev/platform/check"
)

// fields collects the failed checks of a request about an event.
type fields struct{ check.Fields }
