package reservectl

import (
	"context"

	"github.com/spf13/cobra"

	"reservation.dev/platform/enum"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) signingKeyCommand() *cobra.Command {
	keys := resource[authv1.SigningKeyServiceClient]{app: a, open: a.platform, client: authv1.NewSigningKeyServiceClient, use: "signing-key"}
	list := keys.list("List the signing keys, newest first", "no signing keys",
		func(ctx context.Context, client authv1.SigningKeyServiceClient, _ string) ([]row, string, error) {
			res, err := client.ListSigningKeys(ctx, &authv1.ListSigningKeysRequest{})
			return rowsOf(res.GetSigningKeys(), signingKeyRow), "", err
		})
	list.Example = "  reservectl signing-key list --output table"
	return group("signing-key", "List and rotate the keys that sign access tokens", signingKeyRotate(keys), list)
}

func signingKeyRotate(keys resource[authv1.SigningKeyServiceClient]) *cobra.Command {
	var req authv1.RotateSigningKeyRequest
	c := &cobra.Command{
		Use: "rotate", Short: "Create a new signing key; the old one verifies until its last token expires", Args: exactly(),
		Example: "  reservectl signing-key rotate\n  reservectl signing-key rotate --revoke",
		RunE: func(c *cobra.Command, _ []string) error {
			return keys.print(c.Context(), func(ctx context.Context, client authv1.SigningKeyServiceClient) (row, error) {
				res, err := client.RotateSigningKey(ctx, &req)
				return signingKeyRow(res.GetSigningKey()), err
			})
		},
	}
	c.Flags().BoolVar(&req.Revoke, "revoke", false, "remove the old keys immediately, for example if one leaked; all tokens stop working, and everybody must sign in again")
	return c
}

func signingKeyRow(k *authv1.SigningKey) row {
	return row{
		{"key_id", k.GetKid()}, {"state", enum.Name(k.GetState())},
		{"active_from", timeOrNil(k.GetActiveFrom())}, {"retired_until", timeOrNil(k.GetRetiredUntil())},
	}
}
