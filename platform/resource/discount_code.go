package resource

import (
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// The statuses of a discount code.
const (
	StatusActive   = "active"
	StatusDisabled = "disabled"
)

// DiscountCode converts a discount code.
func DiscountCode(c *bookingv1.DiscountCode) *edgebv1.DiscountCode {
	out := &edgebv1.DiscountCode{
		Id: c.GetId(), Code: c.GetCode(), StartsAt: nullableTime(c.GetValidFrom()), EndsAt: nullableTime(c.GetValidUntil()),
		MaxUses: nullableInt(c.MaxUses), Uses: c.GetUses(), EventIds: c.GetEventIds(), Status: StatusActive,
		CreatedAt: utc(c.GetCreatedAt()), UpdatedAt: utc(c.GetUpdatedAt()),
	}
	if c.GetDisabled() {
		out.Status = StatusDisabled
	}
	switch reduction := c.GetReduction().(type) {
	case *bookingv1.DiscountCode_BasisPoints:
		out.Percent = &edgev1.Percentage{BasisPoints: reduction.BasisPoints}
	case *bookingv1.DiscountCode_Amount:
		out.Amount, out.Currency = amount(reduction.Amount), &c.Currency
	}
	return out
}
