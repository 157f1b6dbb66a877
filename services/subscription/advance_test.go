package subscription

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// free makes a plan cost nothing, so that nothing becomes past due.
func free(r *subscriptionv1.CreatePlanRequest) { r.Price = 0 }

func TestOutage(t *testing.T) { // invariants 3, 4 and 6
	t.Run("the job begins every period that it missed, in order", func(t *testing.T) {
		w := open(t)
		s := w.subscribe(w.plan(free))
		w.at(noonOf("2027-08-15"))
		var days []string
		for _, p := range w.periods(s.GetId()) {
			days = append(days, p.GetFirstDay())
		}
		if got := strings.Join(days, " "); got != "2027-03-01 2027-04-01 2027-05-01 2027-06-01 2027-07-01 2027-08-01" {
			t.Errorf("got %s", got)
		}
		w.wantPass(s.GetId(), 6)
		if n := w.count(`select count(*) from outbox_events where subject = 'subscription.v1.subscription_renewed'`); n != 5 {
			t.Errorf("%d renewals were published", n)
		}
		w.verify()
	})
	t.Run("nobody becomes past due for a time in which nothing could be recorded", func(t *testing.T) {
		w := open(t)
		s := w.subscribe(w.plan())
		w.at(noonOf("2027-04-20")) // the job did not run for weeks
		if got := w.get(s.GetId()); got.GetStatus() != active || got.GetAmountDue() != 5000 {
			t.Errorf("got %v", got)
		}
		w.at(noonOf("2027-04-24"))
		if got := w.get(s.GetId()); got.GetStatus() != pastDue {
			t.Errorf("got %v", got)
		}
		w.verify()
	})
	t.Run("a request makes the steps that the job has not made", func(t *testing.T) {
		w := open(t)
		s := w.subscribe(w.plan())
		w.clock.set(noonOf("2027-04-01"))
		if got := w.pay(s.GetId()); got.GetCurrentPeriod().GetNumber() != 2 || got.GetAmountDue() != 0 {
			t.Errorf("got %v", got)
		}
		w.wantPass(s.GetId(), 2)
	})
}

func TestReplicas(t *testing.T) { // invariant 3
	w := open(t)
	plan := w.plan(free)
	var all []string
	for range 20 {
		all = append(all, w.subscribe(plan).GetId())
	}
	replicas := []*Server{w.server}
	for range 3 {
		replicas = append(replicas, w.newServer(w.db))
	}
	w.clock.set(noonOf("2027-06-02"))
	var wg sync.WaitGroup
	for _, s := range replicas {
		for range 2 {
			wg.Go(func() {
				for range 5 {
					if err := s.runOnce(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	w.jobs()
	for _, s := range all {
		w.wantPass(s, 4)
	}
	if n := w.count(`select count(*) from outbox_events where subject = 'subscription.v1.subscription_renewed'`); n != 60 {
		t.Errorf("%d renewals were published", n)
	}
	w.verify()
}

func TestFailingSubscription(t *testing.T) {
	w := openOwned(t)
	plan := w.plan(free)
	bad, good := w.subscribe(plan).GetId(), w.subscribe(plan).GetId()
	broken, _ := id.Parse[id.Subscription](bad)
	// Its next period violates a constraint.
	if _, err := w.owner.Exec(t.Context(), `alter table periods add constraint broken check (subscription_id <> '`+uuidOf(broken.UUID())+`' or number < 2)`); err != nil {
		t.Fatal(err)
	}
	w.at(noonOf("2027-04-01"))
	w.wantPass(good, 2)
	if n := len(w.periods(bad)); n != 1 {
		t.Errorf("%d periods", n)
	}
	o, err := w.server.store.overdue(t.Context(), w.clock.Now())
	if err != nil || o.Renewals != 1 || o.RenewalAge < 11*3600 {
		t.Errorf("got %+v, %v", o, err)
	}
	wait := 10 * time.Second
	for range 3 {
		w.clock.set(w.clock.Now().Add(wait - time.Microsecond))
		if due, err := w.server.due(t.Context()); err != nil || due[0] {
			t.Errorf("it is tried again before %s are over: %v", wait, err)
		}
		w.clock.set(w.clock.Now().Add(time.Microsecond))
		if err := w.server.advanceDue(t.Context()); err != nil {
			t.Error(err)
		}
		wait *= 2
	}
	if _, err := w.owner.Exec(t.Context(), `alter table periods drop constraint broken`); err != nil {
		t.Fatal(err)
	}
	w.at(w.clock.Now().Add(wait))
	w.wantPass(bad, 2)
	w.verify()
}

func uuidOf(u id.UUID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func TestCompaniesTakeTurns(t *testing.T) {
	w := open(t)
	large, small := w.of(id.New[id.Company]()), w.of(id.New[id.Company]())
	plan := large.plan(free)
	for range 12 {
		large.subscribe(plan)
	}
	alone := small.subscribe(small.plan(free))
	w.clock.set(noonOf("2027-04-01"))
	due, err := w.server.store.dueSubscriptions(t.Context(), w.clock.Now(), 4)
	if err != nil || len(due) != 4 {
		t.Fatalf("got %v, %v", due, err)
	}
	found := false
	for _, d := range due {
		found = found || d.ID.String() == alone.GetId()
	}
	if !found {
		t.Errorf("the company with one subscription is not among %v", due)
	}
	if err := w.server.advanceDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	claimed, err := w.server.store.claimPasses(t.Context(), w.clock.Now(), 3, 100)
	if err != nil || len(claimed) != 4 {
		t.Errorf("claimed %d states (%v), want three of one company and one of the other", len(claimed), err)
	}
}

func TestSlowCompany(t *testing.T) {
	w := open(t)
	slow, other := w.of(id.New[id.Company]()), w.of(id.New[id.Company]())
	stuck := map[string]bool{}
	w.passes.hook(away, nil)
	plan := slow.plan()
	for range 2 * callsAtOnce {
		stuck[slow.subscribe(plan).GetId()] = true
	}
	fast := other.subscribe(other.plan())
	release := make(chan struct{})
	w.passes.hook(func(ctx context.Context, s string) error {
		if stuck[s] {
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}, nil)
	w.clock.set(began.Add(syncAhead))
	done := make(chan error, 1)
	go func() { done <- w.server.syncDuePasses(t.Context()) }()
	testkit.Eventually(t, w.server.limits.syncTime/2, func() error {
		if !other.get(fast.GetId()).GetCurrentPeriod().GetGranted() {
			return errors.New("the other company waits")
		}
		return nil
	})
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.jobs()
	for s := range stuck {
		if w.passes.pass(s).version == 0 {
			t.Errorf("%s has no pass", s)
		}
	}
}

// setClock sets by how much the company's test clock is ahead, as auth does.
func (w *world) setClock(ahead time.Duration, version int64) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return w.server.companies.Keep(ctx, tx, []tenancy.Company{{
			ID: w.company, Timezone: "Europe/London", Currency: "GBP", ClockOffset: int64(ahead / time.Second), Version: version,
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestTestClock(t *testing.T) { // invariant 19
	live := open(t)
	test, other := live.of(live.company.Test()), live.of(id.New[id.Company]().Test())
	subscriptions := map[*world]*subscriptionv1.Subscription{}
	for _, w := range []*world{live, test, other} {
		subscriptions[w] = w.subscribe(w.plan(free))
	}
	test.setClock(62*24*time.Hour, 5)
	live.jobs()
	for w, want := range map[*world]int32{live: 1, test: 3, other: 1} {
		if got := w.get(subscriptions[w].GetId()); got.GetCurrentPeriod().GetNumber() != want {
			t.Errorf("%s: got %v, want period %d", w.company, got, want)
		}
	}
	if got := test.subscribe(test.plan(free)); got.GetStartDate() != "2027-05-02" {
		t.Errorf("a new one starts on %s", got.GetStartDate())
	}
	if n := live.count(`select count(*) from outbox_events where occurred_at > clock_timestamp() or occurred_at < clock_timestamp() - interval '1 hour'`); n > 0 {
		t.Errorf("%d events occurred at another time than the real one", n)
	}
	for _, w := range []*world{live, test, other} {
		w.verify()
	}
}

// together calls functions at the same time, and returns their errors.
func together(all ...func() error) []error {
	faults := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() { faults[i] = f() })
	}
	wg.Wait()
	return faults
}

// TestRaces lets requests and jobs decide about one subscription at the same time. Each pair has two outcomes, and
// the rows agree in both.
func TestRaces(t *testing.T) { // invariants 3, 6, 8, 14 and 15
	job := func(w *world) func() error {
		return func() error { return w.server.advanceDue(w.t.Context()) }
	}
	for name, c := range map[string]struct {
		unpaid bool
		at     []time.Time // the times of the jobs; the race is at the last one
		with   string
		wants  []string
	}{
		"a payment and the end of dunning": {true, []time.Time{began.AddDate(0, 0, 4), began.AddDate(0, 0, 35)}, "pay",
			[]string{"SUBSCRIPTION_STATUS_ENDED", "SUBSCRIPTION_STATUS_ACTIVE"}},
		"a pause and a renewal":      {false, []time.Time{noonOf("2027-04-01")}, "pause", []string{"SUBSCRIPTION_STATUS_PAUSED"}},
		"a failure and a reminder":   {true, []time.Time{began.AddDate(0, 0, 3)}, "fail", []string{"SUBSCRIPTION_STATUS_PAST_DUE"}},
		"an end and a renewal":       {false, []time.Time{noonOf("2027-04-01")}, "cancel now", []string{"SUBSCRIPTION_STATUS_ENDED"}},
		"a new plan and the renewal": {false, []time.Time{noonOf("2027-04-01")}, "change to a new plan", []string{"SUBSCRIPTION_STATUS_ACTIVE"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			plan := w.plan()
			for range 8 {
				w.clock.set(began)
				var first []func(*subscriptionv1.CreateSubscriptionRequest)
				if c.unpaid {
					first = append(first, unpaid)
				}
				s := w.subscribe(plan, first...)
				for _, at := range c.at[:len(c.at)-1] {
					w.at(at)
				}
				w.clock.set(c.at[len(c.at)-1])
				ctx := w.ctx()
				act := func() error { _, err := actions[c.with](w, ctx, s.GetId(), nil); return err }
				for _, err := range together(job(w), act, job(w), act, job(w)) {
					if r := reason(err); r == "INTERNAL_ERROR" || r == "SERVICE_UNAVAILABLE" {
						t.Errorf("got %v", err)
					}
				}
				w.jobs()
				got := w.get(s.GetId()).GetStatus().String()
				ok := false
				for _, want := range c.wants {
					ok = ok || got == want
				}
				if !ok {
					t.Errorf("got %s, want one of %v", got, c.wants)
				}
				w.clock.set(c.at[len(c.at)-1].Add(time.Hour))
				w.jobs()
				w.wantPass(s.GetId(), len(w.periods(s.GetId())))
			}
			w.verify()
		})
	}
}

func TestConcurrentPayments(t *testing.T) { // invariant 11
	w := open(t)
	s := w.subscribe(w.plan(), unpaid)
	ctx := w.ctx()
	var calls []func() error
	for range 16 {
		calls = append(calls, func() error { _, err := actions["pay"](w, ctx, s.GetId(), nil); return err })
	}
	paid := 0
	for _, err := range together(calls...) {
		if err == nil {
			paid++
		} else if reason(err) != "NO_PAYMENT_DUE" {
			t.Error(err)
		}
	}
	if paid != 1 {
		t.Errorf("%d payments were recorded", paid)
	}
	w.verify()
}

func TestVersionsAndEvents(t *testing.T) { // invariant 15
	w := open(t)
	s := w.subscribe(w.plan(), unpaid)
	for _, name := range []string{"fail", "pay", "pause", "resume", "change to a new plan", "cancel", "keep", "cancel now"} {
		if name == "cancel" {
			if _, err := actions["withdraw the change of plan"](w, w.ctx(), s.GetId(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := actions[name](w, w.ctx(), s.GetId(), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	seen := map[int64]bool{}
	for _, e := range w.events() {
		if after, ok := e.payload.(interface {
			GetSubscription() *subscriptionv1.Subscription
		}); ok {
			seen[after.GetSubscription().GetVersion()] = true
		}
	}
	for v := int64(1); v <= w.get(s.GetId()).GetVersion(); v++ {
		if !seen[v] {
			t.Errorf("version %d has no event", v)
		}
	}
}

// published is an event of the outbox.
type published struct {
	subject string
	payload proto.Message
}

// messages returns an empty payload for each subject.
func messages() map[string]proto.Message {
	const prefix = "subscription.v1."
	return map[string]proto.Message{
		prefix + "plan_created": &subscriptionv1.PlanCreated{}, prefix + "plan_updated": &subscriptionv1.PlanUpdated{},
		prefix + "subscription_created": &subscriptionv1.SubscriptionCreated{}, prefix + "subscription_updated": &subscriptionv1.SubscriptionUpdated{},
		prefix + "subscription_renewed": &subscriptionv1.SubscriptionRenewed{}, prefix + "subscription_ended": &subscriptionv1.SubscriptionEnded{},
		prefix + "subscription_payment_due":      &subscriptionv1.SubscriptionPaymentDue{},
		prefix + "subscription_imported":         &subscriptionv1.SubscriptionImported{},
		prefix + "subscription_payment_recorded": &subscriptionv1.SubscriptionPaymentRecorded{},
	}
}

// events returns the events of the outbox in the order of their commits.
func (w *world) events() (all []published) { // without those for the audit log
	w.t.Helper()
	type row struct {
		Subject string `db:"subject"`
		Payload []byte `db:"payload"`
	}
	rows, err := pg.Rows[row](w.t.Context(), w.db, pg.AllCompanies(), `select subject, payload from outbox_events
		where subject <> 'subscription.v1.change_recorded' order by created_at, id`)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rows {
		m := messages()[r.Subject]
		if m == nil {
			w.t.Fatalf("unexpected event %s", r.Subject)
		}
		if err := proto.Unmarshal(r.Payload, m); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, published{r.Subject, m})
	}
	return all
}
