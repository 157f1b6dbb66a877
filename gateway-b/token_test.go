package gatewayb

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/testkit/edgetest"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestToken(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	send := func(body string) answer {
		return g.do(request{Method: http.MethodPost, Path: "/auth/token", Body: body})
	}
	g.services.prepare(nil, &authv1.IssueTokenResponse{AccessToken: "a.b.c", ExpiresIn: 3600, RateLimit: ptr(int32(7))})
	t.Run("issues a token for a valid key, and counts against its own limit", func(t *testing.T) {
		a := send(`{"apiKey":"key_x","apiSecret":"right"}`)
		if a.Code != 200 || a.Body != `{"token":"a.b.c","expiresIn":3600}` || a.Header.Get("RateLimit-Limit") != "7" {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
		if issue := last[*authv1.IssueTokenRequest](g.services); issue.GetKind() != authv1.CredentialKind_CREDENTIAL_KIND_API_KEY || issue.GetClientAddress() == "" {
			t.Errorf("requested %v", issue)
		}
	})
	t.Run("refuses a wrong secret", func(t *testing.T) {
		a := send(`{"apiKey":"key_x","apiSecret":"wrong"}`)
		if a.Code != 401 || !strings.Contains(a.Body, fault.ReasonInvalidCredentials) || a.Header.Get("RateLimit-Limit") != "" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	for name, body := range map[string]string{"a number as the key": `{"apiKey":5,"apiSecret":"x"}`, "a body that is not JSON": `apiKey=x`, "an empty body": ` `} {
		t.Run("responds with 400 to "+name, func(t *testing.T) {
			if a := send(body); a.Code != 400 {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
}

func TestRateLimit(t *testing.T) { // invariant 3
	t.Parallel()
	log := &edgetest.Log{}
	options := ratelimit.Options{Log: slog.New(slog.NewTextHandler(log, nil))}
	one := newGateway(t, ratelimit.New(testkit.Bus(t), options))
	two := newGateway(t, ratelimit.New(testkit.Bus(t), options))
	two.issuer = one.issuer
	var raw string
	t.Run("allows exactly 100 of 150 requests across two gateways", func(t *testing.T) {
		testkit.Eventually(t, time.Minute, func() error {
			raw = one.token()
			ended := strings.Count(log.String(), "across all processes again")
			allowed := countedBy(t, raw, one, two)
			// After a loaded machine has delayed NATS for a second, each gateway counts alone for a while.
			if strings.Count(log.String(), "per process") > ended {
				return errors.New("the gateways count alone, because NATS did not answer in time")
			}
			if allowed != 100 {
				t.Errorf("%d of 150 are allowed", allowed)
			}
			return nil
		})
	})
	t.Run("responds with 429, Retry-After and the limit", func(t *testing.T) {
		one.services.prepare(nil, &customerv1.ListCustomersResponse{})
		a := one.do(request{Method: "GET", Path: "/customers", Token: raw})
		if a.Code != 429 || a.Header.Get("Retry-After") == "" || a.Header.Get("RateLimit-Limit") != "100" || a.Header.Get("RateLimit-Remaining") != "0" ||
			a.Header.Get("RateLimit-Reset") == "" || !strings.Contains(a.Body, fault.ReasonRateLimitExceeded) {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
	})
	t.Run("a key's own limit replaces the default", func(t *testing.T) {
		own := one.issuer.Sign(token.Claims{Kind: token.KindKey, Subject: "key_own", Company: one.company, Scopes: scopes.InterfaceB(), RateLimit: 2})
		for i := range 3 {
			if a := one.do(request{Method: "GET", Path: "/customers", Token: own}); (a.Code == 429) != (i == 2) || a.Header.Get("RateLimit-Limit") != "2" {
				t.Errorf("%d: got %d %s", i, a.Code, a.Body)
			}
		}
	})
}

// countedBy sends 150 requests of a key to two gateways, and returns how many are allowed.
func countedBy(t *testing.T, raw string, one, two *gateway) int64 {
	t.Helper()
	claims, err := one.issuer.Verifier.Verify(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for i := range 150 {
		wg.Go(func() {
			g := []*gateway{one, two}[i%2]
			// The gateways have different verifiers, so count the key directly.
			if err := (&edge.Options{Limiter: g.limiter, RateLimit: 100}).Count(t.Context(), http.Header{}, claims.Subject, claims.RateLimit); err == nil {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	return allowed.Load()
}

func TestAllowedNetworks(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	elsewhere, here := netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("127.0.0.0/8")
	get := func(networks ...netip.Prefix) answer {
		raw := g.issuer.Sign(token.Claims{Kind: token.KindKey, Subject: "key_1", Company: g.company, Scopes: scopes.InterfaceB(), Networks: networks})
		return g.do(request{Method: http.MethodGet, Path: "/customers", Token: raw})
	}
	g.services.prepare(nil, &customerv1.ListCustomersResponse{})
	t.Run("a token is accepted in one of its networks", func(t *testing.T) {
		if a := get(elsewhere, here); a.Code != 200 {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	refused := func(t *testing.T, a answer) {
		t.Helper()
		if a.Code != 403 || !strings.Contains(a.Body, fault.ReasonNetworkNotAllowed) || !strings.Contains(a.Body, `"details":{"address":"127.0.0.1"}`) ||
			a.Header.Get("RateLimit-Limit") != "" || a.Header.Get("WWW-Authenticate") != `Bearer realm="reservation"` {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
	}
	t.Run("a token is refused elsewhere, with the address, and the request is not counted", func(t *testing.T) {
		refused(t, get(elsewhere))
	})
	t.Run("a token request is refused elsewhere, and is not counted", func(t *testing.T) {
		g.services.prepare(token.Networks{elsewhere}.Check("127.0.0.1"))
		refused(t, g.do(request{Method: http.MethodPost, Path: "/auth/token", Body: `{"apiKey":"key_x","apiSecret":"right"}`}))
	})
}
