// Package conformance uses the resources that Interfaces A and B have had from the beginning:
// customers, events with their registrations, passes and customer passes. It makes successful
// requests and the main errors, and checks each answer against openapi.yaml. (Package clients calls
// every operation.) It knows the platform only through credentials.json:
//
//	CONFORMANCE_CREDENTIALS=.run/credentials.json go test -count=1 ./test/conformance
//
// Without that variable the test starts a platform with the demonstration company. It deletes the
// objects that it creates if the interfaces allow it; passes stay, archived.
package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

type object = map[string]any

// credentials returns the credentials of the platform under test.
func credentials(t *testing.T) (c harness.Credentials) {
	t.Helper()
	file := os.Getenv("CONFORMANCE_CREDENTIALS")
	if file == "" {
		return harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on"}}).Credentials
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if c.InterfaceA.ClientID == "" || c.InterfaceB.APIKey == "" {
		t.Fatalf("%s has no API client for Interface A, or no API key for Interface B", file)
	}
	return c
}

// covers fails t for operations that were not answered with each of the statuses.
func covers(t *testing.T, f *harness.Face, met map[string][]int) {
	t.Helper()
	for operation, codes := range met {
		for _, code := range codes {
			if !f.Contract.Seen(operation, code) {
				t.Errorf("%s never answered %d", operation, code)
			}
		}
	}
}

// unique returns a name that differs between runs.
func unique(what string) string { return fmt.Sprintf("%s %d", what, time.Now().UnixNano()) }

func TestConformance(t *testing.T) {
	c := credentials(t)
	b := harness.NewFace(t, harness.ContractB(t), c.InterfaceB.BaseURL)
	testToken(t, b, c)
	w := &world{b: b}
	w.make(t)
	t.Run("Interface B", func(t *testing.T) {
		t.Run("customers", w.testCustomers)
		t.Run("events", w.testEvents)
		t.Run("passes", w.testPasses)
		t.Run("registrations", w.testRegistrations)
	})
	a := harness.NewFace(t, harness.ContractA(t), c.InterfaceA.BaseURL)
	t.Run("Interface A", func(t *testing.T) { testA(t, a, c, w) })
	w.unmake(t)
	t.Run("every operation gave the main answers", func(t *testing.T) {
		list, write := []int{200, 400, 401}, []int{201, 400, 401}
		read, change, remove := []int{200, 401, 404}, []int{200, 400, 401, 404}, []int{200, 401, 404}
		covers(t, b, map[string][]int{
			"POST /auth/token": {200, 400, 401, 415},
			"GET /customers":   list, "POST /customers": slices.Concat(write, []int{409, 415}),
			"GET /customers/{id}": read, "PUT /customers/{id}": slices.Concat(change, []int{412}),
			"PATCH /customers/{id}": change, "DELETE /customers/{id}": remove,
			"GET /events": list, "POST /events": write, "GET /events/{id}": read,
			"PUT /events/{id}": change, "PATCH /events/{id}": change, "DELETE /events/{id}": slices.Concat(remove, []int{400}),
			"GET /events/{id}/registrations":                     slices.Concat(list, []int{404}),
			"POST /events/{id}/registrations":                    slices.Concat(write, []int{404}),
			"GET /events/{id}/registrations/{registrationId}":    read,
			"DELETE /events/{id}/registrations/{registrationId}": slices.Concat(remove, []int{400}),
			"GET /passes": list, "POST /passes": write, "GET /passes/{id}": read,
			"PUT /passes/{id}": change, "PATCH /passes/{id}": change,
			"GET /customer-passes": list, "POST /customer-passes": write, "GET /customer-passes/{id}": read,
			"PUT /customer-passes/{id}": change, "PATCH /customer-passes/{id}": change,
		})
		covers(t, a, map[string][]int{
			"POST /token":                            {200, 400, 401, 415},
			"GET /customers":                         {200, 400, 401, 403},
			"GET /customer/{id}/profile":             {200, 401, 403, 404},
			"PUT /customer/{id}/profile":             {200, 400, 401, 403, 404, 409, 412, 415},
			"GET /customer/{id}/bookings":            {200, 400, 401, 403, 404},
			"GET /customer/{id}/booking/{bookingId}": {200, 401, 403, 404},
		})
	})
}
