package auth

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/seal"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestTotp(t *testing.T) { // invariant 11
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now()
	r.server.now = func() time.Time { return at }
	company := r.company()

	t.Run("codes are required only after TOTP is confirmed", func(t *testing.T) {
		ada := r.administrator(company, manager)
		if _, err := r.admins.ConfirmTotp(ada.ctx(), &authv1.ConfirmTotpRequest{Code: "000000"}); reason(err) != ReasonTotpNotSetUp {
			t.Errorf("without a secret: %v", err)
		}
		first, err := r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		uri, err := url.Parse(first.GetOtpauthUri())
		if err != nil || uri.Scheme != "otpauth" || uri.Query().Get("secret") != first.GetSecret() || uri.Query().Get("issuer") != "Studio" ||
			!strings.HasSuffix(uri.Path, ada.email) {
			t.Errorf("got %v, %v", first, err)
		}
		r.signedIn(ada.email, "") // not required yet
		second, err := r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.admins.ConfirmTotp(ada.ctx(), &authv1.ConfirmTotpRequest{Code: codeAt(t, first.GetSecret(), at)}); reason(err) != ReasonInvalidTotpCode {
			t.Errorf("a code of the secret that was replaced: %v", err)
		}
		confirmed, err := r.admins.ConfirmTotp(ada.ctx(), &authv1.ConfirmTotpRequest{Code: codeAt(t, second.GetSecret(), at)})
		if err != nil || len(confirmed.GetRecoveryCodes()) != recoveryCodes {
			t.Fatalf("got %v, %v", confirmed, err)
		}
		for name, err := range map[string]error{
			"SetupTotp":   errOf(r.admins.SetupTotp(ada.ctx(), &authv1.SetupTotpRequest{Password: goodPassword})),
			"ConfirmTotp": errOf(r.admins.ConfirmTotp(ada.ctx(), &authv1.ConfirmTotpRequest{Code: codeAt(t, second.GetSecret(), at)})),
		} {
			if reason(err) != ReasonTotpEnabled {
				t.Errorf("%s again: %v", name, err)
			}
		}
		res, err := r.signIn(ada.email, goodPassword, "", "192.0.2.1")
		if err != nil || !res.GetTotpRequired() || res.GetSessionToken() != "" || res.GetIdentity() != nil {
			t.Errorf("got %v, %v", res, err)
		}
		if res, err := r.signIn(ada.email, "wrong", "", "192.0.2.1"); reason(err) != fault.ReasonInvalidCredentials {
			t.Errorf("the response to a wrong password asks for a code: %v, %v", res, err)
		}
	})
	t.Run("accepts each code once, even concurrently, and no older code", func(t *testing.T) {
		ada := r.administrator(company, manager)
		secret, _ := ada.withTotp(at)
		try := func(code string) error {
			_, err := r.signIn(ada.email, goodPassword, code, "192.0.2.1")
			return err
		}
		if err := try(codeAt(t, secret, at)); reason(err) != ReasonInvalidTotpCode {
			t.Errorf("the code that confirmed: %v", err)
		}
		at = at.Add(totpPeriod)
		code, before := codeAt(t, secret, at), codeAt(t, secret, at.Add(-totpPeriod))
		var wg sync.WaitGroup
		answers := make([]error, 4)
		for i := range answers {
			wg.Go(func() { answers[i] = try(code) })
		}
		wg.Wait()
		passed := 0
		for _, err := range answers {
			if err == nil {
				passed++
			} else if reason(err) != ReasonInvalidTotpCode {
				t.Errorf("got %v", err)
			}
		}
		if passed != 1 {
			t.Errorf("one code was taken %d times", passed)
		}
		at = at.Add(time.Minute / 4)
		if err := try(before); reason(err) != ReasonInvalidTotpCode && !fault.Is(err, fault.RateLimited) {
			t.Errorf("the one before: %v", err)
		}
		at = at.Add(2 * time.Minute)
		next := codeAt(t, secret, at.Add(totpPeriod))
		if err := try(next[:3] + " " + next[3:]); err != nil {
			t.Errorf("the one of a phone that is fast: %v", err)
		}
		at = at.Add(3 * time.Minute)
		if err := try(codeAt(t, secret, at.Add(-2*totpPeriod))); reason(err) != ReasonInvalidTotpCode {
			t.Errorf("one of a minute ago: %v", err)
		}
	})
}

func TestTotpRecovery(t *testing.T) { // invariant 11
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now()
	r.server.now = func() time.Time { return at }
	company := r.company()

	t.Run("accepts each recovery code once, in any spelling", func(t *testing.T) {
		ada := r.administrator(company, manager)
		_, recovery := ada.withTotp(at)
		typed := strings.ToUpper(strings.ReplaceAll(recovery[3], "-", " "))
		in, err := r.signIn(ada.email, goodPassword, typed, "192.0.2.1")
		if err != nil || in.GetIdentity().GetAdministrator().GetRecoveryCodesLeft() != recoveryCodes-1 {
			t.Fatalf("got %v, %v", in, err)
		}
		if _, err := r.signIn(ada.email, goodPassword, recovery[3], "192.0.2.1"); reason(err) != ReasonInvalidTotpCode {
			t.Errorf("a second time: %v", err)
		}
	})
	t.Run("delays guessed codes from any address, and records them in the audit log", func(t *testing.T) {
		ada := r.administrator(company, manager)
		secret, _ := ada.withTotp(at)
		at = at.Add(time.Hour)
		guess := func(i int) error {
			_, err := r.signIn(ada.email, goodPassword, "abcdef", "192.0.2."+string(rune('1'+i)))
			return err
		}
		for i := range 5 {
			if err := guess(i); reason(err) != ReasonInvalidTotpCode {
				t.Fatalf("guess %d: %v", i, err)
			}
		}
		if err := guess(6); !fault.Is(err, fault.RateLimited) {
			t.Errorf("got %v", err)
		}
		refused := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Action: "session.refuse", Actor: ada.id}))
		if len(refused) != 5 || refused[4] != "session.refuse reason: wrong code, address: 192.0.2.1" {
			t.Errorf("got %q", refused)
		}
		for range 6 { // a code that arrives too early is not a failure of the password
			if _, err := r.signIn(ada.email, goodPassword, "abcdef", "192.0.2.77"); !fault.Is(err, fault.RateLimited) {
				t.Errorf("got %v", err)
			}
		}
		if res, err := r.signIn(ada.email, goodPassword, "", "192.0.2.77"); err != nil || !res.GetTotpRequired() {
			t.Errorf("got %v, %v", res, err)
		}
		at = at.Add(time.Minute)
		if _, err := r.signIn(ada.email, goodPassword, codeAt(t, secret, at), "192.0.2.1"); err != nil {
			t.Error(err)
		}
	})
	t.Run("the password or an operator turns TOTP off", func(t *testing.T) {
		ada := r.administrator(company, manager)
		ada.withTotp(at)
		if _, err := r.admins.DisableTotp(ada.ctx(), &authv1.DisableTotpRequest{Password: "wrong"}); reason(err) != ReasonWrongPassword {
			t.Errorf("got %v", err)
		}
		for range 2 { // a repeated call changes nothing
			if _, err := r.admins.DisableTotp(ada.ctx(), &authv1.DisableTotpRequest{Password: goodPassword}); err != nil {
				t.Fatal(err)
			}
		}
		r.signedIn(ada.email, "")
		at = at.Add(time.Hour)
		ada.withTotp(at)
		res, err := r.admins.ResetAdministratorPassword(r.as(""), &authv1.ResetAdministratorPasswordRequest{Administrator: ada.email, DisableTotp: true})
		if err != nil || res.GetAdministrator().GetTotpEnabled() || len(res.GetGeneratedPassword()) != 23 {
			t.Fatalf("got %v, %v", res, err)
		}
		if in, err := r.signIn(ada.email, res.GetGeneratedPassword(), "", "192.0.2.1"); err != nil || in.GetSessionToken() == "" {
			t.Errorf("got %v, %v", in, err)
		}
	})
	t.Run("encrypts its secret, and re-encrypts it with a new master key", func(t *testing.T) {
		ada := r.administrator(company, manager)
		secret, recovery := ada.withTotp(at)
		kept := func() []byte {
			a, err := r.server.store.administratorByEmail(t.Context(), ada.email)
			if err != nil {
				t.Fatal(err)
			}
			return a.TotpSecret
		}
		before := kept()
		if strings.Contains(string(before), secret) {
			t.Fatal("the secret is stored unencrypted")
		}
		row, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select a::text from administrators a where email = $1`, ada.email)
		if err != nil || strings.Contains(row[0], recovery[0]) {
			t.Errorf("the recovery codes are stored in plain text, or %v", err)
		}
		former := w.sealer
		defer func() { r.server.sealer = former }()
		key := make([]byte, seal.KeySize)
		both := sealerWith(t, w, key)
		r.server.sealer = both
		if err := r.server.reseal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if both.IsStale(kept()) {
			t.Error("the secret is still encrypted with the former key")
		}
		if r.server.sealer, err = seal.New(key); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
		r.signedIn(ada.email, codeAt(t, secret, at))
	})
}

func errOf[T any](_ T, err error) error { return err }

// sealerWith encrypts with key, and also decrypts data that the world's sealer has encrypted.
func sealerWith(t *testing.T, w *world, key []byte) *seal.Sealer {
	t.Helper()
	s, err := seal.New(key, w.masterKey)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
