package token_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const issuer = "reservation"

// clock is the clock of a verifier.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 29, 8, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time             { return time.Unix(0, c.at.Load()) }
func (c *clock) pass(d time.Duration)       { c.at.Add(int64(d)) }
func (c *clock) in(d time.Duration) int64   { return c.now().Add(d).Unix() }
func (c *clock) hour() (from, to time.Time) { return c.now(), c.now().Add(time.Hour) }

// key is a key pair made of one byte, so that tests are reproducible.
func key(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(fill)), ed25519.SeedSize)))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func jwk(kid string, k ed25519.PrivateKey) token.JWK { return token.NewJWK(kid, public(k)) }

// world has a verifier that knows the key "a".
type world struct {
	t testing.TB
	*clock
	v       *token.Verifier
	company id.Company
	subject string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), company: id.Company{1}, subject: id.APIClient{2}.String()}
	w.v = token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, w.now)
	if err := w.v.SetKeys(1, []token.JWK{jwk("a", key('a'))}); err != nil {
		t.Fatal(err)
	}
	return w
}

// sign returns a valid token of the given generation, signed by the key kid.
func (w *world) sign(kid string, generation int64) string {
	w.t.Helper()
	from, to := w.hour()
	raw, err := token.Sign(key(kid[0]), kid, issuer, token.Claims{
		Subject: w.subject, Kind: token.KindClient, Company: w.company, Zone: "Europe/London", Currency: "GBP",
		Scopes: []string{"customers:read", "bookings:read"}, Generation: generation, IssuedAt: from, ExpiresAt: to, ID: "1",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

// claims are the claims of a valid token.
func (w *world) claims() jwt.MapClaims {
	return jwt.MapClaims{
		"iss": issuer, "aud": "reservation", "sub": w.subject, "typ": "client", "cid": w.company.String(),
		"tz": "Europe/London", "cur": "GBP", "scope": "customers:read", "gen": 1,
		"iat": w.in(0), "exp": w.in(time.Hour), "jti": "1",
	}
}

func (w *world) accepts(raw string) error {
	c, err := w.v.Verify(w.t.Context(), raw)
	if err == nil && c.Raw != raw {
		err = fmt.Errorf("the claims are those of another token: %q", c.Raw)
	}
	return err
}

func (w *world) refuses(raw, reason string) error {
	c, err := w.v.Verify(w.t.Context(), raw)
	if err == nil {
		return fmt.Errorf("accepted as %s", c.Subject)
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Unauthenticated || f.Reason != reason {
		return fmt.Errorf("got %w, want %s", err, reason)
	}
	return nil
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
