package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

// Base holds the settings that every gRPC service has.
type Base struct {
	GRPCAddr string        `env:"GRPC_ADDR" envDefault:"127.0.0.1:9090" doc:"address on which the service's gRPC is served"`
	Callers  []string      `env:"GRPC_ALLOWED_CALLERS" doc:"names of the certificates that may call, separated by commas, instead of the parts that do (docs/SECURITY.md); with GRPC_TLS_CERT_FILE"`
	MaxAge   time.Duration `env:"GRPC_CONNECTION_AGE" envDefault:"10m" doc:"how long a gRPC connection lives, a tenth more or less, before it is made anew; until then a replaced certificate or authority counts"`
	Drain    time.Duration `env:"SHUTDOWN_DRAIN" envDefault:"10s" doc:"how long requests in flight may take to end at shutdown"`
	DB       pg.Config
	Bus      bus.Config
	Token    token.Config
}

// Validate reports every wrong setting of its own; those of its sections are
// theirs to report.
func (b *Base) Validate() error {
	var faults []error
	if b.Drain <= 0 {
		faults = append(faults, errors.New("SHUTDOWN_DRAIN must be positive"))
	}
	if b.MaxAge <= 0 {
		faults = append(faults, errors.New("GRPC_CONNECTION_AGE must be positive"))
	}
	return errors.Join(faults...)
}

// Kit is what every gRPC service is built from.
type Kit struct {
	Host     *Host
	Base     Base
	DB       *pg.DB
	Bus      *bus.Bus
	Outbox   *outbox.Outbox
	Jobs     *Jobs
	Verifier *token.Verifier

	callers []string // whose certificates may call
	policy  rpc.Policy
	serving *health.Server // what grpc.health.v1 answers
}

// Open connects a service to its database, which must have the part's schema,
// and to NATS. Close it after Run's group has ended.
func Open(ctx context.Context, h *Host, base Base, p Part) (*Kit, error) {
	db, err := pg.Open(ctx, base.DB, h.Log)
	if err != nil {
		return nil, err
	}
	if err := pg.CheckSchema(ctx, db, pg.Migrations{Part: p.Name, FS: p.Migrations}); err != nil {
		db.Close()
		return nil, err
	}
	b, err := bus.Connect(ctx, base.Bus, h.Log, h.NATS...)
	if err == nil {
		err = b.EnsureStreams(ctx)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("nats: %w", err)
	}
	k := &Kit{
		Host: h, Base: base, DB: db, Bus: b,
		Outbox:   outbox.New(db, b, h.Log, time.Now),
		Jobs:     NewJobs(h.Log),
		Verifier: token.NewVerifier(base.Token, time.Now),
		callers:  p.Callers,
		serving:  health.NewServer(),
	}
	if len(base.Callers) > 0 {
		k.callers = base.Callers
	}
	k.Verifier.Log = h.Log
	k.serving.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err := errors.Join(db.Collect(h.Metrics, ""), k.Outbox.Collect(h.Metrics), k.Jobs.Collect(h.Metrics), b.Collect(h.Metrics)); err != nil {
		k.Close()
		return nil, err
	}
	h.Health.SetServing(p.Name, false)
	// Not NATS: without it a service goes on serving, and its events wait.
	h.Health.Check(p.Name+" database", db.Ping)
	return k, nil
}

// Close ends the connections.
func (k *Kit) Close() {
	k.Bus.Close()
	k.DB.Close()
}

// GRPC returns the server on which the part registers its services.
func (k *Kit) GRPC(policy rpc.Policy) *rpc.Server {
	k.policy = policy
	return rpc.NewServer(rpc.ServerOptions{
		Log: k.Host.Log, Verifier: k.Verifier, Policy: policy, Metrics: k.Host.Metrics, Idempotency: idem.WithKey,
		Health: k.serving, TLS: k.Host.TLS, Callers: k.callers, MaxAge: k.Base.MaxAge,
	})
}

// Run adds the members that every service has: the outbox relay, the token
// verifier, and the pruning of what has served its time.
func (k *Kit) Run(g *Group) {
	g.Go("outbox relay", k.Outbox.Run)
	g.Go("token verifier", func(ctx context.Context) error { return k.Verifier.Run(ctx, k.Bus) })
	g.Go("prune", func(ctx context.Context) error {
		return k.Jobs.Every(ctx, "prune", pruneEvery, func(ctx context.Context) error { return k.pruneOnce(ctx, time.Now()) })
	})
}

const (
	pruneEvery = 10 * time.Minute
	// inboxKept outlives the longest time for which a stream keeps its events.
	inboxKept = 8 * 24 * time.Hour
)

// pruneOnce deletes what idempotency keys and consumed events no longer need.
func (k *Kit) pruneOnce(ctx context.Context, now time.Time) error {
	return errors.Join(
		inbox.Prune(ctx, k.DB, now.Add(-inboxKept)),
		idem.Prune(ctx, k.DB, now),
	)
}

// ServeGRPC serves srv at the part's address until ctx ends. The part becomes
// ready when connections are taken and the verifier knows keys and revocations.
// At the end it is unready first, and then lets requests in flight end. A server
// with a method that the policy does not name does not start.
func (k *Kit) ServeGRPC(srv *rpc.Server) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := k.policy.CheckServer(srv); err != nil {
			return err
		}
		ln, err := net.Listen("tcp", k.Base.GRPCAddr)
		if err != nil {
			return err
		}
		unready := make(chan struct{})
		go func() {
			defer close(unready)
			k.Host.Health.Announce(ctx, k.Host.Part, k.ready)
			k.serving.Shutdown()
		}()
		drained := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(drained)
			<-unready
			drain(srv, k.Base.Drain)
		})
		go func() {
			select {
			case <-k.Host.Leaving: // whoever asks for its health sends nothing new
				k.serving.Shutdown()
			case <-ctx.Done():
			}
		}()
		k.Host.Log.Info("grpc", "addr", ln.Addr().String())
		err = srv.Serve(ln)
		if stop() { // it ended by itself
			return err
		}
		// Serve also fails where the end came before it began.
		<-drained
		return nil
	}
}

// ready returns as soon as the verifier has caught up.
func (k *Kit) ready(ctx context.Context) error {
	if err := k.Verifier.WaitReady(ctx); err != nil {
		return err
	}
	k.serving.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	return nil
}

// drain lets requests in flight end, for at most the given time.
func drain(srv *rpc.Server, most time.Duration) {
	done := make(chan struct{})
	go func() {
		srv.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(most):
		srv.Stop()
		<-done
	}
}
