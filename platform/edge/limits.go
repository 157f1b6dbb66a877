package edge

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/ratelimit"
)

// Limiter counts requests and decides which ones exceed a limit. *ratelimit.Limiter implements it.
type Limiter interface {
	Take(ctx context.Context, key string, limit int) ratelimit.Decision
}

// Count counts a request of a credential and sets the RateLimit headers in h. limit is the
// credential's own limit, or 0 if it has none. A request beyond the limit is RATE_LIMIT_EXCEEDED.
func (o *Options) Count(ctx context.Context, h http.Header, credential string, limit int) error {
	if limit == 0 {
		limit = o.RateLimit
	}
	if limit == 0 {
		return nil
	}
	d := o.Limiter.Take(ctx, credential, limit)
	reset := min(seconds(d.Reset), int(ratelimit.Window/time.Second))
	h.Set("RateLimit-Limit", strconv.Itoa(d.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(reset))
	if d.Allowed {
		return nil
	}
	return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded,
		"the rate limit of "+strconv.Itoa(d.Limit)+" requests in any 60 seconds is exceeded").After(time.Duration(max(reset, 1)) * time.Second)
}

// seconds rounds a duration up, so that a client that waits for the result waits long enough.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
