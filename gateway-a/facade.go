package gatewaya

import (
	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// facade implements the operations that the generated handlers serve. Each makes one call with the
// caller's token and converts the result.
type facade struct {
	edgeav1.UnimplementedInterfaceAServiceServer
	customers     customerv1.CustomerServiceClient
	single        *edge.Customers
	bookings      bookingv1.BookingServiceClient
	passes        passv1.PassServiceClient
	notes         customerv1.NoteServiceClient
	subscriptions subscriptionv1.SubscriptionServiceClient
	media         mediav1.MediaServiceClient
	appointments  bookingv1.AppointmentServiceClient
}
