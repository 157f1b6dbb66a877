package gatewaya

import (
	"context"
	"errors"
	"net/http"

	"reservation.dev/platform/config"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/service"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Part describes gateway-a to the process that runs it.
func Part() service.Part {
	return service.Part{
		Name:     "gateway-a",
		About:    "Interface A: the machine-to-machine REST API",
		Settings: func() any { return &Config{} },
		Run:      Run,
	}
}

// Run serves Interface A until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	return edge.Run(ctx, h, cfg.Addr, cfg.Edge, func(o edge.Options, s *edge.Services) (http.Handler, error) {
		customer, booking := s.Dial("customer", cfg.CustomerAddr), s.Dial("booking", cfg.BookingAddr)
		return newHandler(ctx, o, services{
			tokens:        authv1.NewTokenServiceClient(s.Dial("auth", cfg.AuthAddr)),
			customers:     customerv1.NewCustomerServiceClient(customer),
			notes:         customerv1.NewNoteServiceClient(customer),
			bookings:      bookingv1.NewBookingServiceClient(booking),
			passes:        passv1.NewPassServiceClient(s.Dial("pass", cfg.PassAddr)),
			subscriptions: subscriptionv1.NewSubscriptionServiceClient(s.Dial("subscription", cfg.SubscriptionAddr)),
			media:         mediav1.NewMediaServiceClient(s.Dial("media", cfg.MediaAddr)),
			appointments:  bookingv1.NewAppointmentServiceClient(booking),
		})
	})
}

// services are the clients of the services that the gateway calls.
type services struct {
	tokens        authv1.TokenServiceClient
	customers     customerv1.CustomerServiceClient
	notes         customerv1.NoteServiceClient
	bookings      bookingv1.BookingServiceClient
	passes        passv1.PassServiceClient
	subscriptions subscriptionv1.SubscriptionServiceClient
	media         mediav1.MediaServiceClient
	appointments  bookingv1.AppointmentServiceClient
}

// newHandler returns a handler that serves Interface A with the given services. An API client
// without a rate limit of its own is not limited.
func newHandler(ctx context.Context, o edge.Options, s services) (http.Handler, error) {
	e, err := edge.New(contract(), o)
	if err != nil {
		return nil, err
	}
	tokens := &tokens{edge: e, client: s.tokens}
	list := &customerList{edge: e, client: s.customers}
	err = errors.Join(
		edgeav1.RegisterInterfaceAServiceHandlerServer(ctx, e.Mux(), &facade{
			customers: s.customers, single: edge.NewCustomers(s.customers), bookings: s.bookings, passes: s.passes, notes: s.notes,
			subscriptions: s.subscriptions, media: s.media, appointments: s.appointments,
		}),
		e.Handle(http.MethodPost, "/token", tokens.serve),
		e.Handle(http.MethodGet, "/customers", list.serve),
	)
	return e.Handler(), err
}
