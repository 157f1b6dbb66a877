package pass

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
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/pass/migrations"
)

// Part describes the pass service to the platform.
func Part() service.Part {
	return service.Part{
		Name:  "pass",
		About: "pass types, the passes that customers hold, and the ledger of their credits",
		// auth refreshes its copies of companies, customer confirms deletions, booking redeems and
		// returns credits, subscription grants them, and media looks up passes.
		Callers:    []string{"auth", "customer", "booking", "subscription", "media", "reports", "admin", "gateway-a", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the pass service until ctx ends.
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

	srv := kit.GRPC(Policy())
	source := cfg.Credential.Source(authConn)
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, source))
	server := NewServer(kit.DB, kit.Outbox, companies, customers.NewClient(customerConn, source))
	passv1.RegisterPassServiceServer(srv, server)
	passv1.RegisterSubscriptionPassServiceServer(srv, server)
	passv1.RegisterPassSnapshotServiceServer(srv, server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	outboxv1.RegisterOutboxServiceServer(srv, outbox.NewService(kit.Outbox))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB))
	customerv1.RegisterCustomerDeletionServiceServer(srv, server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return companies.Follow(ctx, kit.Bus, consumer) })
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
