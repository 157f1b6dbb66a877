package auth

import (
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// credentialFields are the fields that a request sets; nil: not set.
type credentialFields struct {
	name, description *string
	scopes            []string
	rateLimit         *int32         // in a change, 0 removes it
	networks          *[]string      // as given
	allowedNetworks   token.Networks // the networks as they are stored
	expiresAfterDays  *int32
}

// checkedForNew checks the fields of a new credential and returns them as they are stored.
func (f credentialFields) checkedForNew(k credentialKind) (credentialFields, error) {
	if len(f.scopes) == 0 {
		f.scopes = []string{} // which is rejected
		if k.usual != nil {
			f.scopes = k.usual()
		}
	}
	return f.checked(k, 1)
}

// checkedForChange checks the fields of a change and returns them as they are stored.
func (f credentialFields) checkedForChange(k credentialKind) (credentialFields, error) {
	return f.checked(k, 0)
}

func (f credentialFields) checked(k credentialKind, leastRateLimit int32) (credentialFields, error) {
	var check checks
	if f.name != nil {
		f.name = new(check.Line("name", *f.name, 1, maxName))
	}
	if f.description != nil {
		f.description = new(check.Prose("description", *f.description, 0, maxDescription))
	}
	if f.scopes != nil {
		f.scopes = check.scopes(k.scopesField, f.scopes, k.scopes())
	}
	check.expiry(f.expiresAfterDays)
	check.rateLimit(f.rateLimit, leastRateLimit)
	if f.networks != nil {
		f.allowedNetworks = check.networks("allowed_networks", *f.networks)
	}
	return f, check.Err()
}

// newCredential returns a credential and its secret. The caller must be allowed to act for the
// company; the zero company is the platform.
func newCredential(k credentialKind, company id.Company, credential id.UUID, f credentialFields, now time.Time) (c Credential, secret string) {
	c = Credential{
		Company: company, ID: credential, Kind: k.name, Scopes: f.scopes, RateLimit: f.rateLimit,
		Networks:   append(token.Networks{}, f.allowedNetworks...), // not nil, which is NULL
		Generation: 1, Version: 1, CreatedAt: now, RotatedAt: now,
	}
	if f.name != nil {
		c.Name = *f.name
	}
	if f.description != nil {
		c.Description = *f.description
	}
	if f.expiresAfterDays != nil {
		c.ExpiresAt = new(now.Add(time.Duration(*f.expiresAfterDays) * 24 * time.Hour))
	}
	secret, c.SecretHash = newSecret()
	return c, secret
}

// update applies the fields to c.
func (c *Credential) update(f credentialFields, now time.Time) {
	if f.name != nil {
		c.Name = *f.name
	}
	if f.description != nil {
		c.Description = *f.description
	}
	narrower := f.scopes != nil && c.setScopes(f.scopes)
	// Tokens carry the limit and the networks, so new ones require new tokens.
	limited := f.rateLimit != nil && c.setRateLimit(*f.rateLimit)
	moved := f.networks != nil && c.setNetworks(f.allowedNetworks)
	if narrower || limited || moved {
		c.revoke(now)
	}
}
