package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// knownPermissions are offered by the shell's completion; the service decides.
var knownPermissions = []string{
	"*", "customers:read", "customers:write", "events:read", "events:write", "registrations:read", "registrations:write",
	"passes:read", "passes:write", "customer-passes:read", "customer-passes:write",
}

func (a *app) keyCommand() *cobra.Command {
	return group("key", "API keys, the programs that use Interface B",
		a.keyCreate(), a.keyList(), a.keyUpdate(), a.keyRotate(), a.keyDisable(), a.keyEnable(), a.keyDelete())
}

// withKeys runs f with a client of the API key service, for a company.
func (a *app) withKeys(ctx context.Context, f func(ctx context.Context, keys authv1.ApiKeyServiceClient) error) error {
	s, err := a.auth(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := a.company(); err != nil {
		return err
	}
	return f(s.ctx, authv1.NewApiKeyServiceClient(s.conn))
}

// keyFlags are the flags of what a key may do.
type keyFlags struct {
	permissions []string
	rateLimit   int32
}

func (f *keyFlags) add(c *cobra.Command, permissions, rateLimit string) {
	c.Flags().StringSliceVar(&f.permissions, "permissions", nil, "what it may do: "+strings.Join(knownPermissions, ", ")+permissions)
	c.Flags().Int32Var(&f.rateLimit, "rate-limit", 0, "requests in any 60 seconds, at most 10000; "+rateLimit)
	_ = c.RegisterFlagCompletionFunc("permissions", cobra.FixedCompletions(knownPermissions, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) keyCreate() *cobra.Command {
	var req authv1.CreateApiKeyRequest
	var flags keyFlags
	var days int32
	c := &cobra.Command{
		Use: "create", Short: "Create an API key; its secret is shown this once", Args: exactly(),
		Example: `  reservectl key create --company comp_… --name "Website" --permissions events:read,registrations:write --rate-limit 300`,
		RunE: func(c *cobra.Command, _ []string) error {
			req.Permissions = flags.permissions
			if c.Flags().Changed("rate-limit") {
				req.RateLimit = &flags.rateLimit
			}
			if c.Flags().Changed("expires-days") {
				req.ExpiresAfterDays = &days
			}
			return a.withKeys(c.Context(), func(ctx context.Context, keys authv1.ApiKeyServiceClient) error {
				res, err := keys.CreateApiKey(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(keySecretRow(res.GetApiKey(), res.GetApiSecret()))
			})
		},
	}
	c.Flags().StringVar(&req.Name, "name", "", "a label for people")
	c.Flags().StringVar(&req.Description, "description", "", "notes")
	c.Flags().Int32Var(&days, "expires-days", 0, "days until it expires; without it, never")
	flags.add(c, "; without it, *: everything", "without it, the platform's default")
	return required(c, "name")
}

func (a *app) keyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the company's API keys", Args: exactly(),
		Example: "  reservectl key list --company comp_… --output table",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withKeys(c.Context(), func(ctx context.Context, keys authv1.ApiKeyServiceClient) error {
				var rows []row
				for req := (&authv1.ListApiKeysRequest{PageSize: 1000}); ; {
					res, err := keys.ListApiKeys(ctx, req)
					if err != nil {
						return err
					}
					for _, key := range res.GetApiKeys() {
						rows = append(rows, keyRow(key))
					}
					if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
						return a.printAll(rows, "no API keys yet; see reservectl key create --help")
					}
				}
			})
		},
	}
}

func (a *app) keyUpdate() *cobra.Command {
	var name, description string
	var flags keyFlags
	var changed func(flag string) bool
	c := a.keyChange("update", "Change an API key; its tokens die at once where it may do less, or has another limit",
		func(ctx context.Context, keys authv1.ApiKeyServiceClient, id string) (row, error) {
			req := &authv1.UpdateApiKeyRequest{Id: id, Permissions: flags.permissions}
			if changed("name") {
				req.Name = &name
			}
			if changed("description") {
				req.Description = &description
			}
			if changed("rate-limit") {
				req.RateLimit = &flags.rateLimit
			}
			res, err := keys.UpdateApiKey(ctx, req)
			return keyRow(res.GetApiKey()), err
		})
	changed = c.Flags().Changed
	c.Flags().StringVar(&name, "name", "", "a label for people")
	c.Flags().StringVar(&description, "description", "", "notes")
	flags.add(c, "; they replace the present ones", "0: the platform's default")
	return c
}

func (a *app) keyRotate() *cobra.Command {
	return a.keyChange("rotate", "Replace an API key's secret; tokens of the old one die at once",
		func(ctx context.Context, keys authv1.ApiKeyServiceClient, id string) (row, error) {
			res, err := keys.RotateApiKeySecret(ctx, &authv1.RotateApiKeySecretRequest{Id: id})
			return keySecretRow(res.GetApiKey(), res.GetApiSecret()), err
		})
}

func (a *app) keyDisable() *cobra.Command {
	return a.keyChange("disable", "Turn an API key off; its tokens die at once",
		func(ctx context.Context, keys authv1.ApiKeyServiceClient, id string) (row, error) {
			res, err := keys.DisableApiKey(ctx, &authv1.DisableApiKeyRequest{Id: id})
			return keyRow(res.GetApiKey()), err
		})
}

func (a *app) keyEnable() *cobra.Command {
	return a.keyChange("enable", "Turn a disabled API key on again",
		func(ctx context.Context, keys authv1.ApiKeyServiceClient, id string) (row, error) {
			res, err := keys.EnableApiKey(ctx, &authv1.EnableApiKeyRequest{Id: id})
			return keyRow(res.GetApiKey()), err
		})
}

func (a *app) keyDelete() *cobra.Command {
	return a.keyChange("delete", "Delete an API key for good; its tokens die at once",
		func(ctx context.Context, keys authv1.ApiKeyServiceClient, id string) (row, error) {
			_, err := keys.DeleteApiKey(ctx, &authv1.DeleteApiKeyRequest{Id: id})
			return row{{"api_key", id}, {"deleted", true}}, err
		})
}

// keyChange makes a command that does one thing to one key.
func (a *app) keyChange(use, short string, change func(ctx context.Context, keys authv1.ApiKeyServiceClient, id string) (row, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " API_KEY", Short: short, Args: exactly("API_KEY"),
		Example: "  reservectl key " + use + " key_… --company comp_…",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withKeys(c.Context(), func(ctx context.Context, keys authv1.ApiKeyServiceClient) error {
				changed, err := change(ctx, keys, args[0])
				if err != nil {
					return err
				}
				return a.printOne(changed)
			})
		},
	}
}

func keySecretRow(k *authv1.ApiKey, secret string) row {
	return row{
		{"api_key", k.GetId()}, {"api_secret", secret}, {"permissions", k.GetPermissions()}, {"rate_limit", limitOf(k)},
		{"expires_at", when(k.GetExpiresAt())},
	}
}

func keyRow(k *authv1.ApiKey) row {
	return row{
		{"api_key", k.GetId()}, {"name", k.GetName()}, {"permissions", k.GetPermissions()}, {"rate_limit", limitOf(k)},
		{"state", stateName(k.GetState())}, {"expires_at", when(k.GetExpiresAt())}, {"last_used_at", when(k.GetLastUsedAt())},
	}
}

// limitOf is a key's own rate limit for the output; nil for none.
func limitOf(k *authv1.ApiKey) any {
	if k == nil || k.RateLimit == nil {
		return nil
	}
	return k.GetRateLimit()
}
