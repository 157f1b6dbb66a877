package load

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	// recoveryEvents is the number of events in a drain. Each is delivered to benchEndpoints
	// endpoints.
	recoveryEvents = 300
	// recoveryKill is the delivery at which the process is killed.
	recoveryKill = 1000
)

// BenchmarkWebhookRecovery kills the webhook service with SIGKILL while it drains 3,000 deliveries,
// and reports the longest time from then until the last one arrives, and how many arrive twice.
// Either the same process is started again at once, or another process, which drains at the same
// time, takes over. Each iteration is one kill. It prints the table of docs/SCALING.md.
func BenchmarkWebhookRecovery(b *testing.B) {
	w := newNewsroomOf(b, harness.ClusterOptions{Webhooks: 2, OwnNATS: true})
	main, other := w.Part("webhook"), w.Part("webhook-2")
	other.Stop(b)
	var started, over recovery
	b.Run("started again", func(b *testing.B) { started = w.killInDrain(b, []*harness.Part{main}, func() { main.Restart(b) }) })
	b.Run("taken over", func(b *testing.B) { over = w.killInDrain(b, []*harness.Part{main, other}, func() {}) })
	fmt.Println("\n| kill -9 in a drain of 3,000 | kills | longest until the last delivery, s | most duplicates |\n|---|---|---|---|")
	fmt.Printf("| started again at once | %s |\n| taken over by another process | %s |\n", started, over)
}

// recovery is the worst of several kills.
type recovery struct {
	kills      int
	longest    time.Duration // until the last delivery
	duplicates int
}

func (r recovery) String() string {
	return fmt.Sprintf("%d | %.1f | %d", r.kills, r.longest.Seconds(), r.duplicates)
}

// killInDrain drains with some processes and kills the first of them, once in each round. Then it
// calls killed.
func (w *newsroom) killInDrain(b *testing.B, parts []*harness.Part, killed func()) (worst recovery) {
	for b.Loop() {
		p := w.newPublisher(b, benchEndpoints, 0)
		w.awaitLog(b)
		for _, part := range parts {
			if part.PID() != 0 {
				part.Stop(b)
			}
		}
		p.bookAtOnce(b, recoveryEvents)
		w.awaitPublished(b)
		at := p.onDelivery(recoveryKill, parts[0].KillNow)
		for _, part := range parts {
			part.Start(b)
		}
		var since time.Time
		select {
		case since = <-at:
		case <-time.After(patience):
			b.Fatalf("the drain does not reach delivery %d", recoveryKill)
		}
		parts[0].Kill(b) // waits until it has ended
		killed()
		p.awaitEvery(b, recoveryEvents)
		w.awaitLog(b) // including what is sent twice
		last, duplicates := p.recovered()
		worst = recovery{worst.kills + 1, max(worst.longest, last.Sub(since)), max(worst.duplicates, duplicates)}
		p.close(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(worst.longest.Seconds(), "s-until-last")
	b.ReportMetric(float64(worst.duplicates), "duplicates")
	return worst
}

// onDelivery calls do at the nth delivery, whose time the channel gets.
func (p *publisher) onDelivery(n int64, do func()) <-chan time.Time {
	at := make(chan time.Time, 1)
	var delivered atomic.Int64
	for _, r := range p.receivers {
		r.mu.Lock()
		r.arrived = func() {
			if delivered.Add(1) == n {
				at <- time.Now()
				do()
			}
		}
		r.mu.Unlock()
	}
	return at
}

// awaitEvery returns when every receiver has n different deliveries.
func (p *publisher) awaitEvery(b *testing.B, n int) {
	b.Helper()
	harness.Eventually(b, patience, func() error {
		for i, r := range p.receivers {
			if got := len(r.firsts()); got < n {
				return fmt.Errorf("receiver %d has %d of %d", i, got, n)
			}
		}
		return nil
	})
}

// recovered returns when the last delivery arrived for the first time, and the number of
// deliveries that arrived again.
func (p *publisher) recovered() (last time.Time, duplicates int) {
	for _, r := range p.receivers {
		firsts := r.firsts()
		duplicates += len(r.all()) - len(firsts)
		for _, at := range firsts {
			if at.After(last) {
				last = at
			}
		}
	}
	return last, duplicates
}

// firsts returns when each registration arrived for the first time.
func (r *receiver) firsts() map[string]time.Time {
	firsts := map[string]time.Time{}
	for _, got := range r.all() {
		if at, found := firsts[got.registration]; !found || got.at.Before(at) {
			firsts[got.registration] = got.at
		}
	}
	return firsts
}
