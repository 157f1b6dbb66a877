package roles

import (
	"slices"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Role is what an administrator is in the company, in the form in which the audit log has it.
type Role string

// The roles.
const (
	Owner     Role = "owner"
	Manager   Role = "manager"
	FrontDesk Role = "front_desk"
	Teacher   Role = "teacher"
)

// All returns the roles, from the one that may do most.
func All() []Role { return []Role{Owner, Manager, FrontDesk, Teacher} }

// Of returns the role of a message; "" if it is not a role. An earlier release of auth calls a manager staff.
func Of(m authv1.AdministratorRole) Role {
	switch m {
	case authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER:
		return Owner
	case authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER, authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF:
		return Manager
	case authv1.AdministratorRole_ADMINISTRATOR_ROLE_FRONT_DESK:
		return FrontDesk
	case authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER:
		return Teacher
	}
	return ""
}

// Message returns the role as messages have it.
func (r Role) Message() authv1.AdministratorRole {
	switch r {
	case Owner:
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER
	case Manager:
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	case FrontDesk:
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_FRONT_DESK
	case Teacher:
		return authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER
	}
	return authv1.AdministratorRole_ADMINISTRATOR_ROLE_UNSPECIFIED
}

// NeedsStaff reports whether an administrator with the role is linked to a staff member.
func (r Role) NeedsStaff() bool { return r == Teacher }

// May reports whether the role has a capability.
func (r Role) May(c Capability) bool {
	return slices.ContainsFunc(Table(), func(e Entry) bool { return e.Capability == c && slices.Contains(e.Roles, r) })
}

// Scopes returns the scopes of the role's access tokens, sorted.
func (r Role) Scopes() []string {
	var all []string
	for _, e := range Table() {
		if slices.Contains(e.Roles, r) {
			all = append(all, e.Scopes...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
