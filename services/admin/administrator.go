package admin

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// administratorPage is one administrator, for owners.
type administratorPage struct {
	administratorView
	Sessions []*authv1.Session
	// ResetUntil is until when an open link can reset the password; nil: there is none.
	ResetUntil *timestamppb.Timestamp
	// Link is the one that was just made, shown this once.
	Link string
}

func (p administratorPage) head() (*message, string) { return literal(p.GetName()), "administrators" }

func (r *request) findAdministrator() (administratorPage, error) {
	res, err := r.services.admins.GetAdministrator(r.ctx, &authv1.GetAdministratorRequest{Id: r.path("id")})
	if err != nil {
		return administratorPage{}, err
	}
	sessions, err := r.services.admins.ListSessions(r.ctx, &authv1.ListSessionsRequest{AdministratorId: res.GetAdministrator().GetId()})
	if err != nil {
		return administratorPage{}, err
	}
	a := res.GetAdministrator()
	return administratorPage{
		administratorView: administratorView{a, a.GetId() == r.session.Administrator.GetId()},
		Sessions:          sessions.GetSessions(), ResetUntil: res.GetPasswordResetExpiresAt(),
	}, nil
}

// linksEnd is what becomes of what an owner has made for others.
const linksEnd = "Invitations and links for a new password that they have made, and nobody has used, stop working."

// administratorActions are what an owner can do to an administrator, as the page
// before it says. notSelf is true of those that are not offered for the own account.
func administratorActions(action string) (p confirmPage, notSelf, ok bool) {
	switch action {
	case "owner":
		p = confirmPage{Title: "Make this administrator an owner", Button: "Make an owner", Effects: []string{
			"Owners open everything: credentials, webhooks, administrators, the audit log and the company's settings.",
		}}
	case "staff":
		p = confirmPage{Title: "Make this administrator staff", Button: "Make staff", Danger: true, Effects: []string{
			"Staff have the front desk: customers, events, bookings and passes. The settings are closed to them.",
			linksEnd,
		}}
	case "disable":
		p = confirmPage{Title: "Disable this administrator", Button: "Disable", Danger: true, Effects: []string{
			"Every session of theirs ends within a second, and they cannot sign in until they are enabled again.",
			linksEnd,
		}}
	case "enable":
		p = confirmPage{Title: "Enable this administrator", Button: "Enable", Effects: []string{"They can sign in again, with their password."}}
	case "reset":
		notSelf = true
		p = confirmPage{Title: "Make a link for a new password", Button: "Make the link", Effects: []string{
			"The link is shown once, on the next page. Give it to them in person or by a way that only they read.",
			"With it they choose a new password, once, within an hour. Then every session of theirs ends.",
			"Two-step sign-in stays on. An earlier link stops working. They are told on their next page, and it is in the audit log.",
		}}
	case "totp-off":
		notSelf = true
		p = confirmPage{Title: "Turn off their two-step sign-in", Button: "Turn it off", Danger: true, Effects: []string{
			"Their password alone signs them in, until they set it up again. Make sure that it is they who ask.",
			"They are told on their next page, and it is in the audit log.",
		}}
	case "end-sessions":
		notSelf = true
		p = confirmPage{Title: "End all their sessions", Button: "End the sessions", Danger: true, Effects: []string{
			"They are signed out everywhere within a second, and can sign in again.",
			"They are told on their next page, and it is in the audit log.",
		}}
	}
	return p, notSelf, p.Title != ""
}

func (r *request) confirmAdministrator() error {
	p, notSelf, ok := administratorActions(r.path("action"))
	if !ok {
		return fault.Missing("page")
	}
	page, err := r.findAdministrator()
	if err != nil {
		return err
	}
	if notSelf && page.Self {
		return r.back("/account", "What concerns your own account is here.")
	}
	return r.confirm(p, "administrators", page.GetName()+", "+page.GetEmail(), "/settings/administrators/"+page.GetId())
}

func (r *request) changeAdministrator() error {
	id := r.path("id")
	path := "/settings/administrators/" + id
	admins, yes, no := r.services.admins, true, false
	update, said := &authv1.UpdateAdministratorRequest{Id: id}, ""
	switch r.path("action") {
	case "owner":
		role := authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER
		update.Role, said = &role, "The administrator is now an owner."
	case "staff":
		role := authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF
		update.Role, said = &role, "The administrator is now staff."
	case "disable":
		update.Disabled, said = &yes, "The administrator is disabled, and every session has ended."
	case "enable":
		update.Disabled, said = &no, "The administrator can sign in again."
	case "reset":
		return r.makeResetLink(path)
	case "withdraw-reset":
		if _, err := admins.RevokePasswordReset(r.ctx, &authv1.RevokePasswordResetRequest{Id: id}); err != nil {
			return r.refused(path, err)
		}
		return r.back(path, "The link is withdrawn: it is worthless.")
	case "totp-off":
		if _, err := admins.DisableAdministratorTotp(r.ctx, &authv1.DisableAdministratorTotpRequest{Id: id}); err != nil {
			return r.refused(path, err)
		}
		return r.back(path, "Their two-step sign-in is off.")
	case "end-sessions":
		res, err := admins.EndAdministratorSessions(r.ctx, &authv1.EndAdministratorSessionsRequest{Id: id})
		if err != nil {
			return r.refused(path, err)
		}
		return r.back(path, plural(res.GetEnded(), "session has", "sessions have")+" ended.")
	default:
		return fault.Missing("page")
	}
	if _, err := perform(r, admins.UpdateAdministrator, update); err != nil {
		return r.refused(path, err)
	}
	if id == r.session.Administrator.GetId() && update.Role != nil {
		return r.back("/account", "Your role has changed.") // the settings may be closed now
	}
	return r.back(path, said)
}

// makeResetLink makes a link for a new password, and shows it this once.
func (r *request) makeResetLink(path string) error {
	res, err := perform(r, r.services.admins.CreatePasswordReset, &authv1.CreatePasswordResetRequest{Id: r.path("id")})
	if err != nil {
		return r.refused(path, err)
	}
	if res.GetToken() == "" {
		return r.render("already", alreadyPage{
			Title: "The link is already made", Section: "administrators", Subject: res.GetAdministrator().GetName(),
			Text: "This form was sent twice. The link was made the first time, and was shown in the first answer, this once.",
			Lost: "If you have not copied it, make another one: the former one stops working.",
			Next: path, Button: "Back to the administrator", Again: path + "/reset", AgainButton: "Make another link…",
		})
	}
	page, err := r.findAdministrator()
	if err != nil {
		return err
	}
	page.Link = r.link("/reset/", res.GetToken())
	return r.render("administrator", page)
}
