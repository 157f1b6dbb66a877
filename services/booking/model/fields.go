package model

import (
	"reservation.dev/platform/check"
)

// fields collects the failed checks of a request about an event.
type fields struct{ check.Fields }
