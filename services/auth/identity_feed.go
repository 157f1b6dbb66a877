package auth

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
)

// identityFeed keeps the identity stream correct. The stream has only the latest event of each
// subject, and a verifier that starts trusts it. Events can arrive out of order: two relays publish
// two changes of the same moment, or a process stops after it has claimed events and another
// process publishes them half a minute later. The older event can then replace the newer one in the
// stream before anybody has read it. The feed reads the older event, looks up in the database what
// the latest event should be, and publishes that again.
type identityFeed struct {
	store  *store
	outbox *outbox.Outbox
	keys   *keyring
	log    *slog.Logger
	now    func() time.Time
}

// identityFeed returns the feed for the events of the server.
func (s *Server) identityFeed() *identityFeed {
	return &identityFeed{store: s.store, outbox: s.outbox, keys: s.keys, log: s.log, now: s.instant}
}

// republish publishes again every revocation whose tokens may still be alive, because the stream
// may be new.
func (f *identityFeed) republish(ctx context.Context) error {
	since := f.now().Add(-longestToken - clockSkew)
	credentials, err := f.store.revokedSince(ctx, since)
	if err != nil {
		return err
	}
	administrators, err := f.store.revokedAdministrators(ctx, since)
	if err != nil {
		return err
	}
	publishable, err := f.store.revokedPublishableKeys(ctx, since)
	if err != nil {
		return err
	}
	var events []outbox.Event
	for _, c := range credentials {
		events = append(events, revoked(c.Subject(), c.Generation))
	}
	for _, a := range administrators {
		events = append(events, revoked(a.ID.String(), a.Generation))
	}
	for _, k := range publishable {
		events = append(events, revoked(k.ID.String(), k.Generation))
	}
	return f.publish(ctx, events...)
}

func (f *identityFeed) publish(ctx context.Context, events ...outbox.Event) error {
	return f.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		return f.outbox.Append(ctx, tx, events...)
	})
}

// follow watches the identity subjects until ctx ends. Every replica does; publishing the same
// event twice does no harm. It does not check events from before the start, because there can be
// very many: republish has published those that still matter.
func (f *identityFeed) follow(b *bus.Bus) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		var caughtUp atomic.Bool
		each := func(m bus.Message) {
			order, err := orderOf(m)
			if err != nil {
				f.log.Error("an identity event cannot be read and is skipped", "subject", m.Subject, "event", m.ID.String(), "error", err.Error())
				return
			}
			if caughtUp.Load() {
				f.correct(ctx, m.Subject, order)
			}
		}
		return b.Follow(ctx, []string{keysSubjects, subjectRevoked + "*"}, each, func() { caughtUp.Store(true) })
	}
}

// correctionPause is the pause before correct retries.
const correctionPause = time.Second

// correct publishes the newest event of a subject if the event that was read is older. It retries
// until ctx ends, because the stream must not keep the older event.
func (f *identityFeed) correct(ctx context.Context, subject string, order int64) {
	for {
		err := f.correctOnce(ctx, subject, order)
		if err == nil || ctx.Err() != nil {
			return
		}
		f.log.Warn("the latest identity event cannot be looked up or published again; retrying", "subject", subject, "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(correctionPause):
		}
	}
}

func (f *identityFeed) correctOnce(ctx context.Context, subject string, order int64) error {
	holder, isRevocation := strings.CutPrefix(subject, subjectRevoked)
	if !isRevocation {
		version, err := f.store.keySetVersion(ctx)
		if err != nil || version <= order {
			return err
		}
		f.warnOfOrder(subject)
		return f.keys.start(ctx)
	}
	u, ok := subjectUUID(holder)
	if !ok {
		return nil // a kind of holder from a newer release
	}
	generation, err := f.store.generation(ctx, u)
	if err != nil || generation <= order {
		return err
	}
	f.warnOfOrder(subject)
	return f.publish(ctx, revoked(holder, generation))
}

func (f *identityFeed) warnOfOrder(subject string) {
	f.log.Warn("an identity event arrived after a newer one; the newer one was published again", "subject", subject)
}
