package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
)

// Engine sends deliveries. All of its state but leases is in memory and follows
// from the database; any number of processes run one each.
type Engine struct {
	settings Delivery
	store    *store
	outbox   *outbox.Outbox
	log      *slog.Logger
	metrics  *metrics
	client   *http.Client
	periodic *service.Jobs
	now      func() time.Time
	newID    func() id.UUID
	// tell passes a wake-up for endpoints on to the other processes.
	tell func(keys []endpointKey)

	// work outlives the context of Run by what ending takes; abort is for tests:
	// it ends everything at once, as a crash would.
	work  context.Context
	abort context.CancelFunc

	mu       sync.Mutex
	lanes    map[endpointKey]*lane
	targets  map[endpointKey]*target
	rota     rota
	inFlight int
	waiting  int // of all lanes
	stopping bool
	senders  sync.WaitGroup

	claims   chan struct{} // holds at most one reminder that there may be something to claim
	outcomes chan *result
}

// NewEngine returns an engine on db that opens secrets with sealer.
func NewEngine(settings Delivery, db *pg.DB, box *outbox.Outbox, sealer *seal.Sealer, log *slog.Logger) *Engine {
	e := &Engine{
		settings: settings, store: newStore(db, sealer), outbox: box, log: log, metrics: newMetrics(), periodic: service.NewJobs(log),
		now: time.Now, newID: id.NewUUID, tell: func([]endpointKey) {},
		lanes: map[endpointKey]*lane{}, targets: map[endpointKey]*target{}, rota: rota{groups: map[id.Company]*group{}},
		claims: make(chan struct{}, 1), outcomes: make(chan *result, 4096),
	}
	e.client = newClient(&settings, settings.guard(), nil)
	e.work, e.abort = context.WithCancel(context.Background())
	return e
}

// Run sends until ctx ends. It then claims no more, lets what is in flight end,
// writes its outcomes, and releases what it has not begun.
func (e *Engine) Run(ctx context.Context) error {
	defer e.client.CloseIdleConnections()
	var g errgroup.Group
	ended := make(chan struct{})
	g.Go(func() error { return e.claimLoop(ctx) })
	g.Go(func() error { return e.periodic.Every(ctx, "sweep_deliveries", e.settings.Sweep, e.sweepOnce) })
	g.Go(func() error { return e.periodic.Every(ctx, "cut_log", retainEvery, e.retainOnce) })
	g.Go(func() error {
		defer close(ended)
		e.writeOutcomes()
		return nil
	})
	<-ctx.Done()
	left := e.stop()
	e.senders.Wait()
	close(e.outcomes)
	err := g.Wait()
	<-ended
	limit, cancel := context.WithTimeout(e.work, 5*time.Second)
	defer cancel()
	if releaseErr := e.store.release(limit, left, e.now()); releaseErr != nil && e.work.Err() == nil {
		e.log.Warn("deliveries were not released, and are taken up when their lease ends", "deliveries", len(left), "error", releaseErr)
	}
	return errors.Join(err, ctx.Err())
}

// stop takes away what is not begun and lets nothing more begin.
func (e *Engine) stop() (left []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopping = true
	for _, l := range e.lanes {
		left = append(left, e.take(l)...)
	}
	return left
}

// take empties a lane. The caller holds e.mu.
func (e *Engine) take(l *lane) []*job {
	left := l.waiting
	l.waiting = nil
	e.waiting -= len(left)
	return left
}

// lane returns the lane of an endpoint. The caller holds e.mu.
func (e *Engine) lane(key endpointKey) *lane {
	l := e.lanes[key]
	if l == nil {
		l = &lane{key: key}
		e.lanes[key] = l
	}
	return l
}

// enqueue gives leased deliveries to their lanes and starts what there is room
// for. It returns those that came too late: at the end, or at an open breaker.
func (e *Engine) enqueue(jobs []*job) (left []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping {
		return jobs
	}
	now := e.now()
	for _, j := range jobs {
		l := e.lane(j.target.key)
		// A breaker may have opened since they were claimed. Nothing waits at one.
		if !l.breaker.closed() && l.breaker.room(1, l.held(), now) == 0 {
			l.wake(l.breaker.until)
			left = append(left, j)
			continue
		}
		l.waiting = append(l.waiting, j)
		e.waiting++
		e.rota.add(l)
	}
	e.start()
	return left
}

// start begins sending, as far as there is room. The caller holds e.mu.
func (e *Engine) start() {
	for e.inFlight < e.settings.Concurrency {
		j, l := e.next()
		if j == nil {
			return
		}
		e.senders.Add(1)
		go e.send(j, l)
	}
}

// next takes the delivery whose turn it is and counts it as in flight; nil:
// nothing may be begun. The caller holds e.mu.
func (e *Engine) next() (*job, *lane) {
	if e.stopping {
		return nil, nil
	}
	now := e.now()
	for e.inFlight < e.settings.Concurrency {
		l := e.rota.next()
		if l == nil {
			return nil, nil
		}
		if len(l.waiting) == 0 || l.breaker.room(e.share(l), l.inFlight, now) == 0 {
			continue // it is listed again when one of its requests ends
		}
		j := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		e.waiting--
		if len(l.waiting) > 0 {
			e.rota.add(l)
		}
		if now.Add(e.settings.Timeout + leaseMargin).After(j.leaseUntil) {
			l.wake(j.leaseUntil) // it waited too long: its lease would end while it is sent
			continue
		}
		l.inFlight++
		e.inFlight++
		return j, l
	}
	return nil, nil
}

// leaseMargin is what writing an outcome may take.
const leaseMargin = 2 * time.Second

// share is how many requests an endpoint may have in flight: what its answers'
// times ask for, and fewer when more than half of all room is taken, so that
// there is always some for the others.
func (e *Engine) share(l *lane) int {
	most := min(e.settings.EndpointConcurrency, l.pace.concurrency())
	free := e.settings.Concurrency - e.inFlight
	return min(most, max(1, 2*most*free/e.settings.Concurrency))
}

// send sends j and then whatever is next, until there is nothing.
func (e *Engine) send(j *job, l *lane) {
	defer e.senders.Done()
	for j != nil {
		r := e.attempt(j)
		select {
		case e.outcomes <- r:
		case <-e.work.Done():
		}
		j, l = e.done(r, l)
	}
}

// done counts the end of a request and returns the next delivery to send.
func (e *Engine) done(r *result, l *lane) (*job, *lane) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l.inFlight--
	e.inFlight--
	now := e.now()
	var left []*job
	if r.failure == "" {
		l.pace.answered(r)
		if l.breaker.success() {
			e.log.Info("webhook endpoint answers again", "endpoint", l.key.endpoint.String(), "company", l.key.company.String())
			l.wake(now)
		}
	} else if l.breaker.failure(now, &e.settings) {
		e.log.Warn("webhook endpoint is left alone", "endpoint", l.key.endpoint.String(), "company", l.key.company.String(),
			"failures", l.breaker.failures, "until", l.breaker.until)
		left = e.take(l)
		l.wake(l.breaker.until)
	}
	if len(left) > 0 {
		e.senders.Add(1)
		go func() {
			defer e.senders.Done()
			e.giveBack(left)
		}()
	}
	if len(l.waiting) > 0 {
		e.rota.add(l)
	}
	if !l.wakeAt.IsZero() && l.held() <= e.settings.ahead()/2 {
		e.remind()
	}
	return e.next()
}

// giveBack releases deliveries that are not to be sent by this process now.
func (e *Engine) giveBack(left []*job) {
	if len(left) == 0 {
		return
	}
	if err := e.store.release(e.work, left, e.now()); err != nil {
		e.log.Warn("deliveries were not released, and are taken up when their lease ends", "deliveries", len(left), "error", err)
	}
}

// Wake says that there may be something to send to endpoints, to this process
// and to the others.
func (e *Engine) Wake(keys ...endpointKey) {
	if len(keys) == 0 {
		return
	}
	e.wake(keys)
	e.tell(keys)
}

func (e *Engine) wake(keys []endpointKey) {
	now := e.now()
	e.mu.Lock()
	for _, key := range keys {
		e.lane(key).wake(now)
	}
	e.mu.Unlock()
	e.remind()
}

func (e *Engine) remind() {
	select {
	case e.claims <- struct{}{}:
	default:
	}
}
