package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// HistoryEntry converts an entry of a booking's history. The purchase has no facts before it.
func HistoryEntry(e *model.HistoryEntry) *bookingv1.BookingHistoryEntry {
	out := &bookingv1.BookingHistoryEntry{
		Action: valueOf[bookingv1.BookingAction](e.Action), At: timestamppb.New(e.At), Actor: e.Actor,
		After: facts(&e.After), Reason: e.Reason, Amount: e.Amount, PaymentMethod: methodToProto(e.Method),
		PaymentReference: e.Reference, PolicyWaived: e.PolicyWaived,
	}
	if e.Action != model.Booked {
		out.Before = facts(&e.Before)
	}
	if !e.SwappedWith.IsZero() {
		out.SwappedWith = e.SwappedWith.String()
	}
	return out
}

func facts(f *model.BookingFacts) *bookingv1.BookingFacts {
	return &bookingv1.BookingFacts{
		EventDateId: f.Date.String(), StartsAt: timestamppb.New(f.StartsAt), Timezone: f.Timezone, EventId: f.Event.String(),
		EventTitle: f.EventTitle, PricingOptionId: f.Option.String(), Spaces: f.Spaces, CustomerId: f.Customer.String(),
		ManagedById: f.ManagedBy.String(), Attendance: attendanceToProto(f.Attendance), Price: f.Price, Credits: f.Credits,
	}
}
