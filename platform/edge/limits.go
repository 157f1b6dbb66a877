package edge

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/ratelimit"
)

// Limiter counts requests and decides which are too many; it is a *ratelimit.Limiter.
type Limiter interface {
	Take(ctx context.Context, key string, limit int) ratelimit.Decision
}

// Count counts a request of a credential, whose own limit is 0 if it has none, and says
// in h what is left. A request beyond the limit is RATE_LIMIT_EXCEEDED.
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
		strconv.Itoa(d.Limit)+" requests may be made in any 60 seconds").After(time.Duration(max(reset, 1)) * time.Second)
}

// seconds rounds up, so that a client that waits that long waits long enough.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
