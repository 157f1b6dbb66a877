package token

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"google.golang.org/protobuf/proto"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/subjects"
)

// Follower delivers the last message of each subject, reports that it has done so, and delivers new
// messages until ctx ends. *bus.Bus is a Follower.
type Follower interface {
	Follow(ctx context.Context, subjects []string, each func(bus.Message), caughtUp func()) error
}

// Run keeps the keys and revocations up to date until ctx ends.
func (v *Verifier) Run(ctx context.Context, b Follower) error {
	return b.Follow(ctx, []string{subjects.SigningKeysChanged + "*", subjects.CredentialRevoked + "*"}, v.learn, v.caughtUp)
}

// learn applies one event. An event that cannot be read is logged and skipped: stopping would lock
// every caller out of every service.
func (v *Verifier) learn(m bus.Message) {
	var err error
	switch {
	case strings.HasPrefix(m.Subject, subjects.SigningKeysChanged):
		err = v.learnKeys(m.Payload)
	case strings.HasPrefix(m.Subject, subjects.CredentialRevoked):
		err = v.learnRevocation(m.Payload)
	}
	if err != nil {
		log := v.Log
		if log == nil {
			log = slog.Default()
		}
		log.Error("an identity event cannot be read and is skipped", "subject", m.Subject, "event", m.ID.String(), "error", err.Error())
	}
}

func (v *Verifier) learnKeys(payload []byte) error {
	var e authv1.SigningKeysChanged
	if err := proto.Unmarshal(payload, &e); err != nil {
		return err
	}
	keys := make([]JWK, 0, len(e.GetKeys()))
	for _, k := range e.GetKeys() {
		keys = append(keys, JWK{Kid: k.GetKid(), Kty: k.GetKty(), Crv: k.GetCrv(), X: k.GetX(), Alg: k.GetAlg(), Use: k.GetUse()})
	}
	return v.replaceKeys(e.GetVersion(), keys)
}

func (v *Verifier) learnRevocation(payload []byte) error {
	var e authv1.CredentialRevoked
	if err := proto.Unmarshal(payload, &e); err != nil {
		return err
	}
	if e.GetSubject() == "" {
		return errors.New("revocation without a credential")
	}
	v.Revoke(e.GetSubject(), e.GetMinGeneration())
	return nil
}
