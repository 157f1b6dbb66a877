package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestLeasesOfAWorker(t *testing.T) {
	t.Parallel()
	w, other := newWorker(), newWorker()
	first, last := w.lease(1), w.last()
	if !w.owns(first) || !w.owns(w.lease(300)) || !w.owns(last) || w.owns(other.lease(1)) {
		t.Errorf("%x owns %x and %x, and not %x", w, first, last, other.lease(1))
	}
	if first == w.lease(2) || first.String() < id.UUID(w).String() || last.String() < w.lease(300).String() {
		t.Errorf("%x, %x and %x are not in order", w, first, last)
	}
}

func TestSightings(t *testing.T) {
	t.Parallel()
	const lost = 3 * time.Second
	began := time.Now()
	other := newWorker()
	report := func(at, seen time.Duration) reported {
		return reported{At: began.Add(at), Others: []id.UUID{id.UUID(other)}, Seen: []time.Time{began.Add(seen)}}
	}
	for name, tc := range map[string]struct {
		reports []reported
		gone    int
	}{
		"a worker that reports is not gone":            {[]reported{report(0, 0), report(time.Second, time.Second), report(2*time.Second, 2*time.Second), report(9*time.Second, 3*time.Second)}, 0},
		"a worker whose report stays the same is gone": {[]reported{report(time.Second, 0), report(2*time.Second, 0), report(3*time.Second, 0)}, 1},
		"a worker whose report is not old is not gone": {[]reported{report(0, 0), report(time.Second, 0), report(2*time.Second, 0)}, 0},
		"old reports alone do not mean that a worker is gone, because the database may have been away": {
			[]reported{report(time.Hour, 0), report(time.Hour+time.Second, 0), report(time.Hour+2*time.Second, time.Hour+time.Second)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := sightings{}
			var gone []sighting
			for _, r := range tc.reports {
				gone = seen.silent(r, lost)
			}
			if len(gone) != tc.gone {
				t.Errorf("%d are gone, want %d: %+v", len(gone), tc.gone, seen)
			}
		})
	}
}

// brisk returns a pulse for tests in which a process is to be noticed missing.
func brisk() pulse {
	return pulse{every: 50 * time.Millisecond, fresh: 300 * time.Millisecond, lost: 600 * time.Millisecond}
}

// workers returns the number of workers in the database.
func (w *world) workers() int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), `select count(*) from workers`)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// held returns the number of deliveries that wait in an engine.
func (e *Engine) held() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting
}

// gate is a receiver that answers only once it is open.
type gate struct {
	*receiver
	open func()
}

func newGate(t *testing.T) gate {
	opened := make(chan struct{})
	g := gate{open: sync.OnceFunc(func() { close(opened) })}
	t.Cleanup(g.open)
	g.receiver = newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-opened:
		case <-req.Context().Done():
		}
	})
	return g
}

// openHeld returns a world whose engine has 60 deliveries, of which it sends 2, and keeps its leases for
// an hour.
func openHeld(t *testing.T, p pulse) (*world, gate) {
	settings := quick()
	settings.EndpointConcurrency, settings.Timeout, settings.Lease, settings.Sweep = 2, 5*patience, time.Hour, time.Hour
	w := openStopped(t, settings)
	w.engine.pulse = p
	w.start()
	r := newGate(t)
	w.endpoint(r.URL)
	w.awaitRegistration()
	w.settings.EndpointConcurrency = 16
	w.bookings(60)
	r.wait(t, 2)
	return w, r
}

func TestTakingOver(t *testing.T) {
	t.Parallel()
	t.Run("the deliveries of a process that crashed are sent long before their leases end (3)", func(t *testing.T) {
		t.Parallel()
		w, r := openHeld(t, brisk())
		w.engine.abort()
		r.open()
		second := w.newEngine()
		second.pulse = brisk()
		w.run(second)
		w.settled()
		if r.distinct() != 60 || r.count() > 62 {
			t.Errorf("%d requests of %d messages, want 60 and at most the 2 that were in flight again", r.count(), r.distinct())
		}
		if n := w.workers(); n != 1 {
			t.Errorf("%d workers, want the second", n)
		}
	})
	t.Run("a process that was paused begins nothing that others may have, and then is a new worker (3)", func(t *testing.T) {
		t.Parallel()
		w, r := openHeld(t, slowPulse()) // reports only when the test calls it
		paused := w.engine
		former := paused.own.worker
		paused.mu.Lock()
		paused.own.until = time.Now()
		paused.mu.Unlock()
		r.open() // the 2 in flight end, and others would take their turns
		waitFor(t, func() error {
			ended, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from attempts`)
			if err == nil && ended != 2 {
				err = fmt.Errorf("%d have ended, want 2", ended)
			}
			return err
		})
		w2 := w.newEngine()
		w2.pulse = brisk()
		w.run(w2)
		w.settled()
		if r.count() != 60 || r.distinct() != 60 {
			t.Errorf("%d requests of %d messages, want 60 of 60", r.count(), r.distinct())
		}
		if n := paused.held(); n == 0 {
			t.Error("the paused process has nothing that it could have sent twice")
		}
		late := paused.anyWaiting()
		// A transaction of the paused process leases a delivery after the others have ended its leases.
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update deliveries set lease = $2, due_at = now() + interval '1 hour', state = 'pending', finished_at = null
				where id = $1`, late.delivery, late.lease)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w2.abort() // so that it does not notice that the paused process reports only once
		if _, err := paused.reportOnce(t.Context(), sightings{}); err != nil {
			t.Fatal(err)
		}
		if n := paused.held(); n != 0 || paused.own.worker == former {
			t.Errorf("it holds %d deliveries of the same worker", n)
		}
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from deliveries where id = $1 and lease = $2`, late.delivery, late.lease)
		if n != 0 || err != nil {
			t.Errorf("the delivery stays leased by the former worker (%v)", err)
		}
		if n := w.workers(); n != 2 {
			t.Errorf("%d workers, want both", n)
		}
	})
	t.Run("a lease that was created under a lost registration is released (3)", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		left := w.engine.enqueue([]*job{{lease: newWorker().lease(1), target: &target{}}})
		if len(left) != 1 || w.engine.held() != 0 {
			t.Errorf("%d are released, want 1", len(left))
		}
	})
	t.Run("a process that stops hands over at once what it has not begun (3)", func(t *testing.T) {
		t.Parallel()
		w, r := openHeld(t, slowPulse())
		second := w.newEngine()
		second.pulse = slowPulse()
		w.engine.notifyPeers = second.wake
		w.run(second)
		waitFor(t, func() error {
			if w.workers() != 2 {
				return fmt.Errorf("the second has not registered")
			}
			return nil
		})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			w.stop()
		}()
		r.wait(t, 2+minConcurrency) // the second sends while the first waits for its requests
		select {
		case <-stopped:
			t.Error("the first has not waited for its requests")
		default:
		}
		r.open()
		<-stopped
		w.settled()
		if r.count() != 60 || r.distinct() != 60 {
			t.Errorf("%d requests of %d messages, want 60 of 60", r.count(), r.distinct())
		}
		if n := w.workers(); n != 1 {
			t.Errorf("%d workers, want the second", n)
		}
	})
	t.Run("a process whose clock is an hour ahead takes nothing from the others (3)", func(t *testing.T) {
		t.Parallel()
		w := openStopped(t, quick())
		ahead := w.newEngine()
		w.engine.pulse, ahead.pulse = slowPulse(), slowPulse() // on a busy machine, a report can take too long
		ahead.clock = func() time.Time { return time.Now().Add(time.Hour) }
		ahead.notifyPeers = w.engine.wake
		w.engine.notifyPeers = ahead.wake
		w.start()
		w.run(ahead)
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Millisecond) })
		w.endpoint(r.URL)
		w.bookings(1000)
		w.settled()
		if r.count() != 1000 || r.distinct() != 1000 {
			t.Errorf("%d requests of %d messages, want 1000 of 1000", r.count(), r.distinct())
		}
	})
}

func TestSendWindow(t *testing.T) {
	t.Parallel()
	t.Run("no more deliveries are sent than can be sent again after a crash (2)", func(t *testing.T) {
		t.Parallel()
		settings := quick()
		settings.Lease = time.Hour
		w := open(t, settings)
		r := newReceiver(t, nil)
		e := w.endpoint(r.URL)
		w.bookings(1)
		w.settled()
		// Nobody can write outcomes until unlock is called.
		unlock := w.lockOutcomes()
		t.Cleanup(unlock)
		w.bookings(10 * sendWindow)
		waitFor(t, func() error {
			w.engine.mu.Lock()
			defer w.engine.mu.Unlock()
			if w.engine.unsettled < w.engine.unsettledLimit() || w.engine.inFlight > 0 {
				return fmt.Errorf("%d in flight, %d without an outcome", w.engine.inFlight, w.engine.unsettled)
			}
			return nil
		})
		if n := r.count() - 1; n > sendWindow {
			t.Errorf("%d requests have no outcome, want at most %d", n, sendWindow)
		}
		unlock()
		w.settled()
		if n := r.count(); n != 1+10*sendWindow || r.distinct() != n {
			t.Errorf("%d requests of %d messages to %s", n, r.distinct(), e.GetEndpoint().GetUrl())
		}
	})
}

// lockOutcomes keeps outcomes from being written until unlock is called: their attempts cannot be
// inserted.
func (w *world) lockOutcomes() (unlock func()) {
	w.t.Helper()
	locked, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	isLocked := sync.OnceFunc(func() { close(locked) })
	go func() {
		defer close(done)
		defer isLocked() // also if the transaction does not begin
		err := w.db.InTx(context.Background(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `lock table attempts in share mode`)
			isLocked()
			<-release
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
	}()
	<-locked
	return sync.OnceFunc(func() {
		close(release)
		<-done
	})
}

func TestChangedEndpoints(t *testing.T) {
	t.Parallel()
	t.Run("a deleted endpoint gets only the requests that had begun", func(t *testing.T) {
		t.Parallel()
		w, r := openHeld(t, usualPulse())
		id := w.endpoints()[0].GetId()
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: id}); err != nil {
			t.Fatal(err)
		}
		r.open()
		waitFor(t, func() error {
			if err := w.engine.sweepOnce(t.Context()); err != nil {
				return err
			}
			return w.pending()
		})
		if r.count() != 2 {
			t.Errorf("%d requests, want the 2 that had begun", r.count())
		}
	})
	t.Run("deliveries that wait go to the new URL", func(t *testing.T) {
		t.Parallel()
		w, r := openHeld(t, usualPulse())
		moved := newReceiver(t, nil)
		id := w.endpoints()[0].GetId()
		if _, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: id, Url: &moved.URL}); err != nil {
			t.Fatal(err)
		}
		r.open()
		w.settled()
		if r.count() != 2 || moved.count() != 58 {
			t.Errorf("%d requests to the former URL and %d to the new one, want 2 and 58", r.count(), moved.count())
		}
	})
}

// endpoints returns the company's endpoints.
func (w *world) endpoints() []*webhookv1.Endpoint {
	w.t.Helper()
	list, err := w.client.ListEndpoints(w.as(w.company), &webhookv1.ListEndpointsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.GetEndpoints()
}

// anyWaiting returns a delivery that waits in the process.
func (e *Engine) anyWaiting() *job {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.queues {
		if len(q.waiting) > 0 {
			return q.waiting[0]
		}
	}
	return nil
}
