package admin

import (
	"strings"

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

func (administratorsPage) head() (string, string) { return "Administrators", "administrators" }

func (v *visit) administratorsPage(f *form) (administratorsPage, error) {
	page := administratorsPage{Form: f}
	list, err := v.services.admins.ListAdministrators(v.ctx, &authv1.ListAdministratorsRequest{PageSize: 100, PageToken: v.query("page")})
	if err != nil {
		return page, err
	}
	page.Next = v.with("page", list.GetNextPageToken())
	for _, a := range list.GetAdministrators() {
		page.Administrators = append(page.Administrators, administratorView{a, a.GetId() == v.session.Administrator.GetId()})
	}
	open, err := v.services.admins.ListInvitations(v.ctx, &authv1.ListInvitationsRequest{})
	if err != nil {
		return page, err
	}
	for _, i := range open.GetInvitations() {
		page.Invitations = append(page.Invitations, invitationView{i, v.session.Clock.Past(i.GetExpiresAt())})
	}
	return page, nil
}

func (v *visit) administrators() error {
	page, err := v.administratorsPage(newForm("role", "staff"))
	if err != nil {
		return err
	}
	return v.render("administrators", page)
}

func roleOf(name string) authv1.AdministratorRole {
	if name == "owner" {
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER
	}
	return authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF
}

func (v *visit) invite() error {
	f := v.sent(nil)
	req := &authv1.InviteAdministratorRequest{Email: f.required("email", "An e-mail address"), Role: roleOf(f.text("role"))}
	link := ""
	if !f.Failed() {
		res, err := perform(v, v.services.admins.InviteAdministrator, req)
		switch {
		case err == nil && res.GetToken() == "":
			return v.render("already", alreadyPage{
				Title: "Already invited", Section: "administrators", Subject: req.GetEmail(),
				Text: "This form was sent twice. The invitation was made the first time, and its link was shown in the first answer, this once.",
				Lost: "If you have not copied the link, invite the same address again: that makes a new link, and the former one stops working.",
				Next: "/settings/administrators", Button: "Back to the administrators",
			})
		case err != nil:
			if e := fault.From(err); e.Reason == "EMAIL_ALREADY_EXISTS" {
				f.add("email", "There is already an administrator with this address.")
			} else if !f.refuse(err) {
				return err
			}
		default:
			link = v.link("/invitation/", res.GetToken())
		}
	}
	page, err := v.administratorsPage(f)
	if err != nil {
		return err
	}
	if f.Failed() {
		return v.notAccepted("administrators", page)
	}
	page.Form, page.Link, page.LinkEmail = newForm("role", "staff"), link, req.GetEmail()
	return v.render("administrators", page)
}

// link is an address of the dashboard for somebody else. Its host is the one that
// was set, whatever the request says.
func (v *visit) link(path, token string) string {
	return strings.TrimSuffix(v.web.cfg.URL, "/") + path + token
}

func (v *visit) revokeInvitation() error {
	if _, err := v.services.admins.RevokeInvitation(v.ctx, &authv1.RevokeInvitationRequest{Id: v.r.PathValue("id")}); err != nil {
		return v.refused("/settings/administrators", err)
	}
	return v.back("/settings/administrators", "The invitation is withdrawn: its link is worthless.")
}

// auditPage is a page of the audit log.
type auditPage struct {
	Entries  []*authv1.AuditEntry
	Next     string
	Form     *form
	Actors   []option
	Subjects []option
}

func (auditPage) head() (string, string) { return "Audit log", "audit" }

// auditSubjects are what entries are about, as the filter offers them.
var auditSubjects = []option{
	{"", "Everything"}, {"api_client.", "API clients"}, {"api_key.", "API keys"}, {"webhook_endpoint.", "Webhook endpoints"},
	{"webhook_delivery.", "Webhook deliveries"}, {"administrator.", "Administrators"}, {"invitation.", "Invitations"}, {"session.", "Sessions"},
	{"company.", "Company"}, {"event.", "Events"}, {"event_date.", "Event dates"}, {"booking.", "Bookings"}, {"waitlist.", "Waitlist"}, {"discount.", "Discount codes"},
	{"customer.", "Customers"}, {"customer_pass.", "Customers' passes"}, {"pass_type.", "Pass types"},
}

func (v *visit) auditLog() error {
	res, err := v.services.audit.ListAuditEntries(v.ctx, &authv1.ListAuditEntriesRequest{
		PageSize: 50, PageToken: v.query("page"), Actor: v.query("actor"), Action: v.query("action"), Target: v.query("target"),
		Since: v.day("since", 0), Until: v.day("until", 1),
	})
	if err != nil {
		return v.refused("/settings/audit", err)
	}
	people, err := v.services.admins.ListAdministrators(v.ctx, &authv1.ListAdministratorsRequest{PageSize: 100})
	if err != nil {
		return err
	}
	page := auditPage{Entries: res.GetEntries(), Next: v.with("page", res.GetNextPageToken()), Subjects: auditSubjects, Actors: []option{{"", "Everybody"}},
		Form: newForm("actor", v.query("actor"), "action", v.query("action"), "target", v.query("target"), "since", v.query("since"), "until", v.query("until"))}
	for _, a := range people.GetAdministrators() {
		page.Actors = append(page.Actors, option{a.GetId(), a.GetName()})
	}
	return v.render("audit", page)
}
