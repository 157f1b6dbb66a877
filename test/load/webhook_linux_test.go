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
func BenchmarkWebhooks(b *testing.B) {
	w := newNewsroom(b)
	b.Run("floor, 64 workers", w.floor)
	b.Run("burst of 10000", w.burst)
	b.Run("drain of 20000", w.drain)
	b.Run("steady 300 a second, one endpoint for each of ten companies", func(b *testing.B) { w.steady(b, 10, 1) })
	b.Run("steady 300 a second, one company with ten endpoints", func(b *testing.B) { w.steady(b, 1, 10) })
	b.Run("fairness", w.fairness)
	b.Logf("load average %s", loadAverage())
}

// bookers is the number of concurrent bookings.
const bookers = 64

func (w *newsroom) floor(b *testing.B) {
	const sends = 20_000
	p := w.newPublisher(b, benchEndpoints, 0)
	f := newFloor(b, w, p)
	f.send(b, sends/10) // connect
	var took, spent time.Duration
	for b.Loop() {
		began, before := time.Now(), ownCPU(b)
		f.send(b, sends)
		took += time.Since(began)
		spent += ownCPU(b) - before
	}
	n := float64(sends * b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/took.Seconds(), "deliveries/s")
	b.ReportMetric(spent.Seconds()/n*1000, "CPU-s/1000-with-receivers")
}

// burst makes 1,000 bookings at the same time.
func (w *newsroom) burst(b *testing.B) {
	const events = 1000
	p := w.newPublisher(b, benchEndpoints, 0)
	p.book(b, events/4, bookers) // warm up
	p.await(b, events/4)
	w.awaitLog(b)
	var took time.Duration
	var spent cost
	reused := w.connections(b)
	for b.Loop() {
		before, began := w.spent(b), time.Now()
		p.reset()
		p.book(b, events, bookers)
		p.await(b, events)
		took += p.last().Sub(began)
		w.awaitLog(b)
		spent.add(w.spent(b).minus(before))
	}
	n := events * benchEndpoints * b.N
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n)/took.Seconds(), "deliveries/s")
	spent.report(b, n)
	b.ReportMetric(100*w.connections(b).minus(reused).share(), "reused-%")
}

// drain makes 2,000 bookings while the webhook service is stopped, and then starts it. It reports
// the rate from the first receipt to the last, which covers intake and delivery.
func (w *newsroom) drain(b *testing.B) {
	const events = 2000
	p := w.newPublisher(b, benchEndpoints, 0)
	p.book(b, events/8, bookers)
	p.await(b, events/8)
	var sending, whole time.Duration
	var spent cost
	for b.Loop() {
		w.awaitLog(b)
		w.Part("webhook").Stop(b)
		p.reset()
		p.book(b, events, bookers)
		w.awaitPublished(b)
		before, began := w.spent(b), time.Now()
		w.Part("webhook").Restart(b)
		p.await(b, events)
		sending += p.last().Sub(p.first())
		whole += p.last().Sub(began)
		w.awaitLog(b)
		spent.add(w.spent(b).minus(before))
	}
	n := events * benchEndpoints * b.N
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n)/sending.Seconds(), "deliveries/s")
	b.ReportMetric(float64(n)/whole.Seconds(), "deliveries/s-with-start")
	spent.report(b, n)
}

// steady makes 300 deliveries a second, and reports how long after a booking its receivers get
// it: from the request, and from the answer. The commit is between the two.
func (w *newsroom) steady(b *testing.B, companies, endpoints int) {
	const rate, lasting = 300, 4 * time.Second
	var publishers []*publisher
	for range companies {
		publishers = append(publishers, w.newPublisher(b, endpoints, 0))
	}
	bookings := int(lasting.Seconds()) * rate / endpoints
	var asked, answered []time.Duration
	for b.Loop() {
		var mu sync.Mutex
		var wg sync.WaitGroup
		booked := map[string][2]time.Time{}
		for _, p := range publishers {
			p.reset()
		}
		ticker := time.NewTicker(time.Second * time.Duration(endpoints) / rate)
		for i := range bookings {
			<-ticker.C
			wg.Go(func() {
				from := time.Now()
				id, err := publishers[i%companies].bookOne()
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				booked[id] = [2]time.Time{from, time.Now()}
			})
		}
		ticker.Stop()
		wg.Wait()
		if b.Failed() {
			b.FailNow()
		}
		for _, p := range publishers {
			p.await(b, bookings/companies)
			for _, r := range p.receipts() {
				times, found := booked[r.registration]
				if !found {
					b.Fatalf("%s was not booked", r.registration)
				}
				asked, answered = append(asked, r.at.Sub(times[0])), append(answered, r.at.Sub(times[1]))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, lags := range map[string][]time.Duration{"asked": asked, "answered": answered} {
		slices.Sort(lags)
		b.ReportMetric(ms(lags[len(lags)/2]), "ms-p50-since-"+name)
		b.ReportMetric(ms(lags[len(lags)*99/100]), "ms-p99-since-"+name)
	}
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

	mu  sync.Mutex
	got []receipt
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
	r.mu.Unlock()
	r.count.Add(1)
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
