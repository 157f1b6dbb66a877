package gatewaya

import (
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// facade answers the operations that go through the generated handlers: one
// call each, with the caller's token, and a conversion.
type facade struct {
	edgeav1.UnimplementedInterfaceAServiceServer
	customers customerv1.CustomerServiceClient
	bookings  bookingv1.BookingServiceClient
}
