package auth

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// finish sends a code for a pending sign-in.
func (r *replica) finish(pending, code string, devices ...string) (*authv1.FinishSignInResponse, error) {
	return r.admins.FinishSignIn(r.t.Context(), &authv1.FinishSignInRequest{
		PendingToken: pending, TotpCode: code, Address: "192.0.2.1", UserAgent: "Firefox", DeviceTokens: devices,
	})
}

// pending starts a sign-in with the right password of an administrator with TOTP.
func (r *replica) pending(email string) string {
	r.t.Helper()
	res, err := r.signIn(email, goodPassword, "", "192.0.2.1")
	if err != nil || !res.GetTotpRequired() || len(res.GetPendingToken()) != 43 || res.GetSessionToken() != "" || len(res.GetDeviceTokens()) > 0 {
		r.t.Fatalf("got %v, %v", res, err)
	}
	return res.GetPendingToken()
}

func TestPendingSignIn(t *testing.T) { // invariant 14
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	at := time.Now()
	for _, r := range []*replica{one, two} {
		r.server.now = func() time.Time { return at }
	}
	company := one.company()
	// somebody returns an administrator with TOTP whose last code is an hour old.
	somebody := func() (*person, string) {
		p := one.administrator(company, manager)
		secret, _ := p.withTotp(at)
		at = at.Add(time.Hour)
		return p, secret
	}

	t.Run("becomes one session with a code, in any replica", func(t *testing.T) {
		ada, secret := somebody()
		waiting := one.pending(ada.email)
		code := codeAt(t, secret, at)
		in, err := two.finish(waiting, code)
		if err != nil || len(in.GetSessionToken()) != 43 || in.GetIdentity().GetAdministrator().GetId() != ada.id || in.GetIdentity().GetSession().GetAddress() != "192.0.2.1" {
			t.Fatalf("got %v, %v", in, err)
		}
		at = at.Add(totpPeriod)
		if _, err := one.finish(waiting, codeAt(t, secret, at)); reason(err) != ReasonSignInExpired {
			t.Errorf("a second time: %v", err)
		}
	})
	t.Run("becomes only one session after concurrent requests", func(t *testing.T) {
		ada, secret := somebody()
		waiting, code := one.pending(ada.email), codeAt(t, secret, at)
		var wg sync.WaitGroup
		answers := make([]error, 4)
		for i := range answers {
			wg.Go(func() { _, answers[i] = []*replica{one, two}[i%2].finish(waiting, code) })
		}
		wg.Wait()
		passed := 0
		for _, err := range answers {
			switch {
			case err == nil:
				passed++
			case reason(err) != ReasonSignInExpired:
				t.Errorf("got %v", err)
			}
		}
		if passed != 1 {
			t.Errorf("%d sessions", passed)
		}
	})
	t.Run("ends after five wrong codes, counted over all replicas", func(t *testing.T) {
		ada, secret := somebody()
		waiting := one.pending(ada.email)
		for i := range 4 {
			if _, err := []*replica{one, two}[i%2].finish(waiting, refusedCode(t, secret, at)); reason(err) != ReasonInvalidTotpCode {
				t.Fatalf("code %d: %v", i, err)
			}
		}
		if _, err := two.finish(waiting, refusedCode(t, secret, at)); reason(err) != ReasonSignInExpired {
			t.Errorf("the fifth: %v", err)
		}
		at = at.Add(time.Minute) // codes are delayed too
		if _, err := one.finish(waiting, codeAt(t, secret, at)); reason(err) != ReasonSignInExpired {
			t.Errorf("a right one after it: %v", err)
		}
		refused := one.entries(company, &authv1.ListAuditEntriesRequest{Action: "session.refuse", Actor: ada.id})
		if len(refused) != 5 {
			t.Errorf("the audit log has %q", spelled(refused))
		}
		if _, err := one.finish(one.pending(ada.email), codeAt(t, secret, at)); err != nil {
			t.Errorf("from the beginning: %v", err)
		}
	})
	t.Run("ends after five minutes", func(t *testing.T) {
		ada, secret := somebody()
		waiting := one.pending(ada.email)
		at = at.Add(pendingLifetime - time.Second)
		if _, err := one.finish(waiting, refusedCode(t, secret, at)); reason(err) != ReasonInvalidTotpCode {
			t.Errorf("just before: %v", err)
		}
		at = at.Add(time.Second)
		if _, err := one.finish(waiting, codeAt(t, secret, at)); reason(err) != ReasonSignInExpired {
			t.Errorf("got %v", err)
		}
		if err := one.server.sweepOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := pg.Rows[int](t.Context(), w.db, pg.AllCompanies(), `select 1 from pending_sign_ins where administrator_id = (select id from administrators where email = $1)`, ada.email)
		if err != nil || len(left) != 0 {
			t.Errorf("%d are left, %v", len(left), err)
		}
	})
}

func TestPendingSignInEnds(t *testing.T) { // invariant 14
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	at := time.Now()
	for _, r := range []*replica{one, two} {
		r.server.now = func() time.Time { return at }
	}
	company := one.company()
	// somebody returns an administrator with TOTP whose last code is an hour old.
	somebody := func() (*person, string) {
		p := one.administrator(company, manager)
		secret, _ := p.withTotp(at)
		at = at.Add(time.Hour)
		return p, secret
	}

	t.Run("the audit log records a sign-in for which no code arrives", func(t *testing.T) {
		ada, _ := somebody()
		for range maxPending + 1 { // one more than the limit
			one.pending(ada.email)
			at = at.Add(time.Second)
		}
		abandoned := func() []string {
			return spelled(one.entries(company, &authv1.ListAuditEntriesRequest{Action: "session.refuse", Actor: ada.id}))
		}
		const entry = "session.refuse reason: no code, address: 192.0.2.1"
		if got := abandoned(); !slices.Equal(got, []string{entry}) {
			t.Errorf("at first %q", got)
		}
		at = at.Add(pendingLifetime)
		for range 2 {
			if err := one.server.sweepOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := abandoned(); len(got) != maxPending+1 || got[0] != entry {
			t.Errorf("at the end %q", got)
		}
		one.pending(ada.email)
		if _, err := one.admins.ChangePassword(ada.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: goodPassword + "!"}); err != nil {
			t.Fatal(err)
		}
		if got := abandoned(); len(got) != maxPending+2 {
			t.Errorf("after the password was changed %q", got)
		}
	})
	t.Run("ends when the password, TOTP or sessions change", func(t *testing.T) { changesThatEndPendingSignIn(t, one, at, company) })
	t.Run("an administrator has at most five pending sign-ins", func(t *testing.T) {
		ada, secret := somebody()
		oldest := one.pending(ada.email)
		for range maxPending {
			at = at.Add(time.Second)
			one.pending(ada.email)
		}
		if _, err := one.finish(oldest, codeAt(t, secret, at)); reason(err) != ReasonSignInExpired {
			t.Errorf("the oldest: %v", err)
		}
	})
	t.Run("a pending sign-in cannot be finished without its token", func(t *testing.T) {
		ada, secret := somebody()
		one.pending(ada.email)
		for _, raw := range []string{"", "unknown", ada.session, strings.Repeat("x", 4096), "a\x00b"} {
			if _, err := one.finish(raw, codeAt(t, secret, at)); reason(err) != ReasonSignInExpired {
				t.Errorf("got %v", err)
			}
		}
		if _, err := one.finish(one.pending(ada.email), ""); fieldsOf(err) != "totp_code" {
			t.Errorf("without a code: %v", err)
		}
		for _, long := range []string{strings.Repeat("9", 100), "١٢٣٤٥٦", "🧘", "<script>"} {
			at = at.Add(time.Minute)
			if _, err := one.finish(one.pending(ada.email), long); reason(err) != ReasonInvalidTotpCode {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("keeps only the hash of its token", func(t *testing.T) {
		ada, _ := somebody()
		waiting := one.pending(ada.email)
		for _, table := range []string{"pending_sign_ins", "audit_log", "outbox", "sign_in_failures"} {
			kept, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), "select coalesce(string_agg(t::text, ' '), '') from "+table+" t")
			if err != nil || strings.Contains(kept[0], waiting) {
				t.Errorf("%s has it, or %v", table, err)
			}
		}
		if strings.Contains(w.log.String(), waiting) {
			t.Error("the log has it")
		}
	})
}

func changesThatEndPendingSignIn(t *testing.T, one *replica, at time.Time, company string) {
	t.Helper()
	boss := one.administrator(company, owner)
	for name, change := range map[string]func(ada *person) error{
		"a changed password": func(ada *person) error {
			return errOf(one.admins.ChangePassword(ada.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: goodPassword + "!"}))
		},
		"a reset password": func(ada *person) error {
			return errOf(one.admins.ResetAdministratorPassword(one.as(""), &authv1.ResetAdministratorPasswordRequest{Administrator: ada.email}))
		},
		"disabling": func(ada *person) error {
			return errOf(one.admins.UpdateAdministrator(boss.ctx(), &authv1.UpdateAdministratorRequest{Id: ada.id, Disabled: ptr(true)}))
		},
		"turning TOTP off": func(ada *person) error {
			return errOf(one.admins.DisableTotp(ada.ctx(), &authv1.DisableTotpRequest{Password: goodPassword}))
		},
		"ending the other sessions": func(ada *person) error {
			return errOf(one.admins.EndOtherSessions(ada.ctx(), &authv1.EndOtherSessionsRequest{}))
		},
		"ending all sessions": func(ada *person) error {
			return errOf(one.admins.EndAdministratorSessions(boss.ctx(), &authv1.EndAdministratorSessionsRequest{Id: ada.id}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ada := one.administrator(company, manager)
			secret, _ := ada.withTotp(at)
			waiting := one.pending(ada.email)
			if err := change(ada); err != nil {
				t.Fatal(err)
			}
			if _, err := one.finish(waiting, codeAt(t, secret, at.Add(totpPeriod))); reason(err) != ReasonSignInExpired {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestKnownBrowsers(t *testing.T) { // invariant 10
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	at := time.Now()
	for _, r := range []*replica{one, two} {
		r.server.now = func() time.Time { return at }
	}
	company := one.company()
	const office = "192.0.2.50"
	try := func(email, password, address string, devices ...string) (*authv1.SignInResponse, error) {
		return one.admins.SignIn(t.Context(), &authv1.SignInRequest{Email: email, Password: password, Address: address, DeviceTokens: devices})
	}
	known := func(p *person) string {
		t.Helper()
		res, err := try(p.email, goodPassword, "198.51.100.1")
		if err != nil || len(res.GetDeviceTokens()) != 1 {
			t.Fatalf("got %v, %v", res, err)
		}
		return res.GetDeviceTokens()[0]
	}
	// besiege guesses for one address from an unknown browser until attempts are delayed by half a
	// minute, and then uses every possible attempt.
	besiege := func(email string) {
		t.Helper()
		for range 40 {
			_, _ = try(email, "a guess", office)
			at = at.Add(time.Second)
		}
		if _, err := try(email, "a guess", office); !fault.Is(err, fault.RateLimited) {
			t.Fatalf("the stranger is let through: %v", err)
		}
	}

	t.Run("guesses from unknown browsers do not delay known ones, even in the same network", func(t *testing.T) { knownInTheSameNetwork(t, one, two, company, office, try, known, besiege) })
	t.Run("guessed codes do not delay known browsers", func(t *testing.T) {
		ada := one.administrator(company, owner)
		secret, _ := ada.withTotp(at)
		at = at.Add(time.Hour)
		first, err := one.finish(one.pending(ada.email), codeAt(t, secret, at))
		if err != nil || len(first.GetDeviceTokens()) != 1 {
			t.Fatalf("got %v, %v", first, err)
		}
		for range 6 { // somebody else who has the password
			_, _ = one.finish(one.pending(ada.email), refusedCode(t, secret, at))
		}
		if _, err := one.finish(one.pending(ada.email), refusedCode(t, secret, at)); !fault.Is(err, fault.RateLimited) {
			t.Fatalf("got %v", err)
		}
		waiting := one.pending(ada.email)
		at = at.Add(totpPeriod)
		if _, err := one.finish(waiting, codeAt(t, secret, at), first.GetDeviceTokens()...); err != nil {
			t.Error(err)
		}
	})
	t.Run("a known browser can guess only slowly", func(t *testing.T) { guessInKnownBrowser(t, one, two, company, try, known) })
	t.Run("a browser is known only for the administrators who have signed in with it", func(t *testing.T) { knownToTheirAdministrators(t, one, company, office, try, known, besiege) })
	t.Run("several administrators can share a known browser", func(t *testing.T) {
		var kept []string
		var people []*person
		for range keptDevices + 1 {
			p := one.administrator(company, manager)
			at = at.Add(time.Minute)
			res, err := try(p.email, goodPassword, "192.0.2.60", kept...)
			if err != nil {
				t.Fatal(err)
			}
			people, kept = append(people, p), res.GetDeviceTokens()
		}
		if len(kept) != keptDevices {
			t.Fatalf("%d tokens", len(kept))
		}
		for i, p := range people {
			besiege(p.email)
			_, err := try(p.email, goodPassword, office, kept...)
			if isKnown := err == nil; isKnown != (i > 0) {
				t.Errorf("person %d: %v", i, err)
			}
		}
	})
	t.Run("a browser is unknown after a change of password, and after half a year", func(t *testing.T) {
		ada := one.administrator(company, owner)
		former := known(ada)
		at = at.Add(time.Second)
		changed, err := one.admins.ChangePassword(ada.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: goodPassword + "2", DeviceTokens: []string{former}})
		if err != nil || len(changed.GetDeviceTokens()) != 1 || changed.GetDeviceTokens()[0] == former {
			t.Fatalf("got %v, %v", changed, err)
		}
		besiege(ada.email)
		if _, err := try(ada.email, goodPassword+"2", office, former); !fault.Is(err, fault.RateLimited) {
			t.Errorf("the former token: %v", err)
		}
		res, err := try(ada.email, goodPassword+"2", office, changed.GetDeviceTokens()...)
		if err != nil {
			t.Fatalf("the new token: %v", err)
		}
		at = at.Add(deviceRenewed)
		renewed, err := try(ada.email, goodPassword+"2", office, res.GetDeviceTokens()...)
		if err != nil || len(renewed.GetDeviceTokens()) != 1 || renewed.GetDeviceTokens()[0] == res.GetDeviceTokens()[0] {
			t.Errorf("after a month: %v, %v", renewed, err)
		}
		at = at.Add(deviceLifetime)
		besiege(ada.email)
		if _, err := try(ada.email, goodPassword+"2", office, renewed.GetDeviceTokens()...); !fault.Is(err, fault.RateLimited) {
			t.Errorf("after half a year: %v", err)
		}
	})
	t.Run("guesses do not delay a signed-in administrator", func(t *testing.T) {
		ada := one.administrator(company, owner)
		besiege(ada.email)
		if _, err := one.admins.ChangePassword(ada.ctx(), &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: goodPassword + "3", Address: office}); err != nil {
			t.Error(err)
		}
	})
}

func knownInTheSameNetwork(t *testing.T, one *replica, two *replica, company string, office string, try func(email string, password string, address string, devices ...string) (*authv1.SignInResponse, error), known func(p *person) string, besiege func(email string)) {
	t.Helper()
	ada := one.administrator(company, owner)
	browser := known(ada)
	for range 60 { // the count of the network is at its limit too
		_, _ = try(email(), "a guess", office)
	}
	besiege(ada.email)
	if _, err := try(ada.email, goodPassword, office); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a right password from a browser that is not known tells the guesser: %v", err)
	}
	for range 3 {
		res, err := two.admins.SignIn(t.Context(), &authv1.SignInRequest{Email: ada.email, Password: goodPassword, Address: office, DeviceTokens: []string{browser}})
		if err != nil || len(res.GetDeviceTokens()) != 1 || res.GetDeviceTokens()[0] != browser {
			t.Fatalf("got %v, %v", res, err)
		}
	}
}

func guessInKnownBrowser(t *testing.T, one *replica, two *replica, company string, try func(email string, password string, address string, devices ...string) (*authv1.SignInResponse, error), known func(p *person) string) {
	t.Helper()
	ada := one.administrator(company, owner)
	browser := known(ada)
	for i := range 5 {
		if _, err := try(ada.email, "wrong", "192.0.2."+string(rune('1'+i)), browser); reason(err) != fault.ReasonInvalidCredentials {
			t.Fatalf("failure %d: %v", i, err)
		}
	}
	if _, err := two.admins.SignIn(t.Context(), &authv1.SignInRequest{Email: ada.email, Password: "wrong", Address: "192.0.2.99", DeviceTokens: []string{browser}}); !fault.Is(err, fault.RateLimited) {
		t.Errorf("got %v", err)
	}
	if _, err := try(ada.email, goodPassword, "192.0.2.99"); err != nil {
		t.Errorf("whoever has the token locks the owner out: %v", err)
	}
}

func knownToTheirAdministrators(t *testing.T, one *replica, company string, office string, try func(email string, password string, address string, devices ...string) (*authv1.SignInResponse, error), known func(p *person) string, besiege func(email string)) {
	t.Helper()
	ada, eve := one.administrator(company, owner), one.administrator(company, manager)
	hers := known(eve)
	besiege(ada.email)
	for name, token := range map[string]string{
		"another's": hers, "a made-up one": strings.Repeat("A", 100), "a long one": strings.Repeat("A", 500), "a session's": ada.session, "none": "",
		"a damaged one": hers[:len(hers)-2] + "AA",
	} {
		if _, err := try(ada.email, goodPassword, office, token); !fault.Is(err, fault.RateLimited) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := slices.Repeat([]string{hers}, maxDevices)
	if _, err := try(ada.email, goodPassword, office, many...); !fault.Is(err, fault.RateLimited) {
		t.Errorf("many: %v", err)
	}
	if _, err := try(ada.email, goodPassword, office, append(many, hers)...); fieldsOf(err) != "device_tokens" {
		t.Errorf("too many: %v", err)
	}
}
