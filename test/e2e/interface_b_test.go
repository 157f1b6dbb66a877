package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"testing"
	"time"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

// caller uses Interface B and checks every answer against the OpenAPI description.
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

// send makes a request with headers, and returns the headers of the answer.
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

// companies creates companies that use Interface B of one platform.
type companies struct {
	op      operator
	anybody *caller // without a token
}

func newCompanies(t *testing.T) *companies {
	t.Helper()
	platform := harness.StartStandalone(t, harness.StandaloneOptions{})
	description := openapitest.Load(t, []byte(harness.File(t, "gateway-b/openapi/openapi.yaml")), "/api/v1")
	return &companies{operator{s: platform}, &caller{base: platform.Credentials.InterfaceB.BaseURL, contract: description}}
}

// make creates a company and returns its identifier.
func (b *companies) make(t *testing.T, name, zone string) string {
	t.Helper()
	return decode[struct {
		ID string `json:"id"`
	}](t, b.op.ok(t, "company", "create", "--name", name, "--timezone", zone, "--currency", "GBP")).ID
}

// caller returns a caller with a new API key of the company. args are added to the command that
// creates the key.
func (b *companies) caller(t *testing.T, company string, args ...string) *caller {
	t.Helper()
	k := decode[apiKey](t, b.op.ok(t, append([]string{"key", "create", "--company", company, "--name", "key"}, args...)...))
	token := b.anybody.do(t, http.StatusOK, http.MethodPost, "/auth/token", object{"apiKey": k.ID, "apiSecret": k.Secret})["token"]
	return &caller{base: b.anybody.base, token: token.(string), contract: b.anybody.contract}
}

// studio is a company with one object of each kind.
type studio struct {
	*caller
	customer, event, pass, customerPass, registration string // paths

	customerID string
	booking    object // the request body that created the registration
}

func newStudio(t *testing.T, c *caller) *studio {
	t.Helper()
	s := &studio{caller: c}
	s.customer = s.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
	s.customerID = s.customer[len("/customers/"):]
	s.event = s.create(t, "/events", object{
		"title": "Clay", "timezone": "Europe/London", "startsAt": "2099-03-28T09:30:00", "duration": 60, "capacity": 2,
		"pricingOptions": []object{{"name": "Place", "price": 12.35, "currency": "GBP", "credits": 2}},
	})
	s.pass = s.create(t, "/passes", object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month"})
	s.customerPass = s.create(t, "/customer-passes", object{
		"customerId": s.customerID, "passId": s.pass[len("/passes/"):], "startDate": "2025-01-31",
	})
	option := s.do(t, 200, http.MethodGet, s.event, nil)["pricingOptions"].([]any)[0].(object)["id"]
	s.booking = object{"customerId": s.customerID, "spots": 2, "pricingOptionId": option, "payment": object{"method": "CARD"}}
	s.registration = s.create(t, s.event+"/registrations", s.booking)
	return s
}

// TestInterfaceB tests the conformance of Interface B to its specification. The subtests share
// one running platform and each creates its own companies.
func TestInterfaceB(t *testing.T) {
	t.Parallel()
	b := newCompanies(t)
	t.Run("operations", b.testOperations)
	t.Run("publishable keys", b.testPublishableKeys)
	t.Run("conditional reads", b.testConditionalReads)
	t.Run("PUT accepts what GET returned", b.testSentBack)
	t.Run("event updates", b.testEventUpdates)
}

// testOperations uses every operation of Interface B, and then every operation as another
// company.
func (b *companies) testOperations(t *testing.T) {
	s := newStudio(t, b.caller(t, b.make(t, "Own", "Europe/London")))
	t.Run("a pass whose validity ended before it was created is expired", func(t *testing.T) {
		if got := s.do(t, 200, http.MethodGet, s.customerPass, nil); got["expiryDate"] != "2025-02-28" || got["status"] != "expired" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("another company's ids are answered 404 on every route", func(t *testing.T) {
		s.testOtherCompany(t, b.caller(t, b.make(t, "Other", "Europe/London")))
	})
	t.Run("an all-zero, malformed or empty identifier is 404", s.testUnknownIDs)
	t.Run("a new company timezone applies immediately, also to existing tokens", b.testMove)
	t.Run("a full event refuses registrations and cannot be deleted while it has any", s.testFull)
	t.Run("a change is answered with the changed object", s.testChanges)
	t.Run("lists contain every object once", s.testLists)
	t.Run("a deleted object is 404 and not listed", s.testDeletions)
}

func (s *studio) testOtherCompany(t *testing.T, other *caller) {
	for _, path := range []string{s.customer, s.event, s.pass, s.customerPass} {
		other.do(t, 404, http.MethodGet, path, nil)
		other.do(t, 404, http.MethodPut, path, object{})
	}
	for _, path := range []string{s.customer, s.event, s.registration} {
		other.do(t, 404, http.MethodDelete, path, nil)
	}
	other.do(t, 404, http.MethodGet, s.event+"/registrations", nil)
	other.do(t, 404, http.MethodPost, s.event+"/registrations", s.booking)
}

func (s *studio) testUnknownIDs(t *testing.T) {
	for _, id := range []string{"00000000000000000000000000", "x"} {
		for _, path := range []string{"/customers/cust_" + id, "/events/evt_" + id, "/passes/pass_" + id, "/customer-passes/cp_" + id} {
			s.do(t, 404, http.MethodGet, path, nil)
			s.do(t, 404, http.MethodPut, path, object{})
		}
		for _, path := range []string{"/customers/cust_" + id, "/events/evt_" + id, s.event + "/registrations/reg_" + id, "/events/evt_" + id + s.registration[len(s.event):]} {
			s.do(t, 404, http.MethodDelete, path, nil)
		}
		for _, list := range []string{s.event + "/registrations?eventDateId=date_" + id, s.event + "/registrations?customerId=cust_" + id, "/customer-passes?customerId=cust_" + id, "/customer-passes?passId=pass_" + id} {
			if got := s.do(t, 200, http.MethodGet, list, nil); got["total"] != 0.0 {
				t.Errorf("%s: got %v", list, got)
			}
		}
		for member, value := range (object{
			"customerId": "cust_" + id, "purchasedById": "cust_" + id, "eventDateId": "date_" + id, "pricingOptionId": "po-" + id,
			"payment": object{"method": "PASS", "customerPassId": "cp_" + id},
		}) {
			body := object{"customerId": s.customerID, "payment": object{"method": "CARD"}}
			body[member] = value
			s.do(t, 404, http.MethodPost, s.event+"/registrations", body)
		}
		for member, value := range (object{"customerId": "cust_" + id, "passId": "pass_" + id}) {
			body := object{"customerId": s.customerID, "passId": s.pass[len("/passes/"):], "startDate": "2025-01-31"}
			body[member] = value
			s.do(t, 404, http.MethodPost, "/customer-passes", body)
		}
	}
	for _, list := range []string{s.event + "/registrations?eventDateId=", s.event + "/registrations?customerId=", "/customer-passes?customerId=", "/customer-passes?passId="} {
		if got := s.do(t, 200, http.MethodGet, list, nil); got["total"] != 0.0 {
			t.Errorf("%s: got %v", list, got)
		}
	}
	for _, body := range []object{
		{"customerId": s.customerID, "eventDateId": ""}, {"customerId": s.customerID, "pricingOptionId": ""},
		{"customerId": s.customerID, "payment": object{"method": "PASS", "customerPassId": ""}},
	} {
		s.do(t, 404, http.MethodPost, s.event+"/registrations", body)
	}
	if got := s.do(t, 200, http.MethodGet, s.event+"/registrations", nil); got["total"] != 1.0 {
		t.Errorf("something was booked: %v", got)
	}
}

func (b *companies) testMove(t *testing.T) {
	// Kiritimati is 25 hours ahead of Pago Pago. So its day has not begun there, even if the test takes an hour.
	const zone = "Pacific/Kiritimati"
	today := time.Now().In(location(t, zone)).Format(time.DateOnly)
	company := b.make(t, "Moving", "Pacific/Pago_Pago")
	moving := b.caller(t, company)
	who := moving.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
	kind := moving.create(t, "/passes", object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month"})
	body := object{
		"customerId": who[len("/customers/"):], "passId": kind[len("/passes/"):],
		"startDate": today,
	}
	status := func() any {
		return moving.do(t, http.StatusCreated, http.MethodPost, "/customer-passes", body)["status"]
	}
	if got := status(); got != "pending" {
		t.Errorf("before the move a pass is %v, not pending", got)
	}
	b.op.ok(t, "company", "update", "--company", company, "--timezone", zone)
	if got := status(); got != "active" {
		t.Errorf("after the move a pass is %v, not active", got)
	}
	made := moving.create(t, "/events", object{"title": "Clay", "startsAt": "2099-03-28T09:30:00", "duration": 60})
	if got := moving.do(t, 200, http.MethodGet, made, nil)["timezone"]; got != zone {
		t.Errorf("a new event is in %v, not %s", got, zone)
	}
}

func (s *studio) testFull(t *testing.T) {
	full := s.do(t, 400, http.MethodPost, s.event+"/registrations", s.booking)["error"].(object)
	if full["code"] != "EVENT_FULL" {
		t.Errorf("got %v", full)
	}
	kept := s.do(t, 400, http.MethodDelete, s.event, nil)["error"].(object)
	if kept["code"] != "EVENT_HAS_REGISTRATIONS" {
		t.Errorf("got %v", kept)
	}
}

func (s *studio) testChanges(t *testing.T) {
	for path, body := range map[string]object{
		s.customer: {"lastName": "King"}, s.event: {"title": "Glaze"}, s.pass: {"title": "Six"}, s.customerPass: {"remainingUses": 3},
	} {
		changed := s.do(t, 200, http.MethodPut, path, body)
		for name, value := range body {
			if n, ok := value.(int); ok {
				value = float64(n)
			}
			if changed[name] != value {
				t.Errorf("%s: %s is %v", path, name, changed[name])
			}
		}
	}
}

func (s *studio) testLists(t *testing.T) {
	for path, name := range map[string]string{
		"/customers": "customers", "/events": "events", "/passes": "passes", "/customer-passes": "customerPasses",
		s.event + "/registrations": "registrations",
	} {
		list := s.do(t, 200, http.MethodGet, path, nil)
		if list["total"] != 1.0 || list["page"] != 1.0 || list["perPage"] != 25.0 || len(list[name].([]any)) != 1 {
			t.Errorf("%s: %v", path, list)
		}
	}
}

func (s *studio) testDeletions(t *testing.T) {
	s.do(t, 200, http.MethodDelete, s.registration, nil)
	for _, path := range []string{s.event, s.customer} {
		s.do(t, 200, http.MethodDelete, path, nil)
		s.do(t, 404, http.MethodDelete, path, nil)
	}
}
