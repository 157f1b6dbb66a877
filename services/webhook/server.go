package webhook

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// Server implements WebhookService. Endpoints are in this file, the log in server_log.go, and
// replays in server_replay.go.
type Server struct {
	webhookv1.UnimplementedWebhookServiceServer

	engine    *Engine
	store     *store
	catalogue message.Catalogue
	guard     *guard
	resolve   resolver
	now       func() time.Time
	newID     func() id.UUID
	// batch is the number of deliveries that one commit replays.
	batch int
}

// NewServer returns a server that sends test deliveries and wakes queues through engine.
func NewServer(engine *Engine) *Server {
	return &Server{
		engine: engine, store: engine.store, catalogue: message.NewCatalogue(), guard: engine.settings.guard(), resolve: systemResolver, now: engine.now, newID: id.NewUUID, batch: replayBatch,
	}
}

// subjectOf returns the company of a request and the identifier in it. what is the kind of thing
// ("endpoint") for the fault.
func subjectOf[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](ctx context.Context, text, what string) (company id.Company, subject T, err error) {
	if company, err = rpc.Tenant(ctx); err != nil {
		return company, subject, err
	}
	subject, err = check.ID[T, P](text, what)
	return company, subject, err
}

// resolveTime limits the lookup of a host name, because the caller waits for it.
const resolveTime = 3 * time.Second

// checkAddress rejects a URL whose host name resolves to an address to which requests are not
// allowed. A name that does not resolve is accepted, because it may be set up later. Every
// connection is checked again.
func (s *Server) checkAddress(ctx context.Context, text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	addrs, err := s.resolve(ctx, u.Hostname())
	if err != nil {
		return nil
	}
	refused := func(a netip.Addr) bool { return s.guard.check(a) != nil }
	if slices.ContainsFunc(addrs, refused) {
		return fault.InvalidFields(fault.Field{Field: "url", Rule: "address", Message: "must not lead to a private, local or reserved address"})
	}
	return nil
}

// CreateEndpoint implements WebhookService.
func (s *Server) CreateEndpoint(ctx context.Context, req *webhookv1.CreateEndpointRequest) (*webhookv1.CreateEndpointResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	now := pg.Instant(s.now())
	e, err := newEndpoint(id.WebhookEndpoint(s.newID()), endpointOf(req), s.guard, now)
	if err != nil {
		return nil, err
	}
	if err := s.checkAddress(ctx, e.URL); err != nil {
		return nil, err
	}
	secret := message.NewSecret(s.newID(), now)
	// The stored response has no secret, because stored responses are not encrypted.
	resp := &webhookv1.CreateEndpointResponse{}
	resp, err = idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.Endpoint = endpointMessage(e)
		if err := s.store.addEndpoint(ctx, tx, company, e, secret); err != nil {
			return err
		}
		return s.appendChange(ctx, tx, company, e)
	})
	if err != nil {
		return nil, err
	}
	if resp.GetEndpoint().GetId() == e.ID.String() {
		resp.Secret = secret.Text()
		return resp, nil
	}
	if err := s.addStoredSecret(ctx, company, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// addStoredSecret adds the secret to the replay of a response.
func (s *Server) addStoredSecret(ctx context.Context, company id.Company, resp *webhookv1.CreateEndpointResponse) error {
	endpoint, err := id.Parse[id.WebhookEndpoint](resp.GetEndpoint().GetId())
	if err != nil {
		return err
	}
	all, err := s.store.secrets(ctx, company, endpoint)
	if err == nil && len(all) > 0 {
		resp.Secret = all[0].Text()
	}
	return err
}

// GetEndpoint implements WebhookService.
func (s *Server) GetEndpoint(ctx context.Context, req *webhookv1.GetEndpointRequest) (*webhookv1.GetEndpointResponse, error) {
	company, endpoint, err := subjectOf[id.WebhookEndpoint](ctx, req.GetId(), "endpoint")
	if err != nil {
		return nil, err
	}
	e, err := s.store.endpoint(ctx, company, endpoint)
	if err != nil {
		return nil, err
	}
	return &webhookv1.GetEndpointResponse{Endpoint: endpointMessage(e)}, nil
}

// ListEndpoints implements WebhookService.
func (s *Server) ListEndpoints(ctx context.Context, _ *webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.store.endpoints(ctx, company)
	if err != nil {
		return nil, err
	}
	return &webhookv1.ListEndpointsResponse{Endpoints: endpointMessages(list)}, nil
}

// UpdateEndpoint implements WebhookService.
func (s *Server) UpdateEndpoint(ctx context.Context, req *webhookv1.UpdateEndpointRequest) (*webhookv1.UpdateEndpointResponse, error) {
	company, endpoint, err := subjectOf[id.WebhookEndpoint](ctx, req.GetId(), "endpoint")
	if err != nil {
		return nil, err
	}
	if req.Url != nil && len(req.GetUrl()) <= maxURL {
		if err := s.checkAddress(ctx, strings.TrimSpace(req.GetUrl())); err != nil && fault.Is(err, fault.Invalid) {
			return nil, err
		}
	}
	resp := &webhookv1.UpdateEndpointResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEndpoint(ctx, tx, company, endpoint)
		if err != nil {
			return err
		}
		if err := check.Version(e.Version, req.ExpectedVersion, "endpoint"); err != nil {
			return err
		}
		now, version := pg.Instant(s.now()), e.Version
		if err := e.update(changeOf(req), s.guard, now); err != nil {
			return err
		}
		resp.Endpoint = endpointMessage(e)
		tx.AfterCommit(func() { s.engine.Changed(endpointKey{company, endpoint}) })
		if err := s.store.saveEndpoint(ctx, tx, company, e, now); err != nil || e.Version == version {
			return err
		}
		return s.appendChange(ctx, tx, company, e)
	})
}

// appendChange adds a change of an endpoint to the audit log, if a credential makes it.
func (s *Server) appendChange(ctx context.Context, tx *pg.Tx, company id.Company, e Endpoint) error {
	return s.engine.outbox.AppendChange(ctx, tx, company, e.ID, outbox.Fact{Field: "url", Value: e.URL})
}

// DeleteEndpoint implements WebhookService.
func (s *Server) DeleteEndpoint(ctx context.Context, req *webhookv1.DeleteEndpointRequest) (*webhookv1.DeleteEndpointResponse, error) {
	company, endpoint, err := subjectOf[id.WebhookEndpoint](ctx, req.GetId(), "endpoint")
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.store, company, req, &webhookv1.DeleteEndpointResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEndpoint(ctx, tx, company, endpoint)
		if err != nil {
			return err
		}
		if err := check.Version(e.Version, req.ExpectedVersion, "endpoint"); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.engine.Changed(endpointKey{company, endpoint}) })
		if err := s.store.deleteEndpoint(ctx, tx, company, endpoint, pg.Instant(s.now())); err != nil {
			return err
		}
		return s.appendChange(ctx, tx, company, e)
	})
}

// GetSecret implements WebhookService.
func (s *Server) GetSecret(ctx context.Context, req *webhookv1.GetSecretRequest) (*webhookv1.GetSecretResponse, error) {
	company, endpoint, err := subjectOf[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint")
	if err != nil {
		return nil, err
	}
	if _, err := s.store.endpoint(ctx, company, endpoint); err != nil {
		return nil, err
	}
	secrets, err := s.validSecrets(ctx, company, endpoint)
	return &webhookv1.GetSecretResponse{Secrets: secrets}, err
}

// RotateSecret implements WebhookService. A retry with the same Idempotency-Key creates no second
// secret. It returns the secrets that are valid at that moment, because the stored response has none:
// it is not encrypted.
func (s *Server) RotateSecret(ctx context.Context, req *webhookv1.RotateSecretRequest) (*webhookv1.RotateSecretResponse, error) {
	company, endpoint, err := subjectOf[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint")
	if err != nil {
		return nil, err
	}
	resp, err := idem.Write(ctx, s.store, company, req, &webhookv1.RotateSecretResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEndpoint(ctx, tx, company, endpoint)
		if err != nil {
			return err
		}
		if err := check.Version(e.Version, req.ExpectedVersion, "endpoint"); err != nil {
			return err
		}
		now := pg.Instant(s.now())
		if !req.GetForce() {
			if err := s.store.refuseOverlap(ctx, tx, company, endpoint, now); err != nil {
				return err
			}
		}
		tx.AfterCommit(func() { s.engine.Changed(endpointKey{company, endpoint}) })
		if err := s.store.rotateSecret(ctx, tx, company, endpoint, message.NewSecret(s.newID(), now)); err != nil {
			return err
		}
		return s.appendChange(ctx, tx, company, e)
	})
	if err != nil {
		return nil, err
	}
	if resp.Secrets, err = s.validSecrets(ctx, company, endpoint); err != nil {
		return nil, err
	}
	return resp, nil
}

// validSecrets returns the secrets of an endpoint that are valid now, newest first.
func (s *Server) validSecrets(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint) ([]*webhookv1.Secret, error) {
	all, err := s.store.secrets(ctx, company, endpoint)
	return secretMessages(message.ValidSecrets(all, s.now())), err
}
