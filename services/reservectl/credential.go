package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) credentialCommand() *cobra.Command {
	return group("credential", "Service credentials, the machines that call the services over gRPC: the parts, the operator, your own programs",
		a.credentialCreate(), a.credentialList(), a.credentialRotate(), a.credentialDisable())
}

// withCredentials runs f with a client of the service credentials of a company, or of
// the platform's own, which belong to none.
func (a *app) withCredentials(ctx context.Context, platform bool, f func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient) error) error {
	if err := a.access.load(); err != nil {
		return err
	}
	if platform {
		a.access.CompanyID = ""
	} else if _, err := a.company(); err != nil {
		return err
	}
	s, err := a.dial(ctx, "auth", a.access.GRPC.Auth)
	if err != nil {
		return err
	}
	defer s.close()
	return f(s.ctx, authv1.NewServiceCredentialServiceClient(s.conn))
}

// ofPlatform is the flag that all commands of service credentials have.
func ofPlatform(c *cobra.Command, platform *bool) *cobra.Command {
	c.Flags().BoolVar(platform, "platform", false, "of the platform itself, as the parts' and the operator's are, instead of a company")
	return c
}

func (a *app) credentialCreate() *cobra.Command {
	var req authv1.CreateServiceCredentialRequest
	c := &cobra.Command{
		Use: "create", Short: "Create a service credential; its secret is shown this once", Args: exactly(),
		Example: `  reservectl credential create --company comp_… --name "Reports" --scopes bookings:read,customers:read`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCredentials(c.Context(), req.GetPlatform(), func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient) error {
				res, err := credentials.CreateServiceCredential(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(credentialSecretRow(res.GetServiceCredential(), res.GetSecret()))
			})
		},
	}
	c.Flags().StringVar(&req.Name, "name", "", "a label for people")
	c.Flags().StringSliceVar(&req.Scopes, "scopes", nil, "what it may do, as bookings:read; none that yours may not")
	return required(ofPlatform(c, &req.Platform), "name", "scopes")
}

func (a *app) credentialList() *cobra.Command {
	var platform bool
	c := &cobra.Command{
		Use: "list", Short: "List service credentials, disabled ones too", Args: exactly(),
		Example: `  reservectl credential list --platform --output table`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCredentials(c.Context(), platform, func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient) error {
				var rows []row
				for req := (&authv1.ListServiceCredentialsRequest{PageSize: 1000}); ; {
					res, err := credentials.ListServiceCredentials(ctx, req)
					if err != nil {
						return err
					}
					for _, credential := range res.GetServiceCredentials() {
						rows = append(rows, credentialRow(credential))
					}
					if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
						return a.printAll(rows, "no service credentials; see reservectl credential create --help")
					}
				}
			})
		},
	}
	return ofPlatform(c, &platform)
}

func (a *app) credentialRotate() *cobra.Command {
	c := a.credentialChange("rotate", "Replace a service credential's secret; tokens of the old one die at once",
		func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient, id string) (row, error) {
			res, err := credentials.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: id})
			return credentialSecretRow(res.GetServiceCredential(), res.GetSecret()), err
		})
	c.Long = `Replace a service credential's secret; tokens of the old one die at once.

One of BOOTSTRAP_CREDENTIALS is replaced in that setting: the next start of auth
would put its secret back.`
	return c
}

func (a *app) credentialDisable() *cobra.Command {
	return a.credentialChange("disable", "Turn a service credential off for good; its tokens die at once",
		func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient, id string) (row, error) {
			res, err := credentials.DisableServiceCredential(ctx, &authv1.DisableServiceCredentialRequest{Id: id})
			return credentialRow(res.GetServiceCredential()), err
		})
}

// credentialChange makes a command that does one thing to one credential.
func (a *app) credentialChange(use, short string, change func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient, id string) (row, error)) *cobra.Command {
	var platform bool
	c := &cobra.Command{
		Use: use + " CREDENTIAL_ID", Short: short, Args: exactly("CREDENTIAL_ID"),
		Example:           "  reservectl credential " + use + " --platform svc_…",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCredentials(c.Context(), platform, func(ctx context.Context, credentials authv1.ServiceCredentialServiceClient) error {
				changed, err := change(ctx, credentials, args[0])
				if err != nil {
					return err
				}
				return a.printOne(changed)
			})
		},
	}
	return ofPlatform(c, &platform)
}

func credentialSecretRow(c *authv1.ServiceCredential, secret string) row {
	return row{{"credential_id", c.GetId()}, {"secret", secret}, {"scopes", c.GetScopes()}}
}

func credentialRow(c *authv1.ServiceCredential) row {
	return row{
		{"credential_id", c.GetId()}, {"name", c.GetName()}, {"scopes", c.GetScopes()}, {"state", stateName(c.GetState())}, {"rotated_at", when(c.GetRotatedAt())},
	}
}

func (a *app) signingKeyCommand() *cobra.Command {
	return group("signing-key", "The keys that sign access tokens", a.signingKeyRotate(), a.signingKeyList())
}

// withSigningKeys runs f with a client of the signing keys, which are the platform's.
func (a *app) withSigningKeys(ctx context.Context, f func(ctx context.Context, keys authv1.SigningKeyServiceClient) error) error {
	s, err := a.platform(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return f(s.ctx, authv1.NewSigningKeyServiceClient(s.conn))
}

func (a *app) signingKeyRotate() *cobra.Command {
	var req authv1.RotateSigningKeyRequest
	c := &cobra.Command{
		Use: "rotate", Short: "Make a new key; the old one verifies until its last token is over", Args: exactly(),
		Example: "  reservectl signing-key rotate\n  reservectl signing-key rotate --revoke",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withSigningKeys(c.Context(), func(ctx context.Context, keys authv1.SigningKeyServiceClient) error {
				res, err := keys.RotateSigningKey(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(signingKeyRow(res.GetSigningKey()))
			})
		},
	}
	c.Flags().BoolVar(&req.Revoke, "revoke", false, "drop the old keys at once, for a leaked one: every token dies, and everybody has to sign in again")
	return c
}

func (a *app) signingKeyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the keys, newest first", Args: exactly(),
		Example: "  reservectl signing-key list --output table",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withSigningKeys(c.Context(), func(ctx context.Context, keys authv1.SigningKeyServiceClient) error {
				res, err := keys.ListSigningKeys(ctx, &authv1.ListSigningKeysRequest{})
				if err != nil {
					return err
				}
				var rows []row
				for _, k := range res.GetSigningKeys() {
					rows = append(rows, signingKeyRow(k))
				}
				return a.printAll(rows, "no signing keys")
			})
		},
	}
}

func signingKeyRow(k *authv1.SigningKey) row {
	return row{
		{"key_id", k.GetKid()}, {"state", strings.ToLower(strings.TrimPrefix(k.GetState().String(), "SIGNING_KEY_STATE_"))},
		{"active_from", when(k.GetActiveFrom())}, {"retired_until", when(k.GetRetiredUntil())},
	}
}
