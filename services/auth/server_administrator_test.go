package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestAdministrators(t *testing.T) { // invariants 3, 8 and 12
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company, other := r.company(), r.company()

	t.Run("are made by an operator, with a password that is shown once where none is given", func(t *testing.T) {
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
	t.Run("have an address that nobody has in the installation, whatever the case", func(t *testing.T) {
		for _, at := range []string{company, other} {
			_, err := r.admins.CreateAdministrator(r.as(at), &authv1.CreateAdministratorRequest{Email: "ADA@example.com"})
			if f := fault.From(err); f == nil || f.Kind != fault.Refused || f.Reason != ReasonEmailExists {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("are refused with fields that are wrong", func(t *testing.T) {
		for name, tt := range map[string]struct {
			req  *authv1.CreateAdministratorRequest
			want string
		}{
			"no address":          {&authv1.CreateAdministratorRequest{}, "email required"},
			"no domain":           {&authv1.CreateAdministratorRequest{Email: "ada@example"}, "email email"},
			"a name with it":      {&authv1.CreateAdministratorRequest{Email: "Ada <ada@example.com>"}, "email email"},
			"a short password":    {&authv1.CreateAdministratorRequest{Email: "x@example.com", Password: "elevenchars"}, "password min_length"},
			"a long password":     {&authv1.CreateAdministratorRequest{Email: "x@example.com", Password: strings.Repeat("x", 201)}, "password max_length"},
			"the address as such": {&authv1.CreateAdministratorRequest{Email: "somebody@example.com", Password: "Somebody@example.com"}, "password guessable"},
			"another role":        {&authv1.CreateAdministratorRequest{Email: "x@example.com", Role: 7}, "role enum"},
			"a long name":         {&authv1.CreateAdministratorRequest{Email: "x@example.com", Name: strings.Repeat("x", 101)}, "name max_length"},
		} {
			_, err := r.admins.CreateAdministrator(r.as(company), tt.req)
			f := fault.From(err)
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Field+" "+f.Fields[0].Rule != tt.want {
				t.Errorf("%s: got %v, want %s", name, err, tt.want)
			}
		}
	})
	t.Run("become another role, and tokens of the former die", func(t *testing.T) {
		boss, ada := r.administrator(company, owner), r.administrator(company, staff)
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
	t.Run("are let in again by enabling, with a new session", func(t *testing.T) {
		ada := r.administrator(company, staff)
		for _, disabled := range []bool{true, true, false} {
			if _, err := r.admins.UpdateAdministrator(r.as(company), &authv1.UpdateAdministratorRequest{Id: ada.id, Disabled: &disabled}); err != nil {
				t.Fatal(err)
			}
		}
		if !ada.isOut() {
			t.Error("the former session is back")
		}
		r.signedIn(ada.email, "")
	})
	t.Run("always have an owner, also when two go at once", func(t *testing.T) {
		small := r.company()
		one, two := r.administrator(small, owner), r.administrator(small, owner)
		r.administrator(small, staff)
		var wg sync.WaitGroup
		answers := make([]error, 8)
		for i := range answers {
			req := &authv1.UpdateAdministratorRequest{Id: []string{one.id, two.id}[i%2], Role: staff.Enum()}
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
	t.Run("are listed in pages", func(t *testing.T) {
		list := r.company()
		for range 3 {
			r.administrator(list, staff)
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
	t.Run("change their password knowing the present one", func(t *testing.T) {
		ada := r.administrator(company, staff)
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
	t.Run("of another company do not exist", func(t *testing.T) {
		ada, stranger := r.administrator(company, owner), r.administrator(other, owner)
		invited, err := r.admins.InviteAdministrator(ada.ctx(), &authv1.InviteAdministratorRequest{Email: email(), Role: staff})
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
	t.Run("who are staff have no settings", func(t *testing.T) {
		ada := r.administrator(company, staff)
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
	t.Run("who are owners can do all that a company can", func(t *testing.T) {
		for _, scope := range scopes.Service() {
			if scope != "redemptions:write" && !slices.Contains(roleScopes(roleOwner), scope) {
				t.Errorf("%s is missing", scope)
			}
		}
		if slices.Contains(roleScopes(roleOwner), token.Admin) || slices.Contains(roleScopes(roleOwner), "redemptions:write") {
			t.Error("owners have what is the platform's")
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

	t.Run("are accepted once, also by many at a time, and sign in", func(t *testing.T) {
		address := email()
		made := invite(address, staff)
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
		if bob.isOut() || in.GetIdentity().GetAdministrator().GetRole() != staff || in.GetIdentity().GetSession().GetAddress() != "192.0.2.9" {
			t.Errorf("got %v", in)
		}
		if err := look(made.GetToken()); reason(err) != ReasonInvitationAccepted {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("end after 7 days, and by revoking", func(t *testing.T) {
		late, revoked := invite(email(), staff), invite(email(), owner)
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
	t.Run("for one address replace each other", func(t *testing.T) {
		address := email()
		first := invite(address, staff)
		second := invite(strings.ToUpper(address), owner)
		if _, err := accept(first.GetToken()); !fault.Is(err, fault.NotFound) {
			t.Errorf("the first: %v", err)
		}
		in, err := accept(second.GetToken())
		if err != nil || in.GetIdentity().GetAdministrator().GetRole() != owner {
			t.Errorf("the second: %v, %v", in, err)
		}
	})
	t.Run("are not for those who are administrators", func(t *testing.T) {
		if _, err := r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: boss.email, Role: staff}); reason(err) != ReasonEmailExists {
			t.Errorf("of this company: %v", err)
		}
		elsewhere := r.administrator(r.company(), owner)
		made := invite(elsewhere.email, staff) // who invites is not told
		if _, err := accept(made.GetToken()); reason(err) != ReasonEmailExists {
			t.Errorf("of another: %v", err)
		}
		if err := look(made.GetToken()); err != nil {
			t.Errorf("a refused one is used up: %v", err)
		}
	})
	t.Run("want a name, a good password, an address and a role", func(t *testing.T) {
		made := invite(email(), staff)
		_, err := r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: made.GetToken(), Password: "short"})
		if f := fault.From(err); f == nil || len(f.Fields) != 2 {
			t.Errorf("got %v", err)
		}
		_, err = r.admins.InviteAdministrator(boss.ctx(), &authv1.InviteAdministratorRequest{Email: "nobody"})
		if f := fault.From(err); f == nil || len(f.Fields) != 2 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("keep only the hash of the link", func(t *testing.T) {
		made := invite(email(), staff)
		rows, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select string_agg(t::text, ' ') from invitations t`)
		if err != nil || strings.Contains(rows[0], made.GetToken()) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAuditLog(t *testing.T) { // invariant 7
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now().UTC().Truncate(time.Microsecond)
	r.server.now = func() time.Time { at = at.Add(time.Millisecond); return at }
	company := r.company()
	boss := r.administrator(company, owner)

	t.Run("has every change, by whom, with its facts and without secrets", func(t *testing.T) {
		began := at
		ctx := boss.ctx()
		client, err := r.clients.CreateApiClient(ctx, &authv1.CreateApiClientRequest{Name: "CRM", Scopes: []string{"profile:read", "customers:read"}, RateLimit: ptr(int32(5))})
		must(t, err)
		clientID := client.GetApiClient().GetId()
		_, err = r.clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: clientID, Name: ptr("New CRM"), RateLimit: ptr(int32(0))})
		must(t, err)
		_, err = r.clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: clientID})
		must(t, err)
		_, err = r.companies.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{Currency: ptr("EUR")})
		must(t, err)
		invited, err := r.admins.InviteAdministrator(ctx, &authv1.InviteAdministratorRequest{Email: "bob@example.com", Role: staff})
		must(t, err)
		in, err := r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: invited.GetToken(), Name: "Bob", Password: goodPassword, Address: "192.0.2.9", UserAgent: "Chrome"})
		must(t, err)
		bob := in.GetIdentity().GetAdministrator().GetId()
		_, err = r.admins.UpdateAdministrator(ctx, &authv1.UpdateAdministratorRequest{Id: bob, Role: owner.Enum(), Disabled: ptr(true)})
		must(t, err)
		entries := r.entries(company, &authv1.ListAuditEntriesRequest{Since: timestamppb.New(began)})
		slices.Reverse(entries)
		want := []string{
			"api_client.create name: CRM, scopes: customers:read profile:read, rate_limit: 5",
			"api_client.update name: CRM → New CRM, rate_limit: 5 →",
			"api_client.rotate name: New CRM",
			"company.update currency: GBP → EUR",
			"invitation.create email: bob@example.com, role: staff",
			"administrator.create name: Bob, email: bob@example.com, role: staff",
			"session.create by: invitation, address: 192.0.2.9, user_agent: Chrome",
			"invitation.accept email: bob@example.com, role: staff",
			"administrator.update role: staff → owner",
			"administrator.disable name: Bob, sessions_ended: 1",
		}
		if got := spelled(entries); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, e := range entries {
			byBob := e.GetAction() == "administrator.create" || e.GetAction() == "session.create" || e.GetAction() == "invitation.accept"
			if byBob && (e.GetActor() != bob || e.GetActorName() != "Bob") || !byBob && (e.GetActor() != boss.id || e.GetActorName() != "Ada") {
				t.Errorf("%s is by %s, %q", e.GetAction(), e.GetActor(), e.GetActorName())
			}
		}
	})
	t.Run("is read by actor, action, target and time, in pages", func(t *testing.T) {
		all := r.entries(company, &authv1.ListAuditEntriesRequest{})
		for name, tt := range map[string]struct {
			req  *authv1.ListAuditEntriesRequest
			want func(e *authv1.AuditEntry) bool
		}{
			"actor":  {&authv1.ListAuditEntriesRequest{Actor: boss.id}, func(e *authv1.AuditEntry) bool { return e.GetActor() == boss.id }},
			"action": {&authv1.ListAuditEntriesRequest{Action: "api_client.update"}, func(e *authv1.AuditEntry) bool { return e.GetAction() == "api_client.update" }},
			"thing":  {&authv1.ListAuditEntriesRequest{Action: "api_client."}, func(e *authv1.AuditEntry) bool { return strings.HasPrefix(e.GetAction(), "api_client.") }},
			"target": {&authv1.ListAuditEntriesRequest{Target: boss.id}, func(e *authv1.AuditEntry) bool { return e.GetTarget() == boss.id }},
			"until":  {&authv1.ListAuditEntriesRequest{Until: all[3].GetAt()}, func(e *authv1.AuditEntry) bool { return e.GetAt().AsTime().Before(all[3].GetAt().AsTime()) }},
			"since":  {&authv1.ListAuditEntriesRequest{Since: all[3].GetAt()}, func(e *authv1.AuditEntry) bool { return !e.GetAt().AsTime().Before(all[3].GetAt().AsTime()) }},
			"all of them": {&authv1.ListAuditEntriesRequest{Actor: boss.id, Action: "session.", Target: "x", Since: all[3].GetAt(), Until: all[0].GetAt()},
				func(*authv1.AuditEntry) bool { return false }},
		} {
			var want []string
			for _, e := range all {
				if tt.want(e) {
					want = append(want, e.GetId())
				}
			}
			var got []string
			for tt.req.PageSize = 2; ; {
				res, err := r.audit.ListAuditEntries(r.as(company), tt.req)
				must(t, err)
				for _, e := range res.GetEntries() {
					got = append(got, e.GetId())
				}
				if tt.req.PageToken = res.GetNextPageToken(); tt.req.PageToken == "" {
					break
				}
			}
			if !slices.Equal(got, want) || (name != "all of them" && len(got) == 0) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		if _, err := r.audit.ListAuditEntries(r.as(company), &authv1.ListAuditEntriesRequest{Target: "a\x00"}); reason(err) != fault.ReasonInvalidParameter {
			t.Errorf("got %v", err)
		}
		for _, pageToken := range []string{"x", "zzzzzzzzzzzz.", "-1." + id.NewUUID().String()} {
			if _, err := r.audit.ListAuditEntries(r.as(company), &authv1.ListAuditEntriesRequest{PageToken: pageToken}); reason(err) != fault.ReasonInvalidParameter {
				t.Errorf("%q: got %v", pageToken, err)
			}
		}
	})
	t.Run("takes entries about other services, once per idempotency key, and none about auth's own", func(t *testing.T) {
		ada := r.administrator(company, staff)
		ctx := rpc.WithIdempotencyKey(ada.ctx(), "k1")
		req := &authv1.RecordAuditEntryRequest{Action: "webhook.create", Target: "wh_1", Details: []*authv1.AuditDetail{{Field: "url", After: "https://example.com"}}}
		for range 2 {
			res, err := r.audit.RecordAuditEntry(ctx, req)
			must(t, err)
			if res.GetEntry().GetActor() != ada.id {
				t.Errorf("got %v", res)
			}
		}
		if got := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Action: "webhook."})); !slices.Equal(got, []string{"webhook.create url: https://example.com"}) {
			t.Errorf("got %v", got)
		}
		for name, req := range map[string]*authv1.RecordAuditEntryRequest{
			"auth's own":         {Action: "session.create", Target: "x"},
			"no action":          {Target: "x"},
			"no thing":           {Action: "create", Target: "x"},
			"no target":          {Action: "webhook.create"},
			"a long detail":      {Action: "webhook.create", Target: "x", Details: []*authv1.AuditDetail{{Field: "x", After: strings.Repeat("x", 1001)}}},
			"a nameless detail":  {Action: "webhook.create", Target: "x", Details: []*authv1.AuditDetail{{After: "x"}}},
			"a NUL in a detail":  {Action: "webhook.create", Target: "x", Details: []*authv1.AuditDetail{{Field: "x", After: "a\x00"}}},
			"very many of them":  {Action: "webhook.create", Target: "x", Details: make([]*authv1.AuditDetail, 51)},
			"a very long action": {Action: "webhook." + strings.Repeat("x", 64), Target: "x"},
		} {
			if _, err := r.audit.RecordAuditEntry(ada.ctx(), req); reason(err) != fault.ReasonValidation {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
	t.Run("is only added to", func(t *testing.T) {
		for _, sql := range []string{`update audit_log set actor = 'x'`, `delete from audit_log`, `truncate audit_log`} {
			err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, sql)
				return err
			})
			if err == nil {
				t.Errorf("%s is allowed", sql)
			}
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPolicyNamesEveryMethod(t *testing.T) {
	t.Parallel()
	services := []*grpc.ServiceDesc{&authv1.AdministratorService_ServiceDesc, &authv1.AuditService_ServiceDesc}
	if err := Policy().Check(services...); err != nil {
		t.Error(err)
	}
}
