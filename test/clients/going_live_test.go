package clients

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/test/harness"
)

// integrator is a program of a company that has one key.
type integrator struct {
	*harness.B
	key   harness.Credential
	token string
}

func newIntegrator(t *testing.T, baseURL string, key harness.Credential) *integrator {
	t.Helper()
	b := harness.NewB(t, baseURL)
	return &integrator{B: b, key: key, token: b.Token(t, key)}
}

// call makes a request in test mode, and returns the response.
func (i *integrator) call(t *testing.T, method, path string, body object) object {
	t.Helper()
	r := harness.Request{Method: method, Path: path, Token: i.token}
	if method == http.MethodPost {
		r.Body = jsonText(body)
	}
	answer, got := i.Do(t, r), object{}
	if answer.Header.Get("Reservation-Mode") != "test" {
		t.Errorf("%s %s: the response does not say that it is of the test mode: %v", method, path, answer.Header)
	}
	want := http.StatusOK
	if method == http.MethodPost && answer.Header.Get("Location") != "" {
		want = http.StatusCreated
	}
	answer.Into(t, want, &got)
	return got
}

// become waits until a resource has a status.
func (i *integrator) become(t *testing.T, path, status string) {
	t.Helper()
	harness.Eventually(t, waiting, func() error {
		if got := i.call(t, http.MethodGet, path, nil)["status"]; got != status {
			return fmt.Errorf("%s is %v, not %s", path, got, status)
		}
		return nil
	})
}

// advance moves the test clock forward.
func (i *integrator) advance(t *testing.T, by time.Duration) {
	t.Helper()
	now, err := time.Parse(time.RFC3339, fmt.Sprint(i.call(t, http.MethodGet, "/test-clock", nil)["now"]))
	if err != nil {
		t.Fatal(err)
	}
	i.call(t, http.MethodPost, "/test-clock/advance", object{"to": now.Add(by).Format(time.RFC3339)})
}

// TestSlowGoingLive builds an integration with a key in test mode, and then runs the same programs with a
// key in live mode.
func TestSlowGoingLive(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t, filepath.Join(harness.TempDir(t), "postgres"), pgserver.Fast)
	platform := harness.StartStandalone(t, harness.StandaloneOptions{
		Env: map[string]string{"DEMO": "on", "RATE_LIMIT": "10000", "DATABASE_URL": postgres.AdminURL()},
	})
	c := platform.Credentials.InterfaceB
	live := platform.Operator(t).Company(platform.Credentials.CompanyID)
	company := live.TestMode(t)
	test, bodies := newIntegrator(t, c.BaseURL, company.NewKey(t, 0)), &transcript{}
	databases := databases(t, postgres)
	before := harness.SettledRows(t, databases, live.ID)

	example := filepath.Join(harness.TempDir(t), "book")
	command(t, t.Context(), filepath.Join(root(t), "clients", "go"), []string{"GOFLAGS=-mod=readonly"}, "go", "build", "-o", example, "./examples/book")
	book := func(t *testing.T, key harness.Credential) {
		t.Helper()
		booked := output(t, []string{"B=" + c.BaseURL, "API_KEY=" + key.ID, "API_SECRET=" + key.Secret}, []string{example})
		if !strings.HasPrefix(booked, "booked ") {
			t.Errorf("the program printed %q", booked)
		}
	}
	test.call(t, http.MethodPost, "/webhook-endpoints", object{"url": platform.Listen(t, keep(bodies)), "events": []any{"registration.created", "hold.expired"}})
	sell := func(t *testing.T) {
		event := test.call(t, http.MethodPost, "/events", object{
			"title": "Morning yoga", "type": "class", "startsAt": soon(3), "duration": 60, "pricingOptions": []object{{"name": "Drop-in", "price": 12.5}},
		})
		book(t, test.key)
		bodies.await(t, fmt.Sprint(event["id"])) // in registration.created
	}
	t.Run("a program books in test mode", sell)
	t.Run("holds and passes end by the test clock", func(t *testing.T) { test.testClock(t, bodies) })
	t.Run("a reset deletes the test data, and nothing else", func(t *testing.T) { test.testReset(t) })
	t.Run("after the reset, the program books and is notified again", sell)
	t.Run("every webhook was of the test mode", func(t *testing.T) {
		for line := range strings.Lines(bodies.String()) {
			if !strings.Contains(line, `","mode":"test","data":`) {
				t.Errorf("received %s", line)
			}
		}
	})
	t.Run("live mode is as before", func(t *testing.T) {
		harness.SameRows(t, before, harness.SettledRows(t, databases, live.ID))
	})
	t.Run("the program books in live mode with another key", func(t *testing.T) { book(t, harness.Credential{ID: c.APIKey, Secret: c.APISecret}) })
}

// testClock moves the clock past the end of a hold and of a pass.
func (i *integrator) testClock(t *testing.T, bodies *transcript) {
	event := i.call(t, http.MethodPost, "/events", object{
		"title": "Pottery", "startsAt": soon(30), "duration": 60, "pricingOptions": []object{{"name": "Seat", "price": 40}},
	})
	customer := i.call(t, http.MethodPost, "/customers", object{"firstName": "Zoë", "lastName": "Núñez", "email": "zoe@example.com"})["id"]
	pass := i.call(t, http.MethodPost, "/passes", object{"title": "Ten", "totalUses": 10, "validityCount": 1, "validityUnit": "month", "price": 99})["id"]
	held := i.call(t, http.MethodPost, "/customer-passes", object{"customerId": customer, "passId": pass, "startDate": soon(0)[:10]})
	hold := i.call(t, http.MethodPost, "/holds", object{"purchasedById": customer, "minutes": 60, "lines": []object{{"eventDateId": at(event, "dates.0.id")}}})
	holdPath, passPath := fmt.Sprint("/holds/", hold["id"]), fmt.Sprint("/customer-passes/", held["id"])
	i.become(t, holdPath, "active")
	i.advance(t, 61*time.Minute)
	i.become(t, holdPath, "expired")
	i.become(t, passPath, "active")
	i.advance(t, 40*24*time.Hour)
	i.become(t, passPath, "expired")
	bodies.await(t, fmt.Sprint(hold["id"]))
}

// testReset deletes the test data.
func (i *integrator) testReset(t *testing.T) {
	if deleted := i.call(t, http.MethodPost, "/test-data/reset", nil)["deleted"]; deleted.(float64) < 10 {
		t.Errorf("%v rows were deleted", deleted)
	}
	if ahead := i.call(t, http.MethodGet, "/test-clock", nil)["offsetSeconds"]; ahead != 0.0 {
		t.Errorf("the clock is %v s ahead", ahead)
	}
	for path, want := range map[string]float64{
		"/customers": 0, "/events": 0, "/event-dates": 0, "/registrations": 0, "/transactions": 0, "/passes": 0, "/customer-passes": 0,
		"/waitlist-entries": 0, "/discount-codes": 0, "/webhook-deliveries": 0, "/webhook-endpoints": 1,
	} {
		if total := i.call(t, http.MethodGet, path, nil)["total"]; total != want {
			t.Errorf("%s has %v items, want %v", path, total, want)
		}
	}
	if fresh := i.Token(t, i.key); fresh == "" {
		t.Error("the key is gone")
	}
}

// keep returns a receiver of webhooks that writes their bodies to out, one on each line.
func keep(out io.Writer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = out.Write(append(body, '\n')) // a transcript keeps everything
	})
}

// await waits until the program has printed a text.
func (o *transcript) await(t *testing.T, text string) {
	t.Helper()
	harness.Eventually(t, waiting, func() error {
		if !strings.Contains(o.String(), text) {
			return fmt.Errorf("%s is missing in %s", text, o)
		}
		return nil
	})
}
