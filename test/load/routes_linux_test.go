package load

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	routeClients = 16
	routeReads   = 384 // of each route in a round
	routeWrites  = 192
)

// BenchmarkRoutes reports the processor time of the edge for one request of every operation, and the
// processor time of everything behind the edge, which is the cost of the RPC. Both are ratios to a
// reference of the same kind: reading a customer, reading a page of 25 events, or changing a customer.
// It also reports the number of RPCs that the services served for one request.
//
// Each process of the platform is measured separately. A round takes every route once. The ratios are
// those of the least costs of all rounds, because other work on the machine only adds to them.
// LOAD_ROWS selects routes by a regular expression. It prints the table of docs/SCALING.md.
func BenchmarkRoutes(b *testing.B) {
	w := newRouteWorld(b)
	selected, err := regexp.Compile(os.Getenv("LOAD_ROWS"))
	if err != nil {
		b.Fatal(err)
	}
	rows := slices.DeleteFunc(routeTable(), func(r route) bool { return !r.isReference() && !selected.MatchString(r.String()) })
	costs := make([][]routeCost, len(rows))
	w.round(b, rows) // warm up
	for b.Loop() {
		for i, c := range w.round(b, rows) {
			costs[i] = append(costs[i], c)
		}
	}
	b.ReportMetric(0, "ns/op")
	printRoutes(rows, costs)
}

// route is a request that is measured. In its path and body, {pool} stands for any identifier of a
// pool, {pool!} for one that is then removed from it, {n} for a new number, {start} for a new time, and
// {slot} for the start of a new slot.
type route struct {
	gateway, method, path, body string
	makes                       string // the pool that gets the identifier in the response
	most                        int    // writes in a round; 0 means routeWrites
	test                        bool   // in test mode
}

func (r route) String() string {
	face := "A"
	if r.gateway == gatewayB {
		face = "B"
	}
	return face + " " + r.method + " " + r.template()
}

var (
	placeholder = regexp.MustCompile(`\{(\w+)(!?)\}`)
	responseID  = regexp.MustCompile(`"(?:id|deliveryId)":"([^"]+)"`)
	list        = regexp.MustCompile(`(?:s|ledger|media|history)$`)
)

// template returns the path without its query, with {} for each identifier.
func (r route) template() string {
	path, _, _ := strings.Cut(r.path, "?")
	return placeholder.ReplaceAllString(path, "{}")
}

// reference returns the route to which the costs of r are compared.
func (r route) reference() string {
	switch {
	case r.method != http.MethodGet:
		return "B PATCH /customers/{}"
	case list.MatchString(r.template()):
		return "B GET /events"
	}
	return "B GET /customers/{}"
}

func (r route) isReference() bool { return r.String() == r.reference() }

func (r route) requests() int {
	if r.method == http.MethodGet {
		return routeReads
	}
	return cmp.Or(r.most, routeWrites)
}

// routeCost is what one request of a route costs.
type routeCost struct {
	edge, rpc, rpcs, bytes float64 // processor time in µs, numbers
}

// routeWorld is the platform, and a company with data for every route.
type routeWorld struct {
	*newsroom
	transport  *http.Transport
	company    *harness.Company
	tokens     map[string][]string // by gateway
	testTokens []string            // of Interface B in test mode
	start      time.Time
	next       atomic.Int64

	mu    sync.Mutex
	pools map[string][]string
}

// round measures every route once. Before a route, it fills the pools from which the route takes.
func (w *routeWorld) round(b *testing.B, rows []route) []routeCost {
	b.Helper()
	costs := make([]routeCost, len(rows))
	for i, r := range rows {
		w.provide(b, r)
		costs[i] = w.measure(b, r)
	}
	return costs
}

// provide fills the pools from which a route takes identifiers.
func (w *routeWorld) provide(b *testing.B, r route) {
	b.Helper()
	for _, found := range placeholder.FindAllStringSubmatch(r.path+r.body, -1) {
		pool, want := found[1], 1
		if found[2] != "" {
			want = r.requests()
		}
		switch pool {
		case "offer":
			w.offer(b, want)
		case "arrived":
			w.arrive(b, want-len(w.pools[pool]))
		}
		if missing := want - len(w.pools[pool]); !slices.Contains([]string{"n", "start", "slot"}, pool) && missing > 0 {
			maker := w.maker(b, pool)
			w.provide(b, maker)
			atOnce(b, min(routeClients, missing), missing, func(int) error { _, err := w.do(b.Context(), maker); return err })
		}
	}
}

func (w *routeWorld) maker(b *testing.B, pool string) route {
	all := makers()
	i := slices.IndexFunc(all, func(r route) bool { return r.makes == pool })
	if i < 0 {
		b.Fatalf("no route makes a %s", pool)
	}
	return all[i]
}

// measure measures a route without the work that follows from other routes.
func (w *routeWorld) measure(b *testing.B, r route) routeCost {
	b.Helper()
	w.settle(b)
	before, n := w.state(b, r), float64(r.requests())
	var bytes atomic.Int64
	atOnce(b, min(routeClients, r.requests()), r.requests(), func(int) error {
		size, err := w.do(b.Context(), r)
		bytes.Add(size)
		return err
	})
	w.settle(b)
	after := w.state(b, r)
	return routeCost{
		edge: (after.edge - before.edge) / n, rpc: (after.rpc - before.rpc) / n, rpcs: (after.rpcs - before.rpcs) / n, bytes: float64(bytes.Load()) / n,
	}
}

// settle returns when all follow-up work is done.
func (w *routeWorld) settle(b *testing.B) {
	b.Helper()
	w.awaitPublished(b)
	w.awaitLog(b)
}

// state returns the processor time and the number of RPCs so far.
func (w *routeWorld) state(b *testing.B, r route) (c routeCost) {
	b.Helper()
	c.edge = float64(harness.ProcessorTime(b, w.Part(r.gateway).PID()).Microseconds())
	behind := harness.ProcessorTimeOfTree(b, w.Postgres.PID(b)) + harness.ProcessorTime(b, w.NATS.PID())
	for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook"} {
		behind += harness.ProcessorTime(b, w.Part(part).PID())
		c.rpcs += w.rpcs(b, part)
	}
	c.rpc = float64(behind.Microseconds())
	return c
}

// rpcs returns the number of RPCs that a service has served.
func (w *routeWorld) rpcs(b *testing.B, part string) (sum float64) {
	b.Helper()
	res, err := http.Get("http://" + w.Part(part).AdminAddr() + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		labels, value, _ := strings.Cut(lines.Text(), "} ")
		if !strings.HasPrefix(labels, "rpc_server_duration_seconds_count{") || strings.Contains(labels, "Health") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	return sum
}

// do makes a request of a route, and returns the length of the response.
func (w *routeWorld) do(ctx context.Context, r route) (int64, error) {
	n := w.next.Add(1)
	path, body := w.fill(r.path, n), w.fill(r.body, n)
	req, err := http.NewRequestWithContext(ctx, r.method, w.base(r.gateway)+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	tokens := w.tokens[r.gateway]
	if r.test {
		tokens = w.testTokens
	}
	req.Header.Set("Authorization", "Bearer "+tokens[n%int64(len(tokens))])
	req.Header.Set("Content-Type", "application/json")
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode >= 300 {
		return 0, &unexpected{url: r.method + " " + path + " " + body, res: res, body: answer}
	}
	if r.makes != "" {
		if found := responseID.FindSubmatch(answer); found != nil {
			w.add(r.makes, string(found[1]))
		}
	}
	return int64(len(answer)), nil
}

func (w *routeWorld) base(gateway string) string {
	if gateway == gatewayA {
		return w.BaseURL
	}
	return w.GatewaysB[0]
}

// fill replaces the placeholders of a text. Identifiers that are not removed are taken at random.
func (w *routeWorld) fill(text string, n int64) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		switch parts[1] {
		case "n":
			return strconv.FormatInt(n, 10)
		case "start":
			return w.start.Add(time.Duration(n) * time.Minute).Format(time.RFC3339)
		case "slot":
			return w.start.Add(time.Duration(n) * slotMinutes * time.Minute).Format(time.RFC3339)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		pool := w.pools[parts[1]]
		i := rand.IntN(len(pool))
		id := pool[i]
		if parts[2] != "" {
			w.pools[parts[1]] = slices.Delete(pool, i, i+1)
		}
		return id
	})
}

func (w *routeWorld) add(pool string, ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pools[pool] = append(w.pools[pool], ids...)
}

// ratios are the costs of a route as ratios to those of its reference, and the edge's share of all.
type ratios struct{ edge, rpc, share float64 }

// printRoutes prints the ratios of each route, and those of all routes with the same reference.
func printRoutes(rows []route, costs [][]routeCost) {
	all := map[string][]ratios{}
	fmt.Println("\n| operation | edge ÷ reference | RPC ÷ reference | edge ÷ all | RPCs | kB |\n|---|---|---|---|---|---|")
	for i, r := range rows {
		own, ref := least(costs[i]), least(costs[slices.IndexFunc(rows, func(o route) bool { return o.String() == r.reference() })])
		c := ratios{edge: own.edge / ref.edge, rpc: own.rpc / ref.rpc, share: own.edge / (own.edge + own.rpc)}
		all[r.reference()] = append(all[r.reference()], c)
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %.1f |\n", r, c.edge, c.rpc, c.share, own.rpcs, own.bytes/1000)
	}
	fmt.Println("\n| reference | operations | edge ÷ reference | RPC ÷ reference | edge ÷ all |\n|---|---|---|---|---|")
	for _, reference := range slices.Sorted(maps.Keys(all)) {
		c := all[reference]
		fmt.Printf("| %s | %d | %s | %s | %s |\n", reference, len(c),
			spread(c, func(c ratios) float64 { return c.edge }), spread(c, func(c ratios) float64 { return c.rpc }), spread(c, func(c ratios) float64 { return c.share }))
	}
}

// spread returns the least, the median and the largest of some ratios.
func spread(all []ratios, value func(ratios) float64) string {
	values := make([]float64, len(all))
	for i, c := range all {
		values[i] = value(c)
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2f · %.2f · %.2f", values[0], values[len(values)/2], values[len(values)-1])
}

// least returns the least costs of some rounds.
func least(rounds []routeCost) routeCost {
	c := rounds[0]
	for _, o := range rounds[1:] {
		c.edge, c.rpc, c.rpcs, c.bytes = min(c.edge, o.edge), min(c.rpc, o.rpc), min(c.rpcs, o.rpcs), min(c.bytes, o.bytes)
	}
	return c
}
