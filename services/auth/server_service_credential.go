package auth

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

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
