package webhook

import (
	"time"

	"reservation.dev/platform/fault"
)

const (
	defaultBucket = 3600
	minBucket     = 60
	maxBucket     = 86400
	maxBuckets    = 1000
)

// span is the time whose attempts are counted, divided into buckets.
type span struct {
	since, until time.Time
	bucket       int // seconds
}

func (s span) step() time.Duration { return time.Duration(s.bucket) * time.Second }

// complete sets the defaults and checks the span.
func (s *span) complete(now time.Time) error {
	if s.until.IsZero() {
		s.until = now
	}
	if s.since.IsZero() {
		s.since = s.until.Add(-24 * time.Hour)
	}
	if s.bucket == 0 {
		s.bucket = defaultBucket
	}
	switch {
	case s.bucket < minBucket || s.bucket > maxBucket:
		return fault.InvalidParameter("bucket_seconds", "range", "must be 60 to 86400")
	case !s.since.Before(s.until):
		return fault.InvalidParameter("since", "range", "must be before until")
	case s.until.Sub(s.since) > maxBuckets*s.step():
		return fault.InvalidParameter("bucket_seconds", "range", "must not make more than 1000 buckets")
	}
	return nil
}
