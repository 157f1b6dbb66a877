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
func (d *desk) fill(n int) {
	d.t.Helper()
	err := d.db.InTx(d.t.Context(), pg.For(d.company), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `set local statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into customers (company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
			select $1, (lpad(to_hex(1700000000000 + g), 12, '0') || '7' || substr(md5(g::text), 1, 3) || '8' || substr(md5(g::text), 4, 15))::uuid,
				'Zoë', 'O''Brien ' || g, 'zoe.obrien.' || g || '@example.com', '+44 7700 900' || g % 1000, g % 10 = 0, 1, now(), now() + g * interval '1 ms'
			from generate_series(1, $2::int) g`, d.company, n)
		if err == nil {
			_, err = tx.Exec(ctx, `insert into customer_counts (company_id, slot, live) values ($1, 0, $2)`, d.company, n)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// profileShape is the list of Interface A.
func profileShape() []*customerv1.ExportMember {
	all := members()
	return []*customerv1.ExportMember{all[0], all[1], all[2], all[3], all[4], all[5], all[6]}
}

func BenchmarkExport(b *testing.B) {
	d := open(b)
	d.fill(211_000)
	for b.Loop() {
		stream, err := d.client.ExportCustomers(d.ctx(), &customerv1.ExportCustomersRequest{Members: profileShape()})
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
	d := open(b)
	made := d.create("Zoë")
	ctx := d.ctx()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.client.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: made.GetId()}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is a page of a small and of a large company, from within the
// list; the two should cost the same.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{10_000, 500_000} {
		d := open(b)
		d.fill(n)
		for _, o := range orders() {
			b.Run(fmt.Sprintf("%s of %d", o, n), func(b *testing.B) {
				req := &customerv1.ListCustomersRequest{PageSize: 100, Order: o}
				res, err := d.client.ListCustomers(d.ctx(), &customerv1.ListCustomersRequest{PageSize: 1, Offset: int64(n / 2), Order: o})
				if err != nil {
					b.Fatal(err)
				}
				req.PageToken = res.GetNextPageToken()
				ctx := d.ctx()
				for b.Loop() {
					if _, err := d.client.ListCustomers(ctx, req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCreate is what the check for a unique address costs.
func BenchmarkCreate(b *testing.B) {
	for _, unique := range []bool{false, true} {
		b.Run(fmt.Sprintf("unique %t", unique), func(b *testing.B) {
			d := open(b)
			d.auth.unique = unique
			d.fill(100_000)
			ctx := d.ctx()
			n := 0
			for b.Loop() {
				n++
				if _, err := d.createWith(ctx, fmt.Sprintf("new.%d@example.com", n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
