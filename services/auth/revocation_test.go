package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestRevocation(t *testing.T) { // invariant 3
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	company := one.company()
	changes := map[string]func(clientID string) error{
		"rotating": func(clientID string) error {
			_, err := one.clients.RotateApiClientSecret(one.as(company), &authv1.RotateApiClientSecretRequest{Id: clientID})
			return err
		},
		"disabling": func(clientID string) error {
			_, err := one.clients.DisableApiClient(one.as(company), &authv1.DisableApiClientRequest{Id: clientID})
			return err
		},
		"deleting": func(clientID string) error {
			_, err := one.clients.DeleteApiClient(one.as(company), &authv1.DeleteApiClientRequest{Id: clientID})
			return err
		},
		"taking a scope away": func(clientID string) error {
			_, err := one.clients.UpdateApiClient(one.as(company), &authv1.UpdateApiClientRequest{Id: clientID, Scopes: []string{"profile:read"}})
			return err
		},
	}
	for name, change := range changes {
		t.Run("by "+name+" reaches every process, including later ones", func(t *testing.T) {
			clientID, secret := one.client(company)
			raw := two.token(clientID, secret)
			for _, v := range []*token.Verifier{one.verifier, two.verifier} {
				soon(t, func() error { _, err := v.Verify(t.Context(), raw); return err })
			}
			if err := change(clientID); err != nil {
				t.Fatal(err)
			}
			later := w.newVerifier(testkit.Bus(w.t))
			if err := later.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, v := range []*token.Verifier{one.verifier, two.verifier, later} {
				soon(t, func() error {
					if _, err := v.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
						return fmt.Errorf("verifier %d: %w", i, errors.Join(errors.New("the token is still accepted"), err))
					}
					return nil
				})
			}
			if name == "deleting" || name == "disabling" || name == "rotating" {
				_, err := two.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret})
				if fault.From(err).Reason != fault.ReasonInvalidCredentials {
					t.Errorf("the old secret got %v", err)
				}
			}
		})
	}
	t.Run("takes effect within a second", func(t *testing.T) { timeOfRevocation(t, one, two, company) })
	t.Run("an older revocation that arrives late does not undo a newer one", func(t *testing.T) { lateRevocation(t, w, one, two, company) })
	t.Run("is published again if an older event replaced it before anybody read it", func(t *testing.T) { overwrittenRevocation(t, w, one, company) })
	t.Run("does not happen for an added scope", func(t *testing.T) {
		clientID, secret := one.client(company, "profile:read")
		raw := one.token(clientID, secret)
		if _, err := one.clients.UpdateApiClient(one.as(company), &authv1.UpdateApiClientRequest{Id: clientID, Scopes: scopes.InterfaceA()}); err != nil {
			t.Fatal(err)
		}
		c, err := one.verifier.Verify(t.Context(), raw)
		if err != nil || c.Generation != 1 {
			t.Errorf("got %v, %v", c, err)
		}
	})
	t.Run("ends with a new secret, after which the client gets tokens again", func(t *testing.T) {
		clientID, _ := one.client(company)
		res, err := one.clients.RotateApiClientSecret(one.as(company), &authv1.RotateApiClientSecretRequest{Id: clientID})
		if err != nil {
			t.Fatal(err)
		}
		raw := one.token(clientID, res.GetClientSecret())
		soon(t, func() error { _, err := two.verifier.Verify(t.Context(), raw); return err })
	})
	t.Run("tokens of a disabled client stay revoked when it is enabled", func(t *testing.T) {
		clientID, secret := one.client(company)
		raw := one.token(clientID, secret)
		for range 2 {
			if _, err := one.clients.DisableApiClient(one.as(company), &authv1.DisableApiClientRequest{Id: clientID}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := one.clients.EnableApiClient(one.as(company), &authv1.EnableApiClientRequest{Id: clientID}); err != nil {
			t.Fatal(err)
		}
		fresh := one.token(clientID, secret)
		soon(t, func() error {
			if _, err := one.verifier.Verify(t.Context(), raw); err == nil {
				return errors.New("the old token is accepted")
			}
			_, err := one.verifier.Verify(t.Context(), fresh)
			return err
		})
	})
}

// timeOfRevocation checks that half of many revocations take effect in another process within a second and the time of
// five requests, which is milliseconds except on a busy machine. If nothing pushed them, they would take many seconds.
func timeOfRevocation(t *testing.T, one, two *replica, company string) {
	t.Helper()
	clientID, secret := one.client(company)
	took, requests := make([]time.Duration, 12), make([]time.Duration, 12)
	for i := range took {
		raw := one.token(clientID, secret)
		soon(t, func() error { _, err := two.verifier.Verify(t.Context(), raw); return err })
		began := time.Now()
		res, err := one.clients.RotateApiClientSecret(one.as(company), &authv1.RotateApiClientSecretRequest{Id: clientID})
		if err != nil {
			t.Fatal(err)
		}
		secret, requests[i] = res.GetClientSecret(), time.Since(began)
		began = time.Now()
		soon(t, func() error {
			if _, err := two.verifier.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
				return errors.Join(errors.New("the token is still accepted"), err)
			}
			return nil
		})
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	slices.Sort(requests)
	if half := len(took) / 2; took[half] > time.Second+5*requests[half] {
		t.Errorf("the revocations took %v, and their requests %v", took, requests)
	}
}

func lateRevocation(t *testing.T, w *world, one *replica, two *replica, company string) {
	t.Helper()
	clientID, secret := one.client(company)
	raw := one.token(clientID, secret)
	for range 2 {
		if _, err := one.clients.RotateApiClientSecret(one.as(company), &authv1.RotateApiClientSecretRequest{Id: clientID}); err != nil {
			t.Fatal(err)
		}
	}
	soon(t, func() error {
		if _, err := two.verifier.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
			return errors.New("the token is still accepted")
		}
		return nil
	})
	// Events that a crashed process had claimed.
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return one.server.outbox.Append(ctx, tx,
			outbox.Event{Subject: subjectRevoked + clientID, Payload: &authv1.CredentialRevoked{Subject: clientID, MinGeneration: 1}},
			outbox.Event{Subject: subjectKeysChanged, Payload: &authv1.SigningKeysChanged{Version: 0}})
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		last := map[string]int64{}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := testkit.Bus(w.t).Follow(ctx, []string{keysSubjects, subjectRevoked + "*"}, func(m bus.Message) {
			if order, err := orderOf(m); err == nil {
				last[m.Subject] = order
			}
		}, cancel)
		if last[subjectRevoked+clientID] < 3 || last[subjectKeysChanged] < 1 {
			return fmt.Errorf("the latest events are %v (%w)", last, errors.Join(err, errors.New("too old")))
		}
		return nil
	})
	later := w.newVerifier(testkit.Bus(w.t))
	if err := later.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := later.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a verifier that starts later returns %v", err)
	}
}

func overwrittenRevocation(t *testing.T, w *world, one *replica, company string) {
	t.Helper()
	clientID, _ := one.client(company)
	ada := one.administrator(company, manager)
	// The generations are committed without their events.
	for sql, subject := range map[string]string{
		`update credentials set generation = 7, revoked_at = now() where id = $1`:    clientID,
		`update administrators set generation = 7, revoked_at = now() where id = $1`: ada.id,
	} {
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			u, _ := subjectUUID(subject)
			_, err := tx.Exec(ctx, sql, u)
			return errors.Join(err, one.server.outbox.Append(ctx, tx, revoked(subject, 6)))
		})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, patience, func() error {
			last := int64(0)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := testkit.Bus(w.t).Follow(ctx, []string{subjectRevoked + subject}, func(m bus.Message) { last, _ = orderOf(m) }, cancel)
			if last != 7 {
				return fmt.Errorf("the latest event of %s is %d (%w)", subject, last, errors.Join(err, errors.New("too old")))
			}
			return nil
		})
	}
}
