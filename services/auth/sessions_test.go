package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestSignIn(t *testing.T) { // invariants 9 and 10
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	company := r.company()
	ada := r.administrator(company, owner)

	t.Run("returns a session and its administrator", func(t *testing.T) {
		res, err := r.signIn(strings.ToUpper(" "+ada.email), goodPassword, "", "192.0.2.7")
		if err != nil {
			t.Fatal(err)
		}
		in := res.GetIdentity()
		if len(res.GetSessionToken()) != 43 || in.GetAdministrator().GetId() != ada.id || in.GetCompany().GetId() != company ||
			in.GetSession().GetAddress() != "192.0.2.7" || in.GetSession().GetUserAgent() != "Firefox" || !in.GetSession().GetCurrent() {
			t.Errorf("got %v", res)
		}
		claims, err := r.verifier.Verify(t.Context(), in.GetAccessToken())
		if err != nil {
			t.Fatal(err)
		}
		if claims.Subject != ada.id || claims.Kind != token.KindAdministrator || claims.Session != in.GetSession().GetId() ||
			claims.Zone != "Europe/London" || !slices.Equal(claims.Scopes, roles.Owner.Scopes()) || time.Until(claims.ExpiresAt) > accessTokenLifetime {
			t.Errorf("got %+v", claims)
		}
	})
	t.Run("returns the same response for every cause", func(t *testing.T) {
		gone := r.administrator(company, manager)
		if _, err := r.admins.UpdateAdministrator(r.as(company), &authv1.UpdateAdministratorRequest{Id: gone.id, Disabled: ptr(true)}); err != nil {
			t.Fatal(err)
		}
		var answers []string
		for _, try := range []struct{ email, password string }{{ada.email, "wrong"}, {email(), goodPassword}, {gone.email, goodPassword}, {"no address", "x"}, {"a\x00b@example.com", "x\x00"}} {
			_, err := r.signIn(try.email, try.password, "", "192.0.2.8")
			if !fault.Is(err, fault.Unauthenticated) || reason(err) != fault.ReasonInvalidCredentials {
				t.Errorf("%s: got %v", try.email, err)
			}
			answers = append(answers, fault.From(err).Message)
		}
		if slices.Sort(answers); len(slices.Compact(answers)) != 1 {
			t.Errorf("the answers differ: %q", answers)
		}
	})
	t.Run("requires an address and a password", func(t *testing.T) {
		_, err := r.signIn("", "", "", "")
		if f := fault.From(err); f == nil || f.Reason != fault.ReasonValidation || len(f.Fields) != 2 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("replaces a hash that is weaker than the current cost", func(t *testing.T) {
		eve := r.administrator(company, manager)
		kept := func() string {
			a, err := r.server.store.administratorByEmail(t.Context(), eve.email)
			if err != nil {
				t.Fatal(err)
			}
			return a.PasswordHash
		}
		before := kept()
		r.signedIn(eve.email, "")
		if kept() != before {
			t.Fatal("a hash of the current cost is replaced")
		}
		former := r.server.passwords
		r.server.passwords = newPasswords(passwordCost{memory: 128, passes: 2})
		defer func() { r.server.passwords = former }()
		r.signedIn(eve.email, "")
		if !strings.HasPrefix(kept(), "$argon2id$v=19$m=128,t=2,p=1$") {
			t.Errorf("kept %s, was %s", kept(), before)
		}
		r.signedIn(eve.email, "")
	})
	t.Run("stores neither password nor session token", func(t *testing.T) {
		for _, table := range []string{"administrators", "sessions", "audit_log", "outbox", "sign_in_failures"} {
			kept, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), "select coalesce(string_agg(t::text, ' '), '') from "+table+" t")
			if err != nil || strings.Contains(kept[0], goodPassword) || strings.Contains(kept[0], ada.session) {
				t.Errorf("%s contains one of them, or %v", table, err)
			}
		}
		if log := w.log.String(); strings.Contains(log, goodPassword) || strings.Contains(log, ada.session) {
			t.Error("the log contains one of them")
		}
	})
}

func TestSignInThrottle(t *testing.T) { // invariant 10
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	at := time.Now()
	for _, r := range []*replica{one, two} {
		r.server.now = func() time.Time { return at }
	}
	ada := one.administrator(one.company(), owner)
	wrong := func(r *replica, email, address string) error {
		_, err := r.signIn(email, "wrong password", "", address)
		return err
	}

	t.Run("delays the attempts for one e-mail address from one network, across all replicas", func(t *testing.T) {
		for i := range 5 {
			if err := wrong([]*replica{one, two}[i%2], ada.email, "192.0.2.10"); reason(err) != fault.ReasonInvalidCredentials {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		err := wrong(two, ada.email, "192.0.2.10")
		if f := fault.From(err); f == nil || f.Kind != fault.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > time.Second {
			t.Fatalf("got %v", err)
		}
		at = at.Add(time.Second)
		if err := wrong(one, strings.ToUpper(ada.email), "192.0.2.10"); reason(err) != fault.ReasonInvalidCredentials {
			t.Fatalf("after the pause: %v", err)
		}
	})
	t.Run("does not check a password that arrives too early, even if it is right", func(t *testing.T) {
		if _, err := one.signIn(ada.email, goodPassword, "", "192.0.2.10"); !fault.Is(err, fault.RateLimited) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("does not block the owner elsewhere, and here for at most half a minute", func(t *testing.T) {
		if _, err := one.signIn(ada.email, goodPassword, "", "192.0.2.11"); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			at = at.Add(31 * time.Second)
			if err := wrong(one, ada.email, "192.0.2.10"); reason(err) != fault.ReasonInvalidCredentials {
				t.Fatal(err)
			}
		}
		at = at.Add(30 * time.Second)
		if _, err := two.signIn(ada.email, goodPassword, "", "192.0.2.10"); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if err := wrong(one, ada.email, "192.0.2.10"); reason(err) != fault.ReasonInvalidCredentials {
				t.Fatalf("failure %d after the success: %v", i, err)
			}
		}
	})
	t.Run("counts concurrent guesses", func(t *testing.T) {
		var wg sync.WaitGroup
		answers := make([]error, 40)
		for i := range answers {
			wg.Go(func() { answers[i] = wrong([]*replica{one, two}[i%2], "victim@example.com", "192.0.2.12") })
		}
		wg.Wait()
		looked := 0
		for _, err := range answers {
			switch reason(err) {
			case fault.ReasonInvalidCredentials:
				looked++
			case fault.ReasonRateLimitExceeded:
			default:
				t.Errorf("got %v", err)
			}
		}
		if looked != 5 {
			t.Errorf("%d of %d guesses were checked", looked, len(answers))
		}
	})
	t.Run("counts the attempts for all e-mail addresses from one network", func(t *testing.T) {
		refused := 0
		for range 60 {
			if err := wrong(one, email(), "192.0.2.13"); fault.Is(err, fault.RateLimited) {
				refused++
			}
		}
		if refused != 10 {
			t.Errorf("%d of 60 are refused", refused)
		}
	})
	t.Run("forgets failures after a quarter of an hour", func(t *testing.T) {
		at = at.Add(failuresForgotten + time.Second)
		for i := range 5 {
			if err := wrong(one, "victim@example.com", "192.0.2.12"); reason(err) != fault.ReasonInvalidCredentials {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		at = at.Add(failuresForgotten + time.Second)
		if err := one.server.sweepOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := w.db.Pool().QueryRow(t.Context(), `select count(*) from sign_in_failures`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d are left, %v", left, err)
		}
	})
}

func TestSessions(t *testing.T) { // invariants 3 and 9
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	company := one.company()

	// Each ends the session of second, another browser of the administrator.
	endings := map[string]func(first, second *person) error{
		"signing out": func(_, second *person) error {
			_, err := one.admins.SignOut(t.Context(), &authv1.SignOutRequest{SessionToken: second.session})
			return err
		},
		"ending it": func(first, second *person) error {
			res, err := one.admins.ListSessions(first.ctx(), &authv1.ListSessionsRequest{})
			if err != nil || len(res.GetSessions()) != 2 {
				return fmt.Errorf("%v, %w", res, err)
			}
			i := slices.IndexFunc(res.GetSessions(), func(s *authv1.Session) bool { return !s.GetCurrent() })
			_, err = one.admins.EndSession(first.ctx(), &authv1.EndSessionRequest{Id: res.GetSessions()[i].GetId()})
			return err
		},
		"ending all others": func(first, _ *person) error {
			res, err := one.admins.EndOtherSessions(first.ctx(), &authv1.EndOtherSessionsRequest{})
			if res.GetEnded() != 1 {
				t.Errorf("ended %d", res.GetEnded())
			}
			return err
		},
		"changing the password": func(first, _ *person) error {
			_, err := one.admins.ChangePassword(first.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: goodPassword + "!"})
			return err
		},
		"resetting the password": func(_, second *person) error {
			_, err := one.admins.ResetAdministratorPassword(one.as(""), &authv1.ResetAdministratorPasswordRequest{Administrator: strings.ToUpper(second.email)})
			return err
		},
		"disabling": func(_, second *person) error {
			_, err := one.admins.UpdateAdministrator(one.as(company), &authv1.UpdateAdministratorRequest{Id: second.id, Disabled: ptr(true)})
			return err
		},
	}
	for name, end := range endings {
		t.Run("end by "+name+", and so do their access tokens", func(t *testing.T) {
			first := one.administrator(company, manager)
			second := two.signedIn(first.email, "")
			raw := second.access()
			for _, v := range []*token.Verifier{one.verifier, two.verifier} {
				soon(t, func() error { _, err := v.Verify(t.Context(), raw); return err })
			}
			if err := end(first, second); err != nil {
				t.Fatal(err)
			}
			for i, v := range []*token.Verifier{one.verifier, two.verifier} {
				soon(t, func() error {
					if _, err := v.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
						return errors.Join(fmt.Errorf("verifier %d still accepts", i), err)
					}
					return nil
				})
			}
			if !second.isOut() {
				t.Error("the session has not ended")
			}
			stays := name != "resetting the password" && name != "disabling"
			if first.isOut() == stays {
				t.Errorf("the other session stays: %v, want %v", !stays, stays)
			}
			if stays {
				if _, err := two.verifier.Verify(t.Context(), first.access()); err != nil {
					t.Errorf("the access token that the other session gets now: %v", err)
				}
			}
		})
	}
	t.Run("sessions end when they are idle or too old", func(t *testing.T) { idleSessions(t, w, company) })
	t.Run("callers manage their own sessions, and owners those of their company", func(t *testing.T) { sessionsOfOthers(t, one, company) })
	t.Run("refuses callers who are not administrators", func(t *testing.T) {
		clientID, secret := one.client(company)
		ctx := with(t.Context(), one.token(clientID, secret))
		_, list := one.admins.ListSessions(ctx, &authv1.ListSessionsRequest{})
		_, others := one.admins.EndOtherSessions(ctx, &authv1.EndOtherSessionsRequest{})
		_, password := one.admins.ChangePassword(ctx, &authv1.ChangePasswordRequest{})
		_, setup := one.admins.SetupTotp(ctx, &authv1.SetupTotpRequest{})
		_, confirm := one.admins.ConfirmTotp(ctx, &authv1.ConfirmTotpRequest{})
		_, disable := one.admins.DisableTotp(ctx, &authv1.DisableTotpRequest{})
		for i, err := range []error{list, others, password, setup, confirm, disable} {
			if reason(err) != fault.ReasonForbidden {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
	t.Run("a session with an unknown token counts as ended, and signing out of it changes nothing", func(t *testing.T) {
		for _, raw := range []string{"", "unknown"} {
			if _, err := one.admins.Authenticate(t.Context(), &authv1.AuthenticateRequest{SessionToken: raw}); reason(err) != ReasonSessionEnded {
				t.Errorf("got %v", err)
			}
			if _, err := one.admins.SignOut(t.Context(), &authv1.SignOutRequest{SessionToken: raw}); err != nil {
				t.Errorf("got %v", err)
			}
		}
	})
}

func idleSessions(t *testing.T, w *world, company string) {
	t.Helper()
	r := w.start()
	at := time.Now()
	r.server.now = func() time.Time { return at }
	ada := r.administrator(company, manager)
	for range 27 { // 11 and a half hours each: 12 days and 22 hours in all
		at = at.Add(11*time.Hour + 30*time.Minute)
		if ada.isOut() {
			t.Fatal("a session in use has ended")
		}
	}
	idle := r.signedIn(ada.email, "")
	at = at.Add(12*time.Hour + time.Minute)
	if !idle.isOut() {
		t.Error("an idle session has not ended")
	}
	res, err := r.admins.ListSessions(r.as(company), &authv1.ListSessionsRequest{AdministratorId: ada.id})
	if err != nil || len(res.GetSessions()) != 0 {
		t.Errorf("ended sessions are listed: %v, %v", res, err)
	}
	busy := r.signedIn(ada.email, "")
	for range 29 {
		at = at.Add(11*time.Hour + 30*time.Minute)
		_ = busy.isOut()
	}
	at = at.Add(3 * time.Hour)
	if !busy.isOut() {
		t.Error("a session lasts more than 14 days")
	}
	if err := r.server.sweepOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := pg.Rows[int](t.Context(), w.db, pg.AllCompanies(), `select 1 from sessions where expires_at <= $1 or last_used_at <= $2`, at, at.Add(-12*time.Hour))
	if err != nil || len(left) != 0 {
		t.Errorf("%d are left, %v", len(left), err)
	}
}

func sessionsOfOthers(t *testing.T, one *replica, company string) {
	t.Helper()
	boss, ada, bob := one.administrator(company, owner), one.administrator(company, manager), one.administrator(company, manager)
	stranger := one.administrator(one.company(), owner)
	list := func(p *person, of string) ([]*authv1.Session, error) {
		res, err := one.admins.ListSessions(p.ctx(), &authv1.ListSessionsRequest{AdministratorId: of})
		return res.GetSessions(), err
	}
	own, err := list(ada, "")
	if err != nil || len(own) != 1 || own[0].GetAdministratorId() != ada.id || !own[0].GetCurrent() {
		t.Fatalf("got %v, %v", own, err)
	}
	if _, err := list(bob, ada.id); reason(err) != fault.ReasonInsufficientScope {
		t.Errorf("a colleague's: %v", err)
	}
	if _, err := list(stranger, ada.id); !fault.Is(err, fault.NotFound) {
		t.Errorf("another company's session: %v", err)
	}
	for name, p := range map[string]*person{"a colleague": bob, "another company's owner": stranger} {
		if _, err := one.admins.EndSession(p.ctx(), &authv1.EndSessionRequest{Id: own[0].GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s ends it: %v", name, err)
		}
	}
	if seen, err := list(boss, ada.id); err != nil || len(seen) != 1 || seen[0].GetCurrent() {
		t.Errorf("the owner sees %v, %v", seen, err)
	}
	if _, err := one.admins.EndSession(boss.ctx(), &authv1.EndSessionRequest{Id: own[0].GetId()}); err != nil || !ada.isOut() {
		t.Errorf("the owner cannot end it: %v", err)
	}
	if _, err := one.admins.EndSession(boss.ctx(), &authv1.EndSessionRequest{Id: own[0].GetId()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a repeat: %v", err)
	}
}
