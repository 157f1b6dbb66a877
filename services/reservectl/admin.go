package reservectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/enum"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// administrators are the resource of the commands below.
type administrators = resource[authv1.AdministratorServiceClient]

func (a *app) adminCommand() *cobra.Command {
	admins := administrators{a, a.forCompany(a.auth), authv1.NewAdministratorServiceClient, "admin", "ADMINISTRATOR", "ada@example.com --company comp_…"}
	list := admins.list("List the company's administrators", "no administrators yet; see reservectl admin create --help",
		func(ctx context.Context, client authv1.AdministratorServiceClient, pageToken string) ([]row, string, error) {
			all, next, err := adminPage(ctx, client, pageToken)
			return rowsOf(all, adminRow), next, err
		})
	list.Example = `  reservectl admin list --company comp_… --output table`
	return group("admin", "Administrators, the people who sign in to the dashboard", adminCreate(admins), list,
		adminSwitch(admins, "disable", "Turn an administrator off; their sessions end at once", proto.Bool(true)),
		adminSwitch(admins, "enable", "Turn a disabled administrator on again, with their password", proto.Bool(false)),
		adminResetPassword(admins))
}

func adminCreate(admins administrators) *cobra.Command {
	var req authv1.CreateAdministratorRequest
	var role string
	var fromInput bool
	c := &cobra.Command{
		Use: "create", Short: "Create an administrator; a password that is made is shown this once", Args: exactly(),
		Example: `  reservectl admin create --company comp_… --email ada@example.com --name "Ada Lovelace"
  pass show studio | reservectl admin create --company comp_… --email bob@example.com --role staff --password-stdin`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if req.Role, err = adminRole(role); err != nil {
				return err
			}
			if req.Password, err = admins.app.passwordFrom(fromInput); err != nil {
				return err
			}
			return admins.print(c.Context(), func(ctx context.Context, client authv1.AdministratorServiceClient) (row, error) {
				res, err := client.CreateAdministrator(ctx, &req)
				return passwordRow(res.GetAdministrator(), res.GetGeneratedPassword()), err
			})
		},
	}
	c.Flags().StringVar(&req.Email, "email", "", "the e-mail address that they sign in with")
	c.Flags().StringVar(&req.Name, "name", "", "what others call them; without it, the address")
	c.Flags().StringVar(&role, "role", "owner", "what they may do: owner, everything; staff, the front desk")
	c.Flags().BoolVar(&fromInput, "password-stdin", false, "read the password from standard input, instead of making one")
	offer(c, "role", enum.Names[authv1.AdministratorRole]())
	return required(c, "email")
}

func adminRole(name string) (authv1.AdministratorRole, error) {
	role, ok := enum.Parse[authv1.AdministratorRole](name)
	if !ok {
		return 0, usageError{fmt.Errorf("--role must be owner or staff, not %q", name)}
	}
	return role, nil
}

// longestPassword is more than the service takes, in bytes.
const longestPassword = 4096

// passwordFrom reads the first line of standard input, where that is asked for.
// A flag with the password itself would show it to other users of the machine.
func (a *app) passwordFrom(input bool) (string, error) {
	if !input {
		return "", nil
	}
	line, err := bufio.NewReader(io.LimitReader(a.in, longestPassword)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", usageError{errors.New("--password-stdin: there is no password on standard input")}
	}
	return line, nil
}

// adminPage reads a page of the company's administrators.
func adminPage(ctx context.Context, client authv1.AdministratorServiceClient, pageToken string) ([]*authv1.Administrator, string, error) {
	res, err := client.ListAdministrators(ctx, &authv1.ListAdministratorsRequest{PageSize: listSize, PageToken: pageToken})
	return res.GetAdministrators(), res.GetNextPageToken(), err
}

// adminSwitch makes a command that disables or enables one administrator.
func adminSwitch(admins administrators, use, short string, disabled *bool) *cobra.Command {
	return admins.change(use, short, func(ctx context.Context, client authv1.AdministratorServiceClient, idOrEmail string) (row, error) {
		id, err := adminID(ctx, client, idOrEmail)
		if err != nil {
			return nil, err
		}
		res, err := client.UpdateAdministrator(ctx, &authv1.UpdateAdministratorRequest{Id: id, Disabled: disabled})
		return adminRow(res.GetAdministrator()), err
	})
}

// adminID returns the identifier of the administrator with an identifier or an e-mail
// address.
func adminID(ctx context.Context, client authv1.AdministratorServiceClient, idOrEmail string) (string, error) {
	if !strings.Contains(idOrEmail, "@") {
		return idOrEmail, nil
	}
	all, err := allPages(func(pageToken string) ([]*authv1.Administrator, string, error) {
		return adminPage(ctx, client, pageToken)
	})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(m *authv1.Administrator) bool { return strings.EqualFold(m.GetEmail(), idOrEmail) })
	if i < 0 {
		return "", fmt.Errorf("no administrator of the company has the address %s", idOrEmail)
	}
	return all[i].GetId(), nil
}

func adminResetPassword(admins administrators) *cobra.Command {
	var req authv1.ResetAdministratorPasswordRequest
	var fromInput bool
	c := &cobra.Command{
		Use: "reset-password ADMINISTRATOR", Short: "Give an administrator another password; their sessions end at once", Args: exactly("ADMINISTRATOR"),
		Example: `  reservectl admin reset-password ada@example.com --company comp_…
  reservectl admin reset-password ada@example.com --company comp_… --disable-totp`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) (err error) {
			req.Administrator = args[0]
			if req.Password, err = admins.app.passwordFrom(fromInput); err != nil {
				return err
			}
			return admins.print(c.Context(), func(ctx context.Context, client authv1.AdministratorServiceClient) (row, error) {
				res, err := client.ResetAdministratorPassword(ctx, &req)
				return passwordRow(res.GetAdministrator(), res.GetGeneratedPassword()), err
			})
		},
	}
	c.Flags().BoolVar(&req.DisableTotp, "disable-totp", false, "ask for no more codes: for a telephone that was lost")
	c.Flags().BoolVar(&fromInput, "password-stdin", false, "read the password from standard input, instead of making one")
	return c
}

func adminRow(m *authv1.Administrator) row {
	state := "active"
	if m.GetDisabled() {
		state = "disabled"
	}
	return row{
		{"id", m.GetId()}, {"email", m.GetEmail()}, {"name", m.GetName()}, {"role", enum.Name(m.GetRole())}, {"state", state},
		{"totp", m.GetTotpEnabled()}, {"last_signed_in_at", when(m.GetLastSignedInAt())},
	}
}

// passwordRow is an administrator with the password that was made; one that was
// given is not repeated.
func passwordRow(m *authv1.Administrator, password string) row {
	r := row{{"id", m.GetId()}, {"email", m.GetEmail()}, {"role", enum.Name(m.GetRole())}}
	if password != "" {
		r = append(r, member{"password", password})
	}
	return r
}
