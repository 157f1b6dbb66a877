package token

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// fetchTimeout is the time limit of one request for a token.
	fetchTimeout = 5 * time.Second
	// fetchPause is how long a failed request is not repeated.
	fetchPause = time.Second
)

// Source keeps the token of a service's own credential. It is safe for concurrent use: all callers
// that wait share one request for a token.
type Source struct {
	fetch func(ctx context.Context) (raw string, expires time.Time, err error)

	mu      sync.Mutex
	raw     string
	fetched time.Time
	expires time.Time
	renew   time.Time // from then on a new token is fetched in the background
	pending chan struct{}
	err     error
	retry   time.Time
}

// NewSource returns a source that gets its tokens from fetch.
func NewSource(fetch func(ctx context.Context) (raw string, expires time.Time, err error)) *Source {
	return &Source{fetch: fetch}
}

// Token returns a token that has not expired. In the last fifth of its lifetime a token is renewed
// in the background, so callers wait only for the first one. The error is ctx's or that of the
// fetch.
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

// errGone is the rare case of a token that was forgotten as soon as it arrived.
var errGone = errors.New("the token was forgotten")

// Forget drops raw if it is the current token, because the credential was rotated or the token
// revoked. It keeps a token that has just arrived: otherwise a server that rejects every token
// would cause a request for a new one at each call.
func (s *Source) Forget(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raw == raw && time.Since(s.fetched) >= fetchPause {
		s.raw = ""
	}
}

// start begins a fetch unless one is under way, and returns the channel that closes at its end; nil
// while a failure is recent. The caller holds s.mu.
func (s *Source) start(ctx context.Context, now time.Time) <-chan struct{} {
	if s.pending != nil {
		return s.pending
	}
	if s.err != nil && now.Before(s.retry) {
		return nil
	}
	done := make(chan struct{})
	s.pending = done
	// The end of one caller must not end the fetch for the others that wait.
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
