package token_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

func TestVerifyReadsTheClaims(t *testing.T) {
	w := newWorld(t)
	raw := w.sign("a", 3)
	got, err := w.v.Verify(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if got.Subject != w.subject || got.Kind != token.KindClient || got.Company != w.company || got.Zone != "Europe/London" ||
		got.Currency != "GBP" || !slices.Equal(got.Scopes, []string{"customers:read", "bookings:read"}) || got.Generation != 3 ||
		got.ID != "1" || got.Raw != raw || !got.IssuedAt.Equal(w.now()) || !got.ExpiresAt.Equal(w.now().Add(time.Hour)) {
		t.Errorf("got %+v", got)
	}
	if got.IsAdmin() || !got.Has("customers:read") || got.Has("customers:write") || got.Has("customers") || got.Has("") {
		t.Error("the token grants more than its scopes")
	}
}

// Invariant 1: only EdDSA by a key of the auth service.
func TestVerifyAcceptsOurSignatureOnly(t *testing.T) {
	w := newWorld(t)
	secret, stranger := key('a'), key('x')
	sign := func(m jwt.SigningMethod, key crypto.PrivateKey, header map[string]any) string {
		tok := jwt.NewWithClaims(m, w.claims())
		for name, value := range header {
			if value == nil {
				delete(tok.Header, name)
				continue
			}
			tok.Header[name] = value
		}
		raw, err := tok.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	a := map[string]any{"kid": "a"}
	w.check(w.accepts(sign(jwt.SigningMethodEdDSA, secret, a)))

	good := strings.Split(sign(jwt.SigningMethodEdDSA, secret, a), ".")
	headed := func(header string) string {
		h := base64.RawURLEncoding.EncodeToString([]byte(header))
		sig := ed25519.Sign(secret, []byte(h+"."+good[1]))
		return h + "." + good[1] + "." + base64.RawURLEncoding.EncodeToString(sig)
	}
	w.check(w.accepts(headed(`{"alg":"EdDSA","typ":"JWT","kid":"a"}`)))
	for name, raw := range map[string]string{
		"no signature":                        sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, a),
		"no algorithm":                        headed(`{"typ":"JWT","kid":"a"}`),
		"an algorithm in another spelling":    headed(`{"alg":"eddsa","typ":"JWT","kid":"a"}`),
		"HS256 by our public key":             sign(jwt.SigningMethodHS256, []byte(public(secret)), a),
		"HS256 by the text of our public key": sign(jwt.SigningMethodHS256, []byte(jwk("a", secret).X), a),
		"a stranger's key under our key id":   sign(jwt.SigningMethodEdDSA, stranger, a),
		"a stranger's key in the header": sign(jwt.SigningMethodEdDSA, stranger, map[string]any{
			"kid": "a", "jwk": jwk("x", stranger), "jku": "https://stranger.example/keys",
		}),
		"no key id":                        sign(jwt.SigningMethodEdDSA, secret, nil),
		"an empty key id":                  sign(jwt.SigningMethodEdDSA, secret, map[string]any{"kid": ""}),
		"a key id that is a number":        sign(jwt.SigningMethodEdDSA, secret, map[string]any{"kid": 1}),
		"critical headers":                 sign(jwt.SigningMethodEdDSA, secret, map[string]any{"kid": "a", "crit": []string{"b64"}, "b64": false}),
		"another type of token":            sign(jwt.SigningMethodEdDSA, secret, map[string]any{"kid": "a", "typ": "secevent+jwt"}),
		"no type of token":                 sign(jwt.SigningMethodEdDSA, secret, map[string]any{"kid": "a", "typ": nil}),
		"claims under another's signature": good[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"m2m_other"}`)) + "." + good[2],
		"an empty signature":               good[0] + "." + good[1] + ".",
		"two parts":                        good[0] + "." + good[1],
		"four parts":                       strings.Join(good, ".") + ".",
		"nothing":                          "",
		"dots":                             "..",
		"white space around":               " " + strings.Join(good, ".") + "\n",
		"padding":                          strings.Join(good, ".") + "==",
		"NUL":                              strings.Join(good, ".") + "\x00",
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if err := w.refuses(raw, fault.ReasonUnauthorized); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Every token has one spelling: a token that is cut or changed anywhere is a different one. That
// includes its last character, whose unused bits base64 would otherwise allow to differ.
func TestVerifyRefusesEveryOtherSpelling(t *testing.T) {
	w := newWorld(t)
	raw := w.sign("a", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // does not wait for a changed key id
	for i := range raw {
		if _, err := w.v.Verify(ctx, raw[:i]); err == nil {
			t.Errorf("accepted when cut at %d of %d", i, len(raw))
		}
		for _, c := range "Aw.-" {
			if raw[i] == byte(c) {
				continue
			}
			if _, err := w.v.Verify(ctx, raw[:i]+string(c)+raw[i+1:]); err == nil {
				t.Errorf("accepted with %q at %d of %d", c, i, len(raw))
			}
		}
	}
	last := len(raw) - 1
	for c := range 128 {
		if byte(c) != raw[last] {
			if _, err := w.v.Verify(ctx, raw[:last]+string(rune(c))); err == nil {
				t.Errorf("accepted with %q at its end", rune(c))
			}
		}
	}
	w.check(w.accepts(raw))
}

func TestVerifyChecksTheClaims(t *testing.T) {
	w := newWorld(t)
	sign := func(change func(jwt.MapClaims)) string {
		claims := w.claims()
		change(claims)
		tok := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		tok.Header["kid"] = "a"
		raw, err := tok.SignedString(key('a'))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	set := func(name string, value any) func(jwt.MapClaims) {
		return func(c jwt.MapClaims) { c[name] = value }
	}
	without := func(name string) func(jwt.MapClaims) {
		return func(c jwt.MapClaims) { delete(c, name) }
	}
	for name, change := range map[string]func(jwt.MapClaims){
		"no change":                               func(jwt.MapClaims) {},
		"an audience among several":               set("aud", []string{"other", "reservation"}),
		"a time before which it is not valid":     set("nbf", w.in(0)),
		"claims that we do not know":              set("email", "z@example.com"),
		"no scope":                                set("scope", ""),
		"a platform credential without a company": func(c jwt.MapClaims) { delete(c, "cid"); c["scope"] = token.Admin; c["typ"] = "service" },
	} {
		t.Run("accepts "+name, func(t *testing.T) {
			if err := w.accepts(sign(change)); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, change := range map[string]func(jwt.MapClaims){
		"another issuer":                  set("iss", "someone"),
		"an issuer in another spelling":   set("iss", "Reservation"),
		"no issuer":                       without("iss"),
		"another audience":                set("aud", "other"),
		"no audience":                     without("aud"),
		"no expiry":                       without("exp"),
		"an expiry that is text":          set("exp", "tomorrow"),
		"a time at which it is not valid": set("nbf", w.in(time.Second)),
		"no subject":                      without("sub"),
		"another kind of caller":          set("typ", "user"),
		"no kind of caller":               without("typ"),
		"no company":                      without("cid"), // invariant 5
		"a company that is not a company identifier": set("cid", "cust_01"),
		"a generation that is text":                  set("gen", "1"),
		"a subject that is a list":                   set("sub", []string{"m2m_1"}),
		"networks that are addresses":                set("net", []string{"203.0.113.0"}), // invariant 7
		"networks that are a text":                   set("net", "203.0.113.0/24"),
		"networks that are numbers":                  set("net", []int{1}),
		"networks with a zone":                       set("net", []string{"fe80::1%eth0/64"}),
		"4096 bytes and more":                        set("scope", strings.Repeat("customers:read ", 300)),
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if err := w.refuses(sign(change), fault.ReasonUnauthorized); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("says that a token has expired", func(t *testing.T) {
		for _, ago := range []time.Duration{0, time.Second, 24 * time.Hour} {
			w.check(w.refuses(sign(set("exp", w.in(-ago))), fault.ReasonTokenExpired))
		}
	})
	t.Run("does not say that a forged token has expired", func(t *testing.T) {
		raw := sign(set("exp", w.in(-time.Hour)))
		w.check(w.refuses(raw[:len(raw)-4]+"AAAA", fault.ReasonUnauthorized))
	})
	t.Run("never reveals the token or its claims to the caller", func(t *testing.T) {
		for _, raw := range []string{sign(set("iss", "secret-issuer")), sign(set("exp", w.in(-1))), "secret.issuer.x"} {
			_, err := w.v.Verify(t.Context(), raw)
			text, _ := json.Marshal(fault.Status(err).Proto())
			if strings.Contains(string(text), "issuer") || strings.Contains(string(text), raw) || strings.Contains(err.Error(), raw) {
				t.Errorf("%s", text)
			}
		}
	})
}

// Invariant 2: a token that was accepted once is checked again at each use.
func TestVerifyAtEachUse(t *testing.T) {
	t.Run("a token expires to the second", func(t *testing.T) {
		w := newWorld(t)
		raw := w.sign("a", 1)
		w.check(w.accepts(raw))
		w.pass(time.Hour - 1)
		w.check(w.accepts(raw))
		w.pass(1)
		w.check(w.refuses(raw, fault.ReasonTokenExpired))
	})
	t.Run("a token is rejected after its credential's generation rises, others are not", func(t *testing.T) {
		w := newWorld(t)
		old, fresh := w.sign("a", 1), w.sign("a", 2)
		w.check(errors.Join(w.accepts(old), w.accepts(fresh)))
		w.v.Revoke(id.New[id.APIClient]().String(), 100)
		w.check(errors.Join(w.accepts(old), w.accepts(fresh)))
		w.v.Revoke(w.subject, 2)
		w.check(errors.Join(w.refuses(old, fault.ReasonUnauthorized), w.accepts(fresh), w.accepts(fresh)))
		w.check(w.refuses(old, fault.ReasonUnauthorized))
		w.v.Revoke(w.subject, 3)
		w.check(w.refuses(fresh, fault.ReasonUnauthorized))
	})
	t.Run("a token of a revoked generation is refused at its first use too", func(t *testing.T) {
		w := newWorld(t)
		w.v.Revoke(w.subject, 2)
		w.check(errors.Join(w.refuses(w.sign("a", 1), fault.ReasonUnauthorized), w.accepts(w.sign("a", 2))))
	})
	t.Run("a revocation never goes back", func(t *testing.T) { // invariant 6
		w := newWorld(t)
		w.v.Revoke(w.subject, 5)
		w.v.Revoke(w.subject, 2)
		w.v.Revoke(w.subject, 0)
		w.check(errors.Join(w.refuses(w.sign("a", 4), fault.ReasonUnauthorized), w.accepts(w.sign("a", 5))))
	})
	t.Run("both keys verify during a rotation, and a withdrawn one does not", func(t *testing.T) {
		w := newWorld(t)
		old, fresh := w.sign("a", 1), w.sign("b", 1)
		w.check(w.accepts(old))
		w.check(w.v.SetKeys(2, []token.JWK{jwk("a", key('a')), jwk("b", key('b'))}))
		w.check(errors.Join(w.accepts(old), w.accepts(fresh)))
		w.check(w.v.SetKeys(3, []token.JWK{jwk("b", key('b'))}))
		w.check(errors.Join(w.refuses(old, fault.ReasonUnauthorized), w.accepts(fresh)))
	})
	t.Run("tokens of a key are rejected when its id gets another key", func(t *testing.T) {
		w := newWorld(t)
		old := w.sign("a", 1)
		w.check(w.accepts(old))
		w.check(w.v.SetKeys(2, []token.JWK{jwk("a", key('b'))}))
		w.check(w.refuses(old, fault.ReasonUnauthorized))
	})
	t.Run("a set of keys never goes back", func(t *testing.T) { // invariant 6
		w := newWorld(t)
		w.check(w.v.SetKeys(7, []token.JWK{jwk("b", key('b'))}))
		w.check(w.v.SetKeys(6, []token.JWK{jwk("a", key('a'))}))
		w.check(w.accepts(w.sign("b", 1)))
		synctest.Test(t, func(t *testing.T) { // the wait for the key takes no real time
			again := newWorld(t)
			again.check(again.v.SetKeys(7, []token.JWK{jwk("b", key('b'))}))
			again.check(again.v.SetKeys(6, []token.JWK{jwk("a", key('a'))}))
			again.check(again.refuses(again.sign("a", 1), fault.ReasonUnauthorized))
		})
	})
}

func TestSetKeysLeavesOutUnusableKeys(t *testing.T) {
	good := jwk("b", key('b'))
	change := func(f func(*token.JWK)) token.JWK { k := jwk("x", key('x')); f(&k); return k }
	bad := map[string]token.JWK{
		"no id":             change(func(k *token.JWK) { k.Kid = "" }),
		"another type":      change(func(k *token.JWK) { k.Kty = "RSA" }),
		"another curve":     change(func(k *token.JWK) { k.Crv = "Ed448" }),
		"another algorithm": change(func(k *token.JWK) { k.Alg = "HS256" }),
		"another use":       change(func(k *token.JWK) { k.Use = "enc" }),
		"too few bytes":     change(func(k *token.JWK) { k.X = k.X[:40] }),
		"invalid base64":    change(func(k *token.JWK) { k.X = "!" + k.X[1:] }),
		"nothing":           {},
	}
	for name, k := range bad {
		t.Run("a key with "+name+" is reported, the others work", func(t *testing.T) {
			w := newWorld(t)
			if err := w.v.SetKeys(2, []token.JWK{k, good}); err == nil {
				t.Error("not reported")
			}
			w.check(w.accepts(w.sign("b", 1)))
		})
		t.Run("a set of only one key with "+name+" is ignored", func(t *testing.T) {
			w := newWorld(t)
			if err := w.v.SetKeys(2, []token.JWK{k}); err == nil {
				t.Error("not reported")
			}
			w.check(w.accepts(w.sign("a", 1)))
		})
	}
}

// Invariant 4: no token is accepted before the keys and revocations are known.
func TestVerifyWaits(t *testing.T) {
	t.Run("a verifier without keys is unavailable", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.v = token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, w.now)
			w.v.Revoke(w.subject, 9)
			began := time.Now()
			_, err := w.v.Verify(t.Context(), w.sign("a", 1))
			if !fault.Is(err, fault.Unavailable) || w.v.Ready() {
				t.Fatalf("got %v", err)
			}
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("waited %s", waited)
			}
		})
	})
	t.Run("a token that arrives before its key is accepted when the key arrives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			raw, done := w.sign("b", 1), make(chan error, 1)
			go func() { done <- w.accepts(raw) }()
			synctest.Wait()
			w.check(w.v.SetKeys(2, []token.JWK{jwk("a", key('a'))})) // a set that still lacks it
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("did not wait: %v", err)
			default:
			}
			w.check(w.v.SetKeys(3, []token.JWK{jwk("a", key('a')), jwk("b", key('b'))}))
			w.check(<-done)
		})
	})
	t.Run("an unknown key is refused after a second, or when the caller ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			began := time.Now()
			w.check(w.refuses(w.sign("b", 1), fault.ReasonUnauthorized))
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("waited %s", waited)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if _, err := w.v.Verify(ctx, w.sign("b", 1)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("invented key ids do not accumulate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			raw := w.sign("b", 1)
			for range 256 {
				go func() { _, _ = w.v.Verify(ctx, raw) }()
			}
			synctest.Wait()
			began := time.Now()
			w.check(w.refuses(raw, fault.ReasonUnauthorized))
			if waited := time.Since(began); waited != 0 {
				t.Errorf("waited %s behind all the others", waited)
			}
			cancel()
			synctest.Wait()
			began = time.Now()
			w.check(w.refuses(raw, fault.ReasonUnauthorized))
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("waited %s without other requests", waited)
			}
		})
	})
	t.Run("waiting for readiness ends when ready, or with the context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, time.Now)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := v.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			done := make(chan error, 1)
			go func() { done <- v.WaitReady(t.Context()) }()
			synctest.Wait()
			if err := v.SetKeys(1, []token.JWK{jwk("a", key('a'))}); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil || !v.Ready() {
				t.Fatalf("got %v", err)
			}
		})
	})
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]token.Config{
		"no issuer":                 {CacheSize: 1},
		"no cache":                  {Issuer: issuer},
		"a cache that is too large": {Issuer: issuer, CacheSize: 1 << 30},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if cfg.Validate() == nil {
				t.Fatal("taken")
			}
		})
	}
	if err := (token.Config{Issuer: issuer, CacheSize: 16384}).Validate(); err != nil {
		t.Fatal(err)
	}
}

// FuzzVerify: of all possible input, only signed tokens are accepted, and all other input is
// rejected as unauthenticated.
func FuzzVerify(f *testing.F) {
	w := newWorld(f)
	signed := map[string]bool{w.sign("a", 1): true, w.sign("a", 2): true}
	for raw := range signed {
		f.Add(raw)
		f.Add(raw[:len(raw)-1])
		parts := strings.Split(raw, ".")
		f.Add(parts[0] + "." + parts[1] + ".")
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"a","typ":"JWT"}`)) + "." + parts[1] + ".")
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"zz","typ":"JWT"}`)) + "." + parts[1] + "." + parts[2])
		f.Add(parts[0] + ".e30." + parts[2])
	}
	f.Add("")
	f.Add("..")
	f.Add("\xff.\x00.é")
	ctx, cancel := context.WithCancel(f.Context())
	cancel() // does not wait for unknown keys
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := w.v.Verify(ctx, raw)
		switch {
		case err == nil && (!signed[raw] || c.Raw != raw):
			t.Fatalf("%q was accepted", raw)
		case err != nil && signed[raw]:
			t.Fatalf("%q was refused: %v", raw, err)
		case err != nil && !fault.Is(err, fault.Unauthenticated) && !errors.Is(err, context.Canceled):
			t.Fatalf("%q: %v", raw, err)
		}
	})
}
