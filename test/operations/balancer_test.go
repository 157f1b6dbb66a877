package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// balancer sends requests in turn to the processes that report to be ready, as a load balancer
// does.
type balancer struct {
	backends []*backend
	turn     atomic.Uint64
	// cut is called for each connection that broke before there was an answer.
	cut func(err error)
}

// backend is one process.
type backend struct {
	*harness.A
	part  *harness.Part
	ready atomic.Bool
}

// balance returns a balancer over processes, whose readiness it polls until t ends.
func balance(t *testing.T, cut func(error), parts []*harness.Part, addresses []string) *balancer {
	t.Helper()
	b := &balancer{cut: cut}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	for i, part := range parts {
		one := &backend{A: harness.NewA(t, addresses[i]), part: part}
		one.ready.Store(true)
		b.backends = append(b.backends, one)
		go one.look(ctx)
	}
	return b
}

// look polls the readiness of the process until ctx ends.
func (b *backend) look(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		b.ready.Store(b.part.Ready() == nil)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// next returns the next ready process, or any process if none is ready.
func (b *balancer) next() *backend {
	for range b.backends {
		if one := b.backends[b.turn.Add(1)%uint64(len(b.backends))]; one.ready.Load() {
			return one
		}
	}
	return b.backends[b.turn.Add(1)%uint64(len(b.backends))]
}

// answerLimit is how long a client waits for an answer.
const answerLimit = 30 * time.Second

// do makes a repeatable request and retries as the guides say: after a broken connection, and
// while an earlier attempt is still in progress. Answers of 500 and above, including 503, are
// errors. lost is the number of attempts without an answer.
func (b *balancer) do(ctx context.Context, r harness.Request) (answer harness.Answer, lost int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	for {
		answer, err = b.next().Try(ctx, r)
		switch {
		case ctx.Err() != nil:
			return answer, lost, fmt.Errorf("%s %s: no answer after %d attempts: %w", r.Method, r.Path, lost+1, errors.Join(err, ctx.Err()))
		case err != nil:
			lost++
			b.cut(fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
		case answer.Code == http.StatusConflict && lost > 0 && answer.Reason() == "IDEMPOTENCY_IN_PROGRESS":
		case answer.Code >= http.StatusInternalServerError:
			return answer, lost, fmt.Errorf("%s %s was answered %d: %s", r.Method, r.Path, answer.Code, answer.Body)
		default:
			return answer, lost, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}
