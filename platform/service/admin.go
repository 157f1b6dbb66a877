package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Admin serves the admin port for operators and orchestrators: /livez, /readyz, /metrics
// and /debug/pprof/. The port must never be reachable from outside.
type Admin struct {
	ln  net.Listener
	srv *http.Server
}

// ListenAdmin opens the admin port at addr.
func ListenAdmin(addr string, health *Health, metrics prometheus.Gatherer) (*Admin, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("admin port: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", health.serveLive)
	mux.HandleFunc("GET /readyz", health.serveReady)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &Admin{ln: ln, srv: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}, nil
}

// Addr returns the address on which the admin port listens.
func (a *Admin) Addr() string { return a.ln.Addr().String() }

// Run serves until ctx ends.
func (a *Admin) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = a.srv.Shutdown(drain)
	})
	defer stop()
	if err := a.srv.Serve(a.ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin port: %w", err)
	}
	return nil
}
