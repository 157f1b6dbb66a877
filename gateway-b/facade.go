package gatewayb

import (
	"context"
	"time"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// facade answers the operations that go through the generated handlers: one call
// each, with the caller's token, and a conversion.
type facade struct {
	edgebv1.UnimplementedInterfaceBServiceServer
	customers customerv1.CustomerServiceClient
	events    bookingv1.EventServiceClient
	bookings  bookingv1.BookingServiceClient
	passes    passv1.PassServiceClient
	now       func() time.Time
}

// created gives the response 201, the address of the created resource and its entity
// tag, and returns the resource.
func created[R interface {
	GetId() string
	GetVersion() int64
}](ctx context.Context, collection string, resource R) R {
	edge.Created(ctx, base+"/"+collection+"/"+resource.GetId())
	return edge.Tag(ctx, resource)
}

// unlessMissing returns wrong, the fault of a request, unless reading the resource that
// the request names has failed with look: then it returns that error. A caller who may
// change the resource but not read it gets the request's fault, because this interface
// requires one permission per route.
func unlessMissing(look, wrong error) error {
	if look == nil || fault.Is(look, fault.Forbidden) {
		return wrong
	}
	return look
}
