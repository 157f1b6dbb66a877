package gatewaya

import (
	"reservation.dev/platform/enum"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// typePass is the value of type for customer passes on Interface A.
const typePass = "pass"

func pass(p *passv1.CustomerPass, c clock) *edgeav1.Pass {
	out := &edgeav1.Pass{
		Id: p.GetId(), Type: typePass, CustomerId: p.GetCustomerId(), PassId: p.GetPassTypeId(), Title: p.GetTitle(),
		Status: enum.Name(p.GetStatus()), TotalUses: p.GetTotalUses(), RemainingUses: p.GetRemainingUses(), UnlimitedUses: p.GetUnlimitedUses(),
		StartDate: p.GetStartDate(), ExpiryDate: p.GetExpiryDate(), NeverExpires: p.GetNeverExpires(),
		CreatedAt: c.local(p.GetCreatedAt()), UpdatedAt: c.local(p.GetUpdatedAt()), Tz: c.name,
		Payment: passPurchase(p.GetPurchase()), SubscriptionId: optional(p.GetSubscriptionId()),
	}
	if p.GetPausedSince() != nil {
		since := c.local(p.GetPausedSince())
		out.PausedSince = &since
	}
	return out
}

// passPurchase converts the payment for a pass. nil, which means that the pass was given away, stays
// nil and is absent in the JSON. A pass has no tax rate, so both prices are the same.
func passPurchase(p *passv1.PassPurchase) *edgeav1.Payment {
	if p == nil {
		return nil
	}
	return moneyPayment(p.GetMethod(), p.GetCurrency(), p.GetGross(), p.GetGross())
}
