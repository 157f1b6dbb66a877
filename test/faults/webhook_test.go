package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

// TestSlowWebhooks sells places while the two processes that tell of it are killed
// and stopped, and while what they need goes away and comes back. In the end
// everybody has been told of everything.
func TestSlowWebhooks(t *testing.T) {
	t.Parallel()
	w := newNews(t)
	t.Run("processes are killed while PostgreSQL and NATS restart", w.testKills)
	t.Run("both processes send", w.testShared)
	t.Run("processes are stopped while retries are in flight", w.testStops)
	t.Run("nothing is left", w.testNothingLeft)
}

const (
	newsKills = 50
	// settling is how long after its answer a delivery's outcome may still not be
	// committed, on a loaded machine: a kill until then sends it again.
	settling = 4 * time.Second
	// newsLimit is longer than a lease and all retries.
	newsLimit = 40 * time.Second
)

// news is a cluster whose webhook service has two processes, and a studio that is
// told of its registrations at ten endpoints.
type news struct {
	*harness.Cluster
	op      *harness.Operator
	studio  *studio
	steady  []*harness.Mailbox // that take everything, some slowly
	fickle  []*harness.Mailbox // that fail until calm
	calm    atomic.Bool
	kills   []time.Time
	outages []outage
}

// outage is when PostgreSQL was away: until then, and some time before, no
// outcome could be written.
type outage struct{ from, to time.Time }

func newNews(t *testing.T) *news {
	w := &news{Cluster: harness.StartCluster(t, harness.ClusterOptions{Webhooks: 2, GatewaysB: 1, Env: map[string]string{
		"SHUTDOWN_DRAIN": "2s", "WEBHOOK_RETRIES": "1s,2s,4s", "WEBHOOK_TIMEOUT": "3s", "WEBHOOK_LEASE": "7s", "WEBHOOK_SWEEP": "500ms",
		"WEBHOOK_BREAKER_PAUSE": "500ms", "WEBHOOK_BREAKER_PAUSE_MAX": "2s",
	}})}
	w.op = w.Operator(t)
	w.studio = w.newStudio(t)
	box := func(answer func(harness.Mail) harness.Reply) *harness.Mailbox {
		return w.NewMailbox(t, w.studio.company, answer)
	}
	for i := range 7 {
		// From at once to 60 ms, so that a kill finds requests in flight.
		w.steady = append(w.steady, box(func(harness.Mail) harness.Reply {
			return harness.Reply{After: rand.N(time.Duration(10*i+1) * time.Millisecond)}
		}))
	}
	flapping := func(down harness.Reply) func(harness.Mail) harness.Reply {
		return func(harness.Mail) harness.Reply {
			if w.calm.Load() || time.Now().UnixMilli()/1500%2 == 0 {
				return harness.Reply{}
			}
			return down
		}
	}
	w.fickle = []*harness.Mailbox{
		box(flapping(harness.Reply{Status: http.StatusServiceUnavailable})), box(flapping(harness.Reply{Reset: true})),
		box(func(harness.Mail) harness.Reply { return harness.Reply{Hang: !w.calm.Load()} }),
	}
	return w
}

// processes are those of the webhook service.
func processes() []string { return []string{"webhook", "webhook-2"} }

// testKills kills one process of the two, or both, at random moments, and starts
// them again at once. In between PostgreSQL restarts, and NATS.
func (w *news) testKills(t *testing.T) {
	began := time.Now()
	stop := w.studio.open(t)
	for n := range newsKills {
		switch n {
		case newsKills / 3:
			from := time.Now()
			w.Postgres.Stop(t)
			w.Postgres.Start(t)
			w.outages = append(w.outages, outage{from, time.Now()})
		case 2 * newsKills / 3:
			w.NATS.Stop(t)
			w.NATS.Start(t)
		}
		victims := processes()
		if one := rand.IntN(5); one > 0 {
			victims = victims[one%2:][:1]
		}
		<-time.After(rand.N(300 * time.Millisecond)) // anywhere in what they do
		w.kills = append(w.kills, time.Now())
		for _, name := range victims {
			w.Part(name).KillNow()
		}
		for _, name := range victims {
			w.Part(name).Kill(t) // it waits for the end
			w.Part(name).Start(t)
		}
		for _, name := range victims {
			w.Part(name).AwaitReady(t)
		}
	}
	sold := stop()
	t.Logf("%d kills and %d registrations in %s", len(w.kills), len(sold), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		return
	}
	w.awaitTold(t, w.steady)
	t.Logf("all were told after %s", time.Since(began).Round(time.Millisecond))
	w.calm.Store(true)
	db := w.connect(t)
	harness.Eventually(t, newsLimit, func() error { return unfinished(t, db) })
	w.studio.replayFailed(t, began)
	w.awaitTold(t, w.fickle)
	w.checkDuplicates(t)
}

// awaitTold returns once each mailbox has accepted every registration.
func (w *news) awaitTold(t *testing.T, boxes []*harness.Mailbox) {
	t.Helper()
	sold := w.studio.registrations()
	harness.Eventually(t, newsLimit, func() error {
		var faults []error
		for i, box := range boxes {
			accepted := map[string]bool{}
			for _, m := range box.Mail() {
				if m.Accepted {
					accepted[registrationOf(t, m)] = true
				}
			}
			if err := compareKeys(accepted, sold); err != nil {
				faults = append(faults, fmt.Errorf("mailbox %d: %w", i, err))
			}
		}
		return errors.Join(faults...)
	})
}

// checkDuplicates holds requests of which the log does not know to the kills: a
// process that dies takes with it the outcomes that it has not written, and those
// deliveries, and no others, are sent again.
func (w *news) checkDuplicates(t *testing.T) {
	t.Helper()
	logged := w.logged(t)
	all, lost, inFlight := 0, 0, 0
	envelopes := map[string]string{} // by registration
	for i, box := range w.boxes() {
		requests, atKills := map[string]int{}, map[string]int{}
		for _, m := range box.Mail() {
			all++
			registration := registrationOf(t, m)
			if first := envelopes[registration]; first != "" && first != m.ID {
				t.Errorf("mailbox %d was told of %s by %s, others by %s", i, registration, m.ID, first)
			}
			envelopes[registration] = m.ID
			if m.Broken {
				continue // it may have come twice in one attempt: over a connection that had stood idle, and over another
			}
			requests[m.ID]++
			if w.unsettled(m) {
				atKills[m.ID]++
				inFlight++
			}
		}
		for message, n := range requests {
			unknown := n - logged[attempted{uuid(t, message, id.Parse[id.WebhookMessage]), uuid(t, box.Endpoint, id.Parse[id.WebhookEndpoint])}]
			if unknown <= 0 { // fewer: a request that never arrived
				continue
			}
			lost += unknown
			if unknown > atKills[message] {
				t.Errorf("mailbox %d was told of %s %d times without an entry in the log, at kills %d times", i, message, unknown, atKills[message])
			}
		}
	}
	t.Logf("%d requests, of %d the outcome was lost in %d kills; %d came shortly before one", all, lost, len(w.kills), inFlight)
}

// attempted is a message at an endpoint.
type attempted struct{ Message, Endpoint [16]byte }

// logged is how many attempts the log has.
func (w *news) logged(t *testing.T) map[attempted]int {
	t.Helper()
	rows, err := w.connect(t).Query(t.Context(), `select message_id, endpoint_id, attempts from deliveries`)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[attempted]int{}
	var key attempted
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&key.Message, &key.Endpoint, &n}, func() error {
		counts[key] = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return counts
}

// boxes are all mailboxes of the studio.
func (w *news) boxes() []*harness.Mailbox { return append(slices.Clone(w.steady), w.fickle...) }

// unsettled reports whether a process was killed while it may have waited for the
// answer to a request, or not have written what came of it.
func (w *news) unsettled(m harness.Mail) bool {
	until := m.Ended.Add(settling)
	if m.Ended.IsZero() {
		until = time.Now()
	}
	for _, o := range w.outages {
		if m.At.Before(o.to) && until.After(o.from) {
			until = o.to.Add(settling)
		}
	}
	for _, k := range w.kills {
		if k.After(m.At.Add(-settling)) && k.Before(until) {
			return true
		}
	}
	return false
}

// testShared sells until both processes have sent.
func (w *news) testShared(t *testing.T) {
	before := map[string]float64{}
	for _, name := range processes() {
		before[name] = w.delivered(t, name)
	}
	stop := w.studio.open(t)
	harness.Eventually(t, newsLimit, func() error {
		var faults []error
		for _, name := range processes() {
			if w.delivered(t, name) < before[name]+100 {
				faults = append(faults, fmt.Errorf("%s has not sent its share", name))
			}
		}
		return errors.Join(faults...)
	})
	stop()
	w.awaitTold(t, w.boxes())
}

// testStops asks one process and then the other to end, just when retries are in
// flight: those end, the rest is released, and nothing is sent twice.
func (w *news) testStops(t *testing.T) {
	s := w.newStudio(t)
	var boxes []*harness.Mailbox
	retried := make(chan struct{}, 1000)
	for range 3 {
		boxes = append(boxes, w.NewMailbox(t, s.company, func(m harness.Mail) harness.Reply {
			reply := harness.Reply{After: 150 * time.Millisecond}
			if m.Try == 1 && m.N%3 == 0 { // not so many in a row that it is left alone
				reply.Status = http.StatusInternalServerError
			}
			if m.Try > 1 {
				retried <- struct{}{}
			}
			return reply
		}))
	}
	for _, name := range processes() {
		for range 5 {
			if err := s.sell(t.Context(), 20); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-retried:
		case <-time.After(newsLimit):
			t.Fatal("nothing is tried again")
		}
		w.Part(name).Stop(t)
		w.Part(name).Restart(t)
	}
	db := w.connect(t)
	harness.Eventually(t, newsLimit, func() error { return unfinished(t, db) })
	sold := s.registrations()
	logged := w.logged(t)
	for i, box := range boxes {
		told, requests := map[string]bool{}, map[string]int{}
		for _, m := range box.Mail() {
			requests[m.ID]++
			if m.Accepted {
				told[registrationOf(t, m)] = true
			}
		}
		if err := compareKeys(told, sold); err != nil {
			t.Errorf("mailbox %d: %v", i, err)
		}
		for message, n := range requests {
			if known := logged[attempted{uuid(t, message, id.Parse[id.WebhookMessage]), uuid(t, box.Endpoint, id.Parse[id.WebhookEndpoint])}]; known != n {
				t.Errorf("mailbox %d was told of %s %d times, and the log knows of %d", i, message, n, known)
			}
		}
	}
}

// testNothingLeft holds the log to what was received.
func (w *news) testNothingLeft(t *testing.T) {
	db := w.connect(t)
	if err := unfinished(t, db); err != nil {
		t.Error(err)
	}
	for what, sql := range map[string]string{
		"deliveries whose attempts are not all in the log": `select count(*) from deliveries d where attempts <>
			(select count(*) from attempts a where a.company_id = d.company_id and a.delivery_id = d.id)`,
		"deliveries that have not succeeded, once": `select count(*) from deliveries d where state <> 'delivered' or 1 <>
			(select count(*) from attempts a where a.company_id = d.company_id and a.delivery_id = d.id and outcome = 'delivered')`,
	} {
		if n := number(t, db, sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	want := len(w.studio.registrations()) * (len(w.steady) + len(w.fickle))
	company := w.studio.company.ID
	if got := number(t, db, `select count(*) from deliveries where company_id = $1`, companyID(t, company)); got != want {
		t.Errorf("%d deliveries, want %d", got, want)
	}
}

// unfinished returns an error while a delivery waits or is leased.
func unfinished(t *testing.T, db *pgx.Conn) error {
	t.Helper()
	if n := number(t, db, `select count(*) from deliveries where state = 'pending' or lease is not null`); n > 0 {
		return fmt.Errorf("%d deliveries are not finished", n)
	}
	return nil
}

// registrationOf is the registration that a webhook is about.
func registrationOf(t *testing.T, m harness.Mail) string {
	t.Helper()
	_, after, found := strings.Cut(string(m.Data), `"registrationId":"`)
	id, _, ended := strings.Cut(after, `"`)
	if !found || !ended {
		t.Fatalf("no registration: %s", m.Data)
	}
	return id
}
