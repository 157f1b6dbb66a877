package outbox

import (
	"context"

	"reservation.dev/platform/bus"
)

// PublishAndDie acts like a relay that is killed after it has published a batch and before
// it deletes the rows.
func (o *Outbox) PublishAndDie(ctx context.Context) ([]bus.Message, error) {
	batch, lease, err := o.settleAndLease(ctx, outcome{})
	if err != nil {
		return nil, err
	}
	msgs := make([]bus.Message, len(batch))
	for i, l := range batch {
		msgs[i] = l.Message
	}
	return msgs, o.publish(ctx, batch, lease).unavailable
}

// PublishAndStall publishes a batch and returns a function that records the outcome.
func (o *Outbox) PublishAndStall(ctx context.Context) (settle func() error, err error) {
	batch, lease, err := o.settleAndLease(ctx, outcome{})
	if err != nil {
		return nil, err
	}
	done := o.publish(ctx, batch, lease)
	return func() error { return o.settle(ctx, &done) }, done.unavailable
}

// LeaseAndDie acts like a relay that is killed before it publishes.
func (o *Outbox) LeaseAndDie(ctx context.Context) (int, error) {
	batch, _, err := o.settleAndLease(ctx, outcome{})
	return len(batch), err
}

// SampleAlways makes every scrape query the database.
func (o *Outbox) SampleAlways() { o.metrics.backlog.Every = 0 }

// ClaimSQL is the statement with which a relay leases events.
const ClaimSQL = claimSQL
