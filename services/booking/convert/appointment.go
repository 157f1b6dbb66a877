package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Appointment converts an appointment: the only booking of t, and its slot. heldUntil is when a held slot
// is released; zero if it is not held, or if its payment is in progress.
func Appointment(t *model.Transaction, status model.TransactionStatus, heldUntil time.Time, slot *model.AppointmentSlot) *bookingv1.Appointment {
	b := &t.Bookings[0]
	out := &bookingv1.Appointment{
		Id: id.Appointment(b.ID).String(), AppointmentTypeId: slot.Type.String(), Title: slot.Title, Location: slot.Location,
		Status:        valueOf[bookingv1.AppointmentStatus](model.StatusOfAppointment(b, status)),
		TransactionId: t.ID.String(), Purchaser: customerToProto(&t.Purchaser), Booking: Booking(t, b),
		Customer: customerToProto(&t.Purchaser), Sequence: slot.Sequence, Version: t.Version,
		CreatedAt: timestamppb.New(model.CreatedAt(b.ID.UUID())), UpdatedAt: timestamppb.New(t.UpdatedAt),
	}
	if b.BoughtFor != nil {
		out.Customer = customerToProto(b.BoughtFor)
	}
	if a := slot.Staff; a != nil {
		out.Staff = StaffReference(a)
		out.BufferBeforeMinutes, out.BufferAfterMinutes = a.Before, a.After
	}
	for i := range slot.Rooms {
		out.Rooms = append(out.Rooms, RoomReference(&slot.Rooms[i]))
	}
	if out.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD {
		out.HeldUntil = timestampOf(heldUntil)
	}
	return out
}

// StaffReference converts the assignment of a staff member.
func StaffReference(a *model.Assignment) *bookingv1.StaffReference {
	return &bookingv1.StaffReference{Id: a.ID(), Name: a.Name, Color: a.Color}
}

// RoomReference converts the assignment of a room.
func RoomReference(a *model.Assignment) *bookingv1.RoomReference {
	return &bookingv1.RoomReference{Id: a.ID(), Name: a.Name, Unit: a.Unit}
}
