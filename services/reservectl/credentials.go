package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
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
	// limitUsage is the help of --rate-limit. If it is "", create has only the flags of the name
	// and the grants. limitDefault says what holds without a limit.
	limitUsage, limitDefault string
	updateExample            string
	required                 []string // flags of create

	create func(ctx context.Context, client C, n newCredential) (row, error)
	page   func(ctx context.Context, client C, pageToken string) (rows []row, next string, err error)
	// update is nil if credentials of the kind cannot be changed.
	update func(ctx context.Context, client C, id string, c changedCredential) (row, error)
	rotate func(ctx context.Context, client C, id string, r rotation) (row, error)
	// If enable is nil, credentials are disabled permanently and cannot be deleted.
	endPrevious, disable, enable, remove func(ctx context.Context, client C, id string) (row, error)
}

// rotation holds the flags of rotate.
type rotation struct {
	overlapDays int32
	force       bool
}

// newCredential holds the flags of a new credential.
type newCredential struct {
	name, description string
	grants            []string
	days, limit       *int32 // nil: not given
	networks          []string
}

// changedCredential holds the flags of update; nil: not given.
type changedCredential struct {
	name, description *string
	grants            []string
	limit             *int32
	networks          *authv1.AllowedNetworks
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
	g := group(k.use, k.about, credentialCreate(k), list, credentialRotate(k),
		k.change("end-previous-secret", "End the secret before the last rotation now; all tokens stop working immediately", k.endPrevious),
		k.change("disable", disableShort, k.disable))
	if k.update != nil {
		g.AddCommand(credentialUpdate(k))
	}
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
		c.Flags().Int32Var(&limit, "rate-limit", 0, k.limitUsage+" (default: "+k.limitDefault+")")
		c.Flags().StringSliceVar(&n.networks, networkFlag, nil, networkUsage+" (default: every network)")
	}
	return required(c, k.required...)
}

// credentialRotate returns the command that replaces a secret.
func credentialRotate[C any](k credentialKind[C]) *cobra.Command {
	var r rotation
	c := k.change("rotate", "Replace the secret of "+k.noun+"; without an overlap, its tokens stop working immediately",
		func(ctx context.Context, client C, id string) (row, error) { return k.rotate(ctx, client, id, r) })
	c.Flags().Int32Var(&r.overlapDays, "overlap-days", 0, "days for which the previous secret and the tokens stay valid, at most 7 (default: they end immediately)")
	c.Flags().BoolVar(&r.force, "force", false, "end an earlier secret at once if it is still valid")
	return c
}

// credentialUpdate returns the command that changes a credential.
func credentialUpdate[C any](k credentialKind[C]) *cobra.Command {
	var name, description string
	var grants, networks []string
	var limit int32
	var c *cobra.Command
	bare := strings.TrimSuffix(k.grants, "s")
	c = k.change("update", "Change "+k.noun+"; if it loses a "+bare+", or gets another limit or other networks, its tokens stop working immediately",
		func(ctx context.Context, client C, id string) (row, error) {
			changed := changedCredential{
				name: flagValue(c, "name", &name), description: flagValue(c, "description", &description),
				grants: grants, limit: flagValue(c, "rate-limit", &limit),
			}
			if flagValue(c, networkFlag, &networks) != nil {
				changed.networks = &authv1.AllowedNetworks{Values: networks}
			}
			return k.update(ctx, client, id, changed)
		})
	c.Example = k.updateExample
	c.Flags().StringVar(&name, "name", "", nameUsage)
	c.Flags().StringVar(&description, "description", "", "notes")
	c.Flags().StringSliceVar(&grants, k.grants, nil, k.grantsUsage+"; they replace the present ones")
	c.Flags().Int32Var(&limit, "rate-limit", 0, k.limitUsage+"; 0: "+k.limitDefault)
	c.Flags().StringSliceVar(&networks, networkFlag, nil, networkUsage+`; they replace the present ones, and "" allows every network`)
	completeFlag(c, k.grants, k.knownGrants)
	return c
}

const (
	networkFlag  = "network"
	networkUsage = "network or address that it can be used from (203.0.113.0/24), at most 20"
)

// nameUsage is the help of a credential's --name.
const nameUsage = "name that people recognise it by"

// deletedRow returns the row of a deleted credential.
func deletedRow(name, id string) row { return row{{name, id}, {"deleted", true}} }

// withPrevious is a credential with a previous secret, or without one.
type withPrevious interface {
	GetPreviousSecretExpiresAt() *timestamppb.Timestamp
	GetPreviousSecretLastUsedAt() *timestamppb.Timestamp
}

// previousEnd returns the field that says when the previous secret ends.
func previousEnd(c withPrevious) member {
	return member{"previous_secret_expires_at", timeOrNil(c.GetPreviousSecretExpiresAt())}
}

// previousUse returns the field that says when the previous secret was last used.
func previousUse(c withPrevious) member {
	return member{"previous_secret_last_used_at", timeOrNil(c.GetPreviousSecretLastUsedAt())}
}
