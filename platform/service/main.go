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

// Process holds the settings of a process, whatever part it runs.
type Process struct {
	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"json" doc:"json or text"`
	// Delay is for load balancers: they look at readiness now and then.
	Delay     time.Duration `env:"SHUTDOWN_DELAY" envDefault:"0s" doc:"how long a part that is asked to end goes on taking requests, unready, until load balancers have noticed"`
	AdminAddr string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9100" doc:"address of /livez, /readyz, /metrics and /debug/pprof/"`
	Stage     string        `env:"RESERVATION_ENV" envDefault:"development" doc:"development, or production: what is meant for trying is refused (docs/SECURITY.md)"`
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

// Main runs one part as a process: `serve` (the default), `migrate`, `health`,
// `settings`, `check` or `version`.
func Main(p Part) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
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
	return fmt.Errorf("unknown command %q; try help", command)
}

const usage = `%[1]s: %[2]s

usage: %[1]s [command]

  serve     serve until SIGTERM or SIGINT (the default)
  migrate   bring the database to this binary's schema, then end
  health    ask the process that runs with these settings whether it is ready
  settings  print the settings and their defaults
  check     check the settings that are given, and start nothing
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

	// The admin port outlives the part, so that readiness can be seen going off.
	adminCtx, stopAdmin := context.WithCancel(context.WithoutCancel(ctx))
	adminDone := make(chan error, 1)
	go func() { adminDone <- admin.Run(adminCtx) }()
	running, stopRunning := leave(ctx, health, proc.Delay)
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

// leave returns the context of a part, which ends some time after ctx does: first
// the part is unready, so that nobody sends it anything new, and then it ends.
func leave(ctx context.Context, health *Health, delay time.Duration) (context.Context, context.CancelFunc) {
	if delay == 0 {
		return context.WithCancel(ctx)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		health.Leave()
		select {
		case <-time.After(delay):
		case <-running.Done(): // it ended by itself
		}
		stop()
	})
	return running, stop
}
