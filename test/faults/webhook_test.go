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

// TestSlowWebhooks sells spaces while the two replicas of the webhook service are killed and
// stopped, and while PostgreSQL and NATS restart. At the end every endpoint has received every
// notification.
func TestSlowWebhooks(t *testing.T) {
	t.Parallel()
	w := newWebhookCluster(t)
	t.Run("processes are killed while PostgreSQL and NATS restart", w.testKills)
	t.Run("both replicas send", w.testShared)
	t.Run("processes are stopped while retries are in progress", w.testStops)
	t.Run("no delivery is left", w.testNothingLeft)
}

const (
	newsKills = 50
	// settling is how long the outcome of an answered delivery can stay uncommitted on a loaded
	// machine. After a kill in that time the delivery is repeated.
	settling = 4 * time.Second
	// newsLimit is longer than a lease and all retries.
	newsLimit = 2 * time.Minute
)

// webhookCluster is a cluster with two replicas of the webhook service, and a studio with ten
// endpoints for its registrations.
type webhookCluster struct {
	*harness.Cluster
	op      *harness.Operator
	studio  *studio
	steady  []*harness.Mailbox // accept every request, some slowly
	fickle  []*harness.Mailbox // fail until calm
	calm    atomic.Bool
	kills   []time.Time
	outages []outage
	// repeated is how many notifications of TestWebhookTakeover were sent twice so far.
	repeated int
}

// outage is a period without PostgreSQL. During it, and some time before it, no outcome could be
// stored.
type outage struct{ from, to time.Time }

func newWebhookCluster(t *testing.T) *webhookCluster {
	w := &webhookCluster{Cluster: harness.StartCluster(t, harness.ClusterOptions{Webhooks: 2, GatewaysB: 1, Env: map[string]string{
		"SHUTDOWN_DRAIN": "2s", "WEBHOOK_RETRIES": "1s,2s,4s", "WEBHOOK_TIMEOUT": "3s", "WEBHOOK_LEASE": "7s", "WEBHOOK_SWEEP": "500ms",
		"WEBHOOK_BREAKER_PAUSE": "500ms", "WEBHOOK_BREAKER_PAUSE_MAX": "2s",
	}})}
	w.op = w.Operator(t)
	w.studio = w.newStudio(t)
	box := func(answer func(harness.Mail) harness.Reply) *harness.Mailbox {
		return w.NewMailbox(t, w.studio.company, answer)
	}
	for i := range 7 {
		// Answer after 0 to 60 ms, so that a kill hits requests in progress.
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

// processes returns the names of the webhook service's replicas.
func processes() []string { return []string{"webhook", "webhook-2"} }

// testKills kills one replica or both at random moments and starts them again immediately.
// PostgreSQL and NATS restart in between.
func (w *webhookCluster) testKills(t *testing.T) {
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
		<-time.After(rand.N(300 * time.Millisecond)) // at any point of their work
		w.kills = append(w.kills, time.Now())
		for _, name := range victims {
			w.Part(name).KillNow()
		}
		for _, name := range victims {
			w.Part(name).Kill(t) // waits until it has ended
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
	w.awaitAccepted(t, w.steady)
	t.Logf("all notifications were accepted after %s", time.Since(began).Round(time.Millisecond))
	w.calm.Store(true)
	db := w.connect(t)
	harness.Eventually(t, newsLimit, func() error { return unfinished(t, db) })
	w.studio.replayFailed(t, began)
	w.awaitAccepted(t, w.fickle)
	w.checkDuplicates(t)
}

// awaitAccepted returns when each mailbox has accepted every registration.
func (w *webhookCluster) awaitAccepted(t *testing.T, boxes []*harness.Mailbox) {
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

// checkDuplicates checks that requests that the log does not have are due to kills. A killed
// process loses the outcomes that it has not stored. Only those deliveries are repeated.
func (w *webhookCluster) checkDuplicates(t *testing.T) {
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
				t.Errorf("mailbox %d got registration %s as message %s, others as %s", i, registration, m.ID, first)
			}
			envelopes[registration] = m.ID
			if m.Broken {
				continue // one attempt can send it twice: on an idle connection and then on a new one
			}
			requests[m.ID]++
			if w.unsettled(m) {
				atKills[m.ID]++
				inFlight++
			}
		}
		for message, n := range requests {
			unknown := n - logged[attempted{uuid(t, message, id.Parse[id.WebhookMessage]), uuid(t, box.Endpoint, id.Parse[id.WebhookEndpoint])}]
			if unknown <= 0 { // negative: a request that never arrived
				continue
			}
			lost += unknown
			if unknown > atKills[message] {
				t.Errorf("mailbox %d got %s %d times without an entry in the log, but only %d times near a kill", i, message, unknown, atKills[message])
			}
		}
	}
	t.Logf("%d requests; the outcome of %d was lost in %d kills; %d arrived shortly before a kill", all, lost, len(w.kills), inFlight)
}

// attempted identifies a message at an endpoint.
type attempted struct{ Message, Endpoint [16]byte }

// logged returns the number of logged attempts for each message and endpoint.
func (w *webhookCluster) logged(t *testing.T) map[attempted]int {
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

// boxes returns all mailboxes of the studio.
func (w *webhookCluster) boxes() []*harness.Mailbox {
	return append(slices.Clone(w.steady), w.fickle...)
}

// unsettled reports whether a process was killed while it may have been waiting for the answer to
// a request, or may not have stored its outcome.
func (w *webhookCluster) unsettled(m harness.Mail) bool {
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

// testShared sells until both replicas have sent deliveries.
func (w *webhookCluster) testShared(t *testing.T) {
	before := map[string]float64{}
	for _, name := range processes() {
		before[name] = w.delivered(t, name)
	}
	stop := w.studio.open(t)
	harness.Eventually(t, newsLimit, func() error {
		var faults []error
		for _, name := range processes() {
			if w.delivered(t, name) < before[name]+100 {
				faults = append(faults, fmt.Errorf("%s has sent too few deliveries", name))
			}
		}
		return errors.Join(faults...)
	})
	stop()
	w.awaitAccepted(t, w.boxes())
}

// testStops stops one replica after the other while retries are in progress. Those end, other
// leased deliveries are released, and nothing is sent twice.
func (w *webhookCluster) testStops(t *testing.T) {
	s := w.newStudio(t)
	var boxes []*harness.Mailbox
	retried := make(chan struct{}, 1000)
	for range 3 {
		boxes = append(boxes, w.NewMailbox(t, s.company, func(m harness.Mail) harness.Reply {
			reply := harness.Reply{After: 150 * time.Millisecond}
			if m.Try == 1 && m.N%3 == 0 { // few enough in a row that the endpoint is not paused
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
			t.Fatal("there are no retries")
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
				t.Errorf("mailbox %d got %s %d times, but the log has %d attempts", i, message, n, known)
			}
		}
	}
}

// testNothingLeft compares the log with the received requests.
func (w *webhookCluster) testNothingLeft(t *testing.T) {
	db := w.connect(t)
	if err := unfinished(t, db); err != nil {
		t.Error(err)
	}
	for what, sql := range map[string]string{
		"deliveries whose attempts are not all in the log": `select count(*) from deliveries d where attempts <>
			(select count(*) from attempts a where a.company_id = d.company_id and a.delivery_id = d.id)`,
		"deliveries that did not succeed exactly once": `select count(*) from deliveries d where state <> 'delivered' or 1 <>
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

// unfinished returns an error while a delivery is waiting or leased.
func unfinished(t *testing.T, db *pgx.Conn) error {
	t.Helper()
	if n := number(t, db, `select count(*) from deliveries where state = 'pending' or lease is not null`); n > 0 {
		return fmt.Errorf("%d deliveries are not finished", n)
	}
	return nil
}

// registrationOf returns the registration that a webhook is about.
func registrationOf(t *testing.T, m harness.Mail) string {
	t.Helper()
	_, after, found := strings.Cut(string(m.Data), `"registrationId":"`)
	id, _, ended := strings.Cut(after, `"`)
	if !found || !ended {
		t.Fatalf("no registration: %s", m.Data)
	}
	return id
}
