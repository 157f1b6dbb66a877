package gatewayb

import (
	"maps"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// newTransaction converts the body of POST /transactions.
func newTransaction(in *edgebv1.TransactionWrite) (*bookingv1.CreateTransactionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("purchasedById", in.GetPurchasedById())
	out := &bookingv1.CreateTransactionRequest{PurchaserId: in.GetPurchasedById(), Lines: b.lines(in.GetLines()), DiscountCode: in.GetDiscountCode(), AfterStartReason: in.GetAfterStartReason()}
	out.PaymentMethod, out.CustomerPassId, out.PaymentReference = b.payment(in.GetPayment())
	b.afterStartReason(in.AfterStartReason)
	return out, b.Err()
}

// newHold converts the body of POST /holds.
func newHold(in *edgebv1.HoldWrite) (*bookingv1.HoldPlacesRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("purchasedById", in.GetPurchasedById())
	if in.Minutes != nil && in.GetMinutes() < 1 { // the service would treat 0 as absent
		b.Add("minutes", "min", "must be 1 or more")
	}
	return &bookingv1.HoldPlacesRequest{
		PurchaserId: in.GetPurchasedById(), Lines: b.lines(in.GetLines()), Minutes: in.GetMinutes(), DiscountCode: in.GetDiscountCode(),
	}, b.Err()
}

// lines converts the lines of a transaction or a hold.
func (b *body) lines(in []*edgebv1.LineWrite) []*bookingv1.TransactionLine {
	if len(in) == 0 {
		b.required("lines", "")
	}
	out := make([]*bookingv1.TransactionLine, len(in))
	for i, line := range in {
		out[i] = &bookingv1.TransactionLine{
			EventDateId: identifier(line.EventDateId), EventId: identifier(line.EventId), PricingOptionId: identifier(line.PricingOptionId),
			BoughtForId: identifier(line.CustomerId), Spaces: b.spots(index("lines", i, "spots"), line.Spots),
			Payment: b.linePayment(index("lines", i, "payment."), line.GetPayment()),
		}
	}
	return out
}

// linePayment converts the payment of a line. at is its path in the body.
func (b *body) linePayment(at string, in *edgebv1.LinePaymentWrite) *bookingv1.LinePayment {
	if in == nil {
		return nil
	}
	if in.Method == nil {
		b.required(at+"method", "")
	}
	return &bookingv1.LinePayment{
		Method: choice[bookingv1.PaymentMethod](b, at+"method", in.Method, money.BookingMethods()), Reference: in.GetReference(),
	}
}

// transactionNames maps the fields of a transaction or a hold to the members of the body.
func transactionNames(in *edgebv1.PaymentWrite) map[string]string {
	names := paymentNames(in)
	maps.Copy(names, map[string]string{"purchaser_id": "purchasedById", "bought_for_id": "customerId", "spaces": "spots"})
	return names
}
