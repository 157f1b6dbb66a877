package gatewayb

import (
	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// newWaitlistEntry converts the body of POST /event-dates/{id}/waitlist.
func newWaitlistEntry(date string, in *edgebv1.WaitlistWrite) (*bookingv1.JoinWaitlistRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("customerId", in.GetCustomerId())
	if in.OfferMinutes != nil && in.GetOfferMinutes() < 1 { // the service would treat 0 as absent
		b.Add("offerMinutes", "min", "must be 1 or more")
	}
	out := &bookingv1.JoinWaitlistRequest{
		EventDateId: date, CustomerId: in.GetCustomerId(), Spaces: b.spots("spots", in.Spots), PricingOptionId: identifier(in.PricingOptionId),
		Mode: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER, OfferMinutes: in.GetOfferMinutes(),
	}
	if in.GetAutoBook() {
		out.Mode = bookingv1.WaitlistMode_WAITLIST_MODE_BOOK
	}
	out.PaymentMethod, out.CustomerPassId, _ = b.payment(in.GetPayment())
	if in.GetPayment().GetReference() != "" {
		b.Add("payment.reference", "exclusive", "cannot be set before the spots are booked")
	}
	return out, b.Err()
}

// waitlistNames maps the fields of a waitlist entry to the members of the body.
func waitlistNames(in *edgebv1.WaitlistWrite) map[string]string {
	names := paymentNames(in.GetPayment())
	names["spaces"], names["mode"] = "spots", "autoBook"
	return names
}
