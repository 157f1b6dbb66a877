package auth

import (
	"context"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/auth/migrations"
)

// Part returns the auth service as a part of the platform.
func Part() service.Part {
	return service.Part{
		Name:  "auth",
		About: "companies, credentials, administrators, tokens and the keys that sign them",
		// Each asks for companies and tokens; the edges and the dashboard for those of their callers.
		Callers:    []string{"customer", "booking", "pass", "webhook", "admin", "gateway-a", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the auth service until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	sealer, err := seal.Parse(cfg.Seal.MasterKey)
	if err != nil {
		return err
	}
	credentials, err := parseBootstrap(cfg.Bootstrap)
	if err != nil {
		return err
	}
	kit, err := service.Open(ctx, h, cfg.Base, Part())
	if err != nil {
		return err
	}
	defer kit.Close()

	keys := &keyring{
		store: newStore(kit.DB), outbox: kit.Outbox, sealer: sealer, issuer: cfg.Base.Token.Issuer,
		interval: cfg.Rotation, delay: cfg.Delay, now: time.Now, log: h.Log,
	}
	server := NewServer(kit.DB, kit.Outbox, keys, sessionTimes{idle: cfg.Idle, lifetime: cfg.Lifetime}, h.Log)
	for _, to := range []struct{ part, addr string }{{"customer", cfg.CustomerAddr}, {"booking", cfg.BookingAddr}, {"pass", cfg.PassAddr}} {
		conn, err := h.Dial(to.part, to.addr, rpc.DialOptions{})
		if err != nil {
			return err
		}
		defer conn.Close()
		server.companyCopies = append(server.companyCopies, newCompanyCopies(conn)...)
	}
	feed := server.identityFeed()
	raised, err := feed.restore(ctx, kit.Bus)
	if err != nil {
		return err
	}
	if raised > 0 {
		h.Log.Warn("the database was behind the identity stream, as after a restore: what was revoked since stays so", "raised", raised)
	}
	if err := keys.start(ctx); err != nil {
		return err
	}
	if err := server.bootstrap(ctx, credentials); err != nil {
		return err
	}
	if err := feed.republish(ctx); err != nil {
		return err
	}
	if err := server.reseal(ctx); err != nil {
		return err
	}
	srv := kit.GRPC(Policy())
	authv1.RegisterCompanyServiceServer(srv, server)
	authv1.RegisterApiClientServiceServer(srv, server)
	authv1.RegisterApiKeyServiceServer(srv, server)
	authv1.RegisterServiceCredentialServiceServer(srv, server)
	authv1.RegisterTokenServiceServer(srv, server)
	authv1.RegisterSigningKeyServiceServer(srv, server)
	authv1.RegisterAdministratorServiceServer(srv, server)
	authv1.RegisterAuditServiceServer(srv, server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("signing keys", func(ctx context.Context) error {
		return kit.Jobs.Every(ctx, "signing_keys", keysEvery, keys.runOnce)
	})
	g.Go("signing keys of other replicas", keys.follow(kit.Bus))
	g.Go("identity events", feed.follow(kit.Bus))
	g.Go("sweep", func(ctx context.Context) error {
		return kit.Jobs.Every(ctx, "sweep_sessions", sweepEvery, server.sweepOnce)
	})
	g.Go("retention", func(ctx context.Context) error {
		return kit.Jobs.Every(ctx, "retain", retainEvery, func(ctx context.Context) error { return server.retainOnce(ctx, cfg.Retention) })
	})
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}
