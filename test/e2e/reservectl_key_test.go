package e2e

import (
	"strings"
	"testing"

	"reservation.dev/platform/fault"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// apiKey is an API key as reservectl prints it.
type apiKey struct {
	ID          string   `json:"api_key"`
	Secret      string   `json:"api_secret"`
	Name        string   `json:"name"`
	Permissions []string `json:"permissions"`
	RateLimit   *int     `json:"rate_limit"`
	State       string   `json:"state"`
	ExpiresAt   *string  `json:"expires_at"`

	Networks     []string `json:"allowed_networks"`
	PreviousEnds *string  `json:"previous_secret_expires_at"`
	PreviousUsed *string  `json:"previous_secret_last_used_at"`
}

func (o operator) testKey(t *testing.T, companyID string) {
	tokens := o.s.Platform.Operator(t).Tokens
	issue := func(t *testing.T, k apiKey) (*authv1.IssueTokenResponse, error) {
		t.Helper()
		return tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: k.ID, ClientSecret: k.Secret})
	}
	refused := func(t *testing.T, k apiKey) {
		t.Helper()
		if _, err := issue(t, k); err == nil || fault.From(err).Reason != fault.ReasonInvalidCredentials {
			t.Errorf("a token: %v", err)
		}
	}
	made := decode[apiKey](t, o.ok(t, "key", "create", "--company", companyID, "--name", "Website",
		"--permissions", "registrations:write,events:read", "--rate-limit", "300", "--expires-days", "30"))
	list := func(t *testing.T) (apiKey, string) {
		t.Helper()
		out := o.ok(t, "key", "list", "--company", companyID)
		for _, k := range decode[[]apiKey](t, out) {
			if k.ID == made.ID {
				return k, out
			}
		}
		t.Fatalf("%s is not in %s", made.ID, out)
		return apiKey{}, ""
	}
	t.Run("a new key's secret is shown once and works", func(t *testing.T) {
		k, out := list(t)
		if strings.Contains(out, made.Secret) || len(made.Secret) != 64 || k.State != "active" || k.Name != "Website" ||
			k.RateLimit == nil || *k.RateLimit != 300 || k.ExpiresAt == nil {
			t.Errorf("got %s", out)
		}
		equal(t, "permissions", k.Permissions, []string{"events:read", "registrations:write"})
		res, err := issue(t, made)
		if err != nil || res.GetScope() != "events:read registrations:write" || res.GetRateLimit() != 300 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("a key defaults to all permissions and the platform's rate limit", func(t *testing.T) {
		k := decode[apiKey](t, o.ok(t, "key", "create", "--company", companyID, "--name", "All"))
		equal(t, "permissions", k.Permissions, []string{"*"})
		if k.RateLimit != nil || k.ExpiresAt != nil {
			t.Errorf("got %+v", k)
		}
	})
	t.Run("update changes only the given fields", func(t *testing.T) {
		k := decode[apiKey](t, o.ok(t, "key", "update", made.ID, "--company", companyID, "--permissions", "*", "--rate-limit", "0"))
		equal(t, "permissions", k.Permissions, []string{"*"})
		if k.Name != "Website" || k.RateLimit != nil {
			t.Errorf("got %+v", k)
		}
	})
	t.Run("rotate returns a new secret and revokes the old one", func(t *testing.T) {
		rotated := decode[apiKey](t, o.ok(t, "key", "rotate", made.ID, "--company", companyID))
		if rotated.ID != made.ID || rotated.Secret == made.Secret || len(rotated.Secret) != 64 {
			t.Errorf("got %+v", rotated)
		}
		refused(t, made)
		made.Secret = rotated.Secret
		if _, err := issue(t, made); err != nil {
			t.Error(err)
		}
	})
	t.Run("rotate --overlap-days keeps the old secret valid until end-previous-secret", func(t *testing.T) {
		rotated := decode[apiKey](t, o.ok(t, "key", "rotate", made.ID, "--company", companyID, "--overlap-days", "7"))
		for _, k := range []apiKey{made, rotated} {
			if _, err := issue(t, k); err != nil {
				t.Error(err)
			}
		}
		if k, out := list(t); rotated.PreviousEnds == nil || k.PreviousEnds == nil || k.PreviousUsed == nil {
			t.Errorf("got %s", out)
		}
		if r := o.run(t, "", "key", "rotate", made.ID, "--company", companyID); r.Code != 1 || !strings.Contains(r.Errors, fault.ReasonSecretRotated) {
			t.Errorf("a second rotation: exit status %d: %s", r.Code, r.Errors)
		}
		if k := decode[apiKey](t, o.ok(t, "key", "end-previous-secret", made.ID, "--company", companyID)); k.PreviousEnds != nil {
			t.Errorf("got %+v", k)
		}
		refused(t, made)
		made.Secret = rotated.Secret
		if _, err := issue(t, made); err != nil {
			t.Error(err)
		}
	})
	t.Run("update --network limits where the key can be used", func(t *testing.T) {
		k := decode[apiKey](t, o.ok(t, "key", "update", made.ID, "--company", companyID, "--network", "203.0.113.7,2001:db8::1/32"))
		equal(t, "networks", k.Networks, []string{"203.0.113.7/32", "2001:db8::/32"})
		if _, err := issue(t, made); fault.From(err).Reason != fault.ReasonNetworkNotAllowed {
			t.Errorf("got %v", err)
		}
		o.ok(t, "key", "update", made.ID, "--company", companyID, "--network", "")
		if _, err := issue(t, made); err != nil {
			t.Error(err)
		}
	})
	t.Run("disable turns the key off, and enable turns it on", func(t *testing.T) {
		if k := decode[apiKey](t, o.ok(t, "key", "disable", made.ID, "--company", companyID)); k.State != "disabled" {
			t.Errorf("got %+v", k)
		}
		refused(t, made)
		if k := decode[apiKey](t, o.ok(t, "key", "enable", made.ID, "--company", companyID)); k.State != "active" {
			t.Errorf("got %+v", k)
		}
		if _, err := issue(t, made); err != nil {
			t.Error(err)
		}
	})
	t.Run("delete removes the key permanently", func(t *testing.T) {
		o.ok(t, "key", "delete", made.ID, "--company", companyID)
		refused(t, made)
		if r := o.run(t, "", "key", "rotate", made.ID, "--company", companyID); r.Code != 1 || !strings.Contains(r.Errors, "NOT_FOUND") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("an invalid value is refused with the field's name", func(t *testing.T) {
		for _, args := range [][]string{{"--permissions", "profile:read"}, {"--rate-limit", "0"}, {"--expires-days", "0"}} {
			r := o.run(t, "", append([]string{"key", "create", "--company", companyID, "--name", "X"}, args...)...)
			field := strings.NewReplacer("--", "", "-", "_").Replace(args[0])
			if args[0] == "--expires-days" {
				field = "expires_after_days"
			}
			if r.Code != 1 || !strings.Contains(r.Errors, field) || !strings.Contains(r.Errors, "VALIDATION_ERROR") {
				t.Errorf("%v: exit status %d, %s", args, r.Code, r.Errors)
			}
		}
	})
}
