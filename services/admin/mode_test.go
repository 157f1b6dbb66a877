package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// tokensIn are the access tokens of the modes.
var tokensIn = map[mode]string{liveMode: "ada's token", testMode: "ada's test token"}

// sendFrom sends an empty form that was opened in a mode.
func (w *world) sendFrom(m mode, path string) answer {
	w.t.Helper()
	return w.send(path, url.Values{csrfField: {tokenOf(sessionToken, m)}, keyField: {strings.Repeat("k", 26)}}, nil)
}

func TestEveryCallIsInTheModeOfThePage(t *testing.T) { // invariant 10
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	calls := map[mode]int{}
	for _, browser := range []mode{liveMode, testMode} {
		for _, r := range routes() {
			at, ok := addressOf(r)
			if !ok || r.capability == everybody {
				continue
			}
			w.enter(browser)
			w.backend.count()
			if at.method == http.MethodPost {
				w.sendFrom(browser, at.path)
			} else {
				w.get(at.path)
			}
			data := browser
			if r.alwaysLive {
				data = liveMode
			}
			for _, c := range w.backend.calls {
				if authenticate, ok := c.req.(*authv1.AuthenticateRequest); ok {
					if authenticate.GetTestMode() != (data == testMode) && at.path != testModePath {
						t.Errorf("%s in %s mode authenticates with test mode %t", r.pattern, browser, authenticate.GetTestMode())
					}
					continue
				}
				if calls[data]++; c.token != tokensIn[data] {
					t.Errorf("%s in %s mode calls %s with %q", r.pattern, browser, c.method, c.token)
				}
			}
		}
	}
	if calls[liveMode] < 80 || calls[testMode] < 60 {
		t.Errorf("only %v calls were checked", calls)
	}
}

// ofCompany are the beginnings of the paths that use live data in both modes.
var ofCompany = []string{
	"/", "/account", "/invitation/", "/reset/", "/sign-in", "/sign-out", "/settings", "/settings/administrators", "/settings/company",
	"/settings/invitations/", testModePath,
}

func TestOnlyPagesOfTheCompanyAreAlwaysLive(t *testing.T) { // invariant 10
	t.Parallel()
	for _, r := range routes() {
		method, path, ok := strings.Cut(r.pattern, " ")
		if !ok {
			method, path = "", "/"
		}
		known := slices.ContainsFunc(ofCompany, func(p string) bool {
			return path == p || p != "/" && p != "/settings" && p != testModePath && strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
		}) && (path != testModePath || method == http.MethodPost)
		if r.alwaysLive != known {
			t.Errorf("%s is always live: %t", r.pattern, r.alwaysLive)
		}
	}
}

func TestEveryFormStaysInItsMode(t *testing.T) { // invariant 11
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	for browser, says := range map[mode]string{liveMode: "You opened this form in test mode", testMode: "You opened this form in live mode"} {
		w.enter(browser)
		for _, r := range routes() {
			at, ok := addressOf(r)
			if !ok || at.method != http.MethodPost || r.capability == everybody || r.alwaysLive || r.capability == roles.OwnClasses {
				continue // teachers have no test mode
			}
			w.backend.count()
			if a := w.sendFrom(browser.other(), at.path); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, says) {
				t.Errorf("%s in %s mode: %s", r.pattern, browser, describe(a))
			}
			w.onlyAsked(t, at)
			if a := w.sendFrom(browser, at.path); a.StatusCode == http.StatusConflict || a.StatusCode == http.StatusForbidden {
				t.Errorf("%s in its own mode: %s", r.pattern, describe(a))
			}
		}
		t.Run("accepts a form that is the same in both modes", func(t *testing.T) {
			on(w.backend, "UpdateProfile", func(*authv1.UpdateProfileRequest) (*authv1.UpdateProfileResponse, error) {
				return &authv1.UpdateProfileResponse{}, nil
			})
			a := w.send("/account/profile", url.Values{csrfField: {tokenOf(sessionToken, browser.other())}, "name": {"Ada"}}, nil)
			if a.to() != "/account" {
				t.Error(describe(a))
			}
		})
	}
}

func TestEveryPageSaysTestMode(t *testing.T) { // invariant 10
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	shown := 0
	for _, r := range routes() {
		at, ok := addressOf(r)
		if !ok || at.method != http.MethodGet || r.capability == everybody {
			continue
		}
		w.enter(liveMode)
		if a := w.get(at.path); strings.Contains(a.body, `class="mode"`) || strings.Contains(a.body, "<title>Test mode:") {
			t.Errorf("%s says test mode in live mode", r.pattern)
		}
		w.enter(testMode)
		a := w.get(at.path)
		if a.to() != "" {
			continue
		}
		shown++
		banner, title := "This page shows test data only", "<title>Test mode: "
		if r.alwaysLive {
			banner, title = "This page is the same in both modes", "<title>"
		}
		a.must(t, banner, title, `<section class="mode" aria-label="Test mode">`, `hx-headers='{"Dashboard-Mode":"test"}'`, `aria-checked="true"`)
	}
	if shown < 50 {
		t.Errorf("only %d pages were checked", shown)
	}
}

func TestPartsOfPagesStayInTheirMode(t *testing.T) { // invariant 10
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	for _, c := range []struct {
		page, browser mode
		reloads       bool
	}{{liveMode, liveMode, false}, {testMode, testMode, false}, {liveMode, testMode, true}, {testMode, liveMode, true}} {
		w.enter(c.browser)
		w.backend.count()
		req, err := http.NewRequest(http.MethodGet, w.server.URL+"/customers?q=ann", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Hx-Request", "true")
		if c.page == testMode {
			req.Header.Set(modeHeader, "test")
		}
		a := w.do(req)
		if got := a.Header.Get("Hx-Refresh") == "true"; got != c.reloads || strings.Contains(a.body, "Ann") == c.reloads {
			t.Errorf("a page of %s mode in %s mode: %s", c.page, c.browser, describe(a))
		}
	}
}

func TestSwitchingTheMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	t.Run("switches on and off, and says so", func(t *testing.T) {
		a := w.post(testModePath, "mode", "test", "back", "/customers")
		c := a.cookie(modeCookie)
		if a.to() != "/customers" || c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || strings.Contains(c.Value, sessionToken) {
			t.Fatalf("%s %v", describe(a), c)
		}
		w.get("/customers").must(t, "Test mode is on.", "This page shows test data only")
		a = w.send(testModePath, url.Values{csrfField: {tokenOf(sessionToken, testMode)}, "mode": {"live"}, "back": {"/customers"}}, nil)
		if body := w.page(a.to()); !strings.Contains(body, "Test mode is off.") || strings.Contains(body, `class="mode"`) {
			t.Error(text(body))
		}
	})
	t.Run("creates the company in test mode with the form, not with a page", func(t *testing.T) {
		w.enter(liveMode)
		w.backend.count()
		w.page(testModePath)
		for _, c := range w.backend.called("Authenticate") {
			if c.req.(*authv1.AuthenticateRequest).GetTestMode() {
				t.Error("the page creates it")
			}
		}
		w.post(testModePath, "mode", "test")
		all := w.backend.called("Authenticate")
		if !all[len(all)-1].req.(*authv1.AuthenticateRequest).GetTestMode() {
			t.Error("the form does not create it")
		}
	})
	t.Run("can be sent from a page in either mode", func(t *testing.T) {
		for _, m := range []mode{liveMode, testMode} {
			w.enter(testMode)
			if a := w.send(testModePath, url.Values{csrfField: {tokenOf(sessionToken, m)}, "mode": {"test"}}, nil); a.to() != "/" {
				t.Error(describe(a))
			}
		}
	})
	t.Run("stays on this site", func(t *testing.T) {
		if a := w.post(testModePath, "mode", "live", "back", "//evil.example"); a.to() != "/" {
			t.Error(describe(a))
		}
	})
	t.Run("is not for another session", func(t *testing.T) {
		w.setCookie(modeCookie, markOf(strings.Repeat("x", sessionTokenLen)))
		for _, value := range []string{markOf(strings.Repeat("x", sessionTokenLen)), "test", "", sessionToken} {
			w.setCookie(modeCookie, value)
			if body := w.page("/customers"); strings.Contains(body, `class="mode"`) {
				t.Errorf("%q is accepted", value)
			}
		}
	})
	t.Run("leads to the nearest page that exists in both modes", func(t *testing.T) {
		w.enter(liveMode)
		for path, want := range map[string]string{
			"/": "/", "/week?from=2026-11-23": "/week", "/events/evt_1": "/events", "/events/evt_1/dates/date_1/book": "/events", "/bookings/booking_1": "/",
			"/customers/cust_1": "/customers", "/customers/nobody": "/customers", "/nowhere": "/", "/settings/api-keys/key_9": "/settings/api-keys",
			"/settings/webhooks/deliveries/whd_9": "/settings/webhooks/deliveries", "/settings/company": "/settings/company",
		} {
			w.get(path).must(t, `name="back" value="`+want+`"`)
		}
	})
	t.Run("fails before auth knows test mode", func(t *testing.T) {
		on(w.backend, "Authenticate", func(*authv1.AuthenticateRequest) (*authv1.AuthenticateResponse, error) {
			return &authv1.AuthenticateResponse{Identity: w.identity()}, nil
		})
		w.enter(liveMode)
		if a := w.post(testModePath, "mode", "test"); a.StatusCode != http.StatusServiceUnavailable || a.cookie(modeCookie) != nil {
			t.Error(describe(a))
		}
		w.enter(testMode)
		w.backend.count()
		if a := w.get("/customers"); a.StatusCode != http.StatusServiceUnavailable {
			t.Error(describe(a))
		}
		w.onlyAsked(t, address{"GET", "/customers"})
	})
}

func TestPagesFollowTheTestClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	w.web.now = func() time.Time { return now }
	w.ahead = 40 * 24 * time.Hour // 2 January 2027
	event, _ := withEvent(w, "Yoga", "Ann")
	date := event.GetDates()[0]
	date.StartsAt.Seconds, date.StartsAt.Nanos = now.Add(time.Hour).Unix(), 0
	for _, c := range []struct {
		browser    mode
		today, end string
		bookable   bool
	}{{liveMode, "2026-11-23", "2026-11-24", true}, {testMode, "2027-01-02", "2027-01-03", false}} {
		w.enter(c.browser)
		w.backend.count()
		w.get("/")
		req := w.backend.called("ListEventDates")[0].req.(*bookingv1.ListEventDatesRequest)
		from, to := req.GetStartsFrom().AsTime().Format(time.DateOnly), req.GetStartsBefore().AsTime().Format(time.DateOnly)
		if from != c.today || to != c.end {
			t.Errorf("%s mode: today is from %s to %s", c.browser, from, to)
		}
		if body := w.page("/events/evt_1/dates/date_1"); strings.Contains(body, "/dates/date_1/book") != c.bookable {
			t.Errorf("%s mode: %s", c.browser, text(body))
		}
	}
	t.Run("shows the clock in the banner", func(t *testing.T) {
		w.get("/customers").must(t, "shows Sat 2 Jan 2027, 12:00.")
	})
	t.Run("shows the last use of a credential in real time", func(t *testing.T) {
		c := withAPIClient(w.backend)
		c.LastUsedAt = proto.CloneOf(date.GetStartsAt())
		c.LastUsedAt.Seconds = now.Add(-5 * time.Minute).Unix()
		w.get("/settings/api-clients/m2m_1").must(t, "5 minutes ago")
	})
	t.Run("keeps the real time on pages of the company", func(t *testing.T) {
		on(w.backend, "ListSessions", func(*authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
			return &authv1.ListSessionsResponse{Sessions: []*authv1.Session{{Id: "sess_1", LastUsedAt: date.GetStartsAt()}}}, nil
		})
		date.StartsAt.Seconds = now.Add(-2 * time.Hour).Unix()
		w.get("/account").must(t, "2 hours ago")
	})
}

func TestCredentialsSayTheirMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	on(w.backend, "ListApiKeys", func(*authv1.ListApiKeysRequest) (*authv1.ListApiKeysResponse, error) {
		return &authv1.ListApiKeysResponse{}, nil
	})
	on(w.backend, "ListApiClients", func(*authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
		return &authv1.ListApiClientsResponse{}, nil
	})
	on(w.backend, "ListPublishableKeys", func(*authv1.ListPublishableKeysRequest) (*authv1.ListPublishableKeysResponse, error) {
		return &authv1.ListPublishableKeysResponse{}, nil
	})
	for path, prefix := range map[string]string{"/settings/api-keys": "key_test_", "/settings/api-clients": "m2m_test_", publishablePath: "pub_test_"} {
		w.enter(testMode)
		w.get(path).must(t, prefix)
		w.enter(liveMode)
		if body := w.page(path); strings.Contains(body, prefix) {
			t.Errorf("%s says %s in live mode", path, prefix)
		}
	}
	w.get("/settings/api-keys").must(t, `switch to <a href="/test-mode">test mode</a>`)
}

func TestAuditLogOfTestMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	w.enter(testMode)
	withAuditLog(w, entry("test_clock.advance", w.testIdentity().GetCompany().GetId(), "clock_offset_seconds", "0", "183600"),
		entry("test_data.reset", w.testIdentity().GetCompany().GetId()))
	w.get("/settings/audit").must(t, "moved the test clock forward", "Test clock ahead of the real time: from 0 min to 2 days, 3 h", "deleted all test data", `<option value="admin_2"`)
	for method, want := range map[string]string{"ListAdministrators": tokensIn[liveMode], "ListAuditEntries": tokensIn[testMode]} {
		for _, c := range w.backend.called(method) {
			if c.token != want {
				t.Errorf("%s carries %q", method, c.token)
			}
		}
	}
	w.enter(liveMode)
	w.backend.count()
	w.get("/settings/audit")
	if n := len(w.backend.called("Authenticate")); n != 1 {
		t.Errorf("live mode authenticates %d times", n)
	}
}
