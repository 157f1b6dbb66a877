package auth

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func companyMessage(c Company) *authv1.Company {
	return &authv1.Company{
		Id: c.ID.String(), Name: c.Name, Timezone: c.Timezone, Currency: c.Currency, Version: c.Version,
		UniqueCustomerEmails: c.UniqueEmails, OptionalCustomerEmails: c.OptionalEmails, CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
		ClockOffsetSeconds: c.ClockOffset,
	}
}

func companySnapshot(c Company) *authv1.CompanySnapshot {
	return &authv1.CompanySnapshot{
		Id: c.ID.String(), Name: c.Name, Timezone: c.Timezone, Currency: c.Currency, Version: c.Version,
		UniqueCustomerEmails: c.UniqueEmails, OptionalCustomerEmails: c.OptionalEmails, ClockOffsetSeconds: c.ClockOffset,
	}
}

func clientMessage(c Credential, now time.Time) *authv1.ApiClient {
	c.forgetEnded(now)
	return &authv1.ApiClient{
		Id: c.Subject(), Name: c.Name, Description: c.Description, Scopes: c.Scopes, State: stateOf(c, now),
		CreatedAt: timestamppb.New(c.CreatedAt), ExpiresAt: optional(c.ExpiresAt), RotatedAt: timestamppb.New(c.RotatedAt),
		LastUsedAt: optional(c.LastUsedAt), RateLimit: c.RateLimit, Version: c.Version, AllowedNetworks: c.Networks.Texts(),
		PreviousSecretExpiresAt: optional(c.PreviousSecretExpiresAt), PreviousSecretLastUsedAt: optional(c.PreviousSecretLastUsedAt),
	}
}

func apiKeyMessage(c Credential, now time.Time) *authv1.ApiKey {
	c.forgetEnded(now)
	return &authv1.ApiKey{
		Id: c.Subject(), Name: c.Name, Description: c.Description, Permissions: c.Scopes, State: stateOf(c, now),
		CreatedAt: timestamppb.New(c.CreatedAt), ExpiresAt: optional(c.ExpiresAt), RotatedAt: timestamppb.New(c.RotatedAt),
		LastUsedAt: optional(c.LastUsedAt), RateLimit: c.RateLimit, Version: c.Version, AllowedNetworks: c.Networks.Texts(),
		PreviousSecretExpiresAt: optional(c.PreviousSecretExpiresAt), PreviousSecretLastUsedAt: optional(c.PreviousSecretLastUsedAt),
	}
}

func serviceMessage(c Credential, now time.Time) *authv1.ServiceCredential {
	c.forgetEnded(now)
	return &authv1.ServiceCredential{
		Id: c.Subject(), Name: c.Name, Scopes: c.Scopes, Platform: c.Company.IsZero(), State: stateOf(c, now),
		CreatedAt: timestamppb.New(c.CreatedAt), RotatedAt: timestamppb.New(c.RotatedAt),
		PreviousSecretExpiresAt: optional(c.PreviousSecretExpiresAt), PreviousSecretLastUsedAt: optional(c.PreviousSecretLastUsedAt),
	}
}

func stateOf(c Credential, now time.Time) authv1.CredentialState {
	switch {
	case c.DisabledAt != nil:
		return authv1.CredentialState_CREDENTIAL_STATE_DISABLED
	case !c.usable(now):
		return authv1.CredentialState_CREDENTIAL_STATE_EXPIRED
	}
	return authv1.CredentialState_CREDENTIAL_STATE_ACTIVE
}

func keyMessage(k signingKey, now time.Time, active string) *authv1.SigningKey {
	out := &authv1.SigningKey{
		Kid: k.KID, State: authv1.SigningKeyState_SIGNING_KEY_STATE_RETIRED,
		CreatedAt: timestamppb.New(k.CreatedAt), ActiveFrom: timestamppb.New(k.ActiveFrom), RetiredUntil: optional(k.RetiredUntil),
	}
	switch {
	case k.KID == active:
		out.State = authv1.SigningKeyState_SIGNING_KEY_STATE_ACTIVE
	case k.ActiveFrom.After(now):
		out.State = authv1.SigningKeyState_SIGNING_KEY_STATE_PENDING
	}
	return out
}

func optional(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
