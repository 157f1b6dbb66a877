package auth

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestSecretsOncePerKey(t *testing.T) { // invariant 1
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	client, _ := r.client(company)
	key, _ := r.key(company)
	machine, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "Sync", Scopes: []string{"customers:read"}})
	if err != nil {
		t.Fatal(err)
	}
	ada := r.administrator(company, manager)
	invited := email()
	for name, call := range map[string]func(key string) (secret, about string, err error){
		"CreateApiClient": func(k string) (string, string, error) {
			res, err := r.clients.CreateApiClient(rpc.WithIdempotencyKey(r.as(company), k), &authv1.CreateApiClientRequest{Name: "CRM", Scopes: []string{"customers:read"}})
			return res.GetClientSecret(), res.GetApiClient().String(), err
		},
		"RotateApiClientSecret": func(k string) (string, string, error) {
			res, err := r.clients.RotateApiClientSecret(rpc.WithIdempotencyKey(r.as(company), k), &authv1.RotateApiClientSecretRequest{Id: client})
			return res.GetClientSecret(), res.GetApiClient().String(), err
		},
		"CreateApiKey": func(k string) (string, string, error) {
			res, err := r.apiKeys.CreateApiKey(rpc.WithIdempotencyKey(r.as(company), k), &authv1.CreateApiKeyRequest{Name: "Website"})
			return res.GetApiSecret(), res.GetApiKey().String(), err
		},
		"RotateApiKeySecret": func(k string) (string, string, error) {
			res, err := r.apiKeys.RotateApiKeySecret(rpc.WithIdempotencyKey(r.as(company), k), &authv1.RotateApiKeySecretRequest{Id: key})
			return res.GetApiSecret(), res.GetApiKey().String(), err
		},
		"CreateServiceCredential": func(k string) (string, string, error) {
			res, err := r.services.CreateServiceCredential(rpc.WithIdempotencyKey(r.as(company), k), &authv1.CreateServiceCredentialRequest{Name: "Sync", Scopes: []string{"customers:read"}})
			return res.GetSecret(), res.GetServiceCredential().String(), err
		},
		"RotateServiceCredential": func(k string) (string, string, error) {
			res, err := r.services.RotateServiceCredential(rpc.WithIdempotencyKey(r.as(company), k), &authv1.RotateServiceCredentialRequest{Id: machine.GetServiceCredential().GetId()})
			return res.GetSecret(), res.GetServiceCredential().String(), err
		},
		"InviteAdministrator": func(k string) (string, string, error) {
			res, err := r.admins.InviteAdministrator(rpc.WithIdempotencyKey(r.as(company), k), &authv1.InviteAdministratorRequest{Email: invited, Role: manager})
			return res.GetToken(), res.GetInvitation().GetId(), err
		},
		"CreatePasswordReset": func(k string) (string, string, error) {
			res, err := r.admins.CreatePasswordReset(rpc.WithIdempotencyKey(r.as(company), k), &authv1.CreatePasswordResetRequest{Id: ada.id})
			return res.GetToken(), res.GetExpiresAt().String(), err
		},
	} {
		t.Run(name+" does it once, shows the secret once, and keeps it nowhere", func(t *testing.T) {
			before := len(r.entries(company, &authv1.ListAuditEntriesRequest{}))
			var wg sync.WaitGroup
			secrets, abouts := make([]string, 4), make([]string, 4)
			for i := range secrets {
				wg.Go(func() {
					err := error(fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "not asked yet"))
					for deadline := time.Now().Add(patience); reason(err) == fault.ReasonIdempotencyInProgress && time.Now().Before(deadline); {
						secrets[i], abouts[i], err = call(name)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			slices.Sort(secrets)
			if got := slices.Compact(slices.Clone(secrets)); len(got) != 2 || secrets[2] != "" || secrets[3] == "" {
				t.Errorf("got %q", secrets)
			}
			if slices.Sort(abouts); abouts[0] == "" || len(slices.Compact(abouts)) != 1 {
				t.Errorf("answers differ: %q", abouts)
			}
			if after := len(r.entries(company, &authv1.ListAuditEntriesRequest{})); after != before+1 {
				t.Errorf("%d changes", after-before)
			}
			kept, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select coalesce(string_agg(encode(response, 'escape'), ' '), '') from idempotency_keys`)
			if err != nil || strings.Contains(kept[0], secrets[3]) {
				t.Errorf("the secret is in a stored response, or %v", err)
			}
			next, _, err := call(name + "-again")
			if err != nil || next == "" || next == secrets[3] {
				t.Errorf("under another key: %q, %v", next, err)
			}
		})
	}
}

func TestChangesOncePerKey(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	client := func() string { c, _ := r.client(company); return c }
	disabled := func() string {
		c := client()
		if _, err := r.clients.DisableApiClient(r.as(company), &authv1.DisableApiClientRequest{Id: c}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	machine := func() string {
		made, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "Sync", Scopes: []string{"customers:read"}})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetServiceCredential().GetId()
	}
	for name, c := range map[string]struct {
		target func() string
		change func(ctx context.Context, target string) (proto.Message, error)
	}{
		"UpdateApiClient": {client, func(ctx context.Context, c string) (proto.Message, error) {
			return r.clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: c, Name: ptr("y")})
		}},
		"DisableApiClient": {client, func(ctx context.Context, c string) (proto.Message, error) {
			return r.clients.DisableApiClient(ctx, &authv1.DisableApiClientRequest{Id: c})
		}},
		"EnableApiClient": {disabled, func(ctx context.Context, c string) (proto.Message, error) {
			return r.clients.EnableApiClient(ctx, &authv1.EnableApiClientRequest{Id: c})
		}},
		"DeleteApiClient": {client, func(ctx context.Context, c string) (proto.Message, error) {
			return r.clients.DeleteApiClient(ctx, &authv1.DeleteApiClientRequest{Id: c})
		}},
		"DisableServiceCredential": {machine, func(ctx context.Context, c string) (proto.Message, error) {
			return r.services.DisableServiceCredential(ctx, &authv1.DisableServiceCredentialRequest{Id: c})
		}},
	} {
		t.Run(name+" answers a repeated request as the first time, and changes nothing", func(t *testing.T) {
			target := c.target()
			before := len(r.entries(company, &authv1.ListAuditEntriesRequest{}))
			ctx := rpc.WithIdempotencyKey(r.as(company), name)
			first, err := c.change(ctx, target)
			if err != nil {
				t.Fatal(err)
			}
			again, err := c.change(ctx, target)
			if err != nil || !proto.Equal(first, again) {
				t.Errorf("first %v, then %v, %v", first, again, err)
			}
			if after := len(r.entries(company, &authv1.ListAuditEntriesRequest{})); after != before+1 {
				t.Errorf("%d changes", after-before)
			}
			if _, err := c.change(ctx, c.target()); reason(err) != fault.ReasonIdempotencyKeyReused {
				t.Errorf("the key for another target: %v", err)
			}
		})
	}
}
