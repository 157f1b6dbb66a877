package subscription

import (
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func (w *world) imports(lines ...*subscriptionv1.ImportedSubscription) []*subscriptionv1.ImportedSubscriptionResult {
	w.t.Helper()
	res, err := w.client.ImportSubscriptions(w.ctx(), &subscriptionv1.ImportSubscriptionsRequest{Subscriptions: lines})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetResults()
}

func TestImport(t *testing.T) { // invariant 21
	w := open(t)
	plan := w.plan()
	events := len(w.events())
	line := func(reference string, change func(*subscriptionv1.ImportedSubscription)) *subscriptionv1.ImportedSubscription {
		l := &subscriptionv1.ImportedSubscription{
			Reference: reference, CustomerId: w.customer(), PlanId: plan.GetId(), PeriodFirstDay: "2027-02-10", StartDate: "2025-02-10",
			RemainingCredits: 4,
		}
		if change != nil {
			change(l)
		}
		return l
	}
	good := line("a-1", nil)
	first := w.imports(good, line("a-2", func(l *subscriptionv1.ImportedSubscription) { l.PaymentDue, l.Price = true, new(int64(4500)) }))
	if first[0].GetId() == "" || first[0].GetExisted() || first[1].GetError() != "" {
		t.Fatalf("got %v", first)
	}
	s := w.get(first[0].GetId())
	if s.GetStatus() != active || s.GetRenewsOn() != "2027-03-10" || s.GetStartDate() != "2025-02-10" || s.GetAmountDue() != 0 {
		t.Errorf("got %v", s)
	}
	if due := w.get(first[1].GetId()); due.GetAmountDue() != 4500 || due.GetTerms().GetPrice() != 4500 {
		t.Errorf("got %v", due)
	}
	t.Run("it publishes subscription_imported and nothing else, and its passes are created without an event", func(t *testing.T) {
		w.jobs()
		var subjects []string
		for _, e := range w.events()[events:] {
			subjects = append(subjects, e.subject)
		}
		if !slices.Equal(subjects, []string{subjectSubscriptionImported, subjectSubscriptionImported}) {
			t.Errorf("published %v", subjects)
		}
		if pass := w.passes.pass(s.GetId()); !pass.quiet || pass.balance != 4 {
			t.Errorf("got %+v", pass)
		}
		w.wantPass(s.GetId(), 1)
	})
	t.Run("a repeated line changes nothing", func(t *testing.T) {
		again := w.imports(good)
		if again[0].GetId() != s.GetId() || !again[0].GetExisted() {
			t.Errorf("got %v", again)
		}
	})
	t.Run("concurrent imports store a reference once", func(t *testing.T) {
		same := line("a-3", nil)
		ctx := w.ctx()
		var calls []func() error
		for range 8 {
			calls = append(calls, func() error {
				_, err := w.client.ImportSubscriptions(ctx, &subscriptionv1.ImportSubscriptionsRequest{Subscriptions: []*subscriptionv1.ImportedSubscription{same}})
				return err
			})
		}
		for _, err := range together(calls...) {
			if err != nil && reason(err) != fault.ReasonIdempotencyInProgress {
				t.Error(err)
			}
		}
		if n := w.count(`select count(*) from subscriptions where reference = 'a-3'`); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
	t.Run("a refused line names its field, and the others are stored", func(t *testing.T) {
		results := w.imports(
			line("b-1", func(l *subscriptionv1.ImportedSubscription) { l.CustomerId = id.New[id.Customer]().String() }),
			line("b-2", func(l *subscriptionv1.ImportedSubscription) { l.PlanId = id.New[id.Plan]().String() }),
			line("b-3", func(l *subscriptionv1.ImportedSubscription) { l.PeriodFirstDay = "2026-02-10" }),
			line("b-4", func(l *subscriptionv1.ImportedSubscription) { l.PeriodFirstDay = "" }),
			line("", nil),
			line("b-6", func(l *subscriptionv1.ImportedSubscription) { l.CustomerId = "cust_x" }),
			line("b-7", nil),
		)
		var fields []string
		for _, r := range results {
			if (r.GetField() == "") != (r.GetError() == "") || (r.GetId() == "") != (r.GetError() != "") {
				t.Errorf("got %v", r)
			}
			fields = append(fields, r.GetField())
		}
		if got := strings.Join(fields, ","); got != "customer_id,plan_id,period_first_day,period_first_day,reference,customer_id," {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an import of nothing is refused", func(t *testing.T) {
		_, err := w.client.ImportSubscriptions(w.ctx(), &subscriptionv1.ImportSubscriptionsRequest{})
		wantReason(t, err, fault.ReasonValidation)
	})
	w.at(noonOf("2027-03-11"))
	if got := w.get(s.GetId()); got.GetCurrentPeriod().GetNumber() != 2 || got.GetCurrentPeriod().GetCreditsCarriedOver() != 3 {
		t.Errorf("after the renewal: %v", got)
	}
	w.verify()
	w.write(`update periods set credits_granted = 11 where company_id = $1 and subscription_id = (select id from subscriptions where reference = 'a-1') and number = 1`)
	if found, _ := w.differences(); len(found) != 1 || found[0].GetWhat() != "period.grant" || found[0].GetComputed() != "[4 0 0]" {
		t.Errorf("found %v", found)
	}
}
