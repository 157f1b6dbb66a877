package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// serviceCredential is a service credential as reservectl prints it.
type serviceCredential struct {
	ID     string   `json:"credential_id"`
	Secret string   `json:"secret"`
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
	State  string   `json:"state"`
}

// signingKey is a signing key as reservectl prints it.
type signingKey struct {
	ID    string `json:"key_id"`
	State string `json:"state"`
}

func (o operator) testCredential(t *testing.T, companyID string) {
	tokens := o.s.Platform.Operator(t).Tokens
	issue := func(t *testing.T, c serviceCredential) error {
		t.Helper()
		_, err := tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: c.ID, ClientSecret: c.Secret})
		return err
	}
	dead := func(t *testing.T, c serviceCredential) {
		t.Helper()
		if err := issue(t, c); err == nil || fault.From(err).Reason != fault.ReasonInvalidCredentials {
			t.Errorf("a token: %v", err)
		}
	}
	states := func(t *testing.T, args ...string) map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, c := range decode[[]serviceCredential](t, o.ok(t, append([]string{"credential", "list"}, args...)...)) {
			all[c.ID] = c.State
			if c.Secret != "" {
				t.Errorf("%s is listed with its secret", c.ID)
			}
		}
		return all
	}
	made := decode[serviceCredential](t, o.ok(t, "credential", "create", "--company", companyID, "--name", "Reports", "--scopes", "bookings:read"))
	t.Run("a company's credential works, is listed with the company, and can be rotated and disabled", func(t *testing.T) {
		if err := issue(t, made); err != nil || !slices.Equal(made.Scopes, []string{"bookings:read"}) {
			t.Errorf("got %+v, %v", made, err)
		}
		if all := states(t, "--company", companyID); len(all) != 1 || all[made.ID] != "active" {
			t.Errorf("listed %v", all)
		}
		rotated := decode[serviceCredential](t, o.ok(t, "credential", "rotate", made.ID, "--company", companyID))
		dead(t, made)
		if err := issue(t, rotated); err != nil || rotated.ID != made.ID {
			t.Errorf("got %+v, %v", rotated, err)
		}
		if c := decode[serviceCredential](t, o.ok(t, "credential", "disable", made.ID, "--company", companyID)); c.State != "disabled" {
			t.Errorf("got %+v", c)
		}
		dead(t, rotated)
	})
	t.Run("the platform's credentials are those of the services, the operator, and added ones", func(t *testing.T) {
		if all := states(t, "--platform"); len(all) != 8 || all[made.ID] != "" {
			t.Errorf("listed %v", all)
		}
		further := decode[serviceCredential](t, o.ok(t, "credential", "create", "--platform", "--name", "second operator", "--scopes", "platform:admin"))
		if err := issue(t, further); err != nil {
			t.Error(err)
		}
		o.ok(t, "credential", "disable", "--platform", further.ID)
		dead(t, further)
		if r := o.run(t, "", "credential", "disable", further.ID, "--company", companyID); r.Code != 1 || !strings.Contains(r.Errors, "NOT_FOUND") {
			t.Errorf("the platform's credential as a company's: exit status %d, %s", r.Code, r.Errors)
		}
	})
}

// testSigningKeys revokes all tokens, so it runs last.
func (o operator) testSigningKeys(t *testing.T, n *tenant) {
	list := func(t *testing.T) map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, k := range decode[[]signingKey](t, o.ok(t, "signing-key", "list")) {
			all[k.ID] = k.State
		}
		return all
	}
	before := list(t)
	t.Run("rotate creates a key, and tokens of the old key stay valid", func(t *testing.T) {
		k := decode[signingKey](t, o.ok(t, "signing-key", "rotate"))
		if after := list(t); before[k.ID] != "" || after[k.ID] != k.State || len(after) != len(before)+1 {
			t.Errorf("made %+v, before %v, after %v", k, before, after)
		}
		n.a.Do(t, harness.Request{Method: http.MethodGet, Path: "/customers?page=0", Token: n.token}).Into(t, http.StatusOK, nil)
	})
	t.Run("rotate --revoke leaves one key, and the operator continues with a new token", func(t *testing.T) {
		k := decode[signingKey](t, o.ok(t, "signing-key", "rotate", "--revoke"))
		if after := list(t); len(after) != 1 || after[k.ID] != "active" {
			t.Errorf("made %+v, after %v", k, after)
		}
	})
}
