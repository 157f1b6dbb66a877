package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"testing"
	"time"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

// caller uses Interface B and holds every answer to its description.
type caller struct {
	base, token string
	contract    *openapitest.Contract
}

type object = map[string]any

func (c *caller) do(t *testing.T, want int, method, path string, body any) object {
	t.Helper()
	_, text := c.exchange(t, want, method, path, body, nil)
	var v object
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	return v
}

// send makes a request with headers and returns those of the answer.
func (c *caller) send(t *testing.T, want int, method, path string, body any, header http.Header) http.Header {
	t.Helper()
	answered, _ := c.exchange(t, want, method, path, body, header)
	return answered
}

func (c *caller) exchange(t *testing.T, want int, method, path string, body any, header http.Header) (http.Header, []byte) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var payload io.Reader
	if body != nil {
		payload = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.base+path, payload)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	c.contract.Check(t, method, r.URL.Path, res.StatusCode, res.Header, answer)
	if res.StatusCode != want {
		t.Fatalf("%s %s: %d, not %d: %s", method, path, res.StatusCode, want, answer)
	}
	return res.Header, answer
}

func (c *caller) create(t *testing.T, path string, body object) string {
	t.Helper()
	return path + "/" + c.do(t, http.StatusCreated, http.MethodPost, path, body)["id"].(string)
}

// TestInterfaceB walks through the operations of Interface B over one running
// platform, and through them again as another company.
func TestInterfaceB(t *testing.T) {
	s := harness.StartStandalone(t, harness.StandaloneOptions{})
	text, err := os.ReadFile("../../gateway-b/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	op := operator{s: s}
	anybody := &caller{base: s.Credentials.InterfaceB.BaseURL, contract: openapitest.Load(t, text, "/api/v1")}
	signInto := func(name, zone string) (company string, c *caller) {
		made := decode[struct {
			ID string `json:"id"`
		}](t, op.ok(t, "company", "create", "--name", name, "--timezone", zone, "--currency", "GBP"))
		k := decode[apiKey](t, op.ok(t, "key", "create", "--company", made.ID, "--name", name))
		token := anybody.do(t, http.StatusOK, http.MethodPost, "/auth/token", object{"apiKey": k.ID, "apiSecret": k.Secret})["token"]
		return made.ID, &caller{base: anybody.base, token: token.(string), contract: anybody.contract}
	}
	signIn := func(name string) *caller {
		_, c := signInto(name, "Europe/London")
		return c
	}
	own := signIn("Own")

	customer := own.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
	customerID := customer[len("/customers/"):]
	event := own.create(t, "/events", object{
		"title": "Clay", "timezone": "Europe/London", "startsAt": "2099-03-28T09:30:00", "duration": 60, "capacity": 2,
		"pricingOptions": []object{{"name": "Place", "price": 12.35, "currency": "GBP", "credits": 2}},
	})
	pass := own.create(t, "/passes", object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month"})
	customerPass := own.create(t, "/customer-passes", object{
		"customerId": customerID, "passId": pass[len("/passes/"):], "startDate": "2025-01-31",
	})
	if got := own.do(t, 200, http.MethodGet, customerPass, nil); got["expiryDate"] != "2025-02-28" || got["status"] != "expired" {
		t.Errorf("got %v", got)
	}
	option := own.do(t, 200, http.MethodGet, event, nil)["pricingOptions"].([]any)[0].(object)["id"]
	booking := object{"customerId": customerID, "spots": 2, "pricingOptionId": option, "payment": object{"method": "CARD"}}
	registration := own.create(t, event+"/registrations", booking)

	t.Run("another company's ids are answered 404 on every route", func(t *testing.T) {
		other := signIn("Other")
		for _, path := range []string{customer, event, pass, customerPass} {
			other.do(t, 404, http.MethodGet, path, nil)
			other.do(t, 404, http.MethodPut, path, object{})
		}
		for _, path := range []string{customer, event, registration} {
			other.do(t, 404, http.MethodDelete, path, nil)
		}
		other.do(t, 404, http.MethodGet, event+"/registrations", nil)
		other.do(t, 404, http.MethodPost, event+"/registrations", booking)
	})
	t.Run("an identifier that is all zeros, malformed or empty is one that does not exist", func(t *testing.T) {
		for _, id := range []string{"00000000000000000000000000", "x"} {
			for _, path := range []string{"/customers/cust_" + id, "/events/evt_" + id, "/passes/pass_" + id, "/customer-passes/cp_" + id} {
				own.do(t, 404, http.MethodGet, path, nil)
				own.do(t, 404, http.MethodPut, path, object{})
			}
			for _, path := range []string{"/customers/cust_" + id, "/events/evt_" + id, event + "/registrations/reg_" + id, "/events/evt_" + id + registration[len(event):]} {
				own.do(t, 404, http.MethodDelete, path, nil)
			}
			own.do(t, 404, http.MethodGet, event+"/registrations?eventDateId=date_"+id, nil)
			for _, list := range []string{event + "/registrations?customerId=cust_" + id, "/customer-passes?customerId=cust_" + id, "/customer-passes?passId=pass_" + id} {
				if got := own.do(t, 200, http.MethodGet, list, nil); got["total"] != 0.0 {
					t.Errorf("%s: got %v", list, got)
				}
			}
			for member, value := range (object{
				"customerId": "cust_" + id, "purchasedById": "cust_" + id, "eventDateId": "date_" + id, "pricingOptionId": "po-" + id,
				"payment": object{"method": "PASS", "customerPassId": "cp_" + id},
			}) {
				body := object{"customerId": customerID, "payment": object{"method": "CARD"}}
				body[member] = value
				own.do(t, 404, http.MethodPost, event+"/registrations", body)
			}
			for member, value := range (object{"customerId": "cust_" + id, "passId": "pass_" + id}) {
				body := object{"customerId": customerID, "passId": pass[len("/passes/"):], "startDate": "2025-01-31"}
				body[member] = value
				own.do(t, 404, http.MethodPost, "/customer-passes", body)
			}
		}
		own.do(t, 404, http.MethodGet, event+"/registrations?eventDateId=", nil)
		for _, list := range []string{event + "/registrations?customerId=", "/customer-passes?customerId=", "/customer-passes?passId="} {
			if got := own.do(t, 200, http.MethodGet, list, nil); got["total"] != 0.0 {
				t.Errorf("%s: got %v", list, got)
			}
		}
		for _, body := range []object{
			{"customerId": customerID, "eventDateId": ""}, {"customerId": customerID, "pricingOptionId": ""},
			{"customerId": customerID, "payment": object{"method": "PASS", "customerPassId": ""}},
		} {
			own.do(t, 404, http.MethodPost, event+"/registrations", body)
		}
		if got := own.do(t, 200, http.MethodGet, event+"/registrations", nil); got["total"] != 1.0 {
			t.Errorf("something was booked: %v", got)
		}
	})
	t.Run("a company that moves is in its new zone at once, for tokens of before the move too", func(t *testing.T) {
		// A zone in which it is another day than in UTC.
		zone, day, before, after := "Pacific/Kiritimati", 1, "pending", "active"
		if time.Now().UTC().Hour() < 10 {
			zone, day, before, after = "Pacific/Pago_Pago", 0, "active", "pending"
		}
		company, moving := signInto("Moving", "UTC")
		who := moving.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
		kind := moving.create(t, "/passes", object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month"})
		body := object{
			"customerId": who[len("/customers/"):], "passId": kind[len("/passes/"):],
			"startDate": time.Now().UTC().AddDate(0, 0, day).Format(time.DateOnly),
		}
		status := func() any {
			return moving.do(t, http.StatusCreated, http.MethodPost, "/customer-passes", body)["status"]
		}
		if got := status(); got != before {
			t.Errorf("before the move a pass is %v, not %s", got, before)
		}
		op.ok(t, "company", "update", "--company", company, "--timezone", zone)
		if got := status(); got != after {
			t.Errorf("after the move a pass is %v, not %s", got, after)
		}
		made := moving.create(t, "/events", object{"title": "Clay", "startsAt": "2099-03-28T09:30:00", "duration": 60})
		if got := moving.do(t, 200, http.MethodGet, made, nil)["timezone"]; got != zone {
			t.Errorf("a new event is in %v, not %s", got, zone)
		}
	})
	t.Run("a full event refuses, and is not deleted while it has registrations", func(t *testing.T) {
		full := own.do(t, 400, http.MethodPost, event+"/registrations", booking)["error"].(object)
		if full["code"] != "EVENT_FULL" {
			t.Errorf("got %v", full)
		}
		kept := own.do(t, 400, http.MethodDelete, event, nil)["error"].(object)
		if kept["code"] != "EVENT_HAS_REGISTRATIONS" {
			t.Errorf("got %v", kept)
		}
	})
	for path, body := range map[string]object{
		customer: {"lastName": "King"}, event: {"title": "Glaze"}, pass: {"title": "Six"}, customerPass: {"remainingUses": 3},
	} {
		changed := own.do(t, 200, http.MethodPut, path, body)
		for name, value := range body {
			if n, ok := value.(int); ok {
				value = float64(n)
			}
			if changed[name] != value {
				t.Errorf("%s: %s is %v", path, name, changed[name])
			}
		}
	}
	for path, name := range map[string]string{
		"/customers": "customers", "/events": "events", "/passes": "passes", "/customer-passes": "customerPasses",
		event + "/registrations": "registrations",
	} {
		list := own.do(t, 200, http.MethodGet, path, nil)
		if list["total"] != 1.0 || list["page"] != 1.0 || list["perPage"] != 25.0 || len(list[name].([]any)) != 1 {
			t.Errorf("%s: %v", path, list)
		}
	}
	own.do(t, 200, http.MethodDelete, registration, nil)
	for _, path := range []string{event, customer} {
		own.do(t, 200, http.MethodDelete, path, nil)
		own.do(t, 404, http.MethodDelete, path, nil)
	}
}
