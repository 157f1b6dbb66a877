package auth

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestAdministrators(t *testing.T) { // invariants 3, 8 and 12
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company, other := r.company(), r.company()

	t.Run("an operator creates an administrator, with a generated password that is shown once", func(t *testing.T) {
		res, err := r.admins.CreateAdministrator(r.as(company), &authv1.CreateAdministratorRequest{Email: " Ada@Example.com "})
		if err != nil {
			t.Fatal(err)
		}
		a := res.GetAdministrator()
		if a.GetEmail() != "Ada@Example.com" || a.GetName() != a.GetEmail() || a.GetRole() != owner || a.GetLastSignedInAt() != nil {
			t.Errorf("got %v", a)
		}
		if _, err := r.signIn("ada@example.com", res.GetGeneratedPassword(), "", ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("an e-mail address is unique in the installation, regardless of case", func(t *testing.T) {
		for _, at := range []string{company, other} {
			_, err := r.admins.CreateAdministrator(r.as(at), &authv1.CreateAdministratorRequest{Email: "ADA@example.com"})
			if f := fault.From(err); f == nil || f.Kind != fault.Refused || f.Reason != ReasonEmailExists {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("an administrator with invalid fields is rejected", func(t *testing.T) {
		for name, tt := range map[string]struct {
			req  *authv1.CreateAdministratorRequest
			want string
		}{
			"no address":         {&authv1.CreateAdministratorRequest{}, "email required"},
			"no domain":          {&authv1.CreateAdministratorRequest{Email: "ada@example"}, "email email"},
			"a name with it":     {&authv1.CreateAdministratorRequest{Email: "Ada <ada@example.com>"}, "email email"},
			"a short password":   {&authv1.CreateAdministratorRequest{Email: "x@example.com", Password: "elevenchars"}, "password min_length"},
			"a long password":    {&authv1.CreateAdministratorRequest{Email: "x@example.com", Password: strings.Repeat("x", 201)}, "password max_length"},
			"the e-mail address": {&authv1.CreateAdministratorRequest{Email: "somebody@example.com", Password: "Somebody@example.com"}, "password guessable"},
			"another role":       {&authv1.CreateAdministratorRequest{Email: "x@example.com", Role: 7}, "role enum"},
			"a long name":        {&authv1.CreateAdministratorRequest{Email: "x@example.com", Name: strings.Repeat("x", 101)}, "name max_length"},
		} {
			_, err := r.admins.CreateAdministrator(r.as(company), tt.req)
			f := fault.From(err)
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Field+" "+f.Fields[0].Rule != tt.want {
				t.Errorf("%s: got %v, want %s", name, err, tt.want)
			}
		}
	})
	t.Run("a change of role revokes the tokens of the previous one", func(t *testing.T) {
		boss, ada := r.administrator(company, owner), r.administrator(company, manager)
		raw := ada.access()
		res, err := r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Role: owner.Enum(), Name: ptr("Ada L.")})
		if err != nil || res.GetAdministrator().GetRole() != owner || res.GetAdministrator().GetName() != "Ada L." {
			t.Fatalf("got %v, %v", res, err)
		}
		soon(t, func() error {
			if _, err := r.verifier.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
				return errors.Join(errors.New("still accepted"), err)
			}
			return nil
		})
		claims, err := r.verifier.Verify(t.Context(), ada.access())
		if err != nil || !claims.Has("api-clients:write") {
			t.Errorf("got %v, %v", claims, err)
		}
		again, err := r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Role: owner.Enum(), Disabled: ptr(false)})
		if err != nil || again.GetAdministrator().GetVersion() != res.GetAdministrator().GetVersion() {
			t.Errorf("what changes nothing raises the version: %v, %v", again, err)
		}
	})
	t.Run("an administrator can sign in again after being enabled", func(t *testing.T) {
		ada := r.administrator(company, manager)
		for _, disabled := range []bool{true, true, false} {
			if _, err := r.admins.UpdateAdministrator(r.as(company), &authv1.UpdateAdministratorRequest{Id: ada.id, Disabled: &disabled}); err != nil {
				t.Fatal(err)
			}
		}
		if !ada.isOut() {
			t.Error("the former session is valid again")
		}
		r.signedIn(ada.email, "")
	})
}

func TestAdministratorsOfACompany(t *testing.T) { // invariants 3, 8 and 12
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()

	t.Run("always include an owner, even if two are removed at the same time", func(t *testing.T) {
		small := r.company()
		one, two := r.administrator(small, owner), r.administrator(small, owner)
		r.administrator(small, manager)
		var wg sync.WaitGroup
		answers := make([]error, 8)
		for i := range answers {
			req := &authv1.UpdateAdministratorRequest{Id: []string{one.id, two.id}[i%2], Role: manager.Enum()}
			if i%4 > 1 {
				req.Role, req.Disabled = nil, ptr(true)
			}
			wg.Go(func() { _, answers[i] = r.admins.UpdateAdministrator(r.as(small), req) })
		}
		wg.Wait()
		for _, err := range answers {
			if err != nil && reason(err) != ReasonLastOwner {
				t.Errorf("got %v", err)
			}
		}
		left, err := pg.Rows[int](t.Context(), w.db, pg.AllCompanies(), `select 1 from administrators where company_id = $1 and role = 'owner' and disabled_at is null`, companyID(t, small))
		if err != nil || len(left) != 1 {
			t.Errorf("%d owners are left, %v", len(left), err)
		}
	})
	t.Run("administrators are listed in pages", func(t *testing.T) {
		list := r.company()
		for range 3 {
			r.administrator(list, manager)
		}
		var seen []string
		for req := (&authv1.ListAdministratorsRequest{PageSize: 2}); ; {
			res, err := r.admins.ListAdministrators(r.as(list), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range res.GetAdministrators() {
				seen = append(seen, a.GetId())
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if len(seen) != 3 || !slices.IsSorted(seen) {
			t.Errorf("got %v", seen)
		}
	})
	t.Run("an administrator changes the password with the current one", func(t *testing.T) {
		ada := r.administrator(company, manager)
		change := func(current, next string) error {
			_, err := r.admins.ChangePassword(ada.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: current, NewPassword: next, Address: "192.0.2.40"})
			return err
		}
		if err := change("wrong", goodPassword+"2"); reason(err) != ReasonWrongPassword {
			t.Errorf("got %v", err)
		}
		if err := change(goodPassword, "short"); reason(err) != fault.ReasonValidation {
			t.Errorf("got %v", err)
		}
		if err := change(goodPassword, goodPassword); reason(err) != fault.ReasonValidation {
			t.Errorf("got %v", err)
		}
		if err := change(goodPassword, goodPassword+"2"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.signIn(ada.email, goodPassword, "", "192.0.2.41"); reason(err) != fault.ReasonInvalidCredentials {
			t.Errorf("the former password: %v", err)
		}
		if _, err := r.signIn(ada.email, goodPassword+"2", "", "192.0.2.41"); err != nil {
			t.Error(err)
		}
		for range 5 {
			_ = change("wrong", goodPassword)
		}
		if err := change("wrong", goodPassword); !fault.Is(err, fault.RateLimited) {
			t.Errorf("guessing the present password: %v", err)
		}
	})
}

func TestScopesOfAdministrators(t *testing.T) { // invariants 3, 8 and 12
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company, other := r.company(), r.company()

	t.Run("administrators of another company do not exist", func(t *testing.T) {
		ada, stranger := r.administrator(company, owner), r.administrator(other, owner)
		invited, err := r.admins.InviteAdministrator(ada.ctx(), &authv1.InviteAdministratorRequest{Email: email(), Role: manager})
		if err != nil {
			t.Fatal(err)
		}
		_, update := r.admins.UpdateAdministrator(stranger.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Disabled: ptr(true)})
		_, sessions := r.admins.ListSessions(stranger.ctx(), &authv1.ListSessionsRequest{AdministratorId: ada.id})
		_, revoke := r.admins.RevokeInvitation(stranger.ctx(), &authv1.RevokeInvitationRequest{Id: invited.GetInvitation().GetId()})
		_, reset := r.admins.ResetAdministratorPassword(r.as(other), &authv1.ResetAdministratorPasswordRequest{Administrator: ada.id})
		_, byEmail := r.admins.ResetAdministratorPassword(r.as(other), &authv1.ResetAdministratorPasswordRequest{Administrator: ada.email})
		_, malformed := r.admins.UpdateAdministrator(stranger.ctx(), &authv1.UpdateAdministratorRequest{Id: "admin_1"})
		_, session := r.admins.EndSession(stranger.ctx(), &authv1.EndSessionRequest{Id: "sess_1"})
		_, invitation := r.admins.RevokeInvitation(stranger.ctx(), &authv1.RevokeInvitationRequest{Id: "inv_1"})
		for i, err := range []error{update, sessions, revoke, reset, byEmail, malformed, session, invitation} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		list, err := r.admins.ListAdministrators(stranger.ctx(), &authv1.ListAdministratorsRequest{})
		if err != nil || slices.ContainsFunc(list.GetAdministrators(), func(a *authv1.Administrator) bool { return a.GetId() == ada.id }) {
			t.Errorf("got %v, %v", list, err)
		}
		open, err := r.admins.ListInvitations(stranger.ctx(), &authv1.ListInvitationsRequest{})
		if err != nil || len(open.GetInvitations()) != 0 {
			t.Errorf("got %v, %v", open, err)
		}
		log, err := r.audit.ListAuditEntries(stranger.ctx(), &authv1.ListAuditEntriesRequest{Target: ada.id})
		if err != nil || len(log.GetEntries()) != 0 {
			t.Errorf("got %v, %v", log, err)
		}
	})
	t.Run("staff cannot change settings", func(t *testing.T) {
		ada := r.administrator(company, manager)
		ctx := ada.ctx()
		for name, err := range map[string]error{
			"administrators:read":  errOf(r.admins.ListAdministrators(ctx, &authv1.ListAdministratorsRequest{})),
			"administrators:write": errOf(r.admins.InviteAdministrator(ctx, &authv1.InviteAdministratorRequest{})),
			"api-clients:read":     errOf(r.clients.ListApiClients(ctx, &authv1.ListApiClientsRequest{})),
			"api-keys:write":       errOf(r.apiKeys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{})),
			"company:write":        errOf(r.companies.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{})),
			"audit:read":           errOf(r.audit.ListAuditEntries(ctx, &authv1.ListAuditEntriesRequest{})),
			"platform:admin":       errOf(r.admins.CreateAdministrator(ctx, &authv1.CreateAdministratorRequest{})),
		} {
			if f := fault.From(err); f == nil || f.Meta["scope"] != name {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if _, err := r.companies.GetCompany(ctx, &authv1.GetCompanyRequest{}); err != nil {
			t.Errorf("the company: %v", err)
		}
	})
	t.Run("owners have every scope of a company", func(t *testing.T) {
		for _, scope := range scopes.Service() {
			if scope != "redemptions:write" && !slices.Contains(roles.Owner.Scopes(), scope) {
				t.Errorf("%s is missing", scope)
			}
		}
		if slices.Contains(roles.Owner.Scopes(), token.Admin) || slices.Contains(roles.Owner.Scopes(), "redemptions:write") {
			t.Error("owners have a scope of the platform")
		}
	})
}

func companyID(t *testing.T, text string) id.Company {
	t.Helper()
	c, err := id.Parse[id.Company](text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
