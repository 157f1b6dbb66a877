package customer

import (
	"context"

	"reservation.dev/platform/config"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/customer/migrations"
)

// Part returns the customer service as a service of the platform.
func Part() service.Part {
	return service.Part{
		Name:  "customer",
		About: "a company's customers: profile, notes, archive and deletion",
		// auth refreshes copies of companies; the services of what customers buy look customers up;
		// the gateways and the dashboard manage them.
		Callers:    []string{"auth", "booking", "pass", "subscription", "media", "reports", "webhook", "admin", "gateway-a", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the customer service until ctx ends.
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
	var confirmations ConfirmationClient
	for _, to := range []struct{ part, addr string }{
		{"booking", cfg.BookingAddr}, {"pass", cfg.PassAddr}, {"subscription", cfg.SubscriptionAddr}, {"media", cfg.MediaAddr},
	} {
		conn, err := h.Dial(to.part, to.addr, rpc.DialOptions{})
		if err != nil {
			return err
		}
		defer conn.Close()
		confirmations = append(confirmations, customerv1.NewCustomerDeletionServiceClient(conn))
	}

	srv := kit.GRPC(Policy())
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, cfg.Credential.Source(authConn)))
	server := NewServer(kit.DB, kit.Outbox, companies, confirmations)
	customerv1.RegisterCustomerServiceServer(srv, server)
	customerv1.RegisterNoteServiceServer(srv, Notes{Server: server})
	customerv1.RegisterCustomerSnapshotServiceServer(srv, server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(kit.Outbox))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB))
	privacyv1.RegisterErasureServiceServer(srv, Erasures{Server: server})
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))
	forgetting := NewErasureJobs(kit.DB, kit.Outbox, kit.Bus, cfg.Settle, h.Log)
	if err := forgetting.Collect(h.Metrics); err != nil {
		return err
	}

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return companies.Follow(ctx, kit.Bus, companyConsumer) })
	g.Go("erasures", func(ctx context.Context) error { return forgetting.Run(ctx, kit.Jobs) })
	g.Go("reminders of erasures", func(ctx context.Context) error { return forgetting.Remind(ctx, kit.Jobs) })
	g.Go("answers to erasures", func(ctx context.Context) error { return forgetting.Listen(ctx, kit.Bus) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
