package gatewayb

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func aPlan() *subscriptionv1.Plan {
	return &subscriptionv1.Plan{
		Id: "plan_" + idOf, Title: "Eight Classes", Price: 6400, Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 1,
		TrialDays: 7, MinimumPeriods: 3, Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS, Credits: 8, MaxRollover: 4,
		EligibleEventTypes: []string{"class"}, MediaCollectionIds: []string{"col_" + idOf}, PassTypeId: "pass_" + idOf,
		Status: subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 2,
	}
}

func aPeriod() *subscriptionv1.Period {
	return &subscriptionv1.Period{
		Number: 2, PlanId: "plan_" + idOf, FirstDay: "2026-03-08", LastDay: "2026-04-07", Price: 6400, Currency: "GBP", CreditApplied: 150, AmountDue: 6250,
		PaymentStatus: subscriptionv1.PaymentStatus_PAYMENT_STATUS_DUE, DueAt: at("2026-03-08T00:00:00Z"), CreditsGranted: 8, CreditsCarriedOver: 4, CreditsExpired: 3, Granted: true,
	}
}

func aSubscription() *subscriptionv1.Subscription {
	return &subscriptionv1.Subscription{
		Id: "sub_" + idOf, CustomerId: "cust_" + idOf, PlanId: "plan_" + idOf, PlanTitle: "Eight Classes", CustomerPassId: "cp_" + idOf,
		Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE, StartDate: "2026-03-01", CurrentPeriod: aPeriod(), RenewsOn: "2026-04-08", AmountDue: 6250,
		Terms: &subscriptionv1.Terms{
			Price: 6400, Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 1,
			Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS, Credits: 8, MaxRollover: 4, MinimumPeriods: 3,
		},
		CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-08T00:00:02Z"), Version: 5,
	}
}

// anEndedSubscription has every member that can be null or absent.
func anEndedSubscription() *subscriptionv1.Subscription {
	s := aSubscription()
	s.Status, s.EndReason = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED, subscriptionv1.EndReason_END_REASON_UNPAID
	s.RenewsOn, s.LastDay = "", "2026-04-07"
	s.Pause = &subscriptionv1.Pause{FirstDay: "2026-07-20", ResumesOn: "2026-08-10", Reason: "Holiday"}
	s.PlanChange = &subscriptionv1.PlanChange{PlanId: "plan_" + idOf, On: "2026-04-08"}
	s.Cancellation = &subscriptionv1.Cancellation{Reason: "Moving", RequestedAt: at("2026-03-20T10:00:00Z"), AtPeriodEnd: true}
	s.PastDueSince, s.SuspendedFrom = at("2026-03-11T00:00:00Z"), at("2026-03-18T00:00:00Z")
	s.AccountCredit, s.RefundDue, s.RefundedAmount = 100, 2133, 5
	s.CurrentPeriod.PaymentStatus, s.CurrentPeriod.FailedAttempts, s.CurrentPeriod.FailureReason = subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID, 1, "Declined"
	s.CurrentPeriod.Payment = &subscriptionv1.SubscriptionPayment{Method: "CARD", Reference: "pi_1", Amount: ptr(int64(6250)), PaidAt: at("2026-03-09T10:00:00Z")}
	s.CurrentPeriod.PausedDays, s.CurrentPeriod.UnusedValue = 2, 999
	return s
}

func subscriptionAnswers() []proto.Message {
	s := aSubscription()
	settings := &subscriptionv1.SubscriptionSettings{PastDueAfterDays: 3, GraceDays: 7, ReminderDays: []int32{0, 3}, Version: 4}
	return []proto.Message{
		&subscriptionv1.ListPlansResponse{Plans: []*subscriptionv1.Plan{aPlan()}, Total: 1}, &subscriptionv1.GetPlanResponse{Plan: aPlan()},
		&subscriptionv1.CreatePlanResponse{Plan: aPlan()}, &subscriptionv1.UpdatePlanResponse{Plan: aPlan()},
		&subscriptionv1.ListSubscriptionsResponse{Subscriptions: []*subscriptionv1.Subscription{s, anEndedSubscription()}, Total: 2, NextPageToken: "next"},
		&subscriptionv1.GetSubscriptionResponse{Subscription: s}, &subscriptionv1.CreateSubscriptionResponse{Subscription: s},
		&subscriptionv1.ListPeriodsResponse{Periods: []*subscriptionv1.Period{aPeriod()}, Total: 1},
		&subscriptionv1.ListAccountEntriesResponse{Entries: []*subscriptionv1.AccountEntry{
			{Sequence: 1, Kind: subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_UNUSED_PERIOD, Credit: 2133, CreditBalance: 2133, Period: 2, CreatedAt: at("2026-03-28T09:00:00Z")},
			{Sequence: 2, Kind: subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_REFUNDED, Refund: -5, RefundBalance: 1, Reference: "re_1", CreatedAt: at("2026-03-28T09:00:00Z")},
		}, Total: 2},
		&subscriptionv1.PreviewPlanChangeResponse{On: "2026-03-28", UnusedValue: 2133, Price: 9000, CreditApplied: 2133, AmountDue: 6867, Currency: "GBP", RemainingCredits: 5, CreditsExpired: 1, CreditsCarriedOver: 4, CreditsGranted: 12},
		&subscriptionv1.PreviewCancellationResponse{LastDay: "2026-06-07", RefundDue: 1, AmountCancelled: 6250, Currency: "GBP", MinimumTermApplies: true, MinimumTermLastDay: "2026-06-07"},
		&subscriptionv1.PauseSubscriptionResponse{Subscription: s}, &subscriptionv1.ResumeSubscriptionResponse{Subscription: s},
		&subscriptionv1.ChangePlanResponse{Subscription: s}, &subscriptionv1.WithdrawPlanChangeResponse{Subscription: s},
		&subscriptionv1.CancelSubscriptionResponse{Subscription: s}, &subscriptionv1.WithdrawCancellationResponse{Subscription: s},
		&subscriptionv1.RecordPaymentResponse{Subscription: s}, &subscriptionv1.RecordPaymentFailureResponse{Subscription: s},
		&subscriptionv1.WaivePaymentResponse{Subscription: s}, &subscriptionv1.RecordRefundResponse{Subscription: s},
		&subscriptionv1.GetSubscriptionSettingsResponse{Settings: settings}, &subscriptionv1.UpdateSubscriptionSettingsResponse{Settings: settings},
	}
}

func TestSubscriptionOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const plan, path, call = "/plans/plan_" + idOf, "/subscriptions/sub_" + idOf, `id:"sub_` + idOf + `"`
	tests := []operation{
		{"GET", "/plans?status=archived&sort=-updatedAt", "", 200, []string{`"plans":[{"id":"plan_`, `"price":64,"currency":"GBP","interval":"month","intervalCount":1,"trialDays":7`, `"bookings":"credits","credits":8,"maxRollover":4`, `"passId":"pass_`},
			`page_size:25 order:PLAN_ORDER_UPDATED_DESC status:PLAN_STATUS_ARCHIVED`},
		{"GET", plan, "", 200, nil, `id:"plan_` + idOf + `"`},
		{"POST", "/plans", `{"title":"T","price":64.5,"interval":"week","intervalCount":2,"trialDays":7,"minimumPeriods":3,"bookings":"unlimited","eligibleEventTypes":["class"],"mediaCollectionIds":["col_x"],"status":"active"}`, 201, nil,
			`title:"T" price:6450 interval_unit:INTERVAL_UNIT_WEEK interval_count:2 trial_days:7 minimum_periods:3 bookings:PLAN_BOOKINGS_UNLIMITED eligible_event_types:"class" media_collection_ids:"col_x"`},
		{"PUT", plan, `{"price":0,"credits":0,"bookings":"none","eligibleEventTypes":[],"mediaCollectionIds":[],"status":"archived","passId":null}`, 200, nil,
			`id:"plan_` + idOf + `" price:0 bookings:PLAN_BOOKINGS_NONE credits:0 eligible_event_types:{} media_collection_ids:{} status:PLAN_STATUS_ARCHIVED`},
		{"PATCH", plan, `{"trialDays":0}`, 200, nil, `id:"plan_` + idOf + `" trial_days:0`},
		{"GET", "/subscriptions?customerId=cust_x&planId=plan_x&status=past_due&paymentDue=true", "", 200,
			[]string{`"subscriptions":[{"id":"sub_`, `"nextCursor":"next"`, `"currentPeriod":{"number":2,"planId":"plan_`, `"price":64,"currency":"GBP","creditApplied":1.5,"amountDue":62.5,"paymentStatus":"due"`, `"renewsOn":"2026-04-08","lastDay":null,"amountDue":62.5,"pastDueSince":null`,
				`"renewsOn":null,"lastDay":"2026-04-07","pause":{"firstDay":"2026-07-20","resumesOn":"2026-08-10","reason":"Holiday"},"planChange":{"planId":"plan_`, `"on":"2026-04-08"},"cancellation":{"reason":"Moving","requestedAt":"2026-03-20T10:00:00Z","atPeriodEnd":true}`,
				`"accountCredit":1,"refundDue":21.33,"refundedAmount":0.05,"endReason":"unpaid"`, `"payment":{"method":"CARD","reference":"pi_1","amount":62.5,"paidAt":"2026-03-09T10:00:00Z"}`, `"granted":true`, `"pausedDays":2,"unusedValue":9.99`},
			`customer_id:"cust_x" page_size:25 order:SUBSCRIPTION_ORDER_CREATED plan_id:"plan_x" status:SUBSCRIPTION_STATUS_PAST_DUE payment_due:true`},
		{"GET", path, "", 200, nil, call},
		{"POST", "/subscriptions", `{"customerId":"cust_x","planId":"plan_x","startDate":"2026-03-01","skipTrial":true,"payment":{"method":"CASH","reference":"r","amount":64}}`, 201, nil,
			`customer_id:"cust_x" plan_id:"plan_x" start_date:"2026-03-01" skip_trial:true payment:{method:"CASH" reference:"r" amount:6400}`},
		{"POST", "/subscriptions", `{"customerId":"cust_x","planId":"plan_x"}`, 201, nil, `customer_id:"cust_x" plan_id:"plan_x"`},
		{"GET", path + "/periods?sort=-createdAt", "", 200, []string{`"periods":[{"number":2`}, `subscription_` + call + ` page_size:25 descending:true`},
		{"GET", path + "/account-entries?page=2", "", 200, []string{`"accountEntries":[{"sequence":1,"kind":"unused_period","credit":21.33`, `"refund":-0.05`, `"period":null,"reference":"re_1"`}, `subscription_` + call + ` page_size:25 offset:25`},
		{"GET", path + "/plan-change-preview?planId=plan_x&when=now", "", 200, []string{`{"on":"2026-03-28","unusedValue":21.33,"price":90,"creditApplied":21.33,"amountDue":68.67`}, call + ` plan_id:"plan_x" when:CHANGE_TIME_NOW`},
		{"GET", path + "/cancellation-preview?when=now&prorate=true&waiveMinimumTerm=true", "", 200, []string{`{"lastDay":"2026-06-07","refundDue":0.01,"amountCancelled":62.5`}, call + ` when:CHANGE_TIME_NOW prorate:true waive_minimum_term:true`},
		{"POST", path + "/pause", `{"firstDay":"2026-07-20","resumesOn":"2026-08-10","reason":"Holiday"}`, 200, nil, call + ` first_day:"2026-07-20" resumes_on:"2026-08-10" reason:"Holiday"`},
		{"POST", path + "/pause", "", 200, nil, call},
		{"POST", path + "/resume", `{"on":"2026-08-03"}`, 200, nil, call + ` on:"2026-08-03"`},
		{"POST", path + "/change-plan", `{"planId":"plan_x","when":"now","payment":{"amount":1}}`, 200, nil, call + ` plan_id:"plan_x" when:CHANGE_TIME_NOW payment:{amount:100}`},
		{"POST", path + "/withdraw-plan-change", "", 200, nil, call},
		{"POST", path + "/cancel", `{"when":"now","reason":"Moving","prorate":true,"waiveMinimumTerm":true}`, 200, nil, call + ` when:CHANGE_TIME_NOW reason:"Moving" prorate:true waive_minimum_term:true`},
		{"POST", path + "/cancel", "", 200, nil, call},
		{"POST", path + "/withdraw-cancellation", "", 200, nil, call},
		{"POST", path + "/record-payment", `{"period":2,"payment":{"method":"ONLINE","amount":62.5}}`, 200, nil, call + ` period:2 payment:{method:"ONLINE" amount:6250}`},
		{"POST", path + "/record-failure", `{"period":2,"reason":"Declined"}`, 200, nil, call + ` period:2 reason:"Declined"`},
		{"POST", path + "/waive-payment", `{"period":2}`, 200, nil, call + ` period:2`},
		{"POST", path + "/record-refund", `{"amount":0.01,"reference":"re_1"}`, 200, nil, call + ` amount:1 reference:"re_1"`},
		{"POST", path + "/record-refund", "", 200, nil, call},
		{"GET", "/subscription-settings", "", 200, []string{`{"pastDueAfterDays":3,"graceDays":7,"reminderDays":[0,3],"endAfterDays":null}`}, ``},
		{"PUT", "/subscription-settings", `{"pastDueAfterDays":0,"graceDays":0,"reminderDays":[],"endAfterDays":null}`, 200, nil, `settings:{}`},
		{"PUT", "/subscription-settings", `{"pastDueAfterDays":3,"graceDays":7,"reminderDays":[0,3,7],"endAfterDays":30}`, 200, nil,
			`settings:{past_due_after_days:3 grace_days:7 reminder_days:0 reminder_days:3 reminder_days:7 end_after_days:30}`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, subscriptionAnswers()) })
	}
}

func TestSubscriptionErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const path = "/subscriptions/sub_" + idOf
	amount := fault.InvalidFields(fault.Field{Field: "payment.amount", Rule: "mismatch", Message: "must be 6250"})
	for name, tt := range map[string]struct {
		method, path, body string
		err                error
		want               string
	}{
		"a plan with unknown values": {"POST", "/plans", `{"interval":"day","bookings":"all","intervalCount":0,"currency":"","status":"archived"}`, nil,
			`"errors":[{"field":"interval","message":"interval must be week, month or year","rule":"enum"},{"field":"bookings"`},
		"a list of a plan that is too long":       {"PUT", "/plans/plan_" + idOf, `{"mediaCollectionIds":[` + strings.Repeat(`"x",`, 50) + `"x"]}`, nil, `"field":"mediaCollectionIds","rule":"max_items"`},
		"a fault of the interval":                 {"POST", "/plans", `{}`, fault.InvalidFields(fault.Field{Field: "interval_unit", Rule: "required", Message: "is required"}), `"field":"interval","rule":"required"`},
		"a subscription without a customer":       {"POST", "/subscriptions", `{"startDate":""}`, nil, `"field":"customerId","rule":"required"`},
		"an unknown payment method":               {"POST", "/subscriptions", `{"customerId":"a","planId":"b","payment":{"method":"PASS"}}`, nil, `"field":"payment.method","rule":"enum"`},
		"an unknown status":                       {"GET", "/subscriptions?status=trial", "", nil, `"field":"status","rule":"enum"`},
		"a preview without a plan":                {"GET", path + "/plan-change-preview", "", nil, `"field":"planId","rule":"required"`},
		"an unknown time of a change":             {"POST", path + "/change-plan", `{"planId":"plan_x","when":"later"}`, nil, `"field":"when","rule":"enum"`},
		"a payment without a period":              {"POST", path + "/record-payment", `{}`, nil, `"field":"period","rule":"required"`},
		"a failure of period 0":                   {"POST", path + "/record-failure", `{"period":0}`, nil, `"field":"period","rule":"min"`},
		"a waiver without a period":               {"POST", path + "/waive-payment", `{}`, nil, `"field":"period","rule":"required"`},
		"a refund of 0":                           {"POST", path + "/record-refund", `{"amount":0}`, nil, `"field":"amount","rule":"range"`},
		"a refund of null":                        {"POST", path + "/record-refund", `{"amount":null}`, nil, `"field":"amount","rule":"type"`},
		"a payment of another amount, in words":   {"POST", path + "/record-payment", `{"period":2,"payment":{"amount":1}}`, amount, `"message":"payment.amount must be the amount due"`},
		"settings without all members":            {"PUT", "/subscription-settings", `{"pastDueAfterDays":1}`, nil, `"errors":[{"field":"graceDays","message":"graceDays is required","rule":"required"},{"field":"reminderDays","message":"reminderDays is required","rule":"required"},{"field":"endAfterDays"`},
		"days that are not whole numbers":         {"PUT", "/subscription-settings", `{"reminderDays":[1.5,"x",[1],2]}`, nil, `"field":"reminderDays","message":"reminderDays must be an array of whole numbers","rule":"type"`},
		"days that are not a list":                {"PUT", "/subscription-settings", `{"reminderDays":{"a":1}}`, nil, `"message":"reminderDays must be an array"`},
		"too many days":                           {"PUT", "/subscription-settings", `{"reminderDays":[1,2,3,4,5,6,7,8,9,10,11]}`, nil, `"field":"reminderDays","rule":"max_items"`},
		"a fault of the settings":                 {"PUT", "/subscription-settings", `{"pastDueAfterDays":99,"graceDays":7,"reminderDays":[],"endAfterDays":null}`, fault.InvalidFields(fault.Field{Field: "settings.past_due_after_days", Rule: "range", Message: "must be 0 to 60"}), `"field":"pastDueAfterDays","rule":"range"`},
		"a refusal, with its code":                {"POST", path + "/pause", `{}`, fault.Refuse("ALREADY_PAUSED", "the subscription is already paused"), `"code":"ALREADY_PAUSED"`},
		"a filter by an empty customer":           {"GET", "/subscriptions?paymentDue=maybe", "", nil, `"field":"paymentDue","rule":"type"`},
		"an empty day on which a pause would end": {"POST", path + "/pause", `{"resumesOn":""}`, nil, `"field":"resumesOn","rule":"required"`},
	} {
		t.Run("responds to "+name, func(t *testing.T) {
			if tt.err != nil {
				g.services.prepare(tt.err)
			} else {
				g.services.prepare(nil, &subscriptionv1.GetSubscriptionResponse{Subscription: aSubscription()}, &subscriptionv1.GetPlanResponse{Plan: aPlan()})
			}
			a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, tt.want) {
				t.Errorf("got %d %s, want %s", a.Code, a.Body, tt.want)
			}
		})
	}
}

func TestSettingsHaveTheVersionOfIfMatch(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	g.services.prepare(nil, subscriptionAnswers()...)
	read := g.do(request{Method: "GET", Path: "/subscription-settings", Token: g.token()})
	a := g.do(request{Method: "PUT", Path: "/subscription-settings", Token: g.token(), Header: http.Header{"If-Match": {read.Header.Get("ETag")}},
		Body: `{"pastDueAfterDays":3,"graceDays":7,"reminderDays":[],"endAfterDays":null}`})
	if got := last[*subscriptionv1.UpdateSubscriptionSettingsRequest](g.services); a.Code != 200 || got.GetSettings().GetVersion() != 4 {
		t.Errorf("got %d %s, requested %v", a.Code, a.Body, got)
	}
}

// TestPaymentBySubscription pays bookings with the pass of a subscription, which has the same UUID.
func TestPaymentBySubscription(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const customer = `"customerId":"cust_x","purchasedById":"cust_x","lines":[{"eventDateId":"date_x"}],"payment":`
	for _, path := range []string{"/events/evt_" + idOf + "/registrations", "/transactions", "/holds/hold_" + idOf + "/confirm", "/waitlist-entries/wait_" + idOf + "/accept", "/event-dates/date_" + idOf + "/waitlist"} {
		send := func(payment string, err error) (answer, string) {
			g.services.prepare(err, &bookingv1.CreateTransactionResponse{Transaction: aTransaction()}, &bookingv1.ConfirmHoldResponse{Transaction: aTransaction()},
				&bookingv1.AcceptOfferResponse{Transaction: aTransaction()}, &bookingv1.JoinWaitlistResponse{Entry: aWaitlistEntry(bookingv1.WaitlistState_WAITLIST_STATE_WAITING)},
				&bookingv1.GetEventResponse{Event: anEvent()}, &bookingv1.GetHoldResponse{Hold: aHold(bookingv1.HoldStatus_HOLD_STATUS_ACTIVE)},
				&bookingv1.GetWaitlistEntryResponse{Entry: aWaitlistEntry(bookingv1.WaitlistState_WAITLIST_STATE_OFFERED)}, &bookingv1.GetEventDateResponse{Date: aScheduledDate()})
			if err != nil {
				g.services.prepare(err)
			}
			a := g.do(request{Method: "POST", Path: path, Body: "{" + customer + payment + "}", Token: g.token()})
			g.services.mu.Lock()
			defer g.services.mu.Unlock()
			for _, call := range g.services.requests {
				if call, ok := call.(interface{ GetCustomerPassId() string }); ok {
					return a, call.GetCustomerPassId()
				}
			}
			return a, ""
		}
		t.Run("POST "+path+" uses the pass of the subscription", func(t *testing.T) {
			if a, pass := send(`{"method":"PASS","subscriptionId":"sub_`+idOf+`"}`, nil); a.Code >= 300 || pass != "cp_"+idOf {
				t.Errorf("got %d %s, paid with %q", a.Code, a.Body, pass)
			}
		})
		t.Run("POST "+path+" finds no pass for another identifier", func(t *testing.T) {
			for _, id := range []string{"", "cp_" + idOf, "x"} {
				if _, pass := send(`{"method":"PASS","subscriptionId":"`+id+`"}`, nil); pass != noIdentifier {
					t.Errorf("%q: paid with %q", id, pass)
				}
			}
		})
		t.Run("POST "+path+" refuses both a subscription and a pass", func(t *testing.T) {
			a, _ := send(`{"method":"PASS","subscriptionId":"sub_x","customerPassId":"cp_x"}`, nil)
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"payment.subscriptionId","rule":"exclusive"`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
		t.Run("POST "+path+" names the member that the caller sent", func(t *testing.T) {
			wrong := fault.InvalidFields(fault.Field{Field: "customer_pass_id", Rule: "exclusive", Message: "is only for payment by pass"})
			for member, value := range map[string]string{"subscriptionId": "sub_x", "customerPassId": "cp_x"} {
				a, _ := send(`{"method":"CASH","`+member+`":"`+value+`"}`, wrong)
				if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"payment.`+member+`"`) {
					t.Errorf("got %d %s", a.Code, a.Body)
				}
			}
		})
	}
}

func TestPassesOfPlans(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	kind, held := aPassType(), aCustomerPass()
	kind.PlanId, held.SubscriptionId = "plan_"+idOf, "sub_"+idOf
	answers := []proto.Message{
		&passv1.ListPassTypesResponse{PassTypes: []*passv1.PassType{kind, aPassType()}, Total: 2}, &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{held, aCustomerPass()}, Total: 2},
		&passv1.ListLedgerEntriesResponse{Entries: []*passv1.LedgerEntry{
			{Sequence: 2, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_EXPIRED, Credits: -3, Balance: 4, Period: 2, CreatedAt: at("2026-03-08T00:00:00Z")},
			{Sequence: 3, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_GRANTED, Credits: 8, Balance: 12, Period: 2, CreatedAt: at("2026-03-08T00:00:00Z")},
		}, Total: 2},
	}
	for _, tt := range []operation{
		{"GET", "/passes?includePlans=true", "", 200, []string{`"planId":"plan_` + idOf + `"`, `"planId":null`}, `page_size:25 order:PASS_ORDER_CREATED of_plans:true`},
		{"GET", "/customer-passes", "", 200, []string{`"subscriptionId":"sub_` + idOf + `"`, `"subscriptionId":null`}, `page_size:25 order:PASS_ORDER_CREATED`},
		{"GET", "/customer-passes/cp_" + idOf + "/ledger", "", 200, []string{`"kind":"expired","change":-3,"balance":4`, `"kind":"granted","change":8,"balance":12`, `"period":2`}, `customer_pass_id:"cp_` + idOf + `" page_size:25`},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) { g.check(t, tt, answers) })
	}
}
