package gatewayb

import (
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// A registration is a booking of the booking service. Its identifier has another prefix and the same
// value.
const (
	registrationPrefix = "reg_"
	bookingPrefix      = "booking_"
)

func registrationID(booking string) string {
	return registrationPrefix + strings.TrimPrefix(booking, bookingPrefix)
}

// bookingID returns the booking's identifier, or "" if registration is not an identifier of a
// registration.
func bookingID(registration string) string {
	value, ok := strings.CutPrefix(registration, registrationPrefix)
	if !ok {
		return ""
	}
	return bookingPrefix + value
}

// The states of a registration.
const (
	statusConfirmed = "confirmed"
	statusCancelled = "cancelled"
)

// registration converts a booking. currency is the company's, which a booking paid by pass gets.
func registration(r *bookingv1.Registration, currency string) *edgebv1.Registration {
	b := r.GetBooking()
	attendee := b.GetBoughtFor()
	if attendee == nil {
		attendee = r.GetPurchaser()
	}
	out := &edgebv1.Registration{
		Id: registrationID(b.GetId()), EventId: b.GetEventId(), EventDateId: b.GetEventDateId(), EventTitle: b.GetEventTitle(),
		EventDate: utc(b.GetStartsAt()), CustomerId: attendee.GetId(), CustomerEmail: attendee.GetEmail(),
		CustomerName: strings.TrimSpace(attendee.GetFirstName() + " " + attendee.GetLastName()), Spots: b.GetSpaces(), Status: statusConfirmed,
		TransactionId: r.GetTransactionId(), CreatedAt: utc(r.GetCreatedAt()), CancelledAt: &edgev1.NullableText{},
		Attendance: enum.Name(b.GetAttendance()), Refunded: b.GetIsRefunded(),
		PassUsed: &edgev1.NullableText{}, DiscountCode: &edgev1.NullableText{}, TotalPaid: &edgev1.Amount{},
	}
	if out.GetAttendance() == "" {
		out.Attendance = enum.Name(bookingv1.Attendance_ATTENDANCE_UNKNOWN)
	}
	cancellation(out, b)
	payment(out, b, currency)
	return out
}

// cancellation sets whether and when a registration was cancelled.
func cancellation(out *edgebv1.Registration, b *bookingv1.Booking) {
	if !b.GetIsCancelled() {
		return
	}
	out.Status = statusCancelled
	if at := utc(b.GetCancelledAt()); at != "" {
		out.CancelledAt.Value = &at
	}
}

// payment sets how a registration was paid. If a pass paid, the total is 0 in the company's currency.
func payment(out *edgebv1.Registration, b *bookingv1.Booking, currency string) {
	switch p := b.GetPayment().(type) {
	case *bookingv1.Booking_Card:
		out.PaymentMethod, out.Currency, out.TotalPaid.Minor = money.MethodCard, p.Card.GetCurrency(), p.Card.GetGross()
		if code := p.Card.GetDiscountCode(); code != "" {
			out.DiscountCode.Value = &code
		}
	case *bookingv1.Booking_Pass:
		out.PaymentMethod, out.Currency = money.MethodPass, currency
		if pass := p.Pass.GetCustomerPassId(); pass != "" {
			out.PassUsed.Value = &pass
		}
	}
}

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
