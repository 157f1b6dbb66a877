package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const costClients = 32

// BenchmarkCosts reports what one request costs in every process of the platform, with one
// process per service and a PostgreSQL that waits for the disk: the processor time of each
// process (µs), and the bytes added to PostgreSQL's write-ahead log, to its databases, and to
// JetStream's files. Everything that a request causes is included: events, copies, deliveries.
// Unlike durations, processor time hardly depends on how busy the machine is.
//
// 32 clients make the requests; the rows "one at a time" have one client. Their costs include what
// the platform uses in that time without requests. The row "idle" is one second of that.
//
// It prints the tables of docs/SCALING.md.
func BenchmarkCosts(b *testing.B) {
	w := newLedger(b)
	var rows []costRow
	b.Run("idle", func(b *testing.B) {
		w.settle(b)
		vacuum(b, w.Cluster, "auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook")
		if _, err := w.admin.Exec(b.Context(), `checkpoint`); err != nil {
			b.Fatal(err)
		}
		before, began := w.state(b), time.Now()
		for b.Loop() {
			<-time.After(10 * time.Second)
		}
		rows = append(rows, w.report(b, "one second without requests", before, time.Since(began).Seconds()))
	})
	for _, kind := range w.kinds() {
		b.Run(kind.name, func(b *testing.B) {
			atOnce(b, kind.clients, kind.requests/4, kind.do) // warm up
			w.settle(b)
			before := w.state(b)
			for b.Loop() {
				atOnce(b, kind.clients, kind.requests, kind.do)
				w.settle(b)
			}
			rows = append(rows, w.report(b, kind.name, before, float64(kind.requests*b.N)))
		})
	}
	printCosts(rows)
}

// costKind is a kind of request.
type costKind struct {
	name              string
	clients, requests int
	do                func(client int) error
}

func (w *ledger) kinds() []costKind {
	spread, hot, pass := w.books(w.spread, "CARD"), w.books(w.hot, "CARD"), w.books(w.spread, "PASS")
	return []costKind{
		{"A: a token", costClients, 200, w.tokenOfA},
		{"A: one customer", costClients, 6000, w.profile},
		{"A: a page of 30 transactions", costClients, 2000, w.page},
		{"B: a page of 25 events", costClients, 2000, w.events},
		{"B: a booking by card, spread over 400 dates", costClients, 3000, spread},
		{"B: a booking by card, all of one date", costClients, 3000, hot},
		{"B: a booking by pass", costClients, 2000, pass},
		{"B: a booking by card, with one webhook endpoint", costClients, 2000, w.bookTold},
		{"B: a booking by card, spread over 400 dates, one at a time", 1, 400, spread},
		{"B: a booking by card, all of one date, one at a time", 1, 400, hot},
		{"B: a booking by pass, one at a time", 1, 400, pass},
	}
}

// ledger is the platform, and a company whose customers read and book.
type ledger struct {
	*newsroom
	*studio
	client    harness.Credential
	tokenA    string
	told      *publisher
	toldToken []string
}

func newLedger(b *testing.B) *ledger {
	w := &ledger{newsroom: newNewsroomOf(b, harness.ClusterOptions{Webhooks: 1, GatewaysB: 1, OwnNATS: true})}
	w.studio = newStudio(b, w.op, w.GatewaysB[0], studioSize{dates: studioDates, customers: 2000, clients: costClients})
	w.client = w.company.NewClient(b)
	w.tokenA = w.A(b).Token(b, w.client)
	w.history(b)
	w.told = w.newPublisher(b, 1, 0)
	face := harness.NewB(b, w.baseB)
	for range costClients { // one key for each client, because a key has a rate limit
		w.toldToken = append(w.toldToken, face.Token(b, w.told.company.NewKey(b, 10_000)))
	}
	return w
}

// history gives the first hundred customers the purchases that the benchmarks read.
func (w *ledger) history(b *testing.B) {
	began := time.Date(2025, 1, 6, 9, 0, 0, 0, time.UTC)
	var all []*bookingv1.ImportedTransaction
	for i, buyer := range w.customers[:100] {
		for n := range purchases {
			at := began.Add(time.Duration(n) * time.Hour)
			all = append(all, &bookingv1.ImportedTransaction{
				Reference: fmt.Sprint(i, "-", n), Customer: buyer, PurchasedAt: timestamppb.New(at),
				Bookings: []*bookingv1.ImportedBooking{importedBooking(fmt.Sprint("class", n), at.AddDate(0, 0, 1))},
			})
		}
	}
	w.company.ImportTransactions(b, all...)
}

func (w *ledger) tokenOfA(int) error {
	r := harness.TokenRequest(w.client)
	a := harness.A{BaseURL: w.BaseURL, Transport: w.transport}
	answer, err := a.Try(context.Background(), r)
	if err != nil {
		return err
	}
	return answer.Want(http.StatusOK, nil)
}

func (w *ledger) profile(int) error {
	_, err := get(context.Background(), w.transport, w.BaseURL+"/customer/"+w.customer()+"/profile", w.tokenA)
	return err
}

func (w *ledger) page(int) error {
	path := fmt.Sprintf("/customer/%s/bookings?startDate=2025-01-01&pageSize=30&page=%d", w.customers[rand.IntN(100)], rand.IntN(purchases/30))
	_, err := get(context.Background(), w.transport, w.BaseURL+path, w.tokenA)
	return err
}

func (w *ledger) events(int) error {
	path := fmt.Sprintf("/events?page=%d", 1+rand.IntN(studioDates/25))
	_, err := get(context.Background(), w.transport, w.GatewaysB[0]+path, w.token())
	return err
}

// books returns a function that buys one space.
func (w *ledger) books(event func() string, method string) func(int) error {
	return func(int) error { return w.book(context.Background(), event(), method, withoutKey) }
}

func (w *ledger) bookTold(client int) error {
	body := fmt.Sprintf(`{"customerId":%q,"spots":1}`, w.told.customer)
	return post(context.Background(), w.transport, w.GatewaysB[0]+"/events/"+w.told.event+"/registrations", w.toldToken[client], "", body)
}

// settle returns when all follow-up work is done.
func (w *ledger) settle(b *testing.B) {
	b.Helper()
	w.awaitPublished(b)
	w.awaitLog(b)
}

// state returns the resources used so far, by the unit in which they are reported.
func (w *ledger) state(b *testing.B) map[string]float64 {
	b.Helper()
	s := map[string]float64{}
	for unit, part := range map[string]string{
		"gateway-a": "gateway-a-1", "gateway-b": "gateway-b-1", "auth": "auth", "customer": "customer", "booking": "booking", "pass": "pass", "subscription": "subscription", "media": "media", "reports": "reports", "webhook": "webhook",
	} {
		s["µs-"+unit] = float64(harness.ProcessorTime(b, w.Part(part).PID()).Microseconds())
	}
	s["µs-nats"] = float64(harness.ProcessorTime(b, w.NATS.PID()).Microseconds())
	s["µs-postgres"] = float64(harness.ProcessorTimeOfTree(b, w.Postgres.PID(b)).Microseconds())
	var wal, size float64
	err := w.admin.QueryRow(b.Context(), `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8,
		(select sum(pg_database_size(oid)) from pg_database where not datistemplate)::float8`).Scan(&wal, &size)
	if err != nil {
		b.Fatal(err)
	}
	s["B-wal"], s["B-databases"], s["B-streams"] = wal, size, files(b, w.NATS.Dir())
	return s
}

// files returns the total size of the files below a directory, in bytes.
func files(b *testing.B, dir string) (sum float64) {
	err := filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if os.IsNotExist(err) {
			return nil // the server may delete a file at any time
		}
		if err == nil {
			sum += float64(info.Size())
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}

// costRow is what one request, or one idle second, uses: the difference between two states.
type costRow struct {
	name string
	used map[string]float64 // by unit
}

// report reports the resources that n requests have used since before.
func (w *ledger) report(b *testing.B, name string, before map[string]float64, n float64) costRow {
	row := costRow{name: name, used: w.state(b)}
	all := 0.0
	for unit, value := range row.used {
		row.used[unit] = (value - before[unit]) / n
		if strings.HasPrefix(unit, "µs-") {
			all += row.used[unit]
		}
	}
	row.used["µs-all"] = all
	for unit, value := range row.used {
		b.ReportMetric(value, unit)
	}
	b.ReportMetric(0, "ns/op")
	return row
}

// cell returns the sum of some amounts for a table, rounded to three digits, or a dash.
func (r costRow) cell(units ...string) string {
	sum := 0.0
	for _, unit := range units {
		sum += r.used[unit]
	}
	n, err := strconv.ParseFloat(strconv.FormatFloat(sum, 'g', 3, 64), 64)
	switch {
	case err != nil || n < 5:
		return "–"
	case n < 1000:
		return strconv.Itoa(int(n))
	}
	return fmt.Sprintf("%d,%03d", int(n)/1000, int(n)%1000)
}

func printCosts(rows []costRow) {
	fmt.Println("\n| request | gateway | auth | customer | booking | pass | webhook | NATS | PostgreSQL | **total** | log, B | databases, B | streams, B |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, row := range rows {
		fmt.Printf("| %s | %s |", row.name, row.cell("µs-gateway-a", "µs-gateway-b"))
		for _, unit := range []string{"µs-auth", "µs-customer", "µs-booking", "µs-pass", "µs-webhook", "µs-nats", "µs-postgres"} {
			fmt.Printf(" %s |", row.cell(unit))
		}
		fmt.Printf(" **%s** | %s | %s | %s |\n", row.cell("µs-all"), row.cell("B-wal"), row.cell("B-databases"), row.cell("B-streams"))
	}
}

// BenchmarkLimits reports the throughput of one PostgreSQL server and of one stream on this
// machine. PostgreSQL gets commits of one small row each from 64 concurrent sessions, which share
// the waits for the disk. The stream gets events of the size of a confirmed booking.
func BenchmarkLimits(b *testing.B) {
	const sessions, commits, events, eventSize = 64, 10_000, 50_000, 900
	w := newNewsroomOf(b, harness.ClusterOptions{OwnNATS: true})
	b.Run("commits, 64 sessions", func(b *testing.B) {
		rows := make([]*pgx.Conn, sessions)
		for i := range rows {
			conn, err := pgx.Connect(b.Context(), w.OwnerURL("booking"))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(context.WithoutCancel(b.Context()))
			rows[i] = conn
		}
		if _, err := rows[0].Exec(b.Context(), `create table if not exists commits (n int)`); err != nil {
			b.Fatal(err)
		}
		var took time.Duration
		for b.Loop() {
			_, whole := atOnce(b, sessions, commits, func(i int) error {
				_, err := rows[i].Exec(b.Context(), `insert into commits values (1)`)
				return err
			})
			took += whole
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(commits*b.N)/took.Seconds(), "commits/s")
	})
	b.Run("events into one stream", func(b *testing.B) {
		var took time.Duration
		before := harness.ProcessorTime(b, w.NATS.PID())
		for b.Loop() {
			took += publish(b, w.NATS.URL(), events, eventSize)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(events*b.N)/took.Seconds(), "events/s")
		b.ReportMetric(float64((harness.ProcessorTime(b, w.NATS.PID())-before).Microseconds())/float64(events*b.N), "µs-nats")
	})
}
