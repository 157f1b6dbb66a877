package subscription

import (
	"context"

	"reservation.dev/platform/config"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/services/subscription/migrations"
)

// Part describes the subscription service to the platform.
func Part() service.Part {
	return service.Part{
		Name:       "subscription",
		About:      "plans, the subscriptions of customers, their periods and their payments",
		Callers:    []string{"auth", "customer", "media", "admin", "gateway-a", "gateway-b", "reservectl"},
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

	srv := kit.GRPC(Policy())
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, cfg.Credential.Source(authConn)))
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return companies.Follow(ctx, kit.Bus, consumer) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
