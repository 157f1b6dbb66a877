package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/config"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/telemetry"
)

// Process holds the settings that every process has, whichever service it runs.
type Process struct {
	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"json" doc:"json or text"`
	// Delay gives load balancers time to notice that the process is unready.
	Delay     time.Duration `env:"SHUTDOWN_DELAY" envDefault:"0s" doc:"how long a process that is stopping still serves, unready, so that load balancers notice"`
	AdminAddr string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9100" doc:"address of the admin port: /livez, /readyz, /metrics and /debug/pprof/"`
	Stage     string        `env:"RESERVATION_ENV" envDefault:"development" doc:"development, or production, which refuses demonstration settings (docs/SECURITY.md)"`
	TLS       mtls.Config
}

// Validate reports every wrong setting.
func (p Process) Validate() error {
	var faults []error
	if _, err := telemetry.Logger(io.Discard, "", p.LogLevel, "json"); err != nil {
		faults = append(faults, fmt.Errorf("LOG_LEVEL: %w", err))
	}
	if _, err := telemetry.Logger(io.Discard, "", "info", p.LogFormat); err != nil {
		faults = append(faults, fmt.Errorf("LOG_FORMAT: %w", err))
	}
	if p.Delay < 0 {
		faults = append(faults, errors.New("SHUTDOWN_DELAY must not be negative"))
	}
	return errors.Join(append(faults, ValidateStage(p.Stage))...)
}

// Main runs one service as a process, with the command `serve` (the default), `migrate`,
// `health`, `settings`, `check` or `version`.
func Main(p Part) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
	command := "serve"
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	if err := run(ctx, p, command, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(ExitCode(err))
	}
}

func run(ctx context.Context, p Part, command string, out io.Writer) error {
	env := config.OS()
	switch command {
	case "serve":
		return serve(ctx, p, env)
	case "migrate":
		return migrate(ctx, p, env)
	case "health":
		return probe(ctx, env, out)
	case "settings":
		return printSettings(out, p)
	case "check":
		return checkSettings(out, p, env)
	case "version":
		_, err := fmt.Fprintln(out, p.Name, Version())
		return err
	case "help", "-h", "--help":
		_, err := fmt.Fprintf(out, usage, p.Name, p.About)
		return err
	}
	return fmt.Errorf("unknown command %q; run \"help\" to list the commands", command)
}

const usage = `%[1]s: %[2]s

usage: %[1]s [command]

  serve     serve until SIGTERM or SIGINT (the default)
  migrate   migrate the database to the schema of this binary
  health    report whether the process with the same settings is ready
  settings  list all settings with their defaults
  check     validate the current settings without starting the service
  version   print the version
`

// serve runs p with an admin port until ctx ends.
func serve(ctx context.Context, p Part, env config.Env) error {
	proc, warnings, err := readSettings(p, env)
	if err != nil {
		return err
	}
	log, err := telemetry.Logger(os.Stderr, p.Name, proc.LogLevel, proc.LogFormat)
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		log.Warn("settings: " + warning)
	}
	tls, err := proc.openTLS(log)
	if err != nil {
		return err
	}
	flush, err := telemetry.Tracing(ctx, p.Name, env, log)
	if err != nil {
		return err
	}
	defer flush()

	TuneGarbageCollection()
	metrics := telemetry.Registry()
	health := NewHealth()
	admin, err := ListenAdmin(proc.AdminAddr, health, metrics)
	if err != nil {
		return err
	}
	host := &Host{
		Part: p.Name, Env: env, Log: log, Health: health, TLS: tls, Leaving: ctx.Done(),
		Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"part": p.Name}, metrics),
	}
	if err := telemetry.CollectBuild(host.Metrics, Version()); err != nil {
		return err
	}
	if tls != nil {
		if err := tls.Collect(host.Metrics); err != nil {
			return err
		}
	}
	log.Info("starting", "version", Version(), "admin", admin.Addr())

	// The admin port stays open longer than the service, so that load balancers see it
	// become unready.
	adminCtx, stopAdmin := context.WithCancel(context.WithoutCancel(ctx))
	adminDone := make(chan error, 1)
	go func() { adminDone <- admin.Run(adminCtx) }()
	running, stopRunning := delayStop(ctx, health, proc.Delay)
	defer stopRunning()
	err = p.Run(running, host)
	if err == nil && ctx.Err() == nil {
		err = errEarly
	}
	stopAdmin()
	err = errors.Join(err, <-adminDone)
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// delayStop returns the context of a service, which ends delay after ctx. In between, the
// process is unready, so that it gets no new requests.
func delayStop(ctx context.Context, health *Health, delay time.Duration) (context.Context, context.CancelFunc) {
	if delay == 0 {
		return context.WithCancel(ctx)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		health.Leave()
		select {
		case <-time.After(delay):
		case <-running.Done(): // the service ended first
		}
		stop()
	})
	return running, stop
}
