package client

import (
	"context"
	"sync"
	"time"
)

// renewBefore is how long before its end a token is renewed. A token that lives for less than twice as
// long is renewed after half of its life.
const renewBefore = 5 * time.Minute

// tokens keeps the token of a client.
type tokens struct {
	fetch func(context.Context) (token string, life time.Duration, err error)
	now   func() time.Time

	mu   sync.Mutex
	last *grant
}

// grant is a token, or the request for one until done is closed.
type grant struct {
	done  chan struct{}
	token string
	until time.Time // when to renew the token
	err   error
}

// get returns a valid token. All callers that need a new one share a request for it.
func (t *tokens) get(ctx context.Context) (string, error) {
	g := t.current()
	select {
	case <-g.done:
		return g.token, g.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// drop forgets a token that was refused.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && t.last.ended() && t.last.token == token {
		t.last = nil
	}
}

func (t *tokens) current() *grant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.last; g != nil && (!g.ended() || g.err == nil && t.now().Before(g.until)) {
		return g
	}
	t.last = &grant{done: make(chan struct{})}
	go t.request(t.last)
	return t.last
}

// request requests a token. It does not end with the call that needed the token first, because others
// wait for it too.
func (t *tokens) request(g *grant) {
	defer close(g.done)
	begun := t.now()
	var life time.Duration
	g.token, life, g.err = t.fetch(context.Background())
	g.until = begun.Add(life - min(renewBefore, life/2))
}

func (g *grant) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}
