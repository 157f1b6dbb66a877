package admin

import (
	"maps"
	"math"

	"google.golang.org/protobuf/proto"

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

// policyInput is a field of the forms that have a cancellation policy.
type policyInput struct{ Name, Label, Help string }

// policyInputs returns the fields of a cancellation policy.
func policyInputs() []policyInput {
	return []policyInput{{
		"policy", "Cancelling is free until (hours before)", "Empty: free until the start. After that, what was paid is kept.",
	}}
}

// withPolicyFields adds the form's names of the policy's fields to those of an event's
// other fields.
func withPolicyFields(names map[string]string) map[string]string {
	all := map[string]string{"free_cancellation_minutes": "policy"}
	maps.Copy(all, names)
	return all
}

// addPolicy reads the policy of a new event.
func (f *form) addPolicy(req *bookingv1.CreateEventRequest) {
	req.FreeCancellationMinutes = f.freeMinutes()
}

// changePolicy reads the changed policy of an event.
func (f *form) changePolicy(req *bookingv1.UpdateEventRequest) {
	if req.FreeCancellationMinutes = f.freeMinutes(); req.FreeCancellationMinutes == nil {
		req.FreeCancellationMinutes = proto.Int32(noPolicy)
	}
}

// noPolicy is the number of free minutes that removes an event's policy.
const noPolicy = -1

// freeMinutes reads how many minutes before a date cancelling ceases to be free; nil
// if it is free until the start.
func (f *form) freeMinutes() *int32 {
	hours, given := f.hundredths("policy", literal("the number of hours"), maxPolicyHours)
	if !given {
		return nil
	}
	free := int32((hours*60 + 50) / 100)
	return &free
}

// setPolicy fills the fields with the policy of an event.
func (f *form) setPolicy(e eventView) {
	if e.FreeCancellationMinutes != nil {
		f.values.Set("policy", hundredthsText(int64(math.Round(float64(e.GetFreeCancellationMinutes())*100/60))))
	}
}
