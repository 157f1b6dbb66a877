package auth

import (
	"context"

	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CreateApiClient implements ApiClientService.
func (s *Server) CreateApiClient(ctx context.Context, req *authv1.CreateApiClientRequest) (*authv1.CreateApiClientResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	fields := credentialFields{
		name: &req.Name, description: &req.Description, scopes: req.GetScopes(), rateLimit: req.RateLimit,
		networks: &req.AllowedNetworks, expiresAfterDays: req.ExpiresAfterDays,
	}
	resp := &authv1.CreateApiClientResponse{}
	return createCredential(ctx, s, apiClients(), company, fields, req, resp, credentialAnswer{s.clientInto(&resp.ApiClient), &resp.ClientSecret})
}

// GetApiClient implements ApiClientService.
func (s *Server) GetApiClient(ctx context.Context, req *authv1.GetApiClientRequest) (*authv1.GetApiClientResponse, error) {
	c, err := s.getCredential(ctx, apiClients(), req.GetId())
	if err != nil {
		return nil, err
	}
	return &authv1.GetApiClientResponse{ApiClient: clientMessage(c, s.now())}, nil
}

// ListApiClients implements ApiClientService.
func (s *Server) ListApiClients(ctx context.Context, req *authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
	list, next, err := s.listCredentials(ctx, apiClients(), page.Of(req))
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
	fields := credentialFields{
		name: req.Name, description: req.Description, scopes: req.GetScopes(), rateLimit: req.RateLimit,
		networks: givenNetworks(req.GetAllowedNetworks()),
	}
	resp := &authv1.UpdateApiClientResponse{}
	return updateCredential(ctx, s, apiClients(), fields, req, resp, s.clientInto(&resp.ApiClient))
}

// RotateApiClientSecret implements ApiClientService.
func (s *Server) RotateApiClientSecret(ctx context.Context, req *authv1.RotateApiClientSecretRequest) (*authv1.RotateApiClientSecretResponse, error) {
	resp := &authv1.RotateApiClientSecretResponse{}
	return rotateCredential(ctx, s, apiClients(), req, resp, credentialAnswer{s.clientInto(&resp.ApiClient), &resp.ClientSecret})
}

// EndPreviousApiClientSecret implements ApiClientService.
func (s *Server) EndPreviousApiClientSecret(ctx context.Context, req *authv1.EndPreviousApiClientSecretRequest) (*authv1.EndPreviousApiClientSecretResponse, error) {
	resp := &authv1.EndPreviousApiClientSecretResponse{}
	return changeCredential(ctx, s, apiClients(), "end_previous_secret", req, resp, endPrevious, s.clientInto(&resp.ApiClient))
}

// DisableApiClient implements ApiClientService.
func (s *Server) DisableApiClient(ctx context.Context, req *authv1.DisableApiClientRequest) (*authv1.DisableApiClientResponse, error) {
	resp := &authv1.DisableApiClientResponse{}
	return changeCredential(ctx, s, apiClients(), "disable", req, resp, disable, s.clientInto(&resp.ApiClient))
}

// EnableApiClient implements ApiClientService.
func (s *Server) EnableApiClient(ctx context.Context, req *authv1.EnableApiClientRequest) (*authv1.EnableApiClientResponse, error) {
	resp := &authv1.EnableApiClientResponse{}
	return changeCredential(ctx, s, apiClients(), "enable", req, resp, enable, s.clientInto(&resp.ApiClient))
}

// DeleteApiClient implements ApiClientService.
func (s *Server) DeleteApiClient(ctx context.Context, req *authv1.DeleteApiClientRequest) (*authv1.DeleteApiClientResponse, error) {
	return changeCredential(ctx, s, apiClients(), "delete", req, &authv1.DeleteApiClientResponse{}, remove, func(Credential) {})
}

// clientInto returns a function that writes an API client to a field of a response.
func (s *Server) clientInto(field **authv1.ApiClient) func(Credential) {
	return func(c Credential) { *field = clientMessage(c, s.now()) }
}
