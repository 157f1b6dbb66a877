package resource

import (
	"cmp"

	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// Transaction converts a purchase. If bookings have different currencies, as imported ones can, the
// total counts those in the currency of the first.
func Transaction(t *bookingv1.Transaction, currency string) *edgebv1.Transaction {
	out := &edgebv1.Transaction{
		Id: t.GetId(), PurchasedById: t.GetPurchaser().GetId(), CreatedAt: utc(t.GetPurchasedAt()), UpdatedAt: utc(cmp.Or(t.GetUpdatedAt(), t.GetPurchasedAt())),
		Total: &edgev1.Amount{}, Currency: currency, PaymentMethod: money.MethodCard, DiscountCode: nullableText(""),
	}
	for i, b := range t.GetBookings() {
		p := paymentOf(b, currency)
		if i == 0 {
			out.Currency, out.PaymentMethod = p.currency, p.method
		}
		if p.discountCode != "" {
			out.DiscountCode = nullableText(p.discountCode)
		}
		if p.currency == out.GetCurrency() {
			out.Total.Minor += p.total
		}
		out.Registrations = append(out.Registrations, Registration(&bookingv1.Registration{
			Booking: b, TransactionId: t.GetId(), Purchaser: t.GetPurchaser(), CreatedAt: b.GetCreatedAt(),
		}, currency))
	}
	return out
}
