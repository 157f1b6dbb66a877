package webhook

import (
	"context"
	"net/url"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// Server answers the RPCs of WebhookService: endpoints here, the log in
// server_log.go.
type Server struct {
	webhookv1.UnimplementedWebhookServiceServer

	engine    *Engine
	store     *store
	catalogue message.Catalogue
	guard     *guard
	resolve   resolver
	now       func() time.Time
	newID     func() id.UUID
	// batch is how many deliveries one commit replays.
	batch int
}

// NewServer returns a server that sends tests and wakes through engine.
func NewServer(engine *Engine) *Server {
	return &Server{
		engine: engine, store: engine.store, catalogue: message.NewCatalogue(), guard: engine.settings.guard(), resolve: systemResolver, now: time.Now, newID: id.NewUUID, batch: replayBatch,
	}
}

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	const read, write = "webhooks:read", "webhooks:write"
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",

		webhookv1.WebhookService_CreateEndpoint_FullMethodName:   write,
		webhookv1.WebhookService_GetEndpoint_FullMethodName:      read,
		webhookv1.WebhookService_ListEndpoints_FullMethodName:    read,
		webhookv1.WebhookService_UpdateEndpoint_FullMethodName:   write,
		webhookv1.WebhookService_DeleteEndpoint_FullMethodName:   write,
		webhookv1.WebhookService_GetSecret_FullMethodName:        write,
		webhookv1.WebhookService_RotateSecret_FullMethodName:     write,
		webhookv1.WebhookService_SendTest_FullMethodName:         write,
		webhookv1.WebhookService_ListDeliveries_FullMethodName:   read,
		webhookv1.WebhookService_GetDelivery_FullMethodName:      read,
		webhookv1.WebhookService_ReplayDelivery_FullMethodName:   write,
		webhookv1.WebhookService_ReplayFailed_FullMethodName:     write,
		webhookv1.WebhookService_CountDeliveries_FullMethodName:  read,
		webhookv1.WebhookService_ReplayDeliveries_FullMethodName: write,
		webhookv1.WebhookService_GetStatistics_FullMethodName:    read,
	}
}

// named returns the tenant and the identifier that a request names. What is no
// identifier is answered like one that does not exist.
func named[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](ctx context.Context, text, what string) (id.Company, T, error) {
	var v T
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, v, err
	}
	if text == "" || P(&v).UnmarshalText([]byte(text)) != nil {
		return company, v, fault.Missing(what)
	}
	return company, v, nil
}

// instant is t as PostgreSQL keeps it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// resolveTime bounds the look at a name while somebody waits for the answer.
const resolveTime = 3 * time.Second

// address checks where the name of a URL leads at this moment. One that does not
// resolve may yet be set up; every connection is checked again.
func (s *Server) address(ctx context.Context, text string) error {
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
	var c checks
	for _, a := range addrs {
		if s.guard.check(a) != nil {
			c.add("url", "address", "must not lead to a private, local or reserved address")
			break
		}
	}
	return c.err()
}

// CreateEndpoint implements WebhookService.
func (s *Server) CreateEndpoint(ctx context.Context, req *webhookv1.CreateEndpointRequest) (*webhookv1.CreateEndpointResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var c checks
	e := Endpoint{URL: strings.TrimSpace(req.GetUrl()), Description: strings.TrimSpace(req.GetDescription()), Enabled: true, Version: 1}
	c.url(e.URL, s.guard)
	c.description(e.Description)
	e.Events = c.events("events", req.GetEvents())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.address(ctx, e.URL); err != nil {
		return nil, err
	}
	e.ID, e.CreatedAt = id.WebhookEndpoint(s.newID()), instant(s.now())
	e.UpdatedAt = e.CreatedAt
	if req.GetDisabled() {
		e.disable(disabledRequested, e.CreatedAt)
	}
	secret := message.NewSecret(s.newID(), e.CreatedAt)
	var resp *webhookv1.CreateEndpointResponse
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		// The secret is not kept with the answer, which is not encrypted.
		resp = &webhookv1.CreateEndpointResponse{}
		if err := idem.Do(ctx, tx, req, resp, func() error {
			resp.Endpoint = endpointMessage(e)
			return s.store.addEndpoint(ctx, tx, company, e, secret)
		}); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if resp.GetEndpoint().GetId() == e.ID.String() {
		resp.Secret = secret.Text()
		return resp, nil
	}
	return resp, s.repeatedSecret(ctx, company, resp)
}

// repeatedSecret completes the answer to a repeated request.
func (s *Server) repeatedSecret(ctx context.Context, company id.Company, resp *webhookv1.CreateEndpointResponse) error {
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
	company, endpoint, err := named[id.WebhookEndpoint](ctx, req.GetId(), "endpoint")
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
	resp := &webhookv1.ListEndpointsResponse{}
	for _, e := range list {
		resp.Endpoints = append(resp.Endpoints, endpointMessage(e))
	}
	return resp, nil
}

// UpdateEndpoint implements WebhookService.
func (s *Server) UpdateEndpoint(ctx context.Context, req *webhookv1.UpdateEndpointRequest) (*webhookv1.UpdateEndpointResponse, error) {
	company, endpoint, err := named[id.WebhookEndpoint](ctx, req.GetId(), "endpoint")
	if err != nil {
		return nil, err
	}
	if req.Url != nil && len(req.GetUrl()) <= maxURL {
		if err := s.address(ctx, strings.TrimSpace(req.GetUrl())); err != nil && fault.Is(err, fault.Invalid) {
			return nil, err
		}
	}
	var resp *webhookv1.UpdateEndpointResponse
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		resp = &webhookv1.UpdateEndpointResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			e, err := s.store.lockEndpoint(ctx, tx, company, endpoint)
			if err != nil {
				return err
			}
			if req.ExpectedVersion != nil && req.GetExpectedVersion() != e.Version {
				return fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the endpoint has changed since it was read")
			}
			now := instant(s.now())
			if err := e.update(req, s.guard, now); err != nil {
				return err
			}
			e.Version++
			e.UpdatedAt = now
			resp.Endpoint = endpointMessage(e)
			return s.store.saveEndpoint(ctx, tx, company, e, now)
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// update changes what a request sets and checks it.
func (e *Endpoint) update(req *webhookv1.UpdateEndpointRequest, g *guard, now time.Time) error {
	var c checks
	if req.Url != nil {
		e.URL = strings.TrimSpace(req.GetUrl())
		c.url(e.URL, g)
	}
	if req.Description != nil {
		e.Description = strings.TrimSpace(req.GetDescription())
		c.description(e.Description)
	}
	if req.GetEvents() != nil {
		e.Events = c.events("events", req.GetEvents().GetTypes())
	}
	if req.Enabled != nil {
		if req.GetEnabled() {
			e.enable()
		} else {
			e.disable(disabledRequested, now)
		}
	}
	return c.err()
}

// DeleteEndpoint implements WebhookService.
func (s *Server) DeleteEndpoint(ctx context.Context, req *webhookv1.DeleteEndpointRequest) (*webhookv1.DeleteEndpointResponse, error) {
	company, endpoint, err := named[id.WebhookEndpoint](ctx, req.GetId(), "endpoint")
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.DeleteEndpointResponse{}
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			return s.store.deleteEndpoint(ctx, tx, company, endpoint, instant(s.now()))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GetSecret implements WebhookService.
func (s *Server) GetSecret(ctx context.Context, req *webhookv1.GetSecretRequest) (*webhookv1.GetSecretResponse, error) {
	company, endpoint, err := named[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint")
	if err != nil {
		return nil, err
	}
	if _, err := s.store.endpoint(ctx, company, endpoint); err != nil {
		return nil, err
	}
	all, err := s.store.secrets(ctx, company, endpoint)
	if err != nil {
		return nil, err
	}
	return &webhookv1.GetSecretResponse{Secrets: secretMessages(message.ValidSecrets(all, s.now()))}, nil
}

// RotateSecret implements WebhookService. It is not repeated by its idempotency
// key beyond what the key of the new secret says: the answer is read anew.
func (s *Server) RotateSecret(ctx context.Context, req *webhookv1.RotateSecretRequest) (*webhookv1.RotateSecretResponse, error) {
	company, endpoint, err := named[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint")
	if err != nil {
		return nil, err
	}
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		// The answer that is kept has no secrets, as it is not encrypted.
		return idem.Do(ctx, tx, req, &webhookv1.RotateSecretResponse{}, func() error {
			if _, err := s.store.lockEndpoint(ctx, tx, company, endpoint); err != nil {
				return err
			}
			return s.store.rotateSecret(ctx, tx, company, endpoint, message.NewSecret(s.newID(), instant(s.now())))
		})
	})
	if err != nil {
		return nil, err
	}
	all, err := s.store.secrets(ctx, company, endpoint)
	if err != nil {
		return nil, err
	}
	return &webhookv1.RotateSecretResponse{Secrets: secretMessages(message.ValidSecrets(all, s.now()))}, nil
}
