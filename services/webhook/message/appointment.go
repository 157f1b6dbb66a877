package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// appointmentStateChange is a domain event about a change of an appointment.
type appointmentStateChange interface {
	proto.Message
	GetAppointment() *bookingv1.Appointment
	GetPrevious() *bookingv1.Appointment
}

// appointmentBooked is appointment.booked.
func appointmentBooked() kind[*bookingv1.AppointmentBooked] {
	read := func(e *bookingv1.AppointmentBooked) *change { return appointmentNews(e.GetAppointment()) }
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_APPOINTMENT_BOOKED, read, func(now time.Time) *bookingv1.AppointmentBooked {
		return &bookingv1.AppointmentBooked{Appointment: sampleAppointment(now)}
	})
}

// appointmentMoved is appointment.moved.
func appointmentMoved() kind[*bookingv1.AppointmentMoved] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_APPOINTMENT_MOVED, appointmentChange[*bookingv1.AppointmentMoved], func(now time.Time) *bookingv1.AppointmentMoved {
		moved := sampleAppointmentChange(now)
		moved.Booking.EventDateId = "date_01kg0000000000000000000001"
		moved.Booking.StartsAt = timestamppb.New(moved.GetBooking().GetStartsAt().AsTime().Add(time.Hour))
		return &bookingv1.AppointmentMoved{Appointment: moved, Previous: sampleAppointment(now)}
	})
}

// appointmentCancelled is appointment.cancelled.
func appointmentCancelled() kind[*bookingv1.AppointmentCancelled] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_APPOINTMENT_CANCELLED, appointmentChange[*bookingv1.AppointmentCancelled], func(now time.Time) *bookingv1.AppointmentCancelled {
		cancelled := sampleAppointmentChange(now)
		cancelled.Status = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED
		b := cancelled.GetBooking()
		b.IsCancelled, b.CancelledAt, b.RefundDue, b.CancellationReason = true, timestamppb.New(now), 4500, "Illness"
		return &bookingv1.AppointmentCancelled{Appointment: cancelled, Previous: sampleAppointment(now)}
	})
}

// appointmentNews returns a change whose message shows the appointment only as it is now.
func appointmentNews(a *bookingv1.Appointment) *change {
	return &change{
		customers:     []string{a.GetPurchaser().GetId(), a.GetCustomer().GetId(), a.GetBooking().GetBoughtFor().GetId()},
		needsCurrency: a.GetBooking().GetPass() != nil,
		after:         func(currency string) proto.Message { return resource.Appointment(a, currency) },
	}
}

// appointmentChange returns the change of an appointment, or nil without the state before it.
func appointmentChange[E appointmentStateChange](e E) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	c := appointmentNews(e.GetAppointment())
	c.needsCurrency = c.needsCurrency || e.GetPrevious().GetBooking().GetPass() != nil
	c.before = func(currency string) proto.Message { return resource.Appointment(e.GetPrevious(), currency) }
	return c
}

// sampleAppointment is an hour of massage, paid by card.
func sampleAppointment(now time.Time) *bookingv1.Appointment {
	s := samplePurchase(now)
	b := s.GetBooking()
	b.Spaces, b.EventTitle, b.EventType = 1, "Sample massage", bookingv1.EventType_EVENT_TYPE_APPOINTMENT
	b.Timezone, b.DurationMinutes = "Europe/London", 60
	b.Payment = &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 4500, Net: 3750}}
	return &bookingv1.Appointment{
		Id: "appt_" + sampleSuffix, AppointmentTypeId: "apt_" + sampleSuffix, Title: b.GetEventTitle(), Location: "Studio 1",
		Status: bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED,
		Staff:  &bookingv1.StaffReference{Id: "staff_" + sampleSuffix, Name: "Sample Therapist", Color: "#1f6feb"},
		Rooms:  []*bookingv1.RoomReference{{Id: "room_" + sampleSuffix, Name: "Treatment room", Unit: 1}}, BufferAfterMinutes: 15,
		TransactionId: s.GetTransactionId(), Purchaser: s.GetPurchaser(), Customer: s.GetPurchaser(), Booking: b,
		Version: 1, CreatedAt: b.GetCreatedAt(), UpdatedAt: b.GetUpdatedAt(),
	}
}

// sampleAppointmentChange is sampleAppointment with the version and the time of a change.
func sampleAppointmentChange(now time.Time) *bookingv1.Appointment {
	a := sampleAppointment(now)
	a.Version, a.UpdatedAt = 2, timestamppb.New(now)
	a.Booking.UpdatedAt = a.GetUpdatedAt()
	return a
}
