package auth

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

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

// changeClient is changeOnce for an API client. answer puts the changed client
// into resp.
func (s *Server) changeClient(
	ctx context.Context, company id.Company, client id.UUID, action string, req, resp proto.Message,
	decide func(c *Credential, now time.Time) bool, answer func(*authv1.ApiClient),
) error {
	return s.changeOnce(ctx, company, client, kindClient, action, req, resp, decide, func(c Credential) { answer(clientMessage(c, s.now())) })
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
