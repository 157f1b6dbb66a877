package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/config"
	"reservation.dev/platform/telemetry"
)

// Process holds the settings of a process, whatever part it runs.
type Process struct {
	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"json" doc:"json or text"`
	AdminAddr string `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9100" doc:"address of /livez, /readyz, /metrics and /debug/pprof/"`
}

// Validate reports every wrong setting.
func (p Process) Validate() error {
	_, err := telemetry.Logger(io.Discard, "", p.LogLevel, p.LogFormat)
	return err
}

// Main runs one part as a process: `serve` (the default), `migrate`, `health`,
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
	case "health":
		return probe(ctx, env, out)
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
  health    ask the process that runs with these settings whether it is ready
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
		Part: p.Name, Env: env, Log: log, Health: health,
		Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"part": p.Name}, metrics),
	}
	log.Info("starting", "version", Version(), "admin", admin.Addr())

	// The admin port outlives the part, so that readiness can be seen going off.
	adminCtx, stopAdmin := context.WithCancel(context.WithoutCancel(ctx))
	adminDone := make(chan error, 1)
	go func() { adminDone <- admin.Run(adminCtx) }()
	err = p.Run(ctx, host)
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
