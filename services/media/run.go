package media

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"

	"reservation.dev/platform/config"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/media/migrations"
)

// Part describes the media service to the platform.
func Part() service.Part {
	return service.Part{
		Name:       "media",
		About:      "media items, their files, who can play them, and progress",
		Callers:    []string{"auth", "customer", "subscription", "admin", "gateway-a", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the media service until ctx ends.
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
	conns := &connections{host: h}
	defer conns.close()
	authConn := conns.Dial("auth", cfg.AuthAddr)
	others := Conns{
		Customer: conns.Dial("customer", cfg.CustomerAddr), Pass: conns.Dial("pass", cfg.PassAddr),
		Subscription: conns.Dial("subscription", cfg.SubscriptionAddr), Booking: conns.Dial("booking", cfg.BookingAddr),
	}
	if conns.err != nil {
		return conns.err
	}
	source := cfg.Credential.Source(authConn)
	companies := NewCompanies(kit.DB, tenancy.NewAuth(authConn, source))
	server, err := NewServer(ctx, Deps{
		DB: kit.DB, Outbox: kit.Outbox, Companies: companies, Clients: NewClients(others, source), Config: cfg, Log: h.Log,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Collect(h.Metrics); err != nil {
		return err
	}
	// Without its bucket the service is not ready, and starts to serve when the bucket can be written.
	h.Health.Check("media bucket", server.ready)

	srv := kit.GRPC(Policy())
	mediav1.RegisterMediaServiceServer(srv, server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	authv1.RegisterTestDataServiceServer(srv, NewTestData(tenancy.NewTestData(kit.DB, "removed_objects"), server))
	customerv1.RegisterCustomerDeletionServiceServer(srv, server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("copies", func(ctx context.Context) error { return companies.Follow(ctx, kit.Bus, consumer) })
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	server.RunJobs(g, kit.Jobs)
	g.Go("http", func(ctx context.Context) error {
		handler := edge.CloseConnections(h.Leaving, server.Handler())
		return serveHTTP(ctx, cfg.Media.HTTPAddr, handler, cfg.Base.Drain, func(addr net.Addr) { h.Log.Info("http", "addr", addr.String()) })
	})
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}

// connections are the connections to other services.
type connections struct {
	host  *service.Host
	conns []*grpc.ClientConn
	err   error
}

// Dial returns a connection to the addresses of a service. err has an invalid address.
func (c *connections) Dial(name, addr string) *grpc.ClientConn {
	conn, err := c.host.Dial(name, addr, rpc.DialOptions{})
	if err != nil {
		c.err = errors.Join(c.err, err)
		return nil
	}
	c.conns = append(c.conns, conn)
	return conn
}

func (c *connections) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}
