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

// healthMethods are those that every holder of a certificate may call: load
// balancers and operators ask for health with certificates of their own, and
// learn nothing else by it.
const healthMethods = "/grpc.health.v1.Health/"

// callers are the names of the certificates whose holders may call a server.
type callers struct {
	allowed []string
	log     *slog.Logger

	mu   sync.Mutex
	told map[string]time.Time // when a refused caller was last logged, by name
}

func newCallers(allowed []string, log *slog.Logger) *callers {
	return &callers{allowed: allowed, log: log, told: map[string]time.Time{}}
}

// admit returns why the holder of the connection's certificate may not call.
func (c *callers) admit(ctx context.Context, method string) error {
	if c == nil || strings.HasPrefix(method, healthMethods) {
		return nil
	}
	var caller *mtls.Peer
	p, ok := peer.FromContext(ctx)
	if ok {
		caller, ok = p.AuthInfo.(*mtls.Peer)
	}
	if !ok { // cannot be: the server takes no connection without a certificate
		return fault.New(fault.Forbidden, fault.ReasonCallerNotAllowed, "a client certificate is required")
	}
	for _, name := range caller.Names {
		if slices.Contains(c.allowed, name) {
			return nil
		}
	}
	c.tell(caller, method, p.Addr.String())
	return fault.New(fault.Forbidden, fault.ReasonCallerNotAllowed,
		fmt.Sprintf("the certificate %s cannot call this service; add its name to GRPC_ALLOWED_CALLERS", caller))
}

const (
	// refusedEvery is how often one refused caller is logged at most.
	refusedEvery = 10 * time.Second
	// mostRefused bounds what is remembered of them.
	mostRefused = 1000
)

// tell logs a refused caller now and then.
func (c *callers) tell(caller *mtls.Peer, method, remote string) {
	name, now := caller.String(), time.Now()
	c.mu.Lock()
	quiet := now.Sub(c.told[name]) < refusedEvery
	if !quiet {
		if len(c.told) >= mostRefused {
			clear(c.told)
		}
		c.told[name] = now
	}
	c.mu.Unlock()
	if !quiet {
		c.log.Warn("rpc refused: the caller's certificate is not allowed",
			"certificate", caller.Names, "remote", remote, "method", method, "allowed", c.allowed)
	}
}
