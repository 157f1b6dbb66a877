package auth

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestSigningKeys(t *testing.T) { // invariant 5
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	one.keys.delay = 10 * time.Minute // longer than the test takes, so that the new key is pending in the response
	t.Run("replicas that start at the same time share one set of keys", func(t *testing.T) {
		keys, err := two.signing.ListSigningKeys(two.as(""), &authv1.ListSigningKeysRequest{})
		if err != nil || len(keys.GetSigningKeys()) != 1 || keys.GetSigningKeys()[0].GetState() != authv1.SigningKeyState_SIGNING_KEY_STATE_ACTIVE {
			t.Errorf("got %v, %v", keys, err)
		}
	})
	t.Run("rotate without a rejected token", func(t *testing.T) {
		company := one.company()
		clientID, secret := one.client(company)
		before := one.token(clientID, secret)
		res, err := one.signing.RotateSigningKey(one.as(""), &authv1.RotateSigningKeyRequest{})
		if err != nil || res.GetSigningKey().GetState() != authv1.SigningKeyState_SIGNING_KEY_STATE_PENDING {
			t.Fatalf("got %v, %v", res, err)
		}
		soon(t, func() error {
			k, err := two.keys.active(time.Now().Add(20 * time.Minute))
			if err == nil && k.KID != res.GetSigningKey().GetKid() {
				err = errors.New("the other replica does not know the new key yet")
			}
			return err
		})
		two.keys.now = func() time.Time { return time.Now().Add(20 * time.Minute) }
		after := two.token(clientID, secret)
		two.keys.now = time.Now
		header, err := base64.RawURLEncoding.DecodeString(strings.Split(after, ".")[0])
		if err != nil || !strings.Contains(string(header), res.GetSigningKey().GetKid()) {
			t.Errorf("the other replica signs with %s after the delay, %v", header, err)
		}
		for _, raw := range []string{before, after} {
			for _, v := range []*token.Verifier{one.verifier, two.verifier} {
				soon(t, func() error { _, err := v.Verify(t.Context(), raw); return err })
			}
		}
		jwks, err := one.tokens.GetJwks(t.Context(), &authv1.GetJwksRequest{})
		if err != nil || len(jwks.GetKeys()) != 2 {
			t.Errorf("got %v, %v", jwks, err)
		}
	})
	t.Run("leaked keys are removed immediately, and their tokens are rejected", func(t *testing.T) {
		company := one.company()
		clientID, secret := one.client(company)
		before := one.token(clientID, secret)
		soon(t, func() error { _, err := two.verifier.Verify(t.Context(), before); return err })
		if _, err := one.signing.RotateSigningKey(one.as(""), &authv1.RotateSigningKeyRequest{Revoke: true}); err != nil {
			t.Fatal(err)
		}
		soon(t, func() error {
			if _, err := two.verifier.Verify(t.Context(), before); !fault.Is(err, fault.Unauthenticated) {
				return errors.New("a token of the dropped key is accepted")
			}
			return nil
		})
		soon(t, func() error {
			_, err := one.verifier.Verify(t.Context(), two.token(clientID, secret))
			return err
		})
	})
	t.Run("an old key is rotated once, regardless of the number of replicas", func(t *testing.T) {
		later := time.Now().Add(25 * time.Hour)
		var wg sync.WaitGroup
		for _, r := range []*replica{one, two} {
			r.keys.now = func() time.Time { return later }
			wg.Go(func() {
				if err := r.keys.runOnce(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from signing_keys where retired_until is null`)
		if err != nil || n != 1 {
			t.Errorf("%d keys are not retired, %v", n, err)
		}
		if err := one.keys.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		// When the tokens of the retired keys have expired, the keys are deleted.
		one.keys.now = func() time.Time { return later.Add(longestToken + time.Hour) }
		if err := one.keys.runOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, err = pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from signing_keys where retired_until < $1`, one.keys.now())
		if err != nil || n != 0 {
			t.Errorf("%d retired keys are left, %v", n, err)
		}
	})
}
