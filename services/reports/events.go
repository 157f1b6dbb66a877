package reports

import (
	"maps"
	"slices"

	"reservation.dev/platform/subjects"
)

// Subjects of consumed events that no other service consumes.
const (
	subjectEventDeleted    = "booking.v1.event_deleted"
	subjectPassTypeCreated = "pass.v1.pass_type_created"
	subjectPassTypeUpdated = "pass.v1.pass_type_updated"
	subjectPlanCreated     = "subscription.v1.plan_created"
	subjectPlanUpdated     = "subscription.v1.plan_updated"
)

const (
	// copiesConsumer is the name of the consumer of company events.
	copiesConsumer = "reports-copies"
	// consumer is the name of the consumer of the events that the read models follow.
	consumer = "reports"
)

// consumed returns the subjects of the events that the read models follow, sorted.
func consumed() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(readers)), subjects.CompanyCreated, subjects.CompanyUpdated)))
}
