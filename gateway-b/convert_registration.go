package gatewayb

import (
	"cmp"
	"maps"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// newPurchase converts the body of POST /events/{id}/registrations.
func newPurchase(event string, in *edgebv1.RegistrationWrite) (*bookingv1.CreateTransactionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	line := &bookingv1.TransactionLine{
		EventId: event, EventDateId: identifier(in.EventDateId), PricingOptionId: identifier(in.PricingOptionId), Spaces: b.spots("spots", in.Spots),
	}
	out := &bookingv1.CreateTransactionRequest{PurchaserId: in.GetCustomerId(), Lines: []*bookingv1.TransactionLine{line}, DiscountCode: in.GetDiscountCode()}
	b.required("customerId", in.GetCustomerId())
	if in.PurchasedById != nil {
		out.PurchaserId, line.BoughtForId = in.GetPurchasedById(), in.GetCustomerId()
	}
	out.PaymentMethod, out.CustomerPassId, out.PaymentReference = b.payment(in.GetPayment())
	return out, b.Err()
}

// spots converts a number of spots, which is 1 if it is absent. The service would treat 0 as absent.
func (b *body) spots(field string, spots *int32) int32 {
	if spots == nil {
		return 1
	}
	if *spots < 1 {
		b.Add(field, "min", "must be 1 or more")
	}
	return *spots
}

// payment converts how a purchase is paid.
func (b *body) payment(in *edgebv1.PaymentWrite) (method bookingv1.PaymentMethod, pass, reference string) {
	if in == nil {
		return 0, "", ""
	}
	method = choice[bookingv1.PaymentMethod](b, "payment.method", in.Method, money.BookingMethods())
	switch {
	case in.SubscriptionId != nil && in.CustomerPassId != nil:
		b.Add("payment.subscriptionId", "exclusive", "cannot be used together with customerPassId")
	case in.SubscriptionId != nil:
		pass = cmp.Or(resource.SubscriptionPassID(in.GetSubscriptionId()), noIdentifier)
	case method == bookingv1.PaymentMethod_PAYMENT_METHOD_PASS:
		pass = identifier(in.CustomerPassId)
	default:
		pass = in.GetCustomerPassId()
	}
	return method, pass, in.GetReference()
}

// paymentNames maps the fields of a payment to the members of payment.
func paymentNames(in *edgebv1.PaymentWrite) map[string]string {
	names := map[string]string{
		"payment_reference": "payment.reference", "payment_method": "payment.method", "customer_pass_id": "payment.customerPassId",
	}
	if in.GetSubscriptionId() != "" {
		names["customer_pass_id"] = "payment.subscriptionId"
	}
	return names
}

// purchaseNames maps the fields of a purchase to the members of the body of
// POST /events/{id}/registrations.
func purchaseNames(in *edgebv1.RegistrationWrite) map[string]string {
	names := paymentNames(in.GetPayment())
	maps.Copy(names, map[string]string{
		"lines[0].event_date_id": "eventDateId", "lines[0].spaces": "spots", "lines[0].pricing_option_id": "pricingOptionId",
		"lines[0].bought_for_id": "customerId", "purchaser_id": "customerId",
	})
	return names
}

// attendance converts the body of POST /registrations/{id}/attendance.
func attendance(in *edgebv1.AttendanceWrite) (bookingv1.Attendance, error) {
	in = edge.OrEmpty(in)
	var b body
	if in.Attendance == nil {
		b.required("attendance", "")
	}
	return choice[bookingv1.Attendance](&b, "attendance", in.Attendance, resource.AttendanceNames()), b.Err()
}

// refund converts the body of POST /registrations/{id}/refund to an amount in minor units, or nil for
// what is due.
func refund(in *edgebv1.RefundWrite) (*int64, error) {
	if in.GetAmount() == nil {
		return nil, nil
	}
	var b body
	if in.GetAmount().GetMinor() < 1 {
		b.Add("amount", "range", "must be more than 0")
	}
	return &in.GetAmount().Minor, b.Err()
}

// refundFault gives the fault of a refund the units of Interface B: the service names amounts in minor
// units.
func refundFault(err error) error {
	f := fault.From(err)
	for i := range f.Fields {
		if f.Fields[i].Field == "amount" && f.Fields[i].Rule == "range" {
			f.Fields[i].Message = "must be at most what was paid and is not refunded yet"
			f.Message = "amount " + f.Fields[i].Message
		}
	}
	return f
}
