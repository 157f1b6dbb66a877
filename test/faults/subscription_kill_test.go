package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/test/harness"
)

// TestSlowSubscriptionsDespiteKills moves a test clock over several months while customers use their
// subscriptions, and kills the services involved. Afterwards, every period was granted once, and
// periods, money and credits add up.
func TestSlowSubscriptionsDespiteKills(t *testing.T) {
	t.Parallel()
	c := newSubscriptionCluster(t, harness.ClusterOptions{Subscriptions: 2, OwnNATS: true}, 40)
	kills, began := map[string]int{}, time.Now()
	for round, to := range c.moments() {
		c.round(t, round, to, kills)
		if t.Failed() {
			return
		}
	}
	t.Logf("killed in %s: %v", time.Since(began).Round(time.Second), kills)
	c.finish(t)
	c.audit(t)
	c.auditEvents(t)
}

const (
	// subscriptionClients is the number of concurrent clients. Each has several subscribers.
	subscriptionClients = 5
	// startRounds is the number of rounds in which customers subscribe.
	startRounds = 3
)

// subscriptionCluster is a cluster with a company in test mode and its subscribers.
type subscriptionCluster struct {
	*harness.Cluster
	op      *harness.Operator
	company *harness.Company
	zone    *time.Location
	modes   authv1.TestModeServiceClient
	grants  passv1.SubscriptionPassServiceClient
	// verification is the bookings' side of the credits.
	verification bookingv1.VerificationServiceClient
	seller       *seller // settles bookings

	plans  []*subscriptionv1.Plan
	planOf map[string]*subscriptionv1.Plan
	class  *bookingv1.Event
	dates  []string    // of the class
	starts []time.Time // of the dates
	all    []*subscriber

	clock    sync.Mutex
	now      time.Time     // on the test clock
	answered chan struct{} // gets an item for each answer
	mu       sync.Mutex
	accepted map[string]int // answers, by kind
	refused  map[string]int
}

// newSubscriptionCluster starts a cluster with customers who will subscribe. The clock shows 29 January of
// a leap year.
func newSubscriptionCluster(t *testing.T, o harness.ClusterOptions, customers int) *subscriptionCluster {
	t.Helper()
	o.Env = map[string]string{"SHUTDOWN_DRAIN": "2s"}
	c := &subscriptionCluster{
		Cluster: harness.StartCluster(t, o), planOf: map[string]*subscriptionv1.Plan{},
		answered: make(chan struct{}, 10_000), accepted: map[string]int{}, refused: map[string]int{},
	}
	c.op = c.Operator(t)
	const zone = "Europe/London"
	var err error
	if c.zone, err = time.LoadLocation(zone); err != nil {
		t.Fatal(err)
	}
	c.company = c.op.NewCompany(t, zone).TestMode(t)
	c.modes = authv1.NewTestModeServiceClient(c.Connect(t, c.Auth))
	c.grants = passv1.NewSubscriptionPassServiceClient(c.Connect(t, c.Pass))
	c.verification = bookingv1.NewVerificationServiceClient(c.Connect(t, c.Booking))
	c.seller = &seller{m: &salesCluster{Cluster: c.Cluster, op: c.op}, company: c.company}
	c.moveTo(t, nextLeapYear(time.Now(), c.zone))
	c.newPlans(t)
	c.newClass(t, 300)
	for n, customer := range c.company.ImportCustomers(t, "subscriber", customers) {
		c.all = append(c.all, &subscriber{
			c: c, customer: customer, plan: c.plans[n%len(c.plans)], starts: n % startRounds, paid: map[int32]int64{}, booked: map[string]bool{},
		})
	}
	return c
}

// nextLeapYear returns the morning of 29 January of the first leap year after now.
func nextLeapYear(now time.Time, zone *time.Location) time.Time {
	for year := now.Year(); ; year++ {
		start := time.Date(year, time.January, 29, 10, 0, 0, 0, zone)
		if start.After(now) && time.Date(year, time.February, 29, 0, 0, 0, 0, zone).Day() == 29 {
			return start
		}
	}
}

// moments returns the times to which the test clock is moved: the ends of months, the leap day, the clock
// changes, and days between them. The last step is an outage of months.
func (c *subscriptionCluster) moments() (all []time.Time) {
	year := c.now.Year()
	at := func(month time.Month, day, hour, minute int) {
		next := time.Date(year, month, day, hour, minute, 0, 0, c.zone)
		for len(all) > 0 && next.Sub(all[len(all)-1]) > 10*aDay {
			all = append(all, all[len(all)-1].Add(time.Duration(3+rand.IntN(6))*aDay+time.Duration(rand.IntN(24*60))*time.Minute))
		}
		all = append(all, next)
	}
	at(time.January, 30, 10, 0)
	at(time.January, 31, 23, 50)
	at(time.February, 29, 0, 5)
	at(time.March, 1, 0, 5)
	change := time.Date(year, time.April, 0, 0, 30, 0, 0, c.zone)
	change = change.AddDate(0, 0, -int(change.Weekday())) // the last Sunday of March
	at(time.March, change.Day(), 0, 30)
	at(time.March, change.Day(), 3, 30)
	at(time.April, 1, 0, 1)
	at(time.April, 30, 23, 59)
	all = append(all, time.Date(year, time.October, 27, 12, 0, 0, 0, c.zone))
	at(time.October, 31, 0, 30)
	return all
}

// moveTo moves the test clock, until every service uses the new time.
func (c *subscriptionCluster) moveTo(t *testing.T, to time.Time) {
	t.Helper()
	err := c.persist(t.Context(), func(ctx context.Context) error {
		_, err := c.modes.AdvanceTestClock(ctx, &authv1.AdvanceTestClockRequest{To: timestamppb.New(to)})
		return err
	})
	if err != nil {
		t.Errorf("the clock could not be moved to %s: %v", to, err)
	}
	c.clock.Lock()
	defer c.clock.Unlock()
	c.now = to
}

// time returns the time on the test clock.
func (c *subscriptionCluster) time() time.Time {
	c.clock.Lock()
	defer c.clock.Unlock()
	return c.now
}

// today returns the day on the test clock, as midnight UTC.
func (c *subscriptionCluster) today() time.Time { return dayIn(c.time(), c.zone) }

func dayIn(at time.Time, zone *time.Location) time.Time {
	y, m, d := at.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// subscriptionVictims returns the groups of processes that are killed together, the most important ones
// several times.
func subscriptionVictims() [][]string {
	return [][]string{
		{"subscription"}, {"subscription-2"}, {"subscription", "subscription-2"}, {"subscription", "subscription-2"}, {"pass"}, {"pass"}, {"booking"},
		{"subscription", "subscription-2", "pass"}, {"subscription-2", "pass"}, {"pass", "booking"}, {"subscription", "booking"},
	}
}

// round lets every customer act, moves the clock at the same time, and kills processes: at a random moment
// after the clock has moved, while the jobs begin periods, or after some answers.
func (c *subscriptionCluster) round(t *testing.T, round int, to time.Time, kills map[string]int) {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() { c.everyone(t, func(s *subscriber) error { return s.act(t.Context(), round) }) })
	moved := make(chan struct{})
	all.Go(func() {
		defer close(moved)
		c.moveTo(t, to)
	})
	victims := subscriptionVictims()[rand.IntN(len(subscriptionVictims()))]
	if round == 5 {
		victims = []string{theNATS}
	}
	if rand.IntN(2) == 0 {
		<-moved
		<-time.After(time.Duration(rand.IntN(1200)) * time.Millisecond)
	} else {
		c.awaitAnswers(t, rand.IntN(len(c.all)))
		<-time.After(time.Duration(rand.IntN(20_000)) * time.Microsecond)
	}
	for _, name := range victims {
		kills[name]++
	}
	c.kill(t, victims)
	all.Wait()
}

// awaitAnswers waits for up to n answers of this round.
func (c *subscriptionCluster) awaitAnswers(t *testing.T, n int) {
	t.Helper()
	for len(c.answered) > 0 {
		<-c.answered
	}
	for range n {
		select {
		case <-c.answered:
		case <-time.After(2 * time.Second): // fewer customers have something to do
			return
		}
	}
}

// kill kills processes at the same time, and starts them again.
func (c *subscriptionCluster) kill(t *testing.T, names []string) {
	t.Helper()
	if names[0] == theNATS {
		c.NATS.Crash(t)
		c.NATS.Start(t)
		return
	}
	for _, name := range names {
		c.Part(name).KillNow()
	}
	for _, name := range names {
		c.Part(name).Kill(t) // waits until it has ended
		c.Part(name).Start(t)
	}
	for _, name := range names {
		c.Part(name).AwaitReady(t)
	}
}

// finish pays everything that is due, and checks that every kind of action was accepted at least once.
func (c *subscriptionCluster) finish(t *testing.T) {
	t.Helper()
	c.settle(t)
	c.everyone(t, func(s *subscriber) error { return s.payAll(t.Context()) })
	c.settle(t)
	t.Logf("accepted: %v", c.accepted)
	t.Logf("refused: %v", c.refused)
	for _, what := range []string{
		"subscribe", "pay", "waive", "fail", "pause", "resume", "keep", "book", "cancel a booking", "refund",
		"change CHANGE_TIME_NOW", "change CHANGE_TIME_PERIOD_END", "cancel CHANGE_TIME_NOW", "cancel CHANGE_TIME_UNSPECIFIED",
	} {
		if c.accepted[what] == 0 {
			t.Errorf("%q was never accepted, only %v", what, slices.Sorted(maps.Keys(c.accepted)))
		}
	}
}

const (
	dueSubscriptionsSQL = `select count(*) from subscriptions where company_id = $1 and (next_at <= $2 or pass_sync_due is not null)`
	duePlansSQL         = `select count(*) from plans where company_id = $1 and pass_sync_due is not null`

	// Attempts that failed while a service was down are repeated after up to five minutes. This makes them
	// due now.
	repeatSyncsSQL = `update subscriptions set pass_sync_due = now() where company_id = $1 and pass_sync_due > now() + interval '6 seconds'`
	repeatPlansSQL = `update plans set pass_sync_due = now() where company_id = $1 and pass_sync_due > now() + interval '6 seconds'`
)

// settle returns when no step is due, every state is confirmed, and no purchase is in progress.
func (c *subscriptionCluster) settle(t *testing.T) {
	t.Helper()
	db, company := c.seller.m.connect(t, "subscription"), companyID(t, c.company.ID)
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	harness.Eventually(t, settledLimit, func() error {
		for _, sql := range []string{repeatSyncsSQL, repeatPlansSQL} {
			if _, err := db.Exec(t.Context(), sql, company); err != nil {
				t.Fatal(err)
			}
		}
		n, plans := number(t, db, dueSubscriptionsSQL, company, c.time()), number(t, db, duePlansSQL, company)
		if n+plans > 0 {
			return fmt.Errorf("%d subscriptions and %d plans have something to do", n, plans)
		}
		return nil
	})
	booking := c.seller.m.connect(t, "booking")
	defer func() { _ = booking.Close(context.WithoutCancel(t.Context())) }()
	c.seller.settle(t, booking)
}
