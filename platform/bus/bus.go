package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config has the settings of a service's connection to NATS.
type Config struct {
	URL          string        `env:"NATS_URL" envDefault:"nats://127.0.0.1:4222" doc:"addresses of the NATS servers, separated by commas"`
	Prefix       string        `env:"BUS_PREFIX" envDefault:"reservation" doc:"first token of all NATS subjects; two installations on one NATS need different prefixes"`
	Replicas     int           `env:"BUS_REPLICAS" envDefault:"1" doc:"copies of each event that JetStream keeps: 1, or 3 or 5 in a cluster"`
	StartTimeout time.Duration `env:"NATS_START_TIMEOUT" envDefault:"30s" doc:"how long to wait for NATS at start"`
	Security     Security
}

// The defaults for a Config that was not read from the environment.
const (
	defaultURL          = "nats://127.0.0.1:4222"
	defaultPrefix       = "reservation"
	defaultStartTimeout = 30 * time.Second
)

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,60}$`)

// Validate reports every invalid setting.
func (c Config) Validate() error {
	var faults []error
	faults = append(faults, c.checkURL())
	if !prefixForm.MatchString(c.Prefix) {
		faults = append(faults, fmt.Errorf("BUS_PREFIX is %q; it must be one token of lower-case letters, digits, - and _, and begin with a letter", c.Prefix))
	}
	if c.Replicas < 1 || c.Replicas > 5 {
		faults = append(faults, fmt.Errorf("BUS_REPLICAS is %d; it must be 1 to 5", c.Replicas))
	}
	if c.StartTimeout <= 0 {
		faults = append(faults, errors.New("NATS_START_TIMEOUT must be positive"))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.URL == "" {
		c.URL = defaultURL
	}
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	return c
}

const (
	// Revocations must arrive within a second, so a lost connection is restored faster
	// than with the library's defaults.
	reconnectWait  = 250 * time.Millisecond
	pingInterval   = 10 * time.Second
	connectTimeout = 5 * time.Second
	requestTimeout = 5 * time.Second
	// ackTimeout is when the library forgets a publish that no caller waits for any
	// longer.
	ackTimeout = 15 * time.Second
)

// Bus is a connection to NATS. It is safe for concurrent use.
type Bus struct {
	cfg     Config
	nc      *nats.Conn
	js      jetstream.JetStream
	log     *slog.Logger
	metrics *metrics

	mu          sync.Mutex
	reconnected chan struct{} // closed and replaced at every reconnect
}

// Connect connects to NATS and waits up to cfg.StartTimeout for it. A connection that is
// lost later is restored without a time limit. opts adds options that Config does not
// have, such as nats.InProcessServer.
func Connect(ctx context.Context, cfg Config, log *slog.Logger, opts ...nats.Option) (*Bus, error) {
	cfg = cfg.withDefaults()
	if err := errors.Join(cfg.Validate(), cfg.Security.Validate()); err != nil {
		return nil, err
	}
	b := &Bus{cfg: cfg, log: log, metrics: newMetrics(), reconnected: make(chan struct{})}
	connected := make(chan struct{})
	security, err := cfg.Security.options()
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	nc, err := nats.Connect(cfg.URL, slices.Concat(opts, security, b.options(connected))...)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	b.nc = nc
	if err := b.waitConnected(ctx, connected); err != nil {
		nc.Close()
		return nil, err
	}
	b.js, err = jetstream.New(nc,
		jetstream.WithPublishAsyncTimeout(ackTimeout), jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("nats: %w", err)
	}
	b.metrics.connected(b)
	return b, nil
}

func (b *Bus) options(connected chan struct{}) []nats.Option {
	return []nats.Option{
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		// A server that refuses the credentials may still be loading its accounts.
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/2, reconnectWait/2),
		nats.Timeout(connectTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(func(*nats.Conn) { close(connected) }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			b.log.Info("nats is available again", "server", nc.ConnectedUrlRedacted())
			b.announceReconnect()
		}),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() {
				b.log.Warn("nats is unavailable", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			b.log.Warn("nats", "error", err, "subject", subjectOf(sub))
		}),
	}
}

func subjectOf(sub *nats.Subscription) string {
	if sub == nil {
		return ""
	}
	return sub.Subject
}

func (b *Bus) waitConnected(ctx context.Context, connected <-chan struct{}) error {
	limit := time.NewTimer(b.cfg.StartTimeout)
	defer limit.Stop()
	select {
	case <-connected:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nats: %w", ctx.Err())
	case <-limit.C:
		return fmt.Errorf("nats did not answer within %s: %w", b.cfg.StartTimeout, b.lastError())
	}
}

func (b *Bus) lastError() error {
	if err := b.nc.LastError(); err != nil {
		return err
	}
	return nats.ErrNoServers
}

func (b *Bus) announceReconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.reconnected)
	b.reconnected = make(chan struct{})
}

// Reconnected returns a channel that is closed when the connection is next restored.
func (b *Bus) Reconnected() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reconnected
}

// Connected reports whether the bus is connected now.
func (b *Bus) Connected() bool { return b.nc.IsConnected() }

// Ready is the readiness check. It fails while NATS is unavailable.
func (b *Bus) Ready(context.Context) error {
	if b.Connected() {
		return nil
	}
	return fmt.Errorf("nats: %w", b.lastError())
}

// JetStream returns the underlying JetStream, for uses that this package does not cover.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Conn returns the NATS connection below JetStream.
func (b *Bus) Conn() *nats.Conn { return b.nc }

// Prefix returns the first token of every subject of this installation. In upper case, it
// is the first token of every stream's name.
func (b *Bus) Prefix() string { return b.cfg.Prefix }

// Replicas returns how many copies JetStream keeps of this installation's streams.
func (b *Bus) Replicas() int { return b.cfg.Replicas }

// Close sends pending messages and closes the connection. Consume and Follow must have
// returned.
func (b *Bus) Close() {
	if b.nc.IsConnected() {
		_ = b.nc.FlushTimeout(time.Second)
	}
	b.nc.Close()
}

// untilReconnect returns a context that ends with ctx, or when the connection has been
// lost and restored. Requests on the old connection are never answered.
func (b *Bus) untilReconnect(ctx context.Context) (context.Context, context.CancelFunc) {
	again := b.Reconnected()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-again:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pause waits up to d before the next try, or until the connection is restored.
func (b *Bus) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-b.Reconnected():
	case <-t.C:
	}
}
