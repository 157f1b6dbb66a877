package auth

import (
	"context"

	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CreateApiKey implements ApiKeyService.
func (s *Server) CreateApiKey(ctx context.Context, req *authv1.CreateApiKeyRequest) (*authv1.CreateApiKeyResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	fields := credentialFields{
		name: &req.Name, description: &req.Description, scopes: req.GetPermissions(), rateLimit: req.RateLimit,
		networks: &req.AllowedNetworks, expiresAfterDays: req.ExpiresAfterDays,
	}
	resp := &authv1.CreateApiKeyResponse{}
	return createCredential(ctx, s, apiKeys(), company, fields, req, resp, credentialAnswer{s.apiKeyInto(&resp.ApiKey), &resp.ApiSecret})
}

// GetApiKey implements ApiKeyService.
func (s *Server) GetApiKey(ctx context.Context, req *authv1.GetApiKeyRequest) (*authv1.GetApiKeyResponse, error) {
	c, err := s.getCredential(ctx, apiKeys(), req.GetId())
	if err != nil {
		return nil, err
	}
	return &authv1.GetApiKeyResponse{ApiKey: apiKeyMessage(c, s.now())}, nil
}

// ListApiKeys implements ApiKeyService.
func (s *Server) ListApiKeys(ctx context.Context, req *authv1.ListApiKeysRequest) (*authv1.ListApiKeysResponse, error) {
	list, next, err := s.listCredentials(ctx, apiKeys(), page.Of(req))
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
	fields := credentialFields{
		name: req.Name, description: req.Description, scopes: req.GetPermissions(), rateLimit: req.RateLimit,
		networks: givenNetworks(req.GetAllowedNetworks()),
	}
	resp := &authv1.UpdateApiKeyResponse{}
	return updateCredential(ctx, s, apiKeys(), fields, req, resp, s.apiKeyInto(&resp.ApiKey))
}

// RotateApiKeySecret implements ApiKeyService.
func (s *Server) RotateApiKeySecret(ctx context.Context, req *authv1.RotateApiKeySecretRequest) (*authv1.RotateApiKeySecretResponse, error) {
	resp := &authv1.RotateApiKeySecretResponse{}
	return rotateCredential(ctx, s, apiKeys(), req, resp, credentialAnswer{s.apiKeyInto(&resp.ApiKey), &resp.ApiSecret})
}

// EndPreviousApiKeySecret implements ApiKeyService.
func (s *Server) EndPreviousApiKeySecret(ctx context.Context, req *authv1.EndPreviousApiKeySecretRequest) (*authv1.EndPreviousApiKeySecretResponse, error) {
	resp := &authv1.EndPreviousApiKeySecretResponse{}
	return changeCredential(ctx, s, apiKeys(), "end_previous_secret", req, resp, endPrevious, s.apiKeyInto(&resp.ApiKey))
}

// DisableApiKey implements ApiKeyService.
func (s *Server) DisableApiKey(ctx context.Context, req *authv1.DisableApiKeyRequest) (*authv1.DisableApiKeyResponse, error) {
	resp := &authv1.DisableApiKeyResponse{}
	return changeCredential(ctx, s, apiKeys(), "disable", req, resp, disable, s.apiKeyInto(&resp.ApiKey))
}

// EnableApiKey implements ApiKeyService.
func (s *Server) EnableApiKey(ctx context.Context, req *authv1.EnableApiKeyRequest) (*authv1.EnableApiKeyResponse, error) {
	resp := &authv1.EnableApiKeyResponse{}
	return changeCredential(ctx, s, apiKeys(), "enable", req, resp, enable, s.apiKeyInto(&resp.ApiKey))
}

// DeleteApiKey implements ApiKeyService.
func (s *Server) DeleteApiKey(ctx context.Context, req *authv1.DeleteApiKeyRequest) (*authv1.DeleteApiKeyResponse, error) {
	return changeCredential(ctx, s, apiKeys(), "delete", req, &authv1.DeleteApiKeyResponse{}, remove, func(Credential) {})
}

// apiKeyInto returns a function that writes an API key to a field of a response.
func (s *Server) apiKeyInto(field **authv1.ApiKey) func(Credential) {
	return func(c Credential) { *field = apiKeyMessage(c, s.now()) }
}
