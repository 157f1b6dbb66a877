package booking

import (
	"context"

	"reservation.dev/platform/config"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/booking/migrations"
)

// Part describes the booking service to the platform.
func Part() service.Part {
	return service.Part{
		Name:  "booking",
		About: "events, their dates and capacity, staff, rooms and appointments, and the transactions in which customers book",
		// auth refreshes its copies of companies, customer confirms deletions, and media looks up
		// bookings of events.
		Callers:    []string{"auth", "customer", "media", "reports", "admin", "gateway-a", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the booking service until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	kit, err := service.Open(ctx, h, cfg.Base, Part())
	if err != nil {
		return err
	}
	defer kit.Close()
	authConn, err := h.Dial("auth", cfg.AuthAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer authConn.Close()
	customerConn, err := h.Dial("customer", cfg.CustomerAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer customerConn.Close()

	passConn, err := h.Dial("pass", cfg.PassAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer passConn.Close()

	source := cfg.Credential.Source(authConn)
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, source))
	server := NewServer(kit.DB, kit.Outbox, NewCustomerClient(customerConn, source), companies, NewPassClient(passConn, source))
	server.log = h.Log
	if err := server.Collect(h.Metrics); err != nil {
		return err
	}
	srv := kit.GRPC(Policy())
	bookingv1.RegisterBookingServiceServer(srv, server)
	bookingv1.RegisterEventServiceServer(srv, server)
	bookingv1.RegisterDiscountServiceServer(srv, server)
	bookingv1.RegisterWaitlistServiceServer(srv, server)
	bookingv1.RegisterVerificationServiceServer(srv, server)
	bookingv1.RegisterStaffServiceServer(srv, server)
	bookingv1.RegisterRoomServiceServer(srv, server)
	bookingv1.RegisterAppointmentTypeServiceServer(srv, server)
	bookingv1.RegisterAppointmentServiceServer(srv, server)
	bookingv1.RegisterCalendarServiceServer(srv, server)
	bookingv1.RegisterBookingChangeServiceServer(srv, server)
	bookingv1.RegisterOwnClassServiceServer(srv, server)
	bookingv1.RegisterBookingSnapshotServiceServer(srv, server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(kit.Outbox))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB))
	customerv1.RegisterCustomerDeletionServiceServer(srv, server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return NewCopies(kit.DB, kit.Outbox, companies).Run(ctx, kit.Bus) })
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	g.Go("expiries", func(ctx context.Context) error { return server.Expire(ctx, kit.Jobs) })
	g.Go("closings", func(ctx context.Context) error { return server.FinishClosings(ctx, kit.Jobs) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
