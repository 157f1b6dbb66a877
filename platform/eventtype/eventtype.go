// Package eventtype lists the types of events for code that sees no protos: the
// booking service stores them, and a pass says which of them it pays for.
package eventtype

import (
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Names returns the types: class, event and so on.
func Names() []string { return enum.Names[bookingv1.EventType]() }
