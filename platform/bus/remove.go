package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// removePull is how many messages are on their way while a stream is read through.
const removePull = 2000

// Remove takes the events out of the stream of which remove says so, and has the
// server overwrite them on its disk. It looks at those that are there when it
// begins and returns how many it has removed. Consumers that have not read them
// yet never will. It reads the whole stream, in memory that does not grow.
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
		// The last of them may have been removed or aged out meanwhile: then nothing
		// more comes, and the server says that nothing is pending.
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
		// What cannot be read is nobody's data: publishers go through encode.
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

// removeOne removes a message; one that is gone already is as good.
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

// readThrough decides whether a read that stopped had come to the end: the stream
// begins behind it, or is empty.
func (b *Bus) readThrough(ctx context.Context, stream jetstream.Stream, last uint64, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := stream.Info(ctx)
	if err == nil && (info.State.Msgs == 0 || info.State.FirstSeq > last) {
		return nil
	}
	return fmt.Errorf("nats: the stream was not read to its end: %w", cause)
}
