package admin

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// administratorPage is one administrator, for owners.
type administratorPage struct {
	administratorView
	Sessions []*authv1.Session
	Roles    roleForm
	// ResetUntil is when the open reset link expires; nil if there is none.
	ResetUntil *timestamppb.Timestamp
	// Link is a reset link that was just created, the only time that it is shown.
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
	form, err := r.roleForm(newForm("role", string(roles.Of(a.GetRole())), "staff_id", a.GetStaffId()))
	if err != nil {
		return administratorPage{}, err
	}
	return administratorPage{
		administratorView: administratorView{a, a.GetId() == r.session.Administrator.GetId()},
		Sessions:          sessions.GetSessions(), ResetUntil: res.GetPasswordResetExpiresAt(),
		Roles: form,
	}, nil
}

// administratorActions are what an owner can do to an administrator. Each has its effects,
// counted for the page before it.
var administratorActions = map[string]struct {
	effects         int
	danger, notSelf bool // notSelf: not for one's own account
}{
	"disable": {effects: 2, danger: true}, "enable": {effects: 1},
	"reset": {effects: 3, notSelf: true}, "totp-off": {effects: 2, danger: true, notSelf: true},
	"end-sessions": {effects: 2, danger: true, notSelf: true},
}

func (r *request) confirmAdministrator() error {
	action := r.path("action")
	a, ok := administratorActions[action]
	if !ok {
		return fault.Missing("page")
	}
	page, err := r.findAdministrator()
	if err != nil {
		return err
	}
	if a.notSelf && page.Self {
		return r.back("/account", r.text("settings.account.own_here"))
	}
	p := r.confirmation("settings.administrator.confirm."+strings.ReplaceAll(action, "-", "_"), a.effects, a.danger)
	return r.confirm(p, "administrators", page.GetName()+", "+page.GetEmail(), "/settings/administrators/"+page.GetId())
}

func (r *request) changeAdministrator() error {
	id := r.path("id")
	path := "/settings/administrators/" + id
	admins, yes, no := r.services.admins, true, false
	update, done := &authv1.UpdateAdministratorRequest{Id: id}, ""
	switch r.path("action") {
	case "role":
		return r.changeRole(id, path)
	case "disable":
		update.Disabled, done = &yes, r.text("settings.administrator.disabled")
	case "enable":
		update.Disabled, done = &no, r.text("settings.administrator.enabled")
	case "reset":
		return r.makeResetLink(path)
	case "withdraw-reset":
		if _, err := admins.RevokePasswordReset(r.ctx, &authv1.RevokePasswordResetRequest{Id: id}); err != nil {
			return r.refused(path, err)
		}
		return r.back(path, r.text("settings.administrator.link_withdrawn"))
	case "totp-off":
		if _, err := admins.DisableAdministratorTotp(r.ctx, &authv1.DisableAdministratorTotpRequest{Id: id}); err != nil {
			return r.refused(path, err)
		}
		return r.back(path, r.text("settings.administrator.totp_is_off"))
	case "end-sessions":
		res, err := admins.EndAdministratorSessions(r.ctx, &authv1.EndAdministratorSessionsRequest{Id: id})
		if err != nil {
			return r.refused(path, err)
		}
		return r.back(path, r.text("settings.administrator.sessions_ended", "count", res.GetEnded()))
	default:
		return fault.Missing("page")
	}
	if _, err := perform(r, admins.UpdateAdministrator, update); err != nil {
		return r.refused(path, err)
	}
	return r.back(path, done)
}

// changeRole changes the role of an administrator, and the staff member of a teacher.
func (r *request) changeRole(id, path string) error {
	page, err := r.findAdministrator()
	if err != nil {
		return err
	}
	f := r.sent(nil)
	page.Roles.Form = f
	role, staff := f.role()
	res, err := submit(r, f, r.services.admins.UpdateAdministrator, &authv1.UpdateAdministratorRequest{Id: id, Role: &role, StaffId: &staff})
	if err != nil {
		return r.again(err, "administrator", page)
	}
	if page.Self {
		return r.back("/account", r.text("settings.administrator.own_role")) // the settings may be closed now
	}
	return r.back(path, r.text("settings.administrator.new_role", "role", r.text(roleName(res.GetAdministrator().GetRole()))))
}

// makeResetLink creates a reset link and shows it, the only time that it is shown.
func (r *request) makeResetLink(path string) error {
	res, err := perform(r, r.services.admins.CreatePasswordReset, &authv1.CreatePasswordResetRequest{Id: r.path("id")})
	if err != nil {
		return r.refused(path, err)
	}
	if res.GetToken() == "" {
		return r.render("already", alreadyPage{
			Title: r.text("settings.administrator.link_already.title"), Section: "administrators", Subject: res.GetAdministrator().GetName(),
			Text: r.text("settings.administrator.link_already.text"), Lost: r.text("settings.administrator.link_already.lost"),
			Next: path, Button: r.text("settings.administrator.link_already.button"),
			Again: path + "/reset", AgainButton: r.text("settings.administrator.link_already.again"),
		})
	}
	page, err := r.findAdministrator()
	if err != nil {
		return err
	}
	page.Link = r.link("/reset/", res.GetToken())
	return r.render("administrator", page)
}
