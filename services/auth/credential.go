package auth

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
)

// Credential is an API client, an API key or a service credential.
type Credential struct {
	Company     id.Company `db:"company_id"` // zero: of the platform
	ID          id.UUID    `db:"id"`
	Kind        string     `db:"kind"`
	Name        string     `db:"name"`
	Description string     `db:"description"`
	// Scopes are, for an API key, its permissions; one of them can include others.
	Scopes []string `db:"scopes"`
	// RateLimit is in requests per 60 seconds; nil: the gateway's default.
	RateLimit *int32 `db:"rate_limit"`
	// Networks are where the credential can be used; empty: everywhere. They are normal, see
	// normalNetwork, and sorted.
	Networks   token.Networks `db:"allowed_networks"`
	SecretHash []byte         `db:"secret_hash"`
	// The previous secret is valid until it expires; see hasPrevious.
	PreviousSecretHash       []byte     `db:"previous_secret_hash"`
	PreviousSecretReplacedAt *time.Time `db:"previous_secret_replaced_at"`
	PreviousSecretExpiresAt  *time.Time `db:"previous_secret_expires_at"`
	PreviousSecretLastUsedAt *time.Time `db:"previous_secret_last_used_at"`

	Generation int64      `db:"generation"`
	RevokedAt  *time.Time `db:"revoked_at"`
	DisabledAt *time.Time `db:"disabled_at"`
	DeletedAt  *time.Time `db:"deleted_at"`
	ExpiresAt  *time.Time `db:"expires_at"`
	RotatedAt  time.Time  `db:"rotated_at"`
	LastUsedAt *time.Time `db:"last_used_at"`
	Version    int64      `db:"version"`
	CreatedAt  time.Time  `db:"created_at"`
}

// Subject returns the identifier in the form of callers and tokens.
func (c *Credential) Subject() string { return kindOf(c.Kind).subject(c.ID) }

// usable reports whether the credential can get tokens at an instant.
func (c *Credential) usable(now time.Time) bool {
	return c.DeletedAt == nil && c.DisabledAt == nil && (c.ExpiresAt == nil || now.Before(*c.ExpiresAt))
}

// revoke revokes every token issued before.
func (c *Credential) revoke(now time.Time) {
	c.Generation++
	c.RevokedAt = &now
}

// granting returns the scopes that can be granted to a token of the credential.
func (c *Credential) granting() []string {
	if c.Kind == kindKey {
		return scopes.Expand(c.Scopes)
	}
	return c.Scopes
}

// inToken returns the scopes that a token carries if the given scopes are granted to it.
func (c *Credential) inToken(granted []string) []string {
	if c.Kind == kindClient {
		return scopes.InToken(granted)
	}
	return granted
}

// setScopes replaces the scopes, and reports whether one was removed.
func (c *Credential) setScopes(scopes []string) (narrower bool) {
	before := c.granting()
	c.Scopes = scopes
	after := c.granting()
	return slices.ContainsFunc(before, func(scope string) bool { return !slices.Contains(after, scope) })
}

// setRateLimit replaces the rate limit, and reports whether it changed. 0 removes it.
func (c *Credential) setRateLimit(limit int32) (changed bool) {
	before := c.RateLimit
	c.RateLimit = nil
	if limit != 0 {
		c.RateLimit = &limit
	}
	return (before == nil) != (limit == 0) || (before != nil && *before != limit)
}

// setNetworks replaces the allowed networks, and reports whether they changed.
func (c *Credential) setNetworks(networks token.Networks) (changed bool) {
	changed = !slices.Equal(c.Networks, networks)
	c.Networks = networks
	return changed
}

// tokenCompany returns the company that a new token of c is bound to. requested is the requested
// company; if it is "", the token is bound to the credential's own. Only a platform credential can
// choose another.
func (c *Credential) tokenCompany(requested string) (id.Company, error) {
	if requested == "" {
		return c.Company, nil
	}
	company, err := id.Parse[id.Company](requested)
	if err != nil || company.IsZero() || (!c.Company.IsZero() && company != c.Company) {
		return company, fault.Missing("company")
	}
	return company, nil
}

// facts returns what the audit log records of a credential.
func (c *Credential) facts() []Detail {
	limit := ""
	if c.RateLimit != nil {
		limit = strconv.Itoa(int(*c.RateLimit))
	}
	return []Detail{
		{Field: "name", After: c.Name}, {Field: "description", After: c.Description},
		{Field: kindOf(c.Kind).scopesField, After: strings.Join(c.Scopes, " ")}, {Field: "rate_limit", After: limit},
		{Field: "allowed_networks", After: c.Networks.String()},
		{Field: "expires_at", After: timeFact(c.ExpiresAt)}, {Field: "previous_secret_expires_at", After: timeFact(c.PreviousSecretExpiresAt)},
	}
}

// timeFact returns an instant as the audit log records it; "" for none.
func timeFact(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// changes returns what the audit log records of the change from before to c. If no fact differs, it
// returns the name.
func (c *Credential) changes(before Credential) []Detail {
	if details := differences(before.facts(), c.facts()); len(details) > 0 {
		return details
	}
	return []Detail{{Field: "name", After: c.Name}}
}

// disable, enable and remove change a credential; each reports whether it changed anything.
func disable(c *Credential, now time.Time) bool {
	if c.DisabledAt != nil {
		return false
	}
	c.DisabledAt = &now
	c.revoke(now)
	return true
}

func enable(c *Credential, _ time.Time) bool {
	if c.DisabledAt == nil {
		return false
	}
	c.DisabledAt = nil
	return true
}

func remove(c *Credential, now time.Time) bool {
	c.DeletedAt = &now
	c.forgetPrevious()
	c.revoke(now)
	return true
}
