package subscription

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// yearly is a subscription of the simulated year.
type yearly struct {
	id       string
	plan     *subscriptionv1.Plan
	first    time.Time // day
	isQuiet  bool      // it is always paid, and nothing else happens to it
	redeemed int32
}

// wantFirstDays returns the first days of the periods of a quiet subscription until a day. It walks the calendar day
// by day, and shares no code with the rules.
func (y *yearly) wantFirstDays(until time.Time) (days []string) {
	anchor := y.first
	if trial := int(y.plan.GetTrialDays()); trial > 0 {
		days = append(days, y.first.Format(time.DateOnly))
		anchor = anchor.AddDate(0, 0, trial)
	}
	count, passed, month := int(y.plan.GetIntervalCount()), 0, 0
	for d := anchor; !d.After(until); d, passed = d.AddDate(0, 0, 1), passed+1 {
		if d.Day() == 1 && passed > 0 {
			month++
		}
		isLast := d.AddDate(0, 0, 1).Day() == 1
		ofMonth := d.Day() == anchor.Day() || isLast && d.Day() < anchor.Day()
		var begins bool
		switch y.plan.GetIntervalUnit() {
		case subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK:
			begins = passed%(7*count) == 0
		case subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH:
			begins = ofMonth && month%count == 0
		default:
			begins = ofMonth && month%(12*count) == 0
		}
		if begins {
			days = append(days, d.Format(time.DateOnly))
		}
	}
	return days
}

// inParallel calls f for the numbers below n, several at a time.
func inParallel(n int, f func(int)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, 6)
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			f(i)
		})
	}
	wg.Wait()
}

// TestYear leads 200 subscriptions through a leap year on an injected clock. The jobs and the pass service have
// outages, and half of the subscriptions are paused, changed, cancelled and not paid at random.
func TestYear(t *testing.T) { // invariants 1 to 11 and 15
	const subscriptions, days, perDay = 200, 366, 3
	w := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	week, month, year := subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK, subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, subscriptionv1.IntervalUnit_INTERVAL_UNIT_YEAR
	var plans []*subscriptionv1.Plan
	for _, c := range []struct {
		unit            subscriptionv1.IntervalUnit
		count, trial    int32
		price           int64
		credits, roll   int32
		minimum, weight int
	}{
		{month, 1, 0, 5000, 10, 3, 0, 5}, {month, 1, 14, 4000, 8, 100, 0, 3}, {month, 3, 0, 12000, 30, 0, 2, 2}, {week, 2, 0, 2500, 4, 4, 0, 1},
		{year, 1, 0, 40000, 100, 0, 0, 1}, {month, 1, 0, 0, 2, 2, 0, 2}, {month, 2, 0, 9000, 0, 0, 0, 2},
	} {
		plan := w.plan(func(r *subscriptionv1.CreatePlanRequest) {
			r.IntervalUnit, r.IntervalCount, r.TrialDays, r.Price, r.Credits, r.MaxRollover = c.unit, c.count, c.trial, c.price, c.credits, c.roll
			r.MinimumPeriods = int32(c.minimum)
			if c.credits == 0 {
				r.Bookings = subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED
			}
		})
		for range c.weight {
			plans = append(plans, plan)
		}
	}
	start := time.Date(2028, 1, 28, 0, 0, 0, 0, time.UTC)
	var all []*yearly
	for d := range 4 { // from the 28th to the 31st of January
		w.clock.set(noonOf(start.AddDate(0, 0, d).Format(time.DateOnly)))
		for range subscriptions / 4 {
			plan := plans[random.IntN(len(plans))]
			s := w.subscribe(plan)
			all = append(all, &yearly{id: s.GetId(), plan: plan, first: start.AddDate(0, 0, d), isQuiet: len(all)%2 == 0})
		}
	}
	names := []string{"pause", "resume", "cancel", "keep", "fail", "pay", "waive", "change to a new plan", "withdraw the change of plan", "cancel now", "refund"}
	london, _ := time.LoadLocation("Europe/London")
	var last time.Time
	for d := 4; d < days; d++ {
		last = start.AddDate(0, 0, d)
		// A few minutes after the day has begun, also if the clocks have changed.
		w.clock.set(time.Date(last.Year(), last.Month(), last.Day(), 0, 5, 0, 0, london))
		w.passes.hook(nil, nil)
		if d >= 150 && d < 155 {
			w.passes.hook(away, nil)
		}
		if d < 100 || d >= 112 { // an outage of the jobs
			w.advanceAll()
		}
		w.payDue(all, func(y *yearly) bool { return y.isQuiet || random.IntN(12) == 0 })
		for range perDay {
			y := all[random.IntN(subscriptions/2)*2+1]
			name := names[random.IntN(len(names)-2)]
			if random.IntN(20) == 0 {
				name = "cancel now"
			}
			_, err := actions[name](w, w.ctx(), y.id, nil)
			if r := reason(err); r == "INTERNAL_ERROR" {
				t.Fatalf("%s of %s: %v", name, y.id, err)
			}
		}
		if y := all[random.IntN(subscriptions/2)*2]; d < 150 || d >= 156 {
			before := w.passes.pass(y.id)
			w.passes.redeem(y.id, 2)
			y.redeemed += before.balance - w.passes.pass(y.id).balance
		}
		if d%60 == 0 {
			w.verify()
		}
	}
	w.jobs()
	w.verify()
	statuses := map[string]int{}
	for _, y := range all {
		s, periods := w.get(y.id), w.periods(y.id)
		statuses[s.GetStatus().String()]++
		w.wantPass(y.id, len(periods))
		if !y.isQuiet {
			continue
		}
		var got []string
		var granted, expired int32
		for _, p := range periods {
			got = append(got, p.GetFirstDay())
			granted, expired = granted+p.GetCreditsGranted(), expired+p.GetCreditsExpired()
			price := y.plan.GetPrice()
			if p.GetTrial() {
				price = 0
			}
			if p.GetPrice() != price || p.GetAmountDue() != 0 {
				t.Errorf("%s: %v", y.id, p)
			}
		}
		if want := y.wantFirstDays(last); !slices.Equal(got, want) {
			t.Errorf("%s of every %d %s: got %v, want %v", y.id, y.plan.GetIntervalCount(), y.plan.GetIntervalUnit(), got, want)
		}
		if balance := w.passes.pass(y.id).balance; granted-expired-y.redeemed != balance {
			t.Errorf("%s: %d granted, %d expired, %d redeemed, and %d left", y.id, granted, expired, y.redeemed, balance)
		}
		if s.GetStatus() != active {
			t.Errorf("got %v", s)
		}
	}
	if len(statuses) < 3 {
		t.Errorf("the year has only seen %v", statuses)
	}
	t.Log(fmt.Sprint(statuses))
}

// advanceAll makes every due step, and sends every state once that is due.
func (w *world) advanceAll() {
	w.t.Helper()
	for range 100 {
		due, err := w.server.due(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if !due[0] {
			break
		}
		if err := w.server.advanceDue(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	_ = w.server.syncDuePasses(w.t.Context()) // fails while the pass service is down
}

// payDue pays everything that is due for the subscriptions that pays selects.
func (w *world) payDue(all []*yearly, pays func(*yearly) bool) {
	w.t.Helper()
	due := map[string]bool{}
	req := &subscriptionv1.ListSubscriptionsRequest{PaymentDue: true, PageSize: 200}
	for {
		res, err := w.client.ListSubscriptions(w.ctx(), req)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, s := range res.GetSubscriptions() {
			due[s.GetId()] = true
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	var paid []string
	for _, y := range all {
		if due[y.id] && pays(y) {
			paid = append(paid, y.id)
		}
	}
	ctx := w.ctx()
	inParallel(len(paid), func(i int) {
		for {
			res, err := w.client.RecordPayment(ctx, &subscriptionv1.RecordPaymentRequest{Id: paid[i]})
			if reason(err) == "NO_PAYMENT_DUE" {
				return // the last step of dunning was due, and has ended it
			}
			if err != nil {
				w.t.Error(err)
				return
			}
			if res.GetSubscription().GetAmountDue() == 0 {
				return
			}
		}
	})
}
