package clients

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// TestRoutes checks what must hold for every operation of the descriptions.
func TestRoutes(t *testing.T) {
	t.Parallel()
	platform := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"RATE_LIMIT": "10000"}})
	for _, f := range faces() {
		t.Run("interface "+f.name, func(t *testing.T) {
			r := &routes{face: f, platform: platform, operator: platform.Operator(t), operations: described(t, descriptionFile(t, f.name))}
			owner := r.caller(t)
			checkCoverage(t, r.operations, owner.steps)
			if ok := t.Run("a company cannot see or change what belongs to another", owner.testTenancy); !ok {
				return // the rate limit needs the owner's data
			}
			t.Run("all lists read their parameters in the same way", r.testLists)
			t.Run("an operation needs a token with its permission", r.testPermissions)
			t.Run("every request counts against the rate limit", owner.testRateLimit)
			t.Run("a write with an Idempotency-Key happens once", r.testIdempotency)
			t.Run("the audit log has what every operation changed", r.testAudit)
		})
	}
}

// first returns the first step of every operation.
func (c *caller) first() []step {
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(c.steps), func(s step) bool {
		defer func() { known[s.operation] = true }()
		return known[s.operation]
	})
}

// limitWindow is the time in which the requests of a credential are counted, without the grain in which it ends.
const limitWindow = 59 * time.Second

// testRateLimit calls every operation below and beyond a limit.
func (c *caller) testRateLimit(t *testing.T) {
	free, spent := c.credential(t, c.company, mostRequests, c.permissions()...), c.credential(t, c.company, 1, c.permissions()...)
	tokens := map[harness.Credential]string{free: c.routes.token(t, free), spent: c.routes.token(t, spent)}
	as := func(credential harness.Credential, s step) harness.Answer {
		r := c.request(s)
		if r.Token = tokens[credential]; s.operation == "createToken" {
			r = harness.TokenRequest(credential)
			if c.name == "b" {
				r = harness.KeyTokenRequest(credential)
			}
		}
		return c.Do(t, r)
	}
	remaining := func(a harness.Answer) int {
		n, err := strconv.Atoi(a.Header.Get("RateLimit-Remaining"))
		if err != nil {
			t.Errorf("RateLimit-Remaining: %v", err)
		}
		return n
	}
	began := time.Now()
	before := remaining(as(free, step{operation: "listCustomers"}))
	for _, s := range c.first() {
		got := as(free, s)
		after := remaining(got)
		// A minute after a request, its place is free again. On a loaded machine the test takes that long.
		counts := after == before-1 || after >= before && time.Since(began) > limitWindow
		if got.Code == http.StatusTooManyRequests || !counts {
			t.Errorf("%s: %d, with %d remaining after %d", s.operation, got.Code, after, before)
		}
		before = after
		// Of two requests, the second is beyond the limit of one, unless the minute of an allowed request ends between them.
		first := as(spent, s)
		if got = as(spent, s); first.Code == http.StatusTooManyRequests && got.Code != first.Code {
			got = as(spent, s)
		}
		if wait, err := strconv.Atoi(got.Header.Get("Retry-After")); got.Code != http.StatusTooManyRequests || err != nil || wait < 1 {
			t.Errorf("%s beyond the limit: %d %v %s", s.operation, got.Code, got.Header, got.Body)
		}
	}
}

// testTenancy plays the scenario in two companies. Before each step of the second, the first tries it.
func (c *caller) testTenancy(t *testing.T) {
	stranger := c.routes.caller(t)
	stranger.play(t, "deleteEvent", "deleteCustomer", "deleteNote", "resetTestData")
	for _, s := range c.steps {
		if c.operations[s.operation].permission != "" {
			c.intrude(t, stranger, s)
		}
		c.take(t, s, c.request(s))
	}
	for found := range stranger.seen {
		if c.seen[found] {
			t.Errorf("both companies see %s", found)
		}
	}
	if len(c.seen) < len(c.values)/2 || len(stranger.seen) < len(c.values)/2 {
		t.Errorf("the companies see only %d and %d identifiers", len(c.seen), len(stranger.seen))
	}
}

// intrude lets a stranger try a step of c.
func (c *caller) intrude(t *testing.T, stranger *caller, s step) {
	t.Helper()
	o, r := c.operations[s.operation], c.request(s)
	r.Token = stranger.values["accessToken"]
	before := c.state(t, s)
	if len(o.pathParams) > 0 || identifier.MatchString(r.Path+r.Body) {
		got := stranger.send(t, r)
		r.Path, r.Body = unknown(r.Path), unknown(r.Body)
		missing := stranger.send(t, r)
		if missing.Code != got.Code || anonymous(string(missing.Body)) != anonymous(string(got.Body)) {
			t.Errorf("%s: %d %s, and %d %s if nothing exists", s.operation, got.Code, got.Body, missing.Code, missing.Body)
		}
		filters := o.method == http.MethodGet || s.operation == "replayWebhookDeliveries" // it replays nothing
		if len(o.pathParams) > 0 && got.Code != http.StatusNotFound || got.Code < 400 && !filters {
			t.Errorf("%s: %d %s", s.operation, got.Code, got.Body)
		}
	}
	c.intrudeBelow(t, stranger, s)
	if o.method == http.MethodGet && len(o.pathParams) == 0 {
		// Without filters, a list shows the most.
		got := stranger.send(t, stranger.request(o.unfiltered(s)))
		if got.Code != http.StatusOK {
			t.Errorf("%s without filters: %d %s", s.operation, got.Code, got.Body)
		}
	}
	if after := c.state(t, s); !maps.Equal(before, after) {
		t.Errorf("%s of another company changed\n%v\nto\n%v", s.operation, before, after)
	}
}

// intrudeBelow lets a stranger try a step with several identifiers in its path, below a resource of
// its own.
func (c *caller) intrudeBelow(t *testing.T, stranger *caller, s step) {
	t.Helper()
	if len(s.path) < 2 {
		return
	}
	last := len(s.path) - 1
	r := c.request(s)
	mixed := s
	mixed.path = append(slices.Clone(s.path[:last]), c.value(s.path[last]))
	r.Path, r.Token = stranger.request(mixed).Path, stranger.values["accessToken"]
	if got := stranger.send(t, r); got.Code != http.StatusNotFound {
		t.Errorf("%s below a resource of its own: %d %s", s.operation, got.Code, got.Body)
	}
}
