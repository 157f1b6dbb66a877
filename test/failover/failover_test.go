package failover

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// longestGap is when the test fails although nothing was lost.
const longestGap = time.Minute

// world is a platform on engines that die.
type world struct {
	*harness.Cluster
	engines *engines
	company *harness.Company
	mailbox *harness.Mailbox
	traffic *traffic
	rows    []row
}

// outage is something that is killed, and later comes back.
type outage struct {
	what, how    string
	kill, revive func(*testing.T)
	// noEvents reports that requests succeed without it, but webhooks may wait.
	noEvents bool
}

// row is a line of the printed table.
type row struct {
	outage
	gap, waited, restore time.Duration
}

// TestFailover kills one of everything, and then each machine, while clients book.
func TestFailover(t *testing.T) {
	needEngines(t)
	w := newWorld(t)
	stop := w.traffic.start(t)
	w.traffic.awaitMore(t)
	victims := w.services()
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for _, p := range victims {
		w.kill(t, outage{what: p.Program, how: "one of two", kill: func(t *testing.T) { p.Kill(t) }, revive: func(t *testing.T) { p.Start(t) }})
	}
	w.killNATS(t, 1)
	w.killNATS(t, 2)
	w.killPrimary(t)
	w.killMachine(t, w.engines.standby(t), "machine with the standby")
	w.killMachine(t, w.engines.machines[machineCount-1], "machine with only etcd and NATS")
	w.killPrimary(t)
	w.suspendPrimary(t)
	stop()
	if !t.Failed() {
		w.audit(t)
	}
	w.print(t)
}

func newWorld(t *testing.T) *world {
	e := newEngines(t)
	e.start(t)
	w := &world{engines: e, Cluster: harness.StartCluster(t, harness.ClusterOptions{
		Gateways: 2, GatewaysB: 2, Auths: 2, Customers: 2, Bookings: 2, Passes: 2, Subscriptions: 2, Medias: 2, Reports: 2, Webhooks: 2,
		Engines: &harness.Engines{NATS: e.natsURL(), Database: e.database},
		Env:     map[string]string{"BUS_REPLICAS": replicas},
	})}
	for _, p := range w.services() {
		e.machines[1].parts = append(e.machines[1].parts, p)
	}
	for _, name := range firstReplicas() {
		e.machines[0].parts = append(e.machines[0].parts, w.Part(name))
	}
	w.company = w.Operator(t).NewCompany(t, "Europe/London")
	w.mailbox = w.NewMailbox(t, w.company, nil, webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED,
		webhookv1.EventType_EVENT_TYPE_REGISTRATION_CANCELLED, webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED)
	w.traffic = w.newTraffic(t)
	return w
}

// firstReplicas are the names of the services on machine 1.
func firstReplicas() []string {
	return []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook", "gateway-a-1", "gateway-b-1"}
}

// services returns the processes on machine 2: the second replica of every service.
func (w *world) services() []*harness.Part {
	var all []*harness.Part
	for _, name := range firstReplicas() {
		if trimmed, first := strings.CutSuffix(name, "-1"); first {
			name = trimmed
		}
		all = append(all, w.Part(name+"-2"))
	}
	return all
}

// newTraffic creates what the clients sell and buy.
func (w *world) newTraffic(t *testing.T) *traffic {
	t.Helper()
	s := &traffic{registrations: map[string]*registration{}, passes: map[string]int{}}
	for _, base := range w.Gateways {
		s.gateways.a = append(s.gateways.a, harness.NewA(t, base))
	}
	for _, base := range w.GatewaysB {
		s.gateways.b = append(s.gateways.b, harness.NewA(t, base))
	}
	s.tokenA = s.gateways.a[0].Token(t, w.company.NewClient(t))
	s.tokenB = harness.NewB(t, w.GatewaysB[0]).Token(t, w.company.NewKey(t, 10_000))
	s.customers = w.company.ImportCustomers(t, "client", clientCount)
	create := func(path, body string) string {
		var made struct{ ID string }
		s.gateways.b[0].Do(t, harness.Request{Path: path, Token: s.tokenB, Body: body}).Into(t, http.StatusCreated, &made)
		return made.ID
	}
	const class = `{"title":%q,"type":"class","startsAt":"%sT09:30:00","duration":60,"capacity":%s,
		"pricingOptions":[{"name":"Drop-in","price":10,"credits":1}]}`
	const pass = `{"title":"Classes","totalUses":%d,"price":50,"validityCount":2,"validityUnit":"month","eligibleEventTypes":["class"]}`
	day := time.Now().AddDate(0, 1, 0).Format(time.DateOnly)
	s.open = create("/events", fmt.Sprintf(class, "Large class", day, "null"))
	s.small = create("/events", fmt.Sprintf(class, "Small class", day, fmt.Sprint(smallCapacity)))
	s.pass = create("/passes", fmt.Sprintf(pass, passUses))
	return s
}

// killNATS kills some NATS servers. Without two of three, JetStream stores nothing.
func (w *world) killNATS(t *testing.T, n int) {
	t.Helper()
	servers := slices.Clone(w.engines.machines)
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	w.kill(t, outage{
		what: "NATS", how: fmt.Sprintf("%d of %d servers", n, len(servers)), noEvents: n > 1,
		kill: func(t *testing.T) {
			for _, m := range servers[:n] {
				m.server.Kill(t)
			}
		},
		revive: func(t *testing.T) {
			for _, m := range servers[:n] {
				m.server.Start(t)
			}
		},
	})
}

// killMachine kills a whole machine.
func (w *world) killMachine(t *testing.T, m *machine, what string) {
	t.Helper()
	w.kill(t, outage{what: what, how: fmt.Sprintf("%d processes", len(m.engines)+len(m.parts)), kill: m.kill, revive: m.revive})
}

// killPrimary kills the machine of the primary, whose standby must take over.
func (w *world) killPrimary(t *testing.T) {
	t.Helper()
	before := w.engines.primary(t)
	w.killMachine(t, before, "machine with the primary")
	w.hasNewPrimary(t, before)
}

// suspendPrimary suspends the machine of the primary, and resets it before it can continue. The
// standby must take over. Webhooks can wait for the reset, because a job waits for the answer of
// PostgreSQL for as long as the connection lasts.
func (w *world) suspendPrimary(t *testing.T) {
	t.Helper()
	before := w.engines.primary(t)
	w.kill(t, outage{what: "machine with the primary", how: "suspended", kill: before.suspend, revive: before.reset, noEvents: true})
	w.hasNewPrimary(t, before)
}

func (w *world) hasNewPrimary(t *testing.T, before *machine) {
	t.Helper()
	if after := w.engines.primary(t); after == before && !t.Failed() {
		t.Errorf("%s is the primary again, so its standby did not take over", before)
	}
}

// kill kills something, waits until the clients get answers without it, brings it back, and waits
// until everything is complete again.
func (w *world) kill(t *testing.T, o outage) {
	t.Helper()
	if t.Failed() {
		return
	}
	from := time.Now()
	o.kill(t)
	w.traffic.awaitMore(t)
	if !o.noEvents {
		w.awaitWebhook(t)
	}
	back := time.Now()
	o.revive(t)
	for _, p := range slices.Concat(w.engines.machines[0].parts, w.engines.machines[1].parts) {
		p.AwaitReady(t)
	}
	harness.Eventually(t, settleLimit, func() error { return w.engines.complete(t.Context()) })
	w.traffic.awaitMore(t)
	w.awaitWebhook(t)
	r := row{outage: o, restore: time.Since(back)}
	r.gap, r.waited = w.traffic.longest(from, time.Now())
	w.rows = append(w.rows, r)
	t.Logf("killed the %s (%s): the longest gap was %s", o.what, o.how, r.gap.Round(time.Millisecond))
	if r.gap > longestGap {
		t.Errorf("killing the %s: no client got an answer for %s", o.what, r.gap)
	}
}

// awaitWebhook waits until a webhook arrives about something that happens from now on.
func (w *world) awaitWebhook(t *testing.T) {
	t.Helper()
	known := w.traffic.known()
	harness.Eventually(t, settleLimit, func() error {
		mail := w.mailbox.Mail()
		for _, m := range slices.Backward(mail) {
			if m.Event == "registration.created" && m.Accepted && !known[strings.TrimPrefix(subject(t, m), m.Event+" ")] {
				return nil
			}
		}
		if t.Failed() {
			return nil // a client gave up
		}
		return errors.New("no webhook about a new registration")
	})
}

// print prints the table.
func (w *world) print(t *testing.T) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| killed | | longest gap, s | longest wait of a client, s | complete again after, s |\n|---|---|---|---|---|\n")
	for _, r := range w.rows {
		fmt.Fprintf(&b, "| %s | %s | %.1f | %.1f | %.1f |\n", r.what, r.how, r.gap.Seconds(), r.waited.Seconds(), r.restore.Seconds())
	}
	t.Logf("%d requests, %d retries, %d registrations, %d passes\n\n%s", w.traffic.requests.Load(), w.traffic.retries.Load(),
		len(w.traffic.registrations), len(w.traffic.passes), b.String())
}
