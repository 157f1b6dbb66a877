package admin

import (
	"math"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Policy says until when cancelling is free.
func (e eventView) Policy() string {
	if e.FreeCancellationMinutes == nil {
		return "Cancelling is free until the start. After that, what was paid is kept."
	}
	return "Cancelling is free until " + duration(e.GetFreeCancellationMinutes()) + " before the start. After that, what was paid is kept."
}

// maxPolicyHours is how long before a date a policy may end.
const maxPolicyHours = 8760

// outcomeText says what the policy makes of a cancellation.
func (r *request) outcomeText(b *bookingv1.Booking, o *bookingv1.CancellationOutcome) []string {
	texts := []string{plural(b.GetSpaces(), "place becomes", "places become") + " free, for the waitlist first."}
	switch {
	case o.GetLate():
		texts = append(texts, "It is late: cancelling was free until "+r.session.Clock.Time(o.GetFreeUntil())+", so what was paid is kept.")
	case b.GetPass() != nil && o.GetCreditsReturned() > 0:
		texts = append(texts, plural(o.GetCreditsReturned(), "credit goes", "credits go")+" back to the pass.")
	case o.GetRefundDue() > 0:
		texts = append(texts, "By the policy, "+priceText(o.GetRefundDue(), o.GetCurrency())+" are owed to the customer. Give them back where they were paid, then record the refund here.")
	default:
		texts = append(texts, "Nothing was paid, so nothing is owed.")
	}
	return texts
}

// policy reads the hours before a date until which cancelling is free, in minutes;
// nil: until it starts.
func (f *form) policy() *int32 {
	hours, given := f.hundredths("policy", "The number of hours", maxPolicyHours)
	if !given {
		return nil
	}
	free := int32((hours*60 + 50) / 100)
	return &free
}

// setPolicy fills the field that policy reads.
func (f *form) setPolicy(e eventView) {
	if e.FreeCancellationMinutes != nil {
		f.values.Set("policy", hundredthsText(int64(math.Round(float64(e.GetFreeCancellationMinutes())*100/60))))
	}
}

// policyFields are the form's names of the fields of a policy.
var policyFields = map[string]string{"free_cancellation_minutes": "policy"}

// noPolicy is how an event is changed to have none.
const noPolicy = -1
