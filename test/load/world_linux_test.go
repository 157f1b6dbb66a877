// Package load measures the cost of requests to a running platform as ratios to the cost of the
// same requests to command m, a hand-written process over the same databases. Unlike durations,
// ratios are comparable between machines.
//
// Each iteration of a benchmark is one round: some load on the platform and the same load on m,
// in turns, so that other work on the machine affects both. CPU times include the gateway, the
// service and PostgreSQL, or m and PostgreSQL. The load generator is not counted.
package load

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	// listed is the number of customers of the company with the long list.
	listed = 211_000
	// buyers is the number of customers with purchases, purchases the number for each, and
	// bookings the number in each purchase. A page of 30 purchases has about 38 kB.
	buyers    = 200
	purchases = 60
	bookings  = 2
)

// world is the platform and command m.
type world struct {
	*harness.Cluster
	m     *harness.Process
	mURL  string
	token string
	// customers are those of the company with the long list, buyers those of the other company.
	customers, buyers []string
	buyersToken       string
}

func newWorld(b *testing.B) *world {
	w := &world{Cluster: harness.StartCluster(b, harness.ClusterOptions{Durable: pgserver.Fast})}
	op := w.Operator(b)
	c := op.NewCompany(b, "Europe/London")
	w.token = w.A(b).Token(b, c.NewClient(b))
	w.customers = w.fill(b, c.ID)
	c = op.NewCompany(b, "Europe/London")
	w.buyersToken = w.A(b).Token(b, c.NewClient(b))
	w.buyers = c.ImportCustomers(b, "buyer", buyers)
	w.sell(b, c)
	vacuum(b, w.Cluster, "customer", "booking")
	addr := harness.FreeAddr(b)
	w.mURL = "http://" + addr
	w.m = w.NewProcess(b, "m", map[string]string{
		"HTTP_ADDR": addr, "CUSTOMER_DATABASE_URL": w.AppURL("customer"), "BOOKING_DATABASE_URL": w.AppURL("booking"),
	})
	w.m.Start(b)
	a := harness.NewA(b, w.mURL)
	harness.Eventually(b, time.Minute, func() error {
		_, err := a.Try(b.Context(), harness.Request{Path: "/"})
		return err
	})
	return w
}

func owner(b *testing.B, c *harness.Cluster, part string) *pgx.Conn {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), c.OwnerURL(part))
	if err != nil {
		b.Fatal(err)
	}
	return conn
}

// vacuum does what autovacuum would do at some time later.
func vacuum(b *testing.B, c *harness.Cluster, parts ...string) {
	for _, part := range parts {
		conn := owner(b, c, part)
		defer conn.Close(context.WithoutCancel(b.Context()))
		if _, err := conn.Exec(b.Context(), `vacuum (analyze)`); err != nil {
			b.Fatal(err)
		}
	}
}

// fill imports a company's customers, with identifiers in order of time as in production, and
// returns some of their identifiers.
func (w *world) fill(b *testing.B, company string) []string {
	conn := owner(b, w.Cluster, "customer")
	defer conn.Close(context.WithoutCancel(b.Context()))
	c, err := id.Parse[id.Company](company)
	if err != nil {
		b.Fatal(err)
	}
	rows, err := conn.Query(b.Context(), `with added as (
		insert into customers (company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
		select $1, (lpad(to_hex(1700000000000 + i), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid,
			'Zoë ' || i, 'O''Brien-Ångström', 'somebody' || i || '@example.com', '+44 7700 900123', i % 50 = 0, 1, now(), now()
		from generate_series(1, $2) i returning id)
		select id from added where random() < 0.1`, [16]byte(c), listed)
	if err != nil {
		b.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[id.Customer])
	if err != nil {
		b.Fatal(err)
	}
	texts := make([]string, len(ids))
	for i, c := range ids {
		texts[i] = c.String()
	}
	return texts
}

// sell imports the buyers' purchases.
func (w *world) sell(b *testing.B, c *harness.Company) {
	began := time.Date(2025, 1, 6, 9, 0, 0, 0, time.UTC)
	var transactions []*bookingv1.ImportedTransaction
	for i, buyer := range w.buyers {
		for n := range purchases {
			t := &bookingv1.ImportedTransaction{
				Reference: fmt.Sprint(i, "-", n), Customer: buyer, PurchasedAt: timestamppb.New(began.Add(time.Duration(n) * time.Hour)),
			}
			for k := range bookings {
				lesson := (i + n + k) % 500
				t.Bookings = append(t.Bookings, &bookingv1.ImportedBooking{
					Spaces: 1, PricingOptionName: "Drop-in",
					Date: &bookingv1.ImportedBooking_ImportedDate{ImportedDate: &bookingv1.ImportedDate{
						EventReference: fmt.Sprint("class", lesson), Title: "Morning Vinyasa " + strconv.Itoa(lesson),
						Type:     bookingv1.EventType_EVENT_TYPE_CLASS,
						StartsAt: timestamppb.New(began.AddDate(0, 0, lesson)), Timezone: "Europe/London", DurationMinutes: 60,
					}},
					Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1200, Net: 1000}},
				})
			}
			transactions = append(transactions, t)
		}
	}
	c.ImportTransactions(b, transactions...)
}

// side is the platform or m, which are compared.
type side struct {
	url   string
	parts []int // process ids
}

func (w *world) platform(service string) side {
	return side{url: w.BaseURL, parts: []int{w.Part("gateway-a-1").PID(), w.Part(service).PID()}}
}

func (w *world) baseline() side { return side{url: w.mURL, parts: []int{w.m.PID()}} }

// cpu returns the processor time that the parts of a side and then PostgreSQL have used so far.
func (w *world) cpu(b *testing.B, s side) (parts []time.Duration) {
	b.Helper()
	for _, pid := range s.parts {
		parts = append(parts, harness.ProcessorTime(b, pid))
	}
	return append(parts, harness.ProcessorTimeOfTree(b, w.Postgres.PID(b)))
}

// highWater returns the peak memory of a process since the last reset, in bytes.
func highWater(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, mark, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(mark)
	if len(fields) == 0 {
		b.Fatalf("no high water mark in %s", status)
	}
	kB, err := strconv.Atoi(fields[0])
	if err != nil {
		b.Fatal(err)
	}
	return kB << 10
}
