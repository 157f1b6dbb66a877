package additions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/test/harness"
)

// TestSubscriptionYear moves the test clock of a company through a year, with a 29 February if possible, and
// compares the periods of every subscription with a model that knows only the rules of the
// documentation and walks from day to day.
func TestSubscriptionYear(t *testing.T) {
	t.Parallel()
	testYear(t, 24)
}

// TestSlowSubscriptionYear is TestSubscriptionYear with more subscriptions.
func TestSlowSubscriptionYear(t *testing.T) {
	t.Parallel()
	testYear(t, 200)
}

// testYear runs a year with this number of subscriptions.
func testYear(t *testing.T, subscriptions int) {
	p := start(t)
	live := p.newCaller(t)
	c := &caller{Face: live.Face, p: p, company: live.company.TestMode(t)}
	c.Face = c.newKey(t)
	y := &year{caller: c, today: firstDay(time.Now())}
	y.advance(t)
	for _, terms := range []object{
		{"interval": "month"}, {"interval": "month", "trialDays": 14}, {"interval": "week", "intervalCount": 2, "maxRollover": 20},
		{"interval": "year", "maxRollover": 0}, {"interval": "month", "intervalCount": 3, "maxRollover": 0},
	} {
		y.plans = append(y.plans, c.plan(t, terms))
	}
	random := rand.New(rand.NewPCG(1, 2))
	// Days on which months end or clocks change.
	next := y.today.Year() + 1
	special := []time.Time{utc(next, 1, 31), utc(next, 3, 0), lastSunday(next, 3), lastSunday(next, 10)}
	for i := 0; y.today.Before(utc(next, 11, 5)); i++ {
		for len(y.all) < min(subscriptions*(i+1)/8, subscriptions) { // some of them never pay
			y.begin(t, len(y.all)/4%3 != 0)
		}
		to := y.next(y.today.AddDate(0, 0, 9+random.IntN(6)))
		if len(special) > 0 && !to.Before(special[0]) && special[0].Sub(y.today) > 5*day {
			to = special[0]
		}
		for len(special) > 0 && !to.Before(special[0]) {
			special = special[1:]
		}
		y.move(t, y.next(to))
	}
	if len(y.all) < subscriptions || y.ended == 0 {
		t.Errorf("%d subscriptions, of which %d ended unpaid", len(y.all), y.ended)
	}
}

// firstDay returns the 31 October from which the clock moves through a year. The year has a 29 February if the clock,
// which is at most five years ahead, reaches such a year.
func firstDay(now time.Time) time.Time {
	first := now.Year()
	if !now.Before(utc(first, 10, 31)) {
		first++
	}
	for y := first; utc(y+1, 12, 1).Before(now.AddDate(5, 0, 0)); y++ {
		if utc(y+1, 2, 29).Month() == time.February {
			return utc(y, 10, 31)
		}
	}
	return utc(first, 10, 31)
}

// lastSunday returns the day of a month on which the clocks change in London.
func lastSunday(year int, month time.Month) time.Time {
	last := utc(year, month+1, 0)
	return last.AddDate(0, 0, -int(last.Weekday()))
}

// year is a company in test mode, and what the model expects of its subscriptions.
type year struct {
	*caller
	today time.Time // midnight UTC
	plans []object
	all   []*subscriber
	ended int
}

// subscriber is a subscription in the model.
type subscriber struct {
	id        string
	plan      object
	pays      bool
	start     time.Time
	trialEnds time.Time // the first day after the trial
	periods   []modelPeriod
	balance   int       // credits left
	unpaid    int       // periods
	due       time.Time // the day on which the oldest unpaid period became due; zero: none
	pastDue   time.Time // the day on which it became past due; zero: it is not
	ended     bool
}

type modelPeriod struct {
	First   string
	Granted int
	Carried int
	Expired int
	Trial   bool
}

func utc(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// advance moves the test clock to noon of the day.
func (y *year) advance(t *testing.T) {
	t.Helper()
	y.Read(t, 200, post, "/test-clock/advance", object{"to": y.today.Add(12 * time.Hour).Format(time.RFC3339)})
}

// begin adds subscriptions to every plan. Their customers always pay, or never.
func (y *year) begin(t *testing.T, pays bool) {
	t.Helper()
	for i, plan := range y.plans {
		if (i+len(y.all))%2 == 0 {
			continue
		}
		customer := y.customer(t, "Ada", fmt.Sprint("Number", len(y.all)))
		body := object{"customerId": customer, "planId": plan["id"]}
		trial := int(plan["trialDays"].(float64))
		if pays && trial == 0 {
			body["payment"] = object{"method": "CARD"}
		}
		s := &subscriber{plan: plan, pays: pays, start: y.today, trialEnds: y.today.AddDate(0, 0, trial)}
		s.id = text(y.create(t, "/subscriptions", body), "id")
		s.period(y.today, trial > 0)
		if !pays && trial == 0 {
			s.due, s.unpaid = y.today, 1
		}
		y.all = append(y.all, s)
	}
}

// period begins a period in the model.
func (s *subscriber) period(first time.Time, trial bool) {
	carried := min(s.balance, int(s.plan["maxRollover"].(float64)))
	p := modelPeriod{First: first.Format(time.DateOnly), Granted: 8, Carried: carried, Expired: s.balance - carried, Trial: trial}
	s.balance = carried + p.Granted
	s.periods = append(s.periods, p)
}

// renews reports whether a period begins on a day. It does not add months: it looks at the calendar.
func (s *subscriber) renews(day time.Time) bool {
	anchor := s.start
	if trial := s.trialEnds; trial.After(s.start) {
		if day.Equal(trial) {
			return true
		}
		anchor = trial
	}
	if !day.After(anchor) {
		return false
	}
	count := int(s.plan["intervalCount"].(float64))
	lastOfMonth := day.AddDate(0, 0, 1).Day() == 1
	sameDay := day.Day() == anchor.Day() || lastOfMonth && anchor.Day() > day.Day()
	months := (day.Year()-anchor.Year())*12 + int(day.Month()-anchor.Month())
	switch s.plan["interval"] {
	case "week":
		return int(day.Sub(anchor).Hours())/24%(7*count) == 0
	case "month":
		return sameDay && months%count == 0
	default:
		return sameDay && months%(12*count) == 0
	}
}

// until brings the model from one day to another, on which the platform notices everything since then.
// A payment that became due in between is due since the later day, and so is a subscription past due.
// The days between are more than those after which a payment is overdue.
func (s *subscriber) until(from, to time.Time) {
	last := to // of renewals
	if !s.due.IsZero() {
		last = s.due.AddDate(0, 0, pastDueAfter)
		if s.pastDue.IsZero() {
			s.pastDue = to
		}
	}
	for day := from.AddDate(0, 0, 1); !day.After(last); day = day.AddDate(0, 0, 1) {
		if s.renews(day) {
			s.period(day, false)
			s.unpaid++
			if s.due.IsZero() {
				s.due = to
			}
		}
	}
	s.ended = !s.pastDue.IsZero() && to.After(s.pastDue.AddDate(0, 0, endAfter))
}

// The settings of dunning, in days. A payment is due at noon, and the clock never moves by so few days.
const (
	pastDueAfter = 3
	endAfter     = 30
)

func (s *subscriber) status(today time.Time) string {
	switch {
	case s.ended:
		return "ended"
	case !s.pastDue.IsZero():
		return "past_due"
	case today.Before(s.trialEnds):
		return "trialing"
	}
	return "active"
}

// next returns a later day on which no payment is at the end of a step of dunning.
func (y *year) next(day time.Time) time.Time {
	for {
		if !slices.ContainsFunc(y.all, func(s *subscriber) bool { return day.Equal(s.pastDue.AddDate(0, 0, endAfter)) }) {
			return day
		}
		day = day.AddDate(0, 0, 1)
	}
}

// move moves the clock to a day, waits until every subscription is as the model has it, and pays what
// the customers who pay owe.
func (y *year) move(t *testing.T, to time.Time) {
	t.Helper()
	from := y.today
	y.today = to
	y.advance(t)
	for _, s := range y.all {
		if s.ended {
			continue
		}
		s.until(from, to)
		shown := y.await(t, s)
		switch {
		case s.ended:
			y.ended++
			has(t, shown, object{"amountDue": 0, "endReason": "unpaid"})
		case s.pays:
			has(t, shown, object{"amountDue": 40 * s.unpaid})
			y.pay(t, s)
		default:
			has(t, shown, object{"amountDue": 40 * s.unpaid})
		}
	}
}

// await waits until a subscription has the state and the periods of the model.
func (y *year) await(t *testing.T, s *subscriber) (shown object) {
	t.Helper()
	harness.Eventually(t, waiting, func() error {
		var got []modelPeriod
		for _, p := range y.list(t, path(s.id)+"/periods?perPage=100") {
			number := func(name string) int { return int(p[name].(float64)) }
			got = append(got, modelPeriod{First: text(p, "firstDay"), Trial: p["trial"].(bool),
				Granted: number("creditsGranted"), Carried: number("creditsCarriedOver"), Expired: number("creditsExpired")})
		}
		if diff := cmp.Diff(s.periods, got); diff != "" {
			return fmt.Errorf("on %s: every %v %v since %s (-model +platform): %s", y.today.Format(time.DateOnly),
				s.plan["intervalCount"], s.plan["interval"], s.start.Format(time.DateOnly), diff)
		}
		if shown = y.get(t, path(s.id)); shown["status"] != s.status(y.today) {
			return fmt.Errorf("on %s: the subscription since %s is %v, not %s", y.today.Format(time.DateOnly), s.start.Format(time.DateOnly), shown["status"], s.status(y.today))
		}
		return nil
	})
	return shown
}

// pay records the payments of all unpaid periods.
func (y *year) pay(t *testing.T, s *subscriber) {
	t.Helper()
	for n := len(s.periods) - s.unpaid + 1; n <= len(s.periods); n++ {
		y.Read(t, 200, post, path(s.id)+"/record-payment", object{"period": n, "payment": object{"method": "BANK_TRANSFER"}})
	}
	s.unpaid, s.due = 0, time.Time{}
}
