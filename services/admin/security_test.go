package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// pendingToken is the token of a sign-in that waits for a two-step code.
var pendingToken = strings.Repeat("q", sessionTokenLen)

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := []string{"/sign-in", "/", "/nowhere", w.web.pages.urls["style.css"], "/assets/none.css"}
	for _, signedIn := range []bool{false, true} {
		if signedIn {
			w.signIn()
		}
		for _, path := range paths {
			h := w.get(path).Header
			csp := h.Get("Content-Security-Policy")
			for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
				if !strings.Contains(csp, part) {
					t.Errorf("%s: no %s in %q", path, part, csp)
				}
			}
			if strings.Contains(csp, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") == "" {
				t.Errorf("%s: %v", path, h)
			}
		}
	}
}

// TestPagesHaveNothingInline checks that no page has inline scripts or styles, which browsers do
// not execute.
func TestPagesHaveNothingInline(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<style|<script>|<script [^>]*>[^<]|\son[a-z]+=|\sstyle=|javascript:`)
	names, err := files.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	shared, err := files.ReadDir("templates/shared")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for folder, list := range map[string]int{"templates/": len(names), "templates/shared/": len(shared)} {
		entries, err := files.ReadDir(strings.TrimSuffix(folder, "/"))
		if err != nil || len(entries) != list {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			body, err := files.ReadFile(folder + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if found := inline.Find(body); found != nil {
				t.Errorf("%s has %q", e.Name(), found)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d templates were checked", checked)
	}
}

func TestForgery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withAPIClient(w.backend)
	on(w.backend, "DisableApiClient", func(*authv1.DisableApiClientRequest) (*authv1.DisableApiClientResponse, error) {
		return &authv1.DisableApiClientResponse{}, nil
	})
	const path = "/settings/api-clients/m2m_1/disable"
	good := url.Values{csrfField: {tokenOf(sessionToken, liveMode)}}
	for name, try := range map[string]struct {
		values url.Values
		header map[string]string
	}{
		"without the token":             {url.Values{}, nil},
		"with another session's token":  {url.Values{csrfField: {tokenOf(strings.Repeat("x", sessionTokenLen), liveMode)}}, nil},
		"with the session token itself": {url.Values{csrfField: {sessionToken}}, nil},
		"from another site":             {good, map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"from another subdomain":        {good, map[string]string{"Sec-Fetch-Site": "same-site"}},
		"from another origin":           {good, map[string]string{"Origin": "https://evil.example"}},
		"from a null origin":            {good, map[string]string{"Origin": "null"}},
	} {
		t.Run("refuses a form "+name, func(t *testing.T) {
			a := w.send(path, try.values, try.header)
			if a.StatusCode != http.StatusForbidden || len(w.backend.called("DisableApiClient")) > 0 {
				t.Error(describe(a))
			}
		})
	}
	t.Run("accepts a form from a page of this session", func(t *testing.T) {
		a := w.send(path, good, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": w.server.URL})
		if a.to() != "/settings/api-clients/m2m_1" || len(w.backend.called("DisableApiClient")) != 1 {
			t.Error(describe(a))
		}
	})
	t.Run("refuses forged sign-ins and sign-outs from another site", func(t *testing.T) {
		withSignIn(w)
		for _, path := range []string{"/sign-in", "/sign-out"} {
			if a := w.send(path, url.Values{"email": {"a@b.c"}, "password": {"right"}}, map[string]string{"Sec-Fetch-Site": "cross-site"}); a.StatusCode != http.StatusForbidden {
				t.Error(describe(a))
			}
		}
		if a := w.send("/sign-out", url.Values{}, nil); a.StatusCode != http.StatusForbidden {
			t.Error(describe(a))
		}
	})
	t.Run("changes nothing by GET", func(t *testing.T) {
		w.backend.count()
		w.get(path)
		for _, c := range []string{"DisableApiClient", "RecordAuditEntry"} {
			if len(w.backend.called(c)) > 0 {
				t.Errorf("%s was called", c)
			}
		}
	})
}

func TestRedirectsStayOnTheSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withSignIn(w)
	for next, want := range map[string]string{
		"/customers?q=a": "/customers?q=a", "https://evil.example/": "/", "//evil.example/": "/", `/\evil.example`: "/", `\\evil.example`: "/",
		"/\t/evil.example": "/", "javascript:alert(1)": "/", "evil": "/", "": "/", "/%0d%0aX: y": "/%0d%0aX: y",
	} {
		a := w.send("/sign-in", url.Values{"email": {"a@b.c"}, "password": {"right"}, "next": {next}}, nil)
		got, err := url.QueryUnescape(a.to())
		if err != nil {
			got = a.to()
		}
		if wanted, err := url.QueryUnescape(want); err != nil || got != wanted && !strings.HasPrefix(a.to(), "/%0d%0a") {
			t.Errorf("%q leads to %q (%v)", next, a.to(), err)
		}
	}
	t.Run("returns to the page after signing in", func(t *testing.T) {
		other := newWorld(t)
		a := other.get("/customers?q=ann")
		if a.to() != "/sign-in?next=%2Fcustomers%3Fq%3Dann" {
			t.Error(describe(a))
		}
	})
}

func TestHostHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req, err := http.NewRequest(http.MethodGet, w.server.URL+"/sign-in", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	a := w.do(req)
	if a.StatusCode != http.StatusMisdirectedRequest || strings.Contains(a.body, "evil.example") || len(w.backend.calls) > 0 {
		t.Error(describe(a))
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withSignIn(w)
	t.Run("replaces an earlier session's cookie when signing in, and ends that session", func(t *testing.T) {
		planted := strings.Repeat("p", sessionTokenLen)
		u, _ := url.Parse(w.server.URL)
		w.client.Jar.SetCookies(u, []*http.Cookie{{Name: sessionCookie, Value: planted, Path: "/"}})
		a := w.send("/sign-in", url.Values{"email": {"a@b.c"}, "password": {"right"}}, nil)
		c := a.cookie(sessionCookie)
		if c == nil || c.Value != sessionToken || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure {
			t.Errorf("%v", c)
		}
		ended := w.backend.called("SignOut")
		if len(ended) != 1 || ended[0].req.(*authv1.SignOutRequest).GetSessionToken() != planted {
			t.Errorf("%v", ended)
		}
	})
	t.Run("sets a Secure __Host- cookie and HSTS over TLS", func(t *testing.T) {
		other := newWorld(t)
		withSignIn(other)
		other.serve("https://desk.example")
		req, err := http.NewRequest(http.MethodPost, other.server.URL+"/sign-in", strings.NewReader("email=a%40b.c&password=right"))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "desk.example"
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		a := other.do(req)
		if c := a.cookie("__Host-" + sessionCookie); c == nil || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("%v", a.Cookies())
		}
		if a.Header.Get("Strict-Transport-Security") == "" {
			t.Error("no HSTS")
		}
	})
	t.Run("does not reveal whether the address or the password is wrong", func(t *testing.T) {
		a := w.send("/sign-in", url.Values{"email": {"a@b.c"}, "password": {"wrong"}}, nil)
		a.must(t, "or the password is wrong", `value="a@b.c"`)
		if strings.Contains(a.body, `value="wrong"`) {
			t.Error("the password is on the page")
		}
	})
	t.Run("opens no page after the session has ended", func(t *testing.T) {
		w.signIn()
		on(w.backend, "Authenticate", func(*authv1.AuthenticateRequest) (*authv1.AuthenticateResponse, error) {
			return nil, fault.New(fault.Unauthenticated, "SESSION_ENDED", "the session has ended")
		})
		for _, path := range []string{"/", "/customers", "/settings/api-clients", "/settings/audit", "/account"} {
			if a := w.get(path); !strings.HasPrefix(a.to(), "/sign-in") {
				t.Errorf("%s: %s", path, describe(a))
			}
		}
		w.signIn()
		w.get(w.get("/").to()).must(t, "Your session has ended. Sign in again.")
	})
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refusal := error(fault.Missing("invitation"))
	on(w.backend, "GetInvitation", func(*authv1.GetInvitationRequest) (*authv1.GetInvitationResponse, error) {
		if refusal != nil {
			return nil, refusal
		}
		return &authv1.GetInvitationResponse{CompanyName: "Riverside", Invitation: &authv1.Invitation{Email: "new@example.com", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER}}, nil
	})
	on(w.backend, "AcceptInvitation", func(*authv1.AcceptInvitationRequest) (*authv1.AcceptInvitationResponse, error) {
		return &authv1.AcceptInvitationResponse{SessionToken: sessionToken, Identity: w.identity()}, nil
	})
	for _, try := range []struct {
		err    error
		status int
		says   string
	}{
		{fault.Missing("invitation"), http.StatusNotFound, "does not exist or was withdrawn"},
		{fault.Refuse("INVITATION_EXPIRED", "expired"), http.StatusBadRequest, "has expired"},
		{fault.Refuse("INVITATION_ACCEPTED", "used"), http.StatusBadRequest, "has been used"},
	} {
		refusal = try.err
		if a := w.get("/invitation/abc"); a.StatusCode != try.status || !strings.Contains(a.body, try.says) {
			t.Error(describe(a))
		}
	}
	refusal = nil
	w.get("/invitation/abc").must(t, "Join Riverside", "Manager", "new@example.com")
	w.send("/invitation/abc", url.Values{"name": {"Nia"}, "password": {"short"}, "repeat": {"short"}}, nil).must(t, "at least 12 characters")
	w.send("/invitation/abc", url.Values{"name": {"Nia"}, "password": {"long enough words"}, "repeat": {"other"}}, nil).must(t, "two passwords are different")
	if a := w.send("/invitation/abc", url.Values{"name": {"Nia"}, "password": {"long enough words"}, "repeat": {"long enough words"}}, nil); a.to() != "/" {
		t.Error(describe(a))
	}
	on(w.backend, "AcceptInvitation", func(*authv1.AcceptInvitationRequest) (*authv1.AcceptInvitationResponse, error) {
		return nil, fault.Refuse("EMAIL_ALREADY_EXISTS", "another administrator has this e-mail address")
	})
	a := w.send("/invitation/abc", url.Values{"name": {"Nia"}, "password": {"long enough words"}, "repeat": {"long enough words"}}, nil)
	a.must(t, "An account with this e-mail address already exists")
	if strings.Contains(a.body, "Another customer") {
		t.Error("the message is about a customer's address")
	}
}

func TestManagersCannotOpenSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.signIn()
	for _, path := range []string{"/settings/api-clients", "/settings/api-keys", "/settings/publishable-keys", "/settings/requests", "/settings/webhooks", "/settings/company", "/settings/administrators", "/settings/audit"} {
		a := w.get(path)
		if a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "Your role cannot open this page") {
			t.Errorf("%s: %s", path, describe(a))
		}
		if strings.Contains(a.body, `href="/settings/api-clients"`) {
			t.Error("the menu offers it")
		}
	}
	if a := w.post("/settings/api-clients", "name", "x", "scopes", "customers:read"); a.StatusCode != http.StatusForbidden || len(w.backend.called("CreateApiClient")) > 0 {
		t.Error(describe(a))
	}
}

func TestTypedTextIsEscaped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	const script, arabic = `<script>alert("x")</script>`, "يوجا الصباح"
	w.company.Name = script
	withEvent(w, arabic, script)
	for _, path := range []string{
		"/", "/week", "/events", "/events/evt_1", "/events/evt_1/dates/date_1", "/events/evt_1/dates/date_1/book?q=" + url.QueryEscape(script),
		"/events/evt_1/dates/date_1/book?customer=cust_1", "/bookings/booking_1", "/bookings/booking_1/cancel",
		"/customers?q=" + url.QueryEscape(script), "/customers/cust_1", "/customers/cust_1/delete",
	} {
		body := w.page(path)
		if strings.Contains(body, "<script>alert") || strings.Contains(body, `alert("x")`) {
			t.Errorf("%s executes the text", path)
		}
		if strings.Contains(body, arabic) && !regexp.MustCompile(`dir="auto"[^>]*>[^<]*`+arabic).MatchString(body) {
			t.Errorf("%s shows Arabic in the direction of English", path)
		}
	}
	t.Run("escapes the message after an action", func(t *testing.T) {
		on(w.backend, "RecordAttendance", func(*bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
			guest := &bookingv1.CustomerReference{Id: "cust_1", FirstName: script}
			return &bookingv1.RecordAttendanceResponse{Registration: &bookingv1.Registration{Booking: &bookingv1.Booking{Id: "booking_1"}, Purchaser: guest}}, nil
		})
		a := w.post("/bookings/booking_1/attendance", "attendance", "checked-in", "back", "/events")
		if body := w.page(a.to()); strings.Contains(body, "<script>alert") || !strings.Contains(body, "Checked in: &lt;script&gt;") {
			t.Error(text(body))
		}
		if a := w.post("/bookings/booking_1/attendance", "attendance", "checked-in", "back", "//evil.example"); a.to() != "/#booking_1" {
			t.Error(describe(a))
		}
	})
}

func TestOtherCompaniesPagesAreNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	for _, path := range []string{
		"/customers/cust_2", "/customers/cust_2/assign", "/customers/cust_2/delete", "/events/evt_2", "/events/evt_1/dates/date_2", "/events/evt_2/dates/date_1",
		"/events/evt_1/dates/date_1/book?customer=cust_2", "/bookings/booking_2", "/bookings/booking_2/cancel", "/passes/cp_2", "/pass-types/pass_2",
		"/settings/api-clients/m2m_2", "/settings/api-keys/key_2", "/settings/webhooks/whe_2", "/settings/webhooks/deliveries/whd_2",
	} {
		if a := w.get(path); a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, "Page not found") {
			t.Errorf("%s: %s", path, describe(a))
		}
	}
	t.Run("sends the administrator's own token with every call", func(t *testing.T) {
		for _, c := range w.backend.calls {
			if want := "ada's token"; c.method != "Authenticate" && c.token != want {
				t.Errorf("%s carries %q", c.method, c.token)
			}
		}
	})
}

func TestUnavailableServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	for name, err := range map[string]error{"Temporarily unavailable": fault.Away(nil), "Something went wrong": fmt.Errorf("secret detail")} {
		on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) { return nil, err })
		a := w.get("/")
		a.must(t, name, a.Header.Get("X-Request-Id"))
		if strings.Contains(a.body, "secret detail") {
			t.Error("the page reveals the cause")
		}
	}
	t.Run("renews an access token that was revoked with another session", func(t *testing.T) {
		first := true
		on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
			if first {
				first = false
				return nil, fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "revoked")
			}
			return &bookingv1.ListEventDatesResponse{}, nil
		})
		w.get("/").must(t, "No dates on this day")
	})
}

func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	assets := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)
	for _, path := range []string{"/", "/customers", "/settings/company"} {
		body := w.page(path)
		total, seen := len(body), map[string]bool{}
		for _, match := range assets.FindAllStringSubmatch(body, -1) {
			if !seen[match[1]] {
				seen[match[1]] = true
				total += len(w.page(match[1]))
			}
		}
		if total > 150_000 || len(seen) < 3 {
			t.Errorf("%s has %d bytes in %d files", path, total, 1+len(seen))
		}
	}
}
