package auth

import (
	"context"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// tokenLifetime is the default lifetime of a token.
const tokenLifetime = time.Hour

// IssueToken implements TokenService.
func (s *Server) IssueToken(ctx context.Context, req *authv1.IssueTokenRequest) (*authv1.IssueTokenResponse, error) {
	var check checks
	check.required("client_id", req.GetClientId())
	check.required("client_secret", req.GetClientSecret())
	if err := check.Err(); err != nil {
		return nil, err
	}
	now := s.instant()
	key := throttleKey{subject: shortened(req.GetClientId()), address: req.GetClientAddress()}
	c, use, err := s.authenticate(ctx, req, now)
	if fault.Is(err, fault.Unauthenticated) {
		return nil, s.refuse(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	// Only a caller with the right secret learns this, and it is not a failure of guessing.
	if err := c.Networks.Check(req.GetClientAddress()); err != nil {
		return nil, err
	}
	s.throttle.passed(key)
	scopes, err := granted(c.granting(), req.GetScope())
	if err != nil {
		return nil, err
	}
	claims, err := s.claims(ctx, req, c, use, now)
	if err != nil {
		return nil, err
	}
	claims.Scopes = c.inToken(scopes)
	raw, err := s.keys.sign(claims)
	if err != nil {
		return nil, err
	}
	if err := s.store.used(ctx, c, hashOf(req.GetClientSecret()), now); err != nil {
		s.log.Warn("the last use of a credential is not stored", "credential", c.Subject(), "error", err.Error())
	}
	return &authv1.IssueTokenResponse{
		AccessToken: raw, ExpiresIn: int32(claims.ExpiresAt.Sub(now) / time.Second), Scope: strings.Join(scopes, " "),
		RateLimit: c.RateLimit,
	}, nil
}

// shortened limits the memory that the identifier of an unknown caller takes.
func shortened(s string) string { return s[:min(len(s), 64)] }

// authenticate returns the credential with the identifier and secret of a request, and which of its
// secrets it is. It does the same work if there is no such credential.
func (s *Server) authenticate(ctx context.Context, req *authv1.IssueTokenRequest, now time.Time) (c Credential, use secretUse, err error) {
	if credential, kind, ok := parseSubject(req.GetClientId()); ok && isWanted(kind, req.GetKind()) {
		found, err := s.store.anyCredential(ctx, credential)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return c, wrongSecret, err
		}
		if err == nil && found.Kind == kind {
			c = found
		}
	}
	use = c.compare(hashOf(req.GetClientSecret()), now)
	if use == wrongSecret || !c.usable(now) {
		return c, wrongSecret, invalidCredentials()
	}
	return c, use, nil
}

// refuse returns the fault of a failed attempt, after the delay for repeated failures. It holds no
// resources while it waits.
func (s *Server) refuse(ctx context.Context, key throttleKey) error {
	delay, stayAway := s.throttle.failed(key)
	if stayAway > 0 {
		return tooManyAttempts(stayAway)
	}
	if delay == 0 {
		return invalidCredentials()
	}
	select {
	case s.throttle.waiting <- struct{}{}:
		defer func() { <-s.throttle.waiting }()
	default:
		return tooManyAttempts(longestDelay)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return invalidCredentials()
	}
}

// claims returns the claims of a token that is issued for one of a credential's secrets, except its
// scopes.
func (s *Server) claims(ctx context.Context, req *authv1.IssueTokenRequest, c Credential, use secretUse, now time.Time) (token.Claims, error) {
	lifetime := tokenLifetime
	if requested := time.Duration(req.GetLifetimeSeconds()) * time.Second; requested != 0 && c.Kind == kindService {
		if requested < time.Second || requested > longestToken {
			return token.Claims{}, fault.InvalidFields(fault.Field{Field: "lifetime_seconds", Rule: "range", Message: "must be 1 to 86400"})
		}
		lifetime = requested
	}
	company, err := c.tokenCompany(req.GetCompanyId())
	if err != nil {
		return token.Claims{}, err
	}
	claims := token.Claims{
		Subject: c.Subject(), Kind: c.Kind, Company: company, Networks: c.Networks, Generation: c.Generation,
		// A token carries whole seconds.
		IssuedAt: now.Truncate(time.Second), ID: s.newID().String(),
	}
	if c.RateLimit != nil {
		claims.RateLimit = int(*c.RateLimit)
	}
	claims.ExpiresAt = now.Add(lifetime)
	if end := c.expiry(use); end != nil && end.Before(claims.ExpiresAt) {
		claims.ExpiresAt = *end
	}
	return claims, s.addCompany(ctx, &claims)
}

// addCompany adds what tokens say of the company that they are bound to.
func (s *Server) addCompany(ctx context.Context, claims *token.Claims) error {
	if claims.Company.IsZero() {
		return nil
	}
	tenant, err := s.store.company(ctx, claims.Company)
	if err == nil && tenant.ID.IsTest() {
		tenant, err = s.followed(ctx, tenant, claims.Subject)
	}
	if err != nil {
		return err
	}
	claims.Zone, claims.Currency, claims.CompanyVersion = tenant.Timezone, tenant.Currency, tenant.Version
	claims.ClockOffset = tenant.ClockOffset
	return nil
}

func isWanted(kind string, wanted authv1.CredentialKind) bool {
	switch wanted {
	case authv1.CredentialKind_CREDENTIAL_KIND_UNSPECIFIED:
		return true
	case authv1.CredentialKind_CREDENTIAL_KIND_API_CLIENT:
		return kind == kindClient
	case authv1.CredentialKind_CREDENTIAL_KIND_API_KEY:
		return kind == kindKey
	}
	return kind == kindService
}
