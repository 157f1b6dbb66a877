package booking

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func registrationToProto(r *registration) *bookingv1.Registration {
	created := r.createdAt()
	updated := r.changedAt
	if updated.Before(created) {
		updated = created
	}
	return &bookingv1.Registration{
		Booking: bookingToProto(r.booking()), TransactionId: r.ID.String(), Purchaser: customerToProto(&r.Purchaser),
		CreatedAt: timestamppb.New(created), UpdatedAt: timestamppb.New(updated), Version: r.Version,
	}
}

// attendances are what requests may record.
func attendances() map[bookingv1.Attendance]Attendance {
	return map[bookingv1.Attendance]Attendance{
		bookingv1.Attendance_ATTENDANCE_UNKNOWN: NotRecorded, bookingv1.Attendance_ATTENDANCE_CHECKED_IN: CheckedIn,
		bookingv1.Attendance_ATTENDANCE_NO_SHOW: NoShow,
	}
}

func attendanceToProto(a Attendance) bookingv1.Attendance {
	switch a {
	case CheckedIn:
		return bookingv1.Attendance_ATTENDANCE_CHECKED_IN
	case NoShow:
		return bookingv1.Attendance_ATTENDANCE_NO_SHOW
	}
	return bookingv1.Attendance_ATTENDANCE_UNKNOWN
}
