package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// facade implements the operations that the generated handlers serve. Each makes one call with the
// caller's token and converts the result.
type facade struct {
	edgebv1.UnimplementedInterfaceBServiceServer
	customers     customerv1.CustomerServiceClient
	single        *edge.Customers
	events        bookingv1.EventServiceClient
	bookings      bookingv1.BookingServiceClient
	changes       bookingv1.BookingChangeServiceClient
	waitlist      bookingv1.WaitlistServiceClient
	passes        passv1.PassServiceClient
	discounts     bookingv1.DiscountServiceClient
	plans         subscriptionv1.PlanServiceClient
	subscriptions subscriptionv1.SubscriptionServiceClient
	media         mediav1.MediaServiceClient
	reports       reportsv1.ReportServiceClient
	webhooks      webhookv1.WebhookServiceClient
	requests      authv1.RequestLogServiceClient
	testMode      authv1.TestModeServiceClient
	calendars     bookingv1.CalendarServiceClient
	interfaceURL  string // the address of Interface B, with base

	staff            bookingv1.StaffServiceClient
	rooms            bookingv1.RoomServiceClient
	appointmentTypes bookingv1.AppointmentTypeServiceClient
	appointments     bookingv1.AppointmentServiceClient
}

// setCreated makes the response a 201 with the Location and the ETag of the created resource, and
// returns the resource.
func setCreated[R interface {
	GetId() string
	GetVersion() int64
}](ctx context.Context, collection string, resource R) R {
	edge.Created(ctx, base+"/"+collection+"/"+resource.GetId())
	return edge.Tag(ctx, resource)
}

// missingOr returns the error for an invalid request about a resource. look is the error of reading
// the resource, and wrong is the fault of the request. missingOr returns look if reading failed, and
// otherwise wrong. It also returns wrong if the caller is not allowed to read the resource, because a
// route of this interface requires only one permission.
func missingOr(look, wrong error) error {
	if look == nil || fault.Is(look, fault.Forbidden) {
		return wrong
	}
	return look
}
