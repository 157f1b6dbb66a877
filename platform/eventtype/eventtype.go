// Package eventtype lists the types of events for code that does not use the protos. The booking
// service stores the type of each event, and a pass type lists the types that it can pay for.
package eventtype

import (
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Names returns the names of the types, for example "class" and "event".
func Names() []string { return enum.Names[bookingv1.EventType]() }
