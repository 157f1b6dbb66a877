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

// Base holds the settings that all gRPC services share.
type Base struct {
	GRPCAddr string        `env:"GRPC_ADDR" envDefault:"127.0.0.1:9090" doc:"address on which the service serves gRPC"`
	Callers  []string      `env:"GRPC_ALLOWED_CALLERS" doc:"certificate names that can call, separated by commas, instead of the default list (docs/SECURITY.md); needs GRPC_TLS_CERT_FILE"`
	MaxAge   time.Duration `env:"GRPC_CONNECTION_AGE" envDefault:"10m" doc:"lifetime of a gRPC connection, ± 10 %; until then it keeps the certificates it started with"`
	Drain    time.Duration `env:"SHUTDOWN_DRAIN" envDefault:"10s" doc:"how long requests in flight can take to finish at shutdown"`
	DB       pg.Config
	Bus      bus.Config
	Token    token.Config
}

// Validate reports every wrong setting of Base itself. Its sections validate themselves.
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

// Kit holds the dependencies that every gRPC service is built from.
type Kit struct {
	Host     *Host
	Base     Base
	DB       *pg.DB
	Bus      *bus.Bus
	Outbox   *outbox.Outbox
	Jobs     *Jobs
	Verifier *token.Verifier

	callers []string // certificate names that can call this service
	policy  rpc.Policy
	serving *health.Server // serves grpc.health.v1
}

// Open connects a service to NATS and to its database, whose schema must be up to date.
// Close the Kit after Run's group has ended.
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
	if err := errors.Join(db.Collect(h.Metrics, ""), k.Outbox.Collect(h.Metrics), k.Jobs.Collect(h.Metrics), b.Collect(h.Metrics)); err != nil {
		k.Close()
		return nil, err
	}
	h.Health.SetServing(p.Name, false)
	// NATS is not checked: without it the service keeps serving, and its events wait.
	h.Health.Check(p.Name+" database", db.Ping)
	return k, nil
}

// Close closes the connections.
func (k *Kit) Close() {
	k.Bus.Close()
	k.DB.Close()
}

// GRPC returns the server on which the service registers its gRPC services.
func (k *Kit) GRPC(policy rpc.Policy) *rpc.Server {
	k.policy = policy
	return rpc.NewServer(rpc.ServerOptions{
		Log: k.Host.Log, Verifier: k.Verifier, Policy: policy, Metrics: k.Host.Metrics, Idempotency: idem.WithKey,
		Health: k.serving, TLS: k.Host.TLS, Callers: k.callers, MaxAge: k.Base.MaxAge,
	})
}

// Run adds the members that every service has: the outbox relay, the token verifier, and
// the job that prunes old idempotency keys and consumed events.
func (k *Kit) Run(g *Group) {
	g.Go("outbox relay", k.Outbox.Run)
	g.Go("token verifier", func(ctx context.Context) error { return k.Verifier.Run(ctx, k.Bus) })
	g.Go("prune", func(ctx context.Context) error {
		return k.Jobs.Every(ctx, "prune", pruneEvery, func(ctx context.Context) error { return k.pruneOnce(ctx, time.Now()) })
	})
}

const (
	pruneEvery = 10 * time.Minute
	// inboxKept is longer than any stream keeps its events.
	inboxKept = 8 * 24 * time.Hour
)

// pruneOnce deletes idempotency keys and identifiers of consumed events that are no
// longer needed.
func (k *Kit) pruneOnce(ctx context.Context, now time.Time) error {
	return errors.Join(
		inbox.Prune(ctx, k.DB, now.Add(-inboxKept)),
		idem.Prune(ctx, k.DB, now),
	)
}

// ServeGRPC returns a member that serves srv at GRPC_ADDR until ctx ends. The service
// becomes ready when it accepts connections and the verifier knows the keys and
// revocations. When ctx ends, the service first becomes unready, and then finishes the
// requests in flight. If srv has a method that the policy does not name, the member
// returns an error.
func (k *Kit) ServeGRPC(srv *rpc.Server) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := k.policy.CheckServer(srv); err != nil {
			return err
		}
		k.setHealth(srv, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		ln, err := net.Listen("tcp", k.Base.GRPCAddr)
		if err != nil {
			return err
		}
		unready := make(chan struct{})
		go func() {
			defer close(unready)
			k.Host.Health.Announce(ctx, k.Host.Part, func(ctx context.Context) error { return k.ready(ctx, srv) })
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
			case <-k.Host.Leaving: // clients that watch its health send no new calls
				k.serving.Shutdown()
			case <-ctx.Done():
			}
		}()
		k.Host.Log.Info("grpc", "addr", ln.Addr().String())
		err = srv.Serve(ln)
		if stop() { // Serve failed before ctx ended
			return err
		}
		// Serve also returns an error if ctx ended before Serve began.
		<-drained
		return nil
	}
}

// ready waits until the verifier has caught up, then sets the health to serving.
func (k *Kit) ready(ctx context.Context, srv *rpc.Server) error {
	if err := k.Verifier.WaitReady(ctx); err != nil {
		return err
	}
	k.setHealth(srv, grpc_health_v1.HealthCheckResponse_SERVING)
	return nil
}

// setHealth sets the status that grpc.health.v1 reports for the process and for every
// gRPC service registered on srv. It reports other names as unknown.
func (k *Kit) setHealth(srv *rpc.Server, status grpc_health_v1.HealthCheckResponse_ServingStatus) {
	k.serving.SetServingStatus("", status)
	for name := range srv.GetServiceInfo() {
		k.serving.SetServingStatus(name, status)
	}
}

// drain lets requests in flight finish for at most the given time, then stops srv.
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
