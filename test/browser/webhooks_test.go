package browser

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// addEndpoint adds a webhook endpoint and leaves the tab on its page.
func (b *tab) addEndpoint(address, description string) {
	b.t.Helper()
	b.open("/settings/webhooks")
	b.follow("Add Endpoint")
	b.fill("Endpoint URL", address)
	b.fill("Description", description)
	b.follow("Add the endpoint")
	b.says("The endpoint was added.")
}

func (w *world) testWebhooks(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	b.step("refuses an address without HTTPS", func(t *testing.T) {
		b.open("/settings/webhooks/new")
		b.fill("Endpoint URL", "http://example.com/hook")
		b.follow("Add the endpoint")
		b.says("The address must begin with https://.")
		b.takeProblems() // the browser logs the status 422
	})
	b.step("adds an endpoint and says what to do next", func(t *testing.T) {
		b.addEndpoint(w.receiver.url+"/hook", "The till at the front desk")
		b.says(w.receiver.url+"/hook", "Send Test", "whsec_••••")
		b.quiet()
	})
	secret := ""
	b.step("shows the secret only on request", func(t *testing.T) {
		b.follow("Show")
		secret = b.textOf("#secret-0")
		if key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err != nil || len(key) != 32 {
			t.Fatalf("the secret is %q", secret)
		}
	})
	b.step("sends a signed test and shows the result immediately", func(t *testing.T) {
		b.choose("Event", "pass.purchased")
		b.follow("Send Test")
		var got received
		var envelope struct {
			Event string
			Test  bool
		}
		for !envelope.Test { // what happened before the endpoint was added can come first
			got = w.receiver.next(t)
			if err := json.Unmarshal(got.Body, &envelope); err != nil {
				t.Fatalf("%v: %s", err, got.Body)
			}
		}
		if envelope.Event != "pass.purchased" {
			t.Errorf("the test is %s", got.Body)
		}
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if _, err := jwt.Parse(got.Header.Get("X-Service-Signature"), func(*jwt.Token) (any, error) { return key, nil }, jwt.WithValidMethods([]string{"HS256"})); err != nil {
			t.Errorf("the signature: %v", err)
		}
		b.says("The receiver accepted the message.", "200")
		b.press("Response body")
		b.says("thank you")
		b.press("Request headers")
		b.says(got.Header.Get("X-Service-Signature"))
		b.quiet()
	})
	b.step("lists the test among the deliveries", func(t *testing.T) {
		b.follow("Open this test in the list of deliveries")
		b.says("Payload as sent", "Delivered", "Attempt 1")
		b.follow("Resend")
		w.receiver.next(t)
	})
	b.step("shows the response of a failing receiver", func(t *testing.T) {
		b.addEndpoint(w.receiver.url+"/broken", "")
		b.follow("Send Test")
		b.says("The receiver did not accept the message.", "500")
		b.press("Response body")
		b.says("the receiver is broken")
	})
	b.step("shows the new and the old secret after rotating", func(t *testing.T) {
		b.open("/settings/webhooks")
		b.follow(w.receiver.url + "/hook")
		b.follow("Rotate…")
		b.says("24 hours")
		b.follow("Rotate the secret")
		if fresh, old := b.textOf("#secret-0"), b.textOf("#secret-1"); fresh == secret || old != secret {
			t.Errorf("the secrets are %q and %q, the one before was %q", fresh, old, secret)
		}
	})
	b.step("disables and enables the endpoint", func(t *testing.T) {
		b.follow("Disable…")
		b.follow("Disable")
		b.says("An administrator disabled this endpoint.")
		b.follow("Enable…")
		b.follow("Enable")
		b.says("The endpoint is enabled.")
		b.quiet()
	})
}
