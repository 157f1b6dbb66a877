package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestKeyTokens(t *testing.T) { // invariants 2 and 4
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	for name, tt := range map[string]struct {
		permissions []string
		limit       *int32
		scope       string
	}{
		"of all permissions":           {nil, nil, strings.Join(scopes.InterfaceB(), " ")},
		"of all permissions, named so": {[]string{"*"}, ptr(int32(10000)), strings.Join(scopes.InterfaceB(), " ")},
		"of some":                      {[]string{"registrations:write", "events:read"}, ptr(int32(1)), "events:read registrations:write"},
	} {
		t.Run(name+" say what the key may do, how often, and that it is one", func(t *testing.T) {
			made, err := r.apiKeys.CreateApiKey(r.as(company), &authv1.CreateApiKeyRequest{Name: "x", Permissions: tt.permissions, RateLimit: tt.limit})
			if err != nil {
				t.Fatal(err)
			}
			keyID := made.GetApiKey().GetId()
			res, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: keyID, ClientSecret: made.GetApiSecret(), LifetimeSeconds: 86400})
			if err != nil || res.GetExpiresIn() != 3600 || res.GetScope() != tt.scope || (res.RateLimit == nil) != (tt.limit == nil) || res.GetRateLimit() != made.GetApiKey().GetRateLimit() {
				t.Fatalf("got %v, %v", res, err)
			}
			c, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
			if err != nil {
				t.Fatal(err)
			}
			if c.Subject != keyID || !strings.HasPrefix(keyID, "key_") || c.Kind != token.KindKey || c.Company.String() != company ||
				strings.Join(c.Scopes, " ") != tt.scope || c.RateLimit != int(res.GetRateLimit()) || c.Generation != 1 {
				t.Errorf("got %+v", c)
			}
		})
	}
	t.Run("a token has only the requested scopes, and never more than its key", func(t *testing.T) {
		keyID, secret := r.key(company, "*")
		res, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: keyID, ClientSecret: secret, Scope: "events:read"})
		if err != nil || res.GetScope() != "events:read" {
			t.Errorf("got %v, %v", res, err)
		}
		for _, scope := range []string{"*", "platform:admin", "profile:read"} {
			_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: keyID, ClientSecret: secret, Scope: scope})
			if fault.From(err).Reason != ReasonInvalidScope {
				t.Errorf("%s: got %v", scope, err)
			}
		}
	})
	t.Run("a token lives no longer than its key", func(t *testing.T) {
		made, err := r.apiKeys.CreateApiKey(r.as(company), &authv1.CreateApiKeyRequest{Name: "short", ExpiresAfterDays: ptr(int32(1))})
		if err != nil {
			t.Fatal(err)
		}
		req := &authv1.IssueTokenRequest{ClientId: made.GetApiKey().GetId(), ClientSecret: made.GetApiSecret()}
		r.server.now = func() time.Time { return time.Now().Add(24*time.Hour - 10*time.Minute) }
		defer func() { r.server.now = time.Now }()
		res, err := r.tokens.IssueToken(t.Context(), req)
		if err != nil || res.GetExpiresIn() > 600 || res.GetExpiresIn() < 300 {
			t.Errorf("got %v, %v", res, err)
		}
		r.server.now = func() time.Time { return time.Now().Add(24*time.Hour + time.Minute) }
		if _, err := r.tokens.IssueToken(t.Context(), req); fault.From(err).Reason != fault.ReasonInvalidCredentials {
			t.Errorf("an expired key got %v", err)
		}
		got, err := r.apiKeys.GetApiKey(r.as(company), &authv1.GetApiKeyRequest{Id: req.GetClientId()})
		if err != nil || got.GetApiKey().GetState() != authv1.CredentialState_CREDENTIAL_STATE_EXPIRED {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("wrong credentials are refused like those of other kinds", func(t *testing.T) {
		keyID, secret := r.key(company)
		for _, c := range [][2]string{{keyID, "wrong"}, {keyID, secret + "0"}, {"m2m_" + keyID[4:], secret}, {"svc_" + keyID[4:], secret}, {"key_", secret}} {
			_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: c[0], ClientSecret: c[1], ClientAddress: c[0]})
			if f := fault.From(err); f.Kind != fault.Unauthenticated || f.Message != invalidCredentials().Message {
				t.Errorf("%s: got %v", c[0], err)
			}
		}
	})
	t.Run("a token gives no access to the auth service's own RPCs", func(t *testing.T) {
		keyID, secret := r.key(company)
		source := token.NewSource(func(context.Context) (string, time.Time, error) {
			return r.token(keyID, secret), time.Now().Add(time.Hour), nil
		})
		_, err := r.apiKeys.ListApiKeys(rpc.As(t.Context(), source, id.Company{}), &authv1.ListApiKeysRequest{})
		if f := fault.From(err); f.Kind != fault.Forbidden || f.Meta["scope"] != "api-keys:read" {
			t.Errorf("got %v", err)
		}
	})
}

func TestKeyRevocation(t *testing.T) { // invariant 3
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	company := one.company()
	update := func(req *authv1.UpdateApiKeyRequest) func(keyID string) error {
		return func(keyID string) error {
			req.Id = keyID
			_, err := one.apiKeys.UpdateApiKey(one.as(company), req)
			return err
		}
	}
	for name, tt := range map[string]struct {
		change func(keyID string) error
		dead   bool // the secret is no longer valid either
	}{
		"rotating": {func(keyID string) error {
			_, err := one.apiKeys.RotateApiKeySecret(one.as(company), &authv1.RotateApiKeySecretRequest{Id: keyID})
			return err
		}, true},
		"disabling": {func(keyID string) error {
			_, err := one.apiKeys.DisableApiKey(one.as(company), &authv1.DisableApiKeyRequest{Id: keyID})
			return err
		}, true},
		"deleting": {func(keyID string) error {
			_, err := one.apiKeys.DeleteApiKey(one.as(company), &authv1.DeleteApiKeyRequest{Id: keyID})
			return err
		}, true},
		"taking a permission away": {update(&authv1.UpdateApiKeyRequest{Permissions: scopes.InterfaceB()[1:]}), false},
		"setting a limit":          {update(&authv1.UpdateApiKeyRequest{RateLimit: ptr(int32(7))}), false},
	} {
		t.Run("by "+name+" reaches every process, including later ones", func(t *testing.T) {
			keyID, secret := one.key(company)
			raw := two.token(keyID, secret)
			soon(t, func() error { _, err := one.verifier.Verify(t.Context(), raw); return err })
			if err := tt.change(keyID); err != nil {
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
			_, err := two.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: keyID, ClientSecret: secret})
			if tt.dead != (fault.From(err) != nil && fault.From(err).Reason == fault.ReasonInvalidCredentials) {
				t.Errorf("the old secret got %v", err)
			}
		})
	}
	t.Run("does not happen for an added permission, a new name or the same limit", func(t *testing.T) {
		made, err := one.apiKeys.CreateApiKey(one.as(company), &authv1.CreateApiKeyRequest{Name: "x", Permissions: []string{"events:read"}, RateLimit: ptr(int32(9))})
		if err != nil {
			t.Fatal(err)
		}
		keyID := made.GetApiKey().GetId()
		raw := one.token(keyID, made.GetApiSecret())
		got, err := one.apiKeys.UpdateApiKey(one.as(company), &authv1.UpdateApiKeyRequest{
			Id: keyID, Name: ptr(" y "), Description: ptr("z"), Permissions: []string{"*"}, RateLimit: ptr(int32(9)),
		})
		if k := got.GetApiKey(); err != nil || k.GetName() != "y" || k.GetDescription() != "z" || !slices.Equal(k.GetPermissions(), []string{"*"}) || k.GetRateLimit() != 9 || k.GetVersion() != 2 {
			t.Fatalf("got %v, %v", got, err)
		}
		generation, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select generation from credentials where name = 'y'`)
		if _, verr := one.verifier.Verify(t.Context(), raw); err != nil || verr != nil || generation != 1 {
			t.Errorf("generation %d, %v, %v", generation, err, verr)
		}
	})
	t.Run("tokens of a disabled key stay revoked when it is enabled", func(t *testing.T) {
		keyID, secret := one.key(company)
		raw := one.token(keyID, secret)
		for range 2 {
			res, err := one.apiKeys.DisableApiKey(one.as(company), &authv1.DisableApiKeyRequest{Id: keyID})
			if err != nil || res.GetApiKey().GetVersion() != 2 {
				t.Fatalf("got %v, %v", res, err)
			}
		}
		if _, err := one.apiKeys.EnableApiKey(one.as(company), &authv1.EnableApiKeyRequest{Id: keyID}); err != nil {
			t.Fatal(err)
		}
		fresh := one.token(keyID, secret)
		soon(t, func() error {
			if _, err := one.verifier.Verify(t.Context(), raw); err == nil {
				return errors.New("the old token is accepted")
			}
			_, err := one.verifier.Verify(t.Context(), fresh)
			return err
		})
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	t.Run("a rejected key is reported with every invalid field", func(t *testing.T) {
		for name, tt := range map[string]struct {
			req    *authv1.CreateApiKeyRequest
			fields string
		}{
			"every field invalid": {&authv1.CreateApiKeyRequest{
				Name: " ", Description: "\x00", Permissions: []string{"events:read", "profile:read"}, ExpiresAfterDays: ptr(int32(0)), RateLimit: ptr(int32(0)),
			}, "name description permissions[1] expires_after_days rate_limit"},
			"every value too large": {&authv1.CreateApiKeyRequest{
				Name: "x", Permissions: []string{""}, ExpiresAfterDays: ptr(int32(3651)), RateLimit: ptr(int32(10001)),
			}, "permissions[0] expires_after_days rate_limit"},
			"texts that are too long": {&authv1.CreateApiKeyRequest{
				Name: strings.Repeat("n", 101), Description: strings.Repeat("d", 1001), Permissions: []string{strings.Repeat("p", 101)},
			}, "name description permissions[0]"},
			"negative numbers": {&authv1.CreateApiKeyRequest{Name: "x", ExpiresAfterDays: ptr(int32(-1)), RateLimit: ptr(int32(-1))}, "expires_after_days rate_limit"},
		} {
			_, err := r.apiKeys.CreateApiKey(r.as(company), tt.req)
			if got := fieldsOf(err); got != tt.fields {
				t.Errorf("%s: got %s (%v)", name, got, err)
			}
		}
		keyID, _ := r.key(company)
		_, err := r.apiKeys.UpdateApiKey(r.as(company), &authv1.UpdateApiKeyRequest{
			Id: keyID, Name: ptr(""), Description: ptr("\x01"), Permissions: []string{"x"}, RateLimit: ptr(int32(-1)),
		})
		if got := fieldsOf(err); got != "name description permissions[0] rate_limit" {
			t.Errorf("got %s (%v)", got, err)
		}
	})
	t.Run("a key can return to the gateway's default limit", func(t *testing.T) {
		made, err := r.apiKeys.CreateApiKey(r.as(company), &authv1.CreateApiKeyRequest{Name: "x", RateLimit: ptr(int32(5))})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.apiKeys.UpdateApiKey(r.as(company), &authv1.UpdateApiKeyRequest{Id: made.GetApiKey().GetId(), RateLimit: ptr(int32(0))})
		if err != nil || got.GetApiKey().RateLimit != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("keys are listed in pages, separately from clients, until they are deleted", func(t *testing.T) {
		company := r.company()
		r.client(company)
		var want []string
		for range 5 {
			keyID, _ := r.key(company)
			want = append(want, keyID)
		}
		if _, err := r.apiKeys.DeleteApiKey(r.as(company), &authv1.DeleteApiKeyRequest{Id: want[2]}); err != nil {
			t.Fatal(err)
		}
		want = slices.Delete(want, 2, 3)
		var got []string
		req := &authv1.ListApiKeysRequest{PageSize: 3}
		for pages := 0; pages == 0 || req.GetPageToken() != ""; pages++ {
			res, err := r.apiKeys.ListApiKeys(r.as(company), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range res.GetApiKeys() {
				got = append(got, k.GetId())
			}
			req.PageToken = res.GetNextPageToken()
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for _, bad := range []*authv1.ListApiKeysRequest{{PageSize: -1}, {PageSize: 1001}, {PageToken: "x"}} {
			if _, err := r.apiKeys.ListApiKeys(r.as(company), bad); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", bad, err)
			}
		}
	})
	t.Run("a key changes once per idempotency key", func(t *testing.T) {
		keyID, _ := r.key(company)
		for range 2 {
			ctx := rpc.WithIdempotencyKey(r.as(company), "update")
			res, err := r.apiKeys.UpdateApiKey(ctx, &authv1.UpdateApiKeyRequest{Id: keyID, Name: ptr("y")})
			if err != nil || res.GetApiKey().GetVersion() != 2 {
				t.Errorf("got %v, %v", res, err)
			}
		}
		_, err := r.apiKeys.UpdateApiKey(rpc.WithIdempotencyKey(r.as(company), "update"), &authv1.UpdateApiKeyRequest{Id: keyID, Name: ptr("z")})
		if fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
			t.Errorf("got %v", err)
		}
		for range 2 {
			if _, err := r.apiKeys.DeleteApiKey(rpc.WithIdempotencyKey(r.as(company), "delete"), &authv1.DeleteApiKeyRequest{Id: keyID}); err != nil {
				t.Error(err)
			}
		}
		if _, err := r.apiKeys.DeleteApiKey(r.as(company), &authv1.DeleteApiKeyRequest{Id: keyID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}

// fieldsOf returns the names of the fields of a fault.
func fieldsOf(err error) string {
	var names []string
	if f := fault.From(err); f != nil {
		for _, field := range f.Fields {
			names = append(names, field.Field)
		}
	}
	return strings.Join(names, " ")
}
