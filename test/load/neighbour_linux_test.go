package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/localca"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

const (
	// neighbourSlice is the duration of one load's part of a round. Every load has two.
	neighbourSlice = 3 * time.Second
	// neighbourAllowance is how much longer than alone a median may be on any machine.
	neighbourAllowance = 6 * time.Millisecond
)

// BenchmarkNeighbour loads the standalone program for one company as much as it can, while another
// company reads an event and books, one request at a time. It reports how long the other company's
// requests take, as multiples of the median without any load, and of the 99th percentile during a
// load of reads. A round is a slice of every load, and then the same in reverse order.
//
// LOAD_CLIENTS, LOAD_ROWS and LOAD_PROFILES apply as in BenchmarkPurchases. The two loads to which
// the others are compared are always measured.
func BenchmarkNeighbour(b *testing.B) {
	n := newNeighbourhood(b)
	rows := n.rows(b)
	b.Run(fmt.Sprint(n.clients, " clients"), func(b *testing.B) {
		for b.Loop() {
			for _, row := range rows {
				n.measure(b, row)
			}
			for _, row := range slices.Backward(rows) {
				n.measure(b, row)
			}
		}
		b.ReportMetric(0, "ns/op")
		for _, r := range rows[1:] {
			name := strings.ReplaceAll(r.name, " ", "-")
			b.ReportMetric(r.reads.above(rows[0].reads), "x-event-"+name)
			b.ReportMetric(r.bookings.above(rows[0].bookings), "x-booking-"+name)
		}
	})
	printNeighbours(rows)
}

// neighbourhood is the standalone program with a busy studio, and a quiet one.
type neighbourhood struct {
	*sale
	quiet     *studio
	tokenA    string // the busy studio's
	op        webhookv1.WebhookServiceClient
	delivered atomic.Int64
}

func newNeighbourhood(b *testing.B) *neighbourhood {
	n := &neighbourhood{sale: newSale(b)}
	op := n.Operator(b)
	n.quiet = newStudio(b, op, n.baseB, studioSize{dates: 40, customers: 40, clients: 1})
	n.company.ImportCustomers(b, "reader", 20_000)
	n.tokenA = n.A(b).Token(b, n.company.NewClient(b))
	n.op = op.Webhooks
	return n
}

// neighbourRow is a load of the busy company, and how long the quiet company's requests took during it.
type neighbourRow struct {
	name    string
	clients int
	// do makes one request, and returns how many units of work it did.
	do func(ctx context.Context, client int) (int64, error)

	reads, bookings                  latencies
	units, refused                   int64
	took, program, databases, client time.Duration // elapsed, and processor time
}

// rows returns the loads that LOAD_ROWS selects, after those to which they are compared.
func (n *neighbourhood) rows(b *testing.B) []*neighbourRow {
	selected, err := regexp.Compile(os.Getenv("LOAD_ROWS"))
	if err != nil {
		b.Fatal(err)
	}
	rows := []*neighbourRow{
		{name: "nothing"},
		{name: "reads of an event", clients: n.clients, do: n.read},
		{name: "a hot date with keys", clients: n.clients, do: n.buy(n.hot, "CARD")},
		{name: "passes with keys", clients: n.clients, do: n.buy(n.spread, "PASS")},
		{name: "imports", clients: 4, do: n.imports},
		{name: "lists of everything", clients: 8, do: n.lists},
		{name: "webhook replays", clients: 2, do: n.replays},
	}
	rows = slices.DeleteFunc(rows, func(r *neighbourRow) bool {
		return r != rows[0] && r != rows[1] && !selected.MatchString(r.name)
	})
	if slices.ContainsFunc(rows, func(r *neighbourRow) bool { return r.name == "webhook replays" }) {
		n.fillLog(b)
	}
	return rows
}

func (n *neighbourhood) read(ctx context.Context, _ int) (int64, error) {
	_, err := get(ctx, n.transport, n.baseB+"/events/"+n.hot(), n.token())
	return 1, err
}

func (n *neighbourhood) buy(event func() string, method string) func(context.Context, int) (int64, error) {
	return func(ctx context.Context, _ int) (int64, error) { return 1, n.book(ctx, event(), method, withKey) }
}

// imports imports a batch of customers or of purchases.
func (n *neighbourhood) imports(ctx context.Context, client int) (int64, error) {
	const batch = 500
	first := n.next.Add(batch)
	ctx = n.company.Ctx(ctx)
	if client%2 == 0 {
		req := &customerv1.ImportCustomersRequest{}
		for i := range batch {
			ref := fmt.Sprint("import", first+int64(i))
			req.Customers = append(req.Customers, &customerv1.ImportedCustomer{
				Reference: ref, FirstName: "Zoë", LastName: ref, Email: ref + "@example.com",
			})
		}
		stream, err := n.company.Operator().Customers.ImportCustomers(ctx)
		return batch, exchange(stream, err, req)
	}
	req := &bookingv1.ImportTransactionsRequest{}
	for i := range batch {
		ref := fmt.Sprint("import", first+int64(i))
		at := time.Date(2025, 1, 6, 9, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour)
		req.Transactions = append(req.Transactions, &bookingv1.ImportedTransaction{
			Reference: ref, Customer: n.customer(), PurchasedAt: timestamppb.New(at),
			Bookings: []*bookingv1.ImportedBooking{importedBooking(fmt.Sprint("class", i), at.AddDate(0, 0, 1))},
		})
	}
	stream, err := n.company.Operator().Bookings.ImportTransactions(ctx)
	return batch, exchange(stream, err, req)
}

// importedBooking returns a booking of a past class.
func importedBooking(reference string, at time.Time) *bookingv1.ImportedBooking {
	return &bookingv1.ImportedBooking{
		Spaces: 1, PricingOptionName: "Drop-in",
		Date: &bookingv1.ImportedBooking_ImportedDate{ImportedDate: &bookingv1.ImportedDate{
			EventReference: reference, Title: "Morning Vinyasa", Type: bookingv1.EventType_EVENT_TYPE_CLASS,
			StartsAt: timestamppb.New(at), Timezone: "Europe/London", DurationMinutes: 60,
		}},
		Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1200, Net: 1000}},
	}
}

// exchange sends one batch over a new stream, and returns when it is stored.
func exchange[Req, Res any](stream grpc.BidiStreamingClient[Req, Res], err error, req *Req) error {
	if err != nil {
		return err
	}
	if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("end of the import: %w", err)
	}
	return nil
}

// lists reads the list of all customers, or a page of events.
func (n *neighbourhood) lists(ctx context.Context, client int) (int64, error) {
	if client%2 == 0 {
		_, err := get(ctx, n.transport, n.BaseURL+"/customers", n.tokenA)
		return 1, err
	}
	_, err := get(ctx, n.transport, fmt.Sprintf("%s/events?page=%d", n.baseB, 1+mathrand.IntN(len(n.dates)/25)), n.token())
	return 1, err
}

// fillLog makes deliveries that can be replayed.
func (n *neighbourhood) fillLog(b *testing.B) {
	const endpoints, bookings = 10, 200
	ca, err := localca.Load(filepath.Join(n.Dir, "webhook-ca.pem"))
	if err != nil {
		b.Fatal(err)
	}
	certificate, err := ca.Issue(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // a broken connection is the sender's to report
		n.delivered.Add(1)
		rw.WriteHeader(http.StatusNoContent)
	}))
	receiver.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	receiver.StartTLS()
	b.Cleanup(receiver.Close)
	var ids []string
	for i := range endpoints {
		id, _ := n.company.NewEndpoint(b, receiver.URL+"/"+strconv.Itoa(i))
		ids = append(ids, id)
	}
	atOnce(b, 8, bookings, func(int) error { return n.book(b.Context(), n.hot(), "CARD", withoutKey) })
	harness.Eventually(b, patience, func() error {
		if got := n.delivered.Load(); got < endpoints*bookings {
			return fmt.Errorf("%d of %d deliveries have arrived", got, endpoints*bookings)
		}
		return nil
	})
	// The bookings of the other loads are not delivered: nobody buys a pass.
	ctx := n.company.Ctx(b.Context())
	for _, id := range ids {
		if _, err := n.op.UpdateEndpoint(ctx, &webhookv1.UpdateEndpointRequest{
			Id: id, Events: &webhookv1.EventTypes{Types: []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}},
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// replays replays the deliveries in the log, and returns how many.
func (n *neighbourhood) replays(ctx context.Context, _ int) (int64, error) {
	ctx = n.company.Ctx(ctx)
	filter := &webhookv1.DeliveryFilter{State: webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED}
	counted, err := n.op.CountDeliveries(ctx, &webhookv1.CountDeliveriesRequest{Filter: filter})
	if err != nil {
		return 0, err
	}
	replayed, err := n.op.ReplayDeliveries(ctx, &webhookv1.ReplayDeliveriesRequest{Filter: filter, AsOf: counted.GetAsOf()})
	return replayed.GetReplayed(), err
}

// measure adds one slice of a row.
func (n *neighbourhood) measure(b *testing.B, row *neighbourRow) {
	n.settle(b)
	program, databases, client, began := harness.ProcessorTime(b, n.PID()), harness.ProcessorTimeOfTree(b, n.postgres.PID(b)), ownCPU(b), time.Now()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	profiled := n.profile(b, row.name, neighbourSlice)
	var done atomic.Bool
	concurrently(b, row.clients+1, func(client int, failed func() bool) error {
		if client == row.clients { // the quiet company
			defer done.Store(true)
			<-time.After(neighbourSlice / 10) // until the load is at its height
			for since := time.Now(); time.Since(since) < neighbourSlice && !failed(); {
				if err := n.serve(ctx, row); err != nil {
					return err
				}
			}
			return nil
		}
		for !done.Load() {
			if err := row.request(ctx, client); err != nil {
				return err
			}
		}
		return nil
	})
	row.took += time.Since(began)
	row.program += harness.ProcessorTime(b, n.PID()) - program
	row.databases += harness.ProcessorTimeOfTree(b, n.postgres.PID(b)) - databases
	row.client += ownCPU(b) - client
	profiled.Wait()
}

// request makes one request of the load. The platform may refuse a request of a company that
// exceeds its share with a 503. The client then waits as long as the answer says.
func (r *neighbourRow) request(ctx context.Context, client int) error {
	units, err := r.do(ctx, client)
	var answer *unexpected
	if errors.As(err, &answer) && answer.res.StatusCode == http.StatusServiceUnavailable {
		atomic.AddInt64(&r.refused, 1)
		after, err := strconv.Atoi(answer.res.Header.Get("Retry-After"))
		if err != nil {
			return errors.Join(answer, err)
		}
		select {
		case <-time.After(min(time.Duration(after)*time.Second, neighbourSlice)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	atomic.AddInt64(&r.units, units)
	return err
}

// serve lets the quiet company read an event and book, and adds how long both took.
func (n *neighbourhood) serve(ctx context.Context, row *neighbourRow) error {
	event := n.quiet.spread()
	began := time.Now()
	if _, err := get(ctx, n.quiet.transport, n.quiet.baseB+"/events/"+event, n.quiet.token()); err != nil {
		return err
	}
	read := time.Now()
	if err := n.quiet.book(ctx, event, "CARD", withKey); err != nil {
		return err
	}
	row.reads = append(row.reads, read.Sub(began))
	row.bookings = append(row.bookings, time.Since(read))
	return nil
}

// latencies are durations of requests.
type latencies []time.Duration

// quantile returns the duration below which the given share of the requests, in percent, was
// answered.
func (l latencies) quantile(percent int) time.Duration {
	slices.Sort(l)
	return l[len(l)*percent/100]
}

// above returns the part of the median above the allowance, as a multiple of another median.
func (l latencies) above(alone latencies) float64 {
	return float64(max(0, l.quantile(50)-neighbourAllowance)) / float64(alone.quantile(50))
}

// printNeighbours prints the tables of docs/SCALING.md.
func printNeighbours(rows []*neighbourRow) {
	fmt.Printf("\n| during another company's … | request | median, ms | ÷ alone | (median − %d ms) ÷ alone | p99, ms | ÷ p99 during reads | requests |\n"+
		"|---|---|---|---|---|---|---|---|\n", neighbourAllowance.Milliseconds())
	of := map[string]func(*neighbourRow) latencies{
		"an event":  func(r *neighbourRow) latencies { return r.reads },
		"a booking": func(r *neighbourRow) latencies { return r.bookings },
	}
	for _, request := range []string{"an event", "a booking"} {
		alone, reads := of[request](rows[0]), of[request](rows[1])
		for _, r := range rows {
			l := of[request](r)
			if len(l) == 0 {
				return // the benchmark did not run
			}
			fmt.Printf("| %s | %s | %.1f | %.1f | %.1f | %.1f | %.1f | %d |\n", r.name, request,
				ms(l.quantile(50)), float64(l.quantile(50))/float64(alone.quantile(50)), l.above(alone),
				ms(l.quantile(99)), float64(l.quantile(99))/float64(reads.quantile(99)), len(l))
		}
	}
	fmt.Printf("\n| the other company | clients | units/s | refused | cores: program | PostgreSQL | clients |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		cores := func(d time.Duration) float64 { return d.Seconds() / r.took.Seconds() }
		fmt.Printf("| %s | %d | %.0f | %d | %.2f | %.2f | %.2f |\n", r.name, r.clients,
			float64(r.units)/r.took.Seconds(), r.refused, cores(r.program), cores(r.databases), cores(r.client))
	}
}
