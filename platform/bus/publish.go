package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// window is how many messages Publish sends before it waits for the first
// acknowledgement. It is well below the library's limit of 4000, which several callers
// share.
const window = 512

// PublishError reports why some messages of a Publish were not acknowledged.
type PublishError struct {
	// Causes has an entry per message, nil for one that was acknowledged.
	Causes []error
}

// Error returns the number of failed messages and the cause of the first.
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

// Refused reports whether message i is itself invalid and would be refused again. It is
// false if NATS was unavailable.
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

// formError reports a malformed message, which is never sent.
type formError struct{ cause error }

func (e *formError) Error() string { return e.cause.Error() }
func (e *formError) Unwrap() error { return e.cause }

// Publish sends msgs and waits until the streams have stored them. acked reports for each
// message whether a stream has acknowledged it; if one has not, the error is a
// *PublishError. A message without an acknowledgement may still have been stored: publish
// it again with the same ID. While NATS is unavailable, Publish fails immediately. The
// messages are usually, but not always, stored in the order of msgs.
func (b *Bus) Publish(ctx context.Context, msgs []Message) (acked []bool, err error) {
	causes := make([]error, len(msgs))
	pending := make([]int, len(msgs))
	for i := range msgs {
		pending[i] = i
	}
	b.publish(ctx, msgs, pending, causes)
	// The missing streams existed when the service started, so the server has lost its
	// store. Create the streams again.
	if missing := withoutStream(causes); len(missing) > 0 && b.ensureStreams(ctx) == nil {
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

func withoutStream(causes []error) []int {
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
	// The library would buffer the messages. The caller retries them more reliably.
	if !b.Connected() {
		return nil, nats.ErrDisconnected
	}
	return b.js.PublishMsgAsync(raw)
}
