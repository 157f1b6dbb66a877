package subscription

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// moved is the movements of subscriptions, by their identifiers.
type moved map[string][]*subscriptionv1.SubscriptionMovement

// published returns the movements in all events, each as often as it is in them.
func (w *world) published() moved {
	w.t.Helper()
	all := moved{}
	for _, e := range w.events() {
		if m, ok := e.payload.(interface {
			GetSubscription() *subscriptionv1.Subscription
			GetMovements() []*subscriptionv1.SubscriptionMovement
		}); ok && len(m.GetMovements()) > 0 {
			all[m.GetSubscription().GetId()] = append(all[m.GetSubscription().GetId()], m.GetMovements()...)
		}
	}
	for _, list := range all { // as in a snapshot: payments by period, then refunds
		slices.SortFunc(list, func(a, b *subscriptionv1.SubscriptionMovement) int {
			return int(a.GetAccountEntry()-b.GetAccountEntry())*1000 + int(a.GetPeriod()-b.GetPeriod())
		})
	}
	return all
}

// streamed returns a snapshot of the movements and the plans.
func (w *world) streamed(ctx context.Context, afterPlan, after string) (all moved, plans []string, err error) {
	all = moved{}
	offer, err := w.snapshots.StreamPlans(ctx, &subscriptionv1.StreamPlansRequest{AfterId: afterPlan})
	for err == nil {
		var m *subscriptionv1.StreamPlansResponse
		if m, err = offer.Recv(); err == nil {
			for _, p := range m.GetPlans() {
				plans = append(plans, p.GetId())
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return all, plans, err
	}
	stream, err := w.snapshots.StreamSubscriptionMovements(ctx, &subscriptionv1.StreamSubscriptionMovementsRequest{AfterId: after})
	for err == nil {
		var m *subscriptionv1.StreamSubscriptionMovementsResponse
		if m, err = stream.Recv(); err == nil {
			for _, s := range m.GetSubscriptions() {
				all[s.GetSubscriptionId()] = s.GetMovements()
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, plans, err
}

// wantPublished compares the movements in events with a snapshot.
func (w *world) wantPublished() moved {
	w.t.Helper()
	want, _, err := w.streamed(w.admin(), "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := gocmp.Diff(want, w.published(), protocmp.Transform()); diff != "" {
		w.t.Errorf("(-snapshot +events):\n%s", diff)
	}
	return want
}

// admin returns the context of a platform credential that acts for the company.
func (w *world) admin() context.Context {
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return w.issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	return rpc.As(w.t.Context(), source, w.company)
}

func amounts(list []*subscriptionv1.SubscriptionMovement) (all []int64) {
	for _, m := range list {
		all = append(all, m.GetAmount())
	}
	return all
}

// earlier changes account entries to what an earlier release wrote.
func (w *world) earlier(sql string) {
	w.t.Helper()
	exec := func(sql string, args ...any) {
		w.t.Helper()
		if _, err := w.owner.Exec(w.t.Context(), sql, args...); err != nil {
			w.t.Fatal(err)
		}
	}
	exec(`alter table account_entries disable trigger user`)
	exec(sql, w.company)
	exec(`alter table account_entries enable trigger user`)
}

func TestEveryMovementIsInOneEvent(t *testing.T) { // invariant 22
	w := openOwned(t)
	plan := w.plan()
	dear := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Price = 9000 })
	act := func(s, name string) {
		t.Helper()
		if _, err := actions[name](w, w.ctx(), s, nil); err != nil {
			t.Fatal(name, err)
		}
	}
	none := w.subscribe(plan, unpaid).GetId()
	late := w.subscribe(plan, unpaid).GetId()
	w.pay(late)
	renewed := w.subscribe(plan).GetId()
	refunded := w.subscribe(plan).GetId()
	changed := w.subscribe(plan).GetId()
	res, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{
		Id: changed, PlanId: dear.GetId(), When: atOnce, Payment: &subscriptionv1.SubscriptionPayment{Method: "CASH"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: refunded, When: atOnce, Prorate: true}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.client.RecordRefund(w.ctx(), &subscriptionv1.RecordRefundRequest{Id: refunded, Amount: new(int64(1000))}); err != nil {
			t.Fatal(err)
		}
	}
	imported := w.imports(&subscriptionv1.ImportedSubscription{
		Reference: "a-1", CustomerId: w.customer(), PlanId: plan.GetId(), PeriodFirstDay: "2027-02-10", StartDate: "2025-02-10",
	})[0].GetId()
	w.at(noonOf("2027-04-01"))
	act(renewed, "fail")
	w.pay(renewed)
	act(late, "waive")
	got := w.wantPublished()
	for name, want := range map[string][]int64{
		none: nil, late: {5000}, renewed: {5000, 5000}, refunded: {5000, -1000, -1000},
		changed: {5000, res.GetSubscription().GetCurrentPeriod().GetPayment().GetAmount()}, imported: {5000},
	} {
		if !slices.Equal(amounts(got[name]), want) {
			t.Errorf("got %v, want %v", got[name], want)
		}
	}
	if refund := got[refunded][1]; refund.GetMethod() != "CARD" || refund.GetDay() != "2027-03-01" || refund.GetPlanId() != plan.GetId() || refund.GetAccountEntry() == 0 {
		t.Errorf("got %v", refund)
	}
	if paid := got[changed][1]; paid.GetMethod() != "CASH" || paid.GetPlanId() != dear.GetId() || paid.GetPeriod() != 2 {
		t.Errorf("got %v", paid)
	}
	t.Run("movements of earlier releases keep their day when the company changes its zone", func(t *testing.T) {
		// An earlier release has recorded payments and a refund shortly before midnight in London.
		w.write(`update periods set paid_on = null, paid_at = '2027-04-01T22:30:00Z', payment_method = 'ONLINE' where company_id = $1 and paid_on is not null`)
		w.earlier(`update account_entries set day = null, payment_method = null, created_at = '2027-04-01T22:30:00Z' where company_id = $1`)
		for _, zone := range []string{"Europe/London", "Asia/Tokyo"} {
			w.write(`update companies set timezone = $2, version = version + 1 where company_id = $1`, zone)
			again, _, err := w.streamed(w.admin(), "", "")
			if err != nil || again[renewed][1].GetDay() != "2027-04-01" || again[refunded][1].GetDay() != "2027-04-01" || again[refunded][1].GetMethod() != "ONLINE" {
				t.Errorf("in %s, got %v and %v, %v", zone, again[renewed], again[refunded], err)
			}
			periods, err := w.client.ListPeriods(w.ctx(), &subscriptionv1.ListPeriodsRequest{SubscriptionId: renewed})
			if err != nil || periods.GetPeriods()[0].GetPayment().GetPaidOn() != "2027-04-01" {
				t.Errorf("in %s, got %v, %v", zone, periods, err)
			}
			entries, err := w.client.ListAccountEntries(w.ctx(), &subscriptionv1.ListAccountEntriesRequest{SubscriptionId: refunded})
			if err != nil || entries.GetEntries()[0].GetDay() != "2027-04-01" {
				t.Errorf("in %s, got %v, %v", zone, entries, err)
			}
		}
	})
	t.Run("a stream continues after any subscription or plan, in the order of identifiers", func(t *testing.T) {
		all, plans, err := w.streamed(w.admin(), "", "")
		if err != nil || len(plans) != 2 || !slices.IsSorted(plans) {
			t.Fatalf("got %v, %v", plans, err)
		}
		rest, after, err := w.streamed(w.admin(), plans[0], late)
		if err != nil || len(after) != 1 || after[0] != plans[1] || rest[late] != nil || len(rest) != len(all)-1 {
			t.Errorf("got %v and %v, %v", rest, after, err)
		}
	})
	t.Run("another company has nothing, and others are refused", func(t *testing.T) {
		if all, plans, err := w.of(id.New[id.Company]()).streamed(w.of(id.New[id.Company]()).admin(), "", ""); err != nil || len(all)+len(plans) != 0 {
			t.Errorf("got %v, %v, %v", all, plans, err)
		}
		if _, _, err := w.streamed(w.ctx(), "", ""); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Error(err)
		}
		if _, _, err := w.streamed(w.admin(), "", "x"); !fault.Is(fault.From(err), fault.Invalid) {
			t.Error(err)
		}
	})
}
