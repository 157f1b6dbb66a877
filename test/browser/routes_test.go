package browser

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// unseen returns the routes of pages at which no place is. The dashboard's test writes their list,
// so a new page cannot be forgotten here.
func unseen(t *testing.T, pages []place) (patterns []string) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.Open(filepath.Join(root, "services", "admin", "testdata", "pages.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	mux := http.NewServeMux()
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		mux.Handle(lines.Text(), http.NotFoundHandler())
		patterns = append(patterns, lines.Text())
	}
	if err := lines.Err(); err != nil || len(patterns) == 0 {
		t.Fatalf("%s: %v", list.Name(), err)
	}
	seen := map[string]bool{
		"GET /settings":              true, // redirects
		"GET /dates/{date}":          true, // redirects
		"GET /customers/{id}/export": true, // downloads a file
		"GET /exports/file":          true, // downloads a file
		"GET /reports/{report}/csv":  true, // downloads a file
	}
	for _, p := range pages {
		_, pattern := mux.Handler(httptest.NewRequestWithContext(t.Context(), http.MethodGet, p.path, nil))
		seen[pattern] = true
	}
	return slices.DeleteFunc(patterns, func(pattern string) bool { return seen[pattern] })
}

// guestPlaces returns the pages that need no session. It leaves guest signing in, where a two-step
// code is required. boss has an owner's session.
func (w *world) guestPlaces(t *testing.T, boss, guest *tab) []place {
	t.Helper()
	n := &colleague{w: w, boss: boss, tab: guest, email: "olive@example.com", password: "six geese a-laying"}
	n.joins()
	guest.followAt("Sign out", `//button[normalize-space()="Sign out" and not(ancestor::details)]`)
	guest.open("/sign-in")
	guest.signIn(n.email, n.password)
	boss.open("/settings/administrators")
	boss.fill("E-mail address", "invited@example.com")
	boss.follow("Create an invitation")
	return []place{
		{"sign-in", "/sign-in"}, {"two-step code", guest.path()}, {"new password", w.resetLink(t)},
		{"invitation", w.within(boss.textOf("#invitation-link"))},
	}
}

// resetLink creates another owner, and returns the path of a reset link for the account.
func (w *world) resetLink(t *testing.T) string {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	made, err := w.op.Administrators.CreateAdministrator(ctx, &authv1.CreateAdministratorRequest{Email: "forgetful@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.op.Administrators.CreatePasswordReset(ctx, &authv1.CreatePasswordResetRequest{Id: made.GetAdministrator().GetId()})
	if err != nil {
		t.Fatal(err)
	}
	return "/reset/" + link.GetToken()
}
