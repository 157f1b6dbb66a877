package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/credentials"
	"reservation.dev/devkit/localca"
	"reservation.dev/devkit/pgserver"
	gatewaya "reservation.dev/gateway-a"
	gatewayb "reservation.dev/gateway-b"
	"reservation.dev/platform/config"
	"reservation.dev/platform/service"
	"reservation.dev/platform/telemetry"
	"reservation.dev/services/admin"
	"reservation.dev/services/auth"
	"reservation.dev/services/booking"
	"reservation.dev/services/customer"
	"reservation.dev/services/media"
	"reservation.dev/services/pass"
	"reservation.dev/services/reports"
	"reservation.dev/services/subscription"
	"reservation.dev/services/webhook"
)

// parts returns all services of the platform.
func parts() []service.Part {
	return []service.Part{
		auth.Part(), customer.Part(), booking.Part(), pass.Part(), subscription.Part(), media.Part(), reports.Part(),
		webhook.Part(), admin.Part(), gatewaya.Part(), gatewayb.Part(),
	}
}

// instance is the platform in one process.
type instance struct {
	settings *Settings
	state    *state
	env      config.Env
	log      *slog.Logger
	logOf    func(part string) *slog.Logger
	nats     *server.Server
	postgres *pgserver.Server  // nil: the server of DATABASE_URL is used
	urls     map[string]string // database URLs by service
}

// serve runs all services until ctx ends. It calls announce when all are ready, and again each
// time the credentials are renewed.
func (in *instance) serve(ctx context.Context, announce func(credentials.File) error) error {
	metrics := telemetry.Registry()
	health := service.NewHealth()
	operators, err := service.ListenAdmin(in.settings.addr(portAdmin), health, metrics)
	if err != nil {
		return err
	}
	g := service.NewGroup(ctx, in.log)
	g.Go("operators", operators.Run)
	if in.postgres != nil {
		// Nothing works without PostgreSQL, so the process ends with it and can be restarted.
		g.Go("postgres", in.postgres.Wait)
	}
	for _, p := range parts() {
		env, err := in.partEnv(p.Name)
		if err != nil {
			return err
		}
		// A service counts as unready from the start, even before it runs.
		health.SetServing(p.Name, false)
		host := &service.Host{
			Part: p.Name, Env: env, Log: in.logOf(p.Name), Health: health,
			Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"part": p.Name}, metrics),
			NATS:    []nats.Option{nats.InProcessServer(in.nats)},
		}
		if err := telemetry.CollectBuild(host.Metrics, service.Version()); err != nil {
			return err
		}
		g.Go(p.Name, func(ctx context.Context) error { return p.Run(ctx, host) })
	}
	g.Go("credentials", func(ctx context.Context) error {
		if err := waitReady(ctx, health); err != nil {
			return err
		}
		err := in.publish(ctx, announce)
		if cancelled(ctx, err) {
			return nil
		}
		return err
	})
	return g.Wait()
}

// partEnv returns the settings of one service: the settings of the process, with those that the
// instance itself chooses.
func (in *instance) partEnv(name string) (config.Env, error) {
	s := in.settings
	env := maps.Clone(in.env)
	env["AUTH_ADDR"] = s.addr(portAuth)
	env["CUSTOMER_ADDR"] = s.addr(portCustomer)
	env["BOOKING_ADDR"] = s.addr(portBooking)
	env["PASS_ADDR"] = s.addr(portPass)
	env["SUBSCRIPTION_ADDR"] = s.addr(portSubscription)
	env["MEDIA_ADDR"] = s.addr(portMedia)
	env["REPORTS_ADDR"] = s.addr(portReports)
	env["WEBHOOK_ADDR"] = s.addr(portWebhook)
	env["MEDIA_URL"] = in.mediaURL()
	env["DATABASE_URL"] = in.urls[name]
	// DATABASE_URL_FILE has the URL of the administrator's role, and the NATS settings are for a
	// server that standalone does not use.
	for _, unused := range []string{"DATABASE_URL_FILE", "NATS_URL", "NATS_CA_FILE", "NATS_CERT_FILE", "NATS_KEY_FILE", "NATS_CREDENTIALS_FILE"} {
		delete(env, unused)
	}
	env["MASTER_KEY"] = in.state.MasterKey
	env["SERVICE_CREDENTIAL_ID"] = in.state.Credentials[name].ID
	env["SERVICE_CREDENTIAL_SECRET"] = in.state.Credentials[name].Secret
	switch name {
	case "auth":
		bootstrap, err := in.bootstrap()
		if err != nil {
			return nil, err
		}
		env["GRPC_ADDR"], env["BOOTSTRAP_CREDENTIALS"] = env["AUTH_ADDR"], bootstrap
	case "customer":
		env["GRPC_ADDR"] = env["CUSTOMER_ADDR"]
	case "booking":
		env["GRPC_ADDR"] = env["BOOKING_ADDR"]
	case "pass":
		env["GRPC_ADDR"] = env["PASS_ADDR"]
	case "subscription":
		env["GRPC_ADDR"] = env["SUBSCRIPTION_ADDR"]
	case "media":
		env["GRPC_ADDR"], env["HTTP_ADDR"] = env["MEDIA_ADDR"], s.addr(portMediaFiles)
		if env["MEDIA_BUCKET"] == "" {
			env["MEDIA_BUCKET"] = s.mediaBucket()
		}
	case "reports":
		env["GRPC_ADDR"] = env["REPORTS_ADDR"]
	case "webhook":
		env["GRPC_ADDR"] = s.addr(portWebhook)
		if err := s.forDevelopment(env); err != nil {
			return nil, err
		}
	case "admin":
		env["HTTP_ADDR"] = s.addr(portDashboard)
		env["INTERFACE_A_URL"], env["INTERFACE_B_URL"] = "http://"+s.addr(portA), "http://"+s.addr(portB)+"/api/v1"
		env["ADMIN_URL"] = in.dashboardURL()
	case "gateway-a":
		env["HTTP_ADDR"] = s.addr(portA)
	case "gateway-b":
		env["HTTP_ADDR"], env["INTERFACE_B_URL"] = s.addr(portB), "http://"+s.addr(portB)+"/api/v1"
	default:
		return nil, fmt.Errorf("the service %s has no port", name)
	}
	return env, nil
}

// dashboardURL returns the URL at which browsers reach the dashboard.
func (in *instance) dashboardURL() string {
	if url := in.env["ADMIN_URL"]; url != "" {
		return url
	}
	return "http://" + in.settings.addr(portDashboard)
}

// mediaURL returns the URL at which browsers reach the files of media.
func (in *instance) mediaURL() string {
	if url := in.env["MEDIA_URL"]; url != "" {
		return url
	}
	return "http://" + in.settings.addr(portMediaFiles)
}

// mediaBucket returns the URL of the bucket for the files of media: the directory media of the data
// directory.
func (s *Settings) mediaBucket() string {
	bucket := url.URL{Scheme: "file", Path: filepath.ToSlash(mediaDir(s.DataDir)), RawQuery: "no_tmp_dir=true&metadata=skip"}
	return bucket.String()
}

// forDevelopment allows webhooks to receivers on this machine if only this machine can reach the
// instance, because developers run both on one machine.
func (s *Settings) forDevelopment(env config.Env) error {
	if host, err := netip.ParseAddr(s.Host); env["WEBHOOK_PRIVATE_ADDRESSES"] == "" && err == nil && host.IsLoopback() && s.Stage != service.Production {
		env["WEBHOOK_PRIVATE_ADDRESSES"] = "allow"
	}
	if env["WEBHOOK_CA_FILE"] != "" {
		return nil
	}
	env["WEBHOOK_CA_FILE"] = s.localCA()
	return localca.Ensure(s.localCA(), time.Now())
}

// localCA returns the file with the certificate of the authority for receivers on this machine.
// Its key is in the same directory.
func (s *Settings) localCA() string { return filepath.Join(s.DataDir, "webhook-ca.pem") }

// bootstrap returns the value of BOOTSTRAP_CREDENTIALS: the platform credentials of the services
// and the operator.
func (in *instance) bootstrap() (string, error) {
	type entry struct {
		ID     string   `json:"id"`
		Name   string   `json:"name"`
		Secret string   `json:"secret"`
		Scopes []string `json:"scopes"`
	}
	var entries []entry
	for name, c := range in.state.Credentials {
		entries = append(entries, entry{ID: c.ID, Name: name, Secret: c.Secret, Scopes: []string{"platform:admin"}})
	}
	text, err := json.Marshal(entries)
	return string(text), err
}

// waitReady returns when all services are ready.
func waitReady(ctx context.Context, health *service.Health) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if len(health.Ready(ctx)) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// tokenLifetime is the lifetime of the token in credentials.json. The token is renewed after half
// of it.
const tokenLifetime = 24 * time.Hour

// publish seeds the demonstration company and announces the credentials. Then it renews their
// token until ctx ends.
func (in *instance) publish(ctx context.Context, announce func(credentials.File) error) error {
	op, err := dialOperator(in)
	if err != nil {
		return err
	}
	defer op.Close()
	if in.settings.Demo == "on" {
		if err := op.seedDemonstration(ctx); err != nil {
			return fmt.Errorf("demonstration company: %w", err)
		}
	}
	for {
		c, err := op.credentials(ctx)
		if err == nil {
			err = announce(c)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tokenLifetime / 2):
		}
	}
}
