package token

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// fetchTimeout bounds one request for a token.
	fetchTimeout = 5 * time.Second
	// fetchPause is how long a failed request is not repeated.
	fetchPause = time.Second
)

// Source keeps the token of a service's own credential. It is safe for
// concurrent use: one request for a token serves all who wait.
type Source struct {
	fetch func(ctx context.Context) (raw string, expires time.Time, err error)

	mu      sync.Mutex
	raw     string
	fetched time.Time
	expires time.Time
	renew   time.Time // from then on a new token is fetched beside the present one
	pending chan struct{}
	err     error
	retry   time.Time
}

// NewSource returns a source that gets its tokens from fetch.
func NewSource(fetch func(ctx context.Context) (raw string, expires time.Time, err error)) *Source {
	return &Source{fetch: fetch}
}

// Token returns a token that has not expired. It is renewed in the background
// for the last fifth of its life, so that callers wait for the first one only.
// An error is ctx's or that of the fetch.
func (s *Source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	now := time.Now()
	if s.raw != "" && now.Before(s.expires) {
		if !now.Before(s.renew) {
			s.start(ctx, now)
		}
		defer s.mu.Unlock()
		return s.raw, nil
	}
	if s.start(ctx, now) == nil {
		defer s.mu.Unlock()
		return "", s.err
	}
	pending := s.pending
	s.mu.Unlock()

	select {
	case <-pending:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.raw != "" && time.Now().Before(s.expires):
		return s.raw, nil
	case s.err != nil:
		return "", s.err
	}
	return "", errGone
}

// errGone is the rare case of a token that was forgotten as soon as it came.
var errGone = errors.New("the token was withdrawn")

// Forget drops raw if it is the present token: the credential was rotated, or
// the token revoked. A token that just came is kept, so that a server that
// refuses every token does not have us ask for one at each call.
func (s *Source) Forget(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raw == raw && time.Since(s.fetched) >= fetchPause {
		s.raw = ""
	}
}

// start begins a fetch unless one is under way, and returns the channel that
// closes at its end; nil while a failure is fresh. s.mu is held.
func (s *Source) start(ctx context.Context, now time.Time) <-chan struct{} {
	if s.pending != nil {
		return s.pending
	}
	if s.err != nil && now.Before(s.retry) {
		return nil
	}
	done := make(chan struct{})
	s.pending = done
	// The caller's end must not be that of the others who wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	go func() {
		defer cancel()
		raw, expires, err := s.fetch(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		defer close(done)
		s.pending = nil
		now := time.Now()
		if err == nil && (raw == "" || !now.Before(expires)) {
			err = errors.New("got a token that has expired")
		}
		s.err = err
		if err != nil {
			s.retry = now.Add(fetchPause)
			return
		}
		s.raw, s.fetched, s.expires = raw, now, expires
		s.renew = expires.Add(-expires.Sub(now) / 5)
	}()
	return done
}
