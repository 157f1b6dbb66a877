package gatewaya

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// fakeSubscriptions has subscriptions, and keeps the requests that it gets.
type fakeSubscriptions struct {
	subscriptionv1.UnimplementedSubscriptionServiceServer
	subscriptions []*subscriptionv1.Subscription
	err           error

	mu     sync.Mutex
	listed *subscriptionv1.ListSubscriptionsRequest
	read   *subscriptionv1.GetSubscriptionRequest
}

func (f *fakeSubscriptions) ListSubscriptions(_ context.Context, req *subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = req
	return &subscriptionv1.ListSubscriptionsResponse{Subscriptions: f.subscriptions, Total: 41}, f.err
}

func (f *fakeSubscriptions) GetSubscription(_ context.Context, req *subscriptionv1.GetSubscriptionRequest) (*subscriptionv1.GetSubscriptionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = req
	if f.err != nil {
		return nil, f.err
	}
	return &subscriptionv1.GetSubscriptionResponse{Subscription: f.subscriptions[0]}, nil
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	amount := int64(6400)
	active := &subscriptionv1.Subscription{
		Id: id.New[id.Subscription]().String(), CustomerId: id.New[id.Customer]().String(), PlanId: id.New[id.Plan]().String(), PlanTitle: "Eight Classes",
		CustomerPassId: id.New[id.CustomerPass]().String(), Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE, StartDate: "2026-03-01", RenewsOn: "2026-04-08",
		Terms: &subscriptionv1.Terms{
			Price: 6400, Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 1,
			Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS, Credits: 8, MaxRollover: 4,
		},
		CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"), Version: 4,
	}
	active.CurrentPeriod = &subscriptionv1.Period{
		Number: 2, PlanId: active.GetPlanId(), FirstDay: "2026-03-08", LastDay: "2026-04-07", Price: 6400, Currency: "GBP", CreditApplied: 150,
		PaymentStatus: subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID, DueAt: at(t, "2026-03-08T00:00:00Z"), CreditsGranted: 8, CreditsCarriedOver: 4, CreditsExpired: 3, PausedDays: 2, Granted: true,
		Payment: &subscriptionv1.SubscriptionPayment{Method: "CARD", Reference: "secret-ref", Amount: &amount, PaidAt: at(t, "2026-07-01T12:00:00Z")},
	}
	ended := &subscriptionv1.Subscription{
		Id: id.New[id.Subscription]().String(), CustomerId: active.GetCustomerId(), PlanId: active.GetPlanId(), PlanTitle: "Films", Terms: &subscriptionv1.Terms{
			Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK, IntervalCount: 2, Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_NONE,
		},
		Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED, EndReason: subscriptionv1.EndReason_END_REASON_UNPAID, StartDate: "2026-03-01", LastDay: "2026-04-07",
		CurrentPeriod: &subscriptionv1.Period{Number: 1, PlanId: active.GetPlanId(), FirstDay: "2026-03-01", LastDay: "2026-04-07", Trial: true, Currency: "GBP", PaymentStatus: subscriptionv1.PaymentStatus_PAYMENT_STATUS_NOT_DUE},
		Pause:         &subscriptionv1.Pause{FirstDay: "2026-03-20", Reason: "Holiday"}, PlanChange: &subscriptionv1.PlanChange{PlanId: active.GetPlanId(), On: "2026-04-08"},
		Cancellation: &subscriptionv1.Cancellation{RequestedAt: at(t, "2026-07-01T12:00:00Z"), AtPeriodEnd: true}, PastDueSince: at(t, "2026-07-01T12:00:00Z"), SuspendedFrom: at(t, "2026-07-08T12:00:00Z"),
		AmountDue: 1, AccountCredit: 2, RefundDue: 3, RefundedAmount: 4, CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"), Version: 9,
	}
	g.subscriptions.subscriptions = []*subscriptionv1.Subscription{active, ended}
	start := func(s *subscriptionv1.Subscription, title string) string {
		return `{"id":"` + s.GetId() + `","type":"subscription","customer_id":"` + s.GetCustomerId() + `","plan_id":"` + s.GetPlanId() + `","plan_title":"` + title + `",`
	}
	const end = `"created_at":"2026-03-29T00:59:59","updated_at":"2026-03-29T02:00:00","tz":"Europe/London"}`
	wantActive := start(active, "Eight Classes") + `"customer_pass_id":"` + active.GetCustomerPassId() + `","status":"active","base100price":6400,"currency":"GBP","interval":"month","interval_count":1,` +
		`"bookings":"credits","credits":8,"max_rollover":4,"start_date":"2026-03-01","current_period":{"number":2,"plan_id":"` + active.GetPlanId() + `","first_day":"2026-03-08","last_day":"2026-04-07",` +
		`"trial":false,"base100price":6400,"currency":"GBP","base100credit_applied":150,"base100amount_due":0,"payment_status":"paid","due_at":"2026-03-08T00:00:00",` +
		`"payment":{"method":"CARD","base100amount":6400,"paid_at":"2026-07-01T13:00:00"},"credits_granted":8,"credits_carried_over":4,"credits_expired":3,"paused_days":2,"granted":true},"renews_on":"2026-04-08",` +
		`"base100amount_due":0,"base100account_credit":0,"base100refund_due":0,"base100refunded_amount":0,` + end
	wantEnded := start(ended, "Films") + `"status":"ended","base100price":0,"currency":"GBP","interval":"week","interval_count":2,"bookings":"none","credits":0,"max_rollover":0,"start_date":"2026-03-01",` +
		`"current_period":{"number":1,"plan_id":"` + active.GetPlanId() + `","first_day":"2026-03-01","last_day":"2026-04-07","trial":true,"base100price":0,"currency":"GBP","base100credit_applied":0,"base100amount_due":0,` +
		`"payment_status":"not_due","credits_granted":0,"credits_carried_over":0,"credits_expired":0,"paused_days":0,"granted":false},"last_day":"2026-04-07","pause":{"first_day":"2026-03-20","reason":"Holiday"},` +
		`"plan_change":{"plan_id":"` + active.GetPlanId() + `","on":"2026-04-08"},"cancellation":{"reason":"","requested_at":"2026-07-01T13:00:00","at_period_end":true},"base100amount_due":1,` +
		`"past_due_since":"2026-07-01T13:00:00","suspended_from":"2026-07-08T13:00:00","base100account_credit":2,"base100refund_due":3,"base100refunded_amount":4,"end_reason":"unpaid",` + end
	list := "/customer/" + active.GetCustomerId() + "/subscriptions"
	inLondon := g.issuer.Sign(token.Claims{Company: g.company, Zone: "Europe/London", Scopes: scopes.InToken(scopes.InterfaceA())})

	t.Run("the list has exactly the documented JSON", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list, Token: inLondon})
		if want := `{"data":[` + wantActive + `,` + wantEnded + `],"total":41,"page":0,"pageSize":30}`; a.Code != 200 || a.Body != want {
			t.Errorf("got  %s\nwant %s", a.Body, want)
		}
		if l := g.subscriptions.listed; !l.GetCustomerMustExist() || l.GetCustomerId() != active.GetCustomerId() || l.GetPageSize() != 30 || l.GetOffset() != 0 {
			t.Errorf("requested %v", l)
		}
	})
	t.Run("a single subscription is the same as in the list, and must be the customer's", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: "/customer/" + active.GetCustomerId() + "/subscription/" + active.GetId(), Token: inLondon})
		if a.Code != 200 || a.Body != `{"data":`+wantActive+`}` || !strings.HasPrefix(a.Header.Get("ETag"), `"4`) {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
		if r := g.subscriptions.read; r.GetCustomerId() != active.GetCustomerId() || r.GetId() != active.GetId() {
			t.Errorf("requested %v", r)
		}
	})
	t.Run("passes on the page and the status", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list + "?page=3&pageSize=500&status=past_due", Token: inLondon})
		if a.Code != 200 || !strings.HasSuffix(a.Body, `"total":41,"page":3,"pageSize":100}`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
		if l := g.subscriptions.listed; l.GetOffset() != 300 || l.GetPageSize() != 100 || l.GetStatus() != subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE {
			t.Errorf("requested %v", l)
		}
	})
	t.Run("refuses an invalid parameter", func(t *testing.T) {
		for query, field := range map[string]string{"page=-1": "page", "pageSize=0": "pageSize", "status=Active": "status"} {
			a := g.do(request{Method: http.MethodGet, Path: list + "?" + query, Token: inLondon})
			if a.Code != 400 || !strings.Contains(a.Body, `"code":"INVALID_PARAMETER"`) || !strings.Contains(a.Body, `"field":"`+field+`"`) {
				t.Errorf("%s: got %d %s", query, a.Code, a.Body)
			}
		}
	})
	t.Run("a missing customer or subscription is 404", func(t *testing.T) {
		g.subscriptions.err = fault.Missing("customer")
		defer func() { g.subscriptions.err = nil }()
		for _, path := range []string{list, "/customer/x/subscription/y"} {
			if a := g.do(request{Method: http.MethodGet, Path: path, Token: inLondon}); a.Code != 404 {
				t.Errorf("%s: got %d %s", path, a.Code, a.Body)
			}
		}
	})
}
