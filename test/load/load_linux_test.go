package load

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPlatform reports each cost of the platform as a multiple of the cost of command m.
func BenchmarkPlatform(b *testing.B) {
	w := newWorld(b)
	customer := func() string { return "/customer/" + w.customers[rand.IntN(len(w.customers))] + "/profile" }
	page := func() string {
		return fmt.Sprintf("/customer/%s/bookings?startDate=2025-01-01&pageSize=30&page=%d", w.buyers[rand.IntN(len(w.buyers))], rand.IntN(purchases/30))
	}
	b.Run("R1 one customer, 32 connections", func(b *testing.B) { w.points(b, "customer", w.token, 32, 8000, customer) })
	b.Run("R1 one customer, one connection", func(b *testing.B) { w.points(b, "customer", w.token, 1, 2000, customer) })
	b.Run("R2 a page of 30 transactions", func(b *testing.B) { w.points(b, "booking", w.buyersToken, 8, 1500, page) })
	b.Run("R3 all customers", w.document)
}

// points compares requests for random objects of one kind.
func (w *world) points(b *testing.B, service, token string, connections, requests int, path func() string) {
	platform, m := w.platform(service), w.baseline()
	w.load(b, platform, token, connections, requests/4, path) // warm up
	w.load(b, m, token, connections, requests/4, path)
	var ours, theirs measured
	for b.Loop() {
		ours.add(w.load(b, platform, token, connections, requests, path))
		theirs.add(w.load(b, m, token, connections, requests, path))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours.cpu)/float64(theirs.cpu), "cpu/m")
	b.ReportMetric(float64(ours.median())/float64(theirs.median()), "p50/m")
	b.ReportMetric(float64(ours.bytes)/float64(len(ours.took)), "B/answer")
	b.ReportMetric(float64(theirs.bytes)/float64(len(theirs.took)), "m-B/answer")
}

// measured is the cost of some load.
type measured struct {
	cpu   time.Duration
	bytes int64
	took  []time.Duration // duration of each request
}

func (m *measured) add(o measured) {
	m.cpu += o.cpu
	m.bytes += o.bytes
	m.took = append(m.took, o.took...)
}

func (m *measured) median() time.Duration {
	slices.Sort(m.took)
	return m.took[len(m.took)/2]
}

// load makes requests over the given number of connections.
func (w *world) load(b *testing.B, s side, token string, connections, requests int, path func() string) measured {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	var left, bytes atomic.Int64
	left.Store(int64(requests))
	took := make([][]time.Duration, connections)
	before := w.cpu(b, s)
	for i := range connections {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				n, err := get(b.Context(), transport, s.url+path(), token)
				if err != nil {
					b.Error(err)
					return
				}
				bytes.Add(n)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return measured{cpu: w.cpu(b, s) - before, bytes: bytes.Load(), took: slices.Concat(took...)}
}

// get makes a request, returns an error unless the answer is 200, and returns the length of its
// body.
func get(ctx context.Context, transport *http.Transport, url, token string) (int64, error) {
	req, err := request(ctx, url, token)
	if err != nil {
		return 0, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &unexpected{url: url, res: res}
	}
	return n, err
}

// document compares the list of all customers, read as fast as it arrives.
func (w *world) document(b *testing.B) {
	platform, m := w.platform("customer"), w.baseline()
	for _, s := range []side{platform, m} { // warm up
		w.read(b, s)
	}
	var ours, theirs measured
	var oursFirst, theirsFirst measured
	for b.Loop() {
		all, first := w.read(b, platform)
		ours.add(all)
		oursFirst.took = append(oursFirst.took, first)
		all, first = w.read(b, m)
		theirs.add(all)
		theirsFirst.took = append(theirsFirst.took, first)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.rate()/theirs.rate(), "MBps/m")
	b.ReportMetric(float64(ours.cpu)/float64(ours.bytes)/(float64(theirs.cpu)/float64(theirs.bytes)), "cpu/m")
	b.ReportMetric(float64(oursFirst.median().Microseconds())/1000, "ms-first-byte")
	b.ReportMetric(float64(theirsFirst.median().Microseconds())/1000, "m-ms-first-byte")
	b.ReportMetric(ours.rate()/1e6, "MB/s")
	b.ReportMetric(float64(highWater(b, w.Part("gateway-a-1").PID()))/(1<<20), "MB-gateway")
	b.ReportMetric(float64(highWater(b, w.Part("customer").PID()))/(1<<20), "MB-customer")
}

// rate returns the throughput in bytes per second.
func (m *measured) rate() float64 {
	var sum time.Duration
	for _, t := range m.took {
		sum += t
	}
	return float64(m.bytes) / sum.Seconds()
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
	return measured{cpu: w.cpu(b, s) - before, bytes: n + int64(len(head)), took: []time.Duration{time.Since(began)}}, first
}
