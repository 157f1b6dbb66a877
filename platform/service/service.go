// Package service builds the services, gateways and the dashboard, so that all of them
// have the same command line, lifecycle, admin port and wiring. Each is described by a
// Part. A Part runs alone in a process (Main), or together with others in one process
// (deploy/standalone).
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

// Part describes one runnable program of the platform: a service, a gateway or the
// dashboard.
type Part struct {
	// Name is the service's name in commands, logs, metrics (label part) and databases.
	Name string
	// About describes the service in one line.
	About string
	// Callers are the names of the programs that call this service's gRPC. They are the
	// default of GRPC_ALLOWED_CALLERS.
	Callers []string
	// Migrations holds the numbered SQL files at its root. It is nil if the service has
	// no database.
	Migrations fs.FS
	// Settings returns a new settings struct, for the list of settings.
	Settings func() any
	// Run serves until ctx ends. Returning earlier is a failure, even with a nil error.
	Run func(ctx context.Context, h *Host) error
}

// Host holds the environment of a running Part.
type Host struct {
	Part    string
	Env     config.Env
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Health  *Health
	// TLS is the certificate for serving and calling gRPC. It is nil without TLS.
	TLS *mtls.Files
	// Leaving is closed when the process starts to stop, SHUTDOWN_DELAY before Run's
	// context ends. It is nil if there is no delay.
	Leaving <-chan struct{}
	// NATS are options for the connection to NATS, for example to an in-process server.
	NATS []nats.Option
}

// Dial returns a connection to another service like rpc.Dial, with the certificate of
// this process.
func (h *Host) Dial(part, addr string, o rpc.DialOptions) (*grpc.ClientConn, error) {
	o.TLS, o.Part = h.TLS, part
	return rpc.Dial(addr, o)
}
