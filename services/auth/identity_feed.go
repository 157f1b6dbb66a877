package auth

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Of the identity subjects the stream keeps the last word, and a verifier that
// starts believes it. Words can come out of order: two relays publish two changes
// of a moment, or a process dies with events in its hands, which another publishes
// half a minute later. The newer word may have left the stream by then, before
// anybody heard it. lastWords hears the older one, looks up in the database what
// the last word should be, and says it again.
type lastWords struct {
	db     *pg.DB
	outbox *outbox.Outbox
	keys   *keyring
	log    *slog.Logger
}

// follow watches the identity subjects until ctx ends. Every replica does; to say
// the same again harms nobody. What was said before is not looked up, for there can
// be a great deal of it: every start says again what may still matter.
func (l *lastWords) follow(b *bus.Bus) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		var caughtUp atomic.Bool
		each := func(m bus.Message) {
			order, err := orderOf(m)
			if err != nil {
				l.log.Error("identity event not understood", "subject", m.Subject, "event", m.ID.String(), "error", err.Error())
				return
			}
			if caughtUp.Load() {
				l.mend(ctx, m.Subject, order)
			}
		}
		return b.Follow(ctx, []string{keysSubjects, subjectRevoked + "*"}, each, func() { caughtUp.Store(true) })
	}
}

const keysSubjects = "auth.v1.signing_keys_changed.*"

// repeatAgain is how long it waits to mend again after that failed.
const repeatAgain = time.Second

// mend publishes the newest word of a subject where the one that was heard is
// older, trying until ctx ends: a wrong last word must not stay.
func (l *lastWords) mend(ctx context.Context, subject string, heard int64) {
	for {
		err := l.mendOnce(ctx, subject, heard)
		if err == nil || ctx.Err() != nil {
			return
		}
		l.log.Warn("the newest identity event could not be looked up or published again", "subject", subject, "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(repeatAgain):
		}
	}
}

func (l *lastWords) mendOnce(ctx context.Context, subject string, heard int64) error {
	credential, isRevocation := strings.CutPrefix(subject, subjectRevoked)
	if !isRevocation {
		version, err := pg.One[int64](ctx, l.db, pg.AllCompanies(), keysVersionSQL)
		if err != nil || version <= heard {
			return err
		}
		l.log.Warn("an identity event came after a newer one, which is published again", "subject", subject)
		return l.keys.start(ctx)
	}
	u, ok := subjectUUID(credential)
	if !ok {
		return nil // of a kind that a newer version has
	}
	generation, err := pg.One[int64](ctx, l.db, pg.AllCompanies(), generationSQL, u)
	if err != nil || generation <= heard {
		return err
	}
	l.log.Warn("an identity event came after a newer one, which is published again", "subject", subject)
	return l.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return l.outbox.Append(ctx, tx, revoked(credential, generation))
	})
}

// orderOf is the place of a word in the order of the words of its subject.
func orderOf(m bus.Message) (int64, error) {
	if strings.HasPrefix(m.Subject, subjectRevoked) {
		var e authv1.CredentialRevoked
		err := proto.Unmarshal(m.Payload, &e)
		return e.GetMinGeneration(), err
	}
	var e authv1.SigningKeysChanged
	err := proto.Unmarshal(m.Payload, &e)
	return e.GetVersion(), err
}

// republish announces again what was revoked while tokens of that time may still
// live: the stream that keeps the last words may be a new one.
func (s *Server) republish(ctx context.Context) error {
	since := s.now().Add(-longestToken - clockSkew)
	credentials, err := s.store.revokedSince(ctx, since)
	if err != nil {
		return err
	}
	administrators, err := s.store.revokedAdministrators(ctx, since)
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
	return s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		return s.outbox.Append(ctx, tx, events...)
	})
}
