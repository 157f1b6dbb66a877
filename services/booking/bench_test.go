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

// BenchmarkSharedAppointments commits 64 purchases of appointments together, each with any of ten people who have 16
// other dates a day.
func BenchmarkSharedAppointments(b *testing.B) {
	plain, owner := newPlanWorld(b)
	p := parlourOn(plain)
	p.reserve("2030-01-02T10:00") // puts Ann in the copy
	ids := []string{p.lea.GetId(), p.max.GetId()}
	for n := range 8 {
		ids = append(ids, p.worker(fmt.Sprint(n)).GetId())
	}
	p.exec(`update rooms set capacity = 10`)
	p.exec(`insert into appointment_type_staff (company_id, appointment_type_id, staff_id)
		select company_id, $1, id from staff on conflict do nothing`, idOf[id.AppointmentType](b, p.massage.GetId()))
	for _, who := range ids { // at night
		p.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
			select $1, gen_random_uuid(), $2, 'staff', 0, 0, at, at + interval '30 minutes'
			from (select '2030-01-01 18:00Z'::timestamptz + n / 16 * interval '1 day' + n % 16 * interval '30 minutes' as at
				from generate_series(0, 16 * 120 - 1) n) n`, p.company, idOf[id.StaffMember](b, who))
	}
	vacuum(b, owner)
	n := 0
	for b.Loop() {
		b.StopTimer()
		var purchases []*purchase
		for range 64 { // 40 a day, each of 75 minutes with its buffers
			day, hour := n/40, 9+n%4*3/2
			purchases = append(purchases, p.buying(p.at(time.Date(2030, 1, 7+day, hour, n%4%2*30, 0, 0, time.UTC).Format("2006-01-02T15:04"))))
			n++
		}
		b.StartTimer()
		left, err := p.server.commitAppointments(b.Context(), p.company, purchases, false)
		if err != nil || len(left) > 0 {
			b.Fatal(left, err)
		}
		for _, bought := range purchases {
			if bought.Refused != nil {
				b.Fatal(bought.Refused)
			}
		}
	}
}
