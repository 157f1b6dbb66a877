package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
	"reservation.dev/platform/subjects"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/webhook/message"
)

// The benchmarks send to ten endpoints over TLS in the same process. CPU times therefore include
// the sender, the receivers and, if it is named, PostgreSQL.

const benchEndpoints = 10

// benchReceivers count the requests and how long after the commit they arrive.
func benchReceivers(b *testing.B) (urls []string, count *atomic.Int64) {
	count = &atomic.Int64{}
	for range benchEndpoints {
		urls = append(urls, newCounter(b, count))
	}
	return urls, count
}

func newCounter(b *testing.B, count *atomic.Int64) string {
	s := newPlainServer(b, func(rw http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		count.Add(1)
		rw.WriteHeader(http.StatusNoContent)
	})
	return s.URL
}

// production returns the default settings with private addresses allowed.
func production() Delivery {
	spendMemory()
	d := quick()
	d.Timeout, d.Lease, d.Concurrency, d.EndpointConcurrency, d.Sweep = 10*time.Second, 40*time.Second, 1024, 32, 5*time.Second
	d.Retries = []time.Duration{30 * time.Second, 5 * time.Minute, 50 * time.Minute}
	d.BreakerFailures, d.BreakerPause, d.BreakerPauseMax = 10, 15*time.Second, 5*time.Minute
	return d
}

// spendMemory tunes the garbage collector as the service's process does.
var spendMemory = sync.OnceFunc(service.TuneGarbageCollection)

func cpu(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func await(b *testing.B, count *atomic.Int64, n int64) {
	b.Helper()
	testkit.Eventually(b, 2*time.Minute, func() error {
		if got := count.Load(); got < n {
			return fmt.Errorf("%d of %d came", got, n)
		}
		return nil
	})
}

// BenchmarkFloor only signs and posts, with 64 workers.
func BenchmarkFloor(b *testing.B) {
	w := openStopped(b, production())
	urls, count := benchReceivers(b)
	var targets []*target
	for _, u := range urls {
		e := w.endpoint(u)
		targets = append(targets, w.target(e.GetEndpoint().GetId()))
	}
	msgs, err := w.intake.messages(context.Background(), []bus.Message{classBooking(w.company)})
	if err != nil {
		b.Fatal(err)
	}
	body := message.NewBody(&msgs[0])
	began := cpu(syscall.RUSAGE_SELF)
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				w.engine.attempt(&job{target: targets[i%benchEndpoints], body: body, tries: 1})
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if count.Load() != int64(b.N) {
		b.Fatalf("%d of %d came", count.Load(), b.N)
	}
	report(b, b.N, began)
}

func report(b *testing.B, n int, began time.Duration) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric((cpu(syscall.RUSAGE_SELF)-began).Seconds()/float64(n)*1000, "CPU-s/1000")
}

// target returns an endpoint in the form of the engine.
func (w *world) target(endpoint string) *target {
	w.t.Helper()
	var key endpointKey
	key.company = w.company
	if err := key.endpoint.UnmarshalText([]byte(endpoint)); err != nil {
		w.t.Fatal(err)
	}
	found, err := w.engine.store.targets(context.Background(), []endpointKey{key})
	if err != nil || len(found) != 1 {
		w.t.Fatal(len(found), err)
	}
	return found[0]
}

// BenchmarkBurst consumes b.N/10 events for ten endpoints at a time.
func BenchmarkBurst(b *testing.B) {
	w := open(b, production())
	urls, count := benchReceivers(b)
	for _, u := range urls {
		w.endpoint(u)
	}
	events := benchEvents(w, b.N/benchEndpoints+1)
	began, database := cpu(syscall.RUSAGE_SELF), w.databaseCPU()
	b.ResetTimer()
	for batch := range slices.Chunk(events, intakeBatch) {
		w.consume(batch...)
	}
	n := len(events) * benchEndpoints
	await(b, count, int64(n))
	b.StopTimer()
	w.settled()
	report(b, n, began)
	b.ReportMetric((w.databaseCPU()-database).Seconds()/float64(n)*1000, "PostgreSQL-CPU-s/1000")
	b.ReportMetric(w.reuse(), "reused-%")

}

// BenchmarkStore consumes b.N events of a company without an endpoint.
func BenchmarkStore(b *testing.B) {
	for name, event := range map[string]func(id.Company) bus.Message{"booking": classBooking, "customer": newCustomer, "event": changedEvent} {
		b.Run(name, func(b *testing.B) { benchStore(b, event) })
	}
}

func benchStore(b *testing.B, makeEvent func(id.Company) bus.Message) {
	w := open(b, production())
	events := make([]bus.Message, b.N)
	for i := range events {
		events[i] = makeEvent(w.company)
	}
	began, database := cpu(syscall.RUSAGE_SELF), w.databaseCPU()
	b.ResetTimer()
	for batch := range slices.Chunk(events, intakeBatch) {
		w.consume(batch...)
	}
	b.StopTimer()
	b.ReportMetric((cpu(syscall.RUSAGE_SELF)-began).Seconds()/float64(b.N)*1000, "CPU-s/1000")
	b.ReportMetric((w.databaseCPU()-database).Seconds()/float64(b.N)*1000, "PostgreSQL-CPU-s/1000")
	size := w.rows(`select sum(pg_total_relation_size(inhrelid))::bigint from pg_inherits where inhparent = 'messages'::regclass`)
	b.ReportMetric(float64(size)/float64(b.N), "bytes/event")
}

// changedEvent is the event of a new title of an event with 52 dates.
func changedEvent(company id.Company) bus.Message {
	now := time.Now()
	e := &bookingv1.Event{
		Id: id.New[id.Event]().String(), Title: "Sunrise yoga", Timezone: "Europe/London", CreatedAt: timestamppb.New(now), UpdatedAt: timestamppb.New(now),
		Summary: &bookingv1.DatesSummary{Dates: 52, Upcoming: 52},
	}
	for i := range 52 {
		e.Dates = append(e.Dates, &bookingv1.EventDate{
			Id: id.New[id.EventDate]().String(), StartsAt: timestamppb.New(now.AddDate(0, 0, 7*i)), DurationMinutes: 60, Timezone: "Europe/London",
		})
	}
	previous := proto.CloneOf(e)
	previous.Title = "Morning yoga"
	payload, err := proto.Marshal(&bookingv1.EventUpdated{Event: e, Previous: previous})
	if err != nil {
		panic(err)
	}
	return bus.Message{ID: id.NewUUID(), Company: company, Subject: subjects.EventUpdated, Payload: payload, OccurredAt: now}
}

func benchEvents(w *world, n int) []bus.Message {
	events := make([]bus.Message, n)
	for i := range events {
		events[i] = classBooking(w.company)
	}
	return events
}

// BenchmarkDrain starts with all deliveries queued in the database.
func BenchmarkDrain(b *testing.B) {
	w := openStopped(b, production())
	urls, count := benchReceivers(b)
	for _, u := range urls {
		w.endpoint(u)
	}
	events := benchEvents(w, b.N/benchEndpoints+1)
	for batch := range slices.Chunk(events, intakeBatch) {
		w.consume(batch...)
	}
	began, database := cpu(syscall.RUSAGE_SELF), w.databaseCPU()
	b.ResetTimer()
	w.start()
	n := len(events) * benchEndpoints
	await(b, count, int64(n))
	b.StopTimer()
	w.settled()
	report(b, n, began)
	b.ReportMetric((w.databaseCPU()-database).Seconds()/float64(n)*1000, "PostgreSQL-CPU-s/1000")
	b.ReportMetric(w.reuse(), "reused-%")

}

// BenchmarkSteady sends b.N deliveries to one endpoint, 300 a second. It reports the time from the
// commit of the intake to the receipt.
func BenchmarkSteady(b *testing.B) {
	w := open(b, production())
	var mu sync.Mutex
	sent := map[string]time.Time{}
	var lags []time.Duration
	var count atomic.Int64
	s := newPlainServer(b, func(rw http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		now := time.Now()
		mu.Lock()
		lags = append(lags, now.Sub(sent[req.Header.Get("Webhook-Id")]))
		mu.Unlock()
		count.Add(1)
	})
	w.endpoint(s.URL)
	events := benchEvents(w, b.N)
	b.ResetTimer()
	ticker := time.NewTicker(time.Second / 300)
	defer ticker.Stop()
	var wg sync.WaitGroup
	for i := range events {
		<-ticker.C
		mu.Lock()
		sent[id.WebhookMessage(events[i].ID).String()] = time.Now()
		mu.Unlock()
		wg.Go(func() { w.consume(events[i]) })
	}
	wg.Wait()
	await(b, &count, int64(b.N))
	b.StopTimer()
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(lags[len(lags)/2])/1e6, "p50-ms")
}

// BenchmarkFairness reports how much longer deliveries to the other endpoints take while one or
// nine of ten endpoints hang, as a multiple of the time without.
func BenchmarkFairness(b *testing.B) {
	const each = 200
	run := func(hanging int) time.Duration {
		w := open(b, production())
		release := make(chan struct{})
		defer close(release)
		var count atomic.Int64
		for i := range benchEndpoints {
			if i < hanging {
				w.endpoint(newPlainServer(b, func(_ http.ResponseWriter, req *http.Request) {
					select {
					case <-release:
					case <-req.Context().Done():
					}
				}).URL)
				continue
			}
			w.endpoint(newCounter(b, &count))
		}
		events := benchEvents(w, each)
		began := time.Now()
		w.consume(events...)
		await(b, &count, int64(each*(benchEndpoints-hanging)))
		took := time.Since(began)
		w.engine.abort()
		return took
	}
	var all, one, nine []time.Duration
	for range b.N {
		all, one, nine = append(all, run(0)), append(one, run(1)), append(nine, run(9))
	}
	b.ReportMetric(float64(median(one))/float64(median(all)), "one-hangs-x")
	b.ReportMetric(float64(median(nine))/float64(median(all)), "nine-hang-x")
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// reuse returns the percentage of requests that reused a connection.
func (w *world) reuse() float64 {
	yes, no := counterOf(w.engine.metrics.conns.WithLabelValues("yes")), counterOf(w.engine.metrics.conns.WithLabelValues("no"))
	return 100 * yes / (yes + no)
}

// databaseCPU returns the CPU time of the database server's processes for the database of w.
func (w *world) databaseCPU() time.Duration {
	pids, err := pg.Rows[int32](context.Background(), w.db, pg.AllCompanies(),
		`select pid from pg_stat_activity where datname = current_database() or backend_type in ('walwriter', 'background writer', 'checkpointer')`)
	if err != nil {
		w.t.Fatal(err)
	}
	var ticks int64
	for _, pid := range pids {
		ticks += procTicks(pid)
	}
	return time.Duration(ticks) * time.Second / 100
}

func procTicks(pid int32) int64 {
	text := readFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return user + system
}
