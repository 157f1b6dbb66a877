package privacy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// reservectl runs an operator's command for the company.
func (w *world) reservectl(t *testing.T, args ...string) harness.Result {
	t.Helper()
	issued, err := w.op.Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: w.OperatorCredential.ID, ClientSecret: w.OperatorCredential.Secret})
	if err != nil {
		t.Fatal(err)
	}
	return harness.Run(t, harness.Command{
		Program: "reservectl", Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()},
		Args: append(args, "--company", w.company.ID, "--auth", w.Auth, "--customer", w.Customer, "--booking", w.Booking, "--pass", w.Pass,
			"--subscription", w.Subscription, "--media", w.Media, "--webhook", w.Webhook, "--output", "json"),
	})
}

// testCommand exports and erases the customer with reservectl.
func (w *world) testCommand(t *testing.T, p *person) {
	t.Run("the export is one document with the data of each service", func(t *testing.T) {
		var document struct {
			CustomerID string `json:"customer_id"`
			Records    map[string]map[string][]map[string]any
		}
		if err := json.Unmarshal([]byte(w.reservectl(t, "customer", "export", p.id).Succeeded(t)), &document); err != nil {
			t.Fatal(err)
		}
		r := document.Records
		if document.CustomerID != p.id || len(r) != 7 || len(r["booking"]["transaction"]) != 4 || len(r["webhook"]["webhook_message"]) != 12 {
			t.Fatalf("got %v", document)
		}
		if c := r["customer"]["customer"][0]; c["id"] != p.id || c["first_name"] != p.mark+" first" || c["company_id"] != nil || c["email_key"] != nil {
			t.Errorf("got %v", c)
		}
		bought := r["booking"]["transaction"][0]
		if id, _ := bought["id"].(string); !strings.HasPrefix(id, "txn_") || bought["purchaser_id"] != p.id {
			t.Errorf("got %v", bought)
		}
		booked, _ := bought["bookings"].([]any)[0].(map[string]any)
		if id, _ := booked["event_date_id"].(string); !strings.HasPrefix(id, "date_") || booked["event_title"] == nil {
			t.Errorf("got %v", booked)
		}
	})
	t.Run("an unknown customer is not found", func(t *testing.T) {
		for _, command := range []string{"export", "erase"} {
			if r := w.reservectl(t, "customer", command, "cust_01jb4x9m3vf6ksn8w2d7pq5r0t"); r.Code != 1 || !strings.Contains(r.Errors, "NOT_FOUND") {
				t.Errorf("%s: exit status %d, %s", command, r.Code, r.Errors)
			}
		}
	})
	t.Run("a customer with future bookings is not erased without --cancel-open", func(t *testing.T) {
		r := w.reservectl(t, "customer", "erase", p.id)
		if r.Code != 1 || strings.Count(r.Errors, "booking_") != 2 || !strings.Contains(r.Errors, p.pass) {
			t.Errorf("exit status %d, %s", r.Code, r.Errors)
		}
		if out := w.reservectl(t, "customer", "erasures").Succeeded(t); strings.Contains(out, p.id) {
			t.Errorf("the customer is erased: %s", out)
		}
	})
	t.Run("future bookings are cancelled, and the customer is erased everywhere", func(t *testing.T) {
		var e map[string]any
		out := w.reservectl(t, "customer", "erase", p.id, "--cancel-open", "--wait", "--timeout", limit.String()).Succeeded(t)
		if err := json.Unmarshal([]byte(out), &e); err != nil {
			t.Fatal(err)
		}
		for _, member := range []string{"requested_at", "auth_confirmed_at", "booking_erased_at", "webhook_confirmed_at", "completed_at"} {
			text, _ := e[member].(string)
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				t.Errorf("%s is %v", member, e[member])
			}
		}
		if tables := w.inDatabases(t, p.mark); len(tables) > 0 {
			t.Errorf("the customer is still in the tables %v", tables)
		}
		if files := w.inFiles(t, p.mark); len(files) > 0 {
			t.Errorf("the customer is still in the files %v", files)
		}
		pass, err := w.op.Passes.GetCustomerPass(w.ctx(t, ""), &passv1.GetCustomerPassRequest{Id: p.pass})
		if err != nil || pass.GetCustomerPass().GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED {
			t.Errorf("got %v, %v", pass, err)
		}
		list, err := w.op.Bookings.ListRegistrations(w.ctx(t, ""), &bookingv1.ListRegistrationsRequest{EventId: w.class.GetId(), PageSize: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.GetRegistrations() {
			if r.GetPurchaser().GetId() == p.id && !r.GetBooking().GetIsCancelled() {
				t.Errorf("still booked: %v", r)
			}
		}
		w.verify(t)
	})
	t.Run("the erasure is listed, and a repeat starts nothing", func(t *testing.T) {
		var list []map[string]any
		if err := json.Unmarshal([]byte(w.reservectl(t, "customer", "erasures").Succeeded(t)), &list); err != nil || len(list) != 2 {
			t.Fatalf("got %v, %v", list, err)
		}
		if out := w.reservectl(t, "customer", "erase", p.id).Succeeded(t); strings.Contains(out, `"completed_at": null`) {
			t.Errorf("got %s", out)
		}
	})
	t.Run("an unknown customer does not prevent erasing others again and waiting for them", func(t *testing.T) {
		r := w.reservectl(t, "customer", "erase", "cust_01jb4x9m3vf6ksn8w2d7pq5r0t", p.id, "--repeat", "--wait", "--timeout", limit.String())
		if r.Code != 1 || !strings.Contains(r.Errors, "NOT_FOUND") {
			t.Errorf("exit status %d, %s", r.Code, r.Errors)
		}
		if !strings.Contains(r.Output, p.id) || strings.Contains(r.Output, `"completed_at": null`) {
			t.Errorf("got %s", r.Output)
		}
	})
}
