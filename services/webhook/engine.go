package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
)

// Engine sends deliveries. Its state is in memory and derived from the database, which has the
// leases, so any number of processes can each run one.
type Engine struct {
	settings Delivery
	store    *store
	outbox   *outbox.Outbox
	log      *slog.Logger
	metrics  *metrics
	client   *http.Client
	periodic *service.Jobs
	// clock is this process's clock, and offset by how much the database's is ahead of it.
	clock      func() time.Time
	offset     atomic.Int64
	pulse      pulse
	takingOver atomic.Bool // the leases of others are being ended
	// notifyPeers forwards a wake-up for endpoints to the other processes.
	notifyPeers func(keys []endpointKey)
	// notifyChange notifies the other processes that an endpoint has changed.
	notifyChange func(key endpointKey)

	// work ends after the context of Run, when the requests in flight have ended. Tests call abort,
	// which ends everything immediately, as a crash does.
	work  context.Context
	abort context.CancelFunc

	mu        sync.Mutex
	own       registration
	queues    map[endpointKey]*sendQueue
	targets   map[endpointKey]*target
	turns     roundRobin
	inFlight  int
	unsettled int // requests that have ended, and whose outcomes are not committed
	waiting   int // of all queues
	stopping  bool
	senders   sync.WaitGroup

	claims   chan struct{} // holds at most one reminder that there may be something to claim
	outcomes chan *result
}

// NewEngine returns an engine on db that decrypts secrets with sealer.
func NewEngine(settings Delivery, db *pg.DB, box *outbox.Outbox, sealer *seal.Sealer, log *slog.Logger) *Engine {
	e := &Engine{
		settings: settings, store: newStore(db, sealer), outbox: box, log: log, metrics: newMetrics(), periodic: service.NewJobs(log),
		clock: time.Now, pulse: usualPulse(), own: registration{worker: newWorker()}, notifyPeers: func([]endpointKey) {}, notifyChange: func(endpointKey) {},
		queues: map[endpointKey]*sendQueue{}, targets: map[endpointKey]*target{}, turns: roundRobin{groups: map[id.Company]*group{}},
		claims: make(chan struct{}, 1), outcomes: make(chan *result, 4096),
	}
	e.client = newClient(&settings, settings.guard(), nil)
	e.work, e.abort = context.WithCancel(context.Background())
	return e
}

// now returns the time by the database's clock, which all processes share.
func (e *Engine) now() time.Time { return e.clock().Add(time.Duration(e.offset.Load())) }

// Run sends deliveries until ctx ends. Then it stops claiming, releases the deliveries that it has
// not begun to send, waits for the requests in flight, and writes their outcomes.
func (e *Engine) Run(ctx context.Context) error {
	defer e.client.CloseIdleConnections()
	var g errgroup.Group
	reports, endReports := context.WithCancel(e.work)
	var reporting, ended sync.WaitGroup
	reporting.Go(func() { e.report(reports) })
	ended.Go(e.writeOutcomes)
	g.Go(func() error { return e.claimLoop(ctx) })
	g.Go(func() error { return e.periodic.Every(ctx, "sweep_deliveries", e.settings.Sweep, e.sweepOnce) })
	g.Go(func() error { return e.periodic.Every(ctx, "cut_log", retainEvery, e.retainOnce) })
	<-ctx.Done()
	e.handOver(e.stop())
	err := g.Wait()
	e.senders.Wait()
	close(e.outcomes)
	ended.Wait()
	endReports()
	reporting.Wait()
	if e.work.Err() == nil {
		limit, cancel := context.WithTimeout(e.work, unregisterTime)
		defer cancel()
		err = errors.Join(err, e.store.unregister(limit, e.own.worker))
	}
	return errors.Join(err, ctx.Err())
}

// unregisterTime limits the end of a process while the database is unavailable. The others then
// find out by themselves that it is gone.
const unregisterTime = 5 * time.Second

// handOver releases deliveries to the other processes and wakes them.
func (e *Engine) handOver(left []*job) {
	e.releaseJobs(left)
	if keys := keysOf(left); len(keys) > 0 {
		e.notifyPeers(keys)
	}
}

// stop prevents further requests and returns the deliveries that have not begun.
func (e *Engine) stop() (left []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopping = true
	for _, q := range e.queues {
		left = append(left, e.removeWaiting(q)...)
	}
	return left
}

// removeWaiting empties a queue and returns the deliveries that waited in it. The caller holds
// e.mu.
func (e *Engine) removeWaiting(q *sendQueue) []*job {
	left := q.waiting
	q.waiting = nil
	e.waiting -= len(left)
	return left
}

// queueOf returns the queue of an endpoint. The caller holds e.mu.
func (e *Engine) queueOf(key endpointKey) *sendQueue {
	q := e.queues[key]
	if q == nil {
		q = &sendQueue{key: key}
		e.queues[key] = q
	}
	return q
}

// enqueue adds leased deliveries to their queues and starts as many as there is room for. It
// returns those that cannot wait here, because the process ends or a breaker is open.
func (e *Engine) enqueue(jobs []*job) (left []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping {
		return jobs
	}
	now := e.now()
	for _, j := range jobs {
		if !e.own.worker.owns(j.lease) {
			left = append(left, j) // this process has lost its leases since the claim
			continue
		}
		q := e.queueOf(j.target.key)
		// The breaker may have opened since the claim. No delivery waits while it is open.
		if !q.breaker.closed() && q.breaker.room(1, q.held(), now) == 0 {
			q.wake(q.breaker.until)
			left = append(left, j)
			continue
		}
		q.waiting = append(q.waiting, j)
		e.waiting++
		e.turns.add(q)
	}
	e.start()
	return left
}

// start sends waiting deliveries while there is room for more requests. The caller holds e.mu.
func (e *Engine) start() {
	for e.inFlight < e.settings.Concurrency {
		j, q := e.next()
		if j == nil {
			return
		}
		e.senders.Add(1)
		go e.send(j, q)
	}
}

// next removes the delivery whose turn it is and counts it as in flight. It returns nil if no
// delivery can be sent. The caller holds e.mu.
func (e *Engine) next() (*job, *sendQueue) {
	if e.stopping || !e.registered() || e.unsettled >= e.unsettledLimit() {
		return nil, nil
	}
	now := e.now()
	for e.inFlight < e.settings.Concurrency {
		q := e.turns.next()
		if q == nil {
			return nil, nil
		}
		if len(q.waiting) == 0 || q.breaker.room(e.share(q), q.inFlight, now) == 0 {
			continue // it gets a turn again when one of its requests ends
		}
		j := q.waiting[0]
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		e.waiting--
		if len(q.waiting) > 0 {
			e.turns.add(q)
		}
		if now.Add(e.settings.Timeout + leaseMargin).After(j.leaseUntil) {
			q.wake(j.leaseUntil) // it waited too long: its lease would end while it is sent
			continue
		}
		q.inFlight++
		e.inFlight++
		return j, q
	}
	return nil, nil
}

// sendWindow is how many deliveries a process may have begun to send without an outcome in the
// database. After a crash, these are sent again.
const sendWindow = 128

// unsettledLimit returns the number of results without a committed outcome at which no further
// request begins. If endpoints are so slow that the requests in flight alone fill the window, it is
// half of the window, because these requests do not wait for the database. The caller holds e.mu.
func (e *Engine) unsettledLimit() int { return max(sendWindow-e.inFlight, sendWindow/2) }

// settled makes room for further requests after the outcomes of n were written, or given up.
func (e *Engine) settled(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsettled -= n
	e.start()
}

// leaseMargin is the time reserved for writing an outcome.
const leaseMargin = 2 * time.Second

// share returns how many requests to an endpoint can be in flight: as many as its latency requires,
// but fewer when more than half of all room is taken, so that every endpoint finds some.
func (e *Engine) share(q *sendQueue) int {
	most := min(e.settings.EndpointConcurrency, q.latency.concurrency())
	free := e.settings.Concurrency - e.inFlight
	return min(most, max(1, 2*most*free/e.settings.Concurrency))
}

// send sends j and then the next deliveries, until there are none.
func (e *Engine) send(j *job, q *sendQueue) {
	defer e.senders.Done()
	for j != nil {
		r := e.attempt(j)
		j, q = e.done(r, q)
		select {
		case e.outcomes <- r:
		case <-e.work.Done():
		}
	}
}

// done counts the end of a request and returns the next delivery to send.
func (e *Engine) done(r *result, q *sendQueue) (*job, *sendQueue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q.inFlight--
	e.inFlight--
	e.unsettled++
	now := e.now()
	var left []*job
	if r.failure == "" {
		q.latency.observe(r.duration)
		if q.breaker.success() {
			e.log.Info("webhook endpoint has recovered", "endpoint", q.key.endpoint.String(), "company", q.key.company.String())
			q.wake(now)
		}
	} else if q.breaker.failure(now, &e.settings) {
		e.log.Warn("webhook endpoint is paused after repeated failures", "endpoint", q.key.endpoint.String(), "company", q.key.company.String(),
			"failures", q.breaker.failures, "until", q.breaker.until)
		left = e.removeWaiting(q)
		q.wake(q.breaker.until)
	}
	if len(left) > 0 {
		e.senders.Add(1)
		go func() {
			defer e.senders.Done()
			e.releaseJobs(left)
		}()
	}
	if len(q.waiting) > 0 {
		e.turns.add(q)
	}
	if !q.wakeAt.IsZero() && q.held() <= e.settings.ahead()/2 {
		e.signalClaims()
	}
	return e.next()
}

// releaseJobs releases leased deliveries that this process does not send now.
func (e *Engine) releaseJobs(left []*job) {
	if len(left) == 0 {
		return
	}
	if err := e.store.release(e.work, left, e.now()); err != nil {
		e.log.Warn("webhook deliveries were not released; they are claimed again when their lease ends", "deliveries", len(left), "error", err)
	}
}

// Changed notifies this process and the others that an endpoint has changed: its deliveries that wait
// in a process belong to its former state.
func (e *Engine) Changed(key endpointKey) {
	e.changed(key)
	e.notifyChange(key)
}

// changed releases the deliveries that wait for an endpoint. They are claimed again, unless it is
// disabled.
func (e *Engine) changed(key endpointKey) {
	e.mu.Lock()
	var left []*job
	if q := e.queues[key]; q != nil {
		left = e.removeWaiting(q)
	}
	e.mu.Unlock()
	if len(left) > 0 {
		e.releaseJobs(left)
		e.wake([]endpointKey{key})
	}
}

// Wake notifies this process and the others that there may be deliveries due for endpoints.
func (e *Engine) Wake(keys ...endpointKey) {
	if len(keys) == 0 {
		return
	}
	e.wake(keys)
	e.notifyPeers(keys)
}

func (e *Engine) wake(keys []endpointKey) {
	now := e.now()
	e.mu.Lock()
	for _, key := range keys {
		e.queueOf(key).wake(now)
	}
	e.mu.Unlock()
	e.signalClaims()
}

func (e *Engine) signalClaims() {
	select {
	case e.claims <- struct{}{}:
	default:
	}
}
