package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// OwnDate converts a date for the person who teaches it.
func OwnDate(d *model.ScheduledDate) *bookingv1.OwnDate {
	date := Date(&d.EventDate)
	return &bookingv1.OwnDate{
		Id: date.GetId(), Title: d.EventTitle, EventType: valueOf[bookingv1.EventType](d.EventType), Location: d.Location,
		StartsAt: timestamppb.New(d.StartsAt), DurationMinutes: date.GetDurationMinutes(), Timezone: date.GetTimezone(),
		Capacity: date.Capacity, Booked: date.GetBooked(), Status: date.GetStatus(), Rooms: assignedRooms(&d.EventDate),
	}
}

// OwnBooking converts a booking for the person who teaches its date: the name of the customer who attends, and
// nothing else about a customer or a payment.
func OwnBooking(r *bookingv1.Registration) *bookingv1.OwnBooking {
	b, guest := r.GetBooking(), r.GetPurchaser()
	if b.GetBoughtFor() != nil {
		guest = b.GetBoughtFor()
	}
	return &bookingv1.OwnBooking{
		Id: b.GetId(), EventDateId: b.GetEventDateId(), FirstName: guest.GetFirstName(), LastName: guest.GetLastName(),
		Spaces: b.GetSpaces(), Attendance: b.GetAttendance(),
	}
}
