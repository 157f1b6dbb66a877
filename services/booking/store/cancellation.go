package store

import (
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// policyColumns are the columns of the cancellation policy of the event e.
const policyColumns = `e.free_cancellation_minutes`

// policyFields returns the scan targets of policyColumns.
func policyFields(p *model.CancellationPolicy) []any { return []any{&p.FreeMinutes} }

// setPolicy adds the assignments of the policy to an update of events.
func setPolicy(s *pg.Statement, p model.CancellationPolicy) {
	s.SQL += `, free_cancellation_minutes = ` + s.Arg(p.FreeMinutes)
}
