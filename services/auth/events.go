package auth

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/pg"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// The events that the auth service publishes. It consumes its own keys, erasures, the changes that
// credentials make in the other services, and what the gateways publish for the request log.
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

// requestsConsumer is the name of the consumer of RequestsReceived.
const requestsConsumer = "auth_request_log"

// requestsBatch is how many batches of a gateway are stored at a time. A batch has at most 500 requests.
const requestsBatch = 8

// consumeRequests stores what the gateways publish for the request log.
func (s *Server) consumeRequests(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: requestsConsumer, Subjects: []string{subjects.RequestsReceived}, Batch: requestsBatch, Handle: s.storeRequests,
	})
}

// storeRequests stores the requests of some batches. It needs no inbox, because a request that is stored
// already stays as it is.
func (s *Server) storeRequests(ctx context.Context, msgs []bus.Message) error {
	var list []LoggedRequest
	for _, m := range msgs {
		var batch authv1.RequestsReceived
		if err := proto.Unmarshal(m.Payload, &batch); err != nil {
			s.log.Error("a batch of the request log cannot be read", "batch", m.ID.String(), "error", err.Error())
			continue
		}
		for _, received := range batch.GetRequests() {
			if r, ok := receivedRequest(received); ok {
				list = append(list, r)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return s.store.insertRequests(ctx, list)
}

// The consumer of the changes that credentials make. It reads every event, because only its headers show
// who caused it.
const (
	changesConsumer = "auth-audit"
	changesBatch    = 500
)

// changeSubjects returns the subjects of the events of the services that have an audit entry.
func changeSubjects() []string {
	return []string{"booking.v1.*", "customer.v1.*", "media.v1.*", "pass.v1.*", "subscription.v1.*", "webhook.v1.*"}
}

// consumeChanges adds the changes that credentials make to the audit log.
func (s *Server) consumeChanges(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{Name: changesConsumer, Subjects: changeSubjects(), Batch: changesBatch, Handle: s.storeChanges})
}

// storeChanges stores the audit entries of events. It needs no inbox, because the entry has the identifier of
// its event, so an event that is delivered again changes nothing.
func (s *Server) storeChanges(ctx context.Context, msgs []bus.Message) error {
	var list []Entry
	for _, m := range msgs {
		e, ok, err := entryOfChange(m)
		if err != nil {
			s.log.Error("an event cannot be added to the audit log", "event", m.ID.String(), "subject", m.Subject, "error", err.Error())
			continue
		}
		if ok {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error { return s.store.insertChanges(ctx, tx, list) })
}
