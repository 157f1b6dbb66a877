package subscription

import (
	"context"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// moveTo changes the zone of the company, as auth does.
func (w *world) moveTo(zone string, version int64) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return w.server.companies.Keep(ctx, tx, []tenancy.Company{{ID: w.company, Timezone: zone, Currency: "GBP", Version: version}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestMovedCompany(t *testing.T) { // invariant 2
	w := open(t)
	other := w.of(id.New[id.Company]())
	s, stays := w.subscribe(w.plan(free)), other.subscribe(other.plan(free))
	w.jobs()
	w.moveTo("Pacific/Auckland", 9)
	w.jobs()
	w.verify()
	midnight := time.Date(2027, 3, 31, 11, 0, 0, 0, time.UTC) // of April 1 in Auckland
	w.at(midnight.Add(-time.Second))
	if n := len(w.periods(s.GetId())); n != 1 {
		t.Errorf("%d periods before midnight", n)
	}
	w.at(midnight)
	w.wantPass(s.GetId(), 2)
	if n := len(other.periods(stays.GetId())); n != 1 {
		t.Errorf("the other company has %d periods", n)
	}
	w.verify()
}

func TestUnreadableCompany(t *testing.T) {
	w := open(t)
	broken := w.of(id.New[id.Company]())
	good, bad := w.subscribe(w.plan(free)).GetId(), broken.subscribe(broken.plan(free)).GetId()
	w.jobs()
	broken.moveTo("Nowhere/Else", 9)
	w.at(noonOf("2027-04-01"))
	w.wantPass(good, 2)
	if due, err := w.server.due(t.Context()); err != nil || due[0] {
		t.Errorf("the broken company is due again at once: %v", err)
	}
	broken.moveTo("Europe/London", 10)
	w.at(noonOf("2027-04-02"))
	broken.wantPass(bad, 2)
}

func TestLockedSubscription(t *testing.T) { // invariant 3
	w := open(t)
	s := w.subscribe(w.plan(free)).GetId()
	w.jobs()
	w.clock.set(noonOf("2027-04-01"))
	began := time.Now()
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `select from subscriptions for update`); err != nil {
			return err
		}
		return w.server.advanceDue(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took >= w.server.limits.runTime {
		t.Errorf("the job looked for a locked subscription for %s", took)
	}
	w.jobs()
	w.wantPass(s, 2)
}

func TestPlansTakeTurns(t *testing.T) {
	w := open(t)
	large, small := w.of(id.New[id.Company]()), w.of(id.New[id.Company]())
	w.passes.hook(away, nil)
	for range 4 * callsOfCompany {
		large.plan()
	}
	small.plan()
	w.clock.set(began.Add(syncAhead))
	claimed, err := w.server.store.claimPlans(t.Context(), w.clock.Now(), 3, 100)
	if err != nil || len(claimed) != 4 {
		t.Errorf("claimed %d plans (%v), want three of one company and one of the other", len(claimed), err)
	}
	w.passes.mu.Lock()
	w.passes.calls = 0
	w.passes.mu.Unlock()
	if err := w.server.syncDuePlans(t.Context()); err == nil {
		t.Error("no error")
	}
	w.passes.mu.Lock()
	calls := w.passes.calls
	w.passes.mu.Unlock()
	if calls == 0 || calls > 2*callsOfCompany {
		t.Errorf("%d calls while the pass service is away", calls)
	}
	w.passes.hook(nil, nil)
	w.at(began.Add(time.Hour))
	if n := w.count(`select count(*) from plans where pass_sync_due is not null`); n != 0 {
		t.Errorf("%d plans are not confirmed", n)
	}
}

func TestRestoreInBatches(t *testing.T) { // invariant 5
	w := open(t)
	for _, plan := range []*subscriptionv1.Plan{w.plan(), w.plan(), w.plan(), w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Credits, r.MaxRollover = 0, 0 })} {
		w.subscribe(plan)
	}
	last, n, err := w.server.store.restorePasses(t.Context(), w.company, id.Subscription{}, 2, w.clock.Now())
	if err != nil || n != 2 {
		t.Fatalf("got %d, %v", n, err)
	}
	if _, n, err = w.server.store.restorePasses(t.Context(), w.company, last, 2, w.clock.Now()); err != nil || n != 1 {
		t.Errorf("got %d, %v", n, err)
	}
	if n := w.count(`select count(*) from subscriptions where pass_sync_due is not null`); n != 3 {
		t.Errorf("%d are sent again", n)
	}
}
