// Package tokentest signs access tokens for tests.
package tokentest

import (
	"crypto/ed25519"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// Issuer is a fake of the auth service. It signs tokens, and its verifier accepts them.
type Issuer struct {
	t        testing.TB
	key      ed25519.PrivateKey
	Verifier *token.Verifier
}

const (
	issuer = "reservation"
	kid    = "test"
)

// New returns an issuer with a new key.
func New(t testing.TB) *Issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 1024}, time.Now)
	if err := v.SetKeys(1, []token.JWK{token.NewJWK(kid, public)}); err != nil {
		t.Fatal(err)
	}
	return &Issuer{t: t, key: private, Verifier: v}
}

// Sign returns a token with the given claims. It fills in a missing subject, kind, zone, currency,
// time of issue and expiry with valid values.
func (i *Issuer) Sign(c token.Claims) string {
	i.t.Helper()
	if c.Kind == "" {
		c.Kind = token.KindClient
	}
	if c.Subject == "" {
		c.Subject = id.New[id.APIClient]().String()
	}
	if c.Zone == "" {
		c.Zone = "Europe/London"
	}
	if c.Currency == "" {
		c.Currency = "GBP"
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = time.Now()
	}
	if c.ExpiresAt.IsZero() {
		c.ExpiresAt = c.IssuedAt.Add(time.Hour)
	}
	raw, err := token.Sign(i.key, kid, issuer, c)
	if err != nil {
		i.t.Fatal(err)
	}
	return raw
}

// Client returns a token of a new API client of the company.
func (i *Issuer) Client(company id.Company, scopes ...string) string {
	i.t.Helper()
	return i.Sign(token.Claims{Company: company, Scopes: scopes})
}

// Key returns a token of a new API key of the company.
func (i *Issuer) Key(company id.Company, scopes ...string) string {
	i.t.Helper()
	return i.Sign(token.Claims{
		Subject: id.New[id.APIKey]().String(), Kind: token.KindKey, Company: company, Scopes: scopes,
	})
}

// Admin returns a token of a new platform credential, which has no company.
func (i *Issuer) Admin() string {
	i.t.Helper()
	return i.Sign(token.Claims{
		Subject: id.New[id.ServiceCredential]().String(), Kind: token.KindService, Scopes: []string{token.Admin},
	})
}
