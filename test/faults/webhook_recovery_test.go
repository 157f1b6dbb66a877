package faults

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/test/harness"
)

// TestWebhookTakeover kills and pauses one of two webhook processes while they work off a backlog.
// Leases last an hour here, so what the process held arrives only because the other process notices
// that it is gone.
func TestWebhookTakeover(t *testing.T) {
	t.Parallel()
	w := &webhookCluster{Cluster: harness.StartCluster(t, harness.ClusterOptions{Webhooks: 2, GatewaysB: 1, Env: map[string]string{
		"SHUTDOWN_DRAIN": "2s", "WEBHOOK_LEASE": "1h", "WEBHOOK_ENDPOINT_CONCURRENCY": "8",
	}})}
	w.op = w.Operator(t)
	w.studio = w.newStudio(t)
	for range 10 {
		w.steady = append(w.steady, w.NewMailbox(t, w.studio.company, func(harness.Mail) harness.Reply { return harness.Reply{After: slowAnswer} }))
	}
	db := w.connect(t)
	t.Run("a process is killed", func(t *testing.T) {
		victim := w.drain(t)
		killed := time.Now()
		w.Part(victim).KillNow()
		left := w.missing()
		w.awaitAccepted(t, w.steady)
		w.checkRecovery(t, db, killed, left)
		w.Part(victim).Kill(t) // waits until it has ended
		w.Part(victim).Start(t)
		w.Part(victim).AwaitReady(t)
	})
	t.Run("a process is paused", func(t *testing.T) {
		victim := w.drain(t)
		paused := time.Now()
		w.Part(victim).Pause()
		left := w.missing()
		awaitWorkers(t, db, 1)
		w.Part(victim).Resume()
		awaitWorkers(t, db, 2)
		w.awaitAccepted(t, w.steady)
		w.checkRecovery(t, db, paused, left)
	})
}

const (
	// backlog is the number of registrations that are sold while no webhook process runs. Each is sent to
	// ten mailboxes.
	backlog = 300
	// slowAnswer makes a process work for seconds on the backlog, at eight requests to each mailbox at a time. So it is
	// interrupted before it has sent everything, on any machine.
	slowAnswer = 150 * time.Millisecond
)

// drain makes a backlog, starts both processes, and returns the one that has sent a tenth of it.
func (w *webhookCluster) drain(t *testing.T) (busy string) {
	t.Helper()
	for _, name := range processes() {
		w.Part(name).Stop(t)
	}
	for range backlog / 20 {
		if err := w.studio.sell(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range processes() {
		w.Part(name).Start(t)
	}
	for _, name := range processes() {
		w.Part(name).AwaitReady(t)
	}
	harness.Eventually(t, newsLimit, func() error {
		for _, name := range processes() {
			if n := w.delivered(t, name); n >= float64(backlog*len(w.steady))/10 {
				busy = name
				return nil
			}
		}
		return errors.New("no process has sent enough")
	})
	return busy
}

// missing returns how many notifications no mailbox has yet.
func (w *webhookCluster) missing() int {
	n := len(w.studio.registrations()) * len(w.steady)
	for _, box := range w.steady {
		seen := map[string]bool{}
		for _, m := range box.Mail() {
			seen[m.ID] = true
		}
		n -= len(seen)
	}
	return n
}

// mostRepeated is how many deliveries a process that ends may have sent without an outcome in the
// database: eight requests in flight to each of the ten mailboxes, and half of its window.
const mostRepeated = 80 + 64

// checkRecovery checks that every delivery has ended, and counts those that were repeated. left is the
// number of notifications that were missing when the process was interrupted.
func (w *webhookCluster) checkRecovery(t *testing.T, db *pgx.Conn, interrupted time.Time, left int) {
	t.Helper()
	harness.Eventually(t, newsLimit, func() error { return unfinished(t, db) })
	repeated := 0
	var last time.Time
	for _, box := range w.steady {
		for _, m := range box.Mail() {
			if m.Try > 1 {
				repeated++
			}
			if m.At.After(last) {
				last = m.At
			}
		}
	}
	repeated -= w.repeated
	w.repeated += repeated
	t.Logf("%d notifications were missing; the last came after %s; %d were sent twice", left, last.Sub(interrupted).Round(time.Millisecond), repeated)
	if left == 0 {
		t.Error("the process had already sent everything")
	}
	if repeated > mostRepeated {
		t.Errorf("%d notifications were sent twice, want at most %d", repeated, mostRepeated)
	}
}

// awaitWorkers returns when n webhook processes are registered.
func awaitWorkers(t *testing.T, db *pgx.Conn, n int) {
	t.Helper()
	harness.Eventually(t, newsLimit, func() error {
		if got := number(t, db, `select count(*) from workers`); got != n {
			return fmt.Errorf("%d webhook processes are registered, want %d", got, n)
		}
		return nil
	})
}
