package admin

import (
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
)

// roleChoice is a role in a form, with one sentence on what it may do.
type roleChoice struct {
	Role  roles.Role
	Title *message
	About *message
}

// NeedsStaff reports whether the role needs a staff member.
func (c roleChoice) NeedsStaff() bool { return c.Role.NeedsStaff() }

// roleForm is a form that chooses a role, and the staff member of a teacher.
type roleForm struct {
	Form    *form
	Choices []roleChoice
	People  []staffView
}

// roleForm returns the form with all roles and the staff of the company.
func (r *request) roleForm(f *form) (roleForm, error) {
	people, err := r.people()
	if err != nil && !fault.Is(err, fault.Unavailable) {
		return roleForm{}, err // without booking, administrators can still be disabled
	}
	form := roleForm{Form: f}
	for _, role := range roles.All() {
		form.Choices = append(form.Choices, roleChoice{role, msg("settings.role." + string(role)), r.aboutRole(role)})
	}
	for _, p := range people {
		if p.GetActive() || f.Get("staff_id") == p.GetId() {
			form.People = append(form.People, p)
		}
	}
	return form, nil
}

// aboutRole says what a role may do, by the table of roles: the shorter list of what it may do and what not.
func (r *request) aboutRole(role roles.Role) *message {
	var may, not []string
	for _, e := range roles.Table() {
		switch c := e.Capability; {
		case c == roles.OwnAccount || c == roles.OwnClasses && !role.NeedsStaff():
			// Everybody has an account, and who sees all classes sees their own.
		case role.May(c):
			may = append(may, r.text(capabilityText(c)))
		default:
			not = append(not, r.text(capabilityText(c)))
		}
	}
	switch {
	case len(not) == 0:
		return msg("settings.role_about.everything")
	case len(not) < len(may):
		return msg("settings.role_about.except", "what", strings.Join(not, ", "))
	}
	return msg("settings.role_about.only", "what", strings.Join(may, ", "))
}

// capabilityText completes the sentence "The administrator may …".
func capabilityText(c roles.Capability) *message {
	return msg("settings.capability." + strings.ReplaceAll(string(c), "-", "_"))
}
