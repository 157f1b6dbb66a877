package resource

import (
	"cmp"
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// MovePreview converts what a move would do. currency is the company's, for a booking paid by pass.
func MovePreview(o *bookingv1.MoveOutcome, currency string) *edgebv1.PreviewMoveResponse {
	return &edgebv1.PreviewMoveResponse{
		Late: o.GetLate(), FreeUntil: nullableTime(o.GetFreeUntil()), PriceBefore: amount(o.GetPriceBefore()), PriceAfter: amount(o.GetPriceAfter()),
		Currency: cmp.Or(o.GetCurrency(), currency), AmountDue: amount(o.GetAmountDue()), RefundDue: amount(o.GetRefundDue()),
		CreditsBefore: o.GetCreditsBefore(), CreditsAfter: o.GetCreditsAfter(),
	}
}

// NoMove is the preview of a move that changes nothing: price, credits and what is due stay.
func NoMove(b *bookingv1.Booking, currency string) *edgebv1.PreviewMoveResponse {
	credits := b.GetPass().GetCreditsUsed()
	return &edgebv1.PreviewMoveResponse{
		FreeUntil: nullableText(""), PriceBefore: price(b), PriceAfter: price(b), Currency: paymentOf(b, currency).currency, AmountDue: amount(0),
		RefundDue: amount(b.GetRefundDue()), CreditsBefore: credits, CreditsAfter: credits, Unchanged: true,
	}
}

// HistoryEntry converts a change of a booking.
func HistoryEntry(e *bookingv1.BookingHistoryEntry) *edgebv1.HistoryEntry {
	out := &edgebv1.HistoryEntry{
		Action: enum.Name(e.GetAction()), At: utc(e.GetAt()), Actor: nullableText(e.GetActor()), Via: nullableText(via(e.GetActor())),
		Before: facts(e.GetBefore()), After: facts(e.GetAfter()), Reason: e.GetReason(), Amount: amount(e.GetAmount()),
		PaymentMethod: nullableText(""), PaymentReference: e.GetPaymentReference(), PolicyWaived: e.GetPolicyWaived(),
		SwappedWith: nullableText(RegistrationID(e.GetSwappedWith())),
	}
	if e.GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_UNSPECIFIED {
		out.PaymentMethod = nullableText(PaymentMethodName(e.GetPaymentMethod()))
	}
	return out
}

// The ways by which an actor reaches the platform.
const (
	ViaDashboard  = "dashboard"
	ViaInterfaceA = "interface_a"
	ViaInterfaceB = "interface_b"
	ViaService    = "service"
	ViaPlatform   = "platform"
)

// via returns how the actor of a change reached the platform, or "" if it is not known.
func via(actor string) string {
	kind, _, _ := strings.Cut(actor, "_")
	return map[string]string{
		"admin": ViaDashboard, "m2m": ViaInterfaceA, "key": ViaInterfaceB, "svc": ViaService, "booking": ViaPlatform,
	}[kind]
}

// AmountText returns an amount in minor units as text, in the form that amounts have in bodies.
func AmountText(minor int64) string { return string(edge.AppendJSON(nil, amount(minor))) }

// facts converts a booking as it was before or after a change; nil stays nil.
func facts(f *bookingv1.BookingFacts) *edgebv1.RegistrationFacts {
	if f == nil {
		return nil
	}
	return &edgebv1.RegistrationFacts{
		EventDateId: f.GetEventDateId(), EventDate: utc(f.GetStartsAt()), Timezone: f.GetTimezone(), EventId: f.GetEventId(), EventTitle: f.GetEventTitle(),
		PricingOptionId: f.GetPricingOptionId(), Spots: f.GetSpaces(), CustomerId: f.GetCustomerId(), ManagedById: f.GetManagedById(),
		Attendance: AttendanceName(f.GetAttendance()), Price: amount(f.GetPrice()), Credits: f.GetCredits(),
	}
}
