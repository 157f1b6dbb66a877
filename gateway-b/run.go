package gatewayb

import (
	"context"
	_ "embed"
	"errors"
	"net"
	"net/http"
	"strings"
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
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

//go:embed openapi.yaml
var openapi []byte

// Part returns gateway-b as a part of the platform.
func Part() service.Part {
	return service.Part{
		Name:     "gateway-b",
		About:    "Interface B: the REST API under /api/v1",
		Settings: func() any { return &Config{} },
		Run:      Run,
	}
}

// Run serves Interface B until ctx ends.
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
	passConn, err := h.Dial("pass", cfg.PassAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer passConn.Close()
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
	handler, err := newHandler(ctx, h, verifier, &cfg, limiter, services{
		tokens:    authv1.NewTokenServiceClient(authConn),
		customers: customerv1.NewCustomerServiceClient(customerConn),
		events:    bookingv1.NewEventServiceClient(bookingConn),
		bookings:  bookingv1.NewBookingServiceClient(bookingConn),
		passes:    passv1.NewPassServiceClient(passConn),
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
	events    bookingv1.EventServiceClient
	bookings  bookingv1.BookingServiceClient
	passes    passv1.PassServiceClient
}

// newHandler returns Interface B over the given services.
func newHandler(ctx context.Context, h *service.Host, verifier *token.Verifier, cfg *Config, limiter edge.Taker, s services) (http.Handler, error) {
	counted := &edge.Limits{Limiter: limiter, Usual: cfg.RateLimit}
	e, err := edge.New(edge.Options{
		Name: "b", Log: h.Log, Metrics: h.Metrics, Verifier: verifier, Kind: token.KindKey, Routes: routes(),
		Service: edgebv1.File_reservation_edge_b_v1_interface_b_proto.Services().ByName("InterfaceBService"),
		Limit:   counted.Check, AppendFault: appendFault,
	})
	if err != nil {
		return nil, err
	}
	tokenHandler := &tokens{edge: e, client: s.tokens, proxies: cfg.Proxies, limits: counted}
	err = errors.Join(
		edgebv1.RegisterInterfaceBServiceHandlerServer(ctx, e.Mux(), &facade{
			customers: s.customers, events: s.events, bookings: s.bookings, passes: s.passes, now: time.Now,
		}),
		e.Handle(http.MethodPost, base+"/auth/token", tokenHandler.serve),
	)
	if err != nil {
		return nil, err
	}
	return withPages(e.Handler(edge.Pages("Reservation platform: Interface B", openapi))), nil
}

// withPages serves the description below the base path too, where whoever knows
// that alone looks for it.
func withPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, base); ok && (path == "/openapi.yaml" || path == "/docs" || path == "/docs/") {
			r.URL.Path = path
		}
		next.ServeHTTP(w, r)
	})
}
