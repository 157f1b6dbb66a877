package gatewayb

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// newPurchase converts the body of POST /events/{id}/registrations.
func newPurchase(event string, in *edgebv1.RegistrationWrite) (*bookingv1.CreateTransactionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	line := &bookingv1.TransactionLine{
		EventId: event, EventDateId: identifier(in.EventDateId), PricingOptionId: identifier(in.PricingOptionId), Spaces: 1,
	}
	out := &bookingv1.CreateTransactionRequest{
		PurchaserId: in.GetCustomerId(), Lines: []*bookingv1.TransactionLine{line}, DiscountCode: in.GetDiscountCode(),
		PaymentReference: in.GetPayment().GetReference(), CustomerPassId: in.GetPayment().GetCustomerPassId(),
	}
	b.required("customerId", in.GetCustomerId())
	if in.PurchasedById != nil {
		out.PurchaserId, line.BoughtForId = in.GetPurchasedById(), in.GetCustomerId()
	}
	if in.Spots != nil {
		if line.Spaces = in.GetSpots(); line.Spaces < 1 {
			b.Add("spots", "min", "must be 1 or more")
		}
	}
	if payment := in.GetPayment(); payment != nil {
		out.PaymentMethod = choice[bookingv1.PaymentMethod](&b, "payment.method", payment.Method, money.BookingMethods())
		if out.GetPaymentMethod() == bookingv1.PaymentMethod_PAYMENT_METHOD_PASS {
			out.CustomerPassId = identifier(payment.CustomerPassId)
		}
	}
	return out, b.Err()
}

// purchaseNames maps the fields of a purchase to the members of the body of
// POST /events/{id}/registrations.
func purchaseNames() map[string]string {
	return map[string]string{
		"lines[0].event_date_id": "eventDateId", "lines[0].spaces": "spots", "lines[0].pricing_option_id": "pricingOptionId",
		"lines[0].bought_for_id": "customerId", "purchaser_id": "customerId", "payment_reference": "payment.reference",
		"payment_method": "payment.method", "customer_pass_id": "payment.customerPassId",
	}
}
