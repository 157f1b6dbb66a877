package convert

import (
	"cmp"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Appointment converts an appointment: the only booking of t, and its slot. heldUntil is when a held slot
// is released; zero if it is not held, or if its payment is in progress.
func Appointment(t *model.Transaction, status model.TransactionStatus, heldUntil time.Time, slot *model.AppointmentSlot) *bookingv1.Appointment {
	b := &t.Bookings[0]
	out := AnnouncedAppointment(Snapshot(t, b), model.StatusOfAppointment(b, status), slot)
	if out.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD {
		out.HeldUntil = timestampOf(heldUntil)
	}
	return out
}

// AnnouncedAppointment converts the appointment of a converted booking, which is not held.
func AnnouncedAppointment(s *bookingv1.BookingSnapshot, status model.AppointmentStatus, slot *model.AppointmentSlot) *bookingv1.Appointment {
	b := s.GetBooking()
	out := &bookingv1.Appointment{
		Id: appointmentID(b.GetId()), AppointmentTypeId: slot.Type.String(), Title: slot.Title, Location: slot.Location,
		Status:        valueOf[bookingv1.AppointmentStatus](status),
		TransactionId: s.GetTransactionId(), Purchaser: s.GetPurchaser(), Booking: b, Customer: s.GetPurchaser(),
		Version: s.GetVersion(), CreatedAt: b.GetCreatedAt(), UpdatedAt: b.GetUpdatedAt(),
	}
	if b.GetBoughtFor() != nil {
		out.Customer = b.GetBoughtFor()
	}
	if a := slot.Staff; a != nil {
		out.Staff = StaffReference(a)
		out.BufferBeforeMinutes, out.BufferAfterMinutes = a.Before, a.After
	}
	for i := range slot.Rooms {
		out.Rooms = append(out.Rooms, RoomReference(&slot.Rooms[i]))
	}
	return out
}

// appointmentID returns the identifier of the appointment of a booking.
func appointmentID(booking string) string {
	b, err := id.Parse[id.Booking](booking)
	if err != nil {
		return ""
	}
	return id.Appointment(b).String()
}

// StaffReference converts the assignment of a staff member.
func StaffReference(a *model.Assignment) *bookingv1.StaffReference {
	return &bookingv1.StaffReference{Id: a.ID(), Name: a.Name, Color: a.Color}
}

// RoomReference converts the assignment of a room.
func RoomReference(a *model.Assignment) *bookingv1.RoomReference {
	return &bookingv1.RoomReference{Id: a.ID(), Name: a.Name, Unit: a.Unit}
}

// AppointmentOf converts an appointment that the store has read.
func AppointmentOf(a *model.AppointmentBooking) *bookingv1.Appointment {
	return Appointment(&a.Transaction, a.Status, a.HeldUntil, a.Slot)
}

// AppointmentStatus reads the status of a filter; ok is false if the value is not valid.
func AppointmentStatus(s bookingv1.AppointmentStatus) (status model.AppointmentStatus, ok bool) {
	status = model.AppointmentStatus(enum.Name(s))
	return status, status != ""
}

// TakenTime converts an assignment. appointment is the appointment on its date; nil if there is none.
func TakenTime(t *model.TakenTime, appointment *model.AppointmentBooking) *bookingv1.Assignment {
	out := &bookingv1.Assignment{
		ResourceId: t.ID(), Unit: t.Unit, StartsAt: timestamppb.New(t.From), EndsAt: timestamppb.New(t.Until),
		EventDateId: t.Date.String(), EventId: t.Event.String(), Title: t.Title,
		DateStartsAt: timestamppb.New(t.StartsAt), DurationMinutes: t.Minutes, SubstitutesForId: t.SubstitutesFor.String(),
	}
	if appointment != nil {
		out.Appointment = AppointmentOf(appointment)
	}
	return out
}

// ImportedAppointment reads an appointment of an import. currency is that of a payment without one.
func ImportedAppointment(a *bookingv1.ImportedAppointment, currency string) model.ImportedAppointment {
	out := model.ImportedAppointment{
		Reference: strings.TrimSpace(a.GetReference()), Customer: strings.TrimSpace(a.GetCustomer()),
		Type: strings.TrimSpace(a.GetAppointmentType()), Staff: strings.TrimSpace(a.GetStaff()), StartsAt: Instant(a.GetStartsAt()),
		Minutes: a.GetLengthMinutes(), Cancelled: a.GetIsCancelled(), Refunded: a.GetIsRefunded(),
		BoughtFor: strings.TrimSpace(a.GetBoughtFor()), PurchasedAt: Instant(a.GetPurchasedAt()),
		Payment: model.Payment{Method: model.Free, Currency: currency},
	}
	for _, room := range a.GetRooms() {
		out.Rooms = append(out.Rooms, strings.TrimSpace(room))
	}
	switch p := a.GetPayment().(type) {
	case *bookingv1.ImportedAppointment_Card:
		out.Payment = importedCard(p.Card)
		out.Payment.Currency = cmp.Or(out.Payment.Currency, currency)
	case *bookingv1.ImportedAppointment_Pass:
		out.Payment, out.PassID = model.Payment{Method: model.Pass, Credits: p.Pass.GetCreditsUsed()}, p.Pass.GetCustomerPassId()
	}
	return out
}

// ImportAppointmentResult returns the result of one line.
func ImportAppointmentResult(reference string, outcome bookingv1.ImportOutcome, appointment id.Appointment) *bookingv1.ImportAppointmentResult {
	return &bookingv1.ImportAppointmentResult{Reference: reference, Outcome: outcome, Id: appointment.String()}
}

// RefusedAppointment returns the result of a refused line.
func RefusedAppointment(reference string, why *model.ImportRefusal) *bookingv1.ImportAppointmentResult {
	return &bookingv1.ImportAppointmentResult{
		Reference: reference, Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED,
		Field: why.Field, Rule: why.Rule, Message: why.Message,
	}
}
