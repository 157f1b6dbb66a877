package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Server answers the RPCs of the auth service: companies and signing keys here,
// credentials in credentials.go, API keys in apikeys.go, tokens in token.go, what
// concerns administrators in server_*.go, the audit log in audit.go.
type Server struct {
	authv1.UnimplementedCompanyServiceServer
	authv1.UnimplementedApiClientServiceServer
	authv1.UnimplementedApiKeyServiceServer
	authv1.UnimplementedServiceCredentialServiceServer
	authv1.UnimplementedTokenServiceServer
	authv1.UnimplementedSigningKeyServiceServer
	authv1.UnimplementedAdministratorServiceServer
	authv1.UnimplementedAuditServiceServer

	store     *store
	outbox    *outbox.Outbox
	keys      *keyring
	copies    copies
	throttle  *throttle
	passwords *passwords
	sealer    *seal.Sealer
	sessions  sessionTimes
	log       *slog.Logger
	now       func() time.Time
	newID     func() id.UUID
}

// sessionTimes are how long a session may lie idle, and how long it lives at most.
type sessionTimes struct{ idle, lifetime time.Duration }

// NewServer returns a server on db, which appends its events to box and signs
// with keys of the ring.
func NewServer(db *pg.DB, box *outbox.Outbox, keys *keyring, sessions sessionTimes, log *slog.Logger) *Server {
	return &Server{
		store: &store{db: db}, outbox: box, keys: keys, throttle: newThrottle(time.Now), passwords: newPasswords(usualCost()),
		sealer: keys.sealer, sessions: sessions, log: log, now: time.Now, newID: id.NewUUID,
	}
}

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",

		authv1.CompanyService_CreateCompany_FullMethodName: rpc.PlatformOnly,
		authv1.CompanyService_GetCompany_FullMethodName:    rpc.AnyToken,
		authv1.CompanyService_UpdateCompany_FullMethodName: "company:write",
		authv1.CompanyService_ListCompanies_FullMethodName: rpc.PlatformOnly,

		authv1.ApiClientService_CreateApiClient_FullMethodName:       "api-clients:write",
		authv1.ApiClientService_GetApiClient_FullMethodName:          "api-clients:read",
		authv1.ApiClientService_ListApiClients_FullMethodName:        "api-clients:read",
		authv1.ApiClientService_UpdateApiClient_FullMethodName:       "api-clients:write",
		authv1.ApiClientService_RotateApiClientSecret_FullMethodName: "api-clients:write",
		authv1.ApiClientService_DisableApiClient_FullMethodName:      "api-clients:write",
		authv1.ApiClientService_EnableApiClient_FullMethodName:       "api-clients:write",
		authv1.ApiClientService_DeleteApiClient_FullMethodName:       "api-clients:write",

		authv1.ApiKeyService_CreateApiKey_FullMethodName:       "api-keys:write",
		authv1.ApiKeyService_GetApiKey_FullMethodName:          "api-keys:read",
		authv1.ApiKeyService_ListApiKeys_FullMethodName:        "api-keys:read",
		authv1.ApiKeyService_UpdateApiKey_FullMethodName:       "api-keys:write",
		authv1.ApiKeyService_RotateApiKeySecret_FullMethodName: "api-keys:write",
		authv1.ApiKeyService_DisableApiKey_FullMethodName:      "api-keys:write",
		authv1.ApiKeyService_EnableApiKey_FullMethodName:       "api-keys:write",
		authv1.ApiKeyService_DeleteApiKey_FullMethodName:       "api-keys:write",

		authv1.ServiceCredentialService_CreateServiceCredential_FullMethodName:  "service-credentials:write",
		authv1.ServiceCredentialService_ListServiceCredentials_FullMethodName:   "service-credentials:read",
		authv1.ServiceCredentialService_RotateServiceCredential_FullMethodName:  "service-credentials:write",
		authv1.ServiceCredentialService_DisableServiceCredential_FullMethodName: "service-credentials:write",

		authv1.TokenService_IssueToken_FullMethodName: rpc.Public,
		authv1.TokenService_GetJwks_FullMethodName:    rpc.Public,

		authv1.SigningKeyService_RotateSigningKey_FullMethodName: rpc.PlatformOnly,
		authv1.SigningKeyService_ListSigningKeys_FullMethodName:  rpc.PlatformOnly,

		authv1.AdministratorService_CreateAdministrator_FullMethodName:        "platform:admin",
		authv1.AdministratorService_ResetAdministratorPassword_FullMethodName: "platform:admin",
		authv1.AdministratorService_GetAdministrator_FullMethodName:           "administrators:read",
		authv1.AdministratorService_ListAdministrators_FullMethodName:         "administrators:read",
		authv1.AdministratorService_UpdateAdministrator_FullMethodName:        "administrators:write",
		authv1.AdministratorService_DisableAdministratorTotp_FullMethodName:   "administrators:write",
		authv1.AdministratorService_EndAdministratorSessions_FullMethodName:   "administrators:write",
		authv1.AdministratorService_CreatePasswordReset_FullMethodName:        "administrators:write",
		authv1.AdministratorService_RevokePasswordReset_FullMethodName:        "administrators:write",
		authv1.AdministratorService_GetPasswordReset_FullMethodName:           rpc.Public,
		authv1.AdministratorService_UsePasswordReset_FullMethodName:           rpc.Public,
		authv1.AdministratorService_SignIn_FullMethodName:                     rpc.Public,
		authv1.AdministratorService_FinishSignIn_FullMethodName:               rpc.Public,
		authv1.AdministratorService_Authenticate_FullMethodName:               rpc.Public,
		authv1.AdministratorService_SignOut_FullMethodName:                    rpc.Public,
		authv1.AdministratorService_ListSessions_FullMethodName:               rpc.AnyToken,
		authv1.AdministratorService_EndSession_FullMethodName:                 rpc.AnyToken,
		authv1.AdministratorService_EndOtherSessions_FullMethodName:           rpc.AnyToken,
		authv1.AdministratorService_UpdateProfile_FullMethodName:              rpc.AnyToken,
		authv1.AdministratorService_DismissNotices_FullMethodName:             rpc.AnyToken,
		authv1.AdministratorService_ChangePassword_FullMethodName:             rpc.AnyToken,
		authv1.AdministratorService_SetupTotp_FullMethodName:                  rpc.AnyToken,
		authv1.AdministratorService_ConfirmTotp_FullMethodName:                rpc.AnyToken,
		authv1.AdministratorService_DisableTotp_FullMethodName:                rpc.AnyToken,
		authv1.AdministratorService_RenewRecoveryCodes_FullMethodName:         rpc.AnyToken,
		authv1.AdministratorService_InviteAdministrator_FullMethodName:        "administrators:write",
		authv1.AdministratorService_ListInvitations_FullMethodName:            "administrators:read",
		authv1.AdministratorService_RevokeInvitation_FullMethodName:           "administrators:write",
		authv1.AdministratorService_GetInvitation_FullMethodName:              rpc.Public,
		authv1.AdministratorService_AcceptInvitation_FullMethodName:           rpc.Public,

		authv1.AuditService_ListAuditEntries_FullMethodName: "audit:read",
		authv1.AuditService_RecordAuditEntry_FullMethodName: "audit:write",
	}
}

// CreateCompany implements CompanyService.
func (s *Server) CreateCompany(ctx context.Context, req *authv1.CreateCompanyRequest) (*authv1.CreateCompanyResponse, error) {
	var check checks
	c := Company{
		Name: check.text("name", req.GetName(), 1, maxName), Timezone: req.GetTimezone(), Currency: req.GetCurrency(),
		UniqueEmails: req.GetUniqueCustomerEmails(),
	}
	check.timezone("timezone", c.Timezone)
	check.currency("currency", c.Currency)
	if err := check.err(); err != nil {
		return nil, err
	}
	c.ID, c.Version, c.CreatedAt = id.Company(s.newID()), 1, s.instant()
	c.UpdatedAt = c.CreatedAt
	var resp *authv1.CreateCompanyResponse
	err := s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		resp = &authv1.CreateCompanyResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			resp.Company = companyMessage(c)
			return errors.Join(
				s.store.insertCompany(ctx, tx, c),
				s.store.audit(ctx, tx, c.ID, c.CreatedAt, rpc.Caller(ctx), "company.create", c.ID.String(), c.facts()...),
				s.outbox.Append(ctx, tx, companyCreated(c)))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GetCompany implements CompanyService.
func (s *Server) GetCompany(ctx context.Context, req *authv1.GetCompanyRequest) (*authv1.GetCompanyResponse, error) {
	company, err := ownOrAny(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := s.store.company(ctx, company)
	if err != nil {
		return nil, err
	}
	return &authv1.GetCompanyResponse{Company: companyMessage(c)}, nil
}

// UpdateCompany implements CompanyService. It answers once every copy of the company
// is the present one. A repetition refreshes the copies again, though it changes
// nothing: the first attempt may have failed there.
func (s *Server) UpdateCompany(ctx context.Context, req *authv1.UpdateCompanyRequest) (*authv1.UpdateCompanyResponse, error) {
	company, err := ownOrAny(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var check checks
	name := ""
	if req.Name != nil {
		name = check.text("name", req.GetName(), 1, maxName)
	}
	if req.Timezone != nil {
		check.timezone("timezone", req.GetTimezone())
	}
	if req.Currency != nil {
		check.currency("currency", req.GetCurrency())
	}
	if err := check.err(); err != nil {
		return nil, err
	}
	var resp *authv1.UpdateCompanyResponse
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		resp = &authv1.UpdateCompanyResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			c, err := s.store.lockCompany(ctx, tx, company)
			if err != nil {
				return err
			}
			before := c
			if req.Name != nil {
				c.Name = name
			}
			if req.Timezone != nil {
				c.Timezone = req.GetTimezone()
			}
			if req.Currency != nil {
				c.Currency = req.GetCurrency()
			}
			if req.UniqueCustomerEmails != nil {
				c.UniqueEmails = req.GetUniqueCustomerEmails()
			}
			if c == before {
				resp.Company = companyMessage(c)
				return nil
			}
			c.Version++
			c.UpdatedAt = s.instant()
			resp.Company = companyMessage(c)
			return errors.Join(
				s.store.updateCompany(ctx, tx, c),
				s.store.audit(ctx, tx, company, c.UpdatedAt, rpc.Caller(ctx), "company.update", company.String(), differences(before.facts(), c.facts())...),
				s.outbox.Append(ctx, tx, companyUpdated(c)))
		})
	})
	if err != nil {
		return nil, err
	}
	if req.Timezone != nil || req.Currency != nil || req.UniqueCustomerEmails != nil {
		err = s.copies.refresh(ctx, company)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListCompanies implements CompanyService.
func (s *Server) ListCompanies(ctx context.Context, req *authv1.ListCompaniesRequest) (*authv1.ListCompaniesResponse, error) {
	size, after, err := page(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	list, err := s.store.companies(ctx, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListCompaniesResponse{}
	if len(list) > size {
		list = list[:size]
		resp.NextPageToken = list[size-1].ID.UUID().String()
	}
	for _, c := range list {
		resp.Companies = append(resp.Companies, companyMessage(c))
	}
	return resp, nil
}

// RotateSigningKey implements SigningKeyService.
func (s *Server) RotateSigningKey(ctx context.Context, req *authv1.RotateSigningKeyRequest) (*authv1.RotateSigningKeyResponse, error) {
	action := "signing_key.rotate"
	if req.GetRevoke() {
		action = "signing_key.revoke"
	}
	kid, err := s.keys.rotate(ctx, req.GetRevoke(), func(ctx context.Context, tx *pg.Tx, kid string) error {
		return s.store.audit(ctx, tx, id.Company{}, s.instant(), rpc.Caller(ctx), action, kid)
	})
	if err != nil {
		return nil, err
	}
	now := s.now()
	active, err := s.keys.active(now)
	if err != nil {
		return nil, err
	}
	for _, k := range s.keys.live() {
		if k.KID == kid {
			return &authv1.RotateSigningKeyResponse{SigningKey: keyMessage(k, now, active.KID)}, nil
		}
	}
	return nil, fault.Missing("signing key") // another replica has revoked it meanwhile
}

// ListSigningKeys implements SigningKeyService.
func (s *Server) ListSigningKeys(ctx context.Context, _ *authv1.ListSigningKeysRequest) (*authv1.ListSigningKeysResponse, error) {
	if err := s.keys.reload(ctx); err != nil {
		return nil, err
	}
	now := s.now()
	active, err := s.keys.active(now)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListSigningKeysResponse{}
	for _, k := range s.keys.live() {
		resp.SigningKeys = append(resp.SigningKeys, keyMessage(k, now, active.KID))
	}
	return resp, nil
}

// instant is now, as PostgreSQL keeps it.
func (s *Server) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// ownOrAny returns the company of the call if text names none. A call for no
// company, which only the platform's credentials can make, may name any.
func ownOrAny(ctx context.Context, text string) (id.Company, error) {
	if text == "" {
		return rpc.Tenant(ctx)
	}
	company, err := id.Parse[id.Company](text)
	if err != nil || (company != rpc.Company(ctx) && !isPlatform(ctx)) {
		return company, fault.Missing("company")
	}
	return company, nil
}

// isPlatform reports whether a call is the platform's own: made by one of its
// credentials, for no company.
func isPlatform(ctx context.Context) bool {
	claims := rpc.ClaimsFrom(ctx)
	return claims != nil && claims.IsAdmin() && rpc.Company(ctx).IsZero()
}

const (
	usualPage = 100
	mostPage  = 1000
)

// page reads the paging of a list that is ordered by identifier.
func page(size int32, token string) (int, id.UUID, error) {
	switch {
	case size == 0:
		size = usualPage
	case size < 0 || size > mostPage:
		return 0, id.UUID{}, fault.InvalidParameter("page_size", "range", fmt.Sprintf("must be 1 to %d", mostPage))
	}
	if token == "" {
		return int(size), id.UUID{}, nil
	}
	after, err := id.ParseUUID(token)
	if err != nil {
		return 0, after, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
	}
	return int(size), after, nil
}
