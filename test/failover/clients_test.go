package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	clientCount = 8
	// pace is the pause between two rounds of a client.
	pace = 200 * time.Millisecond
	// patience limits a request with all its retries.
	patience = 2 * time.Minute
	// firstPause doubles up to lastPause, unless Retry-After is longer.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	// passUses is how many classes a pass pays for.
	passUses = 5
	// smallCapacity is that of the class that is often full.
	smallCapacity = 20
)

// traffic is what the clients did: what the platform acknowledged, and when.
type traffic struct {
	gateways struct{ a, b []*harness.A }
	tokenA   string
	tokenB   string

	customers              []string // one for each client
	open, small, pass      string   // a class without a limit, one that is often full, and a pass type
	requests, retries, bad atomic.Int64

	mu            sync.Mutex
	registrations map[string]*registration
	passes        map[string]int // acknowledged passes, with the uses that are left
	answers       []time.Time    // of requests that succeeded
	waits         []wait
}

// registration is an acknowledged registration.
type registration struct {
	event, pass string // pass is "" unless a pass paid for it
	cancelled   bool
}

// wait is how long a client waited for an answer, retries included.
type wait struct{ from, to time.Time }

// client repeats its requests as docs/ERRORS.md requires.
type client struct {
	*traffic
	n        int
	customer string
	sent     int // keys so far
}

// key returns the Idempotency-Key of the next request. Every retry of the request has the same.
func (c *client) key() http.Header {
	c.sent++
	return http.Header{"Idempotency-Key": {fmt.Sprintf("client-%d-%d", c.n, c.sent)}}
}

// send makes a request until its outcome is known. The answer can be a refusal.
func (c *client) send(ctx context.Context, gateways []*harness.A, r harness.Request) (harness.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	c.requests.Add(1)
	for pause, turn := firstPause, rand.IntN(len(gateways)); ; pause, turn = min(2*pause, lastPause), turn+1 {
		answer, err := gateways[turn%len(gateways)].Try(ctx, r)
		if err == nil && isFinal(answer) {
			c.answered(began)
			return answer, nil
		}
		if err == nil && answer.Code == http.StatusInternalServerError {
			c.bad.Add(1)
			return answer, fmt.Errorf("%s %s: %s", r.Method, r.Path, answer.Body)
		}
		c.retries.Add(1)
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		select {
		case <-ctx.Done():
			return answer, errors.Join(fmt.Errorf("%s %s has no answer after %s; the last was %d %s", r.Method, r.Path, patience, answer.Code, answer.Body), err)
		case <-time.After(max(time.Duration(seconds)*time.Second, pause/2+rand.N(pause/2))):
		}
	}
}

// isFinal reports whether the answer says what became of the request.
func isFinal(answer harness.Answer) bool {
	switch answer.Code {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusInternalServerError:
		return false
	}
	return answer.Reason() != "IDEMPOTENCY_IN_PROGRESS" && answer.Reason() != "CHANGE_IN_PROGRESS"
}

func (t *traffic) answered(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.answers = append(t.answers, now)
	t.waits = append(t.waits, wait{began, now})
}

// write makes a keyed request to Interface B, and returns the identifier in its answer. It returns
// "" for a refusal with the given code.
func (c *client) write(ctx context.Context, method, path string, body map[string]any, want int, refusal string) (string, error) {
	r := harness.Request{Method: method, Path: path, Token: c.tokenB, Header: c.key()}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		r.Body = string(text)
	}
	answer, err := c.send(ctx, c.gateways.b, r)
	if err != nil {
		return "", err
	}
	if refusal != "" && answer.Reason() == refusal {
		return "", nil
	}
	var made struct{ ID string }
	if err := answer.Want(want, &made); err != nil {
		return "", fmt.Errorf("%s %s: %w", method, path, err)
	}
	return made.ID, nil
}

// register books a class. It returns "" if the class is full.
func (c *client) register(ctx context.Context, event, pass string) (string, error) {
	body := map[string]any{"customerId": c.customer}
	if pass != "" {
		body["payment"] = map[string]any{"method": "PASS", "customerPassId": pass}
	}
	id, err := c.write(ctx, http.MethodPost, "/events/"+event+"/registrations", body, http.StatusCreated, "EVENT_FULL")
	if err != nil || id == "" {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registrations[id] != nil {
		return "", fmt.Errorf("two requests got the registration %s", id)
	}
	c.registrations[id] = &registration{event: event, pass: pass}
	if pass != "" {
		c.passes[pass]--
	}
	return id, nil
}

// cancel cancels a registration, whose credit returns to its pass.
func (c *client) cancel(ctx context.Context, id string) error {
	c.mu.Lock()
	r := *c.registrations[id]
	c.mu.Unlock()
	if _, err := c.write(ctx, http.MethodDelete, "/events/"+r.event+"/registrations/"+id, nil, http.StatusOK, ""); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registrations[id].cancelled = true
	if r.pass != "" {
		c.passes[r.pass]++
	}
	return nil
}

// buyPass buys a pass.
func (c *client) buyPass(ctx context.Context) (string, error) {
	body := map[string]any{"customerId": c.customer, "passId": c.pass, "startDate": time.Now().UTC().Format(time.DateOnly)}
	id, err := c.write(ctx, http.MethodPost, "/customer-passes", body, http.StatusCreated, "")
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.passes[id]; known {
		return "", fmt.Errorf("two requests got the pass %s", id)
	}
	c.passes[id] = passUses
	return id, nil
}

// round is what a client does again and again.
func (c *client) round(ctx context.Context, n int) error {
	open, err := c.register(ctx, c.open, "")
	if err != nil {
		return err
	}
	small, err := c.register(ctx, c.small, "")
	if err != nil {
		return err
	}
	if n%2 == 0 && open != "" {
		if err := c.cancel(ctx, open); err != nil {
			return err
		}
	}
	if n%3 == 0 && small != "" {
		if err := c.cancel(ctx, small); err != nil {
			return err
		}
	}
	if n%2 == c.n%2 {
		if err := c.usePass(ctx); err != nil {
			return err
		}
	}
	answer, err := c.send(ctx, c.gateways.a, harness.Request{Path: "/customer/" + c.customer + "/bookings?pageSize=5", Token: c.tokenA})
	if err != nil {
		return err
	}
	return answer.Want(http.StatusOK, nil)
}

// usePass buys a pass, books two classes with it, and cancels one.
func (c *client) usePass(ctx context.Context) error {
	pass, err := c.buyPass(ctx)
	if err != nil {
		return err
	}
	kept, err := c.register(ctx, c.open, pass)
	if err != nil {
		return err
	}
	cancelled, err := c.register(ctx, c.open, pass)
	if err != nil {
		return err
	}
	if kept == "" || cancelled == "" {
		return errors.New("the class without a limit is full")
	}
	return c.cancel(ctx, cancelled)
}

// start runs the clients until stop is called. Each finishes what it began.
func (t *traffic) start(tt *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(tt.Context())
	var all sync.WaitGroup
	for n, customer := range t.customers {
		c := &client{traffic: t, n: n, customer: customer}
		all.Go(func() {
			ticker := time.NewTicker(pace)
			defer ticker.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				if err := c.round(context.WithoutCancel(ctx), i); err != nil {
					tt.Errorf("client %d: %v", n, err)
					return
				}
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	tt.Cleanup(stop)
	return stop
}

// awaitMore waits until every client has had some more answers.
func (t *traffic) awaitMore(tt *testing.T) {
	tt.Helper()
	before := t.count()
	harness.Eventually(tt, settleLimit, func() error {
		if tt.Failed() {
			return nil // a client gave up
		}
		if t.count() < before+3*clientCount {
			return errors.New("the clients get no answers")
		}
		return nil
	})
}

func (t *traffic) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.answers)
}

// known returns the registrations so far.
func (t *traffic) known() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := map[string]bool{}
	for id := range t.registrations {
		ids[id] = true
	}
	return ids
}

// longest returns the longest time between two answers, and the longest wait of a client, that
// overlap a period.
func (t *traffic) longest(from, to time.Time) (gap, waited time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answers := slices.SortedFunc(slices.Values(t.answers), time.Time.Compare)
	for i := 1; i < len(answers); i++ {
		if answers[i].After(from) && answers[i-1].Before(to) {
			gap = max(gap, answers[i].Sub(answers[i-1]))
		}
	}
	for _, w := range t.waits {
		if w.to.After(from) && w.from.Before(to) {
			waited = max(waited, w.to.Sub(w.from))
		}
	}
	return gap, waited
}
