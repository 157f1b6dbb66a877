package auth

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// The events that the auth service publishes. It consumes only its own keys and erasures.
const (
	subjectCompanyCreated = subjects.CompanyCreated
	subjectCompanyUpdated = subjects.CompanyUpdated
	subjectRevoked        = subjects.CredentialRevoked // followed by the credential's identifier
	subjectKeysChanged    = subjects.SigningKeysChanged + "all"
	subjectDataErased     = "auth.v1.customer_data_erased"

	keysSubjects = subjects.SigningKeysChanged + "*"
)

func companyCreated(c Company) outbox.Event {
	return outbox.Event{Company: c.ID, Subject: subjectCompanyCreated, OccurredAt: c.UpdatedAt,
		Payload: &authv1.CompanyCreated{Company: companySnapshot(c)}}
}

func companyUpdated(c Company) outbox.Event {
	return outbox.Event{Company: c.ID, Subject: subjectCompanyUpdated, OccurredAt: c.UpdatedAt,
		Payload: &authv1.CompanyUpdated{Company: companySnapshot(c)}}
}

// revoked concerns every verifier, so the event has no company.
func revoked(subject string, generation int64) outbox.Event {
	return outbox.Event{Subject: subjectRevoked + subject, Payload: &authv1.CredentialRevoked{
		Subject: subject, MinGeneration: generation,
	}}
}

func keysChanged(version int64, keys []signingKey) outbox.Event {
	payload := &authv1.SigningKeysChanged{Version: version}
	for _, k := range keys {
		jwk := token.NewJWK(k.KID, k.Public)
		payload.Keys = append(payload.Keys, &authv1.JsonWebKeySnapshot{
			Kid: jwk.Kid, Kty: jwk.Kty, Crv: jwk.Crv, X: jwk.X, Alg: jwk.Alg, Use: jwk.Use,
		})
	}
	return outbox.Event{Company: id.Company{}, Subject: subjectKeysChanged, Payload: payload}
}

// orderOf returns the position of an identity event among those of its subject: its generation or
// version.
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
