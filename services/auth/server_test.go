package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func ptr[T any](v T) *T { return &v }

// patience is how long a test waits for what happens in the background. A loaded machine can need several
// seconds.
const patience = time.Minute

// soon polls until every process knows a change. timeOfRevocation checks how long that takes.
func soon(t *testing.T, cond func() error) {
	t.Helper()
	testkit.Eventually(t, patience, cond)
}

func TestTokens(t *testing.T) { // invariants 2 and 4
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	clientID, secret := r.client(company, "profile:read", "customers:read")
	t.Run("carry the holder, the scopes and the expiry", func(t *testing.T) {
		res, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret, LifetimeSeconds: 7})
		if err != nil || res.GetExpiresIn() != 3600 || res.GetScope() != "customers:read profile:read" {
			t.Fatalf("got %v, %v", res, err)
		}
		c, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
		if err != nil {
			t.Fatal(err)
		}
		if c.Subject != clientID || c.Company.String() != company || c.Zone != "Europe/London" || c.Currency != "GBP" || c.Generation != 1 || c.Kind != token.KindClient {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("the token of a client that reads passes also reads customer passes, which is not a scope of clients", func(t *testing.T) {
		client, secret := r.client(company, "passes:read", "profile:read")
		for requested, want := range map[string][]string{
			"":             {"customer-passes:read", "passes:read", "profile:read"},
			"passes:read":  {"customer-passes:read", "passes:read"},
			"profile:read": {"profile:read"},
		} {
			res, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: client, ClientSecret: secret, Scope: requested})
			if err != nil {
				t.Fatal(err)
			}
			claims, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
			if err != nil || !slices.Equal(claims.Scopes, want) || strings.Contains(res.GetScope(), "customer-passes") {
				t.Errorf("%q: the token has %v, the response %q, %v", requested, claims, res.GetScope(), err)
			}
		}
		_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: client, ClientSecret: secret, Scope: "customer-passes:read"})
		if f := fault.From(err); f == nil || f.Reason != ReasonInvalidScope {
			t.Errorf("requested alone: got %v", err)
		}
	})
	t.Run("a token has only the requested scopes, and never more than its credential", func(t *testing.T) {
		res, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret, Scope: "profile:read"})
		if err != nil || res.GetScope() != "profile:read" {
			t.Errorf("got %v, %v", res, err)
		}
		_, err = r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret, Scope: "bookings:read"})
		if fault.From(err).Reason != ReasonInvalidScope {
			t.Errorf("got %v", err)
		}
	})
	t.Run("tokens are issued only to a credential of the requested kind", func(t *testing.T) {
		for kind, want := range map[authv1.CredentialKind]string{
			authv1.CredentialKind_CREDENTIAL_KIND_API_CLIENT: "",
			authv1.CredentialKind_CREDENTIAL_KIND_API_KEY:    fault.ReasonInvalidCredentials,
			authv1.CredentialKind_CREDENTIAL_KIND_SERVICE:    fault.ReasonInvalidCredentials,
		} {
			_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret, Kind: kind})
			if got := fault.From(err); (got == nil) != (want == "") || got != nil && got.Reason != want {
				t.Errorf("%v: got %v", kind, err)
			}
		}
	})
	t.Run("expire no later than their client", func(t *testing.T) {
		made, err := r.clients.CreateApiClient(r.as(company), &authv1.CreateApiClientRequest{Name: "short", Scopes: []string{"profile:read"}, ExpiresAfterDays: ptr(int32(1))})
		if err != nil {
			t.Fatal(err)
		}
		req := &authv1.IssueTokenRequest{ClientId: made.GetApiClient().GetId(), ClientSecret: made.GetClientSecret()}
		r.server.now = func() time.Time { return time.Now().Add(24*time.Hour - 10*time.Minute) }
		defer func() { r.server.now = time.Now }()
		res, err := r.tokens.IssueToken(t.Context(), req)
		if err != nil || res.GetExpiresIn() > 600 || res.GetExpiresIn() < 300 {
			t.Errorf("got %v, %v", res, err)
		}
		r.server.now = func() time.Time { return time.Now().Add(24*time.Hour + time.Minute) }
		if _, err := r.tokens.IssueToken(t.Context(), req); fault.From(err).Reason != fault.ReasonInvalidCredentials {
			t.Errorf("an expired client got %v", err)
		}
	})
	t.Run("every cause of a refusal has the same response", func(t *testing.T) {
		service, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "x", Scopes: []string{"events:read"}})
		if err != nil {
			t.Fatal(err)
		}
		asClient := "m2m_" + strings.TrimPrefix(service.GetServiceCredential().GetId(), "svc_")
		asKey := "key_" + strings.TrimPrefix(clientID, "m2m_")
		var answers []string
		for _, c := range [][2]string{
			{clientID, "wrong"}, {clientID, strings.ToUpper(secret)}, {clientID, secret + "0"}, {id.New[id.APIClient]().String(), secret},
			{"nonsense", secret}, {strings.Repeat("m", 100), secret}, {asClient, service.GetSecret()}, {asKey, secret},
		} {
			_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: c[0], ClientSecret: c[1], ClientAddress: c[0]})
			answers = append(answers, fmt.Sprint(fault.From(err).Kind, fault.From(err).Reason, fault.From(err).Message))
		}
		for _, a := range answers {
			if a != answers[0] || !strings.Contains(a, fault.ReasonInvalidCredentials) {
				t.Errorf("got %s, want %s", a, answers[0])
			}
		}
	})
	t.Run("require the id and the secret", func(t *testing.T) {
		_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{})
		if f := fault.From(err); len(f.Fields) != 2 || f.Fields[0].Field != "client_id" || f.Fields[1].Rule != "required" {
			t.Errorf("got %v", f)
		}
	})
	t.Run("tokens of a service credential live as long as requested, at most a day", func(t *testing.T) {
		req := &authv1.IssueTokenRequest{ClientId: r.admin.ID, ClientSecret: r.admin.Secret.Reveal(), LifetimeSeconds: 86400, CompanyId: company}
		res, err := r.tokens.IssueToken(t.Context(), req)
		if err != nil || res.GetExpiresIn() != 86400 {
			t.Fatalf("got %v, %v", res, err)
		}
		c, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
		if err != nil || c.Company.String() != company || c.Zone != "Europe/London" {
			t.Errorf("got %+v, %v", c, err)
		}
		for _, bad := range []int32{-1, 86401} {
			req.LifetimeSeconds = bad
			if _, err := r.tokens.IssueToken(t.Context(), req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%d seconds: got %v", bad, err)
			}
		}
		req.LifetimeSeconds, req.CompanyId = 0, id.New[id.Company]().String()
		if _, err := r.tokens.IssueToken(t.Context(), req); !fault.Is(err, fault.NotFound) {
			t.Errorf("a company that does not exist: got %v", err)
		}
	})
	t.Run("record when their client was last used, to the minute", func(t *testing.T) {
		r.token(clientID, secret)
		got, err := r.clients.GetApiClient(r.as(company), &authv1.GetApiClientRequest{Id: clientID})
		used := got.GetApiClient().GetLastUsedAt().AsTime()
		if err != nil || time.Since(used) > 2*time.Minute || used.Second() != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestThrottling(t *testing.T) { // invariant 6
	t.Parallel()
	r := newWorld(t).start()
	clientID, secret := r.client(r.company())
	wrong := &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: "wrong", ClientAddress: "192.0.2.1"}
	key := throttleKey{clientID, "192.0.2.1"}
	for range 19 {
		r.server.throttle.failed(key)
	}
	_, err := r.tokens.IssueToken(t.Context(), wrong)
	if f := fault.From(err); f.Kind != fault.RateLimited || f.RetryAfter < time.Minute {
		t.Errorf("the 20th failure got %v", err)
	}
	if _, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret, ClientAddress: "192.0.2.1"}); err != nil {
		t.Errorf("right credentials got %v", err)
	}
	if _, err := r.tokens.IssueToken(t.Context(), wrong); fault.From(err).Reason != fault.ReasonInvalidCredentials {
		t.Errorf("after a success, a failure got %v", err)
	}
}

func TestAnotherCompany(t *testing.T) { // invariant 8
	t.Parallel()
	r := newWorld(t).start()
	mine, theirs := r.company(), r.company()
	clientID, _ := r.client(mine)
	keyID, _ := r.key(mine)
	service, err := r.services.CreateServiceCredential(r.as(mine), &authv1.CreateServiceCredentialRequest{Name: "team", Scopes: scopes.Service()})
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := r.services.CreateServiceCredential(r.as(theirs), &authv1.CreateServiceCredentialRequest{Name: "team", Scopes: scopes.Service()})
	if err != nil {
		t.Fatal(err)
	}
	source := token.NewSource(func(ctx context.Context) (string, time.Time, error) {
		res, err := r.tokens.IssueToken(ctx, &authv1.IssueTokenRequest{ClientId: stranger.GetServiceCredential().GetId(), ClientSecret: stranger.GetSecret()})
		return res.GetAccessToken(), time.Now().Add(time.Hour), err
	})
	ctx := rpc.As(t.Context(), source, id.Company{})
	for name, call := range map[string]func(string) error{
		"GetApiKey": func(k string) error { return errOf(r.apiKeys.GetApiKey(ctx, &authv1.GetApiKeyRequest{Id: k})) },
		"UpdateApiKey": func(k string) error {
			return errOf(r.apiKeys.UpdateApiKey(ctx, &authv1.UpdateApiKeyRequest{Id: k, Name: ptr("x")}))
		},
		"RotateApiKeySecret": func(k string) error {
			return errOf(r.apiKeys.RotateApiKeySecret(ctx, &authv1.RotateApiKeySecretRequest{Id: k}))
		},
		"DisableApiKey": func(k string) error { return errOf(r.apiKeys.DisableApiKey(ctx, &authv1.DisableApiKeyRequest{Id: k})) },
		"EnableApiKey":  func(k string) error { return errOf(r.apiKeys.EnableApiKey(ctx, &authv1.EnableApiKeyRequest{Id: k})) },
		"DeleteApiKey":  func(k string) error { return errOf(r.apiKeys.DeleteApiKey(ctx, &authv1.DeleteApiKeyRequest{Id: k})) },
	} {
		t.Run(name+" finds nothing", func(t *testing.T) {
			asKey := "key_" + strings.TrimPrefix(clientID, "m2m_")
			for _, k := range []string{keyID, asKey, clientID, "", "x", "key_'--", strings.Repeat("k", 100)} {
				if err := call(k); !fault.Is(err, fault.NotFound) {
					t.Errorf("%.40q: got %v", k, err)
				}
			}
		})
	}
	calls := map[string]func(client, credential, company string) error{
		"GetApiClient": func(c, _, _ string) error {
			return errOf(r.clients.GetApiClient(ctx, &authv1.GetApiClientRequest{Id: c}))
		},
		"UpdateApiClient": func(c, _, _ string) error {
			return errOf(r.clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: c, Name: ptr("x")}))
		},
		"RotateApiClientSecret": func(c, _, _ string) error {
			return errOf(r.clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: c}))
		},
		"DisableApiClient": func(c, _, _ string) error {
			return errOf(r.clients.DisableApiClient(ctx, &authv1.DisableApiClientRequest{Id: c}))
		},
		"EnableApiClient": func(c, _, _ string) error {
			return errOf(r.clients.EnableApiClient(ctx, &authv1.EnableApiClientRequest{Id: c}))
		},
		"DeleteApiClient": func(c, _, _ string) error {
			return errOf(r.clients.DeleteApiClient(ctx, &authv1.DeleteApiClientRequest{Id: c}))
		},
		"RotateServiceCredential": func(_, s, _ string) error {
			return errOf(r.services.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: s}))
		},
		"DisableServiceCredential": func(_, s, _ string) error {
			return errOf(r.services.DisableServiceCredential(ctx, &authv1.DisableServiceCredentialRequest{Id: s}))
		},
		"GetCompany": func(_, _, company string) error {
			return errOf(r.companies.GetCompany(ctx, &authv1.GetCompanyRequest{Id: company}))
		},
		"UpdateCompany": func(_, _, company string) error {
			return errOf(r.companies.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{Id: company, Name: ptr("x")}))
		},
	}
	for name, call := range calls {
		t.Run(name+" finds nothing", func(t *testing.T) {
			if err := call(clientID, service.GetServiceCredential().GetId(), mine); !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
			for _, bad := range []string{"x", "m2m_'--", strings.Repeat("s", 100)} {
				if err := call(bad, bad, bad); !fault.Is(err, fault.NotFound) {
					t.Errorf("%.10q: got %v", bad, err)
				}
			}
		})
	}
	t.Run("lists show only the company's own credentials", func(t *testing.T) {
		clients, err := r.clients.ListApiClients(ctx, &authv1.ListApiClientsRequest{})
		if err != nil || len(clients.GetApiClients()) != 0 {
			t.Errorf("got %v, %v", clients, err)
		}
		keys, err := r.apiKeys.ListApiKeys(ctx, &authv1.ListApiKeysRequest{})
		if err != nil || len(keys.GetApiKeys()) != 0 {
			t.Errorf("got %v, %v", keys, err)
		}
		services, err := r.services.ListServiceCredentials(ctx, &authv1.ListServiceCredentialsRequest{})
		if err != nil || len(services.GetServiceCredentials()) != 1 {
			t.Errorf("got %v, %v", services, err)
		}
	})
	t.Run("requests about the platform are refused", func(t *testing.T) {
		_, create := r.companies.CreateCompany(ctx, &authv1.CreateCompanyRequest{Name: "x", Timezone: "UTC", Currency: "GBP"})
		_, list := r.companies.ListCompanies(ctx, &authv1.ListCompaniesRequest{})
		_, rotate := r.signing.RotateSigningKey(ctx, &authv1.RotateSigningKeyRequest{})
		_, platform := r.services.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: "x", Scopes: []string{"platform:admin"}, Platform: true})
		for _, err := range []error{create, list, rotate, platform} {
			if f := fault.From(err); f == nil || f.Kind != fault.Forbidden || f.Meta["scope"] != "platform:admin" {
				t.Errorf("got %v", err)
			}
		}
		_, err := r.services.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: "x", Scopes: []string{"platform:admin"}})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
}

func TestServiceCredentials(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	create := func(ctx context.Context, scopes ...string) (*authv1.CreateServiceCredentialResponse, error) {
		return r.services.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: "team", Scopes: scopes})
	}
	strong, err := create(r.as(company), "customers:write", "service-credentials:write")
	if err != nil {
		t.Fatal(err)
	}
	weak, err := create(r.as(company), "service-credentials:write")
	if err != nil {
		t.Fatal(err)
	}
	ctx := rpc.As(t.Context(), token.NewSource(func(context.Context) (string, time.Time, error) {
		return r.token(weak.GetServiceCredential().GetId(), weak.GetSecret()), time.Now().Add(time.Hour), nil
	}), id.Company{})

	t.Run("a credential cannot create one with more scopes", func(t *testing.T) {
		if _, err := create(ctx, "customers:write"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a credential cannot rotate one with more scopes, because it would get the new secret", func(t *testing.T) {
		res, err := r.services.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: strong.GetServiceCredential().GetId()})
		if !fault.Is(err, fault.Forbidden) || res.GetSecret() != "" {
			t.Errorf("got %v", err)
		}
		r.token(strong.GetServiceCredential().GetId(), strong.GetSecret()) // the secret is still valid
	})
	t.Run("rotate themselves and credentials with the same scopes", func(t *testing.T) {
		res, err := r.services.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: weak.GetServiceCredential().GetId()})
		if err != nil {
			t.Fatal(err)
		}
		r.token(weak.GetServiceCredential().GetId(), res.GetSecret())
	})
}

func TestBootstrapRotates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	raw := r.token(w.admin.ID, w.admin.Secret.Reveal())
	soon(t, func() error { _, err := r.verifier.Verify(t.Context(), raw); return err })
	if err := r.server.bootstrap(t.Context(), []bootstrapCredential{w.admin}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.verifier.Verify(t.Context(), raw); err != nil {
		t.Errorf("the same setting revoked the token: %v", err)
	}
	secret, _ := newSecret()
	w.admin.Secret = config.Secret(secret)
	if err := r.server.bootstrap(t.Context(), []bootstrapCredential{w.admin}); err != nil {
		t.Fatal(err)
	}
	r.token(w.admin.ID, secret)
	soon(t, func() error {
		if _, err := r.verifier.Verify(t.Context(), raw); err == nil {
			return errors.New("a token of the old secret is accepted")
		}
		return nil
	})
}

func TestSecretsStayHidden(t *testing.T) { // invariants 1 and 7
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	clientID, secret := r.client(company)
	rotated, err := r.clients.RotateApiClientSecret(rpc.WithIdempotencyKey(r.as(company), "k"), &authv1.RotateApiClientSecretRequest{Id: clientID})
	if err != nil {
		t.Fatal(err)
	}
	service, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "x", Scopes: []string{"events:read"}})
	if err != nil {
		t.Fatal(err)
	}
	raw := r.token(clientID, rotated.GetClientSecret())
	keyID, keySecret := r.key(company)
	rotatedKey, err := r.apiKeys.RotateApiKeySecret(rpc.WithIdempotencyKey(r.as(company), "another"), &authv1.RotateApiKeySecretRequest{Id: keyID})
	if err != nil {
		t.Fatal(err)
	}
	rawKey := r.token(keyID, rotatedKey.GetApiSecret())
	secrets := []string{keySecret, rotatedKey.GetApiSecret(), rawKey, secret, rotated.GetClientSecret(), service.GetSecret(), raw}
	for _, table := range []string{"companies", "credentials", "audit_log", "outbox", "idempotency_keys", "signing_keys"} {
		err := w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select row_to_json(t)::text from ` + table + ` t`, Scan: func(rows pgx.Rows) error {
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					return err
				}
				for _, s := range secrets {
					if strings.Contains(text, s) || strings.Contains(text, fmt.Sprintf("%x", s)) {
						t.Errorf("a secret is in a row of %s", table)
					}
				}
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range secrets {
		if strings.Contains(w.log.String(), s) {
			t.Error("a secret is in the log")
		}
	}
	actions, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select action from audit_log where actor <> 'bootstrap' order by at, id`)
	if want := "company.create api_client.create api_client.rotate service_credential.create api_key.create api_key.rotate"; err != nil || strings.Join(actions, " ") != want {
		t.Errorf("the audit log has %v, %v, want %s", actions, err, want)
	}
}
