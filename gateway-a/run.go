package gatewaya

import (
	"context"
	_ "embed"
	"errors"
	"net"
	"net/http"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

//go:embed openapi.yaml
var openapi []byte

// Part returns gateway-a as a part of the platform.
func Part() service.Part {
	return service.Part{
		Name:     "gateway-a",
		About:    "Interface A: the machine-to-machine REST API",
		Settings: func() any { return &Config{} },
		Run:      Run,
	}
}

// Run serves Interface A until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	h.Health.SetServing(h.Part, false)

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
	bookingConn, err := h.Dial("booking", cfg.BookingAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer bookingConn.Close()
	b, err := bus.Connect(ctx, cfg.Bus, h.Log, h.NATS...)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Collect(h.Metrics); err != nil {
		return err
	}
	if err := b.EnsureStreams(ctx); err != nil {
		return err
	}

	verifier := token.NewVerifier(cfg.Token, time.Now)
	limiter := ratelimit.New(b, ratelimit.Options{Log: h.Log})
	if err := limiter.Collect(h.Metrics); err != nil {
		return err
	}
	handler, err := newHandler(ctx, h, verifier, cfg.Proxies, limiter, services{
		tokens:    authv1.NewTokenServiceClient(authConn),
		customers: customerv1.NewCustomerServiceClient(customerConn),
		bookings:  bookingv1.NewBookingServiceClient(bookingConn),
	})
	if err != nil {
		return err
	}

	g := service.NewGroup(ctx, h.Log)
	g.Go("token verifier", func(ctx context.Context) error { return verifier.Run(ctx, b) })
	g.Go("rate limit", limiter.Run)
	g.Go("http", func(ctx context.Context) error {
		return edge.ListenAndServe(ctx, cfg.Addr, edge.Leave(h.Leaving, handler), cfg.Drain, func(addr net.Addr) {
			h.Log.Info("http", "addr", addr.String())
			go h.Health.Announce(ctx, h.Part, verifier.WaitReady)
		})
	})
	return g.Wait()
}

// services are what the edge calls.
type services struct {
	tokens    authv1.TokenServiceClient
	customers customerv1.CustomerServiceClient
	bookings  bookingv1.BookingServiceClient
}

// newHandler returns Interface A over the given services.
func newHandler(ctx context.Context, h *service.Host, verifier *token.Verifier, proxies edge.Proxies, limiter edge.Taker, s services) (http.Handler, error) {
	// A client without a limit of its own has none.
	counted := &edge.Limits{Limiter: limiter}
	e, err := edge.New(edge.Options{
		Name: "a", Log: h.Log, Metrics: h.Metrics, Verifier: verifier, Kind: token.KindClient, Routes: routes(),
		Service: edgeav1.File_reservation_edge_a_v1_interface_a_proto.Services().ByName("InterfaceAService"),
		Limit:   counted.Check, AppendFault: appendFault,
	})
	if err != nil {
		return nil, err
	}
	tokenHandler := &tokens{edge: e, client: s.tokens, proxies: proxies, limits: counted}
	listHandler := &customers{edge: e, client: s.customers}
	err = errors.Join(
		edgeav1.RegisterInterfaceAServiceHandlerServer(ctx, e.Mux(), &facade{customers: s.customers, bookings: s.bookings}),
		e.Handle(http.MethodPost, "/token", tokenHandler.serve),
		e.Handle(http.MethodGet, "/customers", listHandler.serve),
	)
	if err != nil {
		return nil, err
	}
	return e.Handler(edge.Pages("Reservation platform: Interface A", openapi)), nil
}
