package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/telemetry"
)

const (
	batchSize = 500
	// settleEvery is the longest time that the rows of published events wait to be deleted
	// together with others.
	settleEvery = 100 * time.Millisecond
	// pollEvery is how often the keeper looks for rows that other processes have left. After
	// failures, it tries again after troublePause, which doubles up to pollEvery.
	pollEvery    = 4 * time.Second
	troublePause = time.Second
	logEvery     = 12 // log one of this number of failed tries
	// Most looks begin at rows of the last recent, so that they do not pass all the index
	// entries of deleted rows. Every searchEvery, one begins at the oldest row.
	recent      = 5 * time.Minute
	searchEvery = time.Minute
	// leaseTime is how long the events of a crashed relay wait for another relay. A running
	// relay begins to publish an event only if publishTime of its lease is left.
	leaseTime   = 8 * time.Second
	publishTime = 4 * time.Second
	settleTime  = 5 * time.Second
	firstRetry  = time.Second
	lastRetry   = time.Minute
)

// Run publishes committed events until ctx ends. It then settles its leased rows and
// returns nil. Several processes can run it on one database. While PostgreSQL or NATS is
// unavailable, it waits.
func (o *Outbox) Run(ctx context.Context) error {
	if o.bus == nil {
		return errors.New("outbox: no bus to publish on")
	}
	var publishing sync.WaitGroup
	publishing.Go(func() { o.publishQueue(ctx) })
	o.keep(ctx)
	publishing.Wait()
	o.queue.close()
	done, _ := o.queue.takeOutcome(time.Now(), true)
	_, _ = o.settleAndClaim(ctx, done, nil)
	return nil
}

// publishQueue publishes the events of the queue until ctx ends.
func (o *Outbox) publishQueue(ctx context.Context) {
	for {
		batch := o.queue.take(ctx)
		if batch == nil {
			return
		}
		o.queue.finish(o.publish(ctx, batch))
	}
}

// publish publishes a batch and returns the outcome of each event. If ctx ends, it
// finishes the current batch.
func (o *Outbox) publish(ctx context.Context, batch []leased) (done outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	msgs, spans := make([]bus.Message, len(batch)), make([]trace.Span, len(batch))
	for i := range batch {
		spans[i] = batch[i].startPublishing(ctx)
		msgs[i] = batch[i].Message
	}
	acked, err := o.bus.Publish(ctx, msgs)
	var failed *bus.PublishError
	errors.As(err, &failed)
	for i := range batch {
		l := &batch[i]
		row := rowID(l.ID)
		if !acked[i] {
			telemetry.Fail(spans[i], "not_acknowledged")
		}
		spans[i].End()
		if acked[i] {
			done.published = append(done.published, row)
			continue
		}
		delay := time.Duration(0)
		if failed.Refused(i) {
			delay = min(firstRetry<<min(l.attempt-1, 6), lastRetry)
			o.log.Error("an event was refused", "event", l.ID.String(), "subject", l.Subject, "company", l.Company.String(),
				"attempt", l.attempt, "again_in", delay, "error", failed.Causes[i])
		} else {
			done.unavailable = err
		}
		done.unpublished = append(done.unpublished, row)
		done.delays = append(done.delays, delay.Seconds())
	}
	o.metrics.published.Add(float64(len(done.published)))
	o.metrics.failures.Add(float64(len(done.unpublished)))
	return done
}
