package outbox

import (
	"context"

	"reservation.dev/platform/bus"
)

// PublishAndDie acts like a relay that is killed after it has published a batch and before
// it deletes the rows.
func (o *Outbox) PublishAndDie(ctx context.Context) ([]bus.Message, error) {
	batch, err := o.settleAndClaim(ctx, outcome{}, new(place))
	if err != nil {
		return nil, err
	}
	msgs := make([]bus.Message, len(batch))
	for i, l := range batch {
		msgs[i] = l.Message
	}
	return msgs, o.publish(ctx, batch).unavailable
}

// PublishAndStall publishes a batch and returns a function that records the outcome.
func (o *Outbox) PublishAndStall(ctx context.Context) (settle func() error, err error) {
	batch, err := o.settleAndClaim(ctx, outcome{}, new(place))
	if err != nil {
		return nil, err
	}
	done := o.publish(ctx, batch)
	return func() error {
		_, err := o.settleAndClaim(ctx, done, nil)
		return err
	}, done.unavailable
}

// LeaseAndDie acts like a relay that is killed before it publishes.
func (o *Outbox) LeaseAndDie(ctx context.Context) (int, error) {
	batch, err := o.settleAndClaim(ctx, outcome{}, new(place))
	return len(batch), err
}

// Open lets commits put events into the queue, which nobody publishes until Run.
func (o *Outbox) Open() { o.queue.setOpen() }

// IsOpen reports whether commits put events into the queue.
func (o *Outbox) IsOpen() bool { return o.queue.isOpen() }

// MostQueued is the number of events above which a relay falls behind.
const MostQueued = mostQueued

// SampleAlways makes every scrape query the database.
func (o *Outbox) SampleAlways() { o.metrics.backlog.Every = 0 }

// The statements of a relay: what begins its transactions, and those that lease, delete and release
// events.
const (
	BeginSQL   = beginSQL
	ClaimSQL   = claimSQL
	DeleteSQL  = deleteSQL
	ReleaseSQL = releaseSQL
)
