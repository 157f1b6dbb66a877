package auth

import (
	"crypto/sha256"
	"slices"

	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
)

// duty is the role of an administrator, and the staff member whose dates a teacher sees.
type duty struct {
	Role  roles.Role     `db:"role"`
	Staff id.StaffMember `db:"staff_id"`
}

// storedOwner and storedManager are the values of the column role. The previous release knows no others.
const (
	storedOwner   = "owner"
	storedManager = "staff"
)

// narrow returns the value of the column narrow_role; nil for owners and managers.
func (d duty) narrow() *roles.Role {
	if d.Role == roles.FrontDesk || d.Role == roles.Teacher {
		return &d.Role
	}
	return nil
}

// stored returns the value of the column role.
func (d duty) stored() string {
	if d.Role == roles.Owner {
		return storedOwner
	}
	return storedManager
}

// facts returns what the audit log records of the duty.
func (d duty) facts() []Detail {
	return []Detail{{Field: "role", After: string(d.Role)}, {Field: "staff_member", After: staffText(d.Staff)}}
}

// given returns the details that have a value.
func given(all []Detail) []Detail {
	return slices.DeleteFunc(all, func(d Detail) bool { return d.After == "" })
}

// staffText returns a staff member as messages have it; "" if there is none.
func staffText(s id.StaffMember) string {
	if s.IsZero() {
		return ""
	}
	return s.String()
}

// narrowHash returns the hash by which the invitation to a narrow role is found. It differs from hashOf, so a
// process of the previous release, which knows no narrow roles, does not find the invitation.
func narrowHash(raw string) []byte {
	hash := sha256.Sum256([]byte("narrow role " + raw))
	return hash[:]
}
