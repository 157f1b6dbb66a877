package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestTwoStepSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withSignIn(w)
	first := func() answer {
		return w.send("/sign-in", url.Values{"email": {"totp@example.com"}, "password": {"right"}, "next": {"/customers?q=a"}}, nil)
	}
	code := func(code, next string) answer {
		return w.send("/sign-in/code", url.Values{"code": {code}, "next": {next}}, nil)
	}

	t.Run("requires the password before the code", func(t *testing.T) {
		if a := w.get("/sign-in/code?next=%2Fcustomers"); a.to() != "/sign-in?next=%2Fcustomers" {
			t.Error(describe(a))
		}
		if a := code("123456", "/"); a.to() != "/sign-in?next=%2F" || a.cookie(sessionCookie) != nil {
			t.Error(describe(a))
		}
	})
	t.Run("sets an HttpOnly cookie and no session after the password", func(t *testing.T) {
		a := first()
		c := a.cookie(pendingCookie)
		if c == nil || c.Value != pendingToken || !c.HttpOnly || time.Until(c.Expires) > pendingLifetime || a.cookie(sessionCookie) != nil || a.cookie(deviceCookie) != nil {
			t.Errorf("%v", a.Cookies())
		}
		if a.to() != "/sign-in/code?next=%2Fcustomers%3Fq%3Da" {
			t.Error(describe(a))
		}
		if a := w.get("/customers"); !strings.HasPrefix(a.to(), "/sign-in") {
			t.Errorf("a sign-in without a code opens a page: %s", describe(a))
		}
	})
	t.Run("shows neither the password nor the token on a page", func(t *testing.T) {
		for _, a := range []answer{w.get("/sign-in/code"), code("000000", "/"), code("", "/")} {
			a.must(t, `name="code"`, `autocomplete="one-time-code"`)
			if strings.Contains(a.body, pendingToken) || strings.Contains(a.body, `name="password"`) || strings.Contains(a.body, `value="right"`) {
				t.Errorf("a secret is on the page:\n%s", a.body)
			}
		}
	})
	t.Run("accepts the correct code after a wrong one, and returns to the requested page", func(t *testing.T) {
		code("000000", "/").must(t, "This code is wrong")
		a := code("123456", "/customers?q=a")
		if c := a.cookie(sessionCookie); a.to() != "/customers?q=a" || c == nil || c.Value != sessionToken {
			t.Error(describe(a))
		}
		if c := a.cookie(pendingCookie); c == nil || c.MaxAge >= 0 {
			t.Errorf("the cookie stays: %v", c)
		}
	})
	t.Run("redirects only within the site", func(t *testing.T) {
		other := newWorld(t)
		withSignIn(other)
		a := other.send("/sign-in", url.Values{"email": {"totp@example.com"}, "password": {"right"}, "next": {"//evil.example"}}, nil)
		if a.to() != "/sign-in/code?next=%2F" {
			t.Error(describe(a))
		}
		if a := other.send("/sign-in/code", url.Values{"code": {"123456"}, "next": {"https://evil.example/"}}, nil); a.to() != "/" {
			t.Error(describe(a))
		}
		if a := other.get("/sign-in/code?next=%2F%2Fevil.example"); strings.Contains(a.body+a.to(), "evil.example") {
			t.Error(describe(a))
		}
	})
	t.Run("starts again when the pending sign-in has expired", func(t *testing.T) {
		other := newWorld(t)
		withSignIn(other)
		other.send("/sign-in", url.Values{"email": {"totp@example.com"}, "password": {"right"}}, nil)
		a := other.send("/sign-in/code", url.Values{"code": {"999999"}}, nil)
		if a.to() != "/sign-in?next=%2F" || a.cookie(pendingCookie) == nil {
			t.Fatal(describe(a))
		}
		other.get(a.to()).must(t, "Sign in with your password again", `name="password"`)
	})
}

func TestKnownBrowsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withSignIn(w)
	signIn := func() answer {
		return w.send("/sign-in", url.Values{"email": {"a@b.c"}, "password": {"right"}}, nil)
	}
	a := signIn()
	if c := a.cookie(deviceCookie); c == nil || c.Value != "known-a.known-b" || !c.HttpOnly || time.Until(c.Expires) < 179*24*time.Hour {
		t.Errorf("%v", a.Cookies())
	}
	if a := w.send("/sign-out", url.Values{csrfField: {tokenOf(sessionToken, liveMode)}}, nil); a.cookie(deviceCookie) != nil {
		t.Error("signing out deletes the device cookie")
	}
	signIn()
	calls := w.backend.called("SignIn")
	if got := calls[len(calls)-1].req.(*authv1.SignInRequest).GetDeviceTokens(); len(got) != 2 || got[1] != "known-b" {
		t.Errorf("auth gets the device tokens %q", got)
	}
	t.Run("passes on device tokens up to the limits of auth", func(t *testing.T) {
		other := newWorld(t)
		withSignIn(other)
		for _, value := range []string{"a", "a.b", strings.Repeat("x.", 1000), strings.Repeat(".", 3), "<script>"} {
			a := other.send("/sign-in", url.Values{"email": {"a@b.c"}, "password": {"wrong"}}, map[string]string{"Cookie": deviceCookie + "=" + value})
			if a.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%q: %s", value, describe(a))
			}
		}
		for _, c := range other.backend.called("SignIn") {
			if n := len(c.req.(*authv1.SignInRequest).GetDeviceTokens()); n == 0 || n > mostDevices {
				t.Errorf("%d tokens", n)
			}
		}
	})
	t.Run("does not accept a device token as a session", func(t *testing.T) {
		other := newWorld(t)
		u, err := url.Parse(other.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		other.client.Jar.SetCookies(u, []*http.Cookie{{Name: deviceCookie, Value: "known-a.known-b", Path: "/"}})
		if a := other.get("/"); a.to() != "/sign-in" {
			t.Error(describe(a))
		}
	})
	t.Run("says how long a throttled person has to wait", func(t *testing.T) {
		on(w.backend, "SignIn", func(*authv1.SignInRequest) (*authv1.SignInResponse, error) {
			return nil, fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "slow").After(29 * time.Second)
		})
		other := newWorld(t)
		other.backend.methods["SignIn"] = w.backend.methods["SignIn"]
		other.send("/sign-in", url.Values{"email": {"a@b.c"}, "password": {"right"}}, nil).must(t, "Wait 30 seconds", "in which you have signed in before")
	})
}

func TestPasswordResets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refusal := error(fault.Missing("link"))
	on(w.backend, "GetPasswordReset", func(req *authv1.GetPasswordResetRequest) (*authv1.GetPasswordResetResponse, error) {
		if refusal != nil {
			return nil, refusal
		}
		return &authv1.GetPasswordResetResponse{Email: "ann@example.com", CompanyName: "<script>Riverside", ExpiresAt: timestamppb.Now()}, nil
	})
	on(w.backend, "UsePasswordReset", func(*authv1.UsePasswordResetRequest) (*authv1.UsePasswordResetResponse, error) {
		if refusal != nil {
			return nil, refusal
		}
		return &authv1.UsePasswordResetResponse{DeviceTokens: []string{"known"}}, nil
	})
	t.Run("explains on the sign-in page how to reset a password", func(t *testing.T) {
		w.get("/sign-in").must(t, "Forgotten your password?", "does not send e-mail", "Settings → Administrators", "reservectl admin reset-password")
	})
	for _, try := range []struct {
		err    error
		status int
		says   string
	}{
		{fault.Missing("link"), http.StatusNotFound, "does not exist or was withdrawn"},
		{fault.Refuse("RESET_EXPIRED", "expired"), http.StatusBadRequest, "has expired"},
		{fault.Refuse("RESET_USED", "used"), http.StatusBadRequest, "has been used"},
	} {
		refusal = try.err
		for _, a := range []answer{w.get("/reset/abc"), w.send("/reset/abc", url.Values{"password": {"long enough words"}, "repeat": {"long enough words"}}, nil)} {
			if a.StatusCode != try.status || !strings.Contains(a.body, try.says) {
				t.Error(describe(a))
			}
		}
	}
	refusal = nil
	a := w.get("/reset/abc")
	a.must(t, "ann@example.com", "&lt;script&gt;Riverside", `action="/reset/abc"`)
	w.send("/reset/abc", url.Values{"password": {"short"}, "repeat": {"short"}}, nil).must(t, "at least 12 characters")
	w.send("/reset/abc", url.Values{"password": {"long enough words"}, "repeat": {"other"}}, nil).must(t, "two passwords are different")
	if n := len(w.backend.called("UsePasswordReset")); n != 0 {
		t.Errorf("%d calls", n)
	}
	done := w.send("/reset/abc", url.Values{"password": {"long enough words"}, "repeat": {"long enough words"}}, nil)
	if done.to() != "/sign-in" || done.cookie(sessionCookie) != nil || done.cookie(deviceCookie) == nil {
		t.Fatal(describe(done))
	}
	w.get("/sign-in").must(t, "Your password was changed")
	t.Run("refuses the form from another site", func(t *testing.T) {
		if a := w.send("/reset/abc", url.Values{"password": {"long enough words"}, "repeat": {"long enough words"}}, map[string]string{"Sec-Fetch-Site": "cross-site"}); a.StatusCode != http.StatusForbidden {
			t.Error(describe(a))
		}
	})
}
