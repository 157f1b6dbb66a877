package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Registration converts a registration.
func Registration(r *model.Registration) *bookingv1.Registration {
	created := r.CreatedAt()
	updated := r.ChangedAt
	if updated.Before(created) {
		updated = created
	}
	return &bookingv1.Registration{
		Booking: Booking(r.Booking()), TransactionId: r.ID.String(), Purchaser: customerToProto(&r.Purchaser),
		CreatedAt: timestamppb.New(created), UpdatedAt: timestamppb.New(updated), Version: r.Version,
	}
}

// Attendances are what requests may record.
func Attendances() map[bookingv1.Attendance]model.Attendance {
	return map[bookingv1.Attendance]model.Attendance{
		bookingv1.Attendance_ATTENDANCE_UNKNOWN: model.NotRecorded, bookingv1.Attendance_ATTENDANCE_CHECKED_IN: model.CheckedIn,
		bookingv1.Attendance_ATTENDANCE_NO_SHOW: model.NoShow,
	}
}

func attendanceToProto(a model.Attendance) bookingv1.Attendance {
	switch a {
	case model.CheckedIn:
		return bookingv1.Attendance_ATTENDANCE_CHECKED_IN
	case model.NoShow:
		return bookingv1.Attendance_ATTENDANCE_NO_SHOW
	}
	return bookingv1.Attendance_ATTENDANCE_UNKNOWN
}
