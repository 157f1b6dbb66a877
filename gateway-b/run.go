package gatewayb

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
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Part describes gateway-b to the process that runs it.
func Part() service.Part {
	return service.Part{
		Name:     "gateway-b",
		About:    "Interface B: the REST API under /api/v1",
		Settings: func() any { return &Config{} },
		Run:      Run,
	}
}

// Run serves Interface B until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	return edge.Run(ctx, h, cfg.Addr, cfg.Edge, func(o edge.Options, s *edge.Services) (http.Handler, error) {
		o.RateLimit = cfg.RateLimit
		auth, booking := s.Dial("auth", cfg.AuthAddr), s.Dial("booking", cfg.BookingAddr)
		subscription := s.Dial("subscription", cfg.SubscriptionAddr)
		return newHandler(ctx, o, services{
			tokens:        authv1.NewTokenServiceClient(auth),
			customers:     customerv1.NewCustomerServiceClient(s.Dial("customer", cfg.CustomerAddr)),
			events:        bookingv1.NewEventServiceClient(booking),
			bookings:      bookingv1.NewBookingServiceClient(booking),
			changes:       bookingv1.NewBookingChangeServiceClient(booking),
			waitlist:      bookingv1.NewWaitlistServiceClient(booking),
			passes:        passv1.NewPassServiceClient(s.Dial("pass", cfg.PassAddr)),
			discounts:     bookingv1.NewDiscountServiceClient(booking),
			plans:         subscriptionv1.NewPlanServiceClient(subscription),
			subscriptions: subscriptionv1.NewSubscriptionServiceClient(subscription),
			media:         mediav1.NewMediaServiceClient(s.Dial("media", cfg.MediaAddr)),
			reports:       reportsv1.NewReportServiceClient(s.Dial("reports", cfg.ReportsAddr)),
			webhooks:      webhookv1.NewWebhookServiceClient(s.Dial("webhook", cfg.WebhookAddr)),
			requests:      authv1.NewRequestLogServiceClient(auth),
			testMode:      authv1.NewTestModeServiceClient(auth),
			calendars:     bookingv1.NewCalendarServiceClient(booking),
			interfaceURL:  cfg.interfaceURL(),

			staff:            bookingv1.NewStaffServiceClient(booking),
			rooms:            bookingv1.NewRoomServiceClient(booking),
			appointmentTypes: bookingv1.NewAppointmentTypeServiceClient(booking),
			appointments:     bookingv1.NewAppointmentServiceClient(booking),
		})
	})
}

// services are the clients of the services that the gateway calls.
type services struct {
	tokens        authv1.TokenServiceClient
	customers     customerv1.CustomerServiceClient
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
	interfaceURL  string

	staff            bookingv1.StaffServiceClient
	rooms            bookingv1.RoomServiceClient
	appointmentTypes bookingv1.AppointmentTypeServiceClient
	appointments     bookingv1.AppointmentServiceClient
}

// newHandler returns a handler that serves Interface B with the given services.
func newHandler(ctx context.Context, o edge.Options, s services) (http.Handler, error) {
	e, err := edge.New(contract(), o)
	if err != nil {
		return nil, err
	}
	e.AcceptPublishableKeys(s.tokens)
	e.ServeFeed(edge.Feed{Prefix: calendarPrefix, Suffix: calendarSuffix, Type: calendarType, Read: calendarFeed{client: s.calendars}.read})
	tokens := &tokens{edge: e, client: s.tokens}
	err = errors.Join(
		edgebv1.RegisterInterfaceBServiceHandlerServer(ctx, e.Mux(), &facade{
			customers: s.customers, single: edge.NewCustomers(s.customers), events: s.events, bookings: s.bookings, changes: s.changes, waitlist: s.waitlist, passes: s.passes,
			discounts: s.discounts, plans: s.plans, subscriptions: s.subscriptions, media: s.media, reports: s.reports, webhooks: s.webhooks, requests: s.requests, testMode: s.testMode,
			calendars: s.calendars, interfaceURL: s.interfaceURL,
			staff: s.staff, rooms: s.rooms, appointmentTypes: s.appointmentTypes, appointments: s.appointments,
		}),
		e.Handle(http.MethodPost, base+"/auth/token", tokens.serve),
	)
	return e.Handler(), err
}
