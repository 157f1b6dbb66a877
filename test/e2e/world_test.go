package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit/openapitest"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/test/harness"
)

// TestInterfaceA tests the conformance of Interface A to its specification. The subtests share
// one running platform and each creates its own companies.
func TestInterfaceA(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("http", w.testHTTP)
	t.Run("token", w.testToken)
	t.Run("token refusals", w.testTokenRefused)
	t.Run("oauth2", w.testOAuth2)
	t.Run("throttle", w.testThrottle)
	t.Run("access", w.testAccess)
	t.Run("expiry", w.testExpiry)
	t.Run("profile", w.testProfile)
	t.Run("profile rules", w.testProfileRules)
	t.Run("versions", w.testVersions)
	t.Run("idempotency", w.testIdempotency)
	t.Run("customers", w.testCustomers)
	t.Run("customer pages", w.testCustomerPages)
	t.Run("bookings", w.testBookings)
	t.Run("booking shapes", w.testShapes)
	t.Run("booking pages", w.testPages)
	t.Run("booking window", w.testWindow)
	t.Run("future bookings", w.testFuture)
	t.Run("single booking", w.testSingle)
	t.Run("names", w.testNames)
	t.Run("tenancy", w.testTenancy)
	t.Run("description", w.testDescription)
}

// world is the running platform with the description that its answers must match.
type world struct {
	*harness.Standalone
	op       *harness.Operator
	contract *openapitest.Contract
}

func newWorld(t *testing.T) *world {
	w := &world{Standalone: harness.StartStandalone(t, harness.StandaloneOptions{})}
	w.op = w.Operator(t)
	described := harness.NewA(t, w.BaseURL).Do(t, harness.Request{Path: "/openapi.yaml"})
	if described.Code != http.StatusOK {
		t.Fatalf("/openapi.yaml: %d", described.Code)
	}
	w.contract = openapitest.Load(t, described.Body, "")
	return w
}

// client returns a client of Interface A whose answers are all checked against the description.
func (w *world) client(t *testing.T) *harness.A {
	a := w.A(t)
	a.Transport = w.contract.Transport(t, a.Transport)
	return a
}

// tenant is a company with an API client of Interface A that has a token.
type tenant struct {
	*harness.Company
	a     *harness.A
	token string
}

// tenant creates a company and an API client with the given scopes (none given: all), and gets a
// token for it.
func (w *world) tenant(t *testing.T, zone string, scopes ...string) *tenant {
	t.Helper()
	c := w.op.NewCompany(t, zone)
	a := w.client(t)
	return &tenant{Company: c, a: a, token: a.Token(t, c.NewClient(t, scopes...))}
}

// at returns the tenant for use in a subtest.
func (n *tenant) at(t *testing.T, w *world) *tenant {
	return &tenant{Company: n.Company, a: w.client(t), token: n.token}
}

func (n *tenant) get(t *testing.T, path string) harness.Answer {
	t.Helper()
	return n.a.Do(t, harness.Request{Path: path, Token: n.token})
}

func (n *tenant) put(t *testing.T, path, body string, header ...string) harness.Answer {
	t.Helper()
	return n.a.Do(t, harness.Request{Method: http.MethodPut, Path: path, Token: n.token, Body: body, Header: headers(header...)})
}

// headers builds a header from alternating names and values.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func profilePath(id string) string  { return "/customer/" + id + "/profile" }
func bookingsPath(id string) string { return "/customer/" + id + "/bookings" }
func bookingPath(id, transaction string) string {
	return "/customer/" + id + "/booking/" + transaction
}

// The JSON of Interface A, as specified.
type (
	profile struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Firstname string `json:"firstname"`
		Lastname  string `json:"lastname"`
		Email     string `json:"email"`
		Mobile    string `json:"mobile"`
	}
	listedCustomer struct {
		profile
		Archived *bool `json:"archived"`
	}
	transaction struct {
		ID           string    `json:"id"`
		Type         string    `json:"type"`
		PurchaseDate string    `json:"purchase_date"`
		Bookings     []booking `json:"bookings"`
	}
	booking struct {
		ID          string     `json:"id"`
		Type        string     `json:"type"`
		IsCancelled bool       `json:"is_cancelled"`
		IsRefunded  bool       `json:"is_refunded"`
		Spaces      int        `json:"spaces"`
		PurchasedBy reference  `json:"purchased_by"`
		BoughtFor   *reference `json:"bought_for"`
		Event       struct {
			ID   string `json:"id"`
			Type string `json:"type"`
			Name string `json:"name"`
			Date struct {
				ID       string `json:"id"`
				Type     string `json:"type"`
				Datetime string `json:"datetime"`
				TZ       string `json:"tz"`
				Duration int    `json:"duration"`
			} `json:"date"`
		} `json:"event"`
		PricingOption struct {
			ID string `json:"id"`
		} `json:"pricing_option"`
		Payment json.RawMessage `json:"payment"`
	}
	reference struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Firstname string `json:"firstname"`
		Lastname  string `json:"lastname"`
		Email     string `json:"email"`
	}
	bookingsPage struct {
		Data     []transaction `json:"data"`
		Total    int           `json:"total"`
		Page     int           `json:"page"`
		PageSize int           `json:"pageSize"`
	}
)

func (n *tenant) profile(t *testing.T, id string) profile {
	t.Helper()
	var body struct{ Data profile }
	n.get(t, profilePath(id)).Into(t, http.StatusOK, &body)
	return body.Data
}

// bookings fetches a page of a customer's bookings; query is "" or begins with "?".
func (n *tenant) bookings(t *testing.T, id, query string) bookingsPage {
	t.Helper()
	var page bookingsPage
	n.get(t, bookingsPath(id)+query).Into(t, http.StatusOK, &page)
	return page
}

func (p bookingsPage) ids() []string {
	ids := []string{}
	for _, t := range p.Data {
		ids = append(ids, t.ID)
	}
	return ids
}

// allTime makes the window of a bookings list include everything.
const allTime = "?startDate=1970-01-01"

// importedDate returns an imported event date.
func importedDate(reference string, starts time.Time, zone string) *bookingv1.ImportedDate {
	return &bookingv1.ImportedDate{
		EventReference: reference, Title: "Class " + reference, Type: bookingv1.EventType_EVENT_TYPE_CLASS,
		StartsAt: timestamppb.New(starts), Timezone: zone, DurationMinutes: 60,
	}
}

// cardBooking returns an imported booking of one space, paid by card.
func cardBooking(date *bookingv1.ImportedDate) *bookingv1.ImportedBooking {
	return &bookingv1.ImportedBooking{
		Spaces: 1, Date: &bookingv1.ImportedBooking_ImportedDate{ImportedDate: date}, PricingOptionName: "Drop-in",
		Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1200, Net: 1000}},
	}
}

// importedPurchase returns an imported purchase. Its reference consists of the time and the customer.
func importedPurchase(customer string, at time.Time, bookings ...*bookingv1.ImportedBooking) *bookingv1.ImportedTransaction {
	return &bookingv1.ImportedTransaction{
		Reference: fmt.Sprint(customer, at.UnixNano()), Customer: customer, PurchasedAt: timestamppb.New(at), Bookings: bookings,
	}
}

func (n *tenant) archive(t *testing.T, id string) {
	t.Helper()
	_, err := n.Operator().Customers.ArchiveCustomer(n.Ctx(t.Context()), &customerv1.ArchiveCustomerRequest{Id: id, Archived: true})
	if err != nil {
		t.Fatal(err)
	}
}

func (n *tenant) delete(t *testing.T, id string) {
	t.Helper()
	_, err := n.Operator().Customers.DeleteCustomer(n.Ctx(t.Context()), &customerv1.DeleteCustomerRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
}

// location loads a time zone that the system must have.
func location(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// equal fails t unless got equals want.
func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// testDescription runs last and checks that the other tests received the described answers of the
// operations of the specification. Package clients calls every operation.
func (w *world) testDescription(t *testing.T) {
	w.contract.CheckExamples(t)
	w.contract.CheckKeys(t)
	// 500 and 503 need a fault; package faults covers 503.
	met := map[string][]int{
		"POST /token":                            {200, 400, 401, 413, 415, 429},
		"GET /customers":                         {200, 400, 401, 403},
		"GET /customer/{id}/profile":             {200, 401, 403, 404},
		"PUT /customer/{id}/profile":             {200, 400, 401, 403, 404, 409, 412, 413, 415},
		"GET /customer/{id}/bookings":            {200, 400, 401, 403, 404},
		"GET /customer/{id}/booking/{bookingId}": {200, 401, 403, 404},
	}
	for operation, codes := range met {
		for _, code := range codes {
			if !w.contract.Seen(operation, code) {
				t.Errorf("%s never answered %d", operation, code)
			}
		}
	}
	if !strings.HasPrefix(w.BaseURL, "http://127.0.0.1:") {
		t.Errorf("the base address %s is not on loopback", w.BaseURL)
	}
}
