package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// credentialKind describes a kind of credentials: API clients, API keys or service
// credentials. Their commands differ only in what this type describes.
type credentialKind[C any] struct {
	resource[C]
	about, noun string // "an API client"
	// listShort and none are what list says, createExample and listExample how create and
	// list are called.
	listShort, none, createExample, listExample string
	// grants is the flag of what one may do, grantsUsage what help says of it, and
	// knownGrants what the shell offers; the service decides.
	grants, grantsUsage string
	knownGrants         []string
	// limitUsage is what help says of the rate limit of a new one; "": it has none, no
	// description and no last day.
	limitUsage string
	required   []string // flags of create

	create func(ctx context.Context, client C, n newCredential) (row, error)
	page   func(ctx context.Context, client C, pageToken string) (rows []row, next string, err error)
	rotate func(ctx context.Context, client C, id string) (row, error)
	// Disabled ones that nothing enables are disabled for good.
	disable, enable, remove func(ctx context.Context, client C, id string) (row, error)
}

// newCredential is what the flags say of a new credential.
type newCredential struct {
	name, description string
	grants            []string
	days, limit       *int32 // nil: not given
}

// credentialGroup makes the commands of a kind of credentials, and those that only it has.
func credentialGroup[C any](k credentialKind[C], more ...*cobra.Command) *cobra.Command {
	bare := k.noun[strings.Index(k.noun, " ")+1:]
	list := k.list(k.listShort, k.none, k.page)
	list.Example = k.listExample
	disableShort := "Turn " + k.noun + " off; its tokens die at once"
	if k.enable == nil {
		disableShort = "Turn " + k.noun + " off for good; its tokens die at once"
	}
	g := group(k.use, k.about, credentialCreate(k), list,
		k.change("rotate", "Replace "+k.noun+"'s secret; tokens of the old one die at once", k.rotate),
		k.change("disable", disableShort, k.disable))
	if k.enable != nil {
		g.AddCommand(k.change("enable", "Turn a disabled "+bare+" on again", k.enable),
			k.change("delete", "Delete "+k.noun+" for good; its tokens die at once", k.remove))
	}
	g.AddCommand(more...)
	return g
}

func credentialCreate[C any](k credentialKind[C]) *cobra.Command {
	var n newCredential
	var days, limit int32
	c := &cobra.Command{
		Use: "create", Short: "Create " + k.noun + "; its secret is shown this once", Args: exactly(), Example: k.createExample,
		RunE: func(c *cobra.Command, _ []string) error {
			n.days, n.limit = given(c, "expires-days", &days), given(c, "rate-limit", &limit)
			return k.print(c.Context(), func(ctx context.Context, client C) (row, error) { return k.create(ctx, client, n) })
		},
	}
	c.Flags().StringVar(&n.name, "name", "", "a label for people")
	c.Flags().StringSliceVar(&n.grants, k.grants, nil, k.grantsUsage)
	if len(k.knownGrants) > 0 {
		offer(c, k.grants, k.knownGrants)
	}
	if k.limitUsage != "" {
		c.Flags().StringVar(&n.description, "description", "", "notes")
		c.Flags().Int32Var(&days, "expires-days", 0, "days until it expires; without it, never")
		c.Flags().Int32Var(&limit, "rate-limit", 0, k.limitUsage)
	}
	return required(c, k.required...)
}

// deletedRow is what is left of a credential that was deleted.
func deletedRow(name, id string) row { return row{{name, id}, {"deleted", true}} }
