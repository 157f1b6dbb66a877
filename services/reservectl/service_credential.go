package reservectl

import (
	"context"

	"github.com/spf13/cobra"

	"reservation.dev/platform/enum"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) credentialCommand() *cobra.Command {
	type service = authv1.ServiceCredentialServiceClient
	platform := false
	open := func(ctx context.Context) (*session, error) {
		if platform {
			return a.platform(ctx)
		}
		return a.forCompany(a.auth)(ctx)
	}
	c := credentialGroup(credentialKind[service]{
		resource: resource[service]{a, open, authv1.NewServiceCredentialServiceClient, "credential", "CREDENTIAL_ID", "--platform svc_…"},
		about:    "Manage service credentials, with which programs call the services over gRPC", noun: "a service credential",
		listShort: "List service credentials, including disabled ones", none: "no service credentials; see reservectl credential create --help",
		listExample:   "  reservectl credential list --platform --output table",
		createExample: `  reservectl credential create --company comp_… --name "Reports" --scopes bookings:read,customers:read`,
		grants:        "scopes", grantsUsage: "scopes to grant, for example bookings:read; you can grant only scopes that your own credential has", required: []string{"name", "scopes"},
		create: func(ctx context.Context, credentials service, n newCredential) (row, error) {
			res, err := credentials.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: n.name, Scopes: n.grants, Platform: platform})
			return serviceCredentialSecretRow(res.GetServiceCredential(), res.GetSecret()), err
		},
		page: func(ctx context.Context, credentials service, pageToken string) ([]row, string, error) {
			res, err := credentials.ListServiceCredentials(ctx, &authv1.ListServiceCredentialsRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetServiceCredentials(), serviceCredentialRow), res.GetNextPageToken(), err
		},
		rotate: func(ctx context.Context, credentials service, id string, r rotation) (row, error) {
			res, err := credentials.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: id, OverlapDays: r.overlapDays, Force: r.force})
			return append(serviceCredentialSecretRow(res.GetServiceCredential(), res.GetSecret()), previousEnd(res.GetServiceCredential())), err
		},
		endPrevious: func(ctx context.Context, credentials service, id string) (row, error) {
			res, err := credentials.EndPreviousServiceCredentialSecret(ctx, &authv1.EndPreviousServiceCredentialSecretRequest{Id: id})
			return serviceCredentialRow(res.GetServiceCredential()), err
		},
		disable: func(ctx context.Context, credentials service, id string) (row, error) {
			res, err := credentials.DisableServiceCredential(ctx, &authv1.DisableServiceCredentialRequest{Id: id})
			return serviceCredentialRow(res.GetServiceCredential()), err
		},
	})
	for _, command := range c.Commands() {
		command.Flags().BoolVar(&platform, "platform", false, "for a credential of the platform, such as a service's or the operator's, instead of a company's")
		if command.Name() == "rotate" {
			command.Long = command.Short + `.

Replace a credential of BOOTSTRAP_CREDENTIALS in that setting instead. Otherwise
the next start of auth restores its old secret.`
		}
	}
	return c
}

func serviceCredentialSecretRow(c *authv1.ServiceCredential, secret string) row {
	return row{{"credential_id", c.GetId()}, {"secret", secret}, {"scopes", c.GetScopes()}}
}

func serviceCredentialRow(c *authv1.ServiceCredential) row {
	return row{
		{"credential_id", c.GetId()}, {"name", c.GetName()}, {"scopes", c.GetScopes()}, {"state", enum.Name(c.GetState())}, {"rotated_at", timeOrNil(c.GetRotatedAt())},
		previousEnd(c), previousUse(c),
	}
}
