package auth

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// The answers that carry a secret are not kept for idempotency keys: a secret is
// in no row. A caller who lost such an answer rotates.

// CreateApiClient implements ApiClientService.
func (s *Server) CreateApiClient(ctx context.Context, req *authv1.CreateApiClientRequest) (*authv1.CreateApiClientResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	c := Credential{
		Company: company, Kind: kindClient, Name: check.text("name", req.GetName(), 1, maxName),
		Description: check.text("description", req.GetDescription(), 0, maxDescription),
		Scopes:      check.scopes("scopes", req.GetScopes(), interfaceAScopes()), RateLimit: req.RateLimit,
	}
	c.ExpiresAt = check.expiry(req.ExpiresAfterDays, s.instant())
	check.rateLimit(req.RateLimit, 1)
	if err := check.err(); err != nil {
		return nil, err
	}
	resp := &authv1.CreateApiClientResponse{}
	secret, err := s.shown(ctx, company, req, resp, func(ctx context.Context, tx *pg.Tx) (string, error) {
		secret, err := s.createCredential(ctx, tx, &c, "api_client.create")
		resp.ApiClient = clientMessage(c, s.now())
		return secret, err
	})
	if err != nil {
		return nil, err
	}
	resp.ClientSecret = secret
	return resp, nil
}

// shown runs do, which fills resp and makes a secret, once per idempotency key. To
// a repetition the secret is "": it is in no answer that is kept.
func (s *Server) shown(
	ctx context.Context, company id.Company, req, resp proto.Message, do func(ctx context.Context, tx *pg.Tx) (secret string, err error),
) (secret string, err error) {
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		secret = "" // of a run that did not commit
		return idem.Do(ctx, tx, req, resp, func() (err error) {
			secret, err = do(ctx, tx)
			return err
		})
	})
	return secret, err
}

// createCredential gives a credential its identifier and secret, and stores it.
func (s *Server) createCredential(ctx context.Context, tx *pg.Tx, c *Credential, action string) (secret string, err error) {
	now := s.instant()
	c.ID, c.Generation, c.Version, c.CreatedAt, c.RotatedAt = s.newID(), 1, 1, now, now
	secret, c.SecretHash = newSecret()
	// The company of a token is one that exists; that of a platform credential's
	// metadata may not be.
	if !c.Company.IsZero() {
		if _, err := s.store.lockCompany(ctx, tx, c.Company); err != nil {
			return "", err
		}
	}
	if err := s.mayGrant(ctx, tx, Credential{}, *c); err != nil {
		return "", err
	}
	return secret, errors.Join(
		s.store.insertCredential(ctx, tx, *c),
		s.store.audit(ctx, tx, c.Company, now, rpc.Caller(ctx), action, c.Subject(), present(c.facts())...))
}

// GetApiClient implements ApiClientService.
func (s *Server) GetApiClient(ctx context.Context, req *authv1.GetApiClientRequest) (*authv1.GetApiClientResponse, error) {
	company, client, err := namedClient(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := s.store.credential(ctx, company, client, kindClient)
	if err != nil {
		return nil, err
	}
	return &authv1.GetApiClientResponse{ApiClient: clientMessage(c, s.now())}, nil
}

// ListApiClients implements ApiClientService.
func (s *Server) ListApiClients(ctx context.Context, req *authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	list, next, err := s.listCredentials(ctx, company, kindClient, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListApiClientsResponse{NextPageToken: next}
	for _, c := range list {
		resp.ApiClients = append(resp.ApiClients, clientMessage(c, s.now()))
	}
	return resp, nil
}

func (s *Server) listCredentials(ctx context.Context, company id.Company, kind string, pageSize int32, pageToken string) (list []Credential, next string, err error) {
	size, after, err := page(pageSize, pageToken)
	if err != nil {
		return nil, "", err
	}
	if list, err = s.store.credentials(ctx, company, kind, after, size+1); err != nil {
		return nil, "", err
	}
	if len(list) > size {
		list = list[:size]
		next = list[size-1].ID.String()
	}
	return list, next, nil
}

// UpdateApiClient implements ApiClientService.
func (s *Server) UpdateApiClient(ctx context.Context, req *authv1.UpdateApiClientRequest) (*authv1.UpdateApiClientResponse, error) {
	company, client, err := namedClient(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var check checks
	var name, description string
	var scopes []string
	if req.Name != nil {
		name = check.text("name", req.GetName(), 1, maxName)
	}
	if req.Description != nil {
		description = check.text("description", req.GetDescription(), 0, maxDescription)
	}
	if len(req.GetScopes()) > 0 {
		scopes = check.scopes("scopes", req.GetScopes(), interfaceAScopes())
	}
	check.rateLimit(req.RateLimit, 0)
	if err := check.err(); err != nil {
		return nil, err
	}
	resp := &authv1.UpdateApiClientResponse{}
	err = s.changeClient(ctx, company, client, "api_client.update", req, resp, func(c *Credential, now time.Time) bool {
		if req.Name != nil {
			c.Name = name
		}
		if req.Description != nil {
			c.Description = description
		}
		narrower := scopes != nil && c.rescope(scopes)
		// The limit is in the tokens, so that another one takes new tokens.
		limited := req.RateLimit != nil && c.relimit(req.GetRateLimit())
		if narrower || limited {
			c.revoke(now)
		}
		return true
	}, func(c *authv1.ApiClient) { resp.ApiClient = c })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RotateApiClientSecret implements ApiClientService.
func (s *Server) RotateApiClientSecret(ctx context.Context, req *authv1.RotateApiClientSecretRequest) (*authv1.RotateApiClientSecretResponse, error) {
	company, client, err := namedClient(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.RotateApiClientSecretResponse{}
	secret, err := s.shown(ctx, company, req, resp, func(ctx context.Context, tx *pg.Tx) (string, error) {
		c, secret, err := s.rotateCredential(ctx, tx, company, client, kindClient, "api_client.rotate")
		resp.ApiClient = clientMessage(c, s.now())
		return secret, err
	})
	if err != nil {
		return nil, err
	}
	resp.ClientSecret = secret
	return resp, nil
}

// DisableApiClient implements ApiClientService.
func (s *Server) DisableApiClient(ctx context.Context, req *authv1.DisableApiClientRequest) (*authv1.DisableApiClientResponse, error) {
	company, client, err := namedClient(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.DisableApiClientResponse{}
	err = s.changeClient(ctx, company, client, "api_client.disable", req, resp, disable, func(c *authv1.ApiClient) { resp.ApiClient = c })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func disable(c *Credential, now time.Time) bool {
	if c.DisabledAt != nil {
		return false
	}
	c.DisabledAt = &now
	c.revoke(now)
	return true
}

func enable(c *Credential, _ time.Time) bool {
	if c.DisabledAt == nil {
		return false
	}
	c.DisabledAt = nil
	return true
}

func remove(c *Credential, now time.Time) bool {
	c.DeletedAt = &now
	c.revoke(now)
	return true
}

// EnableApiClient implements ApiClientService.
func (s *Server) EnableApiClient(ctx context.Context, req *authv1.EnableApiClientRequest) (*authv1.EnableApiClientResponse, error) {
	company, client, err := namedClient(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.EnableApiClientResponse{}
	err = s.changeClient(ctx, company, client, "api_client.enable", req, resp, enable, func(c *authv1.ApiClient) { resp.ApiClient = c })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// DeleteApiClient implements ApiClientService.
func (s *Server) DeleteApiClient(ctx context.Context, req *authv1.DeleteApiClientRequest) (*authv1.DeleteApiClientResponse, error) {
	company, client, err := namedClient(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.DeleteApiClientResponse{}
	err = s.changeClient(ctx, company, client, "api_client.delete", req, resp, remove, func(*authv1.ApiClient) {})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// changeCredential locks, decides, saves, and publishes a raised generation, all
// in one commit. decide reports whether it changed anything.
func (s *Server) changeCredential(ctx context.Context, company id.Company, credential id.UUID, kind, action string, decide func(c *Credential, now time.Time) bool) (c Credential, err error) {
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		c, err = s.changeInTx(ctx, tx, company, credential, kind, action, decide)
		return err
	})
	return c, err
}

// changeOnce is changeCredential, once per idempotency key. answer puts the changed
// credential into resp.
func (s *Server) changeOnce(
	ctx context.Context, company id.Company, credential id.UUID, kind, action string, req, resp proto.Message,
	decide func(c *Credential, now time.Time) bool, answer func(Credential),
) error {
	return s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			c, err := s.changeInTx(ctx, tx, company, credential, kind, action, decide)
			answer(c)
			return err
		})
	})
}

// changeClient is changeOnce for an API client. answer puts the changed client
// into resp.
func (s *Server) changeClient(
	ctx context.Context, company id.Company, client id.UUID, action string, req, resp proto.Message,
	decide func(c *Credential, now time.Time) bool, answer func(*authv1.ApiClient),
) error {
	return s.changeOnce(ctx, company, client, kindClient, action, req, resp, decide, func(c Credential) { answer(clientMessage(c, s.now())) })
}

func (s *Server) changeInTx(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, kind, action string, decide func(c *Credential, now time.Time) bool) (Credential, error) {
	c, err := s.store.lockCredential(ctx, tx, company, credential, kind)
	if err != nil {
		return c, err
	}
	before, now := c, s.instant()
	if !decide(&c, now) {
		return c, nil
	}
	if err := s.mayGrant(ctx, tx, before, c); err != nil {
		return before, err
	}
	c.Version++
	details := differences(before.facts(), c.facts())
	if len(details) == 0 {
		details = c.named()
	}
	err = errors.Join(
		s.store.updateCredential(ctx, tx, c),
		s.store.audit(ctx, tx, company, now, rpc.Caller(ctx), action, c.Subject(), details...))
	if err == nil && c.Generation != before.Generation {
		err = s.outbox.Append(ctx, tx, revoked(c.Subject(), c.Generation))
	}
	return c, err
}

func (s *Server) rotateCredential(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, kind, action string) (c Credential, secret string, err error) {
	c, err = s.changeInTx(ctx, tx, company, credential, kind, action, func(c *Credential, now time.Time) bool {
		secret = c.rotate(now)
		return true
	})
	return c, secret, err
}

// CreateServiceCredential implements ServiceCredentialService.
func (s *Server) CreateServiceCredential(ctx context.Context, req *authv1.CreateServiceCredentialRequest) (*authv1.CreateServiceCredentialResponse, error) {
	var check checks
	c := Credential{Kind: kindService, Name: check.text("name", req.GetName(), 1, maxName)}
	known := serviceScopes()
	if req.GetPlatform() {
		if err := platformOnly(ctx); err != nil {
			return nil, err
		}
		known = append(known, token.Admin)
	} else {
		company, err := rpc.Tenant(ctx)
		if err != nil {
			return nil, err
		}
		c.Company = company
	}
	c.Scopes = check.scopes("scopes", req.GetScopes(), known)
	if err := check.err(); err != nil {
		return nil, err
	}
	resp := &authv1.CreateServiceCredentialResponse{}
	secret, err := s.shown(ctx, c.Company, req, resp, func(ctx context.Context, tx *pg.Tx) (string, error) {
		secret, err := s.createCredential(ctx, tx, &c, "service_credential.create")
		resp.ServiceCredential = serviceMessage(c, s.now())
		return secret, err
	})
	if err != nil {
		return nil, err
	}
	resp.Secret = secret
	return resp, nil
}

// ListServiceCredentials implements ServiceCredentialService.
func (s *Server) ListServiceCredentials(ctx context.Context, req *authv1.ListServiceCredentialsRequest) (*authv1.ListServiceCredentialsResponse, error) {
	company, err := tenantOrPlatform(ctx)
	if err != nil {
		return nil, err
	}
	list, next, err := s.listCredentials(ctx, company, kindService, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListServiceCredentialsResponse{NextPageToken: next}
	for _, c := range list {
		resp.ServiceCredentials = append(resp.ServiceCredentials, serviceMessage(c, s.now()))
	}
	return resp, nil
}

// RotateServiceCredential implements ServiceCredentialService.
func (s *Server) RotateServiceCredential(ctx context.Context, req *authv1.RotateServiceCredentialRequest) (*authv1.RotateServiceCredentialResponse, error) {
	company, credential, err := namedService(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.RotateServiceCredentialResponse{}
	secret, err := s.shown(ctx, company, req, resp, func(ctx context.Context, tx *pg.Tx) (string, error) {
		c, secret, err := s.rotateCredential(ctx, tx, company, credential, kindService, "service_credential.rotate")
		resp.ServiceCredential = serviceMessage(c, s.now())
		return secret, err
	})
	if err != nil {
		return nil, err
	}
	resp.Secret = secret
	return resp, nil
}

// DisableServiceCredential implements ServiceCredentialService.
func (s *Server) DisableServiceCredential(ctx context.Context, req *authv1.DisableServiceCredentialRequest) (*authv1.DisableServiceCredentialResponse, error) {
	company, credential, err := namedService(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.DisableServiceCredentialResponse{}
	err = s.changeOnce(ctx, company, credential, kindService, "service_credential.disable", req, resp, disable, func(c Credential) {
		resp.ServiceCredential = serviceMessage(c, s.now())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// tenantOrPlatform returns the company of a request; a platform credential that
// names none means the platform's own.
func tenantOrPlatform(ctx context.Context) (id.Company, error) {
	if isPlatform(ctx) {
		return id.Company{}, nil
	}
	return rpc.Tenant(ctx)
}

// platformOnly refuses a call that is not the platform's own.
func platformOnly(ctx context.Context) error {
	if !rpc.ClaimsFrom(ctx).IsAdmin() {
		return fault.MissingScope(token.Admin)
	}
	if !isPlatform(ctx) {
		return fault.New(fault.Forbidden, fault.ReasonForbidden, "a credential of the platform is made by a call that names no company")
	}
	return nil
}

func namedClient(ctx context.Context, text string) (id.Company, id.UUID, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, id.UUID{}, err
	}
	client, err := id.Parse[id.APIClient](text)
	if err != nil {
		return company, id.UUID{}, fault.Missing("credential")
	}
	return company, client.UUID(), nil
}

func namedService(ctx context.Context, text string) (id.Company, id.UUID, error) {
	company, err := tenantOrPlatform(ctx)
	if err != nil {
		return company, id.UUID{}, err
	}
	credential, err := id.Parse[id.ServiceCredential](text)
	if err != nil {
		return company, id.UUID{}, fault.Missing("credential")
	}
	return company, credential.UUID(), nil
}
