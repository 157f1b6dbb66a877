package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"reservation.dev/platform/id"
)

// handledEvery is the interval between two checks of the consumers.
const handledEvery = 25 * time.Millisecond

// AwaitHandled returns when every durable consumer has handled the events that the stream has now. If
// ctx ends first, the error names a consumer that has not.
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
	var durable []*jetstream.ConsumerInfo
	for c := range list.Info() { // read to the end, because a goroutine writes to it
		if c.Config.Durable != "" {
			durable = append(durable, c)
		}
	}
	if err := list.Err(); err != nil {
		return "", fmt.Errorf("nats: %w", err)
	}
	for _, c := range durable {
		handled, err := handledUpTo(ctx, stream, c, last)
		if err != nil {
			return "", err
		}
		if handled < last {
			return c.Name, nil
		}
	}
	return "", nil
}

// handledUpTo returns the sequence number up to which a consumer has handled all its events. It is at most last,
// unless the consumer has acknowledged a later event. The caller reads last first, then c.
//
// A consumer's count of pending events is not enough: the server confirms an event to its publisher before it
// adds it to that count.
func handledUpTo(ctx context.Context, stream jetstream.Stream, c *jetstream.ConsumerInfo, last uint64) (uint64, error) {
	handled := c.AckFloor.Stream
	if handled >= last || c.NumPending > 0 || c.NumAckPending > 0 {
		return handled, nil
	}
	subjects := c.Config.FilterSubjects
	if len(subjects) == 0 {
		subjects = []string{cmp.Or(c.Config.FilterSubject, ">")}
	}
	for _, subject := range subjects {
		newest, err := stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("nats: the last %s: %w", subject, err)
		}
		if newest.Sequence > handled {
			return handled, nil
		}
	}
	return last, nil // the events after the last acknowledged one are for other consumers
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
	handled, err = handledUpTo(ctx, stream, cons.CachedInfo(), last)
	return handled, last, err
}
