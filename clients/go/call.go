package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"time"
)

const (
	attemptTimeout = 30 * time.Second // for one attempt
	firstPause     = 500 * time.Millisecond
	longestPause   = 30 * time.Second
	mostErrorBytes = 1 << 20
)

// caller sends the requests of a client: with a token, and again if that is safe.
type caller struct {
	http     *http.Client
	tokens   *tokens
	attempts int
	patience time.Duration
	now      func() time.Time
	pause    func(context.Context, time.Duration) error
}

func newCaller(o Options) *caller {
	c := &caller{http: o.HTTPClient, attempts: o.Attempts, patience: o.Patience, now: time.Now, pause: pause}
	if c.http == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = attemptTimeout
		c.http = &http.Client{Transport: transport}
	}
	if c.attempts == 0 {
		c.attempts = 6
	}
	if c.patience == 0 {
		c.patience = 2 * time.Minute
	}
	c.tokens = &tokens{now: func() time.Time { return c.now() }}
	return c
}

// Do sends a request until it succeeds or cannot be retried. A refusal is an *Error.
func (c *caller) Do(req *http.Request) (*http.Response, error) {
	if err := makeRepeatable(req); err != nil {
		return nil, err
	}
	ctx, end := req.Context(), c.now().Add(c.patience)
	for attempt := 1; ; attempt++ {
		resp, err := c.authorized(req)
		wait, again := retry(err, attempt)
		if !again || attempt >= c.attempts || ctx.Err() != nil || c.now().Add(wait).After(end) {
			return resp, err
		}
		if ended := c.pause(ctx, wait); ended != nil {
			return nil, fmt.Errorf("%w before a retry after: %w", ended, err)
		}
	}
}

// makeRepeatable gives a write an Idempotency-Key, and a request a body that can be sent again.
func makeRepeatable(req *http.Request) error {
	if req.Method != http.MethodGet && req.Header.Get("Idempotency-Key") == "" {
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	if req.Body == nil || req.GetBody != nil {
		return nil
	}
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	req.ContentLength = int64(len(text))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return req.Body.Close()
}

// authorized sends a request with a token, and once more with a new one if the token is refused.
func (c *caller) authorized(req *http.Request) (*http.Response, error) {
	for renewed := false; ; renewed = true {
		token, err := c.tokens.get(req.Context())
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := c.once(req)
		if renewed || statusOf(err) != http.StatusUnauthorized {
			return resp, err
		}
		c.tokens.drop(token)
	}
}

// once makes one attempt. It reads the whole response, so that one that breaks off can be retried,
// unless the caller reads the body as it arrives.
func (c *caller) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := req.Context(), context.CancelFunc(func() {})
	streams := ctx.Value(streaming{}) != nil
	if !streams {
		ctx, cancel = context.WithTimeout(ctx, attemptTimeout)
	}
	defer cancel()
	attempt := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	resp, err := c.http.Do(attempt)
	if err != nil || streams && resp.StatusCode < 400 {
		return resp, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return nil, newError(resp, c.now())
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, err
}

// streaming is the key of a context whose request reads its response as it arrives.
type streaming struct{}

// retry returns whether a request that failed with err can be sent again, and after which wait.
func retry(err error, attempt int) (wait time.Duration, again bool) {
	if err == nil {
		return 0, false
	}
	wait = time.Duration((0.5 + mathrand.Float64()/2) * float64(min(longestPause, firstPause<<min(attempt-1, 10))))
	var refusal *Error
	if !errors.As(err, &refusal) {
		return wait, true // no response, or only a part
	}
	switch refusal.Status {
	case http.StatusConflict:
		again = refusal.Code == "IDEMPOTENCY_IN_PROGRESS"
	case http.StatusInternalServerError:
		again = attempt == 1
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return refusal.RetryAfter + wait, again
}

// pause waits, or returns the error of a context that ends before.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
