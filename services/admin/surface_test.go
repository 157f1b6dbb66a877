package admin

import (
	cmdline "flag"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// address is the method and path of a request.
type address struct{ method, path string }

var wildcards = regexp.MustCompile(`\{[^}]+\}`)

// addressOf returns an address of a route; ok is false for the route of unknown paths.
func addressOf(r route) (a address, ok bool) {
	a.method, a.path, ok = strings.Cut(r.pattern, " ")
	a.path = wildcards.ReplaceAllString(strings.ReplaceAll(a.path, "{$}", ""), "x")
	return a, ok
}

// ask requests an address as a page would.
func (w *world) ask(a address) answer {
	if a.method == http.MethodPost {
		return w.post(a.path)
	}
	return w.get(a.path)
}

// onlyAsked fails if a page has made any call but Authenticate.
func (w *world) onlyAsked(t *testing.T, a address) {
	t.Helper()
	for _, c := range w.backend.calls {
		if c.method != "Authenticate" {
			t.Errorf("%s %s has called %s", a.method, a.path, c.method)
		}
	}
	w.backend.count()
}

func TestEveryPageNeedsItsSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, r := range routes() {
		at, ok := addressOf(r)
		if !ok || r.capability == everybody {
			continue
		}
		if a := w.ask(at); !strings.HasPrefix(a.to(), "/sign-in") {
			t.Errorf("%s: %s", r.pattern, describe(a))
		}
		w.onlyAsked(t, at)
	}
}

func TestEveryFormNeedsItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	w.backend.count()
	for _, r := range routes() {
		at, ok := addressOf(r)
		if !ok || at.method != http.MethodPost || r.capability == everybody {
			continue
		}
		for _, token := range []string{"", "x", sessionToken, tokenOf(strings.Repeat("x", sessionTokenLen), liveMode)} {
			if a := w.send(at.path, url.Values{csrfField: {token}}, nil); a.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %q: %s", r.pattern, token, describe(a))
			}
		}
		if a := w.send(at.path, url.Values{csrfField: {tokenOf(sessionToken, liveMode)}}, map[string]string{"Sec-Fetch-Site": "cross-site"}); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s from another site: %s", r.pattern, describe(a))
		}
		w.onlyAsked(t, at)
	}
}

// ofAuth matches the forms that change data of auth, which writes its own audit entries, or only cookies.
var ofAuth = regexp.MustCompile(`^/(sign-in|sign-out|language|reset|invitation|account|test-mode|settings/(api-clients|api-keys|publishable-keys|administrators|invitations|company))(/|$)`)

func TestEveryFormIsAudited(t *testing.T) {
	t.Parallel()
	for _, r := range routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		switch {
		case method == http.MethodPost && (r.audited.action == "") != ofAuth.MatchString(path):
			t.Errorf("%s is audited as %q", r.pattern, r.audited.action)
		case r.audited.action == "":
			continue
		case r.audited.target != given && !strings.Contains(path, "{"+r.audited.target+"}"):
			t.Errorf("%s has no {%s}", r.pattern, r.audited.target)
		case !slices.ContainsFunc(auditSubjects, func(s string) bool { return strings.HasPrefix(r.audited.action, s) }):
			t.Errorf("the audit log cannot be filtered by %s", r.audited.action)
		}
	}
}

var update = cmdline.Bool("update", false, "write testdata/pages.txt")

// TestPagesAreListed compares the pages with the list from which the browser's tests know them.
func TestPagesAreListed(t *testing.T) {
	t.Parallel()
	const file = "testdata/pages.txt"
	var list strings.Builder
	for _, r := range routes() {
		if strings.HasPrefix(r.pattern, "GET ") {
			list.WriteString(r.pattern + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list.String(), string(text)); diff != "" {
		t.Errorf("%s differs; go test ./services/admin -run TestPagesAreListed -update writes it:\n%s", file, diff)
	}
}

// altered returns a text with another first character.
func altered(text string) string {
	if text[0] == 'A' {
		return "B" + text[1:]
	}
	return "A" + text[1:]
}
