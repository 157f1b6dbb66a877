package browser

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// authenticator returns the current code of a key, as an authenticator app does (RFC 6238).
func authenticator(t *testing.T, key string) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		t.Fatalf("the key is %q: %v", key, err)
	}
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(time.Now().Unix()/30)))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// colleague is an administrator whom the owner invites.
type colleague struct {
	w         *world
	boss, tab *tab // of the owner, and the colleague's own

	email, password string
	recovery        []string
}

func (w *world) testAccounts(t *testing.T) { // invariant 1
	n := &colleague{w: w, boss: w.signedIn(t), tab: w.tab(t), email: "nora@example.com", password: "seven swans a-swimming"}
	n.joins()
	n.signsInWithCode()
	n.isHelpedByOwner()
	n.boss.step("makes the change of a form that is sent twice once, and says so", func(t *testing.T) { n.boss.sendTwice(t) })
}

// within returns the path of a link to the dashboard.
func (w *world) within(link string) string { return strings.TrimPrefix(link, w.url) }

func (n *colleague) joins() {
	n.tab.step("creates an administrator by invitation", func(t *testing.T) {
		n.boss.open("/settings/administrators")
		n.boss.fill("E-mail address", n.email)
		n.boss.follow("Create an invitation")
		link := n.boss.textOf("#invitation-link")
		n.boss.open("/settings/administrators")
		if strings.Contains(n.boss.text(), link) {
			t.Error("the link is shown again")
		}
		n.tab.open(n.w.within(link))
		n.tab.fill("Your name", "Nora نورا")
		n.tab.fill("Password", n.password)
		n.tab.fill("Password again", n.password)
		n.tab.follow("Join")
		n.tab.says("Welcome to")
	})
	n.tab.step("sets up two-step sign-in with an app, after a wrong code", func(t *testing.T) {
		n.tab.open("/account")
		n.tab.fill("Your password, to set it up", n.password)
		n.tab.follow("Set it up")
		key := n.tab.textOf("#totp-secret")
		n.tab.fill("Code", "000000")
		n.tab.follow("Turn it on")
		n.tab.says("This code is wrong.")
		if again := n.tab.textOf("#totp-secret"); again != key {
			t.Fatalf("another key is shown: %q, then %q", key, again)
		}
		n.tab.takeProblems() // the browser logs the status 422
		n.tab.fill("Code", authenticator(t, key))
		n.tab.follow("Turn it on")
		n.recovery = strings.Fields(n.tab.textOf("#recovery"))
		if len(n.recovery) != 10 {
			t.Fatalf("recovery codes: %q", n.recovery)
		}
		n.tab.follow("I have saved them")
		n.tab.says("10 recovery codes left")
	})
}

func (n *colleague) signsInWithCode() {
	n.tab.step("shows nothing by the back button after signing out", func(t *testing.T) {
		n.tab.open("/customers")
		n.tab.says("customers, newest first")
		n.tab.followAt("Sign out", `//button[normalize-space()="Sign out" and not(ancestor::details)]`)
		n.tab.do("back", chromedp.NavigateBack())
		if page := n.tab.text(); strings.Contains(page, "newest first") || !strings.HasPrefix(n.tab.path(), "/sign-in") {
			t.Errorf("at %s:\n%s", n.tab.path(), page)
		}
	})
	n.tab.step("asks for the code on a page that does not contain the password", func(t *testing.T) {
		n.tab.open("/sign-in?next=%2Faccount")
		n.tab.signIn(n.email, n.password)
		if path := n.tab.path(); !strings.HasPrefix(path, "/sign-in/code") {
			t.Fatalf("at %s", path)
		}
		if html := n.tab.now(`document.documentElement.outerHTML`); strings.Contains(html, n.password) || strings.Contains(html, n.email) {
			t.Error("the page has the password or the address in it")
		}
		n.tab.fill("Code", "000000")
		n.tab.follow("Sign in")
		n.tab.says("This code is wrong")
		n.tab.takeProblems()
		n.tab.fill("Code", n.recovery[0])
		n.tab.follow("Sign in")
		if path := n.tab.path(); path != "/account" {
			t.Fatalf("at %s", path)
		}
		n.tab.says("9 recovery codes left")
		n.tab.quiet()
	})
}

func (n *colleague) isHelpedByOwner() {
	n.tab.step("replaces a forgotten password with an owner's link, once", func(t *testing.T) {
		n.boss.open("/settings/administrators")
		n.boss.follow("Nora نورا")
		n.boss.follow("Create a reset link…")
		n.boss.says("within an hour")
		n.boss.follow("Create the link")
		link := n.boss.textOf("#reset-link")
		n.boss.quiet()
		guest := n.w.tab(t)
		guest.open(n.w.within(link))
		guest.says(n.email)
		n.password = "eight maids a-milking"
		guest.fill("New password", n.password)
		guest.fill("New password again", n.password)
		guest.follow("Change the password")
		guest.says("Your password was changed")
		if status := guest.open(n.w.within(link)); status != 400 {
			t.Errorf("the link is answered %d", status)
		}
		guest.says("This link has been used")
		n.tab.open("/account")
		if path := n.tab.path(); !strings.HasPrefix(path, "/sign-in") {
			t.Errorf("her session has not ended, at %s", path)
		}
	})
	n.tab.step("shows notices until they are dismissed", func(t *testing.T) {
		n.boss.open("/settings/administrators")
		n.boss.follow("Nora نورا")
		n.boss.follow("Turn off two-step sign-in…")
		n.boss.follow("Turn it off")
		n.boss.says("Their two-step sign-in is off.")
		n.tab.open("/sign-in")
		n.tab.signIn(n.email, n.password)
		n.tab.says("created a link that can replace your password.", "turned off your two-step sign-in.")
		n.tab.open("/events")
		n.tab.follow("I have read this")
		if path := n.tab.path(); path != "/events" || strings.Contains(n.tab.text(), "two-step") {
			t.Errorf("at %s:\n%s", path, n.tab.text())
		}
		n.tab.quiet()
	})
}

func (b *tab) sendTwice(t *testing.T) {
	b.open("/settings/api-clients/new")
	b.fill("Name", "Twice")
	b.tick("customers:read")
	form := eval[string](b, `new URLSearchParams(new FormData(document.querySelector("main form"))).toString()`)
	// Both clicks are in one task of the page. Of two clicks of a mouse, the second can hit the next page.
	eval[bool](b, `(() => {
		const button = document.evaluate(`+quote(t, control("Create the client"))+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		button.click();
		button.click();
		return true;
	})()`)
	b.do("wait for the secret", chromedp.WaitVisible(chromedp.CSS("#credential-secret")))
	secret := b.credential().Secret
	// A form without JavaScript can be sent again.
	eval[bool](b, `(() => {
		const form = document.createElement("form");
		form.method = "post";
		form.action = "/settings/api-clients";
		for (const [name, value] of new URLSearchParams(`+quote(t, form)+`)) {
			const field = form.appendChild(document.createElement("input"));
			field.type = "hidden"; field.name = name; field.value = value;
		}
		const send = form.appendChild(document.createElement("button"));
		send.textContent = "Again";
		document.querySelector("main").append(form);
		return true;
	})()`)
	b.follow("Again")
	if strings.Contains(b.text(), secret) {
		t.Error("the secret is shown again")
	}
	b.says("This form was sent twice", "Rotate the secret…")
	b.open("/settings/api-clients")
	if n := strings.Count(b.text(), "Twice"); n != 1 {
		t.Errorf("there are %d clients", n)
	}
}
