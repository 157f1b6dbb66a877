package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"reservation.dev/platform/id"
)

// handledEvery is the interval between two looks at the consumers.
const handledEvery = 25 * time.Millisecond

// AwaitHandled returns when every durable consumer has handled the events that the stream has now. If
// ctx ends before, the error names a consumer that has not.
func (b *Bus) AwaitHandled(ctx context.Context) error {
	stream, err := b.js.Stream(ctx, b.eventsStream())
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	last := stream.CachedInfo().State.LastSeq
	for {
		slow, err := behind(ctx, stream, last)
		if err != nil || slow == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("consumer %s: events are not handled: %w", slow, ctx.Err())
		case <-time.After(handledEvery):
		}
	}
}

// behind returns the name of a durable consumer that has not handled all its events up to a sequence
// number, or "".
func behind(ctx context.Context, stream jetstream.Stream, last uint64) (string, error) {
	list := stream.ListConsumers(ctx)
	slow := ""
	for c := range list.Info() { // read to the end, because a goroutine writes to it
		isIdle := c.NumPending == 0 && c.NumAckPending == 0
		if c.Config.Durable != "" && !isIdle && c.AckFloor.Stream < last {
			slow = c.Name
		}
	}
	if err := list.Err(); err != nil {
		return "", fmt.Errorf("nats: %w", err)
	}
	return slow, nil
}

// LastEvent returns the sequence number of the newest event.
func (b *Bus) LastEvent(ctx context.Context) (uint64, error) {
	stream, err := b.js.Stream(ctx, b.eventsStream())
	if err != nil {
		return 0, fmt.Errorf("nats: %w", err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// HasAfter reports whether the stream has an event of one of the companies after a sequence number. It reads
// the events one by one, so there must be few.
func (b *Bus) HasAfter(ctx context.Context, after uint64, companies ...id.Company) (bool, error) {
	stream, err := b.js.Stream(ctx, b.eventsStream())
	if err != nil {
		return false, fmt.Errorf("nats: %w", err)
	}
	state := stream.CachedInfo().State
	for seq := max(after+1, state.FirstSeq); seq <= state.LastSeq; seq++ {
		raw, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // it was removed
			continue
		}
		if err != nil {
			return false, fmt.Errorf("nats: message %d: %w", seq, err)
		}
		if of, err := id.Parse[id.Company](raw.Header.Get(headerCompany)); err == nil && slices.Contains(companies, of) {
			return true, nil
		}
	}
	return false, nil
}

// Progress returns the sequence numbers of the last event that the stream has, and of the last one up to which
// a durable consumer has handled all its events. An event that waits for a retry is not handled.
func (b *Bus) Progress(ctx context.Context, consumer string) (handled, last uint64, err error) {
	stream, err := b.js.Stream(ctx, b.eventsStream())
	if err != nil {
		return 0, 0, fmt.Errorf("nats: %w", err)
	}
	last = stream.CachedInfo().State.LastSeq
	cons, err := stream.Consumer(ctx, consumer)
	if err != nil {
		return 0, 0, fmt.Errorf("nats: %w", err)
	}
	info := cons.CachedInfo()
	if info.NumPending == 0 && info.NumAckPending == 0 { // after last was read
		return last, last, nil
	}
	return info.AckFloor.Stream, last, nil
}
