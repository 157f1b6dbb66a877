package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/test/harness"
)

const (
	// purchaseSlice is the duration of one row's part of a round. Every row has two.
	purchaseSlice = 1500 * time.Millisecond
	// purchaseLimit is the largest number of bookings in a slice.
	purchaseLimit = 20_000
)

// BenchmarkPurchases lets 64 clients book through Interface B of the standalone program, on a
// PostgreSQL that waits for the disk. The rows are purchases by card and by pass, of one date and
// of 400 dates, with and without an Idempotency-Key. A round is a slice of every row in turn, and
// then the same in reverse order, so that other work on the machine affects the rows alike. It
// prints the rates, the processor times, which include the follow-up work, and their ratios.
//
// Settings in the environment:
//
//	LOAD_CLIENTS=1               the number of clients
//	LOAD_ROWS='pass.*with a key' measures only the rows whose names match
//	LOAD_PROFILES=/tmp/profiles  writes a CPU profile of the standalone program for each row
func BenchmarkPurchases(b *testing.B) {
	s := newSale(b)
	rows := purchaseRows(b)
	for _, row := range rows { // warm up
		s.slice(b, row, purchaseSlice/3)
	}
	b.Run(fmt.Sprint(s.clients, " clients"), func(b *testing.B) {
		for b.Loop() {
			for _, row := range rows {
				row.add(s.measure(b, row))
			}
			for _, row := range slices.Backward(rows) {
				row.add(s.measure(b, row))
			}
		}
		b.ReportMetric(0, "ns/op")
		for _, r := range purchaseRatios(rows) {
			b.ReportMetric(r.value, r.unit)
		}
	})
	printPurchases(s.clients, rows)
}

// sale is the standalone program with one studio.
type sale struct {
	*harness.Standalone
	*studio
	postgres *harness.Postgres
	outboxes []*pgx.Conn // of the services that have one
	clients  int
}

func newSale(b *testing.B) *sale {
	s := &sale{clients: setting(b, "LOAD_CLIENTS", 64), postgres: harness.StartPostgres(b, filepath.Join(harness.TempDir(b), "postgres"), pgserver.Safe)}
	s.Standalone = harness.StartStandalone(b, harness.StandaloneOptions{Env: map[string]string{"DATABASE_URL": s.postgres.AdminURL()}})
	s.studio = newStudio(b, s.Operator(b), s.Credentials.InterfaceB.BaseURL, studioSize{dates: studioDates, customers: 2000, clients: s.clients})
	for _, part := range []string{"booking", "pass"} {
		cfg, err := pgx.ParseConfig(s.postgres.AdminURL())
		if err != nil {
			b.Fatal(err)
		}
		cfg.Database = "reservation_" + part
		conn, err := pgx.ConnectConfig(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(context.Background()) })
		s.outboxes = append(s.outboxes, conn)
	}
	return s
}

// setting returns a number from the environment.
func setting(b *testing.B, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s=%s is not a positive number", name, text)
	}
	return n
}

// purchaseRow is a kind of purchase and what was measured of it.
type purchaseRow struct {
	method string
	dates  int
	keyed  keyed

	booked             int64
	took               time.Duration
	program, databases time.Duration // processor time
}

// purchaseRows returns the rows that LOAD_ROWS selects.
func purchaseRows(b *testing.B) (rows []*purchaseRow) {
	selected, err := regexp.Compile(os.Getenv("LOAD_ROWS"))
	if err != nil {
		b.Fatal(err)
	}
	for _, method := range []string{"card", "pass"} {
		for _, dates := range []int{1, studioDates} {
			for _, keyed := range []keyed{withoutKey, withKey} {
				row := &purchaseRow{method: method, dates: dates, keyed: keyed}
				if selected.MatchString(row.name()) {
					rows = append(rows, row)
				}
			}
		}
	}
	if len(rows) == 0 {
		b.Fatal("LOAD_ROWS matches no row")
	}
	return rows
}

// kind names the purchase, for example "card, 400 dates".
func (r *purchaseRow) kind() string {
	if r.dates == 1 {
		return r.method + ", one date"
	}
	return fmt.Sprintf("%s, %d dates", r.method, r.dates)
}

func (r *purchaseRow) name() string { return r.kind() + ", " + r.keyed.String() }

func (r *purchaseRow) add(o purchaseRow) {
	r.booked += o.booked
	r.took += o.took
	r.program += o.program
	r.databases += o.databases
}

func (r *purchaseRow) rate() float64 { return float64(r.booked) / r.took.Seconds() }

// each returns the processor time of one booking, in milliseconds.
func (r *purchaseRow) each(d time.Duration) float64 { return ms(d) / float64(r.booked) }

// measure measures one slice of a row, including the processor time of its follow-up work.
func (s *sale) measure(b *testing.B, row *purchaseRow) purchaseRow {
	s.settle(b)
	program, databases := harness.ProcessorTime(b, s.PID()), harness.ProcessorTimeOfTree(b, s.postgres.PID(b))
	profiled := s.profile(b, row.name(), purchaseSlice)
	m := s.slice(b, row, purchaseSlice)
	profiled.Wait()
	s.settle(b)
	m.program, m.databases = harness.ProcessorTime(b, s.PID())-program, harness.ProcessorTimeOfTree(b, s.postgres.PID(b))-databases
	return m
}

// slice books for a while.
func (s *sale) slice(b *testing.B, row *purchaseRow, lasting time.Duration) (m purchaseRow) {
	event := s.spread
	if row.dates == 1 {
		event = s.hot
	}
	method := strings.ToUpper(row.method)
	m.booked, m.took = during(b, s.clients, purchaseLimit, lasting, func(int) error {
		return s.book(b.Context(), event(), method, row.keyed)
	})
	return m
}

// settle returns when the follow-up work of the bookings is done: the outboxes are empty and the
// processes are nearly idle.
func (s *sale) settle(b *testing.B) {
	b.Helper()
	const pause, idle = 100 * time.Millisecond, 20 * time.Millisecond
	before := time.Duration(0)
	harness.Eventually(b, patience, func() error {
		for _, db := range s.outboxes {
			var n int
			if err := db.QueryRow(b.Context(), `select count(*) from outbox`).Scan(&n); err != nil {
				b.Fatal(err)
			}
			if n > 0 {
				return fmt.Errorf("%d events are left in the outbox", n)
			}
		}
		now := harness.ProcessorTime(b, s.PID()) + harness.ProcessorTimeOfTree(b, s.postgres.PID(b))
		spent := now - before
		if before = now; spent > idle {
			time.Sleep(pause)
			return fmt.Errorf("the processes used %s within %s", spent, pause)
		}
		return nil
	})
}

// profile writes a CPU profile of the standalone program while the next slice runs, if
// LOAD_PROFILES names a directory. A later profile of the same row replaces it.
func (s *sale) profile(b *testing.B, row string, lasting time.Duration) *sync.WaitGroup {
	var wg sync.WaitGroup
	if dir := os.Getenv("LOAD_PROFILES"); dir != "" {
		wg.Go(func() {
			file := filepath.Join(dir, strings.NewReplacer(", ", "-", " ", "-").Replace(row)+".pprof")
			if err := s.writeProfile(b.Context(), file, lasting); err != nil {
				b.Error(err)
			}
		})
	}
	return &wg
}

func (s *sale) writeProfile(ctx context.Context, file string, lasting time.Duration) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.Credentials.AdminPort, int(lasting.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// ratio is a quotient of the rates of two rows.
type ratio struct {
	name, unit string
	value      float64
}

// purchaseRatios returns the ratios of the rows that were measured.
func purchaseRatios(rows []*purchaseRow) (ratios []ratio) {
	quotient := func(unit string, of, to purchaseRow) {
		above, below := of.among(rows), to.among(rows)
		if above != nil && below != nil {
			ratios = append(ratios, ratio{above.name() + " ÷ " + below.name(), unit, above.rate() / below.rate()})
		}
	}
	for _, method := range []string{"card", "pass"} {
		for _, dates := range []int{1, studioDates} {
			quotient(fmt.Sprintf("keyed/unkeyed-%s-%d", method, dates),
				purchaseRow{method: method, dates: dates, keyed: withKey}, purchaseRow{method: method, dates: dates})
		}
	}
	for _, keyed := range []keyed{withoutKey, withKey} {
		spread := purchaseRow{method: "card", dates: studioDates, keyed: keyed}
		quotient(keyed.unit("dates/date"), spread, purchaseRow{method: "card", dates: 1, keyed: keyed})
		quotient(keyed.unit("pass/card"), purchaseRow{method: "pass", dates: studioDates, keyed: keyed}, spread)
	}
	return ratios
}

// among returns the row of the same name, or nil.
func (r *purchaseRow) among(rows []*purchaseRow) *purchaseRow {
	i := slices.IndexFunc(rows, func(other *purchaseRow) bool { return other.name() == r.name() })
	if i < 0 {
		return nil
	}
	return rows[i]
}

// unit names a metric of purchases.
func (k keyed) unit(name string) string {
	if k {
		return name + "-keyed"
	}
	return name
}

// printPurchases prints the tables of docs/SCALING.md.
func printPurchases(clients int, rows []*purchaseRow) {
	fmt.Printf("\n| purchases, %d clients | bookings/s | program, ms | PostgreSQL, ms | total, ms |\n|---|---|---|---|---|\n", clients)
	for _, r := range rows {
		if r.booked > 0 {
			fmt.Printf("| %s | %.0f | %.2f | %.2f | %.2f |\n", r.name(), r.rate(), r.each(r.program), r.each(r.databases), r.each(r.program+r.databases))
		}
	}
	for i, r := range purchaseRatios(rows) {
		if i == 0 {
			fmt.Printf("\n| rate ÷ rate | ratio |\n|---|---|\n")
		}
		fmt.Printf("| %s | %.2f |\n", r.name, r.value)
	}
}
