// Package service builds a part of the platform, so that every part has the same command
// line, lifecycle, admin port and wiring. A part is a value; it runs alone in a process of its own
// (Main) or beside others in one process (deploy/standalone).
//
//	process:    Main(part) ── settings, logger, signals, admin port ──▶ part.Run(ctx, host)
//	standalone: one process, one Host per part ───────────────────────▶ part.Run(ctx, host)
package service

import (
	"context"
	"io/fs"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"reservation.dev/platform/config"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/rpc"
)

// Part is one runnable part of the platform: a service or an edge.
type Part struct {
	// Name is the part's name in commands, logs, metrics and database names.
	Name string
	// About says in one line what the part does.
	About string
	// Callers are the parts that call this one's gRPC, each an arrow of the
	// architecture: what GRPC_ALLOWED_CALLERS is where it is not set.
	Callers []string
	// Migrations holds the numbered SQL files at its root; nil: no database.
	Migrations fs.FS
	// Settings returns a fresh settings struct, for the settings table.
	Settings func() any
	// Run serves until ctx ends. Any return before that is a failure.
	Run func(ctx context.Context, h *Host) error
}

// Host is what a part gets from whoever runs it.
type Host struct {
	Part    string
	Env     config.Env
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Health  *Health
	// TLS is the certificate by which the part serves and calls; nil: plain gRPC.
	TLS *mtls.Files
	// Leaving is closed when the process is asked to end, SHUTDOWN_DELAY before
	// Run's context ends; nil: they are one.
	Leaving <-chan struct{}
	// NATS are options for the connection to NATS: an in-process server's, say.
	NATS []nats.Option
}

// Dial returns a connection to another part, as rpc.Dial does, with the
// certificate of this one.
func (h *Host) Dial(part, addr string, o rpc.DialOptions) (*grpc.ClientConn, error) {
	o.TLS, o.Part = h.TLS, part
	return rpc.Dial(addr, o)
}
