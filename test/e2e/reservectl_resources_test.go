package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// printed is a resource that reservectl prints.
type printed = map[string]any

// testResources follows a customer through the commands of all resources: an event, a hold,
// a purchase, a refund in parts, a waitlist and a pass.
func (o operator) testResources(t *testing.T, companyID string) {
	do := func(t *testing.T, words string, flags ...string) printed {
		t.Helper()
		return decode[printed](t, o.ok(t, append(append(strings.Fields(words), "--company", companyID, "-o", "json"), flags...)...))
	}
	list := func(t *testing.T, words string, flags ...string) []printed {
		t.Helper()
		return decode[[]printed](t, o.ok(t, append(append(strings.Fields(words), "--company", companyID, "-o", "json"), flags...)...))
	}
	customer := do(t, "customer create --first-name Ünal --last-name Lovelace --email unal@example.com")["id"].(string)
	start := time.Now().UTC().AddDate(0, 0, 10).Format("2006-01-02") + "T09:30:00"
	event := do(t, "event create --title Yoga",
		"--date", fmt.Sprintf(`{"local_start":%q,"duration_minutes":60,"capacity":2}`, start), "--pricing-option", `{"name":"Adult","price":1200,"credits":1}`)
	eventID := event["id"].(string)
	date := list(t, "event-date list --available --starts-from "+start[:10]+" --event-id "+eventID)[0]["date"].(printed)["id"].(string)
	line := fmt.Sprintf(`{"event_date_id":%q,"spaces":2}`, date)

	t.Run("customers can be searched, and have notes", func(t *testing.T) {
		if found := list(t, "customer list --query unal"); len(found) != 1 || found[0]["id"] != customer {
			t.Errorf("got %v", found)
		}
		note := do(t, "note create "+customer+" --kind preference --pinned", "--body", "Front row")
		do(t, "note update "+note["id"].(string)+" --pinned=false")
		if notes := list(t, "note list "+customer); len(notes) != 1 || notes[0]["pinned"] != false || notes[0]["body"] != "Front row" {
			t.Errorf("got %v", notes)
		}
		if gone := do(t, "note delete "+note["id"].(string)); gone["deleted"] != true {
			t.Errorf("got %v", gone)
		}
	})
	t.Run("a hold can be released, and a purchase refunded in parts", func(t *testing.T) {
		hold := do(t, "hold create --minutes 30 --purchaser-id "+customer, "--line", line)
		released := do(t, "hold release "+strings.Replace(hold["id"].(string), "txn_", "hold_", 1))
		if hold["status"] != "active" || released["status"] != "released" {
			t.Errorf("held %v, released %v", hold, released)
		}
		do(t, "discount create --code TEN --basis-points 1000")
		bought := do(t, "transaction create --payment-method cash --discount-code ten --purchaser-id "+customer, "--line", line)
		registration := list(t, "registration list --event-date-id "+date+" --cancelled=false")[0]
		booking := registration["booking"].(printed)["id"].(string)
		if registration["transaction_id"] != bought["id"] {
			t.Errorf("bought %v, registered %v", bought, registration)
		}
		waiting := do(t, "waitlist join "+date+" --customer-id "+customer)
		if left := do(t, "waitlist leave "+waiting["id"].(string)); left["state"] != "left" {
			t.Errorf("got %v", left)
		}
		if outcome := do(t, "registration preview-cancellation "+booking); outcome["refund_due"] != 2160.0 {
			t.Errorf("got %v", outcome)
		}
		do(t, "registration cancel "+booking+" --reason Ill")
		do(t, "registration refund "+booking+" --amount 160")
		refunded := do(t, "registration refund "+booking)["booking"].(printed)
		if refunded["refunded_amount"] != 2160.0 || refunded["refund_due"] != 0.0 || refunded["cancellation_reason"] != "Ill" {
			t.Errorf("got %v", refunded)
		}
	})
	t.Run("a pass has a ledger", func(t *testing.T) {
		sold := do(t, "pass create --total-uses 10 --validity-count 6 --validity-unit month --price 12000", "--title", "10 classes")
		pass := do(t, "customer-pass assign "+customer+" "+sold["id"].(string)+" --method CASH")["id"].(string)
		do(t, "customer-pass adjust "+pass+" --credits -2 --reason Mistake")
		ledger := list(t, "customer-pass ledger "+pass+" --descending")
		if len(ledger) != 2 || ledger[0]["balance"] != 8.0 || ledger[0]["reason"] != "Mistake" {
			t.Errorf("got %v", ledger)
		}
	})
	t.Run("a publishable key can be changed and deleted", func(t *testing.T) {
		key := do(t, "publishable-key create --name Website --origin https://studio.example")
		changed := do(t, "publishable-key update "+key["id"].(string)+" --enabled=false --origin=")
		if changed["enabled"] != false || len(changed["origins"].([]any)) != 0 {
			t.Errorf("got %v", changed)
		}
		do(t, "publishable-key delete "+key["id"].(string))
	})
	t.Run("an event with its dates can be cancelled", func(t *testing.T) {
		if changed := do(t, "event-date update "+date+" --capacity 5"); changed["date"].(printed)["capacity"] != 5.0 {
			t.Errorf("got %v", changed)
		}
		if cancelled := do(t, "event cancel "+eventID+" --reason Closed"); cancelled["status"] != "cancelled" {
			t.Errorf("got %v", cancelled)
		}
	})
	t.Run("refusals name flags", func(t *testing.T) {
		r := o.run(t, "", "transaction", "create", "--company", companyID, "--purchaser-id", customer, "--line", fmt.Sprintf(`{"event_date_id":%q,"spaces":-1}`, date))
		if r.Code != 1 || !strings.Contains(r.Errors, "--line[0].spaces") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("the sums are right afterwards", func(t *testing.T) { o.ok(t, "verify", "--company", companyID) })
}
