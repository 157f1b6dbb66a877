package auth

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// The database is reset to before a rotation, as a restore does, and the stream is not.
func TestARestoredDatabase(t *testing.T) { // invariant 16
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	clientID, secret := r.client(company)
	before := r.token(clientID, secret)
	if _, err := r.clients.RotateApiClientSecret(r.as(company), &authv1.RotateApiClientSecretRequest{Id: clientID}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.signing.RotateSigningKey(r.as(""), &authv1.RotateSigningKeyRequest{}); err != nil {
		t.Fatal(err)
	}
	refused := func(raw string) error {
		if _, err := r.verifier.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
			return errors.Join(errors.New("the token is accepted"), err)
		}
		return nil
	}
	soon(t, func() error { return refused(before) })
	testkit.Eventually(t, patience, func() error { // the new keys are in the stream too
		left, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from outbox`)
		if err == nil && left > 0 {
			err = fmt.Errorf("%d events are not published", left)
		}
		return err
	})
	var version int64
	client, err := id.Parse[id.APIClient](clientID)
	if err != nil {
		t.Fatal(err)
	}
	err = w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `update credentials set generation = 1, revoked_at = null, secret_hash = $2 where id = $1`, client, hashOf(secret)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `update signing_key_set set version = 1 returning version`).Scan(&version)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := refused(r.token(clientID, secret)); err != nil {
		t.Errorf("of the restored generation: %v", err)
	}

	feed := r.server.identityFeed()
	raised, err := feed.restore(t.Context(), testkit.Bus(t))
	if err != nil || raised != 2 {
		t.Fatalf("raised %d, %v; want the credential and the keys", raised, err)
	}
	if err := r.keys.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("issues tokens that are accepted", func(t *testing.T) {
		raw := r.token(clientID, secret)
		soon(t, func() error { _, err := r.verifier.Verify(t.Context(), raw); return err })
	})
	t.Run("keeps revoked tokens revoked", func(t *testing.T) {
		if err := refused(before); err != nil {
			t.Error(err)
		}
	})
	t.Run("publishes its keys with the highest version", func(t *testing.T) {
		now, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), keySetVersionSQL)
		if err != nil || now <= 2 {
			t.Errorf("the set has version %d, %v", now, err)
		}
	})
	t.Run("records the raised generations in the audit log", func(t *testing.T) {
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from audit_log where action = 'credential.revoke_again' and target = $1`, clientID)
		if err != nil || n != 1 {
			t.Errorf("%d lines, %v", n, err)
		}
	})
	t.Run("has nothing to raise a second time", func(t *testing.T) {
		again, err := feed.restore(t.Context(), testkit.Bus(t))
		if err != nil || again != 0 {
			t.Errorf("raised %d, %v", again, err)
		}
	})
}
