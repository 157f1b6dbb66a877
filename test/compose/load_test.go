package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// shop is a client of Interfaces A and B that repeats as docs/ERRORS.md says.
type shop struct {
	a, b            *harness.A
	aLogin, bLogin  harness.Request
	customer, event string

	mu     sync.Mutex
	tokens map[*harness.A]string

	repeats atomic.Int64 // requests that were made again
}

// patience is how long a request may take in all, its repeats included.
const patience = 90 * time.Second

// newShop signs in to both, and makes a customer and an event without a limit.
func newShop(t *testing.T, c harness.Credentials) *shop {
	t.Helper()
	s := &shop{
		a: harness.NewA(t, c.InterfaceA.BaseURL), b: harness.NewA(t, c.InterfaceB.BaseURL), tokens: map[*harness.A]string{},
		aLogin: harness.TokenRequest(harness.Credential{ID: c.InterfaceA.ClientID, Secret: c.InterfaceA.ClientSecret}),
		bLogin: harness.KeyTokenRequest(harness.Credential{ID: c.InterfaceB.APIKey, Secret: c.InterfaceB.APISecret}),
	}
	for path, body := range map[string]string{
		"/customers": `{"firstName":"Ada","lastName":"Byron","email":"ada@example.com"}`,
		"/events":    `{"title":"Load","startsAt":"2099-03-28T09:30:00","duration":60,"pricingOptions":[{"name":"Place","price":10}]}`,
	} {
		answer, err := s.do(t.Context(), s.b, harness.Request{Path: path, Body: body, Header: keyed(path)}, http.StatusCreated)
		if err != nil {
			t.Fatal(err)
		}
		var made struct{ ID string }
		if err := json.Unmarshal(answer.Body, &made); err != nil {
			t.Fatal(err)
		}
		if path == "/customers" {
			s.customer = made.ID
		} else {
			s.event = made.ID
		}
	}
	return s
}

func keyed(key string) http.Header {
	return http.Header{"Idempotency-Key": {fmt.Sprintf("%s-%d", key, time.Now().UnixNano())}}
}

// book registers the customer for the event, with further headers, and returns
// the registration's id.
func (s *shop) book(ctx context.Context, key string, more http.Header) (string, error) {
	header := keyed(key)
	maps.Copy(header, more)
	answer, err := s.do(ctx, s.b, harness.Request{
		Path: "/events/" + s.event + "/registrations", Body: fmt.Sprintf(`{"customerId":%q}`, s.customer), Header: header,
	}, http.StatusCreated)
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	return made.ID, json.Unmarshal(answer.Body, &made)
}

// do makes a request of which every attempt may be repeated: a read, or one with
// an Idempotency-Key. It returns an error for what a patient client is told.
func (s *shop) do(ctx context.Context, face *harness.A, r harness.Request, want int) (harness.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 4*time.Second) {
		answer, err := s.attempt(ctx, face, r)
		if err == nil && answer.Code == want {
			return answer, nil
		}
		wait := pause
		switch {
		case ctx.Err() != nil:
			return answer, errors.Join(ctx.Err(), err)
		case err != nil || answer.Code == http.StatusInternalServerError: // no answer
		case answer.Code == http.StatusUnauthorized && r.Token == "":
			s.forget(face)
		case answer.Code == http.StatusTooManyRequests, answer.Code == http.StatusServiceUnavailable, answer.Reason() == "IDEMPOTENCY_IN_PROGRESS":
			seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			if err != nil {
				return answer, fmt.Errorf("%s %s: %d without Retry-After: %s", r.Method, r.Path, answer.Code, answer.Body)
			}
			wait = max(wait, time.Duration(seconds)*time.Second)
		default:
			return answer, fmt.Errorf("%s %s: %d: %s", r.Method, r.Path, answer.Code, answer.Body)
		}
		s.repeats.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (s *shop) attempt(ctx context.Context, face *harness.A, r harness.Request) (harness.Answer, error) {
	token, answer, err := s.token(ctx, face)
	if token == "" {
		return answer, err
	}
	r.Token = token
	return face.Try(ctx, r)
}

// token is that of a face; without one, what was answered instead.
func (s *shop) token(ctx context.Context, face *harness.A) (string, harness.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := s.tokens[face]; token != "" {
		return token, harness.Answer{}, nil
	}
	login := s.bLogin
	if face == s.a {
		login = s.aLogin
	}
	answer, err := face.Try(ctx, login)
	if err != nil || answer.Code != http.StatusOK {
		return "", answer, err
	}
	var body struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(answer.Body, &body); err != nil {
		return "", answer, err
	}
	s.tokens[face] = body.Token + body.AccessToken
	return s.tokens[face], answer, nil
}

func (s *shop) forget(face *harness.A) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, face)
}

const (
	// buyers is how many clients there are at once, each of which books no more
	// often than pace, and not after loadLimit.
	buyers    = 6
	pace      = 100 * time.Millisecond
	loadLimit = 15 * time.Minute
)

// testCrashes doubles every part, ends a process of each, one after another, and
// replaces all of them, while clients book and read.
func (p *platform) testCrashes(t *testing.T) {
	scale := []string{"up", "-d", "--no-recreate"}
	for _, part := range replicated() {
		scale = append(scale, "--scale", part+"=2")
	}
	p.compose(t, startLimit, scale...)
	p.awaitHealthy(t, 2)

	s := newShop(t, p.credentials)
	var booked atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	ctx, stop := context.WithTimeout(t.Context(), loadLimit)
	defer stop()
	for n := range buyers {
		all.Go(func() {
			next := time.NewTicker(pace)
			defer next.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				// What has begun is finished: only then the books can be compared.
				if _, err := s.book(t.Context(), fmt.Sprintf("load-%d-%d", n, i), nil); err != nil {
					t.Errorf("Interface B: %v", err)
					return
				}
				booked.Add(1)
				if _, err := s.do(t.Context(), s.a, harness.Request{Path: "/customer/" + s.customer + "/bookings?pageSize=5"}, http.StatusOK); err != nil {
					t.Errorf("Interface A: %v", err)
					return
				}
				select {
				case <-next.C:
				case <-ctx.Done():
				}
			}
		})
	}
	for _, part := range replicated() {
		before := booked.Load()
		p.crash(t, p.containers(t, part)[0])
		harness.Eventually(t, time.Minute, func() error {
			if booked.Load() < before+buyers {
				return fmt.Errorf("after %s died, nothing more was booked", part)
			}
			return nil
		})
		t.Logf("%s died and is back: %d registrations, %d requests were made again", part, booked.Load(), s.repeats.Load())
	}
	p.roll(t)
	t.Logf("all were replaced: %d registrations, %d requests were made again", booked.Load(), s.repeats.Load())
	stop()
	all.Wait()

	answer, err := s.do(t.Context(), s.b, harness.Request{Path: "/events/" + s.event + "/registrations?perPage=1"}, http.StatusOK)
	if err != nil {
		t.Fatal(err)
	}
	var page struct{ Total int64 }
	if err := json.Unmarshal(answer.Body, &page); err != nil {
		t.Fatal(err)
	}
	if page.Total != booked.Load() {
		t.Errorf("%d registrations were answered, and there are %d", booked.Load(), page.Total)
	}
	p.compose(t, commandLimit, "run", "--rm", "-T", "reservectl", "verify", "--company", p.credentials.CompanyID)
}
