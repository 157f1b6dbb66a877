package admin

import (
	"maps"

	"google.golang.org/protobuf/proto"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Policy says until when cancelling is free.
func (e eventView) Policy() *message {
	if e.FreeCancellationMinutes == nil {
		return msg("desk.policy.start")
	}
	return msg("desk.policy.before", "duration", duration(e.GetFreeCancellationMinutes()))
}

// maxPolicyHours is the longest notice that a policy may require, in hours.
const maxPolicyHours = 8760

// outcomeText says what a cancellation does under the event's policy.
func (r *request) outcomeText(b *bookingv1.Booking, o *bookingv1.CancellationOutcome) []string {
	texts := []string{r.text(freedText(b))}
	switch {
	case o.GetLate() && o.GetRefundDue() > 0:
		due := priceText(o.GetRefundDue(), o.GetCurrency())
		texts = append(texts, r.text("desk.outcome.late_due", "time", r.session.Clock.Time(o.GetFreeUntil()), "amount", due))
	case o.GetLate():
		texts = append(texts, r.text("desk.outcome.late", "time", r.session.Clock.Time(o.GetFreeUntil())))
	case b.GetPass() != nil && o.GetCreditsReturned() > 0:
		texts = append(texts, r.text("desk.outcome.credits", "count", o.GetCreditsReturned()))
	case o.GetRefundDue() > 0:
		texts = append(texts, r.text("desk.outcome.refund_due", "amount", priceText(o.GetRefundDue(), o.GetCurrency())))
	default:
		texts = append(texts, r.text("desk.outcome.nothing_paid"))
	}
	return texts
}

// freedText says who gets what a cancellation frees.
func freedText(b *bookingv1.Booking) *message {
	if b.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		return msg("appointments.appointment.freed")
	}
	return msg("desk.outcome.freed", "count", b.GetSpaces())
}

// withPolicyFields adds the policy's fields to a form's names of an event's fields.
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

// freeMinutes returns how many minutes before the start free cancellation ends; nil if it
// ends at the start.
func (f *form) freeMinutes() *int32 {
	hours, given := f.hundredths("policy", msg("desk.field.hours"), maxPolicyHours)
	if !given {
		return nil
	}
	free := int32((hours*60 + 50) / 100)
	return &free
}

// setPolicy fills the fields with the policy of an event.
func (f *form) setPolicy(l *locale, e eventView) {
	if e.FreeCancellationMinutes != nil {
		f.values.Set("policy", l.hours(e.GetFreeCancellationMinutes()))
	}
}
