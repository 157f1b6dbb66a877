package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/test/harness"
)

// testWithoutAuth checks that only new tokens need auth, because gateways and services verify tokens
// without it.
func (w *world) testWithoutAuth(t *testing.T) {
	c := w.op.NewCompany(t, "Europe/London")
	customer := c.ImportCustomers(t, "away", 1)[0]
	credential := c.NewClient(t)
	one, two := w.client(t, 0), w.client(t, 1)
	known, unseen, later := one.Token(t, credential), one.Token(t, credential), one.Token(t, credential)
	works := func(t *testing.T, a *harness.A, token string) {
		t.Helper()
		for _, r := range oneRequestOfEachKind(customer, token) {
			a.Do(t, r).Into(t, http.StatusOK, nil)
		}
	}
	works(t, one, known)
	w.Part("auth").Kill(t)

	t.Run("existing tokens keep working on both gateways", func(t *testing.T) {
		for gateway := range 2 {
			a := w.client(t, gateway)
			works(t, a, known)
			works(t, a, unseen)
		}
	})
	t.Run("a token request is 503, as JSON and as a form", func(t *testing.T) {
		a := w.client(t, 0)
		checkUnavailable(t, a.Do(t, harness.TokenRequest(credential)))
		form := harness.Request{
			Path: "/token", Media: "application/x-www-form-urlencoded",
			Body: "grant_type=client_credentials&client_id=" + credential.ID + "&client_secret=" + credential.Secret,
		}
		answer := a.Do(t, form)
		checkUnavailable(t, answer)
		if !strings.Contains(string(answer.Body), "temporarily_unavailable") {
			t.Errorf("answered %s", answer.Body)
		}
	})
	t.Run("services that start without auth serve requests", func(t *testing.T) {
		for _, name := range []string{"gateway-a-2", "customer", "booking"} {
			w.Part(name).Kill(t)
			w.Part(name).Restart(t)
		}
		w.awaitBack(t, customer, later)
	})
	t.Run("tokens are issued again after auth starts", func(t *testing.T) {
		w.Part("auth").Restart(t)
		for _, a := range []*harness.A{one, two} {
			harness.Eventually(t, backLimit, func() error { return code(t.Context(), a, harness.TokenRequest(credential), http.StatusOK) })
		}
		works(t, one, known)
		works(t, two, two.Token(t, credential))
	})
	w.settle(t)
}

const (
	// revokedLimit is the time within which a revocation takes effect everywhere.
	revokedLimit = time.Second
	// slowness is how much longer a revocation can take, as a multiple of the slowest request at that time. A request takes
	// milliseconds, except on a machine whose processors are busy.
	slowness = 20
)

func (w *world) testRevocation(t *testing.T) {
	c := w.op.NewCompany(t, "Europe/London")
	customer := c.ImportCustomers(t, "revoked", 1)[0]
	clients := w.op.Clients
	kinds := map[string]func(ctx context.Context, id string) error{
		"rotating": func(ctx context.Context, id string) error {
			_, err := clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: id})
			return err
		},
		"disabling": func(ctx context.Context, id string) error {
			_, err := clients.DisableApiClient(ctx, &authv1.DisableApiClientRequest{Id: id})
			return err
		},
		"deleting": func(ctx context.Context, id string) error {
			_, err := clients.DeleteApiClient(ctx, &authv1.DeleteApiClientRequest{Id: id})
			return err
		},
		"removing a scope of": func(ctx context.Context, id string) error {
			_, err := clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: id, Scopes: []string{"customers:read"}})
			return err
		},
	}
	var dead []string
	for name, revoke := range kinds {
		t.Run(name+" a client revokes its tokens everywhere within a second", func(t *testing.T) {
			credential := c.NewClient(t)
			token := w.client(t, 0).Token(t, credential)
			dead = append(dead, token)
			for gateway := range 2 {
				w.client(t, gateway).Do(t, harness.Request{Path: "/customers", Token: token}).Into(t, http.StatusOK, nil)
			}
			if err := revoke(c.Ctx(t.Context()), credential.ID); err != nil {
				t.Fatal(err)
			}
			w.checkRevoked(t, token, customer)
		})
	}
	t.Run("revocations persist after every service restarts", func(t *testing.T) {
		for _, name := range []string{"gateway-a-1", "gateway-a-2", "customer"} {
			w.Part(name).Kill(t)
			w.Part(name).Restart(t)
		}
		// Only a service that can be reached can refuse a token. Its caller reconnects within two seconds.
		if err := callUntilConnected(t, func(ctx context.Context) error {
			_, err := w.op.Customers.GetCustomer(c.Ctx(ctx), &customerv1.GetCustomerRequest{Id: customer})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, token := range dead {
			w.checkRevoked(t, token, customer)
		}
		w.settle(t)
	})
	t.Run("a revocation that auth was killed during takes effect when auth starts", func(t *testing.T) {
		for range 3 {
			credential := c.NewClient(t)
			token := w.client(t, 0).Token(t, credential)
			if err := kinds["disabling"](c.Ctx(t.Context()), credential.ID); err != nil {
				t.Fatal(err)
			}
			w.Part("auth").Kill(t)
			w.Part("auth").Restart(t)
			w.checkRevoked(t, token, customer)
			w.settle(t)
			clients, c = w.op.Clients, w.op.Company(c.ID)
		}
	})
	t.Run("revoking the signing keys revokes all tokens, and new tokens work immediately", func(t *testing.T) {
		credential := c.NewClient(t)
		a := w.client(t, 0)
		token := a.Token(t, credential)
		if _, err := w.op.Keys.RotateSigningKey(w.op.As(t.Context(), ""), &authv1.RotateSigningKeyRequest{Revoke: true}); err != nil {
			t.Fatal(err)
		}
		w.checkRevoked(t, token, customer)
		a.Do(t, harness.Request{Path: "/customers", Token: a.Token(t, credential)}).Into(t, http.StatusOK, nil)
		w.settle(t) // the operator's own token was revoked too
	})
	t.Run("rotating the signing keys without revoking keeps tokens valid", func(t *testing.T) {
		credential := w.op.Company(c.ID).NewClient(t)
		a := w.client(t, 0)
		token := a.Token(t, credential)
		if _, err := w.op.Keys.RotateSigningKey(w.op.As(t.Context(), ""), &authv1.RotateSigningKeyRequest{}); err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{token, a.Token(t, credential)} {
			for gateway := range 2 {
				w.client(t, gateway).Do(t, harness.Request{Path: "/customers", Token: token}).Into(t, http.StatusOK, nil)
			}
		}
	})
}

// checkRevoked fails t unless both gateways and a service refuse the token within revokedLimit, or a bit later on a
// busy machine.
func (w *world) checkRevoked(t *testing.T, token, customer string) {
	t.Helper()
	asks := []func(ctx context.Context) error{
		func(ctx context.Context) error {
			_, err := w.op.Customers.GetCustomer(harness.WithToken(ctx, token), &customerv1.GetCustomerRequest{Id: customer})
			if !fault.Is(err, fault.Unauthenticated) {
				return fmt.Errorf("the customer service answered %v", err) //nolint:errorlint // the error is only shown
			}
			return nil
		},
	}
	for gateway := range 2 {
		a := w.client(t, gateway)
		asks = append(asks, func(ctx context.Context) error {
			return code(ctx, a, harness.Request{Path: "/customers", Token: token}, http.StatusUnauthorized)
		})
	}
	var wg sync.WaitGroup
	revoked := time.Now()
	for _, ask := range asks {
		wg.Go(func() {
			var slowest time.Duration
			for {
				began := time.Now()
				err := ask(t.Context())
				if err == nil {
					return
				}
				slowest = max(slowest, time.Since(began))
				if after := began.Sub(revoked); after > revokedLimit+slowness*slowest {
					t.Errorf("%s after the revocation: %v", after, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
