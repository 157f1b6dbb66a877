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

// balancer sends requests to those of some processes that say that they are ready,
// in turn, as a load balancer does.
type balancer struct {
	backends []*backend
	turn     atomic.Uint64
	// cut counts connections that broke before there was an answer.
	cut func(err error)
}

// backend is one process.
type backend struct {
	*harness.A
	part  *harness.Part
	ready atomic.Bool
}

// balance returns a balancer over processes, which looks at them until t ends.
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

// look asks whether the process is ready until ctx ends.
func (b *backend) look(ctx context.Context) {
	ticker := time.NewTicker(looking)
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

// next is the next ready process; where none says so, any.
func (b *balancer) next() *backend {
	for range b.backends {
		if one := b.backends[b.turn.Add(1)%uint64(len(b.backends))]; one.ready.Load() {
			return one
		}
	}
	return b.backends[b.turn.Add(1)%uint64(len(b.backends))]
}

// answerLimit is how long somebody waits for an answer.
const answerLimit = 30 * time.Second

// do makes a request that can be repeated, until there is an answer, as the guides
// say: where the connection broke, and where an attempt before is still under way.
// Answers of 500 and above are errors, 503 too. lost is how many attempts had no
// answer.
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
