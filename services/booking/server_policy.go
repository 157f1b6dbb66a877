package booking

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns which callers each RPC accepts, as declared in the protos.
func Policy() rpc.Policy {
	return rpc.PolicyOf(
		&bookingv1.AppointmentService_ServiceDesc,
		&bookingv1.AppointmentTypeService_ServiceDesc,
		&bookingv1.BookingService_ServiceDesc,
		&bookingv1.BookingChangeService_ServiceDesc,
		&bookingv1.BookingSnapshotService_ServiceDesc,
		&bookingv1.CalendarService_ServiceDesc,
		&bookingv1.DiscountService_ServiceDesc,
		&bookingv1.EventService_ServiceDesc,
		&bookingv1.OwnClassService_ServiceDesc,
		&bookingv1.RoomService_ServiceDesc,
		&bookingv1.StaffService_ServiceDesc,
		&bookingv1.VerificationService_ServiceDesc,
		&bookingv1.WaitlistService_ServiceDesc,
		&outboxv1.OutboxService_ServiceDesc,
		&authv1.CompanyCopyService_ServiceDesc,
		&authv1.TestDataService_ServiceDesc,
		&customerv1.CustomerDeletionService_ServiceDesc,
		&privacyv1.PersonalDataService_ServiceDesc,
	)
}
