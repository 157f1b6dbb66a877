package browser

import (
	"path/filepath"
	"testing"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/test/harness"
)

// world is a platform with the demonstration company and an owner, and a browser.
type world struct {
	*harness.Standalone
	postgres *harness.Postgres
	chromium *chromium
	op       *harness.Operator
	company  *harness.Company
	receiver *receiver
	url      string // of the dashboard
	files    string // origin of the media service's files
	email    string
	password string
}

// TestDashboard does what an owner does in a day.
func TestDashboard(t *testing.T) {
	w := newWorld(t, liberation())
	t.Run("signing in", w.testSigningIn)
	t.Run("accounts", w.testAccounts)
	t.Run("roles", w.testRoles)
	t.Run("API clients", w.testAPIClients)
	t.Run("webhooks", w.testWebhooks)
	t.Run("front desk", w.testFrontDesk)
	t.Run("door", w.testDoor)
	t.Run("busy hour", w.testBusyHour)
	t.Run("changing events", w.testEditing)
	t.Run("appointments", w.testAppointments)
	t.Run("subscriptions", w.testSubscriptions)
	t.Run("library", w.testLibrary)
	t.Run("exports", w.testExports)
	t.Run("reports", w.testReports)
	t.Run("test mode", w.testTestMode)
	t.Run("without JavaScript", w.testWithoutScript)
}

func newWorld(t *testing.T, fonts fontSet) *world {
	t.Helper()
	w := &world{chromium: startChromium(t, fonts), receiver: newReceiver(t)}
	w.postgres = harness.StartPostgres(t, filepath.Join(harness.TempDir(t), "postgres"), pgserver.Fast)
	w.Standalone = harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{
		"DEMO": "on", "DATABASE_URL": w.postgres.AdminURL(),
		"WEBHOOK_CA_FILE": w.receiver.authority, "WEBHOOK_PRIVATE_ADDRESSES": "allow",
	}})
	w.url, w.email, w.password = w.Credentials.Admin.URL, w.Credentials.Admin.Email, w.Credentials.Admin.Password
	w.files = filesAt(t, w.url)
	w.op = w.Operator(t)
	w.company = w.op.Company(w.Credentials.CompanyID)
	return w
}

// tab opens a tab without a session.
func (w *world) tab(t *testing.T) *tab {
	b := w.chromium.tab(t, w.url)
	b.files = w.files
	return b
}

// signedIn opens a tab with a session of the owner.
func (w *world) signedIn(t *testing.T) *tab {
	t.Helper()
	b := w.tab(t)
	b.open("/sign-in")
	b.signIn(w.email, w.password)
	return b
}

// signIn fills in and sends the sign-in form.
func (b *tab) signIn(email, password string) {
	b.t.Helper()
	b.fill("E-mail address", email)
	b.fill("Password", password)
	b.follow("Sign in")
}
