package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/devkit/credentials"
	"reservation.dev/platform/config"
	"reservation.dev/platform/service"
	"reservation.dev/platform/telemetry"
)

const help = `standalone runs the whole reservation platform in one process.

usage: standalone            run the platform until Ctrl-C
       standalone settings   print the settings and their defaults

Settings are environment variables. To run several instances on one machine,
give each its own PORT_BASE and DATA_DIR.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
	if len(os.Args) > 1 {
		os.Exit(command(os.Args[1], os.Stdout))
	}
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		os.Exit(service.ExitCode(err))
	}
}

func command(name string, out io.Writer) int {
	switch name {
	case "settings":
		if service.PrintSettings(out, Settings{}) != nil {
			return 1
		}
		return 0
	case "help", "-h", "--help":
		_, _ = io.WriteString(out, help)
		return 0
	}
	fmt.Fprintf(os.Stderr, "standalone: unknown command %q\n\n%s", name, help)
	return 2
}

func run(ctx context.Context, out io.Writer) error {
	began := time.Now()
	in, err := newInstance(config.OS())
	if err != nil {
		return err
	}
	flush, err := telemetry.Tracing(ctx, "standalone", in.env, in.log)
	if err != nil {
		return err
	}
	defer flush()
	service.TuneGarbageCollection()
	unlock, err := lock(in.settings.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := in.prepare(); err != nil {
		return err
	}
	err = in.runWithPostgres(ctx, out, began)
	if cancelled(ctx, err) { // stopping is not a failure, even during the start
		return nil
	}
	return err
}

// newInstance reads the settings.
func newInstance(env config.Env) (*instance, error) {
	s := &Settings{}
	err := config.Read(env, s)
	if err != nil {
		return nil, err
	}
	if s.DataDir, err = filepath.Abs(s.DataDir); err != nil {
		return nil, err
	}
	log, err := telemetry.Logger(os.Stderr, "standalone", s.LogLevel, s.LogFormat)
	if err != nil {
		return nil, err
	}
	logOf := func(part string) *slog.Logger {
		l, _ := telemetry.Logger(os.Stderr, part, s.LogLevel, s.LogFormat) // cannot fail: log has the same settings
		return l
	}
	return &instance{settings: s, env: env, log: log, logOf: logOf}, nil
}

// prepare checks the ports and all settings before anything is started.
func (in *instance) prepare() (err error) {
	if err := in.settings.checkPorts(); err != nil {
		return err
	}
	if err := os.Remove(in.settings.credentialsPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if in.state, err = loadState(in.settings.DataDir); err != nil {
		return err
	}
	warnings, err := in.check()
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		in.log.Warn("settings: " + warning)
	}
	return nil
}

// runWithPostgres runs the instance on the PostgreSQL server of DATABASE_URL, or on a
// private one.
func (in *instance) runWithPostgres(ctx context.Context, out io.Writer, began time.Time) (err error) {
	if url := in.settings.DatabaseURL.Reveal(); url != "" {
		fmt.Fprintf(out, "starting; the data is in %s and on the PostgreSQL server of DATABASE_URL …\n", in.settings.DataDir)
		return in.run(ctx, url, out, began)
	}
	fmt.Fprintf(out, "starting; the data is in %s …\n", in.settings.DataDir)
	if in.postgres, err = startPostgres(ctx, in.settings, in.log); err != nil {
		return err
	}
	defer func() {
		if cancelled(ctx, err) {
			err = nil
		}
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, in.postgres.Stop(limit))
	}()
	return in.run(ctx, in.postgres.AdminURL(), out, began)
}

// run starts NATS and the services. When they are ready, it prints their addresses.
func (in *instance) run(ctx context.Context, adminURL string, out io.Writer, began time.Time) (err error) {
	if in.urls, err = prepareDatabases(ctx, adminURL, in.settings, in.state, parts()); err != nil {
		return err
	}
	if in.nats, err = startNATS(in.settings); err != nil {
		return err
	}
	defer func() {
		in.nats.Shutdown()
		in.nats.WaitForShutdown()
	}()
	path := in.settings.credentialsPath()
	defer os.Remove(path)
	announced := false
	return in.serve(ctx, func(c credentials.File) error {
		if err := credentials.Write(path, c); err != nil || announced {
			return err
		}
		announced = true
		fmt.Fprintf(out, ready, time.Since(began).Seconds(), c.InterfaceA.BaseURL, c.InterfaceA.BaseURL,
			c.InterfaceB.APIBaseURL, "http://"+in.settings.addr(portB), c.Admin.URL, c.Admin.URL,
			c.Media.BaseURL, c.GRPC.Auth, c.GRPC.Customer, c.GRPC.Booking, c.GRPC.Pass,
			c.GRPC.Subscription, c.GRPC.Media, c.GRPC.Webhook, c.AdminPort, path)
		return nil
	})
}

const ready = `ready in %.1f s

  Interface A   %s   (description: %s/docs)
  Interface B   %s   (description: %s/docs)
  dashboard     %s   (e-mail address and password: "admin" in the credentials)
  documentation %s/docs
  media files   %s
  gRPC          auth %s, customer %s, booking %s, pass %s,
                subscription %s, media %s, webhook %s
  operators     http://%s/readyz, /metrics
  credentials   %s

Press Ctrl-C to stop the platform. Its data stays.
`

// cancelled reports whether err means only that ctx has ended.
func cancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled)
}
