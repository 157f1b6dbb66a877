package service

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Health reports whether a process can serve. A process starts unready. It is ready when
// every service in it is serving and every check passes. Liveness does not depend on
// anything else: a process that answers at all is alive.
type Health struct {
	mu      sync.Mutex
	leaving bool
	serving map[string]bool
	checks  map[string]func(context.Context) error
}

// NewHealth returns a Health that is not ready.
func NewHealth() *Health {
	return &Health{serving: map[string]bool{}, checks: map[string]func(context.Context) error{}}
}

// SetServing records whether the named service accepts requests.
func (h *Health) SetServing(part string, serving bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving[part] = serving
}

// Leave makes the process permanently unready.
func (h *Health) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaving = true
}

// Announce marks the named service as serving once ready returns nil, until ctx ends. It
// returns when ctx has ended and the service is no longer marked as serving.
func (h *Health) Announce(ctx context.Context, part string, ready func(context.Context) error) {
	if ready(ctx) != nil {
		return
	}
	h.SetServing(part, true)
	<-ctx.Done()
	h.SetServing(part, false)
}

// Check adds a check that readiness depends on.
func (h *Health) Check(name string, check func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[name] = check
}

// Ready returns the reasons why the process is not ready, by name. An empty map means
// that it is ready.
func (h *Health) Ready(ctx context.Context) map[string]string {
	h.mu.Lock()
	reasons := map[string]string{}
	checks := maps.Clone(h.checks)
	if h.leaving {
		reasons["end"] = "stopping"
	}
	if len(h.serving) == 0 {
		reasons["start"] = "not serving yet"
	}
	for part, serving := range h.serving {
		if !serving {
			reasons[part] = "not serving"
		}
	}
	h.mu.Unlock()

	for name, check := range checks {
		if err := check(ctx); err != nil {
			reasons[name] = err.Error()
		}
	}
	return reasons
}

// readyTimeout bounds all checks of one readiness request.
const readyTimeout = 2 * time.Second

func (h *Health) serveLive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("alive\n"))
}

func (h *Health) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	reasons := h.Ready(ctx)
	w.Header().Set("Content-Type", "application/json")
	if len(reasons) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	names := slices.AppendSeq([]string{}, maps.Keys(reasons)) // [] in JSON, not null
	slices.Sort(names)
	_ = json.NewEncoder(w).Encode(map[string]any{"ready": len(reasons) == 0, "waiting_for": names, "reasons": reasons})
}
