package auth

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestInvitations(t *testing.T) { // invariant 13
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now()
	r.server.now = func() time.Time { return at }
	company := r.company()
	boss := r.administrator(company, owner)
	invite := func(email string, role authv1.AdministratorRole) *authv1.InviteAdministratorResponse {
		t.Helper()
		res, err := r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: email, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	accept := func(raw string) (*authv1.AcceptInvitationResponse, error) {
		return r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: raw, Name: "Bob", Password: goodPassword, Address: "192.0.2.9", UserAgent: "Chrome"})
	}
	look := func(raw string) error {
		_, err := r.admins.GetInvitation(t.Context(), &authv1.GetInvitationRequest{Token: raw})
		return err
	}

	t.Run("an invitation is accepted once, even concurrently, and signs the administrator in", func(t *testing.T) { acceptInvitationOnce(t, r, invite, accept, look) })
	t.Run("an invitation ends after 7 days, or when it is revoked", func(t *testing.T) {
		late, revoked := invite(email(), manager), invite(email(), owner)
		for range 2 {
			_, err := r.admins.RevokeInvitation(boss.ctx(), &authv1.RevokeInvitationRequest{Id: revoked.GetInvitation().GetId()})
			if err != nil && !fault.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
		}
		at = at.Add(invitationLifetime)
		boss = r.signedIn(boss.email, "")
		for name, tt := range map[string]struct{ raw, want string }{
			"late": {late.GetToken(), ReasonInvitationExpired}, "revoked": {revoked.GetToken(), fault.ReasonNotFound}, "unknown": {"x", fault.ReasonNotFound},
		} {
			_, err := accept(tt.raw)
			if reason(err) != tt.want || reason(look(tt.raw)) != tt.want {
				t.Errorf("%s: got %v, %v", name, err, look(tt.raw))
			}
		}
		open, err := r.admins.ListInvitations(boss.ctx(), &authv1.ListInvitationsRequest{})
		if err != nil || len(open.GetInvitations()) != 1 || open.GetInvitations()[0].GetId() != late.GetInvitation().GetId() || open.GetInvitations()[0].GetInvitedByName() != "Ada" {
			t.Errorf("got %v, %v", open, err)
		}
		if _, err := r.admins.RevokeInvitation(boss.ctx(), &authv1.RevokeInvitationRequest{Id: late.GetInvitation().GetId()}); err != nil {
			t.Errorf("one that has expired cannot be revoked: %v", err)
		}
	})
	t.Run("a new invitation for an address replaces the earlier one", func(t *testing.T) {
		address := email()
		first := invite(address, manager)
		second := invite(strings.ToUpper(address), owner)
		if _, err := accept(first.GetToken()); !fault.Is(err, fault.NotFound) {
			t.Errorf("the first: %v", err)
		}
		in, err := accept(second.GetToken())
		if err != nil || in.GetIdentity().GetAdministrator().GetRole() != owner {
			t.Errorf("the second: %v, %v", in, err)
		}
	})
	t.Run("refuses an invitation for an existing administrator", func(t *testing.T) {
		if _, err := r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: boss.email, Role: manager}); reason(err) != ReasonEmailExists {
			t.Errorf("of this company: %v", err)
		}
		elsewhere := r.administrator(r.company(), owner)
		made := invite(elsewhere.email, manager) // the inviting owner does not learn it
		if _, err := accept(made.GetToken()); reason(err) != ReasonEmailExists {
			t.Errorf("of another: %v", err)
		}
		if err := look(made.GetToken()); err != nil {
			t.Errorf("a refused one is used up: %v", err)
		}
	})
	t.Run("require a name, a good password, an address and a role", func(t *testing.T) {
		made := invite(email(), manager)
		_, err := r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: made.GetToken(), Password: "short"})
		if f := fault.From(err); f == nil || len(f.Fields) != 2 {
			t.Errorf("got %v", err)
		}
		_, err = r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: "nobody"})
		if f := fault.From(err); f == nil || len(f.Fields) != 2 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("store only the hash of the link's token", func(t *testing.T) {
		made := invite(email(), manager)
		rows, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select string_agg(t::text, ' ') from invitations t`)
		if err != nil || strings.Contains(rows[0], made.GetToken()) {
			t.Errorf("got %v", err)
		}
	})
}

func acceptInvitationOnce(t *testing.T, r *replica, invite func(email string, role authv1.AdministratorRole) *authv1.InviteAdministratorResponse, accept func(raw string) (*authv1.AcceptInvitationResponse, error), look func(raw string) error) {
	t.Helper()
	address := email()
	made := invite(address, manager)
	seen, err := r.admins.GetInvitation(t.Context(), &authv1.GetInvitationRequest{Token: made.GetToken()})
	if err != nil || seen.GetInvitation().GetEmail() != address || seen.GetCompanyName() != "Studio" || seen.GetInvitation().GetInvitedByName() != "Ada" {
		t.Fatalf("got %v, %v", seen, err)
	}
	var wg sync.WaitGroup
	answers := make([]error, 8)
	var mu sync.Mutex
	var in *authv1.AcceptInvitationResponse
	for i := range answers {
		wg.Go(func() {
			res, err := accept(made.GetToken())
			if answers[i] = err; err == nil {
				mu.Lock()
				defer mu.Unlock()
				in = res
			}
		})
	}
	wg.Wait()
	refused := 0
	for _, err := range answers {
		if reason(err) == ReasonInvitationAccepted {
			refused++
		}
	}
	if refused != len(answers)-1 || in == nil {
		t.Fatalf("got %v", answers)
	}
	bob := &person{replica: r, id: in.GetIdentity().GetAdministrator().GetId(), email: address, session: in.GetSessionToken()}
	if bob.isOut() || in.GetIdentity().GetAdministrator().GetRole() != manager || in.GetIdentity().GetSession().GetAddress() != "192.0.2.9" {
		t.Errorf("got %v", in)
	}
	if err := look(made.GetToken()); reason(err) != ReasonInvitationAccepted {
		t.Errorf("afterwards: %v", err)
	}
}

// Former owners could otherwise return as owners by their own invitations.
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
		"made staff": {Role: ptr(manager)}, "disabled": {Disabled: ptr(true)},
	} {
		t.Run("are withdrawn when their creator is "+name+", and others are not", func(t *testing.T) {
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
	t.Run("refuses invitations that were not withdrawn", func(t *testing.T) {
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
