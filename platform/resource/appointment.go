package resource

import (
	"cmp"
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// Appointment converts an appointment. currency is the company's, for a booking paid by pass. While the
// slot is held, there is a hold, and no registration, transaction or payment.
func Appointment(a *bookingv1.Appointment, currency string) *edgebv1.Appointment {
	b := a.GetBooking()
	out := &edgebv1.Appointment{
		Id: a.GetId(), AppointmentTypeId: a.GetAppointmentTypeId(), Title: a.GetTitle(), Location: a.GetLocation(), Status: enum.Name(a.GetStatus()),
		Rooms: edge.Convert(a.GetRooms(), appointmentRoom), StartsAt: utc(b.GetStartsAt()), EndsAt: utc(end(b)), LengthMinutes: b.GetDurationMinutes(),
		Timezone: b.GetTimezone(), BufferBeforeMinutes: a.GetBufferBeforeMinutes(), BufferAfterMinutes: a.GetBufferAfterMinutes(),
		Customer:       appointmentCustomer(cmp.Or(a.GetCustomer(), b.GetBoughtFor(), a.GetPurchaser())),
		PurchasedBy:    appointmentCustomer(a.GetPurchaser()),
		RegistrationId: nullableText(RegistrationID(b.GetId())), TransactionId: nullableText(a.GetTransactionId()), HoldId: nullableText(""),
		EventId: b.GetEventId(), EventDateId: b.GetEventDateId(), PricingOptionId: b.GetPricingOptionId(), Payment: appointmentPayment(paymentOf(b, currency)),
		Attendance: AttendanceName(b.GetAttendance()), Late: b.GetLate(), RefundDue: amount(b.GetRefundDue()), RefundedAmount: amount(b.GetRefundedAmount()),
		RefundedAt: nullableTime(b.GetRefundedAt()), CreditsReturned: b.GetCreditsReturned(), CancelledAt: nullableTime(b.GetCancelledAt()),
		CancellationReason: b.GetCancellationReason(), HeldUntil: nullableTime(a.GetHeldUntil()),
		CreatedAt: utc(a.GetCreatedAt()), UpdatedAt: utc(a.GetUpdatedAt()),
	}
	if s := a.GetStaff(); s != nil {
		out.Staff = &edgebv1.AppointmentStaff{Id: s.GetId(), Name: s.GetName(), Color: s.GetColor()}
	}
	if a.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD {
		out.RegistrationId, out.TransactionId, out.HoldId = nullableText(""), nullableText(""), nullableText(HoldID(a.GetTransactionId()))
		out.Payment = nil
	}
	return out
}

func appointmentRoom(r *bookingv1.RoomReference) *edgebv1.AppointmentRoom {
	return &edgebv1.AppointmentRoom{Id: r.GetId(), Name: r.GetName(), Unit: r.GetUnit()}
}

func appointmentCustomer(c *bookingv1.CustomerReference) *edgebv1.AppointmentCustomer {
	return &edgebv1.AppointmentCustomer{Id: c.GetId(), Name: strings.TrimSpace(c.GetFirstName() + " " + c.GetLastName()), Email: c.GetEmail()}
}

func appointmentPayment(p paid) *edgebv1.AppointmentPayment {
	return &edgebv1.AppointmentPayment{
		Method: p.method, TotalPaid: amount(p.total), Currency: p.currency, PassUsed: nullableText(p.pass), DiscountCode: nullableText(p.discountCode),
	}
}

// AppointmentHold converts the hold of a slot.
func AppointmentHold(h *bookingv1.Hold, currency string) *edgebv1.AppointmentHold {
	s := Hold(h, currency)
	return &edgebv1.AppointmentHold{
		Id: s.GetId(), Status: s.GetStatus(), PurchasedById: s.GetPurchasedById(), ExpiresAt: s.GetExpiresAt(), Total: s.GetTotal(), Currency: s.GetCurrency(),
		DiscountCode: s.GetDiscountCode(), Lines: s.GetLines(), TransactionId: s.GetTransactionId(), CreatedAt: s.GetCreatedAt(), AppointmentId: h.GetAppointmentId(),
	}
}

// Slots converts the free slots of a span.
func Slots(s *bookingv1.FindSlotsResponse) *edgebv1.FindSlotsResponse {
	return &edgebv1.FindSlotsResponse{
		Timezone: s.GetTimezone(), LengthMinutes: s.GetLengthMinutes(),
		Days: edge.Convert(s.GetDays(), func(d *bookingv1.SlotDay) *edgebv1.SlotDay {
			out := &edgebv1.SlotDay{Date: d.GetDate(), Slots: edge.Convert(d.GetSlots(), slot)}
			if reason := enum.Name(d.GetReason()); reason != "" {
				out.Reason = &reason
			}
			return out
		}),
	}
}

func slot(s *bookingv1.Slot) *edgebv1.Slot {
	return &edgebv1.Slot{StartsAt: utc(s.GetStartsAt()), EndsAt: utc(s.GetEndsAt()), LocalStart: s.GetLocalStart(), StaffIds: s.GetStaffIds()}
}

// Assignment converts the time of a person or of a unit of a room that a date takes. It names the
// appointment, but not its customer.
func Assignment(a *bookingv1.Assignment) *edgebv1.Assignment {
	return &edgebv1.Assignment{
		ResourceId: a.GetResourceId(), Unit: a.GetUnit(), StartsAt: utc(a.GetStartsAt()), EndsAt: utc(a.GetEndsAt()), EventId: a.GetEventId(),
		EventDateId: a.GetEventDateId(), Title: a.GetTitle(), EventDate: utc(a.GetDateStartsAt()), Duration: a.GetDurationMinutes(),
		AppointmentId: nullableText(a.GetAppointment().GetId()), AppointmentStatus: nullableText(enum.Name(a.GetAppointment().GetStatus())),
		SubstitutesForId: nullableText(a.GetSubstitutesForId()),
	}
}
