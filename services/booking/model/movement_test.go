package model

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(day int) time.Time { return time.Date(2026, 3, day, 23, 30, 0, 0, time.UTC) }

// paidBooking returns a transaction with one booking for an amount.
func paidBooking(gross, net int64, rate int32) *Transaction {
	return &Transaction{PurchasedAt: at(1), Timezone: "Europe/Berlin", Bookings: []Booking{{
		Payment: Payment{Method: Card, Currency: "EUR", Gross: gross, Net: net, TaxRate: rate}, Price: gross,
	}}}
}

func TestMovements(t *testing.T) {
	t.Parallel()
	bought := Movement{Sequence: 1, Gross: 1190, Net: 1000, TaxRate: 1900, Method: Card, At: at(1), Day: "2026-03-02"}
	for _, tt := range []struct {
		behaviour string
		change    func(t *Transaction, b *Booking)
		want      []Movement
	}{
		{"of a purchase is what was paid, on the day of the company", func(*Transaction, *Booking) {}, []Movement{bought}},
		{"are none for a free booking", func(_ *Transaction, b *Booking) { b.Payment.Method, b.Payment.Gross, b.Payment.Net = Free, 0, 0 }, nil},
		{"are none for a booking by pass", func(_ *Transaction, b *Booking) { b.Payment = Payment{Method: Pass, Credits: 2} }, nil},
		{"a refund has its share of the net, and the day of the company at that time", func(t *Transaction, b *Booking) {
			b.RefundedAmount = 595
			t.Record(b, &HistoryEntry{Action: BookingRefunded, At: at(5), Amount: 595, Method: Card}, "America/New_York")
		}, []Movement{bought, {Sequence: 2, Gross: -595, Net: -500, TaxRate: 1900, Method: Card, At: at(5), Day: "2026-03-05"}}},
		{"a payment with a move has its own rate and method", func(t *Transaction, b *Booking) {
			t.Record(b, &HistoryEntry{Action: AttendanceRecorded, At: at(2)}, "UTC")
			b.Payment.Gross, b.Payment.Net = 1297, 1100
			t.Record(b, &HistoryEntry{Action: Moved, At: at(5), Amount: 107, Net: 100, TaxRate: 700, Method: "CASH"}, "UTC")
		}, []Movement{bought, {Sequence: 3, Gross: 107, Net: 100, TaxRate: 700, Method: "CASH", At: at(5), Day: "2026-03-05"}}},
		{"a refund without an entry has the sequence 0, in the zone of the purchase", func(_ *Transaction, b *Booking) {
			b.RefundedAmount, b.RefundedAt = 1190, at(7)
		}, []Movement{bought, {Sequence: 0, Gross: -1190, Net: -1000, TaxRate: 1900, Method: Card, At: at(7), Day: "2026-03-08"}}},
		{"a refund of an import is at the purchase", func(_ *Transaction, b *Booking) { b.RefundedAmount = 1190 },
			[]Movement{bought, {Sequence: 0, Gross: -1190, Net: -1000, TaxRate: 1900, Method: Card, At: at(1), Day: "2026-03-02"}}},
		{"a refund without an entry keeps its time after another refund", func(t *Transaction, b *Booking) {
			b.RefundedAmount, b.RefundedAt, b.UnrecordedRefundAt = 1190, at(9), at(3)
			t.Record(b, &HistoryEntry{Action: BookingRefunded, At: at(9), Amount: 190, Method: Card}, "UTC")
		}, []Movement{
			bought, {Sequence: 0, Gross: -1000, Net: -840, TaxRate: 1900, Method: Card, At: at(3), Day: "2026-03-04"},
			{Sequence: 2, Gross: -190, Net: -160, TaxRate: 1900, Method: Card, At: at(9), Day: "2026-03-09"},
		}},
		{"a move and a refund of an earlier release share the stored net", func(_ *Transaction, b *Booking) {
			b.Payment.Gross, b.Payment.Net, b.RefundedAmount = 1785, 1500, 1785
			b.Money = BookingMoney{Entries: 2, Changes: []HistoryEntry{
				{Sequence: 1, Action: Moved, At: at(4), Amount: 595, Method: "CASH"}, {Sequence: 2, Action: BookingRefunded, At: at(6), Amount: 1785, Method: Card},
			}}
		}, []Movement{
			bought, {Sequence: 2, Gross: 595, Net: 500, TaxRate: 1900, Method: "CASH", At: at(4), Day: "2026-03-05"},
			{Sequence: 3, Gross: -1785, Net: -1500, TaxRate: 1900, Method: Card, At: at(6), Day: "2026-03-07"},
		}},
		{"a payment of 0 is no movement", func(t *Transaction, b *Booking) {
			b.Payment.Gross, b.Payment.Net = 119, 100
			t.Record(b, &HistoryEntry{Action: Moved, At: at(5), Amount: 119, Net: 100, TaxRate: 1900, Method: Card}, "UTC")
		}, []Movement{{Sequence: 2, Gross: 119, Net: 100, TaxRate: 1900, Method: Card, At: at(5), Day: "2026-03-05"}}},
	} {
		t.Run(tt.behaviour, func(t *testing.T) {
			paid := paidBooking(1190, 1000, 1900)
			b := &paid.Bookings[0]
			tt.change(paid, b)
			if diff := cmp.Diff(tt.want, paid.Movements(b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMovementsAddUp pays and refunds random amounts at random rates, some as an earlier release stored them.
func TestMovementsAddUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		rates := []int32{0, 700, 1900, 2000, 10_000}
		rate := func() int32 { return rates[r.IntN(len(rates))] }
		limit := []int64{3, 100, 1_000_000, MaxPrice * MaxSpaces}[r.IntN(4)]
		gross, bought := r.Int64N(limit), rate()
		paid := paidBooking(gross, netOf(gross, bought), bought)
		b := &paid.Bookings[0]
		if r.IntN(3) == 0 && gross > 0 { // before there was a history
			b.RefundedAmount, b.UnrecordedRefundAt = r.Int64N(gross+1), at(2)
		}
		known := paid.Movements(b)
		earlier := r.IntN(2) == 0
		for step := range 8 {
			e := HistoryEntry{Action: BookingRefunded, At: at(3 + step), Method: Card}
			if left := b.unrefunded(); r.IntN(3) > 0 && left > 0 {
				e.Amount = 1 + r.Int64N(left)
				if step > 5 {
					e.Amount = left
				}
				b.RefundedAmount += e.Amount
			} else {
				e.Action, e.Amount, e.TaxRate = Moved, 1+r.Int64N(limit), rate()
				e.Net = netOf(e.Amount, e.TaxRate)
				b.Payment.Gross, b.Payment.Net = b.Payment.Gross+e.Amount, b.Payment.Net+e.Net
			}
			if earlier = earlier && r.IntN(2) == 0; earlier && step < 3 {
				b.Money.Entries++
				e.Sequence, e.Net, e.TaxRate = b.Money.Entries, 0, 0
				b.Money.Changes = append(b.Money.Changes, e)
				known = paid.Movements(b)
			} else {
				earlier = false
				paid.Record(b, &e, "UTC")
			}
			all := paid.Movements(b)
			var sum amounts
			for i, m := range all {
				sum = sum.plus(amounts{m.Gross, m.Net})
				if max(m.Net, -m.Net) > max(m.Gross, -m.Gross) || m.Gross > 0 && m.Net < 0 || m.Gross < 0 && m.Net > 0 {
					t.Fatalf("seed %d, step %d: %+v", seed, step, m)
				}
				if i < len(known) && !cmp.Equal(m, known[i]) {
					t.Fatalf("seed %d, step %d: %+v was %+v", seed, step, m, known[i])
				}
			}
			if sum.gross != b.unrefunded() || sum.gross == 0 && sum.net != 0 {
				t.Fatalf("seed %d, step %d: %v are left of %+v", seed, step, sum, all)
			}
			known = all
		}
	}
}
