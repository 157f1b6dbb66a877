package reservectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// adminRoles are the roles of administrators, as they are typed.
var adminRoles = []string{"owner", "staff"}

func (a *app) adminCommand() *cobra.Command {
	return group("admin", "Administrators, the people who sign in to the dashboard",
		a.adminCreate(), a.adminList(), a.adminDisable(), a.adminEnable(), a.adminResetPassword())
}

// withAdmins runs f with a client of the administrator service, for a company.
func (a *app) withAdmins(ctx context.Context, f func(ctx context.Context, admins authv1.AdministratorServiceClient) error) error {
	s, err := a.auth(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := a.company(); err != nil {
		return err
	}
	return f(s.ctx, authv1.NewAdministratorServiceClient(s.conn))
}

func (a *app) adminCreate() *cobra.Command {
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
			if req.Password, err = a.passwordFrom(fromInput); err != nil {
				return err
			}
			return a.withAdmins(c.Context(), func(ctx context.Context, admins authv1.AdministratorServiceClient) error {
				res, err := admins.CreateAdministrator(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(passwordRow(res.GetAdministrator(), res.GetGeneratedPassword()))
			})
		},
	}
	c.Flags().StringVar(&req.Email, "email", "", "the e-mail address that they sign in with")
	c.Flags().StringVar(&req.Name, "name", "", "what others call them; without it, the address")
	c.Flags().StringVar(&role, "role", "owner", "what they may do: owner, everything; staff, the front desk")
	c.Flags().BoolVar(&fromInput, "password-stdin", false, "read the password from standard input, instead of making one")
	_ = c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(adminRoles, cobra.ShellCompDirectiveNoFileComp))
	return required(c, "email")
}

func adminRole(role string) (authv1.AdministratorRole, error) {
	switch role {
	case "owner":
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER, nil
	case "staff":
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF, nil
	}
	return 0, usageError{fmt.Errorf("--role must be owner or staff, not %q", role)}
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

func (a *app) adminList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the company's administrators", Args: exactly(),
		Example: `  reservectl admin list --company comp_… --output table`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAdmins(c.Context(), func(ctx context.Context, admins authv1.AdministratorServiceClient) error {
				var rows []row
				err := eachAdmin(ctx, admins, func(m *authv1.Administrator) { rows = append(rows, adminRow(m)) })
				if err != nil {
					return err
				}
				return a.printAll(rows, "no administrators yet; see reservectl admin create --help")
			})
		},
	}
}

// eachAdmin goes through the company's administrators.
func eachAdmin(ctx context.Context, admins authv1.AdministratorServiceClient, each func(*authv1.Administrator)) error {
	for req := (&authv1.ListAdministratorsRequest{PageSize: 1000}); ; {
		res, err := admins.ListAdministrators(ctx, req)
		if err != nil {
			return err
		}
		for _, m := range res.GetAdministrators() {
			each(m)
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			return nil
		}
	}
}

func (a *app) adminDisable() *cobra.Command {
	return a.adminAble("disable", "Turn an administrator off; their sessions end at once", true)
}

func (a *app) adminEnable() *cobra.Command {
	return a.adminAble("enable", "Turn a disabled administrator on again, with their password", false)
}

// adminAble makes a command that disables or enables one administrator.
func (a *app) adminAble(use, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " ADMINISTRATOR", Short: short, Args: exactly("ADMINISTRATOR"),
		Example:           "  reservectl admin " + use + " ada@example.com --company comp_…",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withAdmins(c.Context(), func(ctx context.Context, admins authv1.AdministratorServiceClient) error {
				id, err := adminID(ctx, admins, args[0])
				if err != nil {
					return err
				}
				res, err := admins.UpdateAdministrator(ctx, &authv1.UpdateAdministratorRequest{Id: id, Disabled: &disabled})
				if err != nil {
					return err
				}
				return a.printOne(adminRow(res.GetAdministrator()))
			})
		},
	}
}

// adminID returns the identifier of an administrator who is named by it, or by
// the e-mail address.
func adminID(ctx context.Context, admins authv1.AdministratorServiceClient, named string) (id string, err error) {
	if !strings.Contains(named, "@") {
		return named, nil
	}
	err = eachAdmin(ctx, admins, func(m *authv1.Administrator) {
		if strings.EqualFold(m.GetEmail(), named) {
			id = m.GetId()
		}
	})
	if err == nil && id == "" {
		err = fmt.Errorf("no administrator of the company has the address %s", named)
	}
	return id, err
}

func (a *app) adminResetPassword() *cobra.Command {
	var req authv1.ResetAdministratorPasswordRequest
	var fromInput bool
	c := &cobra.Command{
		Use: "reset-password ADMINISTRATOR", Short: "Give an administrator another password; their sessions end at once", Args: exactly("ADMINISTRATOR"),
		Example: `  reservectl admin reset-password ada@example.com --company comp_…
  reservectl admin reset-password ada@example.com --company comp_… --disable-totp`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) (err error) {
			req.Administrator = args[0]
			if req.Password, err = a.passwordFrom(fromInput); err != nil {
				return err
			}
			return a.withAdmins(c.Context(), func(ctx context.Context, admins authv1.AdministratorServiceClient) error {
				res, err := admins.ResetAdministratorPassword(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(passwordRow(res.GetAdministrator(), res.GetGeneratedPassword()))
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
		{"id", m.GetId()}, {"email", m.GetEmail()}, {"name", m.GetName()}, {"role", roleName(m.GetRole())}, {"state", state},
		{"totp", m.GetTotpEnabled()}, {"last_signed_in_at", when(m.GetLastSignedInAt())},
	}
}

// passwordRow is an administrator with the password that was made; one that was
// given is not repeated.
func passwordRow(m *authv1.Administrator, password string) row {
	r := row{{"id", m.GetId()}, {"email", m.GetEmail()}, {"role", roleName(m.GetRole())}}
	if password != "" {
		r = append(r, member{"password", password})
	}
	return r
}

// roleName is a role for the output.
func roleName(r authv1.AdministratorRole) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "ADMINISTRATOR_ROLE_"))
}
