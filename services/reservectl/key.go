package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// keyPermissions returns the permissions of API keys, in the order of the documentation.
func keyPermissions() []string {
	return append([]string{scopes.Everything}, scopes.InterfaceB()...)
}

const limitUsage = "requests allowed in any 60 seconds, at most 10000"

func (a *app) keyCommand() *cobra.Command {
	type service = authv1.ApiKeyServiceClient
	k := credentialKind[service]{
		resource: resource[service]{a, a.forCompany(a.auth), authv1.NewApiKeyServiceClient, "key", "API_KEY", "key_… --company comp_…"},
		about:    "Manage API keys, the credentials of programs that use Interface B", noun: "an API key",
		listShort: "List the company's API keys", none: "no API keys yet; see reservectl key create --help",
		listExample: "  reservectl key list --company comp_… --output table",
		createExample: `  reservectl key create --company comp_… --name "Website" --permissions events:read,registrations:write --rate-limit 300
  reservectl key create --company comp_… --test --name "Website"`,
		grants: "permissions", grantsUsage: "permissions to grant: " + strings.Join(keyPermissions(), ", ") + " (default: *, everything)", knownGrants: keyPermissions(),
		limitUsage: limitUsage, limitDefault: "the platform's RATE_LIMIT", required: []string{"name"},
		updateExample: `  reservectl key update key_… --company comp_… --rate-limit 300
  reservectl key update key_… --company comp_… --network 203.0.113.0/24,2001:db8::/32`,
		create: func(ctx context.Context, keys service, n newCredential) (row, error) {
			res, err := keys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{
				Name: n.name, Description: n.description, Permissions: n.grants, ExpiresAfterDays: n.days, RateLimit: n.limit,
				AllowedNetworks: n.networks,
			})
			return keySecretRow(res.GetApiKey(), res.GetApiSecret()), err
		},
		page: func(ctx context.Context, keys service, pageToken string) ([]row, string, error) {
			res, err := keys.ListApiKeys(ctx, &authv1.ListApiKeysRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetApiKeys(), keyRow), res.GetNextPageToken(), err
		},
		update: func(ctx context.Context, keys service, id string, c changedCredential) (row, error) {
			res, err := keys.UpdateApiKey(ctx, &authv1.UpdateApiKeyRequest{
				Id: id, Name: c.name, Description: c.description, Permissions: c.grants, RateLimit: c.limit, AllowedNetworks: c.networks,
			})
			return keyRow(res.GetApiKey()), err
		},
		rotate: func(ctx context.Context, keys service, id string, r rotation) (row, error) {
			res, err := keys.RotateApiKeySecret(ctx, &authv1.RotateApiKeySecretRequest{Id: id, OverlapDays: r.overlapDays, Force: r.force})
			return append(keySecretRow(res.GetApiKey(), res.GetApiSecret()), previousEnd(res.GetApiKey())), err
		},
		endPrevious: func(ctx context.Context, keys service, id string) (row, error) {
			res, err := keys.EndPreviousApiKeySecret(ctx, &authv1.EndPreviousApiKeySecretRequest{Id: id})
			return keyRow(res.GetApiKey()), err
		},
		disable: func(ctx context.Context, keys service, id string) (row, error) {
			res, err := keys.DisableApiKey(ctx, &authv1.DisableApiKeyRequest{Id: id})
			return keyRow(res.GetApiKey()), err
		},
		enable: func(ctx context.Context, keys service, id string) (row, error) {
			res, err := keys.EnableApiKey(ctx, &authv1.EnableApiKeyRequest{Id: id})
			return keyRow(res.GetApiKey()), err
		},
		remove: func(ctx context.Context, keys service, id string) (row, error) {
			_, err := keys.DeleteApiKey(ctx, &authv1.DeleteApiKeyRequest{Id: id})
			return deletedRow("api_key", id), err
		},
	}
	return credentialGroup(k)
}

func keySecretRow(k *authv1.ApiKey, secret string) row {
	return row{
		{"api_key", k.GetId()}, {"api_secret", secret}, {"permissions", k.GetPermissions()}, {"rate_limit", limitOf(k)},
		{"expires_at", timeOrNil(k.GetExpiresAt())},
	}
}

func keyRow(k *authv1.ApiKey) row {
	return row{
		{"api_key", k.GetId()}, {"name", k.GetName()}, {"permissions", k.GetPermissions()}, {"rate_limit", limitOf(k)},
		{"state", enum.Name(k.GetState())}, {"expires_at", timeOrNil(k.GetExpiresAt())}, {"last_used_at", timeOrNil(k.GetLastUsedAt())},
		{"allowed_networks", k.GetAllowedNetworks()}, previousEnd(k), previousUse(k),
	}
}

// limitOf returns a key's own rate limit for the output, or nil if it has none.
func limitOf(k *authv1.ApiKey) any {
	if k == nil || k.RateLimit == nil {
		return nil
	}
	return k.GetRateLimit()
}
