package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// away is what the pass service answers while it is down.
func away(context.Context, string) error { return fault.Away(errors.New("the pass service is down")) }

// wantPass fails the test unless the pass service has the grants of the periods, as they are stored.
func (w *world) wantPass(subscription string, periods int) {
	w.t.Helper()
	pass, stored := w.passes.pass(subscription), w.periods(subscription)
	if len(stored) != periods || len(pass.grants) != periods || int(pass.lastPeriod) != periods {
		w.t.Errorf("%d periods, grants %v, want %d", len(stored), pass.numbers(), periods)
	}
	for _, p := range stored {
		g := pass.grants[p.GetNumber()]
		if !p.GetGranted() || g.GetGranted() != p.GetCreditsGranted() || g.GetCarriedOver() != p.GetCreditsCarriedOver() || g.GetExpired() != p.GetCreditsExpired() {
			w.t.Errorf("period %v, grant %v", p, g)
		}
	}
	if n := w.count(`select count(*) from subscriptions where pass_sync_due is not null`); n != 0 {
		w.t.Errorf("%d subscriptions are not confirmed", n)
	}
	var version int64
	if version = w.get(subscription).GetVersion(); version != pass.version {
		w.t.Errorf("the pass service has version %d of %d", pass.version, version)
	}
}

// renew moves the clock from renewal to renewal and pays what is due, until the subscription has n periods.
func (w *world) renew(subscription string, n int) {
	w.t.Helper()
	for len(w.periods(subscription)) < n {
		next, err := time.Parse(time.DateOnly, w.get(subscription).GetRenewsOn())
		if err != nil {
			w.t.Fatal(err)
		}
		w.at(next.Add(12 * time.Hour))
		if w.get(subscription).GetAmountDue() > 0 {
			w.pay(subscription)
		}
	}
}

func TestPassIsSynced(t *testing.T) { // invariants 3 and 5
	t.Run("a request succeeds while the pass service is down, and the job sends the pass later", func(t *testing.T) {
		w := open(t)
		plan := w.plan()
		w.passes.hook(away, nil)
		s := w.subscribe(plan)
		if s.GetCurrentPeriod().GetGranted() || w.passes.pass(s.GetId()).version != 0 {
			t.Errorf("got %v", s)
		}
		w.passes.hook(nil, nil)
		w.clock.set(began.Add(syncAhead))
		w.jobs()
		w.wantPass(s.GetId(), 1)
	})
	t.Run("a response that is lost changes nothing", func(t *testing.T) {
		w := open(t)
		plan := w.plan()
		w.passes.hook(nil, away)
		s := w.subscribe(plan)
		if w.passes.pass(s.GetId()).version != 1 {
			t.Error("the pass service has no state")
		}
		w.passes.redeem(s.GetId(), 2)
		w.passes.hook(nil, nil)
		w.clock.set(began.Add(syncAhead))
		w.jobs()
		w.wantPass(s.GetId(), 1)
		if pass := w.passes.pass(s.GetId()); pass.balance != 8 || pass.applied != 1 {
			t.Errorf("got %+v", pass)
		}
	})
	t.Run("failed attempts are repeated after growing waits", func(t *testing.T) {
		w := open(t)
		w.passes.hook(away, nil)
		w.subscribe(w.plan(func(r *subscriptionv1.CreatePlanRequest) {}))
		now := began.Add(syncAhead)
		for attempt, wait := range []time.Duration{2, 4, 8, 16} {
			w.clock.set(now)
			if err := w.server.syncDuePasses(t.Context()); err == nil {
				t.Error("no error")
			}
			now = now.Add(wait * time.Second)
			w.clock.set(now.Add(-time.Microsecond))
			if due, err := w.server.due(t.Context()); err != nil || due[1] {
				t.Errorf("attempt %d is repeated too early: %v", attempt, err)
			}
		}
	})
	t.Run("a pass service that was restored asks for the grants that it lost", func(t *testing.T) {
		w := open(t)
		s := w.subscribe(w.plan())
		nothing := w.passes.snapshot()
		w.renew(s.GetId(), 2)
		early := w.passes.snapshot()
		w.renew(s.GetId(), 4)
		w.passes.restore(early)
		w.renew(s.GetId(), 5)
		w.wantPass(s.GetId(), 5)
		w.passes.restore(nothing)
		for key := range nothing { // not even the pass is there
			delete(nothing, key)
		}
		w.passes.restore(nothing)
		w.renew(s.GetId(), 6)
		w.wantPass(s.GetId(), 6)
		if pass := w.passes.pass(s.GetId()); !pass.quiet || pass.purchase.GetGross() != 5000 {
			t.Errorf("the pass was created again as %+v", pass)
		}
		w.passes.restore(early)
		res, err := w.client.RestoreCustomerPasses(w.ctx(), &subscriptionv1.RestoreCustomerPassesRequest{})
		if err != nil || res.GetSubscriptions() != 1 {
			t.Errorf("got %v, %v", res, err)
		}
		w.jobs()
		w.wantPass(s.GetId(), 6)
		w.verify()
	})
	t.Run("the purchase is the payment of the first period", func(t *testing.T) {
		w := open(t)
		paid, trial := w.plan(), w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.TrialDays = 14 })
		free := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Price = 0 })
		for name, c := range map[string]struct {
			s    *subscriptionv1.Subscription
			want string
		}{
			"paid":   {w.subscribe(paid), "CARD 5000 of the first period"},
			"unpaid": {w.subscribe(paid, unpaid), "OTHER 0 "},
			"trial":  {w.subscribe(trial), "none"},
			"free":   {w.subscribe(free), "none"},
		} {
			got := "none"
			if p := w.passes.pass(c.s.GetId()).purchase; p != nil {
				got = fmt.Sprintf("%s %d %s", p.GetMethod(), p.GetGross(), p.GetReference())
			}
			if got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
	})
	t.Run("periods without bookings have empty grants, so that numbers have no gaps", func(t *testing.T) {
		w := open(t)
		none := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Credits, r.MaxRollover = 0, 0 })
		ten := w.plan()
		s := w.subscribe(none)
		w.renew(s.GetId(), 3)
		if w.passes.pass(s.GetId()).version != 0 {
			t.Error("a pass exists")
		}
		if _, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: ten.GetId(), When: atOnce}); err != nil {
			t.Fatal(err)
		}
		w.wantPass(s.GetId(), 4)
		if pass := w.passes.pass(s.GetId()); pass.balance != 10 || pass.typ != ten.GetId() || pass.purchase != nil {
			t.Errorf("got %+v", pass)
		}
		if _, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: none.GetId()}); err != nil {
			t.Fatal(err)
		}
		w.renew(s.GetId(), 5)
		w.passes.restore(nil) // the pass is lost
		if _, err := w.client.RestoreCustomerPasses(w.ctx(), &subscriptionv1.RestoreCustomerPassesRequest{}); err != nil {
			t.Fatal(err)
		}
		w.jobs()
		w.wantPass(s.GetId(), 5)
		if pass := w.passes.pass(s.GetId()); pass.balance != 0 || pass.typ != ten.GetId() {
			t.Errorf("got %+v", pass)
		}
		w.verify()
	})
	t.Run("more than a hundred grants are sent in several calls", func(t *testing.T) {
		w := open(t)
		plan := w.plan(func(r *subscriptionv1.CreatePlanRequest) {
			r.IntervalUnit, r.Price = subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK, 0
		})
		w.passes.hook(away, nil)
		s := w.subscribe(plan)
		w.clock.set(began.AddDate(5, 0, 0))
		for {
			if due, err := w.server.due(t.Context()); err != nil || !due[0] {
				break
			}
			if err := w.server.advanceDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.passes.hook(nil, nil)
		w.jobs()
		if n := w.passes.pass(s.GetId()).lastPeriod; n != 262 {
			t.Errorf("%d periods in five years", n)
		}
		if n := w.count(`select count(*) from periods where not granted`); n != 0 {
			t.Errorf("%d are not granted", n)
		}
	})
	t.Run("a pause and the end reach the pass", func(t *testing.T) {
		w := open(t)
		s := w.subscribe(w.plan())
		if _, err := w.client.PauseSubscription(w.ctx(), &subscriptionv1.PauseSubscriptionRequest{Id: s.GetId(), FirstDay: "2027-03-10", ResumesOn: "2027-03-20"}); err != nil {
			t.Fatal(err)
		}
		if pass := w.passes.pass(s.GetId()); pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE ||
			!pass.from.Equal(time.Date(2027, 3, 10, 0, 0, 0, 0, time.UTC)) || !pass.again.Equal(time.Date(2027, 3, 20, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("got %+v", pass)
		}
		w.at(noonOf("2027-03-10"))
		if pass := w.passes.pass(s.GetId()); pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED {
			t.Errorf("got %+v", pass)
		}
		w.at(noonOf("2027-03-20"))
		if pass := w.passes.pass(s.GetId()); pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE || pass.periodLast != "2027-04-10" {
			t.Errorf("got %+v", pass)
		}
		if _, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce}); err != nil {
			t.Fatal(err)
		}
		if pass := w.passes.pass(s.GetId()); pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED || pass.balance != 0 {
			t.Errorf("got %+v", pass)
		}
		w.wantPass(s.GetId(), 1)
	})
	t.Run("a deleted customer gets no pass, and the answer is final", func(t *testing.T) {
		w := open(t)
		w.passes.hook(away, nil)
		s := w.subscribe(w.plan())
		w.passes.hook(nil, nil)
		w.passes.deleted[s.GetCustomerId()] = true
		w.clock.set(began.Add(syncAhead))
		w.jobs()
		if n := w.count(`select count(*) from subscriptions where pass_sync_due is not null`); n != 0 || w.passes.pass(s.GetId()).version != 0 {
			t.Errorf("%d are sent again", n)
		}
	})
}

// saved are the rows of the service's own database.
var saved = []string{"plans", "subscriptions", "periods", "account_entries", "subscription_totals"}

// save copies the rows of all tables aside.
func (w *world) save() {
	w.t.Helper()
	w.exec(func(table string) string { return `create temp table saved_` + table + ` as table ` + table })
}

// exec runs a statement for each table.
func (w *world) exec(sql func(table string) string) {
	w.t.Helper()
	for _, table := range saved {
		if _, err := w.owner.Exec(w.t.Context(), sql(table)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// putBack replaces the rows of all tables with those that save has copied.
func (w *world) putBack() {
	w.t.Helper()
	w.exec(func(table string) string { return `alter table ` + table + ` disable trigger user` })
	for _, table := range slices.Backward(saved) {
		if _, err := w.owner.Exec(w.t.Context(), `delete from `+table); err != nil {
			w.t.Fatal(err)
		}
	}
	w.exec(func(table string) string { return `insert into ` + table + ` select * from saved_` + table })
	w.exec(func(table string) string { return `alter table ` + table + ` enable trigger user` })
}

// TestOwnRestore restores the database of the service to an earlier moment, while the pass service keeps what it
// has.
func TestOwnRestore(t *testing.T) { // invariant 5
	t.Run("the lost periods are made again, and the pass service returns the grants that it made", func(t *testing.T) {
		w := openOwned(t)
		s := w.subscribe(w.plan())
		w.renew(s.GetId(), 2)
		w.save()
		w.renew(s.GetId(), 3)
		w.passes.redeem(s.GetId(), 9)
		w.renew(s.GetId(), 4)
		before := w.passes.pass(s.GetId())
		w.putBack()
		if n := len(w.periods(s.GetId())); n != 2 {
			t.Fatalf("%d periods after the restore", n)
		}
		w.renew(s.GetId(), 4)
		w.wantPass(s.GetId(), 4)
		after := w.passes.pass(s.GetId())
		if after.balance != before.balance || after.version <= before.version {
			t.Errorf("before %+v, after %+v", before, after)
		}
		w.verify()
	})
	t.Run("another period that gets the number of a lost one is reported", func(t *testing.T) {
		w := openOwned(t)
		s, other := w.subscribe(w.plan()), w.plan()
		w.save()
		w.renew(s.GetId(), 2)
		w.putBack()
		w.at(noonOf("2027-03-10"))
		if _, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: other.GetId(), When: atOnce}); err != nil {
			t.Fatal(err)
		}
		w.wantPass(s.GetId(), 2)
		found, _ := w.differences()
		if len(found) != 1 || found[0].GetWhat() != "period.grant" || found[0].GetId() != s.GetId()+"/2" ||
			found[0].GetStored() != "of 2027-04-01" || found[0].GetComputed() != "of 2027-03-10" {
			t.Errorf("found %v", found)
		}
	})
	t.Run("another change with the same version applies", func(t *testing.T) {
		w := openOwned(t)
		s := w.subscribe(w.plan())
		w.save()
		if _, err := w.client.PauseSubscription(w.ctx(), &subscriptionv1.PauseSubscriptionRequest{Id: s.GetId()}); err != nil {
			t.Fatal(err)
		}
		lost := w.passes.pass(s.GetId())
		w.putBack()
		res, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId()})
		if err != nil || res.GetSubscription().GetVersion() != lost.version {
			t.Fatalf("got %v, %v", res, err)
		}
		pass := w.passes.pass(s.GetId())
		if pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE || pass.last != "2027-03-31" || pass.version <= lost.version {
			t.Errorf("the pass still has the lost state: %+v", pass)
		}
		w.wantPass(s.GetId(), 1)
	})
	t.Run("without a change, RestoreCustomerPasses finds the difference", func(t *testing.T) {
		w := openOwned(t)
		s := w.subscribe(w.plan())
		w.save()
		if _, err := w.client.PauseSubscription(w.ctx(), &subscriptionv1.PauseSubscriptionRequest{Id: s.GetId()}); err != nil {
			t.Fatal(err)
		}
		w.putBack()
		if _, err := w.client.RestoreCustomerPasses(w.ctx(), &subscriptionv1.RestoreCustomerPassesRequest{}); err != nil {
			t.Fatal(err)
		}
		w.jobs()
		if pass := w.passes.pass(s.GetId()); pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE {
			t.Errorf("got %+v", pass)
		}
		w.wantPass(s.GetId(), 1)
	})
}

// TestKills ends calls and commits at every point, as a killed process does, and checks that the rest is made
// once.
func TestKills(t *testing.T) { // invariants 3 and 5
	w := open(t)
	plan := w.plan()
	var all []string
	for range 10 {
		all = append(all, w.subscribe(plan).GetId())
	}
	var calls atomic.Int64
	kill := func(ctx context.Context, _ string) error {
		if calls.Add(1)%3 == 0 {
			return fault.Away(errors.New("killed"))
		}
		return ctx.Err()
	}
	for month := range 6 {
		w.clock.set(noonOf("2027-03-01").AddDate(0, month+1, 0))
		w.passes.hook(kill, kill)
		for range 4 {
			ctx, cancel := context.WithCancel(t.Context())
			var seen atomic.Int64
			w.passes.hook(func(c context.Context, s string) error {
				if seen.Add(1) == int64(month)+1 {
					cancel() // the process ends in the middle of the run
				}
				return kill(c, s)
			}, kill)
			_ = w.server.runOnce(ctx)
			cancel()
			w.clock.set(w.clock.Now().Add(time.Minute))
		}
		w.passes.hook(nil, nil)
		w.clock.set(w.clock.Now().Add(time.Hour))
		w.jobs()
		for _, s := range all {
			w.wantPass(s, month+2)
			w.pay(s)
		}
	}
	w.verify()
	if n := w.count(`select count(*) from outbox_events where subject = 'subscription.v1.subscription_renewed'`); n != 60 {
		t.Errorf("%d renewals were published", n)
	}
}
