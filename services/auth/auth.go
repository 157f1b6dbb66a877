package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
	"reservation.dev/platform/zone"
)

// Company is a tenant.
type Company struct {
	ID       id.Company `db:"company_id"`
	Name     string     `db:"name"`
	Timezone string     `db:"timezone"`
	Currency string     `db:"currency"`
	// UniqueEmails asks that no two customers have the same e-mail address.
	UniqueEmails bool      `db:"unique_customer_emails"`
	Version      int64     `db:"version"`
	CreatedAt    time.Time `db:"created_at"`
	UpdatedAt    time.Time `db:"updated_at"`
}

// The kinds of credentials, as tokens have them.
const (
	kindClient  = token.KindClient
	kindKey     = token.KindKey
	kindService = token.KindService
)

// Credential is an API client, an API key or a service credential.
type Credential struct {
	Company     id.Company `db:"company_id"` // zero: of the platform
	ID          id.UUID    `db:"id"`
	Kind        string     `db:"kind"`
	Name        string     `db:"name"`
	Description string     `db:"description"`
	// Scopes are an API key's permissions, of which one can stand for many.
	Scopes []string `db:"scopes"`
	// RateLimit is in requests per 60 seconds; nil: the edge's default.
	RateLimit  *int32     `db:"rate_limit"`
	SecretHash []byte     `db:"secret_hash"`
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

// Subject is the identifier as callers and tokens have it.
func (c *Credential) Subject() string {
	switch c.Kind {
	case kindClient:
		return id.APIClient(c.ID).String()
	case kindKey:
		return id.APIKey(c.ID).String()
	}
	return id.ServiceCredential(c.ID).String()
}

// usable reports whether the credential gets tokens at an instant.
func (c *Credential) usable(now time.Time) bool {
	return c.DeletedAt == nil && c.DisabledAt == nil && (c.ExpiresAt == nil || now.Before(*c.ExpiresAt))
}

// revoke makes every token issued before dead.
func (c *Credential) revoke(now time.Time) {
	c.Generation++
	c.RevokedAt = &now
}

// rotate replaces the secret and returns the new one.
func (c *Credential) rotate(now time.Time) (secret string) {
	secret, c.SecretHash = newSecret()
	c.RotatedAt = now
	c.revoke(now)
	return secret
}

// granting is the scopes that a token of the credential can have.
func (c *Credential) granting() []string {
	if c.Kind == kindKey {
		return expand(c.Scopes)
	}
	return c.Scopes
}

// rescope replaces the scopes, and reports whether one was taken away.
func (c *Credential) rescope(scopes []string) (narrower bool) {
	before := c.granting()
	c.Scopes = scopes
	after := c.granting()
	return slices.ContainsFunc(before, func(scope string) bool { return !slices.Contains(after, scope) })
}

// relimit replaces the rate limit, and reports whether it is another one. 0 is
// none of its own.
func (c *Credential) relimit(limit int32) (changed bool) {
	before := c.RateLimit
	c.RateLimit = nil
	if limit != 0 {
		c.RateLimit = &limit
	}
	return (before == nil) != (limit == 0) || (before != nil && *before != limit)
}

// newSecret returns 64 hexadecimal characters, and what is kept of them.
func newSecret() (secret string, hash []byte) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	secret = hex.EncodeToString(raw)
	return secret, hashOf(secret)
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// interfaceAScopes are what an API client can be given.
func interfaceAScopes() []string {
	return []string{"customers:read", "profile:read", "profile:write", "bookings:read"}
}

// serviceScopes are what a service credential of a company can be given.
func serviceScopes() []string {
	return append(interfaceAScopes(), "customers:write", "bookings:write", "events:read", "events:write", "passes:read", "passes:write",
		"customer-passes:read", "customer-passes:write", "redemptions:write", "discounts:read", "discounts:write",
		"registrations:read", "registrations:write", "webhooks:read", "webhooks:write",
		"company:read", "company:write", "api-clients:read", "api-clients:write", "api-keys:read", "api-keys:write",
		"service-credentials:read", "service-credentials:write",
		"audit:read", "audit:write", "privacy:read", "privacy:write")
}

// everything is the permission that stands for all of them.
const everything = "*"

// interfaceBPermissions are what an API key can be given beside everything.
// Each is a scope of its name, in the order in which a token has them.
func interfaceBPermissions() []string {
	return []string{
		"customer-passes:read", "customer-passes:write", "customers:read", "customers:write", "events:read", "events:write",
		"passes:read", "passes:write", "registrations:read", "registrations:write",
	}
}

// expand returns the scopes that permissions stand for.
func expand(permissions []string) []string {
	if slices.Contains(permissions, everything) {
		return interfaceBPermissions()
	}
	return permissions
}

const (
	maxName        = 100
	maxDescription = 1000
	maxExpiryDays  = 3650
	maxRateLimit   = 10_000 // requests in any 60 seconds
)

// checks collects the faults of a request, in the order in which they are found.
type checks struct{ fault.Checks }

func (c *checks) add(field, rule, phrase string) { c.Add(field, rule, phrase) }

func (c *checks) err() error { return c.Err() }

func (c *checks) text(field, s string, least, most int) string {
	s = strings.TrimSpace(s)
	switch {
	case s == "" && least > 0:
		c.add(field, "required", "is required")
	case utf8.RuneCountInString(s) > most:
		c.add(field, "max_length", fmt.Sprintf("must be at most %d characters", most))
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && (least > 0 || r != '\n') }):
		c.add(field, "characters", "must not contain control characters")
	}
	return s
}

// expiry is the end of that many days from now; nil for none.
func (c *checks) expiry(days *int32, now time.Time) *time.Time {
	if days == nil {
		return nil
	}
	if *days < 1 || *days > maxExpiryDays {
		c.add("expires_after_days", "range", fmt.Sprintf("must be 1 to %d", maxExpiryDays))
	}
	expires := now.Add(time.Duration(*days) * 24 * time.Hour)
	return &expires
}

// permissions checks those of an API key. With everything, the others say nothing.
func (c *checks) permissions(field string, in []string) []string {
	out := c.scopes(field, in, append(interfaceBPermissions(), everything))
	if slices.Contains(out, everything) {
		return []string{everything}
	}
	return out
}

func (c *checks) rateLimit(limit *int32, least int32) {
	if limit != nil && (*limit < least || *limit > maxRateLimit) {
		c.add("rate_limit", "range", fmt.Sprintf("must be %d to %d", least, maxRateLimit))
	}
}

func (c *checks) timezone(field, s string) {
	if s == "" {
		c.add(field, "required", "is required")
	} else if _, err := zone.Load(s); err != nil {
		c.add(field, "timezone", "must be an IANA time zone, as Europe/London")
	}
}

func (c *checks) currency(field, s string) {
	if s == "" {
		c.add(field, "required", "is required")
	} else if !slices.Contains([]string{"GBP", "EUR", "USD"}, s) {
		c.add(field, "enum", "must be GBP, EUR or USD")
	}
}

// scopes sorts and checks scopes.
func (c *checks) scopes(field string, in, known []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == 0 {
		c.add(field, "required", "must have at least one scope")
	}
	for i, scope := range in {
		if !slices.Contains(known, scope) {
			c.add(fmt.Sprintf("%s[%d]", field, i), "scope", "must be one of "+strings.Join(known, ", "))
		}
	}
	return out
}

// granted returns the scopes of a token: all of the credential's, or those that
// were asked for, in the order of the credential's.
func granted(all []string, asked string) ([]string, error) {
	wanted := strings.Fields(asked)
	if len(wanted) == 0 {
		return all, nil
	}
	for _, scope := range wanted {
		if !slices.Contains(all, scope) {
			return nil, &fault.Error{
				Kind: fault.Invalid, Reason: ReasonInvalidScope, Message: "the client does not have a scope that was asked for",
				Fields: []fault.Field{{Field: "scope", Rule: "granted", Message: "must have only scopes of the client"}},
			}
		}
	}
	var out []string
	for _, scope := range all {
		if slices.Contains(wanted, scope) {
			out = append(out, scope)
		}
	}
	return out, nil
}

// ReasonInvalidScope is a scope outside of what the credential has.
const ReasonInvalidScope = "INVALID_SCOPE"

// invalidCredentials is the one answer to all that is wrong with credentials.
func invalidCredentials() *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the client credentials are not valid")
}
