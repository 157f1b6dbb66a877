package outbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/telemetry"
)

const (
	batchSize = 500
	// pollEvery is how often the relay looks for events even if no commit wakes it. After
	// failures, the interval grows up to longestPoll.
	pollEvery   = time.Second
	longestPoll = 5 * time.Second
	logEvery    = 12 // log one of this number of failed tries
	// leaseTime is how long the events of a crashed relay wait for another relay.
	// publishTime is much shorter, so that a running relay never loses a lease.
	leaseTime   = 30 * time.Second
	publishTime = 10 * time.Second
	settleTime  = 5 * time.Second
	firstRetry  = time.Second
	lastRetry   = time.Minute
)

const (
	// beginSQL lets the relay see the events of all companies. It also turns off
	// synchronous commits, because the relay's writes can be lost in a crash of the server:
	// the row then still exists, and its event is published again under the same id.
	beginSQL = `select set_config('synchronous_commit', 'off', true), set_config('app.company_id', '*', true)`

	// claimSQL leases the oldest events that no relay holds.
	claimSQL = `update outbox_events set lease = $1, lease_until = now() + make_interval(secs => $2), attempt = attempt + 1
		where id in (
			select id from outbox_events where lease_until is null or lease_until <= now()
			order by created_at, id limit $3 for update skip locked)
		returning id, company_id, subject, payload, trace, occurred_at, created_at, attempt`

	deleteSQL = `delete from outbox_events where lease = $1 and id = any($2)`

	// releaseSQL releases events, each to be tried again after its own delay.
	releaseSQL = `update outbox_events o set lease = null, lease_until = now() + make_interval(secs => r.delay)
		from unnest($2::uuid[], $3::float8[]) as r (id, delay)
		where o.id = r.id and o.lease = $1`
)

// leased is a row that this relay holds.
type leased struct {
	bus.Message
	createdAt time.Time
	attempt   int
}

// outcome is the result of publishing a batch.
type outcome struct {
	lease       id.UUID
	published   []pgtype.UUID
	unpublished []pgtype.UUID
	delays      []float64 // seconds until each unpublished event is tried again
	unavailable error     // why NATS did not accept some or all of the batch, or nil
}

// Run publishes committed events until ctx ends. It then settles its leased rows and
// returns nil. Several processes can run it on one database. While PostgreSQL or NATS is
// unavailable, it waits.
func (o *Outbox) Run(ctx context.Context) error {
	if o.bus == nil {
		return errors.New("outbox: no bus to publish on")
	}
	poll := time.NewTimer(0)
	defer poll.Stop()
	var done outcome
	for trouble := 0; ; {
		again := o.bus.Reconnected()
		err := o.drain(ctx, &done)
		if ctx.Err() != nil {
			_ = o.settle(ctx, &done)
			return nil
		}
		if err == nil {
			trouble = 0
		} else if trouble++; trouble%logEvery == 1 {
			o.log.Warn("outbox relay failed, trying again", "error", err, "tries", trouble)
		}
		poll.Reset(min(pollEvery<<min(max(trouble-1, 0), 3), longestPoll))
		select {
		case <-ctx.Done():
		case <-poll.C:
		case <-again:
		case <-o.wakes(trouble):
		}
	}
}

// wakes returns the channel that wakes the relay. After a failure it is nil, because every
// commit would otherwise repeat a try that has just failed.
func (o *Outbox) wakes(trouble int) <-chan struct{} {
	if trouble > 0 {
		return nil
	}
	return o.woken
}

// drain publishes batches until nothing is left to lease. done is the outcome of the last
// batch. It is cleared only after it was recorded, so that a failure of the database does
// not lose it.
func (o *Outbox) drain(ctx context.Context, done *outcome) error {
	for ctx.Err() == nil {
		if !o.bus.Connected() {
			// Release the events, so that another relay can publish them.
			return errors.Join(o.bus.Ready(ctx), o.settle(ctx, done))
		}
		batch, lease, err := o.settleAndLease(ctx, *done)
		if err != nil {
			return err
		}
		*done = outcome{}
		if len(batch) == 0 {
			return nil
		}
		*done = o.publish(ctx, batch, lease)
		if done.unavailable != nil {
			return errors.Join(done.unavailable, o.settle(ctx, done))
		}
	}
	return nil
}

// settleAndLease settles the previous batch and leases the next, in one round trip.
func (o *Outbox) settleAndLease(ctx context.Context, done outcome) ([]leased, id.UUID, error) {
	// A lease must not be lost because ctx ends during the round trip.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	lease := id.NewUUID()
	batch := done.statements()
	var rows []leased
	batch.Queue(claimSQL, lease, leaseTime.Seconds(), batchSize).Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, scanLeased)
		return err
	})
	if err := o.send(ctx, batch); err != nil {
		return nil, lease, err
	}
	slices.SortFunc(rows, func(a, b leased) int {
		return cmp.Or(a.createdAt.Compare(b.createdAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return rows, lease, nil
}

// settle records the outcome of a batch, even after ctx has ended.
func (o *Outbox) settle(ctx context.Context, done *outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := o.send(ctx, done.statements()); err != nil {
		return err
	}
	*done = outcome{}
	return nil
}

func (done outcome) statements() *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(beginSQL)
	if len(done.published) > 0 {
		batch.Queue(deleteSQL, done.lease, done.published)
	}
	if len(done.unpublished) > 0 {
		batch.Queue(releaseSQL, done.lease, done.unpublished, done.delays)
	}
	return batch
}

// send runs a batch of statements as one implicit transaction that sees all companies.
func (o *Outbox) send(ctx context.Context, batch *pgx.Batch) error {
	if batch.Len() == 1 {
		return nil
	}
	if err := o.db.Job(ctx, batch); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

func scanLeased(r pgx.CollectableRow) (leased, error) {
	var l leased
	var trace []byte
	err := r.Scan(&l.ID, &l.Company, &l.Subject, &l.Payload, &trace, &l.OccurredAt, &l.createdAt, &l.attempt)
	if err == nil && trace != nil {
		err = json.Unmarshal(trace, &l.Trace)
	}
	return l, err
}

// publish publishes a batch and returns the outcome of each event. If ctx ends, it
// finishes the current batch.
func (o *Outbox) publish(ctx context.Context, batch []leased, lease id.UUID) outcome {
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
	done := outcome{lease: lease}
	for i, l := range batch {
		row := pgtype.UUID{Bytes: l.ID, Valid: true}
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
