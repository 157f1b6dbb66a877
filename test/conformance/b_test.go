package conformance

import (
	"net/http"
	"testing"

	"reservation.dev/test/harness"
)

const (
	get, post, put, patch, remove = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

	// Well-formed identifiers of objects that do not exist.
	noCustomer     = "/customers/cust_00000000000000000000000000"
	noEvent        = "/events/evt_00000000000000000000000000"
	noPass         = "/passes/pass_00000000000000000000000000"
	noCustomerPass = "/customer-passes/cp_00000000000000000000000000"
)

// testToken gets the token that all tests of Interface B use.
func testToken(t *testing.T, b *harness.Face, c harness.Credentials) {
	key := object{"apiKey": c.InterfaceB.APIKey, "apiSecret": c.InterfaceB.APISecret}
	b.Token = b.Read(t, 200, post, "/auth/token", key)["token"].(string)
	anybody := b.As("")
	anybody.Refused(t, 401, "INVALID_CREDENTIALS", post, "/auth/token", object{"apiKey": c.InterfaceB.APIKey, "apiSecret": "wrong"})
	anybody.Send(t, 400, post, "/auth/token", object{"apiKey": c.InterfaceB.APIKey})
	anybody.Send(t, 415, post, "/auth/token", `{}`, "Content-Type", "text/plain")
}

// world holds what one run has created over Interface B. Its paths begin with a slash.
type world struct {
	b *harness.Face

	customerID, email                           string
	customer, event, pass, customerPass, booked string
	transaction                                 string
}

func (w *world) create(t *testing.T, path string, body object) (string, object) {
	t.Helper()
	made := w.b.Read(t, 201, post, path, body)
	return path + "/" + made["id"].(string), made
}

func (w *world) make(t *testing.T) {
	w.email = unique("ada") + "@example.com"
	w.email = w.email[:3] + "." + w.email[4:]
	w.customer, _ = w.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": w.email})
	w.customerID = w.customer[len("/customers/"):]
	w.event, _ = w.create(t, "/events", object{
		"title": unique("Clay"), "type": "class", "timezone": "Europe/London", "startsAt": "2099-03-28T09:30:00", "duration": 60,
		"capacity": 2, "pricingOptions": []object{{"name": "Place", "price": 12.35, "currency": "GBP", "credits": 1, "taxRate": 20}},
	})
	w.pass, _ = w.create(t, "/passes", object{"title": unique("Five"), "totalUses": 5, "validityCount": 1, "validityUnit": "month", "price": 50, "currency": "GBP"})
	w.customerPass, _ = w.create(t, "/customer-passes", object{
		"customerId": w.customerID, "passId": w.pass[len("/passes/"):], "startDate": "2025-01-31",
	})
	var made object
	w.booked, made = w.create(t, w.event+"/registrations", object{"customerId": w.customerID, "spots": 1, "payment": object{"method": "CARD"}})
	w.transaction = made["transactionId"].(string)
}

// unmake deletes everything that can be deleted, and checks the answers.
func (w *world) unmake(t *testing.T) {
	w.b.Refused(t, 400, "EVENT_HAS_REGISTRATIONS", remove, w.event, nil)
	w.b.Send(t, 200, remove, w.booked, nil)
	w.b.Refused(t, 400, "ALREADY_CANCELLED", remove, w.booked, nil)
	for _, path := range []string{w.event, w.customer} {
		w.b.Send(t, 200, remove, path, nil)
		w.b.Send(t, 404, get, path, nil)
		w.b.Send(t, 404, remove, path, nil)
	}
	w.b.Send(t, 200, patch, w.customerPass, object{"status": "cancelled", "reason": "conformance"})
	w.b.Send(t, 200, patch, w.pass, object{"status": "archived"})
}

// common checks what all collections have in common: the list, and the refusals.
func (w *world) common(t *testing.T, list, member, none, name string) {
	t.Helper()
	page := w.b.Read(t, 200, get, list+"?perPage=1", nil)
	if items := page[name].([]any); len(items) != 1 || page["perPage"] != 1.0 || page["page"] != 1.0 || page["total"].(float64) < 1 {
		t.Errorf("%s: %v", list, page)
	}
	w.b.Send(t, 400, get, list+"?perPage=0", nil)
	w.b.Send(t, 400, post, list, object{})
	for _, token := range []string{"", "nonsense"} {
		nobody := w.b.As(token)
		nobody.Send(t, 401, get, list, nil)
		nobody.Send(t, 401, get, member, nil)
	}
	nobody := w.b.As("")
	nobody.Send(t, 401, post, list, object{})
	w.b.Send(t, 200, get, member, nil)
	w.b.Send(t, 404, get, none, nil)
}

// changes checks PUT and PATCH of a member.
func (w *world) changes(t *testing.T, member, none string, good, bad object) {
	t.Helper()
	for _, method := range []string{put, patch} {
		changed := w.b.Read(t, 200, method, member, good)
		for name, value := range good {
			if changed[name] != value {
				t.Errorf("%s %s: %s is %v", method, member, name, changed[name])
			}
		}
		w.b.Send(t, 400, method, member, bad)
		w.b.Send(t, 404, method, none, good)
		w.b.As("").Send(t, 401, method, member, good)
	}
}

func (w *world) testCustomers(t *testing.T) {
	w.common(t, "/customers", w.customer, noCustomer, "customers")
	w.changes(t, w.customer, noCustomer, object{"lastName": "King"}, object{"email": "nobody"})
	w.b.Send(t, 415, post, "/customers", `{}`, "Content-Type", "text/plain")
	w.b.As("").Send(t, 401, remove, w.customer, nil)

	tag := w.b.Send(t, 200, get, w.customer, nil).Header.Get("ETag")
	w.b.Send(t, 200, put, w.customer, object{"firstName": "Augusta"}, "If-Match", tag)
	w.b.Refused(t, 412, "VERSION_MISMATCH", put, w.customer, object{"firstName": "Ada"}, "If-Match", tag)

	key := unique("key")[4:]
	body := object{"firstName": "Once", "lastName": "Only", "email": "once." + w.email}
	first, again := w.b.Read(t, 201, post, "/customers", body, "Idempotency-Key", key), w.b.Read(t, 201, post, "/customers", body, "Idempotency-Key", key)
	if first["id"] != again["id"] {
		t.Errorf("a retry with the key created %v, the first request %v", again["id"], first["id"])
	}
	body["lastName"] = "Other"
	w.b.Refused(t, 409, "IDEMPOTENCY_KEY_REUSED", post, "/customers", body, "Idempotency-Key", key)
	w.b.Send(t, 200, remove, "/customers/"+first["id"].(string), nil)
}

func (w *world) testEvents(t *testing.T) {
	w.common(t, "/events", w.event, noEvent, "events")
	w.changes(t, w.event, noEvent, object{"title": unique("Glaze")}, object{"capacity": -1})
	w.b.As("").Send(t, 401, remove, w.event, nil)
}

func (w *world) testPasses(t *testing.T) {
	w.common(t, "/passes", w.pass, noPass, "passes")
	w.changes(t, w.pass, noPass, object{"title": unique("Six")}, object{"totalUses": 0})
	w.common(t, "/customer-passes", w.customerPass, noCustomerPass, "customerPasses")
	w.changes(t, w.customerPass, noCustomerPass, object{"remainingUses": 3.0}, object{"remainingUses": -1})
	if got := w.b.Read(t, 200, get, w.customerPass, nil); got["expiryDate"] != "2025-02-28" || got["status"] != "expired" {
		t.Errorf("a pass of a month from 31 January: %v", got)
	}
}

func (w *world) testRegistrations(t *testing.T) {
	list := w.event + "/registrations"
	w.common(t, list, w.booked, list+"/reg_00000000000000000000000000", "registrations")
	for _, method := range []string{get, post} {
		w.b.Send(t, 404, method, noEvent+"/registrations", map[string]any{get: nil, post: object{"customerId": w.customerID}}[method])
	}
	w.b.As("").Send(t, 401, remove, w.booked, nil)
	w.b.Send(t, 404, remove, list+"/reg_00000000000000000000000000", nil)
	w.b.Refused(t, 400, "EVENT_FULL", post, list, object{"customerId": w.customerID, "spots": 2})

	// The pass starts later than the booking, but is valid on the day of the event date.
	current, _ := w.create(t, "/customer-passes", object{
		"customerId": w.customerID, "passId": w.pass[len("/passes/"):], "startDate": "2099-03-20",
	})
	paid, made := w.create(t, list, object{
		"customerId": w.customerID, "payment": object{"method": "PASS", "customerPassId": current[len("/customer-passes/"):]},
	})
	if made["paymentMethod"] != "PASS" || w.b.Read(t, 200, get, current, nil)["remainingUses"] != 4.0 {
		t.Errorf("a registration by pass: %v", made)
	}
	if undone := w.b.Read(t, 200, remove, paid, nil); undone["creditsReturned"] != 1.0 {
		t.Errorf("its cancellation: %v", undone)
	}
	w.b.Send(t, 200, patch, current, object{"status": "cancelled", "reason": "conformance"})
}
