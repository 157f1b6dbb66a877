package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"reservation.dev/devkit/testkit"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// holder is a credential of one of the interfaces, and what the test does with it.
type holder struct {
	harness.Credential
	face *harness.A
	// rotate replaces the secret with an overlap of days, end ends the previous secret, and allow
	// replaces the allowed networks.
	rotate func(ctx context.Context, days int32) (secret string, err error)
	end    func(ctx context.Context) error
	allow  func(ctx context.Context, networks ...string) error
}

func apiClientHolder(t *testing.T, s *harness.Standalone, op *harness.Operator, c *harness.Company) holder {
	t.Helper()
	h := holder{Credential: c.NewClient(t), face: s.A(t)}
	h.rotate = func(ctx context.Context, days int32) (string, error) {
		res, err := op.Clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: h.ID, OverlapDays: days})
		return res.GetClientSecret(), err
	}
	h.end = func(ctx context.Context) error {
		_, err := op.Clients.EndPreviousApiClientSecret(ctx, &authv1.EndPreviousApiClientSecretRequest{Id: h.ID})
		return err
	}
	h.allow = func(ctx context.Context, networks ...string) error {
		_, err := op.Clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: h.ID, AllowedNetworks: &authv1.AllowedNetworks{Values: networks}})
		return err
	}
	return h
}

func apiKeyHolder(t *testing.T, s *harness.Standalone, op *harness.Operator, c *harness.Company) holder {
	t.Helper()
	h := holder{Credential: c.NewKey(t, 0), face: harness.NewA(t, s.Credentials.InterfaceB.BaseURL)}
	h.rotate = func(ctx context.Context, days int32) (string, error) {
		res, err := op.APIKeys.RotateApiKeySecret(ctx, &authv1.RotateApiKeySecretRequest{Id: h.ID, OverlapDays: days})
		return res.GetApiSecret(), err
	}
	h.end = func(ctx context.Context) error {
		_, err := op.APIKeys.EndPreviousApiKeySecret(ctx, &authv1.EndPreviousApiKeySecretRequest{Id: h.ID})
		return err
	}
	h.allow = func(ctx context.Context, networks ...string) error {
		_, err := op.APIKeys.UpdateApiKey(ctx, &authv1.UpdateApiKeyRequest{Id: h.ID, AllowedNetworks: &authv1.AllowedNetworks{Values: networks}})
		return err
	}
	return h
}

// token requests a token with a secret, as a client whose requests a proxy forwards: forwarded is the
// X-Forwarded-For that the proxy sends, "" for a client that sends its requests itself.
func (h *holder) token(t *testing.T, secret, forwarded string) harness.Answer {
	t.Helper()
	c := harness.Credential{ID: h.ID, Secret: secret}
	r := harness.TokenRequest(c)
	if strings.HasPrefix(h.ID, "key_") {
		r = harness.KeyTokenRequest(c)
	}
	r.Header = forwardedFor(forwarded)
	return h.face.Do(t, r)
}

// raw returns the token in an answer.
func raw(t *testing.T, a harness.Answer) string {
	t.Helper()
	var body struct {
		AccessToken string `json:"access_token"`
		Token       string `json:"token"`
	}
	a.Into(t, http.StatusOK, &body)
	return body.AccessToken + body.Token
}

func (h *holder) read(t *testing.T, raw, forwarded string) harness.Answer {
	t.Helper()
	return h.face.Do(t, harness.Request{Path: "/customers", Token: raw, Header: forwardedFor(forwarded)})
}

func forwardedFor(address string) http.Header {
	if address == "" {
		return http.Header{}
	}
	return headers("X-Forwarded-For", address)
}

// TestCredentials uses an API client and an API key with two secrets, and from several networks. The
// test itself is the proxy that the platform trusts.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"TRUSTED_PROXIES": "127.0.0.1/32"}})
	op := s.Operator(t)
	company := op.NewCompany(t, "Europe/London")
	for name, h := range map[string]holder{"an API client": apiClientHolder(t, s, op, company), "an API key": apiKeyHolder(t, s, op, company)} {
		t.Run(name+" has two secrets during the overlap of a rotation", func(t *testing.T) { h.testOverlap(t, company) })
		t.Run(name+" is refused outside its networks", func(t *testing.T) { h.testNetworks(t, company) })
	}
}

func (h *holder) testOverlap(t *testing.T, company *harness.Company) {
	ctx := company.Ctx(t.Context())
	first := h.Secret
	before := raw(t, h.token(t, first, ""))
	second, err := h.rotate(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second} {
		h.read(t, raw(t, h.token(t, secret, "")), "").Into(t, http.StatusOK, nil)
	}
	h.read(t, before, "").Into(t, http.StatusOK, nil)
	if err := h.end(ctx); err != nil {
		t.Fatal(err)
	}
	if err := h.token(t, first, "").Want(http.StatusUnauthorized, nil); err != nil {
		t.Errorf("the ended secret: %v", err)
	}
	h.awaitRevoked(t, before, "")
	h.read(t, raw(t, h.token(t, second, "")), "").Into(t, http.StatusOK, nil)
	h.Secret = second
}

func (h *holder) testNetworks(t *testing.T, company *harness.Company) {
	ctx := company.Ctx(t.Context())
	const here, there = "127.0.0.2", "127.0.0.3"
	before := raw(t, h.token(t, h.Secret, there))
	if err := h.allow(ctx, here, "2001:db8::/32"); err != nil {
		t.Fatal(err)
	}
	h.awaitRevoked(t, before, there)
	token := raw(t, h.token(t, h.Secret, here))
	h.read(t, token, here).Into(t, http.StatusOK, nil)
	h.read(t, token, "2001:db8::7").Into(t, http.StatusOK, nil)
	for _, tt := range []struct{ forwarded, seen string }{
		{"", "127.0.0.1"}, {there, there}, {"2001:db9::7", "2001:db9::7"},
		{here + ", " + there, there}, // the client invented the first address
	} {
		for _, a := range []harness.Answer{h.read(t, token, tt.forwarded), h.token(t, h.Secret, tt.forwarded)} {
			if a.Code != http.StatusForbidden || a.Reason() != "NETWORK_NOT_ALLOWED" || !strings.Contains(string(a.Body), "the address "+tt.seen+" is not") {
				t.Errorf("%q: got %d %s", tt.forwarded, a.Code, a.Body)
			}
		}
		if a := h.token(t, strings.Repeat("0", 64), tt.forwarded); a.Code != http.StatusUnauthorized || a.Reason() != "INVALID_CREDENTIALS" {
			t.Errorf("a wrong secret: got %d %s", a.Code, a.Body)
		}
	}
	if err := h.allow(ctx); err != nil {
		t.Fatal(err)
	}
	h.read(t, raw(t, h.token(t, h.Secret, there)), here).Into(t, http.StatusOK, nil)
}

// awaitRevoked waits until a token is no longer accepted.
func (h *holder) awaitRevoked(t *testing.T, raw, forwarded string) {
	t.Helper()
	testkit.Eventually(t, eventLimit, func() error {
		a := h.read(t, raw, forwarded)
		return errors.Join(a.Want(http.StatusUnauthorized, nil), reasonIs(a, "UNAUTHORIZED"))
	})
}

func reasonIs(a harness.Answer, want string) error {
	if got := a.Reason(); got != want {
		return fmt.Errorf("the reason is %s", got)
	}
	return nil
}
