package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/mtls"
)

// healthMethods is the prefix of the methods that every holder of a certificate can call. Load
// balancers and operators check the health with their own certificates.
const healthMethods = "/grpc.health.v1.Health/"

// callers decides which certificates can call a server.
type callers struct {
	allowed []string // names in the certificates
	log     *slog.Logger

	mu     sync.Mutex
	logged map[string]time.Time // when a refused caller was last logged, by name
}

func newCallers(allowed []string, log *slog.Logger) *callers {
	return &callers{allowed: allowed, log: log, logged: map[string]time.Time{}}
}

// admit returns a CALLER_NOT_ALLOWED fault unless the connection's certificate can call the method.
func (c *callers) admit(ctx context.Context, method string) error {
	if c == nil || strings.HasPrefix(method, healthMethods) {
		return nil
	}
	var caller *mtls.Peer
	p, ok := peer.FromContext(ctx)
	if ok {
		caller, ok = p.AuthInfo.(*mtls.Peer)
	}
	if !ok { // cannot happen: the server accepts no connection without a certificate
		return fault.New(fault.Forbidden, fault.ReasonCallerNotAllowed, "a client certificate is required")
	}
	for _, name := range caller.Names {
		if slices.Contains(c.allowed, name) {
			return nil
		}
	}
	c.logRefusal(caller, method, p.Addr.String())
	return fault.New(fault.Forbidden, fault.ReasonCallerNotAllowed,
		fmt.Sprintf("the certificate %s cannot call this service; add its name to GRPC_ALLOWED_CALLERS", caller))
}

const (
	// refusedEvery is the shortest time between two log lines about one refused caller.
	refusedEvery = 10 * time.Second
	// mostRefused is the largest number of refused callers to remember.
	mostRefused = 1000
)

// logRefusal logs a refused caller, unless it was logged less than refusedEvery ago.
func (c *callers) logRefusal(caller *mtls.Peer, method, remote string) {
	name, now := caller.String(), time.Now()
	c.mu.Lock()
	quiet := now.Sub(c.logged[name]) < refusedEvery
	if !quiet {
		if len(c.logged) >= mostRefused {
			clear(c.logged)
		}
		c.logged[name] = now
	}
	c.mu.Unlock()
	if !quiet {
		c.log.Warn("rpc refused: the caller's certificate is not allowed",
			"certificate", caller.Names, "remote", remote, "method", method, "allowed", c.allowed)
	}
}
