package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
)

func (w *world) testSigningIn(t *testing.T) { // invariant 1
	b := w.tab(t)
	b.step("leads to the sign-in page without a session", func(t *testing.T) {
		b.open("/settings/webhooks")
		if path := b.path(); !strings.HasPrefix(path, "/sign-in") {
			t.Fatalf("at %s", path)
		}
	})
	b.step("refuses a wrong password with a message", func(t *testing.T) {
		b.signIn(w.email, "not the password")
		if path := b.path(); !strings.HasPrefix(path, "/sign-in") {
			t.Fatalf("at %s", path)
		}
		alert := b.textOf(`[role="alert"]`)
		if !strings.Contains(strings.ToLower(alert), "password") {
			t.Errorf("it says %q", alert)
		}
		email := eval[string](b, `document.querySelector("#email").value`)
		if email != w.email {
			t.Errorf("the address that was typed is now %q", email)
		}
	})
	b.step("returns to the requested page after signing in", func(t *testing.T) {
		b.signIn(w.email, w.password)
		if path := b.path(); path != "/settings/webhooks" {
			t.Fatalf("at %s:\n%s", path, b.text())
		}
		b.says("Webhooks", "Europe/London")
	})
	b.step("hides the session's cookie from scripts", func(t *testing.T) {
		readable := eval[string](b, `document.cookie`)
		if readable != "" {
			t.Errorf("scripts read %q", readable)
		}
		cookies := b.cookies()
		for _, c := range cookies {
			if !c.HTTPOnly || c.SameSite == network.CookieSameSiteNone {
				t.Errorf("cookie %s: HttpOnly %v, SameSite %q", c.Name, c.HTTPOnly, c.SameSite)
			}
		}
		if len(cookies) == 0 {
			t.Error("there is no cookie")
		}
	})
	b.step("ends the session when signing out", func(t *testing.T) {
		b.followAt("Sign out", `//button[normalize-space()="Sign out" and not(ancestor::details)]`)
		b.says("You are signed out.")
		b.open("/settings/webhooks")
		if path := b.path(); !strings.HasPrefix(path, "/sign-in") {
			t.Errorf("at %s", path)
		}
	})
}
