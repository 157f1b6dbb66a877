package pass

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// BenchmarkRedeem reports what one redemption of one booking costs: the processor time of the
// service and of PostgreSQL, and the size of its write-ahead log.
func BenchmarkRedeem(b *testing.B) {
	for _, size := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d", size), func(b *testing.B) {
			w := open(b)
			claims, err := w.issuer.Verifier.Verify(b.Context(), w.issuer.Client(w.company, "redemptions:write"))
			if err != nil {
				b.Fatal(err)
			}
			ctx := rpc.WithClaims(b.Context(), claims)
			const customers = 128
			var reqs []*passv1.RedeemCreditsRequest
			for range customers {
				customer := w.customer()
				w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = maxUses })
				reqs = append(reqs, redeemRequest(customer, "", 1))
			}
			w.addPasses(20_000) // so that plans are those of a company of some size
			next := 0
			batch := func() {
				req := &passv1.BatchRedeemCreditsRequest{}
				for range size {
					r := reqs[next%customers]
					r = redeemRequest(r.GetCustomerId(), "", 1)
					req.Redemptions = append(req.Redemptions, r)
					next++
				}
				if size == 1 {
					if _, err := w.server.RedeemCredits(ctx, req.GetRedemptions()[0]); err != nil {
						b.Fatal(err)
					}
					return
				}
				res, err := w.server.BatchRedeemCredits(ctx, req)
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range res.GetResults() {
					if r.GetRedeemed() == nil {
						b.Fatal(r.GetRefused())
					}
				}
			}
			for range 20 + 400/size { // with plans for tables that are not empty
				batch()
			}
			w.vacuum()
			for range 20 {
				batch()
			}
			var redemptions int
			self, database, log := selfCPU(), w.databaseCPU(), w.walBytes()
			for b.Loop() {
				batch()
				redemptions += size
			}
			per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(redemptions) }
			b.ReportMetric(per(selfCPU()-self), "service-us")
			b.ReportMetric(per(w.databaseCPU()-database), "postgres-us")
			b.ReportMetric(float64(w.walBytes()-log)/float64(redemptions), "wal-bytes")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// selfCPU returns the processor time of this process.
func selfCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail with these arguments
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// databaseCPU returns the processor time of the server's processes for the database of w.
func (w *world) databaseCPU() time.Duration {
	pids, err := pg.Rows[int32](context.Background(), w.db, pg.AllCompanies(), `select pid from pg_stat_activity where datname = current_database()`)
	if err != nil {
		w.t.Fatal(err)
	}
	var ticks int64
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
		if err != nil {
			w.t.Fatal(err)
		}
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		for _, field := range fields[11:13] { // utime and stime
			n, err := strconv.ParseInt(string(field), 10, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}

// walBytes returns the size of the server's write-ahead log.
func (w *world) walBytes() int64 {
	n, err := pg.One[int64](context.Background(), w.db, pg.AllCompanies(), `select (pg_current_wal_insert_lsn() - '0/0')::bigint`)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
