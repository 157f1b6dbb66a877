package auth

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// notices returns the person's notices as "who: action".
func (p *person) notices() []string {
	p.t.Helper()
	res, err := p.admins.Authenticate(p.t.Context(), &authv1.AuthenticateRequest{SessionToken: p.session})
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, n := range res.GetIdentity().GetNotices() {
		all = append(all, n.GetByName()+": "+n.GetAction())
	}
	return all
}

func TestPasswordReset(t *testing.T) { // invariant 15
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now()
	r.server.now = func() time.Time { return at }
	company := r.company()
	boss := r.administrator(company, owner)
	link := func(t *testing.T, of *person) string {
		t.Helper()
		res, err := r.admins.CreatePasswordReset(boss.ctx(), &authv1.CreatePasswordResetRequest{Id: of.id})
		if err != nil || len(res.GetToken()) != 43 || !res.GetExpiresAt().AsTime().Equal(at.UTC().Truncate(time.Microsecond).Add(time.Hour)) {
			t.Fatalf("got %v, %v", res, err)
		}
		return res.GetToken()
	}
	use := func(token, password string) (*authv1.UsePasswordResetResponse, error) {
		return r.admins.UsePasswordReset(t.Context(), &authv1.UsePasswordResetRequest{Token: token, Password: password, Address: "192.0.2.9"})
	}
	const another = "another good password"

	t.Run("replaces the password once, ends every session, and is in the audit log", func(t *testing.T) { resetPasswordOnce(t, r, company, boss, link, use, another) })
	t.Run("works for one of several concurrent requests", func(t *testing.T) {
		ada := r.administrator(company, manager)
		token := link(t, ada)
		var wg sync.WaitGroup
		answers := make([]error, 6)
		for i := range answers {
			wg.Go(func() { _, answers[i] = use(token, another) })
		}
		wg.Wait()
		passed := 0
		for _, err := range answers {
			switch {
			case err == nil:
				passed++
			case reason(err) != ReasonResetUsed:
				t.Errorf("got %v", err)
			}
		}
		if passed != 1 {
			t.Errorf("it was used %d times", passed)
		}
	})
	t.Run("a link is valid for an hour", func(t *testing.T) {
		ada := r.administrator(company, manager)
		token := link(t, ada)
		known, err := r.admins.GetAdministrator(boss.ctx(), &authv1.GetAdministratorRequest{Id: ada.id})
		if err != nil || known.GetPasswordResetExpiresAt() == nil {
			t.Errorf("got %v, %v", known, err)
		}
		at = at.Add(time.Hour)
		if _, err := use(token, another); reason(err) != ReasonResetExpired {
			t.Errorf("got %v", err)
		}
		if known, err = r.admins.GetAdministrator(boss.ctx(), &authv1.GetAdministratorRequest{Id: ada.id}); err != nil || known.GetPasswordResetExpiresAt() != nil {
			t.Errorf("got %v, %v", known, err)
		}
		at = at.Add(resetKept)
		if err := r.server.sweepOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := use(token, another); !fault.Is(err, fault.NotFound) {
			t.Errorf("after a week: %v", err)
		}
		boss = r.signedIn(boss.email, "")
	})
	t.Run("ends with a newer link, when withdrawn, and when its conditions change", func(t *testing.T) { withdrawReset(t, r, company, boss, use, another) })
	t.Run("refuses a link whose creator is no longer an owner, even if it was not withdrawn", func(t *testing.T) { resetOfFormerOwner(t, r, company, use, another) })
	t.Run("leaves TOTP on", func(t *testing.T) {
		ada := r.administrator(company, manager)
		ada.withTotp(at)
		if _, err := use(link(t, ada), another); err != nil {
			t.Fatal(err)
		}
		if res, err := r.signIn(ada.email, another, "", "192.0.2.1"); err != nil || !res.GetTotpRequired() {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("refuses a link for the caller's own account, disabled accounts and other companies", func(t *testing.T) {
		ada := r.administrator(company, manager)
		if _, err := r.admins.CreatePasswordReset(boss.ctx(), &authv1.CreatePasswordResetRequest{Id: boss.id}); reason(err) != ReasonOwnAccount {
			t.Errorf("the own account: %v", err)
		}
		if _, err := r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Disabled: ptr(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.admins.CreatePasswordReset(boss.ctx(), &authv1.CreatePasswordResetRequest{Id: ada.id}); reason(err) != ReasonAdministratorDisabled {
			t.Errorf("a disabled one: %v", err)
		}
		for _, token := range []string{"", "unknown", strings.Repeat("x", 200), "a\x00b", ada.session} {
			if _, err := use(token, another); !fault.Is(err, fault.NotFound) {
				t.Errorf("an unknown link: %v", err)
			}
		}
	})
	t.Run("keeps only the hash of its token", func(t *testing.T) {
		token := link(t, r.administrator(company, manager))
		for _, table := range []string{"password_resets", "audit_log", "outbox", "idempotency_keys"} {
			kept, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), "select coalesce(string_agg(t::text, ' '), '') from "+table+" t")
			if err != nil || strings.Contains(kept[0], token) {
				t.Errorf("%s has it, or %v", table, err)
			}
		}
	})
}

func resetPasswordOnce(t *testing.T, r *replica, company string, boss *person, link func(t *testing.T, of *person) string, use func(token string, password string) (*authv1.UsePasswordResetResponse, error), another string) {
	t.Helper()
	ada := r.administrator(company, manager)
	raw := ada.access()
	token := link(t, ada)
	seen, err := r.admins.GetPasswordReset(t.Context(), &authv1.GetPasswordResetRequest{Token: token})
	if err != nil || seen.GetEmail() != ada.email || seen.GetCompanyName() != "Studio" {
		t.Fatalf("got %v, %v", seen, err)
	}
	if ada.isOut() {
		t.Fatal("creating the link ended sessions")
	}
	if _, err := use(token, "short"); fieldsOf(err) != "password" {
		t.Errorf("got %v", err)
	}
	done, err := use(token, another)
	if err != nil || len(done.GetDeviceTokens()) != 1 {
		t.Fatalf("got %v, %v", done, err)
	}
	if !ada.isOut() {
		t.Error("the session has not ended")
	}
	soon(t, func() error {
		if _, err := r.verifier.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
			return fault.Away(err)
		}
		return nil
	})
	for name, err := range map[string]error{
		"used again": errOf(use(token, another+"!")), "looked at": errOf(r.admins.GetPasswordReset(t.Context(), &authv1.GetPasswordResetRequest{Token: token})),
	} {
		if reason(err) != ReasonResetUsed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.signIn(ada.email, goodPassword, "", "192.0.2.1"); reason(err) != fault.ReasonInvalidCredentials {
		t.Errorf("the former password: %v", err)
	}
	if _, err := r.signIn(ada.email, another, "", "192.0.2.1"); err != nil {
		t.Error(err)
	}
	log := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Target: ada.id}))
	for _, want := range []string{
		"administrator.use_reset_link made_by: " + boss.id + ", address: 192.0.2.9, sessions_ended: 1", "administrator.create_reset_link name: Ada",
	} {
		if !slices.Contains(log, want) {
			t.Errorf("the audit log lacks %q: %q", want, log)
		}
	}
}

func withdrawReset(t *testing.T, r *replica, company string, boss *person, use func(token string, password string) (*authv1.UsePasswordResetResponse, error), another string) {
	t.Helper()
	for name, end := range map[string]func(ada, maker *person) error{
		"another link": func(ada, _ *person) error {
			return errOf(r.admins.CreatePasswordReset(boss.ctx(), &authv1.CreatePasswordResetRequest{Id: ada.id}))
		},
		"withdrawing": func(ada, _ *person) error {
			_ = errOf(r.admins.RevokePasswordReset(boss.ctx(), &authv1.RevokePasswordResetRequest{Id: ada.id}))
			return errOf(r.admins.RevokePasswordReset(boss.ctx(), &authv1.RevokePasswordResetRequest{Id: ada.id})) // a repeated call changes nothing
		},
		"changing the password": func(ada, _ *person) error {
			return errOf(r.admins.ChangePassword(ada.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: another}))
		},
		"an operator's reset": func(ada, _ *person) error {
			return errOf(r.admins.ResetAdministratorPassword(r.as(""), &authv1.ResetAdministratorPasswordRequest{Administrator: ada.email}))
		},
		"disabling its administrator": func(ada, _ *person) error {
			return errOf(r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Disabled: ptr(true)}))
		},
		"disabling its creator": func(_, maker *person) error {
			return errOf(r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: maker.id, Disabled: ptr(true)}))
		},
		"making its creator staff": func(_, maker *person) error {
			return errOf(r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: maker.id, Role: ptr(manager)}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ada, maker := r.administrator(company, manager), r.administrator(company, owner)
			made, err := r.admins.CreatePasswordReset(maker.ctx(), &authv1.CreatePasswordResetRequest{Id: ada.id})
			if err != nil {
				t.Fatal(err)
			}
			if err := end(ada, maker); err != nil {
				t.Fatal(err)
			}
			if _, err := use(made.GetToken(), another); !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func resetOfFormerOwner(t *testing.T, r *replica, company string, use func(token string, password string) (*authv1.UsePasswordResetResponse, error), another string) {
	t.Helper()
	ada, maker := r.administrator(company, manager), r.administrator(company, owner)
	made, err := r.admins.CreatePasswordReset(maker.ctx(), &authv1.CreatePasswordResetRequest{Id: ada.id})
	if err != nil {
		t.Fatal(err)
	}
	err = r.server.store.Write(t.Context(), companyID(t, company), func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, `update administrators set role = 'staff' where email = $1`, maker.email)
		if err == nil && tag.RowsAffected() != 1 {
			err = fault.Missing("administrator")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := use(made.GetToken(), another); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
}

func TestNoticesOfOthersActions(t *testing.T) { // invariants 8 and 15
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	boss := r.administrator(company, owner)

	t.Run("an administrator has notices of an owner's actions until they are read", func(t *testing.T) {
		ada := r.administrator(company, manager)
		ada.withTotp(time.Now())
		res, err := r.admins.DisableAdministratorTotp(boss.ctx(), &authv1.DisableAdministratorTotpRequest{Id: ada.id})
		if err != nil || res.GetAdministrator().GetTotpEnabled() {
			t.Fatalf("got %v, %v", res, err)
		}
		if _, err := r.admins.DisableAdministratorTotp(boss.ctx(), &authv1.DisableAdministratorTotpRequest{Id: ada.id}); err != nil {
			t.Errorf("a repeat: %v", err)
		}
		r.signedIn(ada.email, "") // a second browser
		ended, err := r.admins.EndAdministratorSessions(boss.ctx(), &authv1.EndAdministratorSessionsRequest{Id: ada.id})
		if err != nil || ended.GetEnded() != 2 || !ada.isOut() {
			t.Fatalf("got %v, %v", ended, err)
		}
		ada = r.signedIn(ada.email, "")
		want := []string{"Ada: administrator.disable_totp", "Ada: administrator.end_sessions"}
		for range 2 {
			if got := ada.notices(); !slices.Equal(got, want) {
				t.Errorf("got the notices %q", got)
			}
		}
		log := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Target: ada.id, Actor: boss.id}))
		if !slices.Equal(log, []string{"administrator.end_sessions name: Ada, sessions_ended: 2", "administrator.disable_totp name: Ada"}) {
			t.Errorf("the audit log has %q", log)
		}
		if _, err := r.admins.DismissNotices(ada.ctx(), &authv1.DismissNoticesRequest{}); err != nil || len(ada.notices()) != 2 {
			t.Errorf("without a moment: %v", err)
		}
		if _, err := r.admins.DismissNotices(ada.ctx(), &authv1.DismissNoticesRequest{Until: timestamppb.Now()}); err != nil || len(ada.notices()) != 0 {
			t.Errorf("they stay, or %v", err)
		}
	})
	t.Run("an administrator has notices of an ended session, a link and an operator's reset", func(t *testing.T) {
		ada := r.administrator(company, manager)
		other := r.signedIn(ada.email, "")
		list, err := r.admins.ListSessions(boss.ctx(), &authv1.ListSessionsRequest{AdministratorId: ada.id})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.admins.EndSession(boss.ctx(), &authv1.EndSessionRequest{Id: list.GetSessions()[0].GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.admins.CreatePasswordReset(boss.ctx(), &authv1.CreatePasswordResetRequest{Id: ada.id}); err != nil {
			t.Fatal(err)
		}
		if ada.isOut() {
			ada = other
		}
		if got := ada.notices(); !slices.Equal(got, []string{"Ada: session.end", "Ada: administrator.create_reset_link"}) {
			t.Errorf("got the notices %q", got)
		}
		if _, err := r.admins.ResetAdministratorPassword(r.as(""), &authv1.ResetAdministratorPasswordRequest{Administrator: ada.email, Password: goodPassword}); err != nil {
			t.Fatal(err)
		}
		if got := r.signedIn(ada.email, "").notices(); len(got) != 3 || got[2] != ": administrator.reset_password" {
			t.Errorf("got the notices %q", got)
		}
	})
	t.Run("an administrator has a notice of a new role, and none of their own actions", func(t *testing.T) {
		ada := r.administrator(company, manager)
		for range 2 { // a repeated call changes nothing
			if _, err := r.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Role: ptr(owner)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.admins.UpdateAdministrator(ada.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Name: ptr("Ada L.")}); err != nil {
			t.Fatal(err)
		}
		if got := ada.notices(); !slices.Equal(got, []string{"Ada: administrator.update"}) {
			t.Errorf("got the notices %q", got)
		}
	})
	t.Run("only the latest notices are kept", func(t *testing.T) {
		ada := r.administrator(company, manager)
		for range maxNotices + 5 {
			if _, err := r.admins.CreatePasswordReset(boss.ctx(), &authv1.CreatePasswordResetRequest{Id: ada.id}); err != nil {
				t.Fatal(err)
			}
		}
		if got := ada.notices(); len(got) != maxNotices {
			t.Errorf("got %d notices", len(got))
		}
	})
}

func TestChangesOfOthersAccounts(t *testing.T) { // invariants 8 and 15
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	boss := r.administrator(company, owner)

	t.Run("refuses the account's holder, another company and staff", func(t *testing.T) {
		ada, stranger := r.administrator(company, manager), r.administrator(r.company(), owner)
		calls := func(p *person, id string) map[string]error {
			ctx := p.ctx()
			return map[string]error{
				"get":      errOf(r.admins.GetAdministrator(ctx, &authv1.GetAdministratorRequest{Id: id})),
				"totp":     errOf(r.admins.DisableAdministratorTotp(ctx, &authv1.DisableAdministratorTotpRequest{Id: id})),
				"sessions": errOf(r.admins.EndAdministratorSessions(ctx, &authv1.EndAdministratorSessionsRequest{Id: id})),
				"link":     errOf(r.admins.CreatePasswordReset(ctx, &authv1.CreatePasswordResetRequest{Id: id})),
				"withdraw": errOf(r.admins.RevokePasswordReset(ctx, &authv1.RevokePasswordResetRequest{Id: id})),
			}
		}
		for name, err := range calls(stranger, ada.id) {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("another company's owner, %s: %v", name, err)
			}
		}
		for name, err := range calls(ada, boss.id) {
			if reason(err) != fault.ReasonInsufficientScope {
				t.Errorf("staff, %s: %v", name, err)
			}
		}
		for name, err := range calls(boss, boss.id) {
			if own := name != "get" && name != "withdraw"; own != (reason(err) == ReasonOwnAccount) {
				t.Errorf("the own, %s: %v", name, err)
			}
		}
		for name, err := range calls(boss, "admin_1") {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("malformed, %s: %v", name, err)
			}
		}
		if ada.isOut() || boss.isOut() {
			t.Error("a session has ended")
		}
	})
	t.Run("an account's holder can change its name", func(t *testing.T) {
		ada := r.administrator(company, manager)
		res, err := r.admins.UpdateProfile(ada.ctx(), &authv1.UpdateProfileRequest{Name: "  نورا 🧘 <b> "})
		if err != nil || res.GetAdministrator().GetName() != "نورا 🧘 <b>" {
			t.Errorf("got %v, %v", res, err)
		}
		for _, name := range []string{"", " ", strings.Repeat("x", 101), "a\x00b", "a\nb"} {
			if _, err := r.admins.UpdateProfile(ada.ctx(), &authv1.UpdateProfileRequest{Name: name}); fieldsOf(err) != "name" {
				t.Errorf("%q: %v", name, err)
			}
		}
		log := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Target: ada.id, Actor: ada.id}))
		if !slices.Contains(log, "administrator.update name: Ada → نورا 🧘 <b>") {
			t.Errorf("the audit log has %q", log)
		}
	})
	t.Run("the password allows replacing the recovery codes", func(t *testing.T) {
		ada := r.administrator(company, manager)
		if _, err := r.admins.RenewRecoveryCodes(ada.ctx(), &authv1.RenewRecoveryCodesRequest{Password: goodPassword}); reason(err) != ReasonTotpNotSetUp {
			t.Errorf("without TOTP: %v", err)
		}
		_, former := ada.withTotp(time.Now())
		if _, err := r.admins.RenewRecoveryCodes(ada.ctx(), &authv1.RenewRecoveryCodesRequest{Password: "wrong"}); reason(err) != ReasonWrongPassword {
			t.Errorf("a wrong password: %v", err)
		}
		res, err := r.admins.RenewRecoveryCodes(ada.ctx(), &authv1.RenewRecoveryCodesRequest{Password: goodPassword})
		if err != nil || len(res.GetRecoveryCodes()) != recoveryCodes {
			t.Fatalf("got %v, %v", res, err)
		}
		if _, err := r.finish(r.pending(ada.email), former[0]); reason(err) != ReasonInvalidTotpCode {
			t.Errorf("a former code: %v", err)
		}
		if _, err := r.finish(r.pending(ada.email), res.GetRecoveryCodes()[0]); err != nil {
			t.Error(err)
		}
	})
	t.Run("an account shows the TOTP secret again until it is confirmed", func(t *testing.T) {
		ada := r.administrator(company, manager)
		if _, err := r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Again: true}); reason(err) != ReasonTotpNotSetUp {
			t.Errorf("before there is one: %v", err)
		}
		made, err := r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Again: true})
		if err != nil || again.GetSecret() != made.GetSecret() || again.GetOtpauthUri() != made.GetOtpauthUri() {
			t.Errorf("got %v, %v", again, err)
		}
		if _, err := r.admins.ConfirmTotp(ada.ctx(), &authv1.ConfirmTotpRequest{Code: codeAt(t, made.GetSecret(), time.Now())}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Again: true}); reason(err) != ReasonTotpEnabled {
			t.Errorf("afterwards: %v", err)
		}
	})
}
