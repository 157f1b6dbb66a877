package reservectl

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// knownScopes are offered by the shell's completion; the service decides.
var knownScopes = []string{"customers:read", "profile:read", "profile:write", "bookings:read"}

func (a *app) clientCommand() *cobra.Command {
	return group("client", "API clients, the machines that use Interface A",
		a.clientCreate(), a.clientList(), a.clientRotate(), a.clientDisable(), a.clientEnable(), a.clientDelete())
}

// withClients runs f with a client of the API client service, for a company.
func (a *app) withClients(ctx context.Context, f func(ctx context.Context, clients authv1.ApiClientServiceClient) error) error {
	s, err := a.auth(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := a.company(); err != nil {
		return err
	}
	return f(s.ctx, authv1.NewApiClientServiceClient(s.conn))
}

func (a *app) clientCreate() *cobra.Command {
	var req authv1.CreateApiClientRequest
	var days, limit int32
	c := &cobra.Command{
		Use: "create", Short: "Create an API client; its secret is shown this once", Args: exactly(),
		Example: `  reservectl client create --company comp_… --name "CRM" --scopes customers:read,bookings:read
  reservectl client create --company comp_… --name "Audit" --scopes bookings:read --expires-days 30`,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("expires-days") {
				req.ExpiresAfterDays = &days
			}
			if c.Flags().Changed("rate-limit") {
				req.RateLimit = &limit
			}
			return a.withClients(c.Context(), func(ctx context.Context, clients authv1.ApiClientServiceClient) error {
				res, err := clients.CreateApiClient(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(secretRow(res.GetApiClient(), res.GetClientSecret()))
			})
		},
	}
	c.Flags().StringVar(&req.Name, "name", "", "a label for people")
	c.Flags().StringVar(&req.Description, "description", "", "notes")
	c.Flags().StringSliceVar(&req.Scopes, "scopes", nil, "what it may do: "+strings.Join(knownScopes, ", "))
	c.Flags().Int32Var(&days, "expires-days", 0, "days until it expires; without it, never")
	c.Flags().Int32Var(&limit, "rate-limit", 0, "requests it may make in any 60 seconds; without it, any number")
	_ = c.RegisterFlagCompletionFunc("scopes", cobra.FixedCompletions(knownScopes, cobra.ShellCompDirectiveNoFileComp))
	return required(c, "name", "scopes")
}

func (a *app) clientList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the company's API clients", Args: exactly(),
		Example: `  reservectl client list --company comp_… --output table`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withClients(c.Context(), func(ctx context.Context, clients authv1.ApiClientServiceClient) error {
				var rows []row
				for req := (&authv1.ListApiClientsRequest{PageSize: 1000}); ; {
					res, err := clients.ListApiClients(ctx, req)
					if err != nil {
						return err
					}
					for _, client := range res.GetApiClients() {
						rows = append(rows, clientRow(client))
					}
					if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
						return a.printAll(rows, "no API clients yet; see reservectl client create --help")
					}
				}
			})
		},
	}
}

func (a *app) clientRotate() *cobra.Command {
	return a.clientChange("rotate", "Replace an API client's secret; tokens of the old one die at once",
		func(ctx context.Context, clients authv1.ApiClientServiceClient, id string) (row, error) {
			res, err := clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: id})
			return secretRow(res.GetApiClient(), res.GetClientSecret()), err
		})
}

func (a *app) clientDisable() *cobra.Command {
	return a.clientChange("disable", "Turn an API client off; its tokens die at once",
		func(ctx context.Context, clients authv1.ApiClientServiceClient, id string) (row, error) {
			res, err := clients.DisableApiClient(ctx, &authv1.DisableApiClientRequest{Id: id})
			return clientRow(res.GetApiClient()), err
		})
}

func (a *app) clientEnable() *cobra.Command {
	return a.clientChange("enable", "Turn a disabled API client on again",
		func(ctx context.Context, clients authv1.ApiClientServiceClient, id string) (row, error) {
			res, err := clients.EnableApiClient(ctx, &authv1.EnableApiClientRequest{Id: id})
			return clientRow(res.GetApiClient()), err
		})
}

func (a *app) clientDelete() *cobra.Command {
	return a.clientChange("delete", "Delete an API client for good; its tokens die at once",
		func(ctx context.Context, clients authv1.ApiClientServiceClient, id string) (row, error) {
			_, err := clients.DeleteApiClient(ctx, &authv1.DeleteApiClientRequest{Id: id})
			return row{{"client_id", id}, {"deleted", true}}, err
		})
}

// clientChange makes a command that does one thing to one client.
func (a *app) clientChange(use, short string, change func(ctx context.Context, clients authv1.ApiClientServiceClient, id string) (row, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " CLIENT_ID", Short: short, Args: exactly("CLIENT_ID"),
		Example:           "  reservectl client " + use + " m2m_… --company comp_…",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withClients(c.Context(), func(ctx context.Context, clients authv1.ApiClientServiceClient) error {
				changed, err := change(ctx, clients, args[0])
				if err != nil {
					return err
				}
				return a.printOne(changed)
			})
		},
	}
}

func secretRow(c *authv1.ApiClient, secret string) row {
	return row{{"client_id", c.GetId()}, {"client_secret", secret}, {"scopes", c.GetScopes()}, {"expires_at", when(c.GetExpiresAt())}}
}

func clientRow(c *authv1.ApiClient) row {
	return row{
		{"client_id", c.GetId()}, {"name", c.GetName()}, {"scopes", c.GetScopes()}, {"state", stateName(c.GetState())},
		{"expires_at", when(c.GetExpiresAt())}, {"last_used_at", when(c.GetLastUsedAt())},
	}
}

// stateName is a credential's state for the output.
func stateName(s authv1.CredentialState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "CREDENTIAL_STATE_"))
}

// when is an instant for the output; nil for none.
func when(t *timestamppb.Timestamp) any {
	if t == nil {
		return nil
	}
	return t.AsTime().Format(time.RFC3339)
}
