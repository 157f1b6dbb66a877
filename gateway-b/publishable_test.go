package gatewayb

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func (f fakeTokens) ExchangePublishableKey(ctx context.Context, req *authv1.ExchangePublishableKeyRequest) (*authv1.ExchangePublishableKeyResponse, error) {
	return reply[*authv1.ExchangePublishableKeyResponse](ctx, f.fakes, req)
}

// TestPublishableKeys sends a publishable key to every route.
func TestPublishableKeys(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	key := id.New[id.PublishableKey]().String()
	raw := g.issuer.Sign(token.Claims{Subject: key, Kind: token.KindPublishable, Company: g.company, Scopes: scopes.Publishable()})
	g.services.prepare(nil, &authv1.ExchangePublishableKeyResponse{AccessToken: raw, Origins: []string{"https://studio.example"}},
		&bookingv1.ListEventsResponse{}, &bookingv1.GetEventResponse{Event: anEvent(aDate("2026-03-30T08:30:00Z", nil, 3))},
		&bookingv1.ListEventDatesResponse{}, &bookingv1.GetEventDateResponse{Date: aScheduledDate()}, &passv1.ListPassTypesResponse{}, &passv1.GetPassTypeResponse{PassType: aPassType()},
		&subscriptionv1.ListPlansResponse{}, &subscriptionv1.GetPlanResponse{Plan: aPlan()})
	open := map[string]bool{"/events": true, "/events/{id}": true, "/event-dates": true, "/event-dates/{id}": true, "/passes": true, "/passes/{id}": true, "/plans": true, "/plans/{id}": true}
	for _, route := range routes() {
		if route.Scope == "" {
			continue
		}
		pattern := strings.TrimPrefix(route.Path, base)
		path := strings.NewReplacer("{id}", "x_"+idOf, "{registration_id}", "reg_"+idOf, "{upload_id}", "upl_"+idOf, "{media_id}", "media_"+idOf).Replace(pattern)
		t.Run(route.Method+" "+pattern, func(t *testing.T) {
			a := g.do(request{Method: route.Method, Path: path, Token: key, Header: http.Header{"Origin": {"https://studio.example"}}})
			if route.Publishable != (route.Method == http.MethodGet && open[pattern]) {
				t.Errorf("the route is marked as %v", route.Publishable)
			}
			if !route.Publishable {
				if a.Code != 403 || a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Body, `"code":"FORBIDDEN"`) || !strings.Contains(a.Body, "a publishable key cannot be used for this operation") {
					t.Errorf("got %d %s", a.Code, a.Body)
				}
				return
			}
			if a.Code != 200 || a.Header.Get("Access-Control-Allow-Origin") != "https://studio.example" {
				t.Fatalf("got %d %s %v", a.Code, a.Body, a.Header)
			}
			g.services.mu.Lock()
			defer g.services.mu.Unlock()
			if got := g.services.metadata.Get("authorization"); len(got) != 1 || got[0] != "Bearer "+raw {
				t.Errorf("the service was called with %v", got)
			}
		})
	}
	t.Run("the token of a key is not accepted from outside", func(t *testing.T) {
		if a := g.do(request{Method: http.MethodGet, Path: "/events", Token: raw}); a.Code != 401 {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}
