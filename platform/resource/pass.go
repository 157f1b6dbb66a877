package resource

import (
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Pass converts a pass type.
func Pass(t *passv1.PassType) *edgebv1.Pass {
	return &edgebv1.Pass{
		Id: t.GetId(), Title: t.GetTitle(), Description: t.GetDescription(), TotalUses: t.GetTotalUses(), ValidityCount: t.GetValidityCount(),
		ValidityUnit: enum.Name(t.GetValidityUnit()), Price: amount(t.GetPrice()), Currency: t.GetCurrency(),
		EligibleEventTypes: t.GetEligibleEventTypes(), Status: enum.Name(t.GetStatus()),
		CreatedAt: utc(t.GetCreatedAt()), UpdatedAt: utc(t.GetUpdatedAt()), UnlimitedUses: t.GetUnlimitedUses(), NeverExpires: t.GetNeverExpires(),
		PlanId: nullableText(t.GetPlanId()),
	}
}

// CustomerPass converts a pass that a customer holds.
func CustomerPass(p *passv1.CustomerPass) *edgebv1.CustomerPass {
	return &edgebv1.CustomerPass{
		Id: p.GetId(), CustomerId: p.GetCustomerId(), PassId: p.GetPassTypeId(), RemainingUses: p.GetRemainingUses(),
		StartDate: p.GetStartDate(), ExpiryDate: p.GetExpiryDate(), Status: enum.Name(p.GetStatus()), Title: p.GetTitle(), TotalUses: p.GetTotalUses(),
		UnlimitedUses: p.GetUnlimitedUses(), NeverExpires: p.GetNeverExpires(), PausedSince: nullableTime(p.GetPausedSince()),
		CreatedAt: utc(p.GetCreatedAt()), UpdatedAt: utc(p.GetUpdatedAt()), SubscriptionId: nullableText(p.GetSubscriptionId()),
	}
}
