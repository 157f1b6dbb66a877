package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// exchanger stands for the auth service and for the verifier of its tokens. The token of a key is the key
// with its generation.
type exchanger struct {
	authv1.TokenServiceClient
	mu        sync.Mutex
	origins   map[string][]string // by key; a key without an entry does not exist
	least     map[string]int      // the lowest valid generation, by key
	exchanged int
	lifetime  time.Duration
	during    func() // called in each exchange
	err       error
}

func newExchanger() *exchanger {
	return &exchanger{origins: map[string][]string{}, least: map[string]int{}, lifetime: 10 * time.Minute, during: func() {}}
}

func (x *exchanger) ExchangePublishableKey(ctx context.Context, req *authv1.ExchangePublishableKeyRequest, _ ...grpc.CallOption) (*authv1.ExchangePublishableKeyResponse, error) {
	x.mu.Lock()
	x.exchanged++
	origins, found := x.origins[req.GetKey()]
	raw := fmt.Sprintf("%s %d %d", req.GetKey(), x.least[req.GetKey()], time.Now().Add(x.lifetime).Unix())
	err := x.err
	x.mu.Unlock()
	x.during()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case !found:
		return nil, fault.Status(fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "unknown")).Err()
	}
	return &authv1.ExchangePublishableKeyResponse{AccessToken: raw, Origins: origins}, nil
}

func (x *exchanger) Verify(_ context.Context, raw string) (*token.Claims, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if raw == accessToken {
		return &token.Claims{Subject: "key", Kind: token.KindKey, Scopes: []string{scopes.EventsRead}, Raw: raw}, nil
	}
	var key string
	var generation int
	var expires int64
	if _, err := fmt.Sscan(raw, &key, &generation, &expires); err != nil || generation < x.least[key] {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the access token is invalid")
	}
	return &token.Claims{Subject: key, Kind: token.KindPublishable, Scopes: scopes.Publishable(), ExpiresAt: time.Unix(expires, 0), Raw: raw}, nil
}

// change gives a key origins; without any, it is deleted. The tokens of before are revoked.
func (x *exchanger) change(key string, origins ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.least[key]++
	delete(x.origins, key)
	if origins != nil {
		x.origins[key] = origins
	}
}

func (x *exchanger) exchanges() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.exchanged
}

// counter is a limiter that never forgets.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) Take(_ context.Context, key string, limit int) ratelimit.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[key]++
	return ratelimit.Decision{Allowed: c.counts[key] <= limit, Limit: limit, Remaining: max(0, limit-c.counts[key]), Reset: time.Minute}
}

// pageWorld is an edge with an operation for web pages, GET /open/{id}, and POST /open/{id} and
// GET /closed for others.
type pageWorld struct {
	auth    *exchanger
	limiter *counter
	handler http.Handler
}

func newPageWorld(t *testing.T) pageWorld {
	t.Helper()
	w := pageWorld{auth: newExchanger(), limiter: &counter{counts: map[string]int{}}}
	e, err := New(Interface{
		Name: "test", Kind: token.KindKey, Routes: []Route{
			{Method: http.MethodGet, Path: "/open/{id}", Scope: scopes.EventsRead, Publishable: true},
			{Method: http.MethodPost, Path: "/open/{id}", Scope: scopes.EventsWrite},
			{Method: http.MethodGet, Path: "/closed", Scope: scopes.EventsRead},
		},
		AppendFault: func(b []byte, f *fault.Error) []byte { return append(b, f.Reason+": "+f.Message...) },
	}, Options{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Verifier: w.auth, Limiter: w.limiter, RateLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.api.Routes {
		route := &e.api.Routes[i]
		err := e.Handle(route.Method, route.Path, func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
			if r.URL.Path == "/open/panic" {
				panic("the operation fails")
			}
			_, _ = io.WriteString(w, rpc.ClaimsFrom(r.Context()).Subject)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	e.AcceptPublishableKeys(w.auth)
	w.handler = e.Handler()
	return w
}

// send sends a request with a key, from an address and a page of an origin; "": no page.
func (w pageWorld) send(method, path, key, address, origin string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+key)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

func (w pageWorld) get(key, origin string) *httptest.ResponseRecorder {
	return w.send(http.MethodGet, "/open/1", key, "192.0.2.1:99", origin)
}

func newKey() string { return id.New[id.PublishableKey]().String() }

const (
	studio      = "https://studio.example"
	accessToken = "ey.of.a.key"
)

func TestPublishableKeys(t *testing.T) {
	t.Parallel()
	t.Run("read what is marked for them, from their origins and from programs", func(t *testing.T) {
		t.Parallel()
		w, key := newPageWorld(t), newKey()
		w.auth.change(key, studio)
		for origin, want := range map[string]struct {
			code    int
			allowed string
		}{
			studio: {200, studio}, "": {200, ""}, "https://other.example": {403, "*"}, "null": {403, "*"}, "http://studio.example": {403, "*"},
		} {
			res := w.get(key, origin)
			h := res.Header()
			if res.Code != want.code || h.Get("Access-Control-Allow-Origin") != want.allowed || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
				t.Errorf("%q: got %d %s %v", origin, res.Code, res.Body, h)
			}
			if res.Code == 200 && (res.Body.String() != key || h.Get("RateLimit-Limit") != "60") {
				t.Errorf("%q: got %s %v", origin, res.Body, h)
			}
			if exposed := h.Get("Access-Control-Expose-Headers"); (want.allowed != "") != strings.Contains(exposed, "ETag") || (want.allowed != "") != strings.Contains(exposed, "Retry-After") {
				t.Errorf("%q: exposed %q", origin, exposed)
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("cookies are allowed")
			}
		}
	})
	t.Run("are refused everywhere else", func(t *testing.T) {
		t.Parallel()
		w, key := newPageWorld(t), newKey()
		w.auth.change(key, studio)
		for _, request := range [][2]string{{http.MethodPost, "/open/1"}, {http.MethodGet, "/closed"}} {
			res := w.send(request[0], request[1], key, "192.0.2.1:99", studio)
			if res.Code != 403 || !strings.Contains(res.Body.String(), "FORBIDDEN: a publishable key cannot be used for this operation") {
				t.Errorf("%v: got %d %s", request, res.Code, res.Body)
			}
		}
		if w.auth.exchanges() != 0 {
			t.Error("the key was exchanged")
		}
	})
	t.Run("that do not exist or are malformed are 401", func(t *testing.T) {
		t.Parallel()
		w := newPageWorld(t)
		for _, key := range []string{newKey(), "pub_", "pub_x", "pub_" + strings.Repeat("x", 1000)} {
			if res := w.get(key, studio); res.Code != 401 || !strings.Contains(res.Header().Get("WWW-Authenticate"), "invalid_token") {
				t.Errorf("%.40s: got %d %s", key, res.Code, res.Body)
			}
		}
		if w.auth.exchanges() != 1 {
			t.Errorf("%d exchanges", w.auth.exchanges())
		}
	})
	t.Run("are limited to 60 requests for each address, IPv6 for each /64", func(t *testing.T) {
		t.Parallel()
		w, key := newPageWorld(t), newKey()
		w.auth.change(key, studio)
		for _, addresses := range [][]string{{"192.0.2.1:1"}, {"[2001:db8::1]:1", "[2001:db8::2]:1"}} {
			for i := range publishableLimit {
				if res := w.send(http.MethodGet, "/open/1", key, addresses[i%len(addresses)], studio); res.Code != 200 {
					t.Fatalf("request %d: got %d %s", i, res.Code, res.Body)
				}
			}
			res := w.send(http.MethodGet, "/open/1", key, addresses[0], studio)
			if res.Code != 429 || res.Header().Get("Retry-After") == "" || res.Header().Get("Access-Control-Allow-Origin") != studio {
				t.Errorf("got %d %v", res.Code, res.Header())
			}
		}
		another := newKey()
		w.auth.change(another, studio)
		if res := w.get(another, studio); res.Code != 200 {
			t.Errorf("another key: got %d", res.Code)
		}
	})
}

// TestErrorsInBrowsers checks which responses the page of any origin can read.
func TestErrorsInBrowsers(t *testing.T) {
	t.Parallel()
	w, key, limited := newPageWorld(t), newKey(), newKey()
	w.auth.change(key, studio)
	w.auth.change(limited, studio)
	for range publishableLimit {
		w.get(limited, studio)
	}
	for name, tt := range map[string]struct {
		method, path, key, origin string
		code                      int
		readers                   string
	}{
		"the data, by a page of the key":                {http.MethodGet, "/open/1", key, studio, 200, studio},
		"the data, by a page with an access token":      {http.MethodGet, "/open/1", accessToken, studio, 200, ""},
		"a wrong origin":                                {http.MethodGet, "/open/1", key, "https://other.example", 403, "*"},
		"an operation that needs an API key":            {http.MethodGet, "/closed", key, studio, 403, "*"},
		"a write":                                       {http.MethodPost, "/open/1", key, studio, 403, "*"},
		"an unknown key":                                {http.MethodGet, "/open/1", newKey(), studio, 401, "*"},
		"a malformed key":                               {http.MethodGet, "/open/1", "pub_x", studio, 401, "*"},
		"an invalid access token":                       {http.MethodGet, "/open/1", "x", studio, 401, "*"},
		"the rate limit":                                {http.MethodGet, "/open/1", limited, studio, 429, studio},
		"an unknown path":                               {http.MethodGet, "/nothing", key, studio, 404, "*"},
		"another method":                                {http.MethodDelete, "/open/1", key, studio, 405, "*"},
		"a failure of the operation":                    {http.MethodGet, "/open/panic", key, studio, 500, studio},
		"a failure of the operation, without an origin": {http.MethodGet, "/open/panic", key, "", 500, "*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := w.send(tt.method, tt.path, tt.key, "192.0.2.1:99", tt.origin)
			h := res.Header()
			if res.Code != tt.code || h.Get("Access-Control-Allow-Origin") != tt.readers {
				t.Errorf("got %d %s %v", res.Code, res.Body, h)
			}
			exposed := h.Get("Access-Control-Expose-Headers")
			for _, header := range []string{"ETag", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Reservation-Mode", "Retry-After", "X-Request-Id"} {
				if strings.Contains(exposed, header) != (tt.readers != "") {
					t.Errorf("%s is exposed: %q", header, exposed)
				}
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("cookies are allowed")
			}
			// A response that another origin would not get must not be reused for it.
			if varies := slices.Contains(h.Values("Vary"), "Origin"); !varies && tt.readers == studio {
				t.Errorf("Vary: %q", h.Values("Vary"))
			}
		})
	}
}

func TestPublishableExchanges(t *testing.T) {
	t.Parallel()
	t.Run("happen once for as long as the token is valid", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, key := newPageWorld(t), newKey()
			w.auth.change(key, studio)
			for range 5 {
				w.get(key, studio)
			}
			if w.auth.exchanges() != 1 {
				t.Errorf("%d exchanges", w.auth.exchanges())
			}
			time.Sleep(w.auth.lifetime - leastLifetime + 2*time.Second)
			if res := w.get(key, studio); res.Code != 200 || w.auth.exchanges() != 2 {
				t.Errorf("got %d after %d exchanges", res.Code, w.auth.exchanges())
			}
		})
	})
	t.Run("follow the revocation of the token", func(t *testing.T) {
		t.Parallel()
		w, key := newPageWorld(t), newKey()
		w.auth.change(key, studio)
		w.get(key, studio)
		w.auth.change(key, "https://new.example")
		if old, fresh := w.get(key, studio), w.get(key, "https://new.example"); old.Code != 403 || fresh.Code != 200 {
			t.Errorf("the old origin got %d, the new one %d", old.Code, fresh.Code)
		}
		w.auth.change(key)
		if res := w.get(key, "https://new.example"); res.Code != 401 {
			t.Errorf("the deleted key got %d", res.Code)
		}
	})
	t.Run("of one key happen one at a time, and a client that leaves does not end them", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, key := newPageWorld(t), newKey()
			w.auth.change(key, studio)
			proceed := make(chan struct{})
			w.auth.during = func() { <-proceed }
			ctx, leave := context.WithCancel(t.Context())
			codes := make(chan int, 10)
			for i := range 10 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/open/1", nil)
				if i == 0 {
					r = r.WithContext(ctx)
				}
				r.Header.Set("Authorization", "Bearer "+key)
				go func() {
					rec := httptest.NewRecorder()
					w.handler.ServeHTTP(rec, r)
					codes <- rec.Code
				}()
				synctest.Wait()
			}
			leave()
			if code := <-codes; code != 503 {
				t.Errorf("the client that left got %d", code)
			}
			close(proceed)
			for range 9 {
				if code := <-codes; code != 200 {
					t.Errorf("got %d", code)
				}
			}
			if w.auth.exchanges() != 1 {
				t.Errorf("%d exchanges", w.auth.exchanges())
			}
		})
	})
	t.Run("of unknown keys are limited for each address, and are not repeated within a second", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, key := newPageWorld(t), newKey()
			for range 3 {
				w.get(key, "")
			}
			if w.auth.exchanges() != 1 {
				t.Errorf("%d exchanges", w.auth.exchanges())
			}
			time.Sleep(unknownFor)
			w.auth.change(key, studio)
			if res := w.get(key, ""); res.Code != 200 {
				t.Errorf("a key that exists now got %d", res.Code)
			}
			for range publishableLimit {
				w.get(newKey(), "")
			}
			if res := w.get(newKey(), ""); res.Code != 429 || res.Header().Get("Retry-After") == "" || w.auth.exchanges() != publishableLimit {
				t.Errorf("got %d after %d exchanges", res.Code, w.auth.exchanges())
			}
			if res := w.get(key, ""); res.Code != 200 {
				t.Errorf("a known key of the same address got %d", res.Code)
			}
			if res := w.send(http.MethodGet, "/open/1", newKey(), "198.51.100.1:1", ""); res.Code != 401 {
				t.Errorf("another address got %d", res.Code)
			}
		})
	})
	t.Run("that fail are reported, and repeated at the next request", func(t *testing.T) {
		t.Parallel()
		w, key := newPageWorld(t), newKey()
		w.auth.change(key, studio)
		w.auth.err = fault.Status(fault.Away(errors.New("auth is away"))).Err()
		if res := w.get(key, studio); res.Code != 503 {
			t.Errorf("got %d", res.Code)
		}
		w.auth.err = nil
		if res := w.get(key, studio); res.Code != 200 {
			t.Errorf("got %d", res.Code)
		}
	})
	t.Run("keep a bounded number of keys", func(t *testing.T) {
		t.Parallel()
		e := &Edge{}
		e.AcceptPublishableKeys(nil)
		for i := range maxPublishable + 5 {
			e.keys.keep(fmt.Sprint(i), publishableToken{raw: "x"})
		}
		for i := range maxUnknown + 5 {
			e.keys.keepUnknown(fmt.Sprint(i))
		}
		if _, last := e.keys.get(fmt.Sprint(maxPublishable + 4)); len(e.keys.kept) != maxPublishable || len(e.keys.unknown) > maxUnknown || !last {
			t.Errorf("%d keys and %d unknown ones", len(e.keys.kept), len(e.keys.unknown))
		}
	})
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	w := newPageWorld(t)
	for name, tt := range map[string]struct {
		path, method, origin string
		code                 int
	}{
		"a read for pages":                           {"/open/1", http.MethodGet, studio, 204},
		"a write, whose error a page can then read":  {"/open/1", http.MethodPost, studio, 204},
		"a read that needs an API key":               {"/closed", http.MethodGet, studio, 204},
		"a method that the path does not support":    {"/closed", http.MethodDelete, studio, 204},
		"an unknown path":                            {"/nothing", http.MethodGet, studio, 204},
		"any other origin":                           {"/open/1", http.MethodGet, "https://other.example", 204},
		"a request without an origin is not one":     {"/open/1", http.MethodGet, "", 405},
		"a request without a method is not one":      {"/open/1", "", studio, 405},
		"nor is one without both of an unknown path": {"/nothing", "", "", 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodOptions, tt.path, nil)
			for name, value := range map[string]string{"Origin": tt.origin, "Access-Control-Request-Method": tt.method, "Access-Control-Request-Headers": "authorization,if-none-match"} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			rec := httptest.NewRecorder()
			w.handler.ServeHTTP(rec, r)
			h := rec.Header()
			if rec.Code != tt.code || h.Get("Access-Control-Allow-Origin") != "*" {
				t.Fatalf("got %d %v", rec.Code, h)
			}
			if allowed := h.Get("Access-Control-Allow-Headers"); (tt.code == 204) != strings.Contains(allowed, "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match") {
				t.Errorf("headers: %q", allowed)
			}
			if methods := h.Get("Access-Control-Allow-Methods"); (tt.code == 204) != strings.Contains(methods, "GET, POST, PUT, PATCH, DELETE") || tt.code == 204 && rec.Body.Len() != 0 {
				t.Errorf("methods: %q, body: %s", methods, rec.Body)
			}
		})
	}
}
