package auth

import (
	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// duty checks a role and the staff member that belongs to it.
func (c *checks) duty(role authv1.AdministratorRole, staff string) duty {
	d := duty{Role: roles.Of(role)}
	if d.Role == "" {
		c.Add("role", "enum", "must be owner, manager, front_desk or teacher")
		return d
	}
	switch {
	case d.Role.NeedsStaff() && staff == "":
		c.Add("staff_id", "required", "a teacher needs a staff member")
	case !d.Role.NeedsStaff() && staff != "":
		c.Add("staff_id", "mismatch", "only a teacher has a staff member")
	case staff != "":
		which, err := check.ID[id.StaffMember](staff, "staff member")
		if err != nil {
			c.Add("staff_id", "format", "must be the identifier of a staff member (staff_…)")
		}
		d.Staff = which
	}
	return d
}

// newDuty checks the duty that a request gives to an administrator who has another one. A teacher keeps the staff
// member unless the request names one.
func (c *checks) newDuty(known duty, req *authv1.UpdateAdministratorRequest) duty {
	role, staff := known.Role.Message(), req.GetStaffId()
	if req.Role != nil {
		role = req.GetRole()
	}
	if req.StaffId == nil && roles.Of(role).NeedsStaff() {
		staff = staffText(known.Staff)
	}
	return c.duty(role, staff)
}
