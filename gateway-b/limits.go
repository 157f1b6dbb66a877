package gatewayb

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/token"
)

// limits count the requests of API keys.
type limits struct {
	limiter taker
	usual   int // of a key without a limit of its own
}

// check counts a request of a verified token.
func (l *limits) check(ctx context.Context, h http.Header, c *token.Claims) error {
	return l.take(ctx, h, c.Subject, c.RateLimit)
}

// take counts a request of a key and says what is left.
func (l *limits) take(ctx context.Context, h http.Header, key string, limit int) error {
	if limit == 0 {
		limit = l.usual
	}
	d := l.limiter.Take(ctx, key, limit)
	reset := seconds(d.Reset)
	h.Set("RateLimit-Limit", strconv.Itoa(d.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(reset))
	if d.Allowed {
		return nil
	}
	return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded,
		"the API key may make "+strconv.Itoa(d.Limit)+" requests in any 60 seconds").After(time.Duration(max(reset, 1)) * time.Second)
}

// seconds rounds up, so that who waits that long waits long enough.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
