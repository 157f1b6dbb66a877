package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

const (
	formerStaff = authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF
	frontDesk   = authv1.AdministratorRole_ADMINISTRATOR_ROLE_FRONT_DESK
	teacher     = authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER
)

// teacher creates a teacher and signs them in.
func (r *replica) teacher(company string, staff id.StaffMember) *person {
	r.t.Helper()
	made, err := r.admins.CreateAdministrator(r.as(company), &authv1.CreateAdministratorRequest{
		Email: email(), Name: "Tess", Password: goodPassword, Role: teacher, StaffId: staff.String(),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.signedIn(made.GetAdministrator().GetEmail(), "")
}

func TestRoleOfToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	staff := id.New[id.StaffMember]()

	t.Run("the token of each role has its scopes, and only a teacher's has a staff member", func(t *testing.T) {
		for _, role := range roles.All() {
			p := r.teacher(company, staff)
			if role != roles.Teacher {
				p = r.administrator(company, role.Message())
			}
			claims, err := r.verifier.Verify(t.Context(), p.access())
			if err != nil || !slices.Equal(claims.Scopes, role.Scopes()) {
				t.Errorf("%s: got %v, %v", role, claims, err)
				continue
			}
			if want := map[bool]id.StaffMember{true: staff}[role == roles.Teacher]; claims.Staff != want {
				t.Errorf("%s: the token is confined to %q", role, claims.Staff)
			}
		}
	})
	t.Run("the former role staff is read as manager", func(t *testing.T) {
		made, err := r.admins.CreateAdministrator(r.as(company), &authv1.CreateAdministratorRequest{Email: email(), Role: formerStaff})
		if err != nil || made.GetAdministrator().GetRole() != manager {
			t.Errorf("got %v, %v", made, err)
		}
	})
	t.Run("another staff member revokes the tokens of a teacher, and another role removes the staff member", func(t *testing.T) {
		boss, tess := r.administrator(company, owner), r.teacher(company, staff)
		other := id.New[id.StaffMember]()
		raw := tess.access()
		res, err := r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: tess.id, StaffId: ptr(other.String())})
		if err != nil || res.GetAdministrator().GetRole() != teacher || res.GetAdministrator().GetStaffId() != other.String() {
			t.Fatalf("got %v, %v", res, err)
		}
		soon(t, func() error {
			if _, err := r.verifier.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
				return errors.Join(errors.New("still accepted"), err)
			}
			return nil
		})
		if claims, err := r.verifier.Verify(t.Context(), tess.access()); err != nil || claims.Staff != other {
			t.Errorf("got %v, %v", claims, err)
		}
		res, err = r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: tess.id, Role: ptr(frontDesk)})
		if err != nil || res.GetAdministrator().GetRole() != frontDesk || res.GetAdministrator().GetStaffId() != "" {
			t.Fatalf("got %v, %v", res, err)
		}
		if claims, err := r.verifier.Verify(t.Context(), tess.access()); err != nil || !claims.Staff.IsZero() {
			t.Errorf("got %v, %v", claims, err)
		}
		log, err := r.audit.ListAuditEntries(boss.ctx(), &authv1.ListAuditEntriesRequest{Target: tess.id, Action: "administrator.update"})
		if err != nil || len(log.GetEntries()) != 2 {
			t.Fatalf("got %v, %v", log, err)
		}
		var changes []string
		for _, d := range log.GetEntries()[0].GetDetails() {
			changes = append(changes, d.GetField()+": "+d.GetBefore()+" to "+d.GetAfter())
		}
		if got := strings.Join(changes, ", "); got != "role: teacher to front_desk, staff_member: "+other.String()+" to " {
			t.Errorf("the audit log has %q", got)
		}
	})
	t.Run("a role and a staff member that do not belong together are refused", func(t *testing.T) {
		tess := r.teacher(company, staff)
		for name, tt := range map[string]struct {
			req  *authv1.UpdateAdministratorRequest
			want string
		}{
			"a teacher without a staff member": {&authv1.UpdateAdministratorRequest{StaffId: ptr("")}, "staff_id required"},
			"an owner with a staff member":     {&authv1.UpdateAdministratorRequest{Role: ptr(owner), StaffId: ptr(staff.String())}, "staff_id mismatch"},
			"something else":                   {&authv1.UpdateAdministratorRequest{StaffId: ptr("room_1")}, "staff_id format"},
			"no role":                          {&authv1.UpdateAdministratorRequest{Role: ptr(authv1.AdministratorRole(99))}, "role enum"},
		} {
			tt.req.Id = tess.id
			_, err := r.admins.UpdateAdministrator(r.as(company), tt.req)
			if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Field+" "+f.Fields[0].Rule != tt.want {
				t.Errorf("%s: got %v, want %s", name, err, tt.want)
			}
		}
	})
	t.Run("an invitation carries the role and the staff member", func(t *testing.T) {
		boss := r.administrator(company, owner)
		made, err := r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: email(), Role: teacher, StaffId: staff.String()})
		if err != nil || made.GetInvitation().GetStaffId() != staff.String() {
			t.Fatalf("got %v, %v", made, err)
		}
		in, err := r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: made.GetToken(), Name: "Tess", Password: goodPassword})
		if err != nil || in.GetIdentity().GetAdministrator().GetStaffId() != staff.String() || in.GetIdentity().GetAdministrator().GetRole() != teacher {
			t.Errorf("got %v, %v", in, err)
		}
	})
	t.Run("somebody with a narrow role can be disabled and enabled", func(t *testing.T) {
		tess := r.teacher(company, staff)
		for _, disabled := range []bool{true, false} {
			res, err := r.admins.UpdateAdministrator(r.as(company), &authv1.UpdateAdministratorRequest{Id: tess.id, Disabled: &disabled})
			if err != nil || res.GetAdministrator().GetDisabled() != disabled || tess.isOut() != true {
				t.Errorf("disabled %v: got %v, %v", disabled, res, err)
			}
		}
		if back := r.signedIn(tess.email, ""); back.isOut() {
			t.Error("cannot sign in after being enabled")
		}
	})
}

// The previous release knows the columns role and disabled_at only, and gives everybody who is not an owner the
// rights of a manager.
func TestRolesForThePreviousRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	tenant, err := id.Parse[id.Company](company)
	must(t, err)

	read := func(t *testing.T, sql, of string) (role string, usable bool) {
		t.Helper()
		which, err := id.Parse[id.Administrator](of)
		must(t, err)
		must(t, w.db.Read(t.Context(), pg.For(tenant), pg.Query{SQL: sql, Args: []any{tenant, which}, Scan: pg.First(&role, &usable)}))
		return role, usable
	}
	const administrator = `select role, disabled_at is null from administrators where company_id = $1 and id = $2`

	t.Run("managers are staff", func(t *testing.T) {
		if role, usable := read(t, administrator, r.administrator(company, manager).id); role != "staff" || !usable {
			t.Errorf("got %s, %v", role, usable)
		}
	})
	t.Run("the front desk and teachers are disabled", func(t *testing.T) {
		for _, p := range []*person{r.administrator(company, frontDesk), r.teacher(company, id.New[id.StaffMember]())} {
			if role, usable := read(t, administrator, p.id); role != "staff" || usable {
				t.Errorf("got %s, %v", role, usable)
			}
			if p.isOut() {
				t.Error("this release treats them as disabled")
			}
		}
	})
	t.Run("it can make a teacher an owner, who needs no staff member", func(t *testing.T) {
		tess := r.teacher(company, id.New[id.StaffMember]())
		must(t, w.db.InTx(t.Context(), pg.For(tenant), func(ctx context.Context, tx *pg.Tx) error {
			which, err := id.Parse[id.Administrator](tess.id)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `update administrators set role = 'owner', disabled_at = null where company_id = $1 and id = $2`, tenant, which)
			return err
		}))
		claims, err := r.verifier.Verify(t.Context(), tess.access())
		if err != nil || !claims.Staff.IsZero() || !slices.Equal(claims.Scopes, roles.Owner.Scopes()) {
			t.Errorf("got %v, %v", claims, err)
		}
	})
	t.Run("the link of an invitation to a narrow role has another hash", func(t *testing.T) {
		boss := r.administrator(company, owner)
		for role, found := range map[authv1.AdministratorRole]bool{manager: true, frontDesk: false} {
			made, err := r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: email(), Role: role})
			must(t, err)
			n := 0
			must(t, w.db.Read(t.Context(), pg.For(tenant), pg.Query{
				SQL: `select count(*) from invitations where token_hash = $1`, Args: []any{hashOf(made.GetToken())}, Scan: pg.First(&n),
			}))
			if (n == 1) != found {
				t.Errorf("%s is found %d times", role, n)
			}
		}
	})
}
