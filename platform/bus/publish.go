package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// window is how many messages are on their way before the first acknowledgement
// is waited for; below the library's own limit of 4000, so that several callers
// have room.
const window = 512

// PublishError says why some messages of a Publish were not acknowledged.
type PublishError struct {
	// Causes has an entry per message, nil for one that was acknowledged.
	Causes []error
}

// Error tells how many messages failed and why the first of them did.
func (e *PublishError) Error() string {
	failed := e.Unwrap()
	return fmt.Sprintf("%d of %d messages were not published: %v", len(failed), len(e.Causes), errors.Join(failed[:1]...))
}

// Unwrap returns the causes that are not nil.
func (e *PublishError) Unwrap() []error {
	var failed []error
	for _, cause := range e.Causes {
		if cause != nil {
			failed = append(failed, cause)
		}
	}
	return failed
}

// Refused reports whether message i itself is at fault, so that it would be
// refused again, in contrast to a NATS that is away.
func (e *PublishError) Refused(i int) bool {
	cause := e.Causes[i]
	var api *jetstream.APIError
	var form *formError
	switch {
	case cause == nil:
		return false
	case errors.As(cause, &form), errors.Is(cause, nats.ErrMaxPayload):
		return true
	case errors.As(cause, &api):
		return api.Code < 500
	}
	return false
}

// formError is a message that is never sent.
type formError struct{ cause error }

func (e *formError) Error() string { return e.cause.Error() }
func (e *formError) Unwrap() error { return e.cause }

// Publish sends msgs and waits for the streams to have stored them. acked tells
// for each message whether one has; the error is then a *PublishError. A message
// that was not acknowledged may have been stored all the same: publish it again
// with the same ID. While NATS is away Publish fails at once. They are usually,
// not always, stored in the order of msgs.
func (b *Bus) Publish(ctx context.Context, msgs []Message) (acked []bool, err error) {
	causes := make([]error, len(msgs))
	pending := make([]int, len(msgs))
	for i := range msgs {
		pending[i] = i
	}
	b.publish(ctx, msgs, pending, causes)
	// Streams that are gone were there when the part started, so the server has
	// lost its store. Making them anew is all there is to do.
	if missing := noStream(causes); len(missing) > 0 && b.ensureStreams(ctx) == nil {
		b.publish(ctx, msgs, missing, causes)
	}
	acked = make([]bool, len(msgs))
	failed := 0
	for i, cause := range causes {
		acked[i] = cause == nil
		if cause != nil {
			failed++
		}
	}
	b.metrics.published.Add(float64(len(msgs) - failed))
	if failed == 0 {
		return acked, nil
	}
	b.metrics.publishFailures.Add(float64(failed))
	return acked, &PublishError{Causes: causes}
}

func noStream(causes []error) []int {
	var missing []int
	for i, cause := range causes {
		if errors.Is(cause, jetstream.ErrNoStreamResponse) {
			missing = append(missing, i)
		}
	}
	return missing
}

// publish sends the messages with the given indices and sets their causes.
func (b *Bus) publish(ctx context.Context, msgs []Message, indices []int, causes []error) {
	for len(indices) > 0 {
		n := min(window, len(indices))
		b.publishWindow(ctx, msgs, indices[:n], causes)
		indices = indices[n:]
	}
}

func (b *Bus) publishWindow(ctx context.Context, msgs []Message, indices []int, causes []error) {
	futures := make([]jetstream.PubAckFuture, len(indices))
	for n, i := range indices {
		futures[n], causes[i] = b.send(ctx, msgs[i])
	}
	for n, i := range indices {
		if futures[n] == nil {
			continue
		}
		select {
		case <-futures[n].Ok():
			causes[i] = nil
		case causes[i] = <-futures[n].Err():
		case <-ctx.Done():
			causes[i] = ctx.Err()
		}
	}
}

func (b *Bus) send(ctx context.Context, m Message) (jetstream.PubAckFuture, error) {
	raw, err := b.encode(m)
	if err != nil {
		return nil, &formError{cause: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The library would keep it for later; the caller does that better.
	if !b.Connected() {
		return nil, nats.ErrDisconnected
	}
	return b.js.PublishMsgAsync(raw)
}
