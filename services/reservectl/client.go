package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) clientCommand() *cobra.Command {
	type service = authv1.ApiClientServiceClient
	return credentialGroup(credentialKind[service]{
		resource: resource[service]{a, a.forCompany(a.auth), authv1.NewApiClientServiceClient, "client", "CLIENT_ID", "m2m_… --company comp_…"},
		about:    "Manage API clients, the credentials of programs that use Interface A", noun: "an API client",
		listShort: "List the company's API clients", none: "no API clients yet; see reservectl client create --help",
		listExample: "  reservectl client list --company comp_… --output table",
		createExample: `  reservectl client create --company comp_… --name "CRM" --scopes customers:read,bookings:read
  reservectl client create --company comp_… --name "Audit" --scopes bookings:read --expires-days 30
  reservectl client create --company comp_… --test --name "CRM" --scopes customers:read`,
		grants: "scopes", grantsUsage: "scopes to grant: " + strings.Join(scopes.InterfaceA(), ", "), knownGrants: scopes.InterfaceA(),
		limitUsage: limitUsage, limitDefault: "no limit", required: []string{"name", "scopes"},
		updateExample: "  reservectl client update m2m_… --company comp_… --network 203.0.113.0/24,2001:db8::/32",
		create: func(ctx context.Context, clients service, n newCredential) (row, error) {
			res, err := clients.CreateApiClient(ctx, &authv1.CreateApiClientRequest{
				Name: n.name, Description: n.description, Scopes: n.grants, ExpiresAfterDays: n.days, RateLimit: n.limit,
				AllowedNetworks: n.networks,
			})
			return clientSecretRow(res.GetApiClient(), res.GetClientSecret()), err
		},
		page: func(ctx context.Context, clients service, pageToken string) ([]row, string, error) {
			res, err := clients.ListApiClients(ctx, &authv1.ListApiClientsRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetApiClients(), clientRow), res.GetNextPageToken(), err
		},
		update: func(ctx context.Context, clients service, id string, c changedCredential) (row, error) {
			res, err := clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{
				Id: id, Name: c.name, Description: c.description, Scopes: c.grants, RateLimit: c.limit, AllowedNetworks: c.networks,
			})
			return clientRow(res.GetApiClient()), err
		},
		rotate: func(ctx context.Context, clients service, id string, r rotation) (row, error) {
			res, err := clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: id, OverlapDays: r.overlapDays, Force: r.force})
			return append(clientSecretRow(res.GetApiClient(), res.GetClientSecret()), previousEnd(res.GetApiClient())), err
		},
		endPrevious: func(ctx context.Context, clients service, id string) (row, error) {
			res, err := clients.EndPreviousApiClientSecret(ctx, &authv1.EndPreviousApiClientSecretRequest{Id: id})
			return clientRow(res.GetApiClient()), err
		},
		disable: func(ctx context.Context, clients service, id string) (row, error) {
			res, err := clients.DisableApiClient(ctx, &authv1.DisableApiClientRequest{Id: id})
			return clientRow(res.GetApiClient()), err
		},
		enable: func(ctx context.Context, clients service, id string) (row, error) {
			res, err := clients.EnableApiClient(ctx, &authv1.EnableApiClientRequest{Id: id})
			return clientRow(res.GetApiClient()), err
		},
		remove: func(ctx context.Context, clients service, id string) (row, error) {
			_, err := clients.DeleteApiClient(ctx, &authv1.DeleteApiClientRequest{Id: id})
			return deletedRow("client_id", id), err
		},
	})
}

func clientSecretRow(c *authv1.ApiClient, secret string) row {
	return row{{"client_id", c.GetId()}, {"client_secret", secret}, {"scopes", c.GetScopes()}, {"expires_at", timeOrNil(c.GetExpiresAt())}}
}

func clientRow(c *authv1.ApiClient) row {
	return row{
		{"client_id", c.GetId()}, {"name", c.GetName()}, {"scopes", c.GetScopes()}, {"state", enum.Name(c.GetState())},
		{"expires_at", timeOrNil(c.GetExpiresAt())}, {"last_used_at", timeOrNil(c.GetLastUsedAt())},
		{"allowed_networks", c.GetAllowedNetworks()}, previousEnd(c), previousUse(c),
	}
}
