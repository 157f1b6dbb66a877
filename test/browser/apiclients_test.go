package browser

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// credential reads the page that shows a new secret.
func (b *tab) credential() harness.Credential {
	b.t.Helper()
	return harness.Credential{ID: b.textOf("#credential-id"), Secret: b.textOf("#credential-secret")}
}

func (w *world) testAPIClients(t *testing.T) { // invariant 1
	b, a := w.signedIn(t), w.A(t)
	var client, rotated harness.Credential
	var token string
	b.step("shows the id and once the secret of a new client", func(t *testing.T) {
		b.open("/settings/api-clients")
		b.follow("Add Client")
		b.fill("Name", "Reporting")
		b.fill("Description", "Counts bookings at night.")
		b.tick("customers:read")
		b.fill("Expires after (days)", "30")
		b.follow("Create the client")
		client = b.credential()
		if raw, err := hex.DecodeString(client.Secret); !strings.HasPrefix(client.ID, "m2m_") || err != nil || len(raw) != 32 {
			t.Fatalf("id %q, secret %q", client.ID, client.Secret)
		}
		if curl := b.textOf("#credential-curl"); !strings.Contains(curl, w.BaseURL+"/token") || !strings.Contains(curl, client.Secret) {
			t.Errorf("the line to paste is %q", curl)
		}
		b.follow("I have copied it")
		b.says("Reporting", client.ID, "customers:read")
		if strings.Contains(b.text(), client.Secret) {
			t.Error("the secret is shown again")
		}
		b.quiet()
	})
	b.step("allows on Interface A what the scopes allow", func(t *testing.T) {
		token = a.Token(t, client)
		answer := a.Do(t, harness.Request{Path: "/customers", Token: token})
		var list struct{ Data []struct{ ID string } }
		answer.Into(t, http.StatusOK, &list)
		if len(list.Data) < 50 {
			t.Fatalf("%d customers", len(list.Data))
		}
		bookings := a.Do(t, harness.Request{Path: "/customer/" + list.Data[0].ID + "/bookings", Token: token})
		if bookings.Code != http.StatusForbidden || !strings.Contains(string(bookings.Body), "bookings:read") {
			t.Errorf("without the scope: %d %s", bookings.Code, bookings.Body)
		}
	})
	b.step("refuses a client without a scope", func(t *testing.T) {
		b.open("/settings/api-clients/new")
		b.fill("Name", "Nothing at all")
		b.follow("Create the client")
		b.says("Choose at least one scope.")
		value := eval[string](b, `document.querySelector("#name").value`)
		if value != "Nothing at all" {
			t.Errorf("what was typed is now %q", value)
		}
		b.takeProblems() // the browser logs the status 422
	})
	b.step("lists the effects of rotating, then rotates the secret", func(t *testing.T) {
		b.open("/settings/api-clients/" + client.ID)
		b.follow("Rotate the secret…")
		b.says("The current secret stops working immediately")
		b.follow("Rotate the secret")
		rotated = b.credential()
		if rotated.ID != client.ID || rotated.Secret == client.Secret {
			t.Fatalf("from %v to %v", client, rotated)
		}
		w.locked(t, a, client)
		fresh := a.Token(t, rotated)
		if code := a.Do(t, harness.Request{Path: "/customers", Token: fresh}).Code; code != http.StatusOK {
			t.Errorf("with the new secret: %d", code)
		}
		w.dead(t, a, token)
		token = fresh
		b.quiet()
	})
	b.step("disables and enables the client", func(t *testing.T) {
		b.open("/settings/api-clients/" + client.ID)
		b.follow("Disable…")
		b.follow("Disable")
		b.says("The client is disabled.")
		w.dead(t, a, token)
		b.follow("Enable…")
		b.follow("Enable")
		b.says("The client is enabled.")
		token = a.Token(t, rotated)
	})
	b.step("deletes the client", func(t *testing.T) {
		b.follow("Delete…")
		b.says("You cannot undo this")
		b.follow("Delete permanently")
		if strings.Contains(b.text(), client.ID) {
			t.Error("it is still in the list")
		}
		w.dead(t, a, token)
		w.locked(t, a, rotated)
		b.quiet()
	})
}

// locked fails the test if a credential is accepted.
func (w *world) locked(t *testing.T, a *harness.A, c harness.Credential) {
	t.Helper()
	if answer := a.Do(t, harness.TokenRequest(c)); answer.Code != http.StatusUnauthorized {
		t.Errorf("the old secret is answered %d %s", answer.Code, answer.Body)
	}
}

// dead waits until a token is refused. The revocation is a domain event. The tests of faults measure how long it takes.
func (w *world) dead(t *testing.T, a *harness.A, token string) {
	t.Helper()
	harness.Eventually(t, stepLimit, func() error {
		answer, err := a.Try(t.Context(), harness.Request{Path: "/customers", Token: token})
		if err == nil && answer.Code != http.StatusUnauthorized {
			err = fmt.Errorf("the token is answered %d", answer.Code)
		}
		return err
	})
}
