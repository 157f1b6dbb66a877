package auth

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CreateServiceCredential implements ServiceCredentialService.
func (s *Server) CreateServiceCredential(ctx context.Context, req *authv1.CreateServiceCredentialRequest) (*authv1.CreateServiceCredentialResponse, error) {
	kind, company, err := serviceCredentialOwner(ctx, req)
	if err != nil {
		return nil, err
	}
	fields := credentialFields{name: &req.Name, scopes: req.GetScopes()}
	resp := &authv1.CreateServiceCredentialResponse{}
	return createCredential(ctx, s, kind, company, fields, req, resp, credentialAnswer{s.serviceInto(&resp.ServiceCredential), &resp.Secret})
}

// serviceCredentialOwner returns the kind and the company of a new service credential, which
// belongs to the platform or to the caller's company.
func serviceCredentialOwner(ctx context.Context, req *authv1.CreateServiceCredentialRequest) (credentialKind, id.Company, error) {
	if req.GetPlatform() {
		return platformCredentials(), id.Company{}, platformOnly(ctx)
	}
	company, err := rpc.Tenant(ctx)
	return serviceCredentials(), company, err
}

// platformOnly refuses calls that are not the platform's own.
func platformOnly(ctx context.Context) error {
	if !rpc.ClaimsFrom(ctx).IsAdmin() {
		return fault.MissingScope(token.Admin)
	}
	if !isPlatform(ctx) {
		return fault.New(fault.Forbidden, fault.ReasonForbidden, "a platform credential can only be created by a call that names no company")
	}
	return nil
}

// ListServiceCredentials implements ServiceCredentialService.
func (s *Server) ListServiceCredentials(ctx context.Context, req *authv1.ListServiceCredentialsRequest) (*authv1.ListServiceCredentialsResponse, error) {
	list, next, err := s.listCredentials(ctx, serviceCredentials(), page.Of(req))
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
	resp := &authv1.RotateServiceCredentialResponse{}
	return rotateCredential(ctx, s, serviceCredentials(), req, resp, credentialAnswer{s.serviceInto(&resp.ServiceCredential), &resp.Secret})
}

// EndPreviousServiceCredentialSecret implements ServiceCredentialService.
func (s *Server) EndPreviousServiceCredentialSecret(
	ctx context.Context, req *authv1.EndPreviousServiceCredentialSecretRequest,
) (*authv1.EndPreviousServiceCredentialSecretResponse, error) {
	resp := &authv1.EndPreviousServiceCredentialSecretResponse{}
	return changeCredential(ctx, s, serviceCredentials(), "end_previous_secret", req, resp, endPrevious, s.serviceInto(&resp.ServiceCredential))
}

// DisableServiceCredential implements ServiceCredentialService.
func (s *Server) DisableServiceCredential(ctx context.Context, req *authv1.DisableServiceCredentialRequest) (*authv1.DisableServiceCredentialResponse, error) {
	resp := &authv1.DisableServiceCredentialResponse{}
	return changeCredential(ctx, s, serviceCredentials(), "disable", req, resp, disable, s.serviceInto(&resp.ServiceCredential))
}

// serviceInto returns a function that writes a service credential to a field of a response.
func (s *Server) serviceInto(field **authv1.ServiceCredential) func(Credential) {
	return func(c Credential) { *field = serviceMessage(c, s.now()) }
}
