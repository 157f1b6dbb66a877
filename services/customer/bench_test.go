package customer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// fill stores n customers of the company, with ids in the order of creation.
func (w *world) fill(n int) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		err := execUnlimited(ctx, tx, `insert into customers (company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
			select $1, (lpad(to_hex(1700000000000 + g), 12, '0') || '7' || substr(md5(g::text), 1, 3) || '8' || substr(md5(g::text), 4, 15))::uuid,
				'Zoë', 'O''Brien ' || g, 'zoe.obrien.' || g || '@example.com', '+44 7700 900' || g % 1000, g % 10 = 0, 1, now(), now() + g * interval '1 ms'
			from generate_series(1, $2::int) g`, w.company, n)
		if err == nil {
			_, err = tx.Exec(ctx, `insert into customer_counts (company_id, slot, live) values ($1, 0, $2)`, w.company, n)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// profileShape is the shape of Interface A's customer list.
func profileShape() []*customerv1.ExportMember {
	all := members()
	return []*customerv1.ExportMember{all[0], all[1], all[2], all[3], all[4], all[5], all[6]}
}

func BenchmarkExport(b *testing.B) {
	w := open(b)
	w.fill(211_000)
	for b.Loop() {
		stream, err := w.client.ExportCustomers(w.ctx(), &customerv1.ExportCustomersRequest{Members: profileShape()})
		if err != nil {
			b.Fatal(err)
		}
		var size int64
		for {
			res, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			size += int64(len(res.GetJson()))
		}
		b.SetBytes(size)
	}
}

func BenchmarkGet(b *testing.B) {
	w := open(b)
	made := w.create("Zoë")
	ctx := w.ctx()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.client.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: made.GetId()}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList reads a page from the middle of the list of a small and of a large company; the two
// should cost the same.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{10_000, 500_000} {
		w := open(b)
		w.fill(n)
		for _, o := range orders() {
			b.Run(fmt.Sprintf("%s of %d", o, n), func(b *testing.B) {
				req := &customerv1.ListCustomersRequest{PageSize: 100, Order: o}
				res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{PageSize: 1, Offset: int64(n / 2), Order: o})
				if err != nil {
					b.Fatal(err)
				}
				req.PageToken = res.GetNextPageToken()
				ctx := w.ctx()
				for b.Loop() {
					if _, err := w.client.ListCustomers(ctx, req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCreate measures the check for a unique address.
func BenchmarkCreate(b *testing.B) {
	for _, unique := range []bool{false, true} {
		b.Run(fmt.Sprintf("unique %t", unique), func(b *testing.B) {
			w := open(b)
			w.auth.unique = unique
			w.fill(100_000)
			ctx := w.ctx()
			n := 0
			for b.Loop() {
				n++
				if _, err := w.createWith(ctx, fmt.Sprintf("new.%d@example.com", n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
