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
	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

// Process holds the settings of a process, whatever part it runs.
type Process struct {
	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"json" doc:"json or text"`
	// Delay is for load balancers: they look at readiness now and then.
	Delay     time.Duration `env:"SHUTDOWN_DELAY" envDefault:"0s" doc:"how long a part that is asked to end goes on taking requests, unready, until load balancers have noticed"`
	AdminAddr string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9100" doc:"address of /livez, /readyz, /metrics and /debug/pprof/"`
}

// Validate reports every wrong setting.
func (p Process) Validate() error {
	_, err := telemetry.Logger(io.Discard, "", p.LogLevel, p.LogFormat)
	if p.Delay < 0 {
		err = errors.Join(err, errors.New("SHUTDOWN_DELAY must not be negative"))
	}
	return err
}

// Owner holds the settings of the migrate command.
type Owner struct {
	DatabaseURL config.Secret `env:"MIGRATION_DATABASE_URL,required" doc:"PostgreSQL URL of the role that owns the schema"`
	AppRole     string        `env:"DATABASE_APP_ROLE,required" doc:"the role that the service itself connects as, which gets its rights"`
}

// Main runs one part as a process: `serve` (the default), `migrate`,
// `settings` or `version`.
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
		os.Exit(1)
	}
}

func run(ctx context.Context, p Part, command string, out io.Writer) error {
	env := config.OS()
	switch command {
	case "serve":
		return serve(ctx, p, env)
	case "migrate":
		return migrate(ctx, p, env)
	case "settings":
		return printSettings(out, p)
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
  settings  print the settings and their defaults
  version   print the version
`

// readSettings returns the settings of the process. The part's own are read too,
// so that whoever starts it is told of all faults at once.
func readSettings(p Part, env config.Env) (Process, error) {
	var proc Process
	err := config.Read(env, &proc)
	if p.Settings != nil {
		err = errors.Join(err, config.Read(env, p.Settings()))
	}
	return proc, err
}

// serve runs p with an admin port until ctx ends.
func serve(ctx context.Context, p Part, env config.Env) error {
	proc, err := readSettings(p, env)
	if err != nil {
		return err
	}
	log, err := telemetry.Logger(os.Stderr, p.Name, proc.LogLevel, proc.LogFormat)
	if err != nil {
		return err
	}
	flush, err := telemetry.Tracing(ctx, p.Name, env)
	if err != nil {
		return err
	}
	defer flush()

	SpendMemory()
	metrics := telemetry.Registry()
	health := NewHealth()
	admin, err := ListenAdmin(proc.AdminAddr, health, metrics)
	if err != nil {
		return err
	}
	host := &Host{
		Part: p.Name, Env: env, Log: log, Health: health, Leaving: ctx.Done(),
		Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"part": p.Name}, metrics),
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

func migrate(ctx context.Context, p Part, env config.Env) error {
	if p.Migrations == nil {
		return errors.New("this part has no database")
	}
	var owner Owner
	if err := config.Read(env, &owner); err != nil {
		return err
	}
	return pg.Migrate(ctx, owner.DatabaseURL.Reveal(), pg.Migrations{
		Part: p.Name, FS: p.Migrations, AppRole: owner.AppRole,
	})
}
