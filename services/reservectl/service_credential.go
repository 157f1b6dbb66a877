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
		about:    "Service credentials, the machines that call the services over gRPC: the parts, the operator, your own programs", noun: "a service credential",
		listShort: "List service credentials, disabled ones too", none: "no service credentials; see reservectl credential create --help",
		listExample:   "  reservectl credential list --platform --output table",
		createExample: `  reservectl credential create --company comp_… --name "Reports" --scopes bookings:read,customers:read`,
		grants:        "scopes", grantsUsage: "what it may do, as bookings:read; none that yours may not", required: []string{"name", "scopes"},
		create: func(ctx context.Context, credentials service, n newCredential) (row, error) {
			res, err := credentials.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: n.name, Scopes: n.grants, Platform: platform})
			return serviceCredentialSecretRow(res.GetServiceCredential(), res.GetSecret()), err
		},
		page: func(ctx context.Context, credentials service, pageToken string) ([]row, string, error) {
			res, err := credentials.ListServiceCredentials(ctx, &authv1.ListServiceCredentialsRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetServiceCredentials(), serviceCredentialRow), res.GetNextPageToken(), err
		},
		rotate: func(ctx context.Context, credentials service, id string) (row, error) {
			res, err := credentials.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: id})
			return serviceCredentialSecretRow(res.GetServiceCredential(), res.GetSecret()), err
		},
		disable: func(ctx context.Context, credentials service, id string) (row, error) {
			res, err := credentials.DisableServiceCredential(ctx, &authv1.DisableServiceCredentialRequest{Id: id})
			return serviceCredentialRow(res.GetServiceCredential()), err
		},
	})
	for _, command := range c.Commands() {
		command.Flags().BoolVar(&platform, "platform", false, "of the platform itself, as the parts' and the operator's are, instead of a company")
		if command.Name() == "rotate" {
			command.Long = command.Short + `.

One of BOOTSTRAP_CREDENTIALS is replaced in that setting: the next start of auth
would put its secret back.`
		}
	}
	return c
}

func serviceCredentialSecretRow(c *authv1.ServiceCredential, secret string) row {
	return row{{"credential_id", c.GetId()}, {"secret", secret}, {"scopes", c.GetScopes()}}
}

func serviceCredentialRow(c *authv1.ServiceCredential) row {
	return row{
		{"credential_id", c.GetId()}, {"name", c.GetName()}, {"scopes", c.GetScopes()}, {"state", enum.Name(c.GetState())}, {"rotated_at", when(c.GetRotatedAt())},
	}
}
