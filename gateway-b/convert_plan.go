package gatewayb

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// newPlan converts the body of POST /plans.
func newPlan(in *edgebv1.PlanWrite) (*subscriptionv1.CreatePlanRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &subscriptionv1.CreatePlanRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), Price: in.GetPrice().GetMinor(), Currency: in.GetCurrency(),
		IntervalUnit: value[subscriptionv1.IntervalUnit](&b, "interval", in.Interval), IntervalCount: in.GetIntervalCount(),
		TrialDays: in.GetTrialDays(), MinimumPeriods: in.GetMinimumPeriods(), Bookings: value[subscriptionv1.PlanBookings](&b, "bookings", in.Bookings),
		Credits: in.GetCredits(), MaxRollover: in.GetMaxRollover(), EligibleEventTypes: in.GetEligibleEventTypes().GetValues(),
		MediaCollectionIds: in.GetMediaCollectionIds().GetValues(),
	}
	b.notEmpty("currency", in.Currency)
	if in.IntervalCount != nil && in.GetIntervalCount() < 1 { // the service would treat 0 as absent
		b.Add("intervalCount", "min", "must be 1 or more")
	}
	if in.Status != nil && in.GetStatus() != enum.Name(subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE) {
		b.Add("status", "enum", "must be active for a new plan")
	}
	return out, b.Err()
}

// planUpdate converts the body of PUT /plans/{id}.
func planUpdate(in *edgebv1.PlanWrite) (*subscriptionv1.UpdatePlanRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &subscriptionv1.UpdatePlanRequest{
		Title: in.Title, Description: in.Description, Currency: in.Currency,
		IntervalUnit: value[subscriptionv1.IntervalUnit](&b, "interval", in.Interval), IntervalCount: in.IntervalCount,
		TrialDays: in.TrialDays, MinimumPeriods: in.MinimumPeriods, Bookings: value[subscriptionv1.PlanBookings](&b, "bookings", in.Bookings),
		Credits: in.Credits, MaxRollover: in.MaxRollover, Status: value[subscriptionv1.PlanStatus](&b, "status", in.Status),
		EligibleEventTypes: textList(in.GetEligibleEventTypes()),
	}
	b.notEmpty("currency", in.Currency)
	if in.GetPrice() != nil {
		out.Price = &in.GetPrice().Minor
	}
	if collections := in.GetMediaCollectionIds(); collections != nil {
		out.MediaCollectionIds = &subscriptionv1.TextList{Values: collections.GetValues()}
	}
	return out, b.Err()
}

// textList converts a list of texts that can be absent.
func textList(list *edgev1.TextList) *subscriptionv1.TextList {
	if list == nil {
		return nil
	}
	return &subscriptionv1.TextList{Values: list.GetValues()}
}
