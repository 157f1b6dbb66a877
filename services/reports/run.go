package reports

import (
	"context"

	"reservation.dev/platform/config"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	"reservation.dev/services/reports/migrations"
)

// Part describes the reports service to the platform.
func Part() service.Part {
	return service.Part{
		Name:       "reports",
		About:      "read models: takings, attendance, credits outstanding and customers",
		Callers:    []string{"auth", "admin", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the reports service until ctx ends.
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

	bookingConn, err := h.Dial("booking", cfg.BookingAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer bookingConn.Close()
	passConn, err := h.Dial("pass", cfg.PassAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer passConn.Close()
	subscriptionConn, err := h.Dial("subscription", cfg.SubscriptionAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer subscriptionConn.Close()
	customerConn, err := h.Dial("customer", cfg.CustomerAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer customerConn.Close()

	source := cfg.Credential.Source(authConn)
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, source))
	snapshots := NewSnapshots(bookingConn, passConn, subscriptionConn, customerConn, source)
	server := NewServer(kit.DB, companies, snapshots, h.Log)
	if err := server.Collect(h.Metrics); err != nil {
		return err
	}
	srv := kit.GRPC(Policy())
	reportsv1.RegisterReportServiceServer(srv, server)
	reportsv1.RegisterReportMaintenanceServiceServer(srv, server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	// The number of the newest generation stays, so that rows which a transaction adds during a reset are never
	// those of a later generation.
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB, "progress"))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return companies.Follow(ctx, kit.Bus, copiesConsumer) })
	g.Go("intake", func(ctx context.Context) error { return server.intake.Run(ctx, kit.Bus) })
	g.Go("lag", func(ctx context.Context) error { return server.intake.Watch(ctx, kit.Bus) })
	server.builder.RunJobs(g, kit.Jobs)
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
