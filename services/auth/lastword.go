package auth

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Of the identity subjects the stream keeps the last word, and a verifier that
// starts believes it. A process that dies with events in its hands leaves them to
// another, which publishes them half a minute later: after newer ones of the same
// subject. lastWords hears such a word and says the newest again.
type lastWords struct {
	db     *pg.DB
	outbox *outbox.Outbox
	log    *slog.Logger
}

// word is what was last said on a subject, and its place in the order of words.
type word struct {
	order   int64
	payload proto.Message
}

// follow watches the identity subjects until ctx ends. Every replica does; to say
// the same again harms nobody.
func (l *lastWords) follow(b *bus.Bus) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		newest := map[string]word{}
		each := func(m bus.Message) {
			w, err := wordOf(m)
			if err != nil {
				l.log.Error("identity event not understood", "subject", m.Subject, "event", m.ID.String(), "error", err.Error())
				return
			}
			known, ok := newest[m.Subject]
			if !ok || w.order >= known.order {
				newest[m.Subject] = w
				return
			}
			l.log.Warn("an identity event came after a newer one, which is published again", "subject", m.Subject)
			l.repeat(ctx, m.Subject, known)
		}
		return b.Follow(ctx, []string{keysSubjects, subjectRevoked + "*"}, each, nil)
	}
}

const keysSubjects = "auth.v1.signing_keys_changed.*"

// repeatAgain is how long it waits to say a word again after that failed.
const repeatAgain = time.Second

// repeat publishes a word again, trying until ctx ends: a wrong last word must not
// stay.
func (l *lastWords) repeat(ctx context.Context, subject string, w word) {
	for {
		err := l.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			return l.outbox.Append(ctx, tx, outbox.Event{Subject: subject, Payload: w.payload})
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		l.log.Warn("the newest identity event could not be published again", "subject", subject, "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(repeatAgain):
		}
	}
}

func wordOf(m bus.Message) (word, error) {
	if strings.HasPrefix(m.Subject, subjectRevoked) {
		var e authv1.CredentialRevoked
		err := proto.Unmarshal(m.Payload, &e)
		return word{order: e.GetMinGeneration(), payload: &e}, err
	}
	var e authv1.SigningKeysChanged
	err := proto.Unmarshal(m.Payload, &e)
	return word{order: e.GetVersion(), payload: &e}, err
}
