package auth

import (
	"context"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// An owner who leaves could come back by an invitation of their own, and as an owner.
func TestInvitationsOfFormerOwners(t *testing.T) { // invariant 13
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	boss := r.administrator(company, owner)
	invited := func(maker *person) *authv1.InviteAdministratorResponse {
		t.Helper()
		made, err := r.admins.InviteAdministrator(maker.ctx(), &authv1.InviteAdministratorRequest{Email: email(), Role: owner})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.admins.GetInvitation(t.Context(), &authv1.GetInvitationRequest{Token: made.GetToken()}); err != nil {
			t.Fatal(err)
		}
		return made
	}
	worthless := func(raw string) {
		t.Helper()
		if _, err := r.admins.GetInvitation(t.Context(), &authv1.GetInvitationRequest{Token: raw}); !fault.Is(err, fault.NotFound) {
			t.Errorf("it is shown, or %v", err)
		}
		_, err := r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: raw, Name: "Bob", Password: goodPassword})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("it is accepted, or %v", err)
		}
	}
	for name, change := range map[string]*authv1.UpdateAdministratorRequest{
		"who is made staff": {Role: ptr(staff)}, "who is disabled": {Disabled: ptr(true)},
	} {
		t.Run("are withdrawn from one "+name+", and no others", func(t *testing.T) {
			maker := r.administrator(company, owner)
			made, other := invited(maker), invited(boss)
			change.Id = maker.id
			if _, err := r.admins.UpdateAdministrator(boss.ctx(), change); err != nil {
				t.Fatal(err)
			}
			worthless(made.GetToken())
			if _, err := r.admins.GetInvitation(t.Context(), &authv1.GetInvitationRequest{Token: other.GetToken()}); err != nil {
				t.Errorf("another's: %v", err)
			}
			log := r.entries(company, &authv1.ListAuditEntriesRequest{Target: made.GetInvitation().GetId(), Actor: boss.id})
			if len(log) != 1 || log[0].GetAction() != "invitation.revoke" {
				t.Errorf("the audit log has %q", spelled(log))
			}
		})
	}
	t.Run("are worth nothing even where they were not withdrawn", func(t *testing.T) {
		maker := r.administrator(company, owner)
		made := invited(maker)
		err := r.server.store.Write(t.Context(), companyID(t, company), func(ctx context.Context, tx *pg.Tx) error {
			tag, err := tx.Exec(ctx, `update administrators set role = 'staff' where email = $1`, maker.email)
			if err == nil && tag.RowsAffected() != 1 {
				err = fault.Missing("administrator")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		worthless(made.GetToken())
	})
}
