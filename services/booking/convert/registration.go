package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Registration converts a registration.
func Registration(r *model.Registration) *bookingv1.Registration {
	return &bookingv1.Registration{
		Booking: Booking(&r.Transaction, r.Booking()), TransactionId: r.ID.String(), Purchaser: customerToProto(&r.Purchaser),
		CreatedAt: timestamppb.New(r.CreatedAt()), UpdatedAt: timestamppb.New(r.UpdatedAt), Version: r.Version,
	}
}
