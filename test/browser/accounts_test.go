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

// authenticator is the app on a phone: the code of a key now, by RFC 6238.
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

// colleague is somebody whom the owner has invited.
type colleague struct {
	email, password string
	recovery        []string
}

func (w *world) testAccounts(t *testing.T) { // invariant 1
	boss, b := w.signedIn(t), w.tab(t)
	nora := colleague{email: "nora@example.com", password: "seven swans a-swimming"}
	signOut := func() {
		b.followAt("Sign out", `//button[normalize-space()="Sign out" and not(ancestor::details)]`)
	}
	within := func(link string) string { return strings.TrimPrefix(link, w.url) }

	b.step("an invitation makes an administrator", func(t *testing.T) {
		boss.open("/settings/administrators")
		boss.fill("E-mail address", nora.email)
		boss.follow("Make an invitation")
		link := boss.textOf("#invitation-link")
		boss.open("/settings/administrators")
		if strings.Contains(boss.text(), link) {
			t.Error("the link is shown again")
		}
		b.open(within(link))
		b.fill("Your name", "Nora نورا")
		b.fill("Password", nora.password)
		b.fill("Password again", nora.password)
		b.follow("Join")
		b.says("Welcome to")
	})
	b.step("two-step sign-in is set up with an app, after a wrong code too", func(t *testing.T) {
		b.open("/account")
		b.fill("Your password, to set it up", nora.password)
		b.follow("Set it up")
		key := b.textOf("#totp-secret")
		b.fill("Code", "000000")
		b.follow("Turn it on")
		b.says("This code is not right.")
		if again := b.textOf("#totp-secret"); again != key {
			t.Fatalf("another key is shown: %q, then %q", key, again)
		}
		b.takeProblems() // the browser logs the status 422
		b.fill("Code", authenticator(t, key))
		b.follow("Turn it on")
		nora.recovery = strings.Fields(b.textOf("#recovery"))
		if len(nora.recovery) != 10 {
			t.Fatalf("recovery codes: %q", nora.recovery)
		}
		b.follow("I have kept them")
		b.says("10 recovery codes left")
	})
	b.step("who signs out is out, and the back button shows nothing any more", func(t *testing.T) {
		b.open("/customers")
		b.says("customers, newest first")
		signOut()
		b.do("back", chromedp.NavigateBack())
		if page := b.text(); strings.Contains(page, "newest first") || !strings.HasPrefix(b.path(), "/sign-in") {
			t.Errorf("at %s:\n%s", b.path(), page)
		}
	})
	b.step("signing in asks for the code on a page of its own, which knows no password", func(t *testing.T) {
		b.open("/sign-in?next=%2Faccount")
		b.signIn(nora.email, nora.password)
		if path := b.path(); !strings.HasPrefix(path, "/sign-in/code") {
			t.Fatalf("at %s", path)
		}
		if html := b.now(`document.documentElement.outerHTML`); strings.Contains(html, nora.password) || strings.Contains(html, nora.email) {
			t.Error("the page has the password or the address in it")
		}
		b.fill("Code", "000000")
		b.follow("Sign in")
		b.says("This code is not right")
		b.takeProblems()
		b.fill("Code", nora.recovery[0])
		b.follow("Sign in")
		if path := b.path(); path != "/account" {
			t.Fatalf("at %s", path)
		}
		b.says("9 recovery codes left")
		b.quiet()
	})
	b.step("a forgotten password is replaced by an owner's link, once", func(t *testing.T) {
		boss.open("/settings/administrators")
		boss.follow("Nora نورا")
		boss.follow("Link for a new password…")
		boss.says("within an hour")
		boss.follow("Make the link")
		link := boss.textOf("#reset-link")
		boss.quiet()
		guest := w.tab(t)
		guest.open(within(link))
		guest.says(nora.email)
		nora.password = "eight maids a-milking"
		guest.fill("New password", nora.password)
		guest.fill("New password again", nora.password)
		guest.follow("Change the password")
		guest.says("The password is changed")
		if status := guest.open(within(link)); status != 400 {
			t.Errorf("the link is answered %d", status)
		}
		guest.says("This link has been used")
		b.open("/account")
		if path := b.path(); !strings.HasPrefix(path, "/sign-in") {
			t.Errorf("her session goes on, at %s", path)
		}
	})
	b.step("she is told, until she has read it", func(t *testing.T) {
		boss.open("/settings/administrators")
		boss.follow("Nora نورا")
		boss.follow("Turn two-step sign-in off…")
		boss.follow("Turn it off")
		boss.says("Their two-step sign-in is off.")
		b.open("/sign-in")
		b.signIn(nora.email, nora.password)
		b.says("has made a link with which your password can be replaced.", "has turned off your two-step sign-in.")
		b.open("/events")
		b.follow("I have read this")
		if path := b.path(); path != "/events" || strings.Contains(b.text(), "two-step") {
			t.Errorf("at %s:\n%s", path, b.text())
		}
		b.quiet()
	})
	b.step("a form that is sent twice is done once, and the second answer says so", func(t *testing.T) {
		boss.open("/settings/api-clients/new")
		boss.fill("Name", "Twice")
		boss.tick("customers:read")
		form := eval[string](boss, `new URLSearchParams(new FormData(document.querySelector("main form"))).toString()`)
		boss.do("two clicks", chromedp.DoubleClick(control("Create the client"), chromedp.NodeVisible))
		boss.do("wait for the secret", chromedp.WaitVisible(chromedp.CSS("#credential-secret")))
		secret := boss.credential().Secret
		// Without JavaScript the browser sends it again.
		eval[bool](boss, `(() => {
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
		boss.follow("Again")
		if strings.Contains(boss.text(), secret) {
			t.Error("the secret is shown again")
		}
		boss.says("This form was sent twice", "Rotate the secret…")
		boss.open("/settings/api-clients")
		if n := strings.Count(boss.text(), "Twice"); n != 1 {
			t.Errorf("there are %d clients", n)
		}
	})
}
