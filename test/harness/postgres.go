package harness

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/devkit/pgserver"
)

// Postgres is a private PostgreSQL server on a fixed port.
type Postgres struct {
	opts   pgserver.Options
	server *pgserver.Server
}

// StartPostgres runs a server below dir until the test ends. With durable Safe, committed data
// survives a crash.
func StartPostgres(t testing.TB, dir string, durable pgserver.Durability) *Postgres {
	t.Helper()
	return startPostgres(t, pgserver.Options{Dir: dir, Port: freePorts(t), Durable: durable, MaxConnections: 200})
}

// StartLogicalPostgres is like StartPostgres, for a server with logical replication.
func StartLogicalPostgres(t testing.TB, dir string, durable pgserver.Durability) *Postgres {
	t.Helper()
	return startPostgres(t, pgserver.Options{Dir: dir, Port: freePorts(t), Durable: durable, MaxConnections: 200, Logical: true})
}

func startPostgres(t testing.TB, opts pgserver.Options) *Postgres {
	t.Helper()
	p := &Postgres{opts: opts}
	p.Start(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		if err := p.server.Remove(ctx); err != nil {
			t.Errorf("%v", err)
		}
	})
	return p
}

// Start starts a server that was stopped.
func (p *Postgres) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	server, err := pgserver.Start(ctx, p.opts)
	if err != nil {
		t.Fatal(err)
	}
	p.server = server
}

// Stop cuts off every session and ends the server; its data is kept.
func (p *Postgres) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopLimit)
	defer cancel()
	if err := p.server.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// remove ends the server and removes its data. Start then makes a new server.
func (p *Postgres) remove(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopLimit)
	defer cancel()
	if err := p.server.Remove(ctx); err != nil {
		t.Fatal(err)
	}
}

// Crash kills the server and its sessions with SIGKILL.
func (p *Postgres) Crash(t testing.TB) {
	t.Helper()
	if err := syscall.Kill(p.PID(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stopLimit)
	defer cancel()
	if err := p.server.Wait(ctx); err == nil {
		t.Fatal("PostgreSQL survived SIGKILL")
	}
	p.Stop(t)
}

// PID returns the process id of the server's main process. Its sessions are child processes.
func (p *Postgres) PID(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.opts.Dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// AdminURL returns the superuser's URL.
func (p *Postgres) AdminURL() string { return p.server.AdminURL() }

// database creates a database and its roles, and returns their URLs.
func (p *Postgres) database(t testing.TB, name string) (ownerURL, appURL string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ownerURL, appURL, err := p.server.EnsureDatabase(ctx, name, name+"_owner", name)
	if err != nil {
		t.Fatal(err)
	}
	return ownerURL, appURL
}
