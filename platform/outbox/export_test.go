package outbox

import (
	"context"

	"reservation.dev/platform/bus"
)

// PublishAndDie does what a relay does until it is killed between publishing a
// batch and deleting it.
func (o *Outbox) PublishAndDie(ctx context.Context) ([]bus.Message, error) {
	batch, lease, err := o.turn(ctx, outcome{})
	if err != nil {
		return nil, err
	}
	msgs := make([]bus.Message, len(batch))
	for i, l := range batch {
		msgs[i] = l.Message
	}
	return msgs, o.publish(ctx, batch, lease).away
}

// PublishAndStall publishes a batch and returns what records that.
func (o *Outbox) PublishAndStall(ctx context.Context) (settle func() error, err error) {
	batch, lease, err := o.turn(ctx, outcome{})
	if err != nil {
		return nil, err
	}
	done := o.publish(ctx, batch, lease)
	return func() error { return o.settle(ctx, &done) }, done.away
}

// LeaseAndDie is killed before it has published.
func (o *Outbox) LeaseAndDie(ctx context.Context) (int, error) {
	batch, _, err := o.turn(ctx, outcome{})
	return len(batch), err
}

// SampleAlways makes every scrape ask the database.
func (o *Outbox) SampleAlways() { o.metrics.backlog.Every = 0 }

// ClaimSQL is the statement by which a relay leases events.
const ClaimSQL = claimSQL
