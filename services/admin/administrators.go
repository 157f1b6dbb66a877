package admin

import (
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// administratorView is an administrator as a page shows it.
type administratorView struct {
	*authv1.Administrator
	Self bool
}

// RoleName returns the role's name.
func (a administratorView) RoleName() *message { return roleName(a.GetRole()) }

// invitationView is an invitation as a page shows it.
type invitationView struct {
	*authv1.Invitation
	clock clock
}

// Valid says for which role the invitation is, and until when it can be accepted.
func (i invitationView) Valid() *message {
	role, until := roleName(i.GetRole()), i.clock.Time(i.GetExpiresAt())
	if i.clock.Past(i.GetExpiresAt()) {
		return msg("settings.administrators.expired", "role", role, "time", until)
	}
	return msg("settings.administrators.valid_until", "role", role, "time", until)
}

// administratorsPage lists the administrators and the open invitations.
type administratorsPage struct {
	Administrators []administratorView
	Invitations    []invitationView
	Form           *form
	Roles          roleForm
	// Link is the link of an invitation that was just created, and LinkEmail its address. They are
	// shown only once.
	Link, LinkEmail string
	Next            string
}

func (administratorsPage) head() (*message, string) {
	return msg("settings.administrators.title"), "administrators"
}

func (r *request) administratorsPage(f *form) (administratorsPage, error) {
	page := administratorsPage{Form: f}
	var err error
	if page.Roles, err = r.roleForm(f); err != nil {
		return page, err
	}
	list, err := r.services.admins.ListAdministrators(r.ctx, &authv1.ListAdministratorsRequest{PageSize: 100, PageToken: r.query("page")})
	if err != nil {
		return page, err
	}
	page.Next = r.with("page", list.GetNextPageToken())
	for _, a := range list.GetAdministrators() {
		page.Administrators = append(page.Administrators, administratorView{a, a.GetId() == r.session.Administrator.GetId()})
	}
	open, err := r.services.admins.ListInvitations(r.ctx, &authv1.ListInvitationsRequest{})
	if err != nil {
		return page, err
	}
	for _, i := range open.GetInvitations() {
		page.Invitations = append(page.Invitations, invitationView{i, r.session.Clock})
	}
	return page, nil
}

func (r *request) administrators() error {
	page, err := r.administratorsPage(newForm("role", string(roles.FrontDesk)))
	if err != nil {
		return err
	}
	return r.render("administrators", page)
}

func (r *request) invite() error {
	f := r.sent(nil)
	req := &authv1.InviteAdministratorRequest{Email: f.required("email", msg("settings.administrators.email_label"))}
	req.Role, req.StaffId = f.role()
	link := ""
	if !f.Failed() {
		res, err := perform(r, r.services.admins.InviteAdministrator, req)
		switch {
		case err == nil && res.GetToken() == "":
			return r.render("already", alreadyPage{
				Title: r.text("settings.administrators.already.title"), Section: "administrators", Subject: req.GetEmail(),
				Text: r.text("settings.administrators.already.text"), Lost: r.text("settings.administrators.already.lost"),
				Next: "/settings/administrators", Button: r.text("settings.administrators.already.button"),
			})
		case err != nil:
			if e := fault.From(err); e.Reason == "EMAIL_ALREADY_EXISTS" {
				f.add("email", msg("settings.administrators.email_exists"))
			} else if !f.refuse(err) {
				return err
			}
		default:
			link = r.link("/invitation/", res.GetToken())
		}
	}
	page, err := r.administratorsPage(f)
	if err != nil {
		return err
	}
	if f.Failed() {
		return r.notAccepted("administrators", page)
	}
	page.Form, page.Link, page.LinkEmail = newForm("role", string(roles.FrontDesk)), link, req.GetEmail()
	page.Roles.Form = page.Form
	return r.render("administrators", page)
}

// role reads the role and the staff member of a form. Without a role that exists, the service refuses the form.
func (f *form) role() (role authv1.AdministratorRole, staff string) {
	role, _ = enum.Parse[authv1.AdministratorRole](f.text("role"))
	if !roles.Of(role).NeedsStaff() {
		return role, ""
	}
	return role, f.required("staff_id", msg("settings.administrators.staff_label"))
}

// link returns an address of the dashboard to give to another person. Its host is the
// configured one, not that of the request.
func (r *request) link(path, token string) string {
	return strings.TrimSuffix(r.web.cfg.URL, "/") + path + token
}

func (r *request) revokeInvitation() error {
	if _, err := r.services.admins.RevokeInvitation(r.ctx, &authv1.RevokeInvitationRequest{Id: r.path("id")}); err != nil {
		return r.refused("/settings/administrators", err)
	}
	return r.back("/settings/administrators", r.text("settings.administrators.withdrawn"))
}
