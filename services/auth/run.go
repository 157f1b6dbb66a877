package auth

import (
	"context"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/auth/migrations"
)

// Part returns the auth service as a service of the platform.
func Part() service.Part {
	return service.Part{
		Name:  "auth",
		About: "companies, credentials, administrators, tokens and the keys that sign them",
		// Each of them gets its own tokens and reads companies. The gateways and the dashboard also
		// get tokens for their callers. The directory of a router reads where companies are.
		Callers:    []string{"customer", "booking", "pass", "subscription", "media", "reports", "webhook", "admin", "gateway-a", "gateway-b", "directory", "reservectl"},
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
	for _, to := range dependents(cfg) {
		conn, err := h.Dial(to.part, to.addr, rpc.DialOptions{})
		if err != nil {
			return err
		}
		defer conn.Close()
		server.testData = append(server.testData, newTestData(conn)...)
		if to.part != "webhook" {
			server.companyCopies = append(server.companyCopies, newCompanyCopies(conn)...)
		}
	}
	server.events = kit.Bus
	feed := server.identityFeed()
	if err := server.prepare(ctx, feed, kit.Bus, credentials); err != nil {
		return err
	}
	srv := kit.GRPC(Policy())
	server.register(srv)
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
	g.Go("request log", func(ctx context.Context) error { return server.consumeRequests(ctx, kit.Bus) })
	g.Go("changes by credentials", func(ctx context.Context) error { return server.consumeChanges(ctx, kit.Bus) })
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}

// prepare runs before the first request: it catches up with what was published, and creates the
// keys and the credentials of the settings.
func (s *Server) prepare(ctx context.Context, feed *identityFeed, b *bus.Bus, credentials []bootstrapCredential) error {
	raised, err := feed.restore(ctx, b)
	if err != nil {
		return err
	}
	if raised > 0 {
		s.log.Warn("the database is older than the identity stream, as after a restore; generations were raised, so revoked tokens stay revoked", "raised", raised)
	}
	if err := s.keys.start(ctx); err != nil {
		return err
	}
	if err := s.bootstrap(ctx, credentials); err != nil {
		return err
	}
	if err := feed.republish(ctx); err != nil {
		return err
	}
	return s.reseal(ctx)
}

// dependent is a service that keeps data of companies.
type dependent struct{ part, addr string }

// dependents returns the services that keep data of companies, in the order in which they delete test data.
// Subscription comes before pass, which it would send deleted passes to again.
func dependents(cfg Config) []dependent {
	return []dependent{
		{"customer", cfg.CustomerAddr}, {"booking", cfg.BookingAddr}, {"subscription", cfg.SubscriptionAddr},
		{"pass", cfg.PassAddr}, {"media", cfg.MediaAddr}, {"reports", cfg.ReportsAddr}, {"webhook", cfg.WebhookAddr},
	}
}
