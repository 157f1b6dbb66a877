package booking

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// maxImportBatch is the maximum number of transactions in one batch, as in the proto.
const maxImportBatch = 5000

// BenchmarkImport imports batches of 5000 purchases through gRPC. Each purchase has one booking on
// one of 1000 dates, by one of 20000 customers.
func BenchmarkImport(b *testing.B) {
	w := newWorld(b)
	const customers = 20_000
	for i := range customers {
		w.customers.add(w.company, model.CustomerRecord{Customer: model.Customer{ID: id.New[id.Customer]()}, Reference: fmt.Sprintf("c%d", i), Version: 1})
	}
	stream, err := w.bookings.ImportTransactions(w.ctx)
	if err != nil {
		b.Fatal(err)
	}
	batch := func(n int) *bookingv1.ImportTransactionsRequest {
		req := &bookingv1.ImportTransactionsRequest{}
		for i := range maxImportBatch {
			k := n*maxImportBatch + i
			line := past(fmt.Sprintf("p%d", k), fmt.Sprintf("c%d", k*7919%customers), fmt.Sprintf("e%d", k%100), 1)
			d := line.Bookings[0].GetImportedDate()
			d.Capacity = nil
			d.StartsAt = timestamppb.New(time.Date(2025, 1, 1+k/100%10, 9, 0, 0, 0, time.UTC))
			line.PurchasedAt = timestamppb.New(time.Date(2024, 1, 1, 0, 0, k, 0, time.UTC))
			req.Transactions = append(req.Transactions, line)
		}
		return req
	}
	b.ResetTimer()
	go func() {
		for n := range b.N {
			if stream.Send(batch(n)) != nil {
				return // Recv returns the error
			}
		}
		_ = stream.CloseSend()
	}()
	for range b.N {
		resp, err := stream.Recv()
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range resp.GetResults() {
			if r.GetOutcome() != created {
				b.Fatal(r)
			}
		}
	}
	b.ReportMetric(float64(b.N*maxImportBatch)/b.Elapsed().Seconds(), "bookings/s")
}

// BenchmarkHotDate books one date from 64 clients through gRPC.
func BenchmarkHotDate(b *testing.B) {
	w := newWorld(b)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	w.mustBook(w.ctx, ann, e, 1)
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := w.book(w.ctx, ann, e, 1); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "bookings/s")
}

// BenchmarkPage reads a page of 30 of a customer's 200 transactions.
func BenchmarkPage(b *testing.B) {
	w := newWorld(b)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	for range 200 {
		w.mustBook(w.ctx, ann, e, 1)
	}
	b.ResetTimer()
	for range b.N {
		if n := len(w.mustList(b, ann).GetTransactions()); n != 30 {
			b.Fatal(n)
		}
	}
}

func (w *world) mustList(b *testing.B, customer id.Customer) *bookingv1.ListTransactionsResponse {
	resp, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: customer.String()})
	if err != nil {
		b.Fatal(err)
	}
	return resp
}
