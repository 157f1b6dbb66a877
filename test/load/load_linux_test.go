package load

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPlatform reports each cost of the platform as a multiple of the cost of command m, and
// prints the table of docs/SCALING.md.
func BenchmarkPlatform(b *testing.B) {
	w := newWorld(b)
	customer := func() string { return "/customer/" + w.customers[rand.IntN(len(w.customers))] + "/profile" }
	page := func() string {
		return fmt.Sprintf("/customer/%s/bookings?startDate=2025-01-01&pageSize=30&page=%d", w.buyers[rand.IntN(len(w.buyers))], rand.IntN(purchases/30))
	}
	var rows []comparison
	for _, kind := range []struct {
		name    string
		measure func(b *testing.B) comparison
	}{
		{"R1 one customer, 32 connections", func(b *testing.B) comparison { return w.points(b, "customer", w.token, 32, 8000, customer) }},
		{"R1 one customer, one connection", func(b *testing.B) comparison { return w.points(b, "customer", w.token, 1, 2000, customer) }},
		{"R2 a page of 30 transactions", func(b *testing.B) comparison { return w.points(b, "booking", w.buyersToken, 8, 1500, page) }},
		{"R3 all customers", w.document},
	} {
		b.Run(kind.name, func(b *testing.B) {
			c := kind.measure(b)
			c.name = kind.name
			c.report(b)
			rows = append(rows, c)
		})
	}
	printComparisons(rows)
}

// comparison is what a kind of request costs the platform and m.
type comparison struct {
	name         string
	ours, theirs measured
}

func (c *comparison) cpu() float64  { return c.ours.each(c.ours.cpu()) / c.theirs.each(c.theirs.cpu()) }
func (c *comparison) p50() float64  { return float64(c.ours.median()) / float64(c.theirs.median()) }
func (c *comparison) rate() float64 { return c.ours.rate() / c.theirs.rate() }

func (c *comparison) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(c.cpu(), "cpu/m")
	b.ReportMetric(c.p50(), "p50/m")
	b.ReportMetric(c.rate(), "rate/m")
	b.ReportMetric(float64(c.ours.bytes)/float64(len(c.ours.took)), "B/answer")
	b.ReportMetric(float64(c.theirs.bytes)/float64(len(c.theirs.took)), "m-B/answer")
}

// printComparisons prints the ratios, and the processor time of each part for one request.
func printComparisons(rows []comparison) {
	fmt.Printf("\n| ÷ M | processor time | p50 | rate | gateway, ms | service, ms | PostgreSQL, ms | M, ms | its PostgreSQL, ms |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range rows {
		fmt.Printf("| %s | %.2f | %.2f | %.2f |", c.name, c.cpu(), c.p50(), c.rate())
		for _, m := range []measured{c.ours, c.theirs} {
			for _, part := range m.parts {
				fmt.Printf(" %.3g |", m.each(part))
			}
		}
		fmt.Println()
	}
}

// points compares requests for random objects of one kind.
func (w *world) points(b *testing.B, service, token string, connections, requests int, path func() string) (c comparison) {
	platform, m := w.platform(service), w.baseline()
	w.load(b, platform, token, connections, requests/4, path) // warm up
	w.load(b, m, token, connections, requests/4, path)
	for b.Loop() {
		c.ours.add(w.load(b, platform, token, connections, requests, path))
		c.theirs.add(w.load(b, m, token, connections, requests, path))
	}
	return c
}

// measured is the cost of some load.
type measured struct {
	parts []time.Duration // processor time of each part of a side, and of PostgreSQL
	whole time.Duration   // elapsed
	bytes int64
	took  []time.Duration // duration of each request
}

func (m *measured) add(o measured) {
	m.parts = sum(m.parts, o.parts)
	m.whole += o.whole
	m.bytes += o.bytes
	m.took = append(m.took, o.took...)
}

// sum adds the times of parts; a missing one is zero.
func sum(a, b []time.Duration) []time.Duration {
	all := make([]time.Duration, max(len(a), len(b)))
	for i := range all {
		for _, parts := range [][]time.Duration{a, b} {
			if i < len(parts) {
				all[i] += parts[i]
			}
		}
	}
	return all
}

// cpu returns the processor time of all parts.
func (m *measured) cpu() (all time.Duration) {
	for _, part := range m.parts {
		all += part
	}
	return all
}

// each returns the part of a time that one request has, in milliseconds.
func (m *measured) each(d time.Duration) float64 { return d.Seconds() * 1000 / float64(len(m.took)) }

// rate returns the requests per second.
func (m *measured) rate() float64 { return float64(len(m.took)) / m.whole.Seconds() }

func (m *measured) median() time.Duration { return median(m.took) }

// load makes requests over the given number of connections.
func (w *world) load(b *testing.B, s side, token string, connections, requests int, path func() string) (m measured) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var bytes atomic.Int64
	before := w.cpu(b, s)
	m.took, m.whole = atOnce(b, connections, requests, func(int) error {
		n, err := get(b.Context(), transport, s.url+path(), token)
		bytes.Add(n)
		return err
	})
	m.parts, m.bytes = minus(w.cpu(b, s), before), bytes.Load()
	return m
}

// minus returns what was added to the times of parts.
func minus(after, before []time.Duration) []time.Duration {
	added := slices.Clone(after)
	for i := range added {
		added[i] -= before[i]
	}
	return added
}

// document compares the list of all customers, read as fast as it arrives.
func (w *world) document(b *testing.B) (c comparison) {
	platform, m := w.platform("customer"), w.baseline()
	for _, s := range []side{platform, m} { // warm up
		w.read(b, s)
	}
	var oursFirst, theirsFirst []time.Duration
	for b.Loop() {
		all, first := w.read(b, platform)
		c.ours.add(all)
		oursFirst = append(oursFirst, first)
		all, first = w.read(b, m)
		c.theirs.add(all)
		theirsFirst = append(theirsFirst, first)
	}
	b.ReportMetric(ms(median(oursFirst)), "ms-first-byte")
	b.ReportMetric(ms(median(theirsFirst)), "m-ms-first-byte")
	b.ReportMetric(float64(c.ours.bytes)/c.ours.whole.Seconds()/1e6, "MB/s")
	b.ReportMetric(float64(highWater(b, w.Part("gateway-a-1").PID()))/(1<<20), "MB-gateway")
	b.ReportMetric(float64(highWater(b, w.Part("customer").PID()))/(1<<20), "MB-customer")
	return c
}

// read reads the whole list once.
func (w *world) read(b *testing.B, s side) (all measured, first time.Duration) {
	transport := &http.Transport{DisableCompression: true, ReadBufferSize: 256 << 10}
	defer transport.CloseIdleConnections()
	req, err := request(b.Context(), s.url+"/customers", w.token)
	if err != nil {
		b.Fatal(err)
	}
	before, began := w.cpu(b, s), time.Now()
	res, err := transport.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	head := make([]byte, 256)
	if _, err := io.ReadFull(res.Body, head); err != nil {
		b.Fatal(err)
	}
	first = time.Since(began)
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, make([]byte, 256<<10))
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatal(res.Status, err)
	}
	took := time.Since(began)
	return measured{parts: minus(w.cpu(b, s), before), whole: took, bytes: n + int64(len(head)), took: []time.Duration{took}}, first
}
