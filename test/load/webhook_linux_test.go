package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// BenchmarkWebhooks reports the cost of notifying ten endpoints of bookings, over the whole
// platform with one process per service and a PostgreSQL that waits for the disk: booking, its
// outbox, JetStream, the webhook service, and receivers over TLS in the test process. The floor
// is the cost of only signing and posting to the same receivers from this process.
//
// CPU times include the webhook service, its database sessions, PostgreSQL's processes other than
// sessions, and NATS, until the log is complete. Times of the whole platform also include the
// booking service and its sessions. Receivers and booking clients are not counted.
//
// It prints the tables of docs/SCALING.md.
func BenchmarkWebhooks(b *testing.B) {
	w := newNewsroom(b)
	var rows []webhookRow
	for _, kind := range []struct {
		name    string
		measure func(*testing.B) webhookRow
	}{
		{"signing and posting alone, 64 workers", w.floor},
		{"burst of 10,000, warm", func(b *testing.B) webhookRow { return w.burst(b, w.warm(b)) }},
		{"burst of 10,000, endpoints without connections", func(b *testing.B) webhookRow { return w.burst(b, w.cold) }},
		{"drain of 20,000", w.drain},
		{"300 single events a second, ten companies", func(b *testing.B) webhookRow { return w.steady(b, 10, 1) }},
		{"300 deliveries a second, one company with ten endpoints", func(b *testing.B) webhookRow { return w.steady(b, 1, benchEndpoints) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			row := kind.measure(b)
			row.name = kind.name
			row.report(b)
			rows = append(rows, row)
		})
	}
	b.Run("fairness", w.fairness)
	printWebhooks(rows)
	b.Logf("load average %s", loadAverage())
}

// webhookRow is what deliveries took.
type webhookRow struct {
	name      string
	delivered int
	took      time.Duration
	spent     cost
	own       time.Duration // processor time of this process, which has the receivers
	reused    connections
	floor     float64   // deliveries a second of the floor in the same rounds, or 0
	answered  latencies // from the answer to a booking until its delivery
}

func (r *webhookRow) rate() float64 { return float64(r.delivered) / r.took.Seconds() }

// per returns the processor time of 1,000 deliveries, in seconds.
func (r *webhookRow) per(d time.Duration) float64 { return d.Seconds() / float64(r.delivered) * 1000 }

func (r *webhookRow) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.rate(), "deliveries/s")
	if r.spent == (cost{}) {
		b.ReportMetric(r.per(r.own), "CPU-s/1000-with-receivers")
		return
	}
	b.ReportMetric(r.per(r.spent.delivery()), "CPU-s/1000")
	b.ReportMetric(r.per(r.spent.whole()), "CPU-s/1000-whole-stack")
	b.ReportMetric(100*r.reused.share(), "reused-%")
	if r.floor > 0 {
		b.ReportMetric(r.rate()/r.floor, "rate/floor")
	}
	if len(r.answered) > 0 {
		b.ReportMetric(ms(r.answered.quantile(50)), "ms-p50-since-answered")
		b.ReportMetric(ms(r.answered.quantile(99)), "ms-p99-since-answered")
	}
}

func printWebhooks(rows []webhookRow) {
	fmt.Println("\n| webhooks | deliveries/s | ÷ floor | delivery side, s per 1,000 | process | its sessions | rest of PostgreSQL | NATS | whole platform | reused | p50 · p99 since the answer, ms |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.spent == (cost{}) {
			fmt.Printf("| %s | %.0f | | %.3f, with the receivers | | | | | | | |\n", r.name, r.rate(), r.per(r.own))
			continue
		}
		floor, since := "", ""
		if r.floor > 0 {
			floor = fmt.Sprintf("%.2f", r.rate()/r.floor)
		}
		if len(r.answered) > 0 {
			since = fmt.Sprintf("%.1f · %.1f", ms(r.answered.quantile(50)), ms(r.answered.quantile(99)))
		}
		fmt.Printf("| %s | %.0f | %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.1f %% | %s |\n", r.name, r.rate(), floor, r.per(r.spent.delivery()),
			r.per(r.spent.webhook), r.per(r.spent.sessions), r.per(r.spent.server), r.per(r.spent.nats), r.per(r.spent.whole()), 100*r.reused.share(), since)
	}
}

// bookers is the number of concurrent bookings.
const bookers = 64

func (w *newsroom) floor(b *testing.B) (row webhookRow) {
	const sends = 20_000
	f := newFloor(b, w, w.newPublisher(b, benchEndpoints, 0))
	f.send(b, sends/10) // connect
	for b.Loop() {
		began, before := time.Now(), ownCPU(b)
		f.send(b, sends)
		row.took += time.Since(began)
		row.own += ownCPU(b) - before
		row.delivered += sends
	}
	return row
}

// warm returns a function that returns a publisher with connections.
func (w *newsroom) warm(b *testing.B) func(*testing.B) *publisher {
	const events = 250
	p := w.newPublisher(b, benchEndpoints, 0)
	p.book(b, events, bookers)
	p.await(b, events)
	return func(*testing.B) *publisher { return p }
}

// cold returns a publisher whose endpoints have not been used.
func (w *newsroom) cold(b *testing.B) *publisher { return w.newPublisher(b, benchEndpoints, 0) }

// burst makes 1,000 bookings at the same time.
func (w *newsroom) burst(b *testing.B, of func(*testing.B) *publisher) (row webhookRow) {
	const events = 1000
	for b.Loop() {
		p := of(b)
		w.awaitLog(b)
		p.reset()
		reused, before, began := w.connections(b), w.spent(b), time.Now()
		p.book(b, events, bookers)
		p.await(b, events)
		row.took += p.last().Sub(began)
		w.awaitLog(b)
		row.spent.add(w.spent(b).minus(before))
		row.reused.add(w.connections(b).minus(reused))
		row.delivered += events * benchEndpoints
	}
	return row
}

// drain makes 2,000 bookings while the webhook service is stopped, and then starts it. It reports
// the rate from the first receipt to the last, which covers intake and delivery. The floor is
// measured in turns with it, on the same receivers.
func (w *newsroom) drain(b *testing.B) (row webhookRow) {
	const events = 2000
	p := w.newPublisher(b, benchEndpoints, 0)
	p.book(b, events/8, bookers)
	p.await(b, events/8)
	f := newFloor(b, w, p)
	f.send(b, events) // connect
	var sending time.Duration
	for b.Loop() {
		w.awaitLog(b)
		w.Part("webhook").Stop(b)
		began := time.Now()
		f.send(b, events*benchEndpoints)
		sending += time.Since(began)
		p.reset()
		p.book(b, events, bookers)
		w.awaitPublished(b)
		before := w.spent(b)
		w.Part("webhook").Restart(b)
		p.await(b, events)
		row.took += p.last().Sub(p.first())
		w.awaitLog(b)
		row.spent.add(w.spent(b).minus(before))
		row.reused.add(w.connections(b)) // the process counts from its start
		row.delivered += events * benchEndpoints
	}
	row.floor = float64(row.delivered) / sending.Seconds()
	return row
}

// steady makes 300 deliveries a second, and reports how long after the answer to a booking its
// receivers get it. The commit is before the answer.
func (w *newsroom) steady(b *testing.B, companies, endpoints int) (row webhookRow) {
	const rate, lasting = 300, 4 * time.Second
	var publishers []*publisher
	for range companies {
		publishers = append(publishers, w.newPublisher(b, endpoints, 0))
	}
	bookings := int(lasting.Seconds()) * rate / endpoints
	for b.Loop() {
		w.awaitLog(b)
		for _, p := range publishers {
			p.reset()
		}
		reused, before, began := w.connections(b), w.spent(b), time.Now()
		answered := w.bookSteadily(b, publishers, bookings, time.Second*time.Duration(endpoints)/rate)
		for _, p := range publishers {
			p.await(b, bookings/companies)
			for _, r := range p.receipts() {
				at, found := answered[r.registration]
				if !found {
					b.Fatalf("%s was not booked", r.registration)
				}
				row.answered = append(row.answered, r.at.Sub(at))
			}
		}
		row.took += time.Since(began)
		w.awaitLog(b)
		row.spent.add(w.spent(b).minus(before))
		row.reused.add(w.connections(b).minus(reused))
		row.delivered += bookings * endpoints
	}
	return row
}

// bookSteadily makes n bookings at a fixed rate, and returns when each was answered.
func (w *newsroom) bookSteadily(b *testing.B, publishers []*publisher, n int, every time.Duration) map[string]time.Time {
	var mu sync.Mutex
	var wg sync.WaitGroup
	answered := map[string]time.Time{}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := range n {
		<-ticker.C
		wg.Go(func() {
			id, err := publishers[i%len(publishers)].bookOne()
			if err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answered[id] = time.Now()
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return answered
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fairness reports how much longer endpoints that answer immediately wait for their deliveries
// while one of ten endpoints hangs, or nine. It is a multiple of the time of the same endpoints
// when all answer.
func (w *newsroom) fairness(b *testing.B) {
	const events = 200
	run := func(hanging int) (nine, tenth time.Duration) {
		p := w.newPublisher(b, benchEndpoints, hanging)
		defer p.close(b)
		began := time.Now()
		p.bookAtOnce(b, events)
		p.await(b, events)
		for i, r := range p.receivers {
			at := r.last().Sub(began)
			if i > 0 {
				nine = max(nine, at)
			}
			if i == benchEndpoints-1 {
				tenth = at
			}
		}
		return nine, tenth
	}
	run(0) // warm up
	var all, one, alone, nine []time.Duration
	for b.Loop() {
		nineOf, tenth := run(0)
		all, alone = append(all, nineOf), append(alone, tenth)
		nineOf, _ = run(1)
		one = append(one, nineOf)
		_, tenth = run(9)
		nine = append(nine, tenth)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(median(all)), "ms-1800-all-fast")
	b.ReportMetric(ms(median(one)), "ms-1800-one-hangs")
	b.ReportMetric(float64(median(one))/float64(median(all)), "one-hangs-x")
	b.ReportMetric(float64(median(nine))/float64(median(alone)), "nine-hang-x")
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// publisher is a company whose bookings are delivered to receivers.
type publisher struct {
	w         *newsroom
	company   *harness.Company
	ctx       context.Context
	customer  string
	event     string
	date      string
	receivers []*receiver
	endpoints []string // identifiers
	urls      []string
	release   chan struct{} // ends hanging requests
}

// book makes the given number of bookings, each in a separate purchase.
func (p *publisher) book(b *testing.B, n, clients int) {
	atOnce(b, clients, n, func(int) error {
		_, err := p.bookOne()
		return err
	})
}

// bookOne books one space and returns the registration.
func (p *publisher) bookOne() (string, error) {
	res, err := p.w.op.Bookings.CreateTransaction(p.ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: p.customer, Lines: []*bookingv1.TransactionLine{{EventDateId: p.date, Spaces: 1}},
	})
	if err != nil {
		return "", err
	}
	return "reg_" + strings.TrimPrefix(res.GetTransaction().GetBookings()[0].GetId(), "booking_"), nil
}

// bookAtOnce makes n bookings in as few purchases as possible.
func (p *publisher) bookAtOnce(b *testing.B, n int) {
	const most = 50
	for ; n > 0; n -= most {
		req := &bookingv1.CreateTransactionRequest{PurchaserId: p.customer}
		for range min(n, most) {
			req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventDateId: p.date, Spaces: 1})
		}
		if _, err := p.w.op.Bookings.CreateTransaction(p.ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}

// await returns when every receiver that answers has n deliveries.
func (p *publisher) await(b *testing.B, n int) {
	b.Helper()
	harness.Eventually(b, patience, func() error {
		for i, r := range p.receivers {
			if got := r.count.Load(); got < int64(n) && !r.hangs {
				return fmt.Errorf("receiver %d has %d of %d", i, got, n)
			}
		}
		return nil
	})
}

func (p *publisher) reset() {
	for _, r := range p.receivers {
		r.reset()
	}
}

func (p *publisher) receipts() (all []receipt) {
	for _, r := range p.receivers {
		all = append(all, r.all()...)
	}
	return all
}

func (p *publisher) first() time.Time {
	first := time.Now()
	for _, r := range p.receivers {
		if at := r.first(); at.Before(first) {
			first = at
		}
	}
	return first
}

func (p *publisher) last() (last time.Time) {
	for _, r := range p.receivers {
		if at := r.last(); at.After(last) {
			last = at
		}
	}
	return last
}

// close deletes the endpoints and their queued deliveries.
func (p *publisher) close(b *testing.B) {
	close(p.release)
	for _, id := range p.endpoints {
		if _, err := p.w.op.Webhooks.DeleteEndpoint(p.ctx, &webhookv1.DeleteEndpointRequest{Id: id}); err != nil {
			b.Error(err)
		}
	}
}

// receiver accepts deliveries and records when they arrive.
type receiver struct {
	hangs   bool
	release <-chan struct{}
	count   atomic.Int64

	mu      sync.Mutex
	got     []receipt
	arrived func() // nil, or called for each delivery before it is answered
}

type receipt struct {
	registration string
	at           time.Time
}

func (r *receiver) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	id := readRegistration(req.Body) // reads the whole body, because otherwise a disconnect would go unnoticed
	if r.hangs {
		select {
		case <-r.release:
		case <-req.Context().Done():
		}
		return
	}
	at := time.Now()
	r.mu.Lock()
	r.got = append(r.got, receipt{id, at})
	arrived := r.arrived
	r.mu.Unlock()
	r.count.Add(1)
	if arrived != nil {
		arrived()
	}
	rw.WriteHeader(http.StatusNoContent)
}

func (r *receiver) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = nil
	r.count.Store(0)
}

func (r *receiver) all() []receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) first() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) == 0 {
		return time.Now()
	}
	return r.got[0].at
}

func (r *receiver) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) == 0 {
		return time.Time{}
	}
	return r.got[len(r.got)-1].at
}
