package gatewayb

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

type fakeTestMode struct {
	authv1.UnimplementedTestModeServiceServer
	*fakes
}

func (f fakeTestMode) GetTestClock(ctx context.Context, req *authv1.GetTestClockRequest) (*authv1.GetTestClockResponse, error) {
	return reply[*authv1.GetTestClockResponse](ctx, f.fakes, req)
}

func (f fakeTestMode) AdvanceTestClock(ctx context.Context, req *authv1.AdvanceTestClockRequest) (*authv1.AdvanceTestClockResponse, error) {
	return reply[*authv1.AdvanceTestClockResponse](ctx, f.fakes, req)
}

func (f fakeTestMode) ResetTestData(ctx context.Context, req *authv1.ResetTestDataRequest) (*authv1.ResetTestDataResponse, error) {
	return reply[*authv1.ResetTestDataResponse](ctx, f.fakes, req)
}

// testModeAnswers returns the responses to the operations of the test mode.
func testModeAnswers() []proto.Message {
	clock := &authv1.TestClock{Now: at("2026-04-01T08:30:00Z"), OffsetSeconds: 1728000}
	return []proto.Message{
		&authv1.GetTestClockResponse{Clock: clock}, &authv1.AdvanceTestClockResponse{Clock: clock},
		&authv1.ResetTestDataResponse{Deleted: 184, Clock: &authv1.TestClock{Now: at("2026-03-12T08:30:00Z")}},
	}
}

func TestTestModeOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for _, tt := range []operation{
		{"GET", "/test-clock", "", 200, []string{`{"now":"2026-04-01T08:30:00Z","offsetSeconds":1728000}`}, ``},
		{"POST", "/test-clock/advance", `{"to":"2026-03-01T01:00:00+01:00"}`, 200, []string{`{"now":"2026-04-01T08:30:00Z","offsetSeconds":1728000}`}, `to:{seconds:1772323200}`},
		{"POST", "/test-data/reset", "", 200, []string{`{"deleted":184,"clock":{"now":"2026-03-12T08:30:00Z","offsetSeconds":0}}`}, ``},
		{"POST", "/test-data/reset", `{}`, 200, nil, ``},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, testModeAnswers()) })
	}
	t.Run("a time without an offset is refused", func(t *testing.T) {
		a := g.do(request{Method: http.MethodPost, Path: "/test-clock/advance", Body: `{"to":"2026-03-01T01:00:00"}`, Token: g.token()})
		if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"to","rule":"format"}`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("in live mode, every operation is 400 LIVE_MODE", func(t *testing.T) {
		g.services.prepare(fault.Status(fault.LiveMode()).Err())
		for path, method := range map[string]string{"/test-clock": http.MethodGet, "/test-clock/advance": http.MethodPost, "/test-data/reset": http.MethodPost} {
			r := request{Method: method, Path: path, Token: g.token()}
			if method == http.MethodPost {
				r.Body = `{"to":"2026-04-01T08:30:00Z"}`
			}
			if a := g.do(r); a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"code":"LIVE_MODE"`) {
				t.Errorf("%s: %d %s", path, a.Code, a.Body)
			}
		}
	})
}

// TestMode checks which responses say that they are of the test mode.
func TestMode(t *testing.T) { // invariant 6
	t.Parallel()
	g := newGateway(t, unlimited{})
	live, test := g.company, g.company.Test()
	page := func(company id.Company, key id.PublishableKey) string {
		raw := g.issuer.Sign(token.Claims{Subject: key.String(), Kind: token.KindPublishable, Company: company, Scopes: scopes.Publishable()})
		g.services.prepare(nil, &authv1.ExchangePublishableKeyResponse{AccessToken: raw, Origins: []string{"https://studio.example"}}, &bookingv1.ListEventsResponse{})
		return key.String()
	}
	credentials := func(key id.APIKey, secret string) request {
		return request{Method: http.MethodPost, Path: "/auth/token", Body: `{"apiKey":"` + key.String() + `","apiSecret":"` + secret + `"}`}
	}
	key := id.New[id.APIKey]()
	for name, tt := range map[string]struct {
		request func() request
		code    int
		want    string
	}{
		"a response to a test key": {func() request {
			return request{Method: http.MethodGet, Path: "/customers", Token: g.issuer.Key(test, scopes.CustomersRead)}
		}, 200, "test"},
		"an error for a test key": {func() request {
			return request{Method: http.MethodGet, Path: "/events", Token: g.issuer.Key(test, scopes.CustomersRead)}
		}, 403, "test"},
		"a response to a live key": {func() request {
			return request{Method: http.MethodGet, Path: "/customers", Token: g.issuer.Key(live, scopes.CustomersRead)}
		}, 200, ""},
		"a response to a test page": {func() request {
			return request{Method: http.MethodGet, Path: "/events", Token: page(test, id.New[id.PublishableKey]().Test()), Header: http.Header{"Origin": {"https://studio.example"}}}
		}, 200, "test"},
		"a response to a live page": {func() request {
			return request{Method: http.MethodGet, Path: "/events", Token: page(live, id.New[id.PublishableKey]()), Header: http.Header{"Origin": {"https://studio.example"}}}
		}, 200, ""},
		"a token for a test key":    {func() request { return credentials(key.Test(), "right") }, 200, "test"},
		"a token for a live key":    {func() request { return credentials(key, "right") }, 200, ""},
		"no token for a test key":   {func() request { return credentials(key.Test(), "wrong") }, 401, ""},
		"a request without a token": {func() request { return request{Method: http.MethodGet, Path: "/customers"} }, 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g.services.prepare(nil, &customerv1.ListCustomersResponse{}, &authv1.IssueTokenResponse{AccessToken: "a.b.c", ExpiresIn: 3600})
			a := g.do(tt.request())
			if a.Code != tt.code || a.Header.Get("Reservation-Mode") != tt.want || len(a.Header.Values("Reservation-Mode")) > 1 {
				t.Errorf("got %d %v %s", a.Code, a.Header, a.Body)
			}
			if exposed := a.Header.Get("Access-Control-Expose-Headers"); exposed != "" && !strings.Contains(exposed, "Reservation-Mode") {
				t.Errorf("the page cannot read it: %q", exposed)
			}
		})
	}
}
