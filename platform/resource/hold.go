package resource

import (
	"cmp"

	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// StatusReleased is the status of a hold that a caller ended.
const StatusReleased = "released"

// Hold converts a hold. currency is the company's, for a hold that shows no price.
func Hold(h *bookingv1.Hold, currency string) *edgebv1.Hold {
	out := &edgebv1.Hold{
		Id: HoldID(h.GetId()), Status: enum.Name(h.GetStatus()), PurchasedById: h.GetPurchaserId(), ExpiresAt: utc(h.GetExpiresAt()),
		Total: &edgev1.Amount{}, Currency: currency, DiscountCode: nullableText(""), TransactionId: nullableText(""), CreatedAt: utc(h.GetCreatedAt()),
		AppointmentId: nullableText(h.GetAppointmentId()),
	}
	if h.GetStatus() == bookingv1.HoldStatus_HOLD_STATUS_CONFIRMED {
		out.TransactionId = nullableText(h.GetId())
	}
	for i, b := range h.GetBookings() {
		p := paymentOf(b, currency)
		if i == 0 {
			out.Currency = p.currency
		}
		if p.discountCode != "" {
			out.DiscountCode = nullableText(p.discountCode)
		}
		if p.currency == out.Currency { // amounts in other currencies cannot be added
			out.Total.Minor += p.total
		}
		out.Lines = append(out.Lines, &edgebv1.HoldLine{
			EventId: b.GetEventId(), EventTitle: b.GetEventTitle(), EventDateId: b.GetEventDateId(), EventDate: utc(b.GetStartsAt()),
			CustomerId: cmp.Or(b.GetBoughtFor().GetId(), h.GetPurchaserId()), PricingOptionId: b.GetPricingOptionId(), Spots: b.GetSpaces(), Price: amount(p.total),
		})
	}
	return out
}
