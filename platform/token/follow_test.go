package token_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

const patience = time.Minute

func keysEvent(t testing.TB, version int64, keys ...token.JWK) bus.Message {
	e := &authv1.SigningKeysChanged{Version: version}
	for _, k := range keys {
		e.Keys = append(e.Keys, &authv1.JsonWebKeySnapshot{Kid: k.Kid, Kty: k.Kty, Crv: k.Crv, X: k.X, Alg: k.Alg, Use: k.Use})
	}
	return event(t, "auth.v1.signing_keys_changed.all", e)
}

func revokedEvent(t testing.TB, subject string, generation int64) bus.Message {
	return event(t, "auth.v1.credential_revoked."+subject, &authv1.CredentialRevoked{Subject: subject, MinGeneration: generation})
}

func event(t testing.TB, subject string, m proto.Message) bus.Message {
	payload, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{ID: id.NewUUID(), Subject: subject, Payload: payload, OccurredAt: time.Now()}
}

// script is a bus that delivers the given messages in that order.
type script []bus.Message

func (s script) Follow(ctx context.Context, subjects []string, each func(bus.Message), caughtUp func()) error {
	for _, m := range s {
		each(m)
	}
	caughtUp()
	return nil
}

func TestRunFollowsTheBus(t *testing.T) {
	b := testkit.Bus(t)
	publish := func(msgs ...bus.Message) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := b.Publish(ctx, msgs); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	run := func() {
		w.v = token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, w.now)
		running, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		v := w.v
		go func() { done <- v.Run(running, b) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		w.check(w.v.WaitReady(ctx))
	}
	first, second := w.sign("a", 1), w.sign("a", 2)
	publish(keysEvent(t, 1, jwk("a", key('a'))), revokedEvent(t, w.subject, 2))

	run() // events from before its start
	w.check(errors.Join(w.refuses(first, fault.ReasonUnauthorized), w.accepts(second)))

	publish(revokedEvent(t, w.subject, 3), keysEvent(t, 2, jwk("a", key('a')), jwk("b", key('b'))))
	testkit.Eventually(t, patience, func() error { return w.refuses(second, fault.ReasonUnauthorized) })
	w.check(w.accepts(w.sign("b", 3))) // waits for the key if necessary

	publish(keysEvent(t, 3, jwk("b", key('b'))))
	testkit.Eventually(t, patience, func() error { return w.refuses(w.sign("a", 3), fault.ReasonUnauthorized) })

	run() // events of another replica, later
	w.check(errors.Join(w.refuses(w.sign("b", 2), fault.ReasonUnauthorized), w.accepts(w.sign("b", 3))))
}

func TestRunTakesEventsInAnyOrder(t *testing.T) { // invariant 6
	w := newWorld(t)
	a, b := jwk("a", key('a')), jwk("b", key('b'))
	orders := map[string]script{
		"in order":        {keysEvent(t, 1, a), keysEvent(t, 2, a, b), revokedEvent(t, w.subject, 2), revokedEvent(t, w.subject, 3)},
		"backwards":       {revokedEvent(t, w.subject, 3), revokedEvent(t, w.subject, 2), keysEvent(t, 2, a, b), keysEvent(t, 1, a)},
		"repeated":        {keysEvent(t, 2, a, b), revokedEvent(t, w.subject, 3), keysEvent(t, 2, a, b), revokedEvent(t, w.subject, 3), keysEvent(t, 1, a)},
		"with older ones": {revokedEvent(t, w.subject, 3), revokedEvent(t, "m2m_other", 9), keysEvent(t, 2, a, b), revokedEvent(t, w.subject, 0)},
	}
	for name, s := range orders {
		t.Run(name, func(t *testing.T) {
			w.v = token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, w.now)
			w.check(w.v.Run(t.Context(), s))
			for _, kid := range []string{"a", "b"} {
				if err := errors.Join(w.refuses(w.sign(kid, 2), fault.ReasonUnauthorized), w.accepts(w.sign(kid, 3))); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRunSkipsUnreadableEvents(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.v = token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, w.now)
	w.v.Log = slog.New(slog.NewTextHandler(&log, nil))
	bad := script{
		{Subject: "auth.v1.signing_keys_changed.all", Payload: []byte("\xff\xff")},
		{Subject: "auth.v1.credential_revoked.m2m_1", Payload: []byte("\xff\xff")},
		revokedEvent(t, "", 1),
		keysEvent(t, 8),
		keysEvent(t, 9, token.JWK{Kid: "x", Kty: "RSA"}),
	}
	good := script{keysEvent(t, 1, jwk("a", key('a'))), revokedEvent(t, w.subject, 2)}
	w.check(w.v.Run(t.Context(), append(bad, good...)))
	w.check(errors.Join(w.accepts(w.sign("a", 2)), w.refuses(w.sign("a", 1), fault.ReasonUnauthorized)))
	if got := strings.Count(log.String(), "an identity event cannot be read and is skipped"); got != len(bad) {
		t.Errorf("%d of %d are reported:\n%s", got, len(bad), &log)
	}
}

func TestRunIsNotReadyBeforeTheKeysAreThere(t *testing.T) { // invariant 4
	w := newWorld(t)
	v := token.NewVerifier(token.Config{Issuer: issuer, CacheSize: 64}, w.now)
	w.check(v.Run(t.Context(), script{revokedEvent(t, w.subject, 2)}))
	if v.Ready() {
		t.Fatal("ready without a key")
	}
	w.check(v.Run(t.Context(), script{keysEvent(t, 1, jwk("a", key('a')))}))
	if !v.Ready() {
		t.Fatal("not ready with a key")
	}
}
