package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// BenchmarkHotDate lets 64 clients book the same date through Interface B, on a database that
// waits for the disk. It reports their rate as a multiple of the rate of 64 connections that each
// update one row per commit. That is the rate of a sale that locks the date's row for each
// purchase.
func BenchmarkHotDate(b *testing.B) {
	const clients, booked, updated = 64, 6000, 800
	c := harness.StartCluster(b, harness.ClusterOptions{GatewaysB: 1})
	company := c.Operator(b).NewCompany(b, "Europe/London")
	customer := company.ImportCustomers(b, "buyer", 1)[0]
	made, err := company.Operator().Events.CreateEvent(company.Ctx(b.Context()), &bookingv1.CreateEventRequest{
		Title: "Opening night", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Stalls", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().AddDate(0, 1, 0).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		b.Fatal(err)
	}
	url := c.GatewaysB[0] + "/events/" + made.GetEvent().GetId() + "/registrations"
	body := fmt.Sprintf(`{"customerId":%q,"spots":1}`, customer)
	transport := &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	face := harness.NewB(b, c.GatewaysB[0])
	tokens := make([]string, clients)
	for i := range tokens { // one key for each client, because a key has a rate limit
		tokens[i] = face.Token(b, company.NewKey(b, 10_000))
	}
	rows := make([]*pgx.Conn, clients)
	for i := range rows {
		if rows[i], err = pgx.Connect(b.Context(), c.OwnerURL("booking")); err != nil {
			b.Fatal(err)
		}
		defer rows[i].Close(context.WithoutCancel(b.Context()))
	}
	if _, err := rows[0].Exec(b.Context(), `create table hot_row as select 1 as id, 0 as n`); err != nil {
		b.Fatal(err)
	}
	book := func(i int) error { return post(b.Context(), transport, url, tokens[i], "", body) }
	update := func(i int) error {
		_, err := rows[i].Exec(b.Context(), `update hot_row set n = n + 1 where id = 1`)
		return err
	}
	atOnce(b, clients, booked/2, book) // warm up
	atOnce(b, clients, updated/2, update)
	var ours, theirs measured
	var oursFor, theirsFor time.Duration
	for b.Loop() {
		m, took := atOnce(b, clients, booked, book)
		ours.add(m)
		oursFor += took
		m, took = atOnce(b, clients, updated, update)
		theirs.add(m)
		theirsFor += took
	}
	slices.Sort(ours.took)
	rate, row := float64(len(ours.took))/oursFor.Seconds(), float64(len(theirs.took))/theirsFor.Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate/row, "bookings/hot-row")
	b.ReportMetric(rate, "bookings/s")
	b.ReportMetric(row, "hot-row/s")
	b.ReportMetric(float64(ours.took[len(ours.took)*99/100].Microseconds())/1000, "ms-p99")
}

// atOnce calls do the given number of times, spread over concurrent clients.
func atOnce(b *testing.B, clients, times int, do func(client int) error) (m measured, whole time.Duration) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(times))
	took := make([][]time.Duration, clients)
	began := time.Now()
	for i := range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return measured{took: slices.Concat(took...)}, time.Since(began)
}
