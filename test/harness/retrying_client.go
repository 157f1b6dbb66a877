package harness

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
)

// RetryingClient is a client of Interfaces A and B that retries as docs/ERRORS.md requires. It
// has its own customer, and an event without a capacity limit.
type RetryingClient struct {
	a, b            *A
	aLogin, bLogin  Request
	customer, event string

	mu     sync.Mutex
	tokens map[*A]string

	repeats atomic.Int64 // number of retries
}

// patience limits a request, its retries included.
const patience = 2 * time.Minute

// NewRetryingClient signs in to both interfaces, and creates the customer and the event.
func NewRetryingClient(t testing.TB, c Credentials) *RetryingClient {
	t.Helper()
	s := &RetryingClient{
		a: NewA(t, c.InterfaceA.BaseURL), b: NewA(t, c.InterfaceB.BaseURL), tokens: map[*A]string{},
		aLogin: TokenRequest(Credential{ID: c.InterfaceA.ClientID, Secret: c.InterfaceA.ClientSecret}),
		bLogin: KeyTokenRequest(Credential{ID: c.InterfaceB.APIKey, Secret: c.InterfaceB.APISecret}),
	}
	for path, made := range map[string]struct {
		body string
		id   *string
	}{
		"/customers": {`{"firstName":"Ada","lastName":"Byron","email":"ada@example.com"}`, &s.customer},
		"/events":    {`{"title":"Load","startsAt":"2099-03-28T09:30:00","duration":60,"pricingOptions":[{"name":"Place","price":10}]}`, &s.event},
	} {
		id, err := s.create(t.Context(), path, made.body, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		*made.id = id
	}
	return s
}

// Book registers the customer for the event, with additional headers, and returns the
// registration's id.
func (s *RetryingClient) Book(ctx context.Context, key string, more http.Header) (string, error) {
	return s.create(ctx, "/events/"+s.event+"/registrations", fmt.Sprintf(`{"customerId":%q}`, s.customer), key, more)
}

// ListBookings reads a page of a customer's bookings.
func (s *RetryingClient) ListBookings(ctx context.Context, customer string) error {
	_, err := s.do(ctx, s.a, Request{Path: "/customer/" + customer + "/bookings?pageSize=5"}, http.StatusOK)
	return err
}

// Registrations returns the number of registrations for the event.
func (s *RetryingClient) Registrations(ctx context.Context) (int64, error) {
	answer, err := s.do(ctx, s.b, Request{Path: "/events/" + s.event + "/registrations?perPage=1"}, http.StatusOK)
	if err != nil {
		return 0, err
	}
	var page struct{ Total int64 }
	return page.Total, json.Unmarshal(answer.Body, &page)
}

// Customer is the identifier of the client's customer.
func (s *RetryingClient) Customer() string { return s.customer }

// Repeats returns the number of retries.
func (s *RetryingClient) Repeats() int64 { return s.repeats.Load() }

// Write makes one request to Interface B with the Idempotency-Key, and repeats it until it has the wanted status.
func (s *RetryingClient) Write(ctx context.Context, path, body, key string, want int) (Answer, error) {
	return s.do(ctx, s.b, Request{Method: http.MethodPost, Path: path, Body: body, Header: http.Header{"Idempotency-Key": {key}}}, want)
}

// Read makes one request to Interface B and repeats it until it succeeds.
func (s *RetryingClient) Read(ctx context.Context, path string) (Answer, error) {
	return s.do(ctx, s.b, Request{Path: path}, http.StatusOK)
}

// create makes one POST request to Interface B with an Idempotency-Key, and returns the id of the
// created object.
func (s *RetryingClient) create(ctx context.Context, path, body, key string, more http.Header) (string, error) {
	header := http.Header{"Idempotency-Key": {fmt.Sprintf("%s-%d", key, time.Now().UnixNano())}}
	maps.Copy(header, more)
	answer, err := s.do(ctx, s.b, Request{Path: path, Body: body, Header: header}, http.StatusCreated)
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	return made.ID, json.Unmarshal(answer.Body, &made)
}

// do makes a request that is safe to retry: a read, or a write with an Idempotency-Key. It
// returns an error for an answer that retries do not resolve.
func (s *RetryingClient) do(ctx context.Context, face *A, r Request, want int) (Answer, error) {
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
			return answer, errors.Join(ctx.Err(), err, fmt.Errorf("the last answer: %d %s", answer.Code, answer.Body))
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

func (s *RetryingClient) attempt(ctx context.Context, face *A, r Request) (Answer, error) {
	token, answer, err := s.token(ctx, face)
	if token == "" {
		return answer, err
	}
	r.Token = token
	return face.Try(ctx, r)
}

// token returns the access token for an interface, or, if there is none, the answer to the token
// request.
func (s *RetryingClient) token(ctx context.Context, face *A) (string, Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := s.tokens[face]; token != "" {
		return token, Answer{}, nil
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

func (s *RetryingClient) forget(face *A) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, face)
}
