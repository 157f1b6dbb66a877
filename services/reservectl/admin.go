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
	return group("admin", "Manage administrators, the people who sign in to the dashboard", adminCreate(admins), list, adminUpdate(admins),
		adminSwitch(admins, "disable", "Disable an administrator and end their sessions immediately", proto.Bool(true)),
		adminSwitch(admins, "enable", "Enable a disabled administrator, whose password stays the same", proto.Bool(false)),
		adminResetPassword(admins))
}

func adminCreate(admins administrators) *cobra.Command {
	var req authv1.CreateAdministratorRequest
	var duty adminDuty
	var fromInput bool
	c := &cobra.Command{
		Use: "create", Short: "Create an administrator; a generated password is shown only once", Args: exactly(),
		Example: `  reservectl admin create --company comp_… --email ada@example.com --name "Ada Lovelace"
  pass show studio | reservectl admin create --company comp_… --email bob@example.com --role front-desk --password-stdin
  reservectl admin create --company comp_… --email tess@example.com --role teacher --staff staff_…`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if req.Role, err = duty.role(); err != nil {
				return err
			}
			req.StaffId = duty.staff
			if req.Password, err = admins.app.passwordFrom(fromInput); err != nil {
				return err
			}
			return admins.print(c.Context(), func(ctx context.Context, client authv1.AdministratorServiceClient) (row, error) {
				res, err := client.CreateAdministrator(ctx, &req)
				return passwordRow(res.GetAdministrator(), res.GetGeneratedPassword()), err
			})
		},
	}
	c.Flags().StringVar(&req.Email, "email", "", "e-mail address to sign in with")
	c.Flags().StringVar(&req.Name, "name", "", "name that colleagues see (default: the e-mail address)")
	duty.flags(c, "owner")
	c.Flags().BoolVar(&fromInput, "password-stdin", false, "read the password from standard input instead of generating one")
	return required(c, "email")
}

// adminDuty has the flags for the role of an administrator, and the staff member whose dates a teacher sees.
type adminDuty struct{ name, staff string }

// roleNames are the values of the flag --role.
var roleNames = []string{"owner", "manager", "front-desk", "teacher"}

// flags adds the flags to a command.
func (d *adminDuty) flags(c *cobra.Command, usual string) {
	c.Flags().StringVar(&d.name, "role", usual, "owner (can do everything), manager (runs the business), front-desk, or teacher (sees their own classes)")
	c.Flags().StringVar(&d.staff, "staff", "", "staff member whose classes a teacher sees: staff_…")
	completeFlag(c, "role", roleNames)
	completeFlag(c, "staff", nil)
}

// role returns the role. The name of managers in earlier releases, staff, is accepted too.
func (d *adminDuty) role() (authv1.AdministratorRole, error) {
	role, ok := enum.Parse[authv1.AdministratorRole](strings.ReplaceAll(d.name, "-", "_"))
	if !ok {
		return 0, usageError{fmt.Errorf("--role must be one of %s, not %q", strings.Join(roleNames, ", "), d.name)}
	}
	return role, nil
}

// adminUpdate changes the role of an administrator.
func adminUpdate(admins administrators) *cobra.Command {
	var duty adminDuty
	var c *cobra.Command
	c = admins.change("update", "Change the role of an administrator; sessions continue with the new rights",
		func(ctx context.Context, client authv1.AdministratorServiceClient, idOrEmail string) (row, error) {
			req := &authv1.UpdateAdministratorRequest{StaffId: flagValue(c, "staff", &duty.staff)}
			var err error
			if c.Flags().Changed("role") {
				role, err := duty.role()
				if err != nil {
					return nil, err
				}
				req.Role = &role
			} else if req.StaffId == nil {
				return nil, usageError{errors.New("give --role or --staff")}
			}
			if req.Id, err = adminID(ctx, client, idOrEmail); err != nil {
				return nil, err
			}
			res, err := client.UpdateAdministrator(ctx, req)
			return adminRow(res.GetAdministrator()), err
		})
	c.Example = "  reservectl admin update bob@example.com --company comp_… --role teacher --staff staff_…"
	duty.flags(c, "")
	return c
}

// longestPassword is the most that is read of a password, in bytes. The service accepts less.
const longestPassword = 4096

// passwordFrom returns the first line of standard input if input is set, or else "".
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

// adminPage fetches a page of the company's administrators.
func adminPage(ctx context.Context, client authv1.AdministratorServiceClient, pageToken string) ([]*authv1.Administrator, string, error) {
	res, err := client.ListAdministrators(ctx, &authv1.ListAdministratorsRequest{PageSize: listSize, PageToken: pageToken})
	return res.GetAdministrators(), res.GetNextPageToken(), err
}

// adminSwitch returns a command that disables or enables one administrator.
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

// adminID looks up the identifier of an administrator by e-mail address. It returns an
// identifier unchanged.
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
		return "", fmt.Errorf("no administrator of the company has the e-mail address %s", idOrEmail)
	}
	return all[i].GetId(), nil
}

func adminResetPassword(admins administrators) *cobra.Command {
	var req authv1.ResetAdministratorPasswordRequest
	var fromInput bool
	c := &cobra.Command{
		Use: "reset-password ADMINISTRATOR", Short: "Set a new password for an administrator and end their sessions immediately", Args: exactly("ADMINISTRATOR"),
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
	c.Flags().BoolVar(&req.DisableTotp, "disable-totp", false, "turn off two-step codes, for example if the telephone was lost")
	c.Flags().BoolVar(&fromInput, "password-stdin", false, "read the password from standard input instead of generating one")
	return c
}

// roleText returns the role of an administrator as the flag --role has it.
func roleText(m *authv1.Administrator) string {
	return strings.ReplaceAll(enum.Name(m.GetRole()), "_", "-")
}

func adminRow(m *authv1.Administrator) row {
	state := "active"
	if m.GetDisabled() {
		state = "disabled"
	}
	return row{
		{"id", m.GetId()}, {"email", m.GetEmail()}, {"name", m.GetName()}, {"role", roleText(m)}, {"state", state},
		{"staff_id", m.GetStaffId()}, {"totp", m.GetTotpEnabled()}, {"last_signed_in_at", timeOrNil(m.GetLastSignedInAt())},
	}
}

// passwordRow returns the row of an administrator with a generated password. A password that
// the operator gave is not printed: password is "" then.
func passwordRow(m *authv1.Administrator, password string) row {
	r := row{{"id", m.GetId()}, {"email", m.GetEmail()}, {"role", roleText(m)}}
	if password != "" {
		r = append(r, member{"password", password})
	}
	return r
}
