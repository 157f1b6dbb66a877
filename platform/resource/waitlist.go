package resource

import (
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// StatusLeft is the status of an entry whose customer left the waitlist.
const StatusLeft = "left"

// WaitlistStatusNames returns the statuses of a waitlist entry, in the order of the service's numbers,
// which start at 1. The service's last state, closed, is expired here.
func WaitlistStatusNames() []string {
	return []string{"waiting", "offered", "booked", "expired", StatusLeft}
}

// WaitlistEntry converts a waitlist entry.
func WaitlistEntry(w *bookingv1.WaitlistEntry) *edgebv1.WaitlistEntry {
	out := &edgebv1.WaitlistEntry{
		Id: w.GetId(), EventId: w.GetEventId(), EventDateId: w.GetEventDateId(), CustomerId: w.GetCustomerId(), Spots: w.GetSpaces(),
		PricingOptionId: w.GetPricingOptionId(), AutoBook: w.GetMode() == bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
		PaymentMethod: PaymentMethodName(w.GetPaymentMethod()), CustomerPassId: nullableText(w.GetCustomerPassId()), Status: waitlistStatus(w.GetState()),
		Position: limit(w.GetPosition()), OfferMinutes: limit(w.GetOfferMinutes()), OfferExpiresAt: nullableTime(w.GetOfferExpiresAt()),
		HoldId: nullableText(""), TransactionId: nullableText(""), CreatedAt: utc(w.GetJoinedAt()), UpdatedAt: utc(w.GetUpdatedAt()),
	}
	switch w.GetState() {
	case bookingv1.WaitlistState_WAITLIST_STATE_OFFERED:
		out.HoldId = nullableText(HoldID(w.GetTransactionId()))
	case bookingv1.WaitlistState_WAITLIST_STATE_BOOKED:
		out.TransactionId = nullableText(w.GetTransactionId())
	}
	if reason := w.GetPassedOverReason(); reason != "" {
		out.PassedOver = &edgebv1.PassedOver{Reason: reason, At: utc(w.GetPassedOverAt())}
	}
	return out
}

func waitlistStatus(s bookingv1.WaitlistState) string {
	if s == bookingv1.WaitlistState_WAITLIST_STATE_CLOSED {
		s = bookingv1.WaitlistState_WAITLIST_STATE_EXPIRED
	}
	return nameOf(s, WaitlistStatusNames())
}
