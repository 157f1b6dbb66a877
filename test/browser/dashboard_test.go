package browser

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"reservation.dev/test/harness"
)

// platform starts everything with the demonstration company, and opens a browser
// in which its owner is signed in.
func platform(t *testing.T) (*harness.Standalone, *tab) {
	t.Helper()
	chrome(t)
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on"}})
	b := openTab(t, s.Credentials.Admin.URL)
	b.signIn(s.Credentials.Admin.Email, s.Credentials.Admin.Password)
	return s, b
}

// trust lets webhooks go to a receiver with a certificate of its own.
func trust(t *testing.T, s *harness.Standalone, receiver *httptest.Server) {
	t.Helper()
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(s.Dir, "webhook-ca.pem"), trusted, 0o600); err != nil {
		t.Fatal(err)
	}
}

// first returns the path of the first link of a kind on a page.
func (b *tab) first(page, selector string) string {
	b.t.Helper()
	var path string
	b.open(page)
	b.do(chromedp.Evaluate(fmt.Sprintf("(document.querySelector(%q) || {pathname: ''}).pathname", selector), &path))
	if path == "" {
		b.t.Fatalf("%s has no link", page)
	}
	return path
}

// exchange asks Interface A for a token, and with it for the customers.
func exchange(t *testing.T, base, id, secret string) (status int) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"client_id": id, "client_secret": secret})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(base+"/token", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return res.StatusCode
	}
	var token struct {
		AccessToken string `json:"access_token"`
		Scope       string `json:"scope"`
	}
	if err := json.NewDecoder(res.Body).Decode(&token); err != nil || token.Scope != "customers:read" {
		t.Fatalf("%+v, %v", token, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/customers?pageSize=5", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	list, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Body.Close()
	return list.StatusCode
}

func TestDashboard(t *testing.T) {
	s, b := platform(t)

	t.Run("a client that is created there works on Interface A, until its secret is rotated", func(t *testing.T) {
		b.t = t
		b.open("/settings/api-clients")
		b.press("Add Client")
		b.sees("Expires after (days)")
		b.fill("name", "Reporting")
		b.do(chromedp.Click(`input[value="customers:read"]`, chromedp.ByQuery))
		b.fill("expires", "30")
		b.press("Create the client")
		b.sees("Copy the secret now")
		id, secret := b.text("#credential-id"), b.text("#credential-secret")
		if curl := b.text("#credential-curl"); !strings.Contains(curl, id) || !strings.Contains(curl, s.Credentials.InterfaceA.BaseURL+"/token") {
			t.Errorf("the line to paste is %s", curl)
		}
		if code := exchange(t, s.Credentials.InterfaceA.BaseURL, id, secret); code != http.StatusOK {
			t.Fatalf("the client gets %d", code)
		}
		b.open("/settings/api-clients/" + id)
		b.press("Rotate the secret…")
		b.sees("stops working at once")
		b.press("Rotate the secret")
		b.sees("Copy the secret now")
		if rotated := b.text("#credential-secret"); rotated == secret || exchange(t, s.Credentials.InterfaceA.BaseURL, id, rotated) != http.StatusOK {
			t.Error("the new secret does not work")
		}
		if code := exchange(t, s.Credentials.InterfaceA.BaseURL, id, secret); code != http.StatusUnauthorized {
			t.Errorf("the old secret gets %d", code)
		}
	})
	t.Run("a test reaches a receiver, and its result is shown at once", func(t *testing.T) {
		b.t = t
		got := make(chan *http.Request, 1)
		receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			got <- r
		}))
		defer receiver.Close()
		trust(t, s, receiver)
		b.open("/settings/webhooks/new")
		b.fill("url", receiver.URL+"/hook")
		b.press("Add the endpoint")
		b.sees("The endpoint is added.")
		b.press("Show")
		b.sees("Hide")
		if secret := b.text("#secret-0"); !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("the secret is %q", secret)
		}
		b.press("Send Test")
		b.sees("The receiver took it.")
		r := <-got
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Service-Signature") == "" || !strings.Contains(string(body), `"test":true`) {
			t.Errorf("the receiver got %v %s, %v", r.Header, body, err)
		}
		b.open("/settings/webhooks/deliveries")
		b.sees("Delivered")
	})
	t.Run("a customer is added, booked and checked in", func(t *testing.T) {
		b.t = t
		b.open("/customers/new")
		b.fill("first", `<script>alert(1)</script>`)
		b.fill("last", "Quill")
		b.fill("email", "quill@example.com")
		b.press("Add the customer")
		b.sees("The customer is added.")
		b.open("/events/new")
		b.fill("title", "يوجا الصباح")
		b.fill("capacity", "3")
		b.fill("price", "12.50")
		b.press("Add the event")
		b.sees("The event is added, with 1 date.")
		b.do(chromedp.Click("table.cards tbody a", chromedp.ByQuery))
		b.sees("0 of 3 places taken")
		b.press("Book")
		b.sees("Who is it for?")
		b.fill("q", "quill")
		b.until(`document.querySelectorAll("#found li").length === 1`)
		b.do(chromedp.Click("#found a.slot", chromedp.ByQuery))
		b.sees("Payment reference")
		b.press("Book")
		b.sees("Booked: 1 place for <script>alert(1)</script> Quill, £12.50.")
		b.sees("1 of 3 places taken")
		b.do(chromedp.Click(`//button[starts-with(normalize-space(.),"Check in")]`, chromedp.BySearch))
		b.sees("1 checked in")
		b.press("Booking of <script>alert(1)</script> Quill")
		b.sees("£12.50 are owed to the customer")
		b.press("Cancel…")
		b.press("Cancel the booking")
		b.sees("The booking is cancelled.")
		b.open("/settings/audit")
		b.sees("booking.cancel")
	})
	t.Run("without JavaScript it works too", func(t *testing.T) {
		b.t = t
		b.do(emulation.SetScriptExecutionDisabled(true))
		b.do(chromedp.Navigate(b.base+"/customers"), chromedp.SendKeys("#q", "quill\r", chromedp.ByQuery), chromedp.WaitVisible(`a[href^="/customers/cust_"]`, chromedp.ByQuery))
		b.do(emulation.SetScriptExecutionDisabled(false))
	})
	t.Run("no page breaks its own policy, and no script fails", func(t *testing.T) {
		b.t = t
		b.quiet()
	})
	t.Run("signing out ends it", func(t *testing.T) {
		b.t = t
		b.open("/")
		b.do(chromedp.Click(`.side button`, chromedp.ByQuery))
		b.sees("You are signed out.")
		b.do(chromedp.Navigate(b.base + "/settings/api-clients"))
		b.sees("Forgotten the password?")
	})
}

// audit is what a checker of accessibility looks at first, in the page itself.
const audit = `(() => {
  const faults = [], ids = new Set();
  const named = e => (e.innerText || e.textContent || e.getAttribute("aria-label") || "").trim() !== "";
  for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) faults.push("two elements have the id " + e.id); ids.add(e.id); }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) faults.push("no label: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("a, button, summary")) if (!named(e)) faults.push("no name: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("img:not([alt]), svg:not([aria-hidden]):not([aria-label])")) faults.push("no text: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("[aria-describedby]"))
    for (const id of e.getAttribute("aria-describedby").split(/\s+/)) if (id && !document.getElementById(id)) faults.push("described by nothing: " + id);
  if (document.querySelectorAll("h1").length !== 1) faults.push(document.querySelectorAll("h1").length + " main headings");
  if (!document.documentElement.lang || !document.title || !document.querySelector("main")) faults.push("no language, title or main");
  if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the screen: " + document.documentElement.scrollWidth + " of " + innerWidth);
  return faults;
})()`

func TestPagesAreAccessible(t *testing.T) {
	s, b := platform(t)
	paths := []string{
		"/", "/week", "/events", "/events/new", "/customers", "/customers/new", "/pass-types", "/pass-types/new", "/account", "/settings/api-clients",
		"/settings/api-clients/new", "/settings/api-clients/" + s.Credentials.InterfaceA.ClientID, "/settings/api-clients/" + s.Credentials.InterfaceA.ClientID + "/rotate",
		"/settings/api-keys", "/settings/api-keys/new", "/settings/webhooks", "/settings/webhooks/new", "/settings/webhooks/deliveries",
		"/settings/webhooks/replay", "/settings/company", "/settings/administrators", "/settings/audit", "/nowhere",
	}
	paths = append(paths, b.first("/week", "a.slot"), b.first("/customers", "table.cards a"))
	for _, width := range []int64{1280, 390, 320} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, path := range paths {
			t.Run(fmt.Sprintf("%s at %d", path, width), func(t *testing.T) {
				b.t = t
				b.open(path)
				var faults []string
				b.do(chromedp.Evaluate(audit, &faults))
				for _, fault := range faults {
					t.Error(fault)
				}
			})
		}
	}
	b.t = t
	b.quiet()
}
