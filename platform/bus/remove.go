package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// removePull is how many messages are in transit while a stream is read.
const removePull = 2000

// Remove removes the events for which remove returns true, and makes the server overwrite
// them on its disk. It reads the events that exist when it begins, in constant memory, and
// returns how many it removed. A consumer that has not read a removed event never receives
// it.
func (b *Bus) Remove(ctx context.Context, remove func(Message) bool) (removed int, err error) {
	stream, err := b.js.Stream(ctx, b.eventsStream())
	if err != nil {
		return 0, fmt.Errorf("nats: %w", err)
	}
	state := stream.CachedInfo().State
	if state.Msgs == 0 {
		return 0, nil
	}
	cons, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return 0, fmt.Errorf("nats: %w", err)
	}
	iter, err := cons.Messages(jetstream.PullMaxMessages(removePull))
	if err != nil {
		return 0, fmt.Errorf("nats: %w", err)
	}
	defer iter.Stop()
	for {
		// The last event may have been removed or have expired by now. Then no further
		// message arrives, and the server reports that nothing is pending.
		raw, err := next(ctx, iter)
		if err != nil {
			return removed, b.readThrough(ctx, stream, state.LastSeq, err)
		}
		meta, err := raw.Metadata()
		if err != nil {
			return removed, fmt.Errorf("nats: %w", err)
		}
		if meta.Sequence.Stream > state.LastSeq {
			return removed, nil
		}
		// A message that cannot be decoded contains no customer data, because publishers
		// use encode.
		if m, err := b.decode(raw); err == nil && remove(m) {
			if err := b.removeOne(ctx, stream, meta.Sequence.Stream); err != nil {
				return removed, err
			}
			removed++
		}
		if meta.NumPending == 0 || meta.Sequence.Stream == state.LastSeq {
			return removed, nil
		}
	}
}

func next(ctx context.Context, iter jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return iter.Next(jetstream.NextContext(ctx))
}

// removeOne removes a message. A message that is already gone is not an error.
func (b *Bus) removeOne(ctx context.Context, stream jetstream.Stream, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := stream.SecureDeleteMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		if _, gone := stream.GetMsg(ctx, seq); errors.Is(gone, jetstream.ErrMsgNotFound) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("nats: message %d: %w", seq, err)
	}
	return nil
}

// readThrough returns nil if a read that stopped has reached its end, because the stream
// now begins after last or is empty. Otherwise its error wraps cause.
func (b *Bus) readThrough(ctx context.Context, stream jetstream.Stream, last uint64, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := stream.Info(ctx)
	if err == nil && (info.State.Msgs == 0 || info.State.FirstSeq > last) {
		return nil
	}
	return fmt.Errorf("nats: the stream was not read to its end: %w", cause)
}
