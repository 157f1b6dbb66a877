package admin

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"reservation.dev/platform/config"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Part returns the dashboard as a service of the platform.
func Part() service.Part {
	return service.Part{
		Name:     "admin",
		About:    "the dashboard: web pages with which a company runs its business",
		Settings: func() any { return &Config{} },
		Run:      Run,
	}
}

// services are the clients of the services that the pages call.
type services struct {
	admins        authv1.AdministratorServiceClient
	audit         authv1.AuditServiceClient
	companies     authv1.CompanyServiceClient
	clients       authv1.ApiClientServiceClient
	keys          authv1.ApiKeyServiceClient
	publishable   authv1.PublishableKeyServiceClient
	serviceKeys   authv1.ServiceCredentialServiceClient
	testMode      authv1.TestModeServiceClient
	requests      authv1.RequestLogServiceClient
	customers     customerv1.CustomerServiceClient
	notes         customerv1.NoteServiceClient
	events        bookingv1.EventServiceClient
	bookings      bookingv1.BookingServiceClient
	changes       bookingv1.BookingChangeServiceClient
	own           bookingv1.OwnClassServiceClient
	waitlist      bookingv1.WaitlistServiceClient
	discounts     bookingv1.DiscountServiceClient
	staff         bookingv1.StaffServiceClient
	rooms         bookingv1.RoomServiceClient
	types         bookingv1.AppointmentTypeServiceClient
	appointments  bookingv1.AppointmentServiceClient
	calendars     bookingv1.CalendarServiceClient
	passes        passv1.PassServiceClient
	plans         subscriptionv1.PlanServiceClient
	subscriptions subscriptionv1.SubscriptionServiceClient
	media         mediav1.MediaServiceClient
	reports       reportsv1.ReportServiceClient
	webhooks      webhookv1.WebhookServiceClient
	erasures      privacyv1.ErasureServiceClient
	stores        []personalStore
}

// connections are the connections to the services.
type connections struct {
	auth, customer, booking, pass, subscription, media, reports, webhook grpc.ClientConnInterface
}

// services returns the clients of the connections.
func (c connections) services() services {
	return services{
		admins: authv1.NewAdministratorServiceClient(c.auth), audit: authv1.NewAuditServiceClient(c.auth),
		companies: authv1.NewCompanyServiceClient(c.auth), clients: authv1.NewApiClientServiceClient(c.auth),
		keys: authv1.NewApiKeyServiceClient(c.auth), publishable: authv1.NewPublishableKeyServiceClient(c.auth),
		serviceKeys: authv1.NewServiceCredentialServiceClient(c.auth),
		testMode:    authv1.NewTestModeServiceClient(c.auth),
		requests:    authv1.NewRequestLogServiceClient(c.auth),
		customers:   customerv1.NewCustomerServiceClient(c.customer),
		notes:       customerv1.NewNoteServiceClient(c.customer),
		events:      bookingv1.NewEventServiceClient(c.booking), bookings: bookingv1.NewBookingServiceClient(c.booking),
		own:      bookingv1.NewOwnClassServiceClient(c.booking),
		changes:  bookingv1.NewBookingChangeServiceClient(c.booking),
		waitlist: bookingv1.NewWaitlistServiceClient(c.booking), discounts: bookingv1.NewDiscountServiceClient(c.booking), passes: passv1.NewPassServiceClient(c.pass),
		staff: bookingv1.NewStaffServiceClient(c.booking), rooms: bookingv1.NewRoomServiceClient(c.booking),
		types: bookingv1.NewAppointmentTypeServiceClient(c.booking), appointments: bookingv1.NewAppointmentServiceClient(c.booking),
		calendars: bookingv1.NewCalendarServiceClient(c.booking),
		plans:     subscriptionv1.NewPlanServiceClient(c.subscription), subscriptions: subscriptionv1.NewSubscriptionServiceClient(c.subscription),
		media:    mediav1.NewMediaServiceClient(c.media),
		reports:  reportsv1.NewReportServiceClient(c.reports),
		webhooks: webhookv1.NewWebhookServiceClient(c.webhook), erasures: privacyv1.NewErasureServiceClient(c.customer),
		stores: []personalStore{
			{"customer", privacyv1.NewPersonalDataServiceClient(c.customer)}, {"booking", privacyv1.NewPersonalDataServiceClient(c.booking)},
			{"pass", privacyv1.NewPersonalDataServiceClient(c.pass)}, {"subscription", privacyv1.NewPersonalDataServiceClient(c.subscription)},
			{"media", privacyv1.NewPersonalDataServiceClient(c.media)}, {"webhook", privacyv1.NewPersonalDataServiceClient(c.webhook)},
			{"auth", privacyv1.NewPersonalDataServiceClient(c.auth)},
		},
	}
}

// Run serves the dashboard until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	h.Health.SetServing(h.Part, false)
	var conns connections
	for _, c := range []struct {
		part string
		addr string
		conn *grpc.ClientConnInterface
		opts rpc.DialOptions
	}{
		{"auth", cfg.AuthAddr, &conns.auth, rpc.DialOptions{}},
		{"customer", cfg.CustomerAddr, &conns.customer, rpc.DialOptions{}},
		{"booking", cfg.BookingAddr, &conns.booking, rpc.DialOptions{}},
		{"pass", cfg.PassAddr, &conns.pass, rpc.DialOptions{}},
		{"subscription", cfg.SubscriptionAddr, &conns.subscription, rpc.DialOptions{}},
		// Completing an upload waits for the joined file, up to 5 s.
		{"media", cfg.MediaAddr, &conns.media, rpc.DialOptions{Timeout: mediaTimeout}},
		{"reports", cfg.ReportsAddr, &conns.reports, rpc.DialOptions{}},
		// A test waits for the endpoint's response, up to 10 s.
		{"webhook", cfg.WebhookAddr, &conns.webhook, rpc.DialOptions{Timeout: webhookTimeout}},
	} {
		conn, err := h.Dial(c.part, c.addr, c.opts)
		if err != nil {
			return err
		}
		defer conn.Close()
		*c.conn = conn
	}
	handler, err := newWeb(&cfg, h.Log, h.Metrics, conns.services())
	if err != nil {
		return err
	}
	g := service.NewGroup(ctx, h.Log)
	g.Go("http", func(ctx context.Context) error {
		return edge.ListenAndServe(ctx, cfg.Addr, edge.CloseConnections(h.Leaving, handler), cfg.Drain, func(addr net.Addr) {
			h.Log.Info("http", "addr", addr.String())
			go h.Health.Announce(ctx, h.Part, func(context.Context) error { return nil })
		})
	})
	return g.Wait()
}
