package model_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	"reservation.dev/services/subscription/model"
)

// simulated is the number of subscriptions of TestSimulation. Each lives for 400 days that contain
// 29 February 2028, all month ends and the clock changes of its zone.
const simulated = 10_000

// TestSimulation compares the rules with a second implementation that counts days (naive_test.go), after
// each day: states, periods, grants and money (invariants 1 to 14).
func TestSimulation(t *testing.T) {
	zones := []string{"Europe/London", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"}
	for i, name := range zones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc, err := zone.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(loc)
			for seed := range simulated / len(zones) {
				if text := w.simulate(uint64(seed*len(zones) + i)); text != "" {
					t.Fatalf("subscription %d differs (-second implementation +rules):\n%s", seed*len(zones)+i, text)
				}
			}
			w.mustHaveSeen(t)
		})
	}
}

// world is a zone with the plans of a company.
type world struct {
	loc    *time.Location
	tables *tables
	seen   map[string]int // causes of steps, statuses and actions
}

var planIDs = sync.OnceValue(func() (ids []id.Plan) {
	for range 12 {
		ids = append(ids, id.New[id.Plan]())
	}
	return ids
})

func newWorld(loc *time.Location) *world {
	return &world{loc: loc, tables: newTables(loc), seen: map[string]int{}}
}

// mustHaveSeen fails if the simulation has missed a case.
func (w *world) mustHaveSeen(t *testing.T) {
	for _, name := range []string{
		"renewal", "pause_begins", "pause_ends", "reminder", "past_due", "suspension", "unpaid_end", "scheduled_end",
		"trialing", "active", "past_due", "paused", "ending", "ended", "skipped periods", "empty period",
		"pause", "resume", "change now", "change later", "keep plan", "cancel now", "cancel later", "keep", "pay", "waive", "fail", "refund",
		"SUBSCRIPTION_ENDED", "ALREADY_PAUSED", "NOT_PAUSED", "PAYMENT_DUE", "SUBSCRIPTION_ENDING", "SUBSCRIPTION_PAUSED", "PLAN_NOT_ACTIVE",
		"CURRENCY_MISMATCH", "SAME_PLAN", "NO_PLAN_CHANGE", "MINIMUM_TERM", "NOT_ENDING", "NO_PAYMENT_DUE", "NO_REFUND_DUE",
	} {
		if w.seen[name] == 0 {
			t.Errorf("the simulation has no case of %q", name)
		}
	}
}

// run is one subscription in both implementations.
type run struct {
	*world
	rand     *rand.Rand
	n        *naive
	plans    []model.Plan
	settings model.Settings
	record   *model.Record
	rows     []model.Period // what a store would have
	entries  []model.AccountEntry
}

func (w *world) at(slot int) time.Time {
	return w.tables.base.Add(time.Duration(slot) * 30 * time.Minute)
}

func (w *world) slotOf(at *time.Time) int {
	if at == nil {
		return never
	}
	d := at.Sub(w.tables.base)
	slot := int(d / (30 * time.Minute))
	if d%(30*time.Minute) > 0 {
		slot++
	}
	return slot
}

// simulate returns the first difference between the two implementations, or "".
func (w *world) simulate(seed uint64) string {
	r := &run{world: w, rand: rand.New(rand.NewPCG(seed, 18))}
	r.makePlans()
	now := 48*40 + r.rand.IntN(48*90)
	if err := r.start(now); err != nil {
		return err.Error()
	}
	outage := 0 // the half hour until which the job does not run
	last := now + 400*48
	for slot := now; slot < last; slot++ {
		if slot >= outage {
			r.advance(slot)
			if r.rand.IntN(48*60) == 0 {
				outage = slot + r.rand.IntN(48*20)
			}
		}
		if r.rand.IntN(48*9) == 0 {
			r.advance(slot)
			if text := r.act(slot); text != "" {
				return fmt.Sprintf("%s at %s", text, w.at(slot).In(w.loc))
			}
			r.advance(slot)
		}
		if slot%48 == 0 && slot >= outage {
			if text := r.compare(len(r.rows)); text != "" {
				return fmt.Sprintf("at %s:\n%s", w.at(slot).In(w.loc), text)
			}
			r.n.left -= min(r.n.left, r.rand.IntN(2))
		}
	}
	r.advance(last)
	for number := len(r.rows); number > 0; number -= len(facts{}.Periods) {
		if text := r.compare(number); text != "" {
			return text
		}
	}
	if found, _ := model.Verify(r.record.Subscription, r.rows, r.entries, w.loc); len(found) > 0 {
		return fmt.Sprintf("Verify: %+v", found)
	}
	return ""
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func (r *run) makePlans() {
	var naives []naivePlan
	for i := range 4 {
		p := naivePlan{id: i, price: pick[int64](r.rand, 0, 1, 999, 4500, 120_000), unit: pick(r.rand, "week", "month", "month", "year"), currency: "GBP"}
		p.count = map[string]int{"week": 1 + r.rand.IntN(6), "month": 1 + r.rand.IntN(3), "year": 1}[p.unit]
		p.trial, p.minimum = pick(r.rand, 0, 0, 1, 7, 30), pick(r.rand, 0, 0, 1, 3)
		if p.bookings = pick(r.rand, "none", "credits", "credits", "unlimited"); p.bookings == "credits" {
			p.credits, p.rollover = 1+r.rand.IntN(12), pick(r.rand, 0, 3, 100)
		}
		p.archived, p.currency = i > 0 && r.rand.IntN(8) == 0, pick(r.rand, "GBP", "GBP", "GBP", "GBP", "GBP", "EUR")
		naives = append(naives, p)
	}
	s := naiveSettings{pastDue: pick(r.rand, 0, 3, 10, 30), grace: pick(r.rand, 0, 7, 12), end: pick(r.rand, 0, 1, 30)}
	s.reminders = pick(r.rand, nil, []int{0, 3, 7}, []int{1}, []int{0, 40})
	r.n = &naive{t: r.tables, plans: naives, settings: s, next: -1, pauseFrom: -1, pauseTo: -1, lastDay: -1, pastDue: -1}
	for _, p := range naives {
		r.plans = append(r.plans, planOf(p))
	}
	r.settings = model.Settings{PastDueAfterDays: int32(s.pastDue), GraceDays: int32(s.grace)}
	for _, day := range s.reminders {
		r.settings.ReminderDays = append(r.settings.ReminderDays, int32(day))
	}
	if s.end > 0 {
		r.settings.EndAfterDays = new(int32(s.end))
	}
}

func planOf(n naivePlan) model.Plan {
	p := model.Plan{ID: planIDs()[n.id], TrialDays: int32(n.trial), Status: model.PlanActive}
	p.Terms = model.Terms{
		Price: n.price, Currency: n.currency, Unit: model.Unit(n.unit), Count: int32(n.count), Bookings: model.Bookings(n.bookings),
		Credits: int32(n.credits), MaxRollover: int32(n.rollover), MinimumPeriods: int32(n.minimum),
	}
	if n.archived {
		p.Status = model.PlanArchived
	}
	return p
}

// start creates the subscription in both implementations, sometimes some days ago.
func (r *run) start(now int) error {
	n, plan := r.n, r.n.plans[0]
	today := n.today(now)
	day, skip, pays := today-pick(r.rand, 0, 0, 0, 1, 10, 31), r.rand.IntN(2) == 0, r.rand.IntN(2) == 0
	trial := plan.trial > 0 && !skip
	pays = pays && !trial && plan.price > 0
	in := model.NewSubscription{StartDay: new(r.tables.date(day)), SkipTrial: skip}
	if pays {
		in.Payment = &model.Payment{}
	}
	n.plan, n.termFrom, n.anchor, n.dom = plan, 1, day, r.tables.dom[day]
	p := &naivePeriod{first: day, trial: trial}
	if trial {
		p.last, n.termFrom = day+plan.trial-1, 2
	} else {
		p.last = n.boundaryAfter(day, day, n.dom, plan) - 1
	}
	n.begin(p, now, pays)
	n.grant()
	n.scanned = r.tables.start(day)
	n.walkTo(now)
	record, steps, err := model.Start(in, r.plans[0], r.settings, r.at(now), r.loc)
	if err != nil {
		return err
	}
	r.record = record
	r.store(steps)
	return nil
}

// store keeps the changes of the record, and loads it again with the periods that a store would read.
func (r *run) store(steps []model.Step) {
	for _, s := range steps {
		r.seen[string(s.Cause)]++
		r.seen[string(s.After.Status)]++
	}
	for _, p := range r.record.ChangedPeriods() {
		r.rows[p.Number-1] = p
	}
	r.rows = append(r.rows, r.record.NewPeriods()...)
	r.entries = append(r.entries, r.record.Entries...)
	var loaded []model.Period
	for i, p := range r.rows {
		if p.AmountDue > 0 || i == len(r.rows)-1 {
			loaded = append(loaded, p)
		}
	}
	r.record = model.Load(r.record.Subscription, loaded)
}

// advance runs the job.
func (r *run) advance(slot int) {
	r.n.walkTo(slot)
	for r.slotOf(r.record.NextAt) <= slot {
		steps, err := r.record.Advance(r.at(slot), r.loc, r.settings, r.nextPlan(), 1+r.rand.IntN(3))
		if err != nil || len(steps) == 0 {
			panic(fmt.Sprint("the job made no step: ", err))
		}
		r.store(steps)
	}
}

func (r *run) nextPlan() *model.Plan {
	for i := range r.plans {
		if next := r.record.NextPlanID; next != nil && *next == r.plans[i].ID {
			return &r.plans[i]
		}
	}
	return nil
}

// act tries one random action in both implementations, and returns a different outcome.
func (r *run) act(slot int) string {
	periods := len(r.n.periods)
	name, want, steps, err := r.random(slot, model.Clock{Now: r.at(slot), Zone: r.loc, Settings: r.settings, NextPlan: r.nextPlan()})
	got := ""
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		got = f.Reason
	} else if err != nil {
		got = err.Error()
	}
	if got != want {
		return fmt.Sprintf("%s: %q and %q (%v)", name, want, got, err)
	}
	r.seen[name]++
	r.seen[want]++
	r.store(steps)
	if p := r.n.last(); len(r.n.periods) > periods && p.number > 1 {
		before := r.n.periods[p.number-2]
		if p.first > before.last+1 {
			r.seen["skipped periods"]++
		}
		if before.last < before.first {
			r.seen["empty period"]++
		}
	}
	return ""
}

func (r *run) random(slot int, c model.Clock) (name, want string, steps []model.Step, err error) {
	n, rec, today := r.n, r.record, r.n.today(slot)
	half := r.rand.IntN(2) == 0
	switch r.rand.IntN(18) {
	case 0, 1:
		first, to := today+pick(r.rand, 0, 0, 1, 3, 20), -1
		in := model.PauseRequest{FirstDay: new(r.tables.date(first))}
		if r.rand.IntN(4) > 0 {
			to = first + 1 + r.rand.IntN(25)
			in.ResumesOn = new(r.tables.date(to))
		}
		steps, err = rec.Pause(c, in)
		return "pause", n.pause(slot, first, to), steps, err
	case 2, 3:
		on := today + pick(r.rand, 0, 0, 1, 8)
		steps, err = rec.Resume(c, new(r.tables.date(on)))
		return "resume", n.unpause(slot, on), steps, err
	case 4, 5:
		return r.change(slot, c, half)
	case 6:
		steps, err = rec.WithdrawPlanChange(c)
		return "keep plan", n.keepPlan(), steps, err
	case 7:
		prorate, waive := half, r.rand.IntN(2) == 0
		if r.rand.IntN(4) == 0 {
			steps, err = rec.Cancel(c, model.CancelRequest{Now: true, Prorate: prorate, WaiveTerm: waive, CreditsLeft: int32(n.left)})
			return "cancel now", n.cancel(slot, true, prorate, waive), steps, err
		}
		steps, err = rec.Cancel(c, model.CancelRequest{WaiveTerm: waive})
		return "cancel later", n.cancel(slot, false, false, waive), steps, err
	case 8:
		steps, err = rec.WithdrawCancellation(c)
		return "keep", n.keep(slot), steps, err
	case 9:
		steps, err = rec.RecordFailure(c, 0, "declined")
		return "fail", n.fail(slot), steps, err
	case 10:
		steps, err = rec.Waive(c, 0, "goodwill")
		return "waive", n.settlePayment(slot, 0, "waived"), steps, err
	case 11:
		steps, err = rec.RecordRefund(c, nil, "CARD", "")
		return "refund", n.repay(), steps, err
	case 12: // a payment of any period, also after the end
		number := 1 + r.rand.IntN(len(r.rows))
		if p := r.rows[number-1]; p.PaymentStatus == model.PaymentCancelled && number < len(r.rows) {
			r.record = model.Load(rec.Subscription, append([]model.Period{p}, r.rows[len(r.rows)-1]))
		}
		steps, err = r.record.RecordPayment(c, int32(number), model.Payment{})
		return "pay", n.settlePayment(slot, number, "paid"), steps, err
	default:
		steps, err = rec.RecordPayment(c, 0, model.Payment{Method: "CASH"})
		return "pay", n.settlePayment(slot, 0, "paid"), steps, err
	}
}

func (r *run) change(slot int, c model.Clock, atOnce bool) (name, want string, steps []model.Step, err error) {
	n, plan := r.n, r.n.plans[r.rand.IntN(4)]
	in := model.PlanChangeRequest{Plan: r.plans[plan.id], Now: atOnce, CreditsLeft: int32(n.left)}
	before := r.record.View()
	preview, refusal := r.record.PreviewPlanChange(c, in)
	pays := atOnce && refusal == nil && preview.AmountDue > 0 && r.rand.IntN(2) == 0
	if pays {
		in.Payment = &model.Payment{Amount: &preview.AmountDue}
	}
	steps, err = r.record.ChangePlan(c, in)
	name, want = "change later", n.changePlan(slot, plan, atOnce, pays)
	if fmt.Sprint(err) != fmt.Sprint(refusal) {
		return name, want, steps, fmt.Errorf("the preview says %w and the change %w", refusal, err)
	}
	if atOnce {
		name = "change now"
	}
	if atOnce && err == nil {
		after := steps[0].After
		got := model.PlanChangePreview{
			On: after.Current.FirstDay, UnusedValue: n.periods[len(n.periods)-2].unused, Price: after.Current.Price, Currency: after.Currency,
			CreditApplied: after.Current.CreditApplied, AmountDue: after.Current.Price - after.Current.CreditApplied, AccountCredit: after.AccountCredit,
			CreditsGranted: after.Current.Credits, RemainingCredits: preview.RemainingCredits,
			CreditsCarriedOver: int32(n.left) - after.Current.Credits, CreditsExpired: preview.RemainingCredits - int32(n.left) + after.Current.Credits,
		}
		if before.Bookings == model.BookingsUnlimited {
			got.CreditsCarriedOver, got.CreditsExpired = 0, 0
		}
		if diff := cmp.Diff(got, preview); diff != "" {
			return name, want, steps, errors.New("preview: " + diff)
		}
	}
	return name, want, steps, err
}

// facts are what both implementations say about a subscription.
type facts struct {
	Status, Ended                                   string
	LastDay, Renews, PauseFrom                      day
	Due, Credit, Refund, Repaid                     int64
	PastDue, SuspendedFrom, Plan, Next, Count, Term int
	Suspended                                       bool
	Periods                                         [2]periodFacts // up to the number that is compared
}

type periodFacts struct {
	Number, Plan                     int
	First, Last                      day
	Trial                            bool
	Price, Applied, Due, Paid, Spare int64
	Payment, Bookings                string
	Paused, Reminders                int
	Credits, Rollover                int
}

// day is a number of days since 1970; 0: none.
type day int64

func (d day) String() string { return time.Unix(int64(d)*86_400, 0).UTC().Format(time.DateOnly) }

func dayAt(at *time.Time) day {
	if at == nil {
		return 0
	}
	return day(at.Unix() / 86_400)
}

// compare compares the subscription and the periods up to a number.
func (r *run) compare(number int) string {
	want, got := r.naiveFacts(number), r.facts(number)
	if want == got {
		return ""
	}
	return fmt.Sprintf("%s\nplans %+v\nsettings %+v", cmp.Diff(want, got), r.n.plans, r.n.settings)
}

func (r *run) day(number int) day {
	if number < 0 {
		return 0
	}
	return day(r.tables.unix[number])
}

func (r *run) naiveFacts(number int) facts {
	n := r.n
	f := facts{
		Status: n.status(), Ended: n.ended, LastDay: r.day(n.lastDay), PauseFrom: r.day(n.pauseFrom), Due: n.due(), Credit: n.credit,
		Refund: n.refund, Repaid: n.repaid, PastDue: n.pastDue, SuspendedFrom: -1, Suspended: n.suspended, Plan: n.plan.id, Next: n.next,
		Term: n.termFrom, Count: len(n.periods),
	}
	if n.pastDue >= 0 {
		f.SuspendedFrom = n.suspendAt
	}
	if n.canRenew() {
		f.Renews = r.day(n.last().last + 1)
	}
	for i := 0; i < len(f.Periods) && number-1-i >= 0 && number-1-i < len(n.periods); i++ {
		p := n.periods[number-1-i]
		f.Periods[i] = periodFacts{
			Number: p.number, Plan: p.plan, First: r.day(p.first), Last: r.day(p.last), Trial: p.trial, Price: p.price, Applied: p.applied,
			Due: p.due, Paid: p.paid, Spare: p.unused, Payment: p.status, Paused: p.paused, Reminders: p.sent, Bookings: p.bookings,
			Credits: p.credits, Rollover: p.rollover,
		}
	}
	return f
}

func (r *run) slot(at *time.Time) int {
	if at == nil {
		return -1
	}
	return r.slotOf(at)
}

func (r *run) planNumber(p *id.Plan) int {
	for i := range r.plans {
		if p != nil && r.plans[i].ID == *p {
			return i
		}
	}
	return -1
}

func (r *run) facts(number int) facts {
	v := r.record.View()
	f := facts{
		Status: string(v.Status), Ended: string(v.EndReason), LastDay: dayAt(v.LastDay), Renews: dayAt(v.RenewsOn()), PauseFrom: dayAt(v.PauseFirstDay),
		Due: v.AmountDue, Credit: v.AccountCredit, Refund: v.RefundDue, Repaid: v.RefundedAmount, PastDue: r.slot(v.PastDueSince),
		SuspendedFrom: r.slot(v.SuspendedFrom), Suspended: v.Suspended, Plan: r.planNumber(&v.PlanID), Next: r.planNumber(v.NextPlanID),
		Term: int(v.TermFrom), Count: len(r.rows),
	}
	for i := 0; i < len(f.Periods) && number-1-i >= 0; i++ {
		p := &r.rows[number-1-i]
		f.Periods[i] = periodFacts{
			Number: int(p.Number), Plan: r.planNumber(&p.PlanID), First: dayAt(&p.FirstDay), Last: dayAt(&p.LastDay),
			Trial: p.Trial, Price: p.Price, Applied: p.CreditApplied, Due: p.AmountDue, Paid: p.PaidAmount, Spare: p.UnusedValue,
			Payment: string(p.PaymentStatus), Paused: int(p.PausedDays), Reminders: int(p.RemindersSent), Bookings: string(p.Bookings),
			Credits: int(p.Credits), Rollover: int(p.MaxRollover),
		}
	}
	return f
}
