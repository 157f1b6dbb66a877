package admin

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// route is a line of routes.go.
type route struct{ method, path, who string }

// everyRoute reads what is registered, so that no page is forgotten by the tests below.
func everyRoute(t *testing.T) []route {
	t.Helper()
	source, err := os.ReadFile("routes.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []route
	for _, m := range regexp.MustCompile(`web\.page\("(GET|POST) ([^"]+)", (everybody|staff|owner),`).FindAllStringSubmatch(string(source), -1) {
		path := regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(strings.ReplaceAll(m[2], "{$}", ""), "x")
		all = append(all, route{m[1], path, m[3]})
	}
	if len(all) < 90 || len(all) != strings.Count(string(source), `web.page("GET `)+strings.Count(string(source), `web.page("POST `) {
		t.Fatalf("%d routes were understood", len(all))
	}
	return all
}

// onlyAsked fails where a page has called anything but who it is that asks.
func (w *world) onlyAsked(t *testing.T, r route) {
	t.Helper()
	for _, c := range w.backend.calls {
		if c.method != "Authenticate" {
			t.Errorf("%s %s has called %s", r.method, r.path, c.method)
		}
	}
	w.backend.count()
}

func TestEveryPageNeedsItsSession(t *testing.T) {
	w := newWorld(t)
	for _, r := range everyRoute(t) {
		if r.who == "everybody" {
			continue
		}
		a := w.get(r.path)
		if r.method == http.MethodPost {
			a = w.post(r.path)
		}
		if !strings.HasPrefix(a.to(), "/sign-in") {
			t.Errorf("%s %s: %s", r.method, r.path, describe(a))
		}
		w.onlyAsked(t, r)
	}
}

func TestEveryFormNeedsItsToken(t *testing.T) {
	w := newWorld(t)
	w.signIn()
	w.backend.count()
	for _, r := range everyRoute(t) {
		if r.method != http.MethodPost || r.who == "everybody" {
			continue
		}
		for _, token := range []string{"", "x", sessionToken, tokenOf(strings.Repeat("x", sessionTokenLen))} {
			if a := w.send(r.path, url.Values{csrfField: {token}}, nil); a.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %q: %s", r.path, token, describe(a))
			}
		}
		if a := w.send(r.path, url.Values{csrfField: {tokenOf(sessionToken)}}, map[string]string{"Sec-Fetch-Site": "cross-site"}); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s from another site: %s", r.path, describe(a))
		}
		w.onlyAsked(t, r)
	}
}

// ownersElsewhere are the pages beside the settings that are for owners alone.
func ownersElsewhere() []string { return []string{"/customers/x/export", "/customers/x/erase"} }

func TestEverySettingIsClosedToStaff(t *testing.T) {
	w := newWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF
	w.signIn()
	w.backend.count()
	for _, r := range everyRoute(t) {
		if settings := strings.HasPrefix(r.path, "/settings/"); settings != (r.who == "owner") && !slices.Contains(ownersElsewhere(), r.path) {
			t.Errorf("%s is open to %s", r.path, r.who)
		}
		if r.who != "owner" {
			continue
		}
		a := w.get(r.path)
		if r.method == http.MethodPost {
			a = w.post(r.path)
		}
		if a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "Only owners") {
			t.Errorf("%s %s: %s", r.method, r.path, describe(a))
		}
		w.onlyAsked(t, r)
	}
}
