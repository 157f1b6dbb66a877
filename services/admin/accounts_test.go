package admin

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestAdministratorPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withColleague(w)
	const path = "/settings/administrators/admin_2"
	t.Run("shows the account and its sessions, with all names escaped", func(t *testing.T) {
		a := w.get(path)
		a.must(t, "nora@example.com", "192.0.2.7", "&lt;b&gt;Firefox", "نورا 🧘", path+"/reset", path+"/totp-off", path+"/end-sessions", "Withdraw the link")
		if strings.Contains(a.body, "<script>alert") {
			t.Error("a name is executed")
		}
	})
	t.Run("answers 404 for an administrator of another company", func(t *testing.T) {
		for _, action := range []string{"", "/reset", "/totp-off", "/end-sessions", "/disable"} {
			if a := w.get("/settings/administrators/admin_3" + action); a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", action, describe(a))
			}
		}
		for _, action := range []string{"reset", "totp-off", "end-sessions", "withdraw-reset", "role", "explode"} {
			if a := w.post("/settings/administrators/admin_3/" + action); a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", action, describe(a))
			}
		}
	})
	t.Run("lists the effects before each action", func(t *testing.T) {
		for action, says := range map[string]string{"reset": "within an hour", "totp-off": "with only their password", "end-sessions": "signed out everywhere", "disable": "cannot sign in"} {
			w.get(path+"/"+action).must(t, says, `action="`+path+"/"+action+`"`, "alert(&#34;x&#34;)")
		}
	})
	t.Run("confirms that two-step sign-in is off and that sessions have ended", func(t *testing.T) {
		on(w.backend, "DisableAdministratorTotp", func(*authv1.DisableAdministratorTotpRequest) (*authv1.DisableAdministratorTotpResponse, error) {
			return &authv1.DisableAdministratorTotpResponse{}, nil
		})
		on(w.backend, "EndAdministratorSessions", func(*authv1.EndAdministratorSessionsRequest) (*authv1.EndAdministratorSessionsResponse, error) {
			return &authv1.EndAdministratorSessionsResponse{Ended: 2}, nil
		})
		on(w.backend, "RevokePasswordReset", func(*authv1.RevokePasswordResetRequest) (*authv1.RevokePasswordResetResponse, error) {
			return &authv1.RevokePasswordResetResponse{}, nil
		})
		for action, says := range map[string]string{"totp-off": "Their two-step sign-in is off.", "end-sessions": "2 sessions have ended.", "withdraw-reset": "The link is withdrawn"} {
			if a := w.post(path + "/" + action); a.to() != path {
				t.Error(describe(a))
			}
			w.get(path).must(t, says)
		}
	})
	t.Run("sends owners to the account page for their own account", func(t *testing.T) {
		on(w.backend, "CreatePasswordReset", func(*authv1.CreatePasswordResetRequest) (*authv1.CreatePasswordResetResponse, error) {
			return nil, fault.Refuse("OWN_ACCOUNT", "yours")
		})
		if a := w.post(path + "/reset"); a.to() != path {
			t.Error(describe(a))
		}
		w.get(path).must(t, "Change it on the Account page")
	})
}

// once answers the first request with a key with a secret, and retries without one.
func once() (is func(w *world, method string) bool) {
	seen := map[string]bool{}
	return func(w *world, method string) bool {
		calls := w.backend.called(method)
		key := calls[len(calls)-1].key
		defer func() { seen[method+key] = true }()
		return key != "" && !seen[method+key]
	}
}

// TestSecretsAreShownOnce checks a form that is sent twice: the first response has the secret, the
// second says that the change was made and how to get another secret.
func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	client := withAPIClient(w.backend)
	key := &authv1.ApiKey{Id: "key_1", Name: "Website", CreatedAt: timestamppb.Now(), RotatedAt: timestamppb.Now()}
	colleague := withColleague(w)
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{}, nil
	})
	on(w.backend, "ListInvitations", func(*authv1.ListInvitationsRequest) (*authv1.ListInvitationsResponse, error) {
		return &authv1.ListInvitationsResponse{}, nil
	})
	first := once()
	secret := func(method string) string {
		if first(w, method) {
			return "the-secret"
		}
		return ""
	}
	on(w.backend, "CreateApiClient", func(*authv1.CreateApiClientRequest) (*authv1.CreateApiClientResponse, error) {
		return &authv1.CreateApiClientResponse{ApiClient: client, ClientSecret: secret("CreateApiClient")}, nil
	})
	on(w.backend, "RotateApiClientSecret", func(*authv1.RotateApiClientSecretRequest) (*authv1.RotateApiClientSecretResponse, error) {
		return &authv1.RotateApiClientSecretResponse{ApiClient: client, ClientSecret: secret("RotateApiClientSecret")}, nil
	})
	on(w.backend, "CreateApiKey", func(*authv1.CreateApiKeyRequest) (*authv1.CreateApiKeyResponse, error) {
		return &authv1.CreateApiKeyResponse{ApiKey: key, ApiSecret: secret("CreateApiKey")}, nil
	})
	on(w.backend, "RotateApiKeySecret", func(*authv1.RotateApiKeySecretRequest) (*authv1.RotateApiKeySecretResponse, error) {
		return &authv1.RotateApiKeySecretResponse{ApiKey: key, ApiSecret: secret("RotateApiKeySecret")}, nil
	})
	on(w.backend, "InviteAdministrator", func(*authv1.InviteAdministratorRequest) (*authv1.InviteAdministratorResponse, error) {
		return &authv1.InviteAdministratorResponse{Invitation: &authv1.Invitation{}, Token: secret("InviteAdministrator")}, nil
	})
	on(w.backend, "CreatePasswordReset", func(*authv1.CreatePasswordResetRequest) (*authv1.CreatePasswordResetResponse, error) {
		return &authv1.CreatePasswordResetResponse{Administrator: colleague, Token: secret("CreatePasswordReset")}, nil
	})
	for path, try := range map[string]struct {
		fields []string
		ahead  string // where the second answer leads
	}{
		"/settings/api-clients":                  {[]string{"name", "CRM", "scopes", "customers:read"}, "/settings/api-clients/m2m_1/rotate"},
		"/settings/api-clients/m2m_1/rotate":     {nil, "/settings/api-clients/m2m_1/rotate"},
		"/settings/api-keys":                     {[]string{"name", "Website", "permissions", "*"}, "/settings/api-keys/key_1/rotate"},
		"/settings/api-keys/key_1/rotate":        {nil, "/settings/api-keys/key_1/rotate"},
		"/settings/administrators":               {[]string{"email", "new@example.com", "role", "staff"}, "/settings/administrators"},
		"/settings/administrators/admin_2/reset": {nil, "/settings/administrators/admin_2/reset"},
	} {
		t.Run(path, func(t *testing.T) {
			form := append(slices.Clone(try.fields), keyField, strings.Repeat("k", 26))
			one := w.postKeyed(path, form...)
			one.must(t, "the-secret")
			if one.Header.Get("Cache-Control") != "no-store" {
				t.Error("caches can store the response")
			}
			if strings.Contains(one.body, "the-secret") && strings.Contains(one.Header.Get("Location"), "the-secret") {
				t.Error("the secret is in a URL")
			}
			two := w.postKeyed(path, form...)
			two.must(t, "This form was sent twice", "If you did not copy", `href="`+try.ahead+`"`)
			if strings.Contains(two.body, "the-secret") || two.StatusCode != http.StatusOK {
				t.Error(describe(two))
			}
		})
	}
	t.Run("builds a link with the configured host, not the request's", func(t *testing.T) {
		a := w.postKeyed("/settings/administrators/admin_2/reset", keyField, strings.Repeat("l", 26))
		a.must(t, w.server.URL+"/reset/the-secret")
	})
	t.Run("rotates a webhook's secret once", func(t *testing.T) {
		on(w.backend, "RotateSecret", func(*webhookv1.RotateSecretRequest) (*webhookv1.RotateSecretResponse, error) {
			return &webhookv1.RotateSecretResponse{}, nil
		})
		for range 2 {
			w.postKeyed("/settings/webhooks/whe_1/rotate", keyField, strings.Repeat("m", 26))
		}
		calls := w.backend.called("RotateSecret")
		if len(calls) != 2 || calls[0].key == "" || calls[0].key != calls[1].key {
			t.Errorf("got %v", calls)
		}
	})
}

func TestOwnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withColleague(w) // for the sessions
	on(w.backend, "UpdateProfile", func(req *authv1.UpdateProfileRequest) (*authv1.UpdateProfileResponse, error) {
		if len(req.GetName()) > 100 {
			return nil, fault.InvalidFields(fault.Field{Field: "name", Rule: "max_length", Message: "must be at most 100 characters"})
		}
		return &authv1.UpdateProfileResponse{}, nil
	})
	t.Run("changes the name and shows the address", func(t *testing.T) {
		w.get("/account").must(t, `value="Ada"`, "ada@example.com")
		if a := w.post("/account/profile", "name", " نورا 🧘 "); a.to() != "/account" {
			t.Error(describe(a))
		}
		if got := w.backend.called("UpdateProfile")[0].req.(*authv1.UpdateProfileRequest).GetName(); got != "نورا 🧘" {
			t.Errorf("%q", got)
		}
		w.post("/account/profile", "name", "").must(t, "Enter your name.")
		w.post("/account/profile", "name", strings.Repeat("ö", 90)).must(t, "must be at most 100 characters")
	})
	w.totp = true
	t.Run("shows a wrong current password at its field", func(t *testing.T) {
		wrong := fault.Refuse("WRONG_PASSWORD", "wrong")
		on(w.backend, "ChangePassword", func(*authv1.ChangePasswordRequest) (*authv1.ChangePasswordResponse, error) { return nil, wrong })
		on(w.backend, "DisableTotp", func(*authv1.DisableTotpRequest) (*authv1.DisableTotpResponse, error) { return nil, wrong })
		on(w.backend, "RenewRecoveryCodes", func(*authv1.RenewRecoveryCodesRequest) (*authv1.RenewRecoveryCodesResponse, error) { return nil, wrong })
		w.post("/account/password", "current", "x", "password", "long enough words", "repeat", "long enough words").must(t, "This is not your current password.", `id="current-wrong"`)
		w.post("/account/totp/disable", "totp-password", "x").must(t, "This is not your current password.")
		w.post("/account/totp/codes", "codes-password", "x").must(t, "This is not your current password.")
		w.totp = false
		on(w.backend, "SetupTotp", func(*authv1.SetupTotpRequest) (*authv1.SetupTotpResponse, error) { return nil, wrong })
		w.post("/account/totp", "setup-password", "x").must(t, "This is not your current password.", `id="setup-password-wrong"`)
		w.post("/account/totp").must(t, "Enter your password.")
		w.totp = true
	})
	t.Run("shows new recovery codes once", func(t *testing.T) {
		on(w.backend, "RenewRecoveryCodes", func(*authv1.RenewRecoveryCodesRequest) (*authv1.RenewRecoveryCodesResponse, error) {
			return &authv1.RenewRecoveryCodesResponse{RecoveryCodes: []string{"aaaaa-bbbbb-ccccc"}}, nil
		})
		w.post("/account/totp/codes", "codes-password", "x").must(t, "aaaaa-bbbbb-ccccc", "These codes replace")
	})
	t.Run("shows the TOTP key again after a wrong code, without a hidden field", func(t *testing.T) {
		on(w.backend, "SetupTotp", func(req *authv1.SetupTotpRequest) (*authv1.SetupTotpResponse, error) {
			secret := "FRESHKEY"
			if req.GetAgain() {
				secret = "SAMEKEY"
			} else if req.GetPassword() != "x" {
				return nil, fault.Refuse("WRONG_PASSWORD", "wrong")
			}
			return &authv1.SetupTotpResponse{Secret: secret, OtpauthUri: "otpauth://totp/x?secret=" + secret}, nil
		})
		on(w.backend, "ConfirmTotp", func(*authv1.ConfirmTotpRequest) (*authv1.ConfirmTotpResponse, error) {
			return nil, fault.Refuse("INVALID_TOTP_CODE", "wrong")
		})
		a := w.post("/account/totp", "setup-password", "x")
		a.must(t, "FRESHKEY", "<path")
		b := w.post("/account/totp/confirm", "code", "123456", "uri", "otpauth://totp/evil", "secret", "EVIL")
		b.must(t, "SAMEKEY", "This code is wrong")
		for _, body := range []string{a.body, b.body} {
			if strings.Contains(body, `value="FRESHKEY`) || strings.Contains(body, `value="SAMEKEY`) || strings.Contains(body, "otpauth://") || strings.Contains(body, "EVIL") {
				t.Errorf("a field contains the key:\n%s", body)
			}
		}
	})
	t.Run("offers new recovery codes after a confirmation that was sent twice", func(t *testing.T) {
		on(w.backend, "ConfirmTotp", func(*authv1.ConfirmTotpRequest) (*authv1.ConfirmTotpResponse, error) {
			return nil, fault.Refuse("TOTP_ALREADY_ENABLED", "on")
		})
		if a := w.post("/account/totp/confirm", "code", "123456"); a.to() != "/account" {
			t.Error(describe(a))
		}
		w.get("/account").must(t, "create new ones here")
	})
}

func TestNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	at := time.Now().UTC().Truncate(time.Microsecond)
	w.notices = []*authv1.Notice{
		{At: timestamppb.New(at.Add(-time.Hour)), Action: "administrator.end_sessions", ByName: "<script>Bob"},
		{At: timestamppb.New(at), Action: "administrator.reset_password"},
	}
	withEvent(w, "Yoga", "Ann")
	w.get("/customers?q=ann").must(t, "&lt;script&gt;Bob ended one or more of your sessions.", "The operator of the platform replaced your password.", `value="/customers?q=ann"`)
	on(w.backend, "DismissNotices", func(*authv1.DismissNoticesRequest) (*authv1.DismissNoticesResponse, error) {
		return &authv1.DismissNoticesResponse{}, nil
	})
	until := at.Format(time.RFC3339Nano)
	w.get("/").must(t, `name="until" value="`+until+`"`)
	if a := w.post("/account/notices", "until", until, "back", "/customers?q=ann"); a.to() != "/customers?q=ann" {
		t.Error(describe(a))
	}
	if got := w.backend.called("DismissNotices"); len(got) != 1 || !got[0].req.(*authv1.DismissNoticesRequest).GetUntil().AsTime().Equal(at) {
		t.Errorf("%v", got)
	}
	for _, back := range []string{"//evil.example", "https://evil.example", `/\evil.example`} {
		if a := w.post("/account/notices", "until", "never", "back", back); a.to() != "/" || len(w.backend.called("DismissNotices")) != 1 {
			t.Error(describe(a))
		}
	}
	t.Run("shows no box without notices", func(t *testing.T) {
		w.notices = nil
		if strings.Contains(w.page("/"), "I have read this") {
			t.Error("there is a box")
		}
	})
}
