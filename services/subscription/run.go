package subscription

import (
	"context"

	"reservation.dev/platform/config"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/migrations"
)

// Part describes the subscription service to the platform.
func Part() service.Part {
	return service.Part{
		Name:       "subscription",
		About:      "plans, the subscriptions of customers, their periods and their payments",
		Callers:    []string{"auth", "customer", "media", "reports", "admin", "gateway-a", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the subscription service until ctx ends.
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
	mediaConn, err := h.Dial("media", cfg.MediaAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer mediaConn.Close()

	source := cfg.Credential.Source(authConn)
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, source))
	server := NewServer(kit.DB, kit.Outbox, companies, customers.NewClient(customerConn, source), NewPasses(passConn, source), NewMedia(mediaConn, source), h.Log)
	if err := server.Collect(h.Metrics); err != nil {
		return err
	}
	srv := kit.GRPC(Policy())
	subscriptionv1.RegisterPlanServiceServer(srv, server)
	subscriptionv1.RegisterSubscriptionServiceServer(srv, server)
	subscriptionv1.RegisterSubscriptionSnapshotServiceServer(srv, server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(kit.Outbox))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB))
	customerv1.RegisterCustomerDeletionServiceServer(srv, server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return companies.Follow(ctx, kit.Bus, consumer) })
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	g.Go("jobs", func(ctx context.Context) error { return server.Advance(ctx, kit.Jobs) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
