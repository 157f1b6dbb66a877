package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// credentialKind describes a kind of credentials: API clients, API keys or service
// credentials. Their commands differ only in these fields.
type credentialKind[C any] struct {
	resource[C]
	about, noun string // for example "an API client"
	// listShort is the short help of list, and none its message if there are no credentials.
	listShort, none, createExample, listExample string
	// grants is the name of the flag for scopes or permissions, and grantsUsage its help.
	// The shell completes knownGrants; the service decides which grants are valid.
	grants, grantsUsage string
	knownGrants         []string
	// limitUsage is the help of --rate-limit. If it is "", create has neither this flag nor
	// --description and --expires-days.
	limitUsage string
	required   []string // flags of create

	create func(ctx context.Context, client C, n newCredential) (row, error)
	page   func(ctx context.Context, client C, pageToken string) (rows []row, next string, err error)
	rotate func(ctx context.Context, client C, id string) (row, error)
	// If enable is nil, credentials are disabled permanently and cannot be deleted.
	disable, enable, remove func(ctx context.Context, client C, id string) (row, error)
}

// newCredential holds the flags of a new credential.
type newCredential struct {
	name, description string
	grants            []string
	days, limit       *int32 // nil: not given
}

// credentialGroup returns the commands of a kind of credentials. more are commands that only
// this kind has.
func credentialGroup[C any](k credentialKind[C], more ...*cobra.Command) *cobra.Command {
	bare := k.noun[strings.Index(k.noun, " ")+1:]
	list := k.list(k.listShort, k.none, k.page)
	list.Example = k.listExample
	const revoked = "; its tokens stop working immediately"
	disableShort := "Disable " + k.noun + revoked
	if k.enable == nil {
		disableShort = "Disable " + k.noun + " permanently" + revoked
	}
	g := group(k.use, k.about, credentialCreate(k), list,
		k.change("rotate", "Replace the secret of "+k.noun+revoked, k.rotate),
		k.change("disable", disableShort, k.disable))
	if k.enable != nil {
		g.AddCommand(k.change("enable", "Enable a disabled "+bare+" again", k.enable),
			k.change("delete", "Delete "+k.noun+" permanently"+revoked, k.remove))
	}
	g.AddCommand(more...)
	return g
}

func credentialCreate[C any](k credentialKind[C]) *cobra.Command {
	var n newCredential
	var days, limit int32
	c := &cobra.Command{
		Use: "create", Short: "Create " + k.noun + "; its secret is shown only once", Args: exactly(), Example: k.createExample,
		RunE: func(c *cobra.Command, _ []string) error {
			n.days, n.limit = flagValue(c, "expires-days", &days), flagValue(c, "rate-limit", &limit)
			return k.print(c.Context(), func(ctx context.Context, client C) (row, error) { return k.create(ctx, client, n) })
		},
	}
	c.Flags().StringVar(&n.name, "name", "", nameUsage)
	c.Flags().StringSliceVar(&n.grants, k.grants, nil, k.grantsUsage)
	if len(k.knownGrants) > 0 {
		completeFlag(c, k.grants, k.knownGrants)
	}
	if k.limitUsage != "" {
		c.Flags().StringVar(&n.description, "description", "", "notes")
		c.Flags().Int32Var(&days, "expires-days", 0, "days until it expires, at most 3650 (default: never)")
		c.Flags().Int32Var(&limit, "rate-limit", 0, k.limitUsage)
	}
	return required(c, k.required...)
}

// nameUsage is the help of a credential's --name.
const nameUsage = "name that people recognise it by"

// deletedRow returns the row of a deleted credential.
func deletedRow(name, id string) row { return row{{name, id}, {"deleted", true}} }
