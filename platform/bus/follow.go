package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	followHeartbeat = 2 * time.Second
	followInactive  = 30 * time.Second
)

var errGap = errors.New("messages were missed")

// Follow delivers to this process the last message of each subject and then every new
// one, until ctx ends. It is independent of other processes. If caughtUp is not nil, it is
// called once, after the last message that existed at the start; without any message, it
// is called immediately.
//
// After a lost connection, Follow continues with the next message. If the stream was
// replaced by another one, it starts from the beginning. On the identity subjects, it
// delivers the last message of each subject again, in case the server has lost or replaced
// messages. So each must accept repetitions. each is called on Follow's goroutine. Messages
// that cannot be read are logged and skipped.
func (b *Bus) Follow(ctx context.Context, subjects []string, each func(Message), caughtUp func()) error {
	stream, filters, err := b.filters(subjects)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	f := &follower{bus: b, stream: stream, filters: filters, each: each, caughtUp: caughtUp}
	for wait := 100 * time.Millisecond; ; {
		began := time.Now()
		err := f.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			b.log.Warn("follower interrupted, trying again", "stream", stream, "error", err)
		}
		if time.Since(began) > time.Minute {
			wait = 100 * time.Millisecond
		}
		b.pause(ctx, wait)
		wait = min(2*wait, 5*time.Second)
	}
}

type follower struct {
	bus      *Bus
	stream   string
	filters  []string
	each     func(Message)
	caughtUp func() // nil once called

	created time.Time // of the stream
	begun   bool      // whether a message was delivered, or there was none to deliver
	seen    uint64    // the highest stream sequence received
}

func (f *follower) session(ctx context.Context) error {
	sctx, cancel := f.bus.untilReconnect(ctx)
	defer cancel()
	cons, target, err := f.create(sctx)
	if err != nil {
		return err
	}
	defer f.remove(ctx, cons)
	if cons.CachedInfo().NumPending == 0 {
		f.pass(target)
	}
	iter, err := cons.Messages(jetstream.PullHeartbeat(followHeartbeat), jetstream.PullExpiry(10*time.Second),
		jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer iter.Stop()
	for next := uint64(1); ; next++ {
		raw, err := iter.Next(jetstream.NextContext(sctx))
		if err != nil {
			if sctx.Err() != nil {
				return nil
			}
			return err
		}
		meta, err := raw.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != next {
			return errGap
		}
		f.deliver(raw)
		f.begun = true
		f.seen = meta.Sequence.Stream
		// Delivery follows the order of the stream, so all messages from the start have
		// been delivered once target has passed.
		if meta.NumPending == 0 || f.seen >= target {
			f.pass(target)
		}
	}
}

// create creates a consumer for this session and returns it with the stream's last
// sequence before its creation.
func (f *follower) create(ctx context.Context) (cons jetstream.Consumer, target uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := f.bus.js.Stream(ctx, f.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// This service may have started before the first publisher.
		if err := f.bus.ensureStreams(ctx); err != nil {
			return nil, 0, err
		}
		s, err = f.bus.js.Stream(ctx, f.stream)
	}
	if err != nil {
		return nil, 0, err
	}
	info := s.CachedInfo()
	target = info.State.LastSeq
	cfg := jetstream.ConsumerConfig{
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubjects:    f.filters,
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		InactiveThreshold: followInactive,
		MemoryStorage:     true,
		Replicas:          1,
	}
	if !info.Created.Equal(f.created) || target < f.seen {
		f.seen = 0 // the stream is new or was reset, so all its messages are new
	}
	if f.begun && f.stream != f.bus.identityStream() {
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = f.seen + 1
	}
	cons, err = s.CreateConsumer(ctx, cfg)
	if err != nil {
		return nil, 0, err
	}
	f.created = info.Created
	return cons, target, nil
}

func (f *follower) deliver(raw jetstream.Msg) {
	m, err := f.bus.decode(raw)
	if err != nil {
		f.bus.log.Error("unreadable message", "subject", raw.Subject(), "error", err)
		return
	}
	m.Attempt = 1
	f.each(m)
}

// pass records that everything up to target was delivered. Later messages are new, and a
// later session must deliver all of them and not only the last of each subject.
func (f *follower) pass(target uint64) {
	f.begun = true
	f.seen = max(f.seen, target)
	if f.caughtUp != nil {
		f.caughtUp()
		f.caughtUp = nil
	}
}

// remove deletes the consumer, so that the server does not wait for its inactivity.
func (f *follower) remove(ctx context.Context, cons jetstream.Consumer) {
	if !f.bus.Connected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = f.bus.js.DeleteConsumer(ctx, f.stream, cons.CachedInfo().Name)
}
