package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
)

// Consumer is a durable reader of events: every message reaches one of the
// processes that consume under the same Name, again and again until its handling
// has succeeded.
type Consumer struct {
	// Name is the durable's: letters, digits, - and _. Renaming starts over with
	// the oldest event kept.
	Name string
	// Subjects are without prefix and may have * for a token; they must not overlap.
	Subjects []string
	// Batch is the most messages handled at once; 0: 100.
	Batch int
	// MaxWait is how long a batch waits to be filled while the server says that
	// more messages are pending; 0: 5 ms. A lone message is not held up.
	MaxWait time.Duration
	// AckWait is how long a process may be silent about a message before it goes
	// to another one; 0: 10 s. Handling may take longer than that. It is also how
	// long messages wait that were under way when a connection broke.
	AckWait time.Duration
	// Handle processes a batch, in the order of the stream as far as nothing was
	// redelivered. When it fails for several messages it is called for each of
	// them alone. Its context outlives that of Consume by up to 10 s, so that a
	// batch in work is finished. Messages may come twice: see package inbox.
	Handle func(ctx context.Context, msgs []Message) error
}

var consumerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

const (
	defaultBatch   = 100
	defaultMaxWait = 5 * time.Millisecond
	defaultAckWait = 10 * time.Second
	drainTime      = 10 * time.Second
	// pullHeartbeat is how often the server tells that it has nothing to deliver;
	// twice as long without a word is a failure.
	pullHeartbeat = 2 * time.Second
	// leaveTime bounds the wait for messages under way.
	leaveTime = time.Second
	// maxAckPending bounds what is delivered and not yet acknowledged. Messages
	// that wait for another try count, so it bounds how many of those there may
	// be before they hold up the others.
	maxAckPending = 10_000
	firstRetry    = time.Second
	lastRetry     = time.Minute
	// giveUpAfter is how many messages of a batch in a row may find a dependency
	// away before the rest is put back untried.
	giveUpAfter = 3
)

func (c Consumer) withDefaults() Consumer {
	if c.Batch == 0 {
		c.Batch = defaultBatch
	}
	if c.MaxWait == 0 {
		c.MaxWait = defaultMaxWait
	}
	if c.AckWait == 0 {
		c.AckWait = defaultAckWait
	}
	return c
}

func (c Consumer) validate() error {
	switch {
	case !consumerName.MatchString(c.Name):
		return fmt.Errorf("consumer %q: a name has 1 to 64 letters, digits, - and _", c.Name)
	case c.Batch < 1 || c.MaxWait < 0 || c.AckWait < 0:
		return fmt.Errorf("consumer %s: Batch, MaxWait and AckWait must be positive", c.Name)
	case c.Handle == nil:
		return fmt.Errorf("consumer %s: no Handle", c.Name)
	}
	return nil
}

// Consume handles messages until ctx ends; it then finishes the batch in work,
// gives back what it has not begun, and returns nil. While NATS is away it waits.
// It fails only for a Consumer that can never work.
func (b *Bus) Consume(ctx context.Context, c Consumer) error {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return err
	}
	stream, filters, err := b.filters(c.Subjects)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", c.Name, err)
	}
	w := &worker{
		bus: b, c: c, log: b.log.With("consumer", c.Name), stream: stream,
		cfg: jetstream.ConsumerConfig{
			Durable:        c.Name,
			AckPolicy:      jetstream.AckExplicitPolicy,
			AckWait:        c.AckWait,
			MaxDeliver:     -1,
			MaxAckPending:  maxAckPending,
			FilterSubjects: filters,
			Replicas:       b.cfg.Replicas,
		},
	}
	for _, v := range []*prometheus.CounterVec{b.metrics.handled, b.metrics.redeliveries, b.metrics.failures} {
		v.WithLabelValues(c.Name) // a rate needs a zero to begin from
	}
	for wait := 100 * time.Millisecond; ; {
		began := time.Now()
		err := w.session(ctx)
		if ctx.Err() != nil {
			b.flush(ctx)
			return nil
		}
		if err != nil {
			w.log.Warn("consuming is interrupted", "error", err)
		}
		if time.Since(began) > time.Minute {
			wait = 100 * time.Millisecond
		}
		b.pause(ctx, wait)
		wait = min(2*wait, 5*time.Second)
	}
}

// flush makes sure that acknowledgements reach the server before the caller
// closes the connection.
func (b *Bus) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if b.Connected() {
		_ = b.nc.FlushWithContext(ctx)
	}
}

type worker struct {
	bus    *Bus
	c      Consumer
	log    *slog.Logger
	stream string
	cfg    jetstream.ConsumerConfig
}

// session reads until something breaks. That the connection was taken up again
// ends it too, without an error: what it had asked for is lost.
func (w *worker) session(ctx context.Context) error {
	sctx, cancel := w.bus.untilReconnect(ctx)
	defer cancel()
	cons, err := w.create(sctx)
	if err != nil {
		return err
	}
	iter, err := cons.Messages(jetstream.PullMaxMessages(w.c.Batch), jetstream.PullHeartbeat(pullHeartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer w.leave(ctx, iter)
	go w.watch(sctx)
	for {
		batch, err := w.gather(sctx, iter)
		if len(batch) > 0 && w.handle(ctx, batch) {
			w.bus.pause(ctx, firstRetry)
		}
		if sctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// watchEvery is how often the server is asked how far the consumer has come.
const watchEvery = 10 * time.Second

// watch tells how far the consumer has come, also while nothing is delivered to
// this process, until ctx ends.
func (w *worker) watch(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		limit, cancel := context.WithTimeout(ctx, requestTimeout)
		// Another value than the session's, which is not for several goroutines.
		cons, err := w.bus.js.Consumer(limit, w.stream, w.c.Name)
		cancel()
		if err == nil {
			info := cons.CachedInfo()
			w.bus.metrics.pending.WithLabelValues(w.c.Name).Set(float64(info.NumPending))
			w.bus.metrics.unacknowledged.WithLabelValues(w.c.Name).Set(float64(info.NumAckPending))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// leave stops asking for messages and looks after those that are here or under
// way already, never more than a batch.
func (w *worker) leave(ctx context.Context, iter jetstream.MessagesContext) {
	iter.Drain()
	for {
		raw, err := iter.Next(jetstream.NextMaxWait(leaveTime))
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // what came before the silence is still to be given back
		}
		if err != nil {
			return
		}
		d, _ := w.receive(raw)
		if ctx.Err() != nil {
			_ = raw.Nak()
			continue
		}
		w.handle(ctx, []delivery{d})
	}
}

func (w *worker) create(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cons, err := w.bus.js.CreateOrUpdateConsumer(ctx, w.stream, w.cfg)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// This part may have started before the first one that publishes.
		if err := w.bus.ensureStreams(ctx); err != nil {
			return nil, err
		}
		return w.bus.js.CreateOrUpdateConsumer(ctx, w.stream, w.cfg)
	}
	return cons, err
}

// lookTime is long enough to find a message that is here already.
const lookTime = 200 * time.Microsecond

// gather returns the next messages, in the order they came: those that are here,
// and for a while those that the server says it has, too. An error may come with
// some.
func (w *worker) gather(ctx context.Context, iter jetstream.MessagesContext) ([]delivery, error) {
	raw, err := iter.Next(jetstream.NextContext(ctx))
	if err != nil {
		return nil, err
	}
	first, more := w.receive(raw)
	batch := append(make([]delivery, 0, w.c.Batch), first)
	limit := time.Now().Add(w.c.MaxWait)
	for len(batch) < w.c.Batch && ctx.Err() == nil {
		// A message that came while the last batch was handled was the server's last
		// one at that time, and others may have come after it.
		wait := lookTime
		if more {
			wait = max(time.Until(limit), wait)
		}
		raw, err := iter.Next(jetstream.NextMaxWait(wait))
		if errors.Is(err, nats.ErrTimeout) {
			break
		}
		if err != nil {
			return batch, err
		}
		var next delivery
		next, more = w.receive(raw)
		batch = append(batch, next)
	}
	return batch, nil
}

// delivery is a message with what is needed to acknowledge it.
type delivery struct {
	Message
	raw   jetstream.Msg
	fault error // why it could not be read
}

// receive reads a message and reports whether the server has more.
func (w *worker) receive(raw jetstream.Msg) (d delivery, more bool) {
	m, err := w.bus.decode(raw)
	d = delivery{Message: m, raw: raw, fault: err}
	meta, err := raw.Metadata()
	if err != nil {
		return d, false
	}
	d.Attempt = int(meta.NumDelivered)
	if d.Attempt > 1 {
		w.bus.metrics.redeliveries.WithLabelValues(w.c.Name).Inc()
	}
	w.bus.metrics.pending.WithLabelValues(w.c.Name).Set(float64(meta.NumPending))
	return d, meta.NumPending > 0
}

// handle processes a batch and settles each of its messages. It reports whether
// a dependency of the handler is away, so that going on at once is of no use.
func (w *worker) handle(ctx context.Context, batch []delivery) (away bool) {
	ctx, done := w.keep(ctx, batch)
	defer done()
	if len(batch) > 1 {
		err := w.call(ctx, batch)
		if err == nil {
			w.ack(batch)
			return false
		}
		w.log.Warn("a batch failed, its messages are tried one by one", "messages", len(batch), "error", err)
	}
	inARow := 0
	for i := range batch {
		err := w.call(ctx, batch[i:i+1])
		if err == nil {
			w.ack(batch[i : i+1])
			inARow = 0
			continue
		}
		w.retryLater(batch[i], err)
		if !fault.Is(err, fault.Unavailable) {
			inARow = 0
			continue
		}
		away = true
		if inARow++; inARow == giveUpAfter {
			for _, d := range batch[i+1:] {
				w.retryLater(d, err)
			}
			return true
		}
	}
	return away
}

// keep returns the context of the handling of batch, which survives ctx for
// drainTime, and until done is called tells the server that it is in work.
func (w *worker) keep(ctx context.Context, batch []delivery) (_ context.Context, done func()) {
	hctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		alive := time.NewTicker(w.c.AckWait / 3)
		defer alive.Stop()
		ended := ctx.Done()
		var limit <-chan time.Time
		for {
			select {
			case <-hctx.Done():
				return
			case <-ended:
				ended = nil
				limit = time.After(drainTime)
			case <-limit:
				cancel()
			case <-alive.C:
				for _, d := range batch {
					_ = d.raw.InProgress() // fails for those already settled
				}
			}
		}
	}()
	return hctx, func() {
		cancel()
		<-stopped
	}
}

// call runs the handler; a panic is the message's fault, not the process's end.
func (w *worker) call(ctx context.Context, batch []delivery) (err error) {
	msgs := make([]Message, len(batch))
	for i, d := range batch {
		if d.fault != nil {
			return fmt.Errorf("unreadable message on %s: %w", d.Subject, d.fault)
		}
		msgs[i] = d.Message
	}
	ctx, end := w.startHandling(ctx, msgs)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		end(err)
	}()
	return w.c.Handle(ctx, msgs)
}

// An acknowledgement that gets lost only brings the message back, and handling
// is idempotent; so errors of acknowledging are not worth more than that.

func (w *worker) ack(batch []delivery) {
	for _, d := range batch {
		_ = d.raw.Ack()
	}
	w.bus.metrics.handled.WithLabelValues(w.c.Name).Add(float64(len(batch)))
}

func (w *worker) retryLater(d delivery, err error) {
	delay := retryDelay(d.Attempt)
	w.bus.metrics.failures.WithLabelValues(w.c.Name).Inc()
	w.log.Error("a message failed", "subject", d.Subject, "event", d.ID.String(), "company", d.Company.String(),
		"request_id", d.Trace[RequestID], "attempt", d.Attempt, "again_in", delay.Round(time.Millisecond), "error", err)
	_ = d.raw.NakWithDelay(delay)
}

// retryDelay doubles from firstRetry to lastRetry, with a tenth of jitter.
func retryDelay(attempt int) time.Duration {
	d := lastRetry
	if attempt < 7 {
		d = firstRetry << max(attempt-1, 0)
	}
	return min(d, lastRetry) + time.Duration(rand.Int64N(int64(d/10)))
}
