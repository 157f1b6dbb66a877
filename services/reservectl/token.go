package reservectl

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// tokenFlags are the flags of the command token. The environment and credentials.json fill in what
// they leave empty.
type tokenFlags struct{ face, base, id, secret string }

func (a *app) tokenCommand() *cobra.Command {
	var f tokenFlags
	c := &cobra.Command{
		Use: "token", Short: "Print a token for Interface A or B", Args: exactly(),
		Long: `token exchanges an API key, or an API client, for a token of Interface B or A,
and prints it. The token is valid for an hour, or until its credential or
secret expires.

Each of these is the first one that is set: the flag, the environment variable, and
the member of credentials.json. The id and the secret have the same source, except
that the secret of --id can be in the environment:

  --interface a  RESERVATION_A_URL, RESERVATION_CLIENT_ID, RESERVATION_CLIENT_SECRET
  --interface b  RESERVATION_B_URL, RESERVATION_API_KEY, RESERVATION_API_SECRET

With --output json, it also prints for how many seconds the token is valid.`,
		Example: `  reservectl token --credentials .run/credentials.json
  curl -H "Authorization: Bearer $(reservectl token --interface a)" http://127.0.0.1:8080/customers`,
		RunE: func(c *cobra.Command, _ []string) error { return a.printToken(c.Context(), f) },
	}
	c.Flags().StringVar(&f.face, "interface", "b", "interface that accepts the token: a or b")
	c.Flags().StringVar(&f.base, "base-url", "", "address of the interface; that of Interface B ends in /api/v1")
	c.Flags().StringVar(&f.id, "id", "", "API key (key_…) or API client (m2m_…)")
	c.Flags().StringVar(&f.secret, "secret", "", "its secret (use the environment variable, which other users of the machine cannot see)")
	completeFlag(c, "interface", []string{"a", "b"})
	return c
}

func (a *app) printToken(ctx context.Context, f tokenFlags) error {
	i, ok := restInterfaces()[f.face]
	if !ok {
		return usageError{fmt.Errorf("--interface must be a or b, not %q", f.face)}
	}
	if _, err := a.table(); err != nil {
		return err
	}
	if err := a.complete(&f, i); err != nil {
		return err
	}
	client := newRESTClient(f.base)
	granted, err := client.grant(ctx, i, f.id, f.secret)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printOne(row{{"token", granted.token}, {"expires_in", granted.lifetime}})
	}
	_, err = fmt.Fprintln(a.out, granted.token)
	return err
}

// complete fills in the address and the credentials that the flags leave empty. A secret from
// credentials.json belongs to the id there.
func (a *app) complete(f *tokenFlags, i restInterface) error {
	f.base = cmp.Or(f.base, os.Getenv(i.baseEnv))
	f.id, f.secret = cmp.Or(f.id, os.Getenv(i.idEnv)), cmp.Or(f.secret, os.Getenv(i.secretEnv))
	if a.access.locate(); a.access.file != "" && (f.base == "" || f.id == "") {
		stored, err := readAccess(a.access.file)
		if err != nil {
			return err
		}
		base, id, secret := stored.restCredentials(f.face)
		f.base = cmp.Or(f.base, base)
		if f.id == "" {
			f.id, f.secret = id, secret
		}
	}
	for _, missing := range []struct{ value, flag, env string }{
		{f.base, "base-url", i.baseEnv}, {f.id, "id", i.idEnv}, {f.secret, "secret", i.secretEnv},
	} {
		if missing.value == "" {
			return usageError{fmt.Errorf("--%s is required, or %s, or a credentials.json that has it", missing.flag, missing.env)}
		}
	}
	return nil
}

// restCredentials returns the address of an interface, and the credentials for it.
func (a *access) restCredentials(face string) (base, id, secret string) {
	if face == "a" {
		return a.InterfaceA.BaseURL, a.InterfaceA.ClientID, a.InterfaceA.ClientSecret
	}
	return a.InterfaceB.APIBaseURL, a.InterfaceB.APIKey, a.InterfaceB.APISecret
}
