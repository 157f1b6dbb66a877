package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// policyToProto sets the cancellation policy of an event message.
func policyToProto(p model.CancellationPolicy, out *bookingv1.Event) {
	out.FreeCancellationMinutes = p.FreeMinutes
}

// policyOf reads the cancellation policy of a new event.
func policyOf(r *bookingv1.CreateEventRequest) model.CancellationPolicy {
	return model.CancellationPolicy{FreeMinutes: r.FreeCancellationMinutes}
}

// policyChangeOf reads the change of a cancellation policy.
func policyChangeOf(r *bookingv1.UpdateEventRequest) model.CancellationPolicy {
	return model.CancellationPolicy{FreeMinutes: r.FreeCancellationMinutes}
}

// CancellationOutcome converts the effect of a cancellation.
func CancellationOutcome(o *model.CancellationOutcome) *bookingv1.CancellationOutcome {
	return &bookingv1.CancellationOutcome{
		Late: o.Late, FreeUntil: timestamppb.New(o.FreeUntil), CreditsReturned: o.Credits, RefundDue: o.RefundDue, Currency: o.Currency,
	}
}
