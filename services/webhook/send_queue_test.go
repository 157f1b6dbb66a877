package webhook

import (
	"testing"
	"time"
)

func TestConcurrency(t *testing.T) {
	t.Parallel()
	const slow, fast = 100 * time.Millisecond, time.Millisecond
	for name, tc := range map[string]struct {
		took []time.Duration // repeated
		n    int
		want int
	}{
		"an endpoint without a response gets few connections":        {nil, 0, minConcurrency},
		"the first responses, with their handshakes, decide nothing": {[]time.Duration{slow}, firstLatencySample - 1, minConcurrency},
		"a fast endpoint gets few connections":                       {[]time.Duration{fast}, 1000, minConcurrency},
		"a slow endpoint gets many":                                  {[]time.Duration{slow}, firstLatencySample, 100},
		"the time that requests wait on a busy machine does not count": {
			append([]time.Duration{fast}, slow, slow, slow, slow, slow, slow, slow), 1000, minConcurrency},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l latency
			for i := range tc.n {
				l.observe(tc.took[i%len(tc.took)])
			}
			if got := l.concurrency(); got != tc.want {
				t.Errorf("%d requests at the same time, want %d", got, tc.want)
			}
		})
	}
	t.Run("an endpoint that becomes slow gets more connections after a while", func(t *testing.T) {
		t.Parallel()
		var l latency
		for range 1000 {
			l.observe(fast)
		}
		for range 2 * latencySample {
			l.observe(slow)
		}
		if got := l.concurrency(); got != 100 {
			t.Errorf("%d requests at the same time, want 100", got)
		}
	})
}
