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
	"reservation.dev/platform/origin"
)

// Consumer is a durable reader of events. Every message is delivered to one of the
// processes that consume under the same Name, and is redelivered until its handling
// succeeds.
type Consumer struct {
	// Name is the name of the durable consumer: letters, digits, - and _. A new name
	// starts again with the oldest stored event.
	Name string
	// Subjects have no prefix. They can contain * for a token and must not overlap.
	Subjects []string
	// Batch is the maximum number of messages in a batch; 0: 100.
	Batch int
	// MaxWait is how long a batch waits to be filled while the server reports pending
	// messages; 0: 5 ms. A single message is not delayed.
	MaxWait time.Duration
	// AckWait is how long a process can be silent about a message before the message goes
	// to another process; 0: 10 s. Handling can take longer than that. Messages in transit
	// when a connection breaks also wait for this long.
	AckWait time.Duration
	// HandleTime is how long a call of Handle can take before its context ends and it counts as failed;
	// 0: 1 minute. It bounds the wait for a server that hangs with its connections open.
	HandleTime time.Duration
	// Handle processes a batch, in the order of the stream except for redelivered
	// messages. If it fails for several messages, it is called for each of them alone.
	// Its context ends up to 10 s after that of Consume, so that a started batch is
	// finished. A message can be delivered twice: see package inbox.
	Handle func(ctx context.Context, msgs []Message) error
}

var consumerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

const (
	defaultBatch   = 100
	defaultMaxWait = 5 * time.Millisecond
	defaultAckWait = 10 * time.Second
	// defaultHandleTime is several times the longest statement and call of a handler.
	defaultHandleTime = time.Minute
	drainTime         = 10 * time.Second
	// pullHeartbeat is how often the server reports that it has nothing to deliver. Twice
	// as long without a heartbeat is a failure.
	pullHeartbeat = 5 * time.Second
	// transitTime limits the wait for messages in transit when Consume ends.
	transitTime = time.Second
	// maxAckPending limits the delivered messages without an acknowledgement, which include
	// messages that wait for a retry. At the limit, the server delivers no further messages.
	maxAckPending = 10_000
	firstRetry    = time.Second
	lastRetry     = time.Minute
	// giveUpAfter is the number of consecutive messages of a batch that fail because a
	// dependency is unavailable, after which the rest is returned without a try.
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
	if c.HandleTime == 0 {
		c.HandleTime = defaultHandleTime
	}
	return c
}

func (c Consumer) validate() error {
	switch {
	case !consumerName.MatchString(c.Name):
		return fmt.Errorf("consumer %q: a name has 1 to 64 letters, digits, - and _", c.Name)
	case c.Batch < 1 || c.MaxWait < 0 || c.AckWait < 0 || c.HandleTime < 0:
		return fmt.Errorf("consumer %s: Batch, MaxWait, AckWait and HandleTime must be positive", c.Name)
	case c.Handle == nil:
		return fmt.Errorf("consumer %s: no Handle", c.Name)
	}
	return nil
}

// Consume handles messages until ctx ends. It then finishes the current batch, returns
// the messages that it has not started to the server, and returns nil. It waits while
// NATS is unavailable. It fails only if the Consumer is invalid.
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
		v.WithLabelValues(c.Name) // export 0, so that a rate sees the first increase
	}
	for wait := 100 * time.Millisecond; ; {
		began := time.Now()
		err := w.session(ctx)
		if ctx.Err() != nil {
			b.flush(ctx)
			return nil
		}
		if err != nil {
			w.log.Warn("consumer interrupted, trying again", "error", err)
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

// session reads until an error. It also ends, without an error, when the connection has
// been restored, because its pending requests are lost.
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
	defer w.settleReceived(ctx, iter)
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

// watchEvery is how often the consumer's progress is read from the server.
const watchEvery = 15 * time.Second

// watch reports the consumer's progress until ctx ends, even while nothing is delivered to
// this process.
func (w *worker) watch(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		limit, cancel := context.WithTimeout(ctx, requestTimeout)
		// The session's consumer cannot be used by several goroutines.
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

// settleReceived stops pulling messages, and handles or returns those already received or in
// transit, which are at most one batch.
func (w *worker) settleReceived(ctx context.Context, iter jetstream.MessagesContext) {
	iter.Drain()
	for {
		raw, err := iter.Next(jetstream.NextMaxWait(transitTime))
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // the messages received before the silence must still be returned
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
		// This service may have started before the first publisher.
		if err := w.bus.ensureStreams(ctx); err != nil {
			return nil, err
		}
		return w.bus.js.CreateOrUpdateConsumer(ctx, w.stream, w.cfg)
	}
	return cons, err
}

// receiveTime is long enough to find a message that has already been received.
const receiveTime = 200 * time.Microsecond

// gather returns the next messages in order: those already received and, for up to
// MaxWait, those that the server reports as pending. It can return messages together
// with an error.
func (w *worker) gather(ctx context.Context, iter jetstream.MessagesContext) ([]delivery, error) {
	raw, err := iter.Next(jetstream.NextContext(ctx))
	if err != nil {
		return nil, err
	}
	first, more := w.receive(raw)
	batch := append(make([]delivery, 0, w.c.Batch), first)
	limit := time.Now().Add(w.c.MaxWait)
	for len(batch) < w.c.Batch && ctx.Err() == nil {
		// If this message arrived while the last batch was handled, the server had no others
		// at that time. More may have arrived since.
		wait := receiveTime
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

// delivery is a message that can be acknowledged.
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

// handle processes a batch and settles each of its messages. away reports whether a
// dependency of the handler is unavailable, so that continuing immediately is pointless.
func (w *worker) handle(ctx context.Context, batch []delivery) (away bool) {
	ctx, done := w.keepInProgress(ctx, batch)
	defer done()
	if len(batch) > 1 {
		err := w.call(ctx, batch)
		if err == nil {
			w.ack(batch)
			return false
		}
		w.log.Warn("a batch failed; trying its messages one by one", "messages", len(batch), "error", err)
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

// keepInProgress returns the context for handling batch, which ends drainTime after ctx.
// Until done is called, it reports to the server that the batch is in progress.
func (w *worker) keepInProgress(ctx context.Context, batch []delivery) (_ context.Context, done func()) {
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
					_ = d.raw.InProgress() // fails for messages that are already settled
				}
			}
		}
	}()
	return hctx, func() {
		cancel()
		<-stopped
	}
}

// errTooLong ends the context of a handler after HandleTime. The context has no deadline, because calls of services
// without one have a shorter limit of their own.
var errTooLong = errors.New("handling took too long")

// call runs the handler. A panic becomes an error of the batch and does not end the
// process.
func (w *worker) call(ctx context.Context, batch []delivery) (err error) {
	msgs := make([]Message, len(batch))
	for i, d := range batch {
		if d.fault != nil {
			return fmt.Errorf("unreadable message on %s: %w", d.Subject, d.fault)
		}
		msgs[i] = d.Message
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(w.c.HandleTime, func() { cancel(errTooLong) }).Stop()
	ctx, end := w.startHandling(ctx, msgs)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
			err = fault.Away(fmt.Errorf("%w: %w", errTooLong, err))
		}
		end(err)
	}()
	return w.c.Handle(origin.WithEvent(ctx), msgs)
}

// ack acknowledges a batch. It ignores errors, because a message whose acknowledgement is
// lost is redelivered, and handling is idempotent.
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
