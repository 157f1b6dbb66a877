package auth

import (
	"context"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// machine creates a service credential of a company and returns its id and the context for its
// calls.
func (r *replica) machine(company string, scopes ...string) (string, context.Context) {
	r.t.Helper()
	made, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "Deployment", Scopes: scopes})
	if err != nil {
		r.t.Fatal(err)
	}
	c := made.GetServiceCredential().GetId()
	return c, rpc.As(r.t.Context(), token.NewSource(func(context.Context) (string, time.Time, error) {
		return r.token(c, made.GetSecret()), time.Now().Add(time.Hour), nil
	}), id.Company{})
}

// Invariant 17.
func TestCredentialsCannotExceedTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	_, ctx := r.machine(company, "api-keys:write", "api-clients:write", "service-credentials:write", "events:read", "passes:read", "profile:read")
	boss := r.administrator(company, owner)
	strongKey, _ := r.key(company)
	weakKey, _ := r.key(company, "events:read")
	mixedKey, _ := r.key(company, "customers:write", "events:read")
	strongClient, _ := r.client(company)
	weakClient, _ := r.client(company, "profile:read")
	strong, _ := r.machine(company, "customers:write")
	off := func(key string) string {
		if _, err := r.apiKeys.DisableApiKey(r.as(company), &authv1.DisableApiKeyRequest{Id: key}); err != nil {
			t.Fatal(err)
		}
		return key
	}
	offKey, _ := r.key(company, "customers:read")
	offClient, _ := r.client(company, "customers:read")
	if _, err := r.clients.DisableApiClient(r.as(company), &authv1.DisableApiClientRequest{Id: offClient}); err != nil {
		t.Fatal(err)
	}
	off(offKey)
	createKey := func(ctx context.Context, permissions ...string) error {
		_, err := r.apiKeys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{Name: "Website", Permissions: permissions})
		return err
	}
	updateKey := func(ctx context.Context, key string, permissions ...string) error {
		_, err := r.apiKeys.UpdateApiKey(ctx, &authv1.UpdateApiKeyRequest{Id: key, Name: ptr("n"), Permissions: permissions})
		return err
	}
	createClient := func(scopes ...string) error {
		_, err := r.clients.CreateApiClient(ctx, &authv1.CreateApiClientRequest{Name: "CRM", Scopes: scopes})
		return err
	}
	updateClient := func(client string, scopes ...string) error {
		_, err := r.clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: client, Name: ptr("n"), Scopes: scopes})
		return err
	}
	rotateKey := func(key string) error {
		_, err := r.apiKeys.RotateApiKeySecret(ctx, &authv1.RotateApiKeySecretRequest{Id: key})
		return err
	}
	rotateClient := func(client string) error {
		_, err := r.clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: client})
		return err
	}
	for name, c := range map[string]struct {
		err   error
		scope string // that the refusal names; "": it is allowed
	}{
		"a key with the caller's permissions":               {createKey(ctx, "events:read"), ""},
		"a key with another permission":                     {createKey(ctx, "events:read", "customers:write"), "customers:write"},
		"a key with all permissions":                        {createKey(ctx, "*"), "*"},
		"a key without permissions, which has all":          {createKey(ctx), "*"},
		"a permission more":                                 {updateKey(ctx, weakKey, "events:read", "customers:read"), "customers:read"},
		"all permissions instead of one":                    {updateKey(ctx, weakKey, "*"), "*"},
		"another name of a stronger key":                    {updateKey(ctx, mixedKey), ""},
		"a permission that the caller has, on a stronger":   {updateKey(ctx, mixedKey, "customers:write", "events:read"), ""},
		"fewer permissions":                                 {updateKey(ctx, mixedKey, "customers:write"), ""},
		"the secret of a stronger key":                      {rotateKey(strongKey), "*"},
		"the secret of a key that is not stronger":          {rotateKey(weakKey), ""},
		"a stronger key that was disabled":                  {r.enableKey(ctx, offKey), "customers:read"},
		"a client with the caller's scopes":                 {createClient("profile:read"), ""},
		"a client with another scope":                       {createClient("profile:read", "bookings:read"), "bookings:read"},
		"a client whose token carries another scope":        {createClient("passes:read"), "customer-passes:read"},
		"a scope more":                                      {updateClient(weakClient, "profile:read", "profile:write"), "profile:write"},
		"the secret of a stronger client":                   {rotateClient(strongClient), "appointments:read"},
		"the secret of a client that is not stronger":       {rotateClient(weakClient), ""},
		"a stronger client that was disabled":               {r.enableClient(ctx, offClient), "customers:read"},
		"the secret of a stronger service credential":       {r.rotateMachine(ctx, strong), "customers:write"},
		"all permissions, by an owner":                      {createKey(boss.ctx(), "*"), ""},
		"all permissions, by the platform":                  {createKey(r.as(company), "*"), ""},
		"all permissions of an existing key, by an owner":   {updateKey(boss.ctx(), weakKey, "*"), ""},
		"a role, by a credential that manages credentials":  {r.invite(ctx), "administrators:write"},
		"an owner, by staff":                                {r.invite(r.administrator(company, manager).ctx()), "administrators:write"},
		"a higher role of their own, by staff":              {r.promote(r.administrator(company, manager)), "administrators:write"},
		"an owner, by an owner":                             {r.invite(boss.ctx()), ""},
		"a password link for an owner, by the same machine": {r.resetLink(ctx, boss.id), "administrators:write"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.scope == "" && c.err != nil {
				t.Errorf("got %v", c.err)
			}
			if f := fault.From(c.err); c.scope != "" && (f == nil || f.Kind != fault.Forbidden || f.Meta["scope"] != c.scope) {
				t.Errorf("got %v, want a refusal that names %s", c.err, c.scope)
			}
		})
	}
}

func (r *replica) enableKey(ctx context.Context, key string) error {
	_, err := r.apiKeys.EnableApiKey(ctx, &authv1.EnableApiKeyRequest{Id: key})
	return err
}

func (r *replica) enableClient(ctx context.Context, client string) error {
	_, err := r.clients.EnableApiClient(ctx, &authv1.EnableApiClientRequest{Id: client})
	return err
}

func (r *replica) rotateMachine(ctx context.Context, credential string) error {
	_, err := r.services.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: credential})
	return err
}

func (r *replica) invite(ctx context.Context) error {
	_, err := r.admins.InviteAdministrator(ctx, &authv1.InviteAdministratorRequest{Email: email(), Role: owner})
	return err
}

func (r *replica) promote(p *person) error {
	_, err := r.admins.UpdateAdministrator(p.ctx(), &authv1.UpdateAdministratorRequest{Id: p.id, Role: ptr(owner)})
	return err
}

func (r *replica) resetLink(ctx context.Context, administrator string) error {
	_, err := r.admins.CreatePasswordReset(ctx, &authv1.CreatePasswordResetRequest{Id: administrator})
	return err
}

// Invariant 17, for a caller with a rate limit and an expiry.
func TestCredentialsOfALimitedCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	caller, ctx := r.machine(company, "api-keys:write", "events:read", "service-credentials:write")
	parsed, err := id.Parse[id.ServiceCredential](caller)
	if err != nil {
		t.Fatal(err)
	}
	err = w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `update credentials set rate_limit = 50, expires_at = now() + interval '10 days' where id = $1`, parsed.UUID())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	key := func(limit, days *int32) error {
		_, err := r.apiKeys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{Name: "n", Permissions: []string{"events:read"}, RateLimit: limit, ExpiresAfterDays: days})
		return err
	}
	within, err := r.apiKeys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{Name: "n", Permissions: []string{"events:read"}, RateLimit: ptr(int32(20)), ExpiresAfterDays: ptr(int32(9))})
	if err != nil {
		t.Fatal(err)
	}
	limit := func(n int32) error {
		_, err := r.apiKeys.UpdateApiKey(ctx, &authv1.UpdateApiKeyRequest{Id: within.GetApiKey().GetId(), RateLimit: &n})
		return err
	}
	_, machine := r.services.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: "n", Scopes: []string{"events:read"}})
	for name, c := range map[string]struct {
		err   error
		field string
	}{
		"the caller's own limit and less time":  {key(ptr(int32(50)), ptr(int32(9))), ""},
		"a higher limit":                        {key(ptr(int32(51)), ptr(int32(9))), "rate_limit"},
		"the default limit":                     {key(nil, ptr(int32(9))), "rate_limit"},
		"more time":                             {key(ptr(int32(1)), ptr(int32(11))), "expires_after_days"},
		"no expiry":                             {key(ptr(int32(1)), nil), "expires_after_days"},
		"a change to a limit that is not above": {limit(50), ""},
		"a change to a higher limit":            {limit(51), "rate_limit"},
		"a change to the default limit":         {limit(0), "rate_limit"},
		"a service credential, without limits":  {machine, "rate_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fieldsOf(c.err); got != c.field || (c.field != "" && !fault.Is(c.err, fault.Forbidden)) {
				t.Errorf("got %v, want a refusal of %q", c.err, c.field)
			}
		})
	}
}
