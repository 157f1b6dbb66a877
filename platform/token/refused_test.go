package token_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

func TestRefusedClaims(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, forger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	v := token.NewVerifier(token.Config{Issuer: "reservation", CacheSize: 16}, func() time.Time { return now })
	if err := v.SetKeys(1, []token.JWK{token.NewJWK("k", public)}); err != nil {
		t.Fatal(err)
	}
	company := id.New[id.Company]()
	sign := func(key ed25519.PrivateKey, subject string) string {
		raw, err := token.Sign(key, "k", "reservation", token.Claims{
			Subject: subject, Kind: token.KindKey, Company: company, Generation: 1, IssuedAt: now, ExpiresAt: now.Add(time.Minute),
		})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	refused := func(raw string) *token.Claims {
		t.Helper()
		_, err := v.Verify(t.Context(), raw)
		if err == nil {
			t.Fatal("the token is valid")
		}
		return token.RefusedClaims(err)
	}
	known := sign(private, "key_known")
	if claims, err := v.Verify(t.Context(), known); err != nil || token.RefusedClaims(err) != nil || claims.Subject != "key_known" {
		t.Fatalf("got %v, %v", claims, err)
	}
	v.Revoke("key_revoked", 2)
	v.Revoke("key_known", 2)
	for name, raw := range map[string]string{"key_revoked": sign(private, "key_revoked"), "key_known": known} {
		if c := refused(raw); c == nil || c.Subject != name || c.Company != company {
			t.Errorf("the claims of a revoked token are %v", c)
		}
	}
	if c := refused(sign(forger, "key_forged")); c != nil {
		t.Errorf("a token with a wrong signature has the claims %v", c)
	}
	fresh := sign(private, "key_fresh")
	now = now.Add(time.Hour)
	if c := refused(fresh); c == nil || c.Subject != "key_fresh" {
		t.Errorf("the claims of an expired token are %v", c)
	}
}
