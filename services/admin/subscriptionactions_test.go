package admin

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// actionWorld is a dashboard with Ann's subscription, whose actions succeed until refusal is set.
func actionWorld(t *testing.T) (w *world, s *subscriptionv1.Subscription, refusal *error) {
	w, refusal = newWorld(t), new(error)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.signIn()
	s = withSubscription(w)
	act[*subscriptionv1.PauseSubscriptionRequest](w, "PauseSubscription", refusal, &subscriptionv1.PauseSubscriptionResponse{Subscription: s})
	act[*subscriptionv1.ResumeSubscriptionRequest](w, "ResumeSubscription", refusal, &subscriptionv1.ResumeSubscriptionResponse{Subscription: s})
	act[*subscriptionv1.ChangePlanRequest](w, "ChangePlan", refusal, &subscriptionv1.ChangePlanResponse{Subscription: s})
	act[*subscriptionv1.WithdrawPlanChangeRequest](w, "WithdrawPlanChange", refusal, &subscriptionv1.WithdrawPlanChangeResponse{Subscription: s})
	act[*subscriptionv1.CancelSubscriptionRequest](w, "CancelSubscription", refusal, &subscriptionv1.CancelSubscriptionResponse{Subscription: s})
	act[*subscriptionv1.WithdrawCancellationRequest](w, "WithdrawCancellation", refusal, &subscriptionv1.WithdrawCancellationResponse{Subscription: s})
	act[*subscriptionv1.RecordPaymentRequest](w, "RecordPayment", refusal, &subscriptionv1.RecordPaymentResponse{Subscription: s})
	act[*subscriptionv1.RecordPaymentFailureRequest](w, "RecordPaymentFailure", refusal, &subscriptionv1.RecordPaymentFailureResponse{Subscription: s})
	act[*subscriptionv1.WaivePaymentRequest](w, "WaivePayment", refusal, &subscriptionv1.WaivePaymentResponse{Subscription: s})
	act[*subscriptionv1.RecordRefundRequest](w, "RecordRefund", refusal, &subscriptionv1.RecordRefundResponse{Subscription: s})
	return w, s, refusal
}

// TestSubscriptionActions sends the form of every action: it says what it does, calls its method from the
// version that was read, is in the audit log, and shows a refusal in words.
func TestSubscriptionActions(t *testing.T) {
	t.Parallel()
	const base = "/subscriptions/sub_1"
	version := proto.Int64(5)
	for _, c := range []struct {
		name, path    string
		state         func(s *subscriptionv1.Subscription)
		says          []string
		fields        []string
		method        string
		want          proto.Message
		done, action  string
		reason, words string // of a refusal
	}{
		{"pause", base + "/pause", nil, []string{"does not renew and cannot pay", "moves later by the days of the pause", `name="from"`},
			[]string{"from", "2026-12-24", "until", "2027-01-07", "reason", "travels"}, "PauseSubscription",
			&subscriptionv1.PauseSubscriptionRequest{Id: "sub_1", FirstDay: "2026-12-24", ResumesOn: "2027-01-07", Reason: "travels", ExpectedVersion: version},
			"The pause is entered.", "subscription.pause", "PAYMENT_DUE", "A payment of this subscription is due."},
		{"resume", base + "/resume", func(s *subscriptionv1.Subscription) {
			s.Status, s.Pause = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAUSED, &subscriptionv1.Pause{FirstDay: "2026-11-20"}
		}, []string{"Resume the subscription", "pays for bookings again"}, []string{"on", "2026-12-01"}, "ResumeSubscription",
			&subscriptionv1.ResumeSubscriptionRequest{Id: "sub_1", On: "2026-12-01", ExpectedVersion: version},
			"The end of the pause is entered.", "subscription.resume", "NOT_PAUSED", "This subscription is not paused"},
		{"withdraw a pause", base + "/resume", func(s *subscriptionv1.Subscription) { s.Pause = &subscriptionv1.Pause{FirstDay: "2026-12-24"} },
			[]string{"The pause that is scheduled from 24 Dec 2026 does not happen."}, nil, "ResumeSubscription",
			&subscriptionv1.ResumeSubscriptionRequest{Id: "sub_1", ExpectedVersion: version}, "The pause is withdrawn.", "subscription.resume", "SUBSCRIPTION_ENDED", "This subscription has ended."},
		{"keep", base + "/keep", nil, []string{"The subscription renews again."}, nil, "WithdrawCancellation",
			&subscriptionv1.WithdrawCancellationRequest{Id: "sub_1", ExpectedVersion: version}, "The cancellation is withdrawn.", "subscription.keep", "NOT_ENDING", "This subscription is not cancelled."},
		{"keep the plan", base + "/keep-plan", nil, []string{"The plan stays Eight a month."}, nil, "WithdrawPlanChange",
			&subscriptionv1.WithdrawPlanChangeRequest{Id: "sub_1", ExpectedVersion: version}, "The change of plan is withdrawn.", "subscription.keep_plan", "NO_PLAN_CHANGE", "No change of plan is scheduled."},
		{"record a payment", base + "/periods/2/pay", func(s *subscriptionv1.Subscription) {
			s.Status = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE
		}, []string{"£30.00 is recorded as paid for the period 1 Dec 2026 to 31 Dec 2026.", "becomes active again", "No money is moved."},
			[]string{"method", "online", "reference", "pay 3"}, "RecordPayment",
			&subscriptionv1.RecordPaymentRequest{Id: "sub_1", Period: 2, Payment: &subscriptionv1.SubscriptionPayment{Method: "ONLINE", Reference: "pay 3"}, ExpectedVersion: version},
			"The payment is recorded.", "subscription.payment", "NO_PAYMENT_DUE", "Nothing is due for this period."},
		{"record a failure", base + "/periods/2/fail", nil, []string{"£30.00 for the period", "becomes past due"}, []string{"reason", "card expired"}, "RecordPaymentFailure",
			&subscriptionv1.RecordPaymentFailureRequest{Id: "sub_1", Period: 2, Reason: "card expired", ExpectedVersion: version},
			"The failed attempt is recorded.", "subscription.payment_failure", "NO_PAYMENT_DUE", "Nothing is due for this period."},
		{"waive", base + "/periods/2/waive", nil, []string{"You give up £30.00", "You cannot undo this."}, []string{"reason", "goodwill"}, "WaivePayment",
			&subscriptionv1.WaivePaymentRequest{Id: "sub_1", Period: 2, Reason: "goodwill", ExpectedVersion: version},
			"The payment is waived.", "subscription.waive", "NO_PAYMENT_DUE", "Nothing is due for this period."},
		{"refund", base + "/refund", func(s *subscriptionv1.Subscription) { s.RefundDue = 1250 }, []string{"Refund due: £12.50.", `value="12.50"`},
			[]string{"amount", "10", "reference", "re 1"}, "RecordRefund",
			&subscriptionv1.RecordRefundRequest{Id: "sub_1", Amount: proto.Int64(1000), Reference: "re 1", ExpectedVersion: version},
			"The refund is recorded.", "subscription.refund", "NO_REFUND_DUE", "That is more than the refund due."},
		{"change the plan", base + "/plan", nil, []string{"New plan", "Show what happens"}, []string{"plan", "plan_1", "when", "end"}, "ChangePlan",
			&subscriptionv1.ChangePlanRequest{Id: "sub_1", PlanId: "plan_1", When: subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END, ExpectedVersion: version},
			"The change of plan is entered.", "subscription.change_plan", "CURRENCY_MISMATCH", "have different currencies"},
		{"cancel", base + "/cancel", nil, []string{"The last day is 31 Dec 2026."}, []string{"when", "end", "reason", "moves", "prorate", "on"}, "CancelSubscription",
			&subscriptionv1.CancelSubscriptionRequest{Id: "sub_1", When: subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END, Reason: "moves", ExpectedVersion: version},
			"The subscription is cancelled.", "subscription.cancel", "SUBSCRIPTION_ENDING", "already cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, s, refusal := actionWorld(t)
			withPreviews(w)
			if c.state != nil {
				c.state(s)
			}
			w.get(c.path).must(t, c.says...)
			a := w.post(c.path, append(c.fields, "version", "5")...)
			if a.to() != base {
				t.Fatal(describe(a))
			}
			if calls := w.backend.called(c.method); len(calls) != 1 || !proto.Equal(calls[0].req, c.want) || calls[0].key == "" {
				t.Errorf("%v", calls)
			}
			if got := w.recorded(); len(got) != 1 || got[0] != c.action {
				t.Errorf("the audit log has %v", got)
			}
			w.get(a.to()).must(t, c.done)
			*refusal = fault.Refuse(c.reason, "no")
			a = w.post(c.path, append(c.fields, "version", "5")...)
			a.must(t, c.words)
			if a.StatusCode != http.StatusUnprocessableEntity || len(w.recorded()) != 1 {
				t.Error(describe(a))
			}
			*refusal = fault.Stale("subscription", 5)
			w.post(c.path, append(c.fields, "version", "4")...).must(t, "Someone else has changed this")
			*refusal = fault.MissingScope("subscriptions:write")
			if a = w.post(c.path, append(c.fields, "version", "5")...); a.StatusCode != http.StatusForbidden {
				t.Error(describe(a))
			}
		})
	}
}

// withPreviews answers the previews of a change of plan and of a cancellation.
func withPreviews(w *world) {
	on(w.backend, "PreviewPlanChange", func(*subscriptionv1.PreviewPlanChangeRequest) (*subscriptionv1.PreviewPlanChangeResponse, error) {
		return &subscriptionv1.PreviewPlanChangeResponse{
			On: "2026-11-23", UnusedValue: 2600, Price: 7900, CreditApplied: 2600, AmountDue: 5300, AccountCredit: 100, Currency: "GBP",
			CreditsExpired: 1, CreditsCarriedOver: 4, CreditsGranted: 12,
		}, nil
	})
	on(w.backend, "PreviewCancellation", func(req *subscriptionv1.PreviewCancellationRequest) (*subscriptionv1.PreviewCancellationResponse, error) {
		if req.GetWhen() != subscriptionv1.ChangeTime_CHANGE_TIME_NOW {
			return &subscriptionv1.PreviewCancellationResponse{LastDay: "2026-12-31", Currency: "GBP"}, nil
		}
		res := &subscriptionv1.PreviewCancellationResponse{
			LastDay: "2026-11-23", AmountCancelled: 3000, Currency: "GBP", MinimumTermApplies: !req.GetWaiveMinimumTerm(), MinimumTermLastDay: "2027-01-31",
		}
		if req.GetProrate() {
			res.RefundDue = 900
		}
		return res, nil
	})
}

func TestChangingThePlan(t *testing.T) {
	t.Parallel()
	w, _, refusal := actionWorld(t)
	withPreviews(w)
	const path = "/subscriptions/sub_1/plan"
	t.Run("shows the difference in money and credits before the change", func(t *testing.T) {
		a := w.get(path + "?plan=plan_1&when=now")
		a.must(t, "The plan changes on 23 Nov 2026.", "Its unused part, £26.00, becomes account credit.", "costs £79.00", "pays £26.00", "£53.00 becomes due", "£1.00 is left",
			"1 unused credit expires.", "4 unused credits move", "12 new credits", "Not paid yet", `name="when" value="now"`)
		if len(w.backend.called("ChangePlan")) > 0 {
			t.Error("a GET changed the plan")
		}
	})
	t.Run("records the payment of a change now", func(t *testing.T) {
		w.post(path, "plan", "plan_1", "when", "now", "method", "card", "reference", "x", "version", "5")
		req := last[*subscriptionv1.ChangePlanRequest](w, "ChangePlan")
		if req.GetWhen() != subscriptionv1.ChangeTime_CHANGE_TIME_NOW || req.GetPayment().GetMethod() != "CARD" {
			t.Errorf("%v", req)
		}
		w.post(path, "plan", "plan_1", "when", "now", "method", "unpaid", "version", "5")
		if req := last[*subscriptionv1.ChangePlanRequest](w, "ChangePlan"); req.GetPayment() != nil {
			t.Errorf("%v", req)
		}
	})
	t.Run("asks for the plan", func(t *testing.T) {
		w.post(path, "when", "end", "version", "5").must(t, "Enter a plan.")
	})
	t.Run("says why a change is refused, without a button", func(t *testing.T) {
		on(w.backend, "PreviewPlanChange", func(*subscriptionv1.PreviewPlanChangeRequest) (*subscriptionv1.PreviewPlanChangeResponse, error) {
			return nil, fault.Refuse("SAME_PLAN", "the subscription has this plan")
		})
		a := w.get(path + "?plan=plan_1&when=now")
		a.must(t, "The subscription already has this plan.")
		if a.StatusCode != http.StatusUnprocessableEntity || strings.Contains(a.body, `method="post" action="`+path) {
			t.Error(describe(a))
		}
		*refusal = fault.Refuse("SAME_PLAN", "the subscription has this plan")
		w.post(path, "plan", "plan_1", "when", "now", "version", "5").must(t, "The subscription already has this plan.")
	})
	t.Run("fails as a whole when the service is away", func(t *testing.T) {
		on(w.backend, "PreviewPlanChange", func(*subscriptionv1.PreviewPlanChangeRequest) (*subscriptionv1.PreviewPlanChangeResponse, error) {
			return nil, fault.Away(nil)
		})
		if a := w.get(path + "?plan=plan_1"); a.StatusCode != http.StatusServiceUnavailable {
			t.Error(describe(a))
		}
	})
}

func TestCancellingASubscription(t *testing.T) {
	t.Parallel()
	w, s, _ := actionWorld(t)
	withPreviews(w)
	const path = "/subscriptions/sub_1/cancel"
	t.Run("shows the last day and the refund before it cancels", func(t *testing.T) {
		w.get(path).must(t, "The last day is 31 Dec 2026.", "No refund becomes due.")
		w.get(path+"?when=now&prorate=on&waive=on").must(t, "The last day is 23 Nov 2026.", "£9.00 becomes a refund due.", "£30.00 that is due is not collected.", `name="prorate" value="on"`)
	})
	t.Run("has no button before the minimum term is over, unless it is waived", func(t *testing.T) {
		a := w.get(path + "?when=now")
		a.must(t, "The minimum term runs until 31 Jan 2027, so the subscription cannot end now.", `name="waive"`)
		if strings.Contains(a.body, "primary danger") {
			t.Error("the page offers to cancel")
		}
		if a := w.get(path + "?when=now&waive=on"); !strings.Contains(a.body, "primary danger") {
			t.Error("the page does not offer to cancel")
		}
	})
	t.Run("cancels now", func(t *testing.T) {
		s.RefundDue = 900
		a := w.post(path, "when", "now", "prorate", "on", "waive", "on", "reason", "moves", "version", "5")
		w.get(a.to()).must(t, "The subscription is cancelled. Refund due: £9.00.")
		req := last[*subscriptionv1.CancelSubscriptionRequest](w, "CancelSubscription")
		if req.GetWhen() != subscriptionv1.ChangeTime_CHANGE_TIME_NOW || !req.GetProrate() || !req.GetWaiveMinimumTerm() || req.GetReason() != "moves" {
			t.Errorf("%v", req)
		}
	})
	t.Run("says why it cannot be cancelled", func(t *testing.T) {
		on(w.backend, "PreviewCancellation", func(*subscriptionv1.PreviewCancellationRequest) (*subscriptionv1.PreviewCancellationResponse, error) {
			return nil, fault.Refuse("SUBSCRIPTION_ENDED", "the subscription has ended")
		})
		a := w.get(path)
		a.must(t, "This subscription has ended.")
		if a.StatusCode != http.StatusUnprocessableEntity || strings.Contains(a.body, "primary danger") {
			t.Error(describe(a))
		}
	})
}

func TestSubscriptionFormsAreChecked(t *testing.T) {
	t.Parallel()
	w, s, _ := actionWorld(t)
	const base = "/subscriptions/sub_1"
	w.post(base+"/pause", "from", "2026-12-24", "until", "2026-12-24").must(t, "must resume after the first day")
	w.post(base+"/periods/2/pay", "method", "").must(t, "Enter how the customer paid.")
	w.post(base+"/periods/2/pay", "method", "unpaid").must(t, "Enter how the customer paid.")
	s.RefundDue = 100
	w.post(base+"/refund", "amount", "0").must(t, "Enter the amount.")
	w.post(base+"/refund", "amount", "ten").must(t, "The amount must be an amount, such as 12.50.")
	for _, path := range []string{"/burn", "/periods/0/pay", "/periods/3/waive"} {
		if a := w.post(base + path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, describe(a))
		}
	}
	for _, method := range []string{"PauseSubscription", "RecordPayment", "RecordRefund"} {
		if len(w.backend.called(method)) > 0 {
			t.Errorf("%s was called", method)
		}
	}
}
