package edge

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/token"
)

// Taker decides over requests; it is a *ratelimit.Limiter.
type Taker interface {
	Take(ctx context.Context, key string, limit int) ratelimit.Decision
}

// Limits count the requests of credentials.
type Limits struct {
	Limiter Taker
	// Usual is the limit of a credential that has none of its own; 0: there is
	// none, and such a credential is not counted.
	Usual int
}

// Check counts a request of a verified token.
func (l *Limits) Check(ctx context.Context, h http.Header, c *token.Claims) error {
	return l.Take(ctx, h, c.Subject, c.RateLimit)
}

// Take counts a request of a credential and says in h what is left. A request too
// many is RATE_LIMIT_EXCEEDED.
func (l *Limits) Take(ctx context.Context, h http.Header, key string, limit int) error {
	if limit == 0 {
		limit = l.Usual
	}
	if limit == 0 {
		return nil
	}
	d := l.Limiter.Take(ctx, key, limit)
	reset := min(seconds(d.Reset), int(ratelimit.Window/time.Second))
	h.Set("RateLimit-Limit", strconv.Itoa(d.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(reset))
	if d.Allowed {
		return nil
	}
	return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded,
		strconv.Itoa(d.Limit)+" requests may be made in any 60 seconds").After(time.Duration(max(reset, 1)) * time.Second)
}

// seconds rounds up, so that who waits that long waits long enough.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
