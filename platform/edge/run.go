package edge

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/requestlog"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/token"
)

// Config holds the settings that both gateways share.
type Config struct {
	Drain   time.Duration `env:"SHUTDOWN_DRAIN" envDefault:"10s" doc:"how long requests in flight can take to finish at shutdown"`
	Proxies Proxies       `env:"TRUSTED_PROXIES" doc:"networks (CIDR, separated by commas) whose X-Forwarded-For is trusted; empty: none"`
	Bus     bus.Config
	Token   token.Config
}

// Validate reports an invalid setting.
func (c *Config) Validate() error {
	if c.Drain <= 0 {
		return errors.New("SHUTDOWN_DRAIN must be positive")
	}
	return nil
}

// NewHandler returns the handler of a gateway, which dials the services that it calls.
type NewHandler func(o Options, services *Services) (http.Handler, error)

// Run serves a gateway's interface at addr until ctx ends.
func Run(ctx context.Context, h *service.Host, addr string, cfg Config, newHandler NewHandler) error {
	h.Health.SetServing(h.Part, false)
	b, err := connect(ctx, h, cfg.Bus)
	if err != nil {
		return err
	}
	defer b.Close()
	verifier := token.NewVerifier(cfg.Token, time.Now)
	limiter := ratelimit.New(b, ratelimit.Options{Log: h.Log})
	if err := limiter.Collect(h.Metrics); err != nil {
		return err
	}
	requests := requestlog.New(b, h.Log)
	if err := requests.Collect(h.Metrics); err != nil {
		return err
	}
	services := &Services{host: h}
	defer services.close()
	handler, err := newHandler(Options{
		Log: h.Log, Metrics: h.Metrics, Verifier: verifier, Limiter: limiter, Proxies: cfg.Proxies, Requests: requests,
	}, services)
	if err := errors.Join(err, services.err); err != nil {
		return err
	}

	g := service.NewGroup(ctx, h.Log)
	g.Go("token verifier", func(ctx context.Context) error { return verifier.Run(ctx, b) })
	g.Go("rate limit", limiter.Run)
	g.Go("request log", requests.Run)
	g.Go("http", func(ctx context.Context) error {
		return ListenAndServe(ctx, addr, CloseConnections(h.Leaving, handler), cfg.Drain, func(addr net.Addr) {
			h.Log.Info("http", "addr", addr.String())
			go h.Health.Announce(ctx, h.Part, verifier.WaitReady)
		})
	})
	err = g.Wait()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestsFlushed)
	defer cancel()
	requests.Close(closing)
	return err
}

// requestsFlushed is how long the last entries of the request log can take at shutdown.
const requestsFlushed = 2 * time.Second

func connect(ctx context.Context, h *service.Host, cfg bus.Config) (*bus.Bus, error) {
	b, err := bus.Connect(ctx, cfg, h.Log, h.NATS...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.Collect(h.Metrics), b.EnsureStreams(ctx)); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Services are the connections of a gateway to the services that it calls.
type Services struct {
	host  *service.Host
	conns []*grpc.ClientConn
	err   error
}

// Dial returns a connection to the addresses of a service. Run reports an invalid address.
func (s *Services) Dial(name, addr string) grpc.ClientConnInterface {
	conn, err := s.host.Dial(name, addr, rpc.DialOptions{})
	if err != nil {
		s.err = errors.Join(s.err, err)
		return nil
	}
	s.conns = append(s.conns, conn)
	return conn
}

func (s *Services) close() {
	for _, conn := range s.conns {
		conn.Close()
	}
}
