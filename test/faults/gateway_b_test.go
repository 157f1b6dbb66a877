package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	// gatewayKills is how often a gateway is killed during a purchase.
	gatewayKills = 12
	// warmUp is the number of purchases that measure the usual duration.
	warmUp = 5
)

// testGatewayKilled kills a gateway at a random moment of a purchase, between before the request
// arrives and after it is answered, and retries the purchase on the other gateway.
func (m *salesCluster) testGatewayKilled(t *testing.T, s *seller) {
	clients := m.clients(t)
	next := func(n int) *order {
		o := s.newOrder()
		o.event, o.byPass, o.abandons = s.events[2], n%3 > 0, false // no capacity limit, so that nothing is refused
		return o
	}
	place := func(o *order, at ...*harness.B) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
		defer cancel()
		if err := s.placeOrder(ctx, o, at); err != nil {
			t.Fatal(err)
		}
		if len(o.sold) != 1 {
			t.Fatalf("order %d was refused", o.guest)
		}
	}
	times := make([]time.Duration, warmUp)
	for n := range times {
		o := next(n)
		began := time.Now()
		place(o, clients[n%2])
		times[n] = time.Since(began)
	}
	usual := slices.Sorted(slices.Values(times))[warmUp/2]
	silent := 0
	for n := range gatewayKills {
		o, victim := next(n), n%2
		first := make(chan string, 1)
		go func() {
			var made struct{ ID string }
			answer, err := clients[victim].Try(t.Context(), s.request(o))
			if err == nil {
				err = answer.Want(http.StatusCreated, &made)
			}
			if err != nil {
				made.ID = ""
			}
			first <- made.ID
		}()
		<-time.After(rand.N(usual * 5 / 4))
		part := m.Part(fmt.Sprint("gateway-b-", victim+1))
		part.Kill(t)
		before := <-first
		if before == "" {
			silent++
			o.lost++
		}
		place(o, clients[1-victim])
		if before != "" && o.sold["booking_"+strings.TrimPrefix(before, "reg_")] == nil {
			t.Errorf("order %d was answered %s at first, but its retry %v", o.guest, before, o.sold)
		}
		part.Restart(t)
	}
	t.Logf("%d purchases of usually %s; %d got no answer from the killed gateway", gatewayKills, usual, silent)
	s.audit(t)
}

const (
	// limit is the default rate limit of an API key.
	limit = 100
	// quick is the number of requests made in quick succession.
	quick = 150
)

// testLimit spreads requests with one API key over two gateways.
func (m *salesCluster) testLimit(t *testing.T) {
	key := m.op.NewCompany(t, "Europe/London").NewKey(t, 0)
	began := time.Now()
	token := m.client(t, 0).Token(t, key) // counts as the first request
	passed, refused := m.rush(t, token, quick-1, 0, 1)
	if took := time.Since(began); took > time.Minute/2 {
		t.Fatalf("the requests took %s, which is too slow for this test", took)
	}
	if passed != limit-1 || refused != quick-limit {
		t.Errorf("%d requests: %d passed and %d were refused", quick, passed+1, refused)
	}
	t.Run("another key is not affected", func(t *testing.T) {
		other := m.client(t, 0).Token(t, m.op.NewCompany(t, "Europe/London").NewKey(t, 0))
		if passed, refused := m.rush(t, other, 10, 0, 1); passed != 10 || refused != 0 {
			t.Errorf("%d passed and %d were refused", passed, refused)
		}
	})
}

// rush makes n concurrent requests to the gateways in turn, and returns how many passed and how
// many were refused. It checks the rate limit headers of each answer.
func (m *salesCluster) rush(t *testing.T, token string, n int, gateways ...int) (passed, refused int) {
	t.Helper()
	var clients []*harness.B
	for _, gateway := range gateways {
		clients = append(clients, m.client(t, gateway))
	}
	answers := make([]harness.Answer, n)
	var wg sync.WaitGroup
	turns := make(chan struct{}, 10)
	for i := range n {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var err error
			answers[i], err = clients[i%len(clients)].Try(t.Context(), harness.Request{Path: "/events?perPage=1", Token: token})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, answer := range answers {
		var remaining int
		for name, bounds := range map[string][2]int{"RateLimit-Limit": {limit, limit}, "RateLimit-Remaining": {0, limit}, "RateLimit-Reset": {0, 60}} {
			value, err := strconv.Atoi(answer.Header.Get(name))
			if err != nil || value < bounds[0] || value > bounds[1] {
				t.Errorf("status %d: header %s is %q", answer.Code, name, answer.Header.Get(name))
			}
			if name == "RateLimit-Remaining" {
				remaining = value
			}
		}
		switch answer.Code {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
			refused++
			wait, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			if err != nil || wait < 1 || wait > 60 || remaining != 0 || answer.Reason() != "RATE_LIMIT_EXCEEDED" {
				t.Errorf("refused with Retry-After %q, %d remaining: %s", answer.Header.Get("Retry-After"), remaining, answer.Body)
			}
		default:
			t.Errorf("answered %d %s", answer.Code, answer.Body)
		}
	}
	return passed, refused
}

// testLimitWithoutNATS checks that each gateway counts on its own, and reports it, while NATS is
// unavailable.
func (m *salesCluster) testLimitWithoutNATS(t *testing.T) {
	company := m.op.NewCompany(t, "Europe/London")
	tokens := make([]string, 2)
	for n := range tokens { // each token request counts at its gateway
		tokens[n] = m.client(t, n).Token(t, company.NewKey(t, 0))
	}
	m.NATS.Stop(t)
	for gateway := range tokens {
		own, other := m.rushBoth(t, tokens[gateway], gateway)
		if own != [2]int{limit - 1, quick - limit + 1} {
			t.Errorf("gateway %d let %d pass and refused %d", gateway, own[0], own[1])
		}
		// The other gateway may have learned of the token request before NATS stopped.
		if other != [2]int{limit, quick - limit} && other != [2]int{limit - 1, quick - limit + 1} {
			t.Errorf("the other gateway let %d pass and refused %d", other[0], other[1])
		}
	}
	for n := range 2 {
		if err := m.fallback(t, n, "1"); err != nil {
			t.Error(err)
		}
	}
	m.NATS.Start(t)
	probe := company.NewKey(t, 10_000)
	harness.Eventually(t, 2*backLimit, func() error {
		var faults []error
		for n := range 2 {
			// A gateway only notices when it serves a request.
			if _, err := m.client(t, n).Try(t.Context(), harness.KeyTokenRequest(probe)); err != nil {
				faults = append(faults, err)
			}
			faults = append(faults, m.fallback(t, n, "0"))
		}
		return errors.Join(faults...)
	})
	t.Run("the gateways share the limit again", func(t *testing.T) {
		token := m.client(t, 0).Token(t, company.NewKey(t, 0))
		if passed, refused := m.rush(t, token, quick-1, 0, 1); passed != limit-1 || refused != quick-limit {
			t.Errorf("%d passed and %d were refused", passed, refused)
		}
	})
}

// rushBoth exhausts a key at the gateway that issued its token, and at the other.
func (m *salesCluster) rushBoth(t *testing.T, token string, gateway int) (own, other [2]int) {
	t.Helper()
	own[0], own[1] = m.rush(t, token, quick, gateway)
	other[0], other[1] = m.rush(t, token, quick, 1-gateway)
	return own, other
}

// fallback returns an error unless the gateway's ratelimit_fallback metric has the value.
func (m *salesCluster) fallback(t *testing.T, gateway int, want string) error {
	t.Helper()
	name := fmt.Sprint("gateway-b-", gateway+1)
	res, err := http.Get("http://" + m.Part(name).AdminAddr() + "/metrics")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "ratelimit_fallback"); found {
			if got := rest[strings.LastIndexByte(rest, ' ')+1:]; got != want {
				return fmt.Errorf("ratelimit_fallback of %s is %s, want %s", name, got, want)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no metric ratelimit_fallback", name)
}
