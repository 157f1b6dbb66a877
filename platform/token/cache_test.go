package token

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

const cacheSize = 64

func newTestVerifier(t testing.TB) (*Verifier, func(subject string, expires time.Time) string) {
	t.Helper()
	secret := ed25519.NewKeyFromSeed([]byte(strings.Repeat("a", ed25519.SeedSize)))
	v := NewVerifier(Config{Issuer: "reservation", CacheSize: cacheSize}, time.Now)
	if err := v.SetKeys(1, []JWK{NewJWK("a", secret.Public().(ed25519.PublicKey))}); err != nil {
		t.Fatal(err)
	}
	company := id.New[id.Company]()
	return v, func(subject string, expires time.Time) string {
		raw, err := Sign(secret, "a", "reservation", Claims{
			Subject: subject, Kind: KindClient, Company: company, Generation: 1, IssuedAt: time.Now(), ExpiresAt: expires,
		})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
}

func (c *cache) held() (tokens []string) {
	for i := range c.sets {
		for j := range c.sets[i] {
			if e := c.sets[i][j].Load(); e != nil {
				tokens = append(tokens, e.claims.Raw)
			}
		}
	}
	return tokens
}

func TestCacheIsBoundedAndMatchesWholeTokens(t *testing.T) { // invariant 3
	v, sign := newTestVerifier(t)
	expires := time.Now().Add(time.Hour)
	var tokens []string
	for i := range 20 * cacheSize {
		tokens = append(tokens, sign("m2m_"+strconv.Itoa(i), expires))
	}
	for range 2 {
		for i, raw := range tokens {
			c, err := v.Verify(t.Context(), raw)
			if err != nil || c.Subject != "m2m_"+strconv.Itoa(i) {
				t.Fatalf("token %d: %v, %v", i, c, err)
			}
		}
	}
	if n := len(v.cache.held()); n == 0 || n > cacheSize {
		t.Errorf("%d tokens are kept, of at most %d", n, cacheSize)
	}
}

func TestCacheAnswersWithoutTheSignature(t *testing.T) {
	v, _ := newTestVerifier(t)
	key, _ := v.key("a")
	e := &entry{claims: &Claims{Subject: "m2m_1", Raw: "known to be good"}, expires: time.Now().Add(time.Hour).UnixNano(), kid: "a", key: key}
	v.cache.put(e, time.Now())
	if c, err := v.Verify(t.Context(), "known to be good"); err != nil || c != e.claims {
		t.Fatalf("got %v, %v", c, err)
	}
	for _, other := range []string{"known to be goo", "known to be good ", "Known to be good"} {
		if _, err := v.Verify(t.Context(), other); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestCacheKeepsOnlyAcceptedTokens(t *testing.T) { // invariant 3
	v, sign := newTestVerifier(t)
	good := sign("m2m_1", time.Now().Add(time.Hour))
	v.Revoke("m2m_2", 9)
	for _, raw := range []string{
		good[:len(good)-4] + "AAAA", good + ".", "", sign("m2m_1", time.Now().Add(-time.Second)),
		sign("m2m_2", time.Now().Add(time.Hour)), strings.Repeat("x", maxLength+1), sign("", time.Now().Add(time.Hour)),
	} {
		if _, err := v.Verify(t.Context(), raw); err == nil {
			t.Fatalf("accepted %q", raw)
		}
	}
	if held := v.cache.held(); len(held) > 0 {
		t.Errorf("kept: %q", held)
	}
}

func TestCacheReplacesExpiredTokens(t *testing.T) {
	v, sign := newTestVerifier(t)
	now := time.Now()
	key, _ := v.key("a")
	for i := range cacheSize * 50 { // every slot is taken by an expired token
		v.cache.put(&entry{claims: &Claims{Raw: strconv.Itoa(i)}, expires: now.UnixNano() + 1, kid: "a", key: key}, now)
	}
	var live []string
	for i := range cacheSize / ways { // as many as find a slot, regardless of their hashes
		live = append(live, sign("m2m_"+strconv.Itoa(i), now.Add(time.Hour)))
		if _, err := v.Verify(t.Context(), live[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, raw := range live {
		if v.cache.get(raw) == nil {
			t.Errorf("token %d of %d was replaced, and an expired one stayed", i, len(live))
		}
	}
}

// After a revocation has returned, every use that begins later sees it, regardless of other uses of
// the same token in progress.
func TestRevocationDuringConcurrentUses(t *testing.T) { // invariant 2
	v, sign := newTestVerifier(t)
	for round := range 50 {
		subject := "m2m_" + strconv.Itoa(round)
		raw := sign(subject, time.Now().Add(time.Hour))
		ctx, stop := context.WithCancel(t.Context())
		var users sync.WaitGroup
		for range 4 {
			users.Go(func() {
				for ctx.Err() == nil {
					if _, err := v.Verify(context.WithoutCancel(ctx), raw); err != nil && !fault.Is(err, fault.Unauthenticated) {
						t.Errorf("got %v", err)
					}
				}
			})
		}
		if _, err := v.Verify(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
		v.Revoke("m2m_another", int64(round))
		v.Revoke(subject, 2)
		for range 100 {
			if _, err := v.Verify(t.Context(), raw); err == nil {
				t.Fatal("a revoked token was accepted")
			}
		}
		stop()
		users.Wait()
	}
}

func BenchmarkVerify(b *testing.B) {
	v, sign := newTestVerifier(b)
	raw := sign("m2m_1", time.Now().Add(time.Hour))
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Verify(b.Context(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first use", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.admit(b.Context(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("forged", func(b *testing.B) {
		forged := raw[:len(raw)-4] + "AAAA"
		for b.Loop() {
			if _, err := v.Verify(b.Context(), forged); !errors.Is(err, unauthorized(nil)) {
				b.Fatal(err)
			}
		}
	})
}
