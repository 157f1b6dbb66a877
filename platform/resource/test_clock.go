package resource

import (
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// TestClock converts the clock of a company in test mode.
func TestClock(c *authv1.TestClock) *edgebv1.TestClock {
	return &edgebv1.TestClock{Now: utc(c.GetNow()), OffsetSeconds: c.GetOffsetSeconds()}
}
