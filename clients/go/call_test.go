package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/client/b"
)

// platform is a fake of both interfaces. It answers each request with the next of its answers.
type platform struct {
	mu       sync.Mutex
	answers  []string // a status, optionally a Retry-After, and a body
	requests []*http.Request
	bodies   []string
	tokens   int
	life     string
	revoked  string // a token that is refused
	waits    []time.Duration
	now      time.Time
}

// newB returns a client of a fake whose clock moves only when the client waits.
func newB(t *testing.T, answers ...string) (*B, *platform) {
	t.Helper()
	p := &platform{answers: answers, life: "3600", now: time.Unix(1774776600, 0)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	client, err := NewB(server.URL+"/api/v1/", "key_1", "secret", Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.ClientInterface.(*b.Client).Client.(*caller)
	c.now = func() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.now }
	c.pause = func(ctx context.Context, wait time.Duration) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waits, p.now = append(p.waits, wait), p.now.Add(wait)
		return ctx.Err()
	}
	return client, p
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req-1")
	if r.URL.Path == "/api/v1/auth/token" {
		p.tokens++
		_, _ = io.WriteString(w, `{"token":"token-`+string(rune('0'+p.tokens))+`","expiresIn":`+p.life+`}`)
		return
	}
	text, _ := io.ReadAll(r.Body)
	p.requests, p.bodies = append(p.requests, r), append(p.bodies, string(text))
	if r.Header.Get("Authorization") == "Bearer "+p.revoked {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if len(p.answers) == 0 {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	p.answer(w)
}

func (p *platform) answer(w http.ResponseWriter) {
	answer := p.answers[0]
	p.answers = p.answers[1:]
	status, body, _ := strings.Cut(answer, " ")
	status, after, limited := strings.Cut(status, "+")
	if limited {
		w.Header().Set("Retry-After", after)
	}
	switch status {
	case "cut": // the response breaks off
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	case "lost":
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(map[string]int{"200": 200, "201": 201, "400": 400, "401": 401, "409": 409, "429": 429, "500": 500, "502": 502, "503": 503}[status])
		if body == "" {
			body = `{"error":{"code":"CODE_` + status + `","message":"refused","details":{"field":"x"}}}`
		}
		_, _ = io.WriteString(w, body)
	}
}

const (
	created    = `201 {"id":"cust_1","firstName":"Zoë"}`
	inProgress = `409+1 {"error":{"code":"IDEMPOTENCY_IN_PROGRESS","message":"running"}}`
)

func create(t *testing.T, c *B) (string, error) {
	t.Helper()
	resp, err := c.CreateCustomerWithResponse(t.Context(), nil, b.CustomerWrite{FirstName: Ptr("Zoë")})
	if err != nil {
		return "", err
	}
	return resp.JSON201.ID, nil
}

// Invariants 3 and 4.
func TestRetries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers []string
		sent    int
		status  int // of the error, 0 for a success
	}{
		"a success is sent once":                             {[]string{created}, 1, 0},
		"retries 429, 503, 502 and a key in progress":        {[]string{"429+3", "503+1", "502", inProgress, created}, 5, 0},
		"retries a response that is lost or breaks off":      {[]string{"lost", "cut", created}, 3, 0},
		"retries 500 once":                                   {[]string{"500", created}, 2, 0},
		"gives up after a second 500":                        {[]string{"500", "500"}, 2, 500},
		"does not retry 400":                                 {[]string{"400"}, 1, 400},
		"does not retry another conflict":                    {[]string{"409"}, 1, 409},
		"gives up after six attempts":                        {[]string{"503", "503", "503", "503", "503", "503"}, 6, 503},
		"does not wait longer than its patience":             {[]string{"503+121"}, 1, 503},
		"gives up when several waits exceed its patience":    {[]string{"503+50", "503+50", "503+50"}, 3, 503},
		"renews a refused token without counting an attempt": {[]string{"401", "429+1", created}, 3, 0},
		"gives up when the new token is refused":             {[]string{"401", "401"}, 2, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, p := newB(t, tt.answers...)
			id, err := create(t, c)
			if statusOf(err) != tt.status || err == nil && id != "cust_1" {
				t.Fatalf("%q, %v, want status %d", id, err, tt.status)
			}
			if len(p.requests) != tt.sent {
				t.Fatalf("sent %d times, not %d", len(p.requests), tt.sent)
			}
			for i, r := range p.requests {
				if key := r.Header.Get("Idempotency-Key"); len(key) < 26 || key != p.requests[0].Header.Get("Idempotency-Key") {
					t.Errorf("attempt %d has the key %q", i, key)
				}
				if p.bodies[i] != `{"firstName":"Zoë"}` {
					t.Errorf("attempt %d has the body %q", i, p.bodies[i])
				}
			}
		})
	}
}

// Invariant 4.
func TestWaits(t *testing.T) {
	t.Parallel()
	c, p := newB(t, "503+7", "503", "503", "503", created)
	if _, err := create(t, c); err != nil {
		t.Fatal(err)
	}
	least := []time.Duration{7250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}
	for i, wait := range p.waits {
		if most := least[i] + firstPause<<i/2; wait < least[i] || wait > most {
			t.Errorf("wait %d is %s, not between %s and %s", i, wait, least[i], most)
		}
	}
	if len(p.waits) != 4 {
		t.Errorf("waited %d times, not 4", len(p.waits))
	}
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, p := newB(t, "503", created)
	ctx, cancel := context.WithCancel(t.Context())
	inner := c.ClientInterface.(*b.Client).Client.(*caller)
	inner.pause = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	_, err := c.DeleteCustomerWithResponse(ctx, "cust_1", nil)
	if !errors.Is(err, context.Canceled) || CodeOf(err) != "CODE_503" || len(p.requests) != 1 {
		t.Errorf("%v after %d attempts", err, len(p.requests))
	}
}

func TestKeepsTheCallersKey(t *testing.T) {
	t.Parallel()
	c, p := newB(t, created)
	params := &b.CreateCustomerParams{IdempotencyKey: Ptr("mine")}
	body := strings.NewReader(`{"firstName":"Zoë"}`)
	if _, err := c.CreateCustomerWithBodyWithResponse(t.Context(), params, "application/json", io.MultiReader(body)); err != nil {
		t.Fatal(err)
	}
	if key := p.requests[0].Header.Get("Idempotency-Key"); key != "mine" || p.bodies[0] != `{"firstName":"Zoë"}` {
		t.Errorf("key %q, body %q", key, p.bodies[0])
	}
}

// Invariant 5.
func TestErrors(t *testing.T) {
	t.Parallel()
	c, _ := newB(t, "400+9", "400 <html>")
	_, err := create(t, c)
	var e *Error
	if !errors.As(err, &e) || e.Code != "CODE_400" || e.Message != "refused" || e.Details["field"] != "x" || e.RequestID != "req-1" || e.RetryAfter != 9*time.Second {
		t.Errorf("%#v", err)
	}
	if _, err := create(t, c); err == nil || err.Error() != "400 : Bad Request (request req-1)" || CodeOf(err) != "" {
		t.Errorf("%v", err)
	}
}

// Invariant 1.
func TestOneTokenForManyCalls(t *testing.T) {
	t.Parallel()
	c, p := newB(t, slices.Repeat([]string{created}, 50)...)
	createAtOnce(t, c, 50)
	if p.tokens != 1 {
		t.Errorf("%d token requests, not 1", p.tokens)
	}
}

// Invariants 1 and 2.
func TestOneNewTokenForManyRefusals(t *testing.T) {
	t.Parallel()
	c, p := newB(t, slices.Repeat([]string{created}, 51)...)
	createAtOnce(t, c, 1)
	p.revoked = "token-1"
	createAtOnce(t, c, 50)
	if p.tokens != 2 {
		t.Errorf("%d token requests, not 2", p.tokens)
	}
}

// A late refusal of an old token does not end the new one.
func TestKeepsTheNewToken(t *testing.T) {
	t.Parallel()
	c, p := newB(t, created, created)
	createAtOnce(t, c, 1)
	c.ClientInterface.(*b.Client).Client.(*caller).tokens.drop("token-0")
	createAtOnce(t, c, 1)
	if p.tokens != 1 {
		t.Errorf("%d token requests, not 1", p.tokens)
	}
}

// createAtOnce creates customers in many goroutines.
func createAtOnce(t *testing.T, c *B, customers int) {
	t.Helper()
	var calls sync.WaitGroup
	for range customers {
		calls.Add(1)
		go func() {
			defer calls.Done()
			if _, err := create(t, c); err != nil {
				t.Error(err)
			}
		}()
	}
	calls.Wait()
}

// Invariant 1.
func TestRenewsTokens(t *testing.T) {
	t.Parallel()
	for life, until := range map[string]time.Duration{"3600": 55 * time.Minute, "60": 30 * time.Second} {
		c, p := newB(t, created, created, created)
		p.life = life
		for i, after := range []time.Duration{0, until - time.Second, time.Second} {
			p.now = p.now.Add(after)
			if _, err := create(t, c); err != nil {
				t.Fatal(err)
			}
			if want := 1 + i/2; p.tokens != want {
				t.Errorf("life %s: %d tokens after %d calls, not %d", life, p.tokens, i+1, want)
			}
		}
		if got := p.requests[2].Header.Get("Authorization"); got != "Bearer token-2" {
			t.Errorf("the last call has %q", got)
		}
	}
}

func TestSendsAPublishableKeyItself(t *testing.T) {
	t.Parallel()
	_, p := newB(t, `200 {"events":[],"total":0,"page":1,"perPage":25}`)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	c, err := NewB(server.URL+"/api/v1", "pub_1", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListEventsWithResponse(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := p.requests[0].Header.Get("Authorization"); got != "Bearer pub_1" || p.tokens != 0 {
		t.Errorf("%q after %d token requests", got, p.tokens)
	}
}

func TestRefusesABaseAddressWithoutAHost(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "localhost:8080", "ftp://example.com", "https://"} {
		if _, err := NewA(base, "m2m_1", "secret", Options{}); err == nil {
			t.Errorf("%q is accepted", base)
		}
	}
}
