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

func roleOf(name string) authv1.AdministratorRole {
	if name == "owner" {
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER
	}
	return authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF
}

func (r *request) invite() error {
	f := r.sent(nil)
	req := &authv1.InviteAdministratorRequest{Email: f.required("email", "An e-mail address"), Role: roleOf(f.text("role"))}
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
				f.add("email", "There is already an administrator with this address.")
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

func (r *request) auditLog() error {
	res, err := r.services.audit.ListAuditEntries(r.ctx, &authv1.ListAuditEntriesRequest{
		PageSize: 50, PageToken: r.query("page"), Actor: r.query("actor"), Action: r.query("action"), Target: r.query("target"),
		Since: r.day("since", 0), Until: r.day("until", 1),
	})
	if err != nil {
		return r.refused("/settings/audit", err)
	}
	people, err := r.services.admins.ListAdministrators(r.ctx, &authv1.ListAdministratorsRequest{PageSize: 100})
	if err != nil {
		return err
	}
	page := auditPage{Entries: res.GetEntries(), Next: r.with("page", res.GetNextPageToken()), Subjects: auditSubjects, Actors: []option{{"", "Everybody"}},
		Form: newForm("actor", r.query("actor"), "action", r.query("action"), "target", r.query("target"), "since", r.query("since"), "until", r.query("until"))}
	for _, a := range people.GetAdministrators() {
		page.Actors = append(page.Actors, option{a.GetId(), a.GetName()})
	}
	return r.render("audit", page)
}
