package resource

import (
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Plan converts a plan.
func Plan(p *subscriptionv1.Plan) *edgebv1.Plan {
	return &edgebv1.Plan{
		Id: p.GetId(), Title: p.GetTitle(), Description: p.GetDescription(), Price: amount(p.GetPrice()), Currency: p.GetCurrency(),
		Interval: enum.Name(p.GetIntervalUnit()), IntervalCount: p.GetIntervalCount(), TrialDays: p.GetTrialDays(), MinimumPeriods: p.GetMinimumPeriods(),
		Bookings: enum.Name(p.GetBookings()), Credits: p.GetCredits(), MaxRollover: p.GetMaxRollover(), EligibleEventTypes: p.GetEligibleEventTypes(),
		MediaCollectionIds: p.GetMediaCollectionIds(), PassId: nullableText(p.GetPassTypeId()), Status: enum.Name(p.GetStatus()),
		CreatedAt: utc(p.GetCreatedAt()), UpdatedAt: utc(p.GetUpdatedAt()),
	}
}
