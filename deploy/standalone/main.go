package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/config"
	"reservation.dev/platform/service"
	"reservation.dev/platform/telemetry"
	"reservation.dev/services/credentials"
)

const help = `standalone runs the whole reservation platform in one process.

usage: standalone            run until Ctrl-C
       standalone settings   print the settings and their defaults

Settings are environment variables; PORT_BASE and DATA_DIR let several
instances run side by side.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
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

func run(ctx context.Context, out io.Writer) (err error) {
	began := time.Now()
	env := config.OS()
	s := &Settings{}
	if err := config.Read(env, s); err != nil {
		return err
	}
	if s.DataDir, err = filepath.Abs(s.DataDir); err != nil {
		return err
	}
	log, err := telemetry.Logger(os.Stderr, "standalone", s.LogLevel, s.LogFormat)
	if err != nil {
		return err
	}
	logOf := func(part string) *slog.Logger {
		l, _ := telemetry.Logger(os.Stderr, part, s.LogLevel, s.LogFormat) // those of log are right
		return l
	}
	flush, err := telemetry.Tracing(ctx, "standalone", env, log)
	if err != nil {
		return err
	}
	defer flush()

	service.TuneGarbageCollection()
	unlock, err := lock(s.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.checkPorts(); err != nil {
		return err
	}
	credentialsPath := filepath.Join(s.DataDir, "credentials.json")
	if err := os.Remove(credentialsPath); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	st, err := loadState(s.DataDir)
	if err != nil {
		return err
	}
	warnings, err := (&instance{settings: s, state: st, env: env}).check()
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		log.Warn("settings: " + warning)
	}

	// Being asked to end is no failure, however far the start has come.
	defer func() {
		if cancelled(ctx, err) {
			err = nil
		}
	}()
	adminURL := s.DatabaseURL.Reveal()
	if adminURL == "" {
		fmt.Fprintf(out, "data in %s; starting PostgreSQL …\n", s.DataDir)
	} else {
		fmt.Fprintf(out, "data in %s and on the PostgreSQL server of DATABASE_URL …\n", s.DataDir)
	}
	postgres, err := startPostgres(ctx, s, log)
	if err != nil {
		return err
	}
	if postgres != nil {
		adminURL = postgres.AdminURL()
		defer func() {
			if cancelled(ctx, err) {
				err = nil
			}
			limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			err = errors.Join(err, postgres.Stop(limit))
		}()
	}
	urls, err := prepareDatabases(ctx, adminURL, s, st, parts())
	if err != nil {
		return err
	}
	nats, err := startNATS(s.DataDir)
	if err != nil {
		return err
	}
	defer func() {
		nats.Shutdown()
		nats.WaitForShutdown()
	}()

	in := &instance{settings: s, state: st, env: env, log: log, logOf: logOf, nats: nats, postgres: postgres, urls: urls}
	defer os.Remove(credentialsPath)
	announced := false
	return in.serve(ctx, func(c credentials.File) error {
		if err := credentials.Write(credentialsPath, c); err != nil || announced {
			return err
		}
		announced = true
		fmt.Fprintf(out, ready, time.Since(began).Seconds(), c.InterfaceA.BaseURL, c.InterfaceA.BaseURL,
			c.InterfaceB.APIBaseURL, "http://"+s.addr(portB), c.Admin.URL,
			c.GRPC.Auth, c.GRPC.Customer, c.GRPC.Booking, c.GRPC.Pass, c.GRPC.Webhook, c.AdminPort, credentialsPath)
		return nil
	})
}

const ready = `ready in %.1f s

  Interface A   %s   (description: %s/docs)
  Interface B   %s   (description: %s/docs)
  dashboard     %s   (sign in as "admin" of the credentials says)
  gRPC          auth %s, customer %s, booking %s, pass %s, webhook %s
  operators     http://%s/readyz, /metrics
  credentials   %s

Ctrl-C ends everything; the data stays.
`

// cancelled tells whether err is no more than that ctx has ended.
func cancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled)
}

// lock makes the data directory and keeps a second instance off it until unlock,
// or until the process ends.
func lock(dir string) (unlock func(), err error) {
	if err := protect(dir); err != nil {
		return nil, notOurs(dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, notOurs(dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another instance runs in %s: set DATA_DIR and PORT_BASE to run a second one", dir)
	}
	return func() { f.Close() }, nil
}

// protect makes the data directory, and in it the directory of NATS, for this
// account only. The account of PostgreSQL may pass through the data directory if its
// files are there. pgserver protects the directory of the database.
func protect(dir string) error {
	nats := filepath.Join(dir, "nats")
	if err := os.MkdirAll(nats, 0o700); err != nil {
		return err
	}
	if err := pgserver.Protect(dir, filepath.Join(dir, "postgres")); err != nil {
		return err
	}
	return pgserver.Protect(nats, "")
}

// notOurs says what to do about a directory that cannot be written to.
func notOurs(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w\nDATA_DIR (now %s) must be a directory that this user may write to", err, dir)
	}
	return fmt.Errorf("DATA_DIR (now %s): %w", dir, err)
}
