package admin

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// withSubscription adds Ann's subscription to the plan of withPlan, with two periods, and the customer.
func withSubscription(w *world) *subscriptionv1.Subscription {
	plan := withPlan(w)
	withEvent(w, "Yoga", "Ann")
	paid := &subscriptionv1.Period{
		Number: 1, PlanId: "plan_1", FirstDay: "2026-11-01", LastDay: "2026-11-30", Price: 4000, Currency: "GBP", PaymentStatus: subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID,
		Payment: &subscriptionv1.SubscriptionPayment{Method: "CASH", Reference: "till 9", Amount: new(int64(4000)), PaidAt: timestamppb.Now()}, CreditsGranted: 8, Granted: true,
	}
	due := &subscriptionv1.Period{
		Number: 2, PlanId: "plan_1", FirstDay: "2026-12-01", LastDay: "2026-12-31", Price: 4000, Currency: "GBP", CreditApplied: 1000, AmountDue: 3000,
		PaymentStatus: subscriptionv1.PaymentStatus_PAYMENT_STATUS_FAILED, DueAt: timestamppb.Now(), FailureReason: "card expired", FailedAttempts: 2,
		CreditsGranted: 8, CreditsCarriedOver: 4, CreditsExpired: 1, Granted: true,
	}
	s := &subscriptionv1.Subscription{
		Id: "sub_1", CustomerId: "cust_1", PlanId: "plan_1", PlanTitle: plan.GetTitle(), CustomerPassId: "cp_1", Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE,
		Terms: planView{plan}.terms(), StartDate: "2026-11-01", CurrentPeriod: due, RenewsOn: "2027-01-01", AmountDue: 3000, AccountCredit: 500,
		CreatedAt: timestamppb.Now(), Version: 5,
	}
	on(w.backend, "GetSubscription", func(req *subscriptionv1.GetSubscriptionRequest) (*subscriptionv1.GetSubscriptionResponse, error) {
		if req.GetId() != s.GetId() {
			return nil, fault.Missing("subscription")
		}
		return &subscriptionv1.GetSubscriptionResponse{Subscription: s}, nil
	})
	on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
		return &subscriptionv1.ListSubscriptionsResponse{Subscriptions: []*subscriptionv1.Subscription{s}, Total: 1}, nil
	})
	on(w.backend, "ListPeriods", func(req *subscriptionv1.ListPeriodsRequest) (*subscriptionv1.ListPeriodsResponse, error) {
		all := []*subscriptionv1.Period{paid, due}
		if req.GetDescending() {
			all = []*subscriptionv1.Period{due, paid}
		}
		return &subscriptionv1.ListPeriodsResponse{Periods: all[min(int(req.GetOffset()), 2):], Total: 2}, nil
	})
	on(w.backend, "ListAccountEntries", func(*subscriptionv1.ListAccountEntriesRequest) (*subscriptionv1.ListAccountEntriesResponse, error) {
		return &subscriptionv1.ListAccountEntriesResponse{Entries: []*subscriptionv1.AccountEntry{
			{Sequence: 2, Kind: subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_APPLIED, Credit: -1000, CreditBalance: 500, Period: 2, CreatedAt: timestamppb.Now()},
			{Sequence: 1, Kind: subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_UNUSED_PERIOD, Credit: 1500, CreditBalance: 1500, Period: 1, CreatedAt: timestamppb.Now()},
		}, Total: 2}, nil
	})
	pass := &passv1.CustomerPass{
		Id: "cp_1", CustomerId: "cust_1", PassTypeId: "pass_1", RemainingUses: 12, StartDate: "2026-11-01", NeverExpires: true, SubscriptionId: "sub_1",
		Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE,
	}
	on(w.backend, "GetCustomerPass", func(*passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
		return &passv1.GetCustomerPassResponse{CustomerPass: pass}, nil
	})
	on(w.backend, "GetPassType", func(*passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
		return &passv1.GetPassTypeResponse{PassType: &passv1.PassType{Id: "pass_1", Title: plan.GetTitle(), PlanId: "plan_1"}}, nil
	})
	on(w.backend, "ListLedgerEntries", func(*passv1.ListLedgerEntriesRequest) (*passv1.ListLedgerEntriesResponse, error) {
		return &passv1.ListLedgerEntriesResponse{Entries: []*passv1.LedgerEntry{
			{Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_GRANTED, Credits: 8, Balance: 12, Period: 2, CreatedAt: timestamppb.Now()},
			{Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_EXPIRED, Credits: -1, Balance: 4, Period: 2, CreatedAt: timestamppb.Now()},
		}}, nil
	})
	return s
}

// act answers a method with the subscription, or with the refusal if there is one.
func act[Q, R proto.Message](w *world, method string, refusal *error, res R) {
	on(w.backend, method, func(Q) (R, error) {
		if *refusal != nil {
			var none R
			return none, *refusal
		}
		return res, nil
	})
}

func TestSubscriptionList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.signIn()
	s := withSubscription(w)
	t.Run("reads the names of all customers in one call", func(t *testing.T) {
		on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
			var all []*subscriptionv1.Subscription
			for range 50 {
				all = append(all, s)
			}
			return &subscriptionv1.ListSubscriptionsResponse{Subscriptions: all, Total: 51, NextPageToken: "more"}, nil
		})
		w.backend.count()
		w.get("/subscriptions?status=active").must(t, "Ann Smith", "Eight a month", "renews on 1 Jan 2027", "£30.00", "Active", "51 subscriptions", "page=more&amp;status=active")
		// Authenticate, subscriptions, plans, customers.
		if n := w.backend.count(); n != 4 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("filters", func(t *testing.T) {
		w.page("/subscriptions?status=past_due&plan=plan_1&due=yes")
		req := last[*subscriptionv1.ListSubscriptionsRequest](w, "ListSubscriptions")
		if req.GetStatus() != subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE || req.GetPlanId() != "plan_1" || !req.GetPaymentDue() {
			t.Errorf("%v", req)
		}
	})
	t.Run("says that nothing matches, or how to begin", func(t *testing.T) {
		on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
			return &subscriptionv1.ListSubscriptionsResponse{}, nil
		})
		w.get("/subscriptions?due=yes").must(t, "No subscriptions match these filters")
		w.get("/subscriptions").must(t, "No subscriptions yet")
	})
	t.Run("leads back from an outdated page of the list", func(t *testing.T) {
		on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
			return nil, fault.InvalidParameter("page_token", "format", "is not valid")
		})
		if a := w.get("/subscriptions?page=old"); a.to() != "/subscriptions" {
			t.Error(describe(a))
		}
	})
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	s := withSubscription(w)
	var refusal error
	act[*subscriptionv1.CreateSubscriptionRequest](w, "CreateSubscription", &refusal, &subscriptionv1.CreateSubscriptionResponse{Subscription: s})
	const path = "/customers/cust_1/subscribe"
	t.Run("offers the plans with what they include", func(t *testing.T) {
		w.get(path).must(t, "Eight a month: £40.00 every month<", "Not paid yet", `value="bank_transfer"`, `name="skip"`)
	})
	t.Run("subscribes with a payment", func(t *testing.T) {
		a := w.post(path, "plan", "plan_1", "start", "2026-11-01", "method", "bank_transfer", "reference", "tr 7")
		w.get(a.to()).must(t, "Ann Smith is subscribed to Eight a month.")
		want := &subscriptionv1.CreateSubscriptionRequest{
			CustomerId: "cust_1", PlanId: "plan_1", StartDate: "2026-11-01", Payment: &subscriptionv1.SubscriptionPayment{Method: "BANK_TRANSFER", Reference: "tr 7"},
		}
		if req := last[*subscriptionv1.CreateSubscriptionRequest](w, "CreateSubscription"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		entry := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry")
		if entry.GetAction() != "subscription.create" || entry.GetTarget() != "sub_1" {
			t.Errorf("%v", entry)
		}
	})
	t.Run("subscribes without a payment", func(t *testing.T) {
		w.post(path, "plan", "plan_1", "start", "2026-11-01", "method", "unpaid", "skip", "on")
		if req := last[*subscriptionv1.CreateSubscriptionRequest](w, "CreateSubscription"); req.GetPayment() != nil || !req.GetSkipTrial() {
			t.Errorf("%v", req)
		}
	})
	t.Run("subscribes once if the form is sent twice", func(t *testing.T) {
		key := strings.Repeat("k", 26)
		for range 2 {
			w.postKeyed(path, keyField, key, "plan", "plan_1", "method", "unpaid")
		}
		calls := w.backend.called("CreateSubscription")
		if a, b := calls[len(calls)-1].key, calls[len(calls)-2].key; a == "" || a != b {
			t.Errorf("keys %q and %q", a, b)
		}
	})
	t.Run("takes no payment for a trial", func(t *testing.T) {
		trial := proto.CloneOf(planOf(w))
		trial.TrialDays = 14
		on(w.backend, "ListPlans", func(*subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
			return &subscriptionv1.ListPlansResponse{Plans: []*subscriptionv1.Plan{trial}}, nil
		})
		before := len(w.backend.called("CreateSubscription"))
		w.post(path, "plan", "plan_1", "method", "card").must(t, "costs nothing at the start")
		if len(w.backend.called("CreateSubscription")) != before {
			t.Error("the service was called")
		}
		if a := w.post(path, "plan", "plan_1", "method", "card", "skip", "on"); a.to() != "/subscriptions/sub_1" {
			t.Error(describe(a))
		}
	})
	t.Run("shows refusals at their fields", func(t *testing.T) {
		w.post(path, "method", "gold").must(t, "Enter a plan.", "Enter how the customer paid.")
		refusal = fault.Refuse("PLAN_NOT_ACTIVE", "the plan is archived")
		w.post(path, "plan", "plan_1", "method", "unpaid").must(t, "This plan is archived.")
		refusal = fault.InvalidParameter("start_date", "range", "must not be in the future")
		w.post(path, "plan", "plan_1", "method", "unpaid", "start", "2030-01-01").must(t, "The start must not be in the future.", `value="2030-01-01"`)
	})
	t.Run("says that a plan is needed", func(t *testing.T) {
		on(w.backend, "ListPlans", func(*subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
			return &subscriptionv1.ListPlansResponse{}, nil
		})
		w.get(path).must(t, "No plans on sale")
	})
}

// planOf returns the plan of withPlan.
func planOf(w *world) *subscriptionv1.Plan {
	res, err := w.web.services.plans.GetPlan(w.t.Context(), &subscriptionv1.GetPlanRequest{Id: "plan_1"})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetPlan()
}

func TestSubscriptionPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	s := withSubscription(w)
	const path = "/subscriptions/sub_1"
	t.Run("shows periods, account and credits, in a fixed number of calls", func(t *testing.T) {
		w.backend.count()
		a := w.get(path)
		a.must(t, "Active since 1 Nov 2026.", "On 1 Jan 2027 the next period begins, and £35.00 becomes due.", "Account credit of £5.00 is used first.",
			"1 Dec 2026 to 31 Dec 2026", "£10.00 from account credit", "Failed", "2 failed attempts.", "card expired", "8 granted", "4 carried over", "1 expired",
			"£40.00 (cash)", "till 9", "Unused part of a period", "−£10.00", "Credits of period 2", "Expired", "Payment of period 1 recorded: £40.00 (cash)",
			path+"/periods/2/pay", path+"/periods/2/fail", path+"/periods/2/waive", path+"/pause", path+"/plan", path+"/cancel", "/settings/audit?target=sub_1")
		if strings.Contains(a.body, path+"/periods/1/pay") {
			t.Error("a paid period can be paid")
		}
		// Authenticate, subscription, customer, periods, account, pass, ledger.
		if n := w.backend.count(); n != 7 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("says what is next in every state", func(t *testing.T) {
		usual := proto.CloneOf(s)
		for _, c := range []struct {
			change func()
			says   []string
			hides  []string
		}{
			{func() {
				s.Status, s.CurrentPeriod = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING, &subscriptionv1.Period{LastDay: "2026-11-14", Trial: true}
			}, []string{"The trial runs until 14 Nov 2026.", "Trial"}, []string{path + "/keep"}},
			{func() {
				s.Status, s.RenewsOn, s.SuspendedFrom = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE, "", timestamppb.New(w.web.now().AddDate(0, 0, 3))
			}, []string{"A payment is overdue: £30.00.", "It pays for new bookings until"}, []string{path + "/pause"}},
			{func() {
				s.Status, s.RenewsOn, s.SuspendedFrom = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE, "", timestamppb.New(w.web.now().AddDate(0, 0, -3))
			}, []string{"It has not paid for new bookings since"}, nil},
			{func() {
				s.Status, s.RenewsOn = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAUSED, ""
				s.Pause = &subscriptionv1.Pause{FirstDay: "2026-11-20", ResumesOn: "2026-12-20"}
			}, []string{"Paused since 20 Nov 2026.", "It resumes on 20 Dec 2026.", path + "/resume"}, []string{path + "/plan"}},
			{func() { s.Pause = &subscriptionv1.Pause{FirstDay: "2026-12-24"} },
				[]string{"On 24 Dec 2026 the subscription is paused until you resume it.", "Withdraw the pause…"}, nil},
			{func() {
				s.Status, s.RenewsOn, s.LastDay = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING, "", "2026-12-31"
				s.Cancellation = &subscriptionv1.Cancellation{Reason: "moves away", RequestedAt: timestamppb.Now(), AtPeriodEnd: true}
			}, []string{"Cancelled. The last day is 31 Dec 2026.", "It ends after 31 Dec 2026.", path + "/keep", "Cancelled: moves away"}, []string{path + "/plan"}},
			{func() {
				s.Status, s.RenewsOn, s.LastDay, s.RefundDue = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED, "", "2026-11-22", 1200
				s.EndReason = subscriptionv1.EndReason_END_REASON_UNPAID
			}, []string{"Ended on 22 Nov 2026, because a payment stayed due.", "Refund due: £12.00.", path + "/refund"}, []string{path + "/cancel", path + "/pause"}},
			{func() { s.PlanChange = &subscriptionv1.PlanChange{PlanId: "plan_1", On: "2027-01-01"} },
				[]string{"On 1 Jan 2027 the plan changes to Eight a month.", path + "/keep-plan"}, nil},
		} {
			proto.Reset(s)
			proto.Merge(s, usual)
			c.change()
			a := w.get(path)
			a.must(t, c.says...)
			for _, part := range c.hides {
				if strings.Contains(a.body, `href="`+part+`"`) {
					t.Errorf("%s offers %s", s.GetStatus(), part)
				}
			}
		}
		proto.Reset(s)
		proto.Merge(s, usual)
	})
	t.Run("says that the credits follow", func(t *testing.T) {
		w.backend.methods["GetCustomerPass"] = nil
		w.get(path).must(t, "The credits follow within seconds. Reload this page to see them.")
	})
	t.Run("names a deleted customer without a link", func(t *testing.T) {
		on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
			return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "Ann", DeletedAt: timestamppb.Now()}}}, nil
		})
		a := w.get(path)
		a.must(t, "This subscription belongs to a deleted customer.")
		if strings.Contains(a.body, "/customers/cust_1") {
			t.Error("the page links to a deleted customer")
		}
	})
	t.Run("does not find another company's", func(t *testing.T) {
		for _, other := range []string{"/subscriptions/sub_2", "/subscriptions/sub_2/cancel", "/subscriptions/sub_2/pause", "/subscriptions/sub_2/plan", "/subscriptions/sub_1/periods/9/pay",
			"/subscriptions/sub_1/periods/x/pay", "/plans/plan_2", "/customers/cust_2/subscribe"} {
			if a := w.get(other); a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", other, describe(a))
			}
		}
	})
}

func TestPassesOfSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withSubscription(w)
	a := w.get("/passes/cp_1")
	a.must(t, "This pass belongs to a subscription", `href="/subscriptions/sub_1"`, "/passes/cp_1/adjust")
	for _, part := range []string{"/passes/cp_1/pause", "/passes/cp_1/cancel", "/passes/cp_1/expiry"} {
		if strings.Contains(a.body, part) {
			t.Errorf("the page offers %s", part)
		}
	}
	on(w.backend, "UpdateCustomerPass", func(*passv1.UpdateCustomerPassRequest) (*passv1.UpdateCustomerPassResponse, error) {
		return nil, fault.Refuse("PASS_OF_SUBSCRIPTION", "the pass belongs to a subscription")
	})
	w.get(w.post("/passes/cp_1/pause").to()).must(t, "Change the subscription instead.")
}
