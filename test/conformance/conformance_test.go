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
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"reservation.dev/devkit/testkit/openapitest"
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

// face is one interface, with the description that every answer must match.
type face struct {
	contract *openapitest.Contract
	client   *harness.A
	token    string
}

func newFace(t *testing.T, baseURL, base, description string) *face {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, description))
	if err != nil {
		t.Fatal(err)
	}
	f := &face{contract: openapitest.Load(t, text, base), client: harness.NewA(t, baseURL)}
	f.client.Transport = f.contract.Transport(t, f.client.Transport)
	return f
}

// attempts limits how often a request is made if the platform asks for retries.
const attempts = 8

// send makes a request and, after 429 and 503, retries it after Retry-After. It fails t unless
// the answer has the status want. pairs are alternating header names and values.
func (f *face) send(t *testing.T, want int, method, path string, body any, pairs ...string) harness.Answer {
	t.Helper()
	r := harness.Request{Method: method, Path: path, Token: f.token, Header: http.Header{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	if text, ok := body.(string); ok {
		r.Body = text
	} else if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = string(text)
	}
	r.Media = r.Header.Get("Content-Type")
	for n := 1; ; n++ {
		answer := f.client.Do(t, r)
		if answer.Code == want {
			return answer
		}
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if (answer.Code != http.StatusTooManyRequests && answer.Code != http.StatusServiceUnavailable) || err != nil || n == attempts {
			t.Fatalf("%s %s: %d, not %d: %s", method, path, answer.Code, want, answer.Body)
		}
		t.Logf("%s %s: %d, retry in %d s", method, path, answer.Code, seconds)
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-t.Context().Done():
		}
	}
}

// read is send for answers with a JSON body.
func (f *face) read(t *testing.T, want int, method, path string, body any, pairs ...string) object {
	t.Helper()
	var v object
	f.send(t, want, method, path, body, pairs...).Into(t, want, &v)
	return v
}

// refused is send for answers that are errors with the given code.
func (f *face) refused(t *testing.T, status int, code, method, path string, body any, pairs ...string) {
	t.Helper()
	if got := f.send(t, status, method, path, body, pairs...).Reason(); got != code {
		t.Errorf("%s %s: %d %s, want %s", method, path, status, got, code)
	}
}

// as returns the face with another token.
func (f *face) as(token string) *face {
	return &face{contract: f.contract, client: f.client, token: token}
}

// covers fails t for operations that were not answered with each of the statuses.
func (f *face) covers(t *testing.T, met map[string][]int) {
	t.Helper()
	for operation, codes := range met {
		for _, code := range codes {
			if !f.contract.Seen(operation, code) {
				t.Errorf("%s never answered %d", operation, code)
			}
		}
	}
}

// unique returns a name that differs between runs.
func unique(what string) string { return fmt.Sprintf("%s %d", what, time.Now().UnixNano()) }

func TestConformance(t *testing.T) {
	c := credentials(t)
	b := newFace(t, c.InterfaceB.BaseURL, "/api/v1", "gateway-b/openapi/openapi.yaml")
	testToken(t, b, c)
	w := &world{b: b}
	w.make(t)
	t.Run("Interface B", func(t *testing.T) {
		t.Run("customers", w.testCustomers)
		t.Run("events", w.testEvents)
		t.Run("passes", w.testPasses)
		t.Run("registrations", w.testRegistrations)
	})
	a := newFace(t, c.InterfaceA.BaseURL, "", "gateway-a/openapi/openapi.yaml")
	t.Run("Interface A", func(t *testing.T) { testA(t, a, c, w) })
	w.unmake(t)
	t.Run("every operation gave the main answers", func(t *testing.T) {
		list, write := []int{200, 400, 401}, []int{201, 400, 401}
		read, change, remove := []int{200, 401, 404}, []int{200, 400, 401, 404}, []int{200, 401, 404}
		b.covers(t, map[string][]int{
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
		a.covers(t, map[string][]int{
			"POST /token":                            {200, 400, 401, 415},
			"GET /customers":                         {200, 400, 401, 403},
			"GET /customer/{id}/profile":             {200, 401, 403, 404},
			"PUT /customer/{id}/profile":             {200, 400, 401, 403, 404, 409, 412, 415},
			"GET /customer/{id}/bookings":            {200, 400, 401, 403, 404},
			"GET /customer/{id}/booking/{bookingId}": {200, 401, 403, 404},
		})
	})
}
