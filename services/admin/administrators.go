package admin

import (
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// administratorView is an administrator as a page shows it.
type administratorView struct {
	*authv1.Administrator
	Self bool
}

// RoleName is what the role is called.
func (a administratorView) RoleName() string { return roleName(a.GetRole()) }

// Owner tells the role.
func (a administratorView) Owner() bool {
	return a.GetRole() == authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER
}

// invitationView is an invitation as a page shows it.
type invitationView struct {
	*authv1.Invitation
	Expired bool
}

// RoleName is what the role is called.
func (i invitationView) RoleName() string { return roleName(i.GetRole()) }

// administratorsPage lists who signs in, and who is invited.
type administratorsPage struct {
	Administrators []administratorView
	Invitations    []invitationView
	Form           *form
	// Link is the one of an invitation that was just made, shown this once.
	Link, LinkEmail string
	Next            string
}

func (administratorsPage) head() (*message, string) {
	return literal("Administrators"), "administrators"
}

func (r *request) administratorsPage(f *form) (administratorsPage, error) {
	page := administratorsPage{Form: f}
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
		page.Invitations = append(page.Invitations, invitationView{i, r.session.Clock.Past(i.GetExpiresAt())})
	}
	return page, nil
}

func (r *request) administrators() error {
	page, err := r.administratorsPage(newForm("role", "staff"))
	if err != nil {
		return err
	}
	return r.render("administrators", page)
}

func (r *request) invite() error {
	f := r.sent(nil)
	req := &authv1.InviteAdministratorRequest{Email: f.required("email", literal("an e-mail address")), Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF}
	if role, ok := enum.Parse[authv1.AdministratorRole](f.text("role")); ok {
		req.Role = role
	}
	link := ""
	if !f.Failed() {
		res, err := perform(r, r.services.admins.InviteAdministrator, req)
		switch {
		case err == nil && res.GetToken() == "":
			return r.render("already", alreadyPage{
				Title: "Already invited", Section: "administrators", Subject: req.GetEmail(),
				Text: "This form was sent twice. The invitation was made the first time, and its link was shown in the first answer, this once.",
				Lost: "If you have not copied the link, invite the same address again: that makes a new link, and the former one stops working.",
				Next: "/settings/administrators", Button: "Back to the administrators",
			})
		case err != nil:
			if e := fault.From(err); e.Reason == "EMAIL_ALREADY_EXISTS" {
				f.add("email", literal("There is already an administrator with this address."))
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
	page.Form, page.Link, page.LinkEmail = newForm("role", "staff"), link, req.GetEmail()
	return r.render("administrators", page)
}

// link is an address of the dashboard for somebody else. Its host is the one that
// was set, whatever the request says.
func (r *request) link(path, token string) string {
	return strings.TrimSuffix(r.web.cfg.URL, "/") + path + token
}

func (r *request) revokeInvitation() error {
	if _, err := r.services.admins.RevokeInvitation(r.ctx, &authv1.RevokeInvitationRequest{Id: r.path("id")}); err != nil {
		return r.refused("/settings/administrators", err)
	}
	return r.back("/settings/administrators", "The invitation is withdrawn: its link is worthless.")
}
