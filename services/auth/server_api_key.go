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

// CreateApiKey implements ApiKeyService.
func (s *Server) CreateApiKey(ctx context.Context, req *authv1.CreateApiKeyRequest) (*authv1.CreateApiKeyResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	c := Credential{
		Company: company, Kind: kindKey, Name: check.text("name", req.GetName(), 1, maxName),
		Description: check.text("description", req.GetDescription(), 0, maxDescription),
		Scopes:      []string{everything}, RateLimit: req.RateLimit,
	}
	if len(req.GetPermissions()) > 0 {
		c.Scopes = check.permissions("permissions", req.GetPermissions())
	}
	c.ExpiresAt = check.expiry(req.ExpiresAfterDays, s.instant())
	check.rateLimit(req.RateLimit, 1)
	if err := check.err(); err != nil {
		return nil, err
	}
	resp := &authv1.CreateApiKeyResponse{}
	secret, err := s.shown(ctx, company, req, resp, func(ctx context.Context, tx *pg.Tx) (string, error) {
		secret, err := s.createCredential(ctx, tx, &c, "api_key.create")
		resp.ApiKey = apiKeyMessage(c, s.now())
		return secret, err
	})
	if err != nil {
		return nil, err
	}
	resp.ApiSecret = secret
	return resp, nil
}

// GetApiKey implements ApiKeyService.
func (s *Server) GetApiKey(ctx context.Context, req *authv1.GetApiKeyRequest) (*authv1.GetApiKeyResponse, error) {
	company, key, err := namedKey(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := s.store.credential(ctx, company, key, kindKey)
	if err != nil {
		return nil, err
	}
	return &authv1.GetApiKeyResponse{ApiKey: apiKeyMessage(c, s.now())}, nil
}

// ListApiKeys implements ApiKeyService.
func (s *Server) ListApiKeys(ctx context.Context, req *authv1.ListApiKeysRequest) (*authv1.ListApiKeysResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	list, next, err := s.listCredentials(ctx, company, kindKey, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListApiKeysResponse{NextPageToken: next}
	for _, c := range list {
		resp.ApiKeys = append(resp.ApiKeys, apiKeyMessage(c, s.now()))
	}
	return resp, nil
}

// UpdateApiKey implements ApiKeyService.
func (s *Server) UpdateApiKey(ctx context.Context, req *authv1.UpdateApiKeyRequest) (*authv1.UpdateApiKeyResponse, error) {
	company, key, err := namedKey(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var check checks
	var name, description string
	var permissions []string
	if req.Name != nil {
		name = check.text("name", req.GetName(), 1, maxName)
	}
	if req.Description != nil {
		description = check.text("description", req.GetDescription(), 0, maxDescription)
	}
	if len(req.GetPermissions()) > 0 {
		permissions = check.permissions("permissions", req.GetPermissions())
	}
	check.rateLimit(req.RateLimit, 0)
	if err := check.err(); err != nil {
		return nil, err
	}
	resp := &authv1.UpdateApiKeyResponse{}
	err = s.changeKey(ctx, company, key, "api_key.update", req, resp, func(c *Credential, now time.Time) bool {
		if req.Name != nil {
			c.Name = name
		}
		if req.Description != nil {
			c.Description = description
		}
		narrower := permissions != nil && c.rescope(permissions)
		// The limit is in the tokens, so that another one takes new tokens.
		limited := req.RateLimit != nil && c.relimit(req.GetRateLimit())
		if narrower || limited {
			c.revoke(now)
		}
		return true
	}, func(k *authv1.ApiKey) { resp.ApiKey = k })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RotateApiKeySecret implements ApiKeyService.
func (s *Server) RotateApiKeySecret(ctx context.Context, req *authv1.RotateApiKeySecretRequest) (*authv1.RotateApiKeySecretResponse, error) {
	company, key, err := namedKey(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.RotateApiKeySecretResponse{}
	secret, err := s.shown(ctx, company, req, resp, func(ctx context.Context, tx *pg.Tx) (string, error) {
		c, secret, err := s.rotateCredential(ctx, tx, company, key, kindKey, "api_key.rotate")
		resp.ApiKey = apiKeyMessage(c, s.now())
		return secret, err
	})
	if err != nil {
		return nil, err
	}
	resp.ApiSecret = secret
	return resp, nil
}

// DisableApiKey implements ApiKeyService.
func (s *Server) DisableApiKey(ctx context.Context, req *authv1.DisableApiKeyRequest) (*authv1.DisableApiKeyResponse, error) {
	company, key, err := namedKey(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.DisableApiKeyResponse{}
	err = s.changeKey(ctx, company, key, "api_key.disable", req, resp, disable, func(k *authv1.ApiKey) { resp.ApiKey = k })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// EnableApiKey implements ApiKeyService.
func (s *Server) EnableApiKey(ctx context.Context, req *authv1.EnableApiKeyRequest) (*authv1.EnableApiKeyResponse, error) {
	company, key, err := namedKey(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.EnableApiKeyResponse{}
	err = s.changeKey(ctx, company, key, "api_key.enable", req, resp, enable, func(k *authv1.ApiKey) { resp.ApiKey = k })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// DeleteApiKey implements ApiKeyService.
func (s *Server) DeleteApiKey(ctx context.Context, req *authv1.DeleteApiKeyRequest) (*authv1.DeleteApiKeyResponse, error) {
	company, key, err := namedKey(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.DeleteApiKeyResponse{}
	err = s.changeKey(ctx, company, key, "api_key.delete", req, resp, remove, func(*authv1.ApiKey) {})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// changeKey is changeOnce for a key. answer puts the changed key into resp.
func (s *Server) changeKey(
	ctx context.Context, company id.Company, key id.UUID, action string, req, resp proto.Message,
	decide func(c *Credential, now time.Time) bool, answer func(*authv1.ApiKey),
) error {
	return s.changeOnce(ctx, company, key, kindKey, action, req, resp, decide, func(c Credential) { answer(apiKeyMessage(c, s.now())) })
}

func namedKey(ctx context.Context, text string) (id.Company, id.UUID, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, id.UUID{}, err
	}
	key, err := id.Parse[id.APIKey](text)
	if err != nil {
		return company, id.UUID{}, fault.Missing("credential")
	}
	return company, key.UUID(), nil
}
