package gatewaya

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// typeAppointment is the value of type for appointments on Interface A.
const typeAppointment = "appointment"

func appointments(all []*bookingv1.Appointment) ([]*edgeav1.Appointment, error) {
	out := make([]*edgeav1.Appointment, len(all))
	for i, a := range all {
		var err error
		if out[i], err = appointment(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func appointment(a *bookingv1.Appointment) (*edgeav1.Appointment, error) {
	b := a.GetBooking()
	c, err := clockOf(b.GetTimezone())
	if err != nil {
		return nil, err
	}
	paid, err := payment(b)
	if err != nil {
		return nil, err
	}
	ends := timestamppb.New(b.GetStartsAt().AsTime().Add(time.Duration(b.GetDurationMinutes()) * time.Minute))
	out := &edgeav1.Appointment{
		Id: a.GetId(), Type: typeAppointment, AppointmentTypeId: a.GetAppointmentTypeId(), Title: a.GetTitle(), Location: a.GetLocation(),
		Status: enum.Name(a.GetStatus()), BookingId: b.GetId(), TransactionId: a.GetTransactionId(), Rooms: edge.Convert(a.GetRooms(), appointmentRoom),
		StartsAt: c.local(b.GetStartsAt()), EndsAt: c.local(ends), Duration: b.GetDurationMinutes(), Tz: b.GetTimezone(),
		PurchasedBy: customer(a.GetPurchaser()), BoughtFor: customer(b.GetBoughtFor()),
		PricingOption: &edgeav1.PricingOption{Id: b.GetPricingOptionId()}, Payment: paid, Attendance: resource.AttendanceName(b.GetAttendance()),
		IsCancelled: b.GetIsCancelled(), IsRefunded: b.GetIsRefunded(), Late: b.GetLate(), Base100RefundDue: b.GetRefundDue(),
		Base100RefundedAmount: b.GetRefundedAmount(), CreditsReturned: b.GetCreditsReturned(), CancelledAt: c.optional(b.GetCancelledAt()),
		CreatedAt: c.local(a.GetCreatedAt()), UpdatedAt: c.local(a.GetUpdatedAt()),
	}
	if s := a.GetStaff(); s != nil {
		out.Staff = &edgeav1.AppointmentStaff{Id: s.GetId(), Name: s.GetName(), Color: s.GetColor()}
	}
	return out, nil
}

func appointmentRoom(r *bookingv1.RoomReference) *edgeav1.AppointmentRoom {
	return &edgeav1.AppointmentRoom{Id: r.GetId(), Name: r.GetName(), Unit: r.GetUnit()}
}
