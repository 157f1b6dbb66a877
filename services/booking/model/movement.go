package model

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"reservation.dev/platform/zone"
)

// Movement is an amount that was paid for a booking, or refunded. It never changes.
type Movement struct {
	// Sequence is 1 for the purchase, and 1 plus the number of the history's entry for others. It is 0 for the
	// refunds that earlier releases and imports recorded without an entry.
	Sequence int32
	Gross    int64 // minor units, tax included; negative: refunded
	Net      int64 // minor units, without tax
	TaxRate  int32 // basis points
	Method   Method
	At       time.Time
	Day      string // of At in the company's time zone at that time, as YYYY-MM-DD
}

// BookingMoney is the part of a booking's history that its movements need.
type BookingMoney struct {
	Entries int32          // number of all entries of the history
	Changes []HistoryEntry // those with an amount, in their order
}

// Movements returns the movements of b, a booking of t, oldest first. There are none for a payment by pass, and
// none of amount 0.
func (t *Transaction) Movements(b *Booking) []Movement {
	if !b.Payment.Method.IsMoney() || b.Payment.Gross == 0 {
		return nil
	}
	unsplit, bought, earlier := b.unchanged()
	paid, refunded := amounts{bought, unsplit.netOf(0, bought)}, amounts{}
	var all []Movement
	if bought > 0 {
		all = append(all, t.movement(b, 1, paid, t.PurchasedAt))
	}
	if earlier > 0 {
		refunded = amounts{earlier, refundedNet(paid, amounts{}, earlier)}
		at := cmp.Or(b.UnrecordedRefundAt, b.RefundedAt, t.PurchasedAt)
		all = append(all, t.movement(b, 0, refunded.negated(), at))
	}
	for i := range b.Money.Changes {
		e := &b.Money.Changes[i]
		moved := amounts{e.Amount, e.Net}
		switch {
		case e.Day != "":
		case e.Action == Moved:
			moved.net = unsplit.netOf(bought, e.Amount)
			bought += e.Amount
		default:
			moved.net = refundedNet(paid, refunded, e.Amount)
		}
		if e.Action == Moved {
			paid = paid.plus(moved)
		} else {
			refunded = refunded.plus(moved)
			moved = moved.negated()
		}
		m := t.movement(b, 1+e.Sequence, moved, e.At)
		m.Method = cmp.Or(e.Method, m.Method)
		if e.Day != "" {
			m.TaxRate, m.Day = e.TaxRate, e.Day
		}
		all = append(all, m)
	}
	return all
}

// movement returns a movement at a time, with the method and the tax rate of the purchase.
func (t *Transaction) movement(b *Booking, sequence int32, a amounts, at time.Time) Movement {
	return Movement{
		Sequence: sequence, Gross: a.gross, Net: a.net, TaxRate: b.Payment.TaxRate, Method: b.Payment.Method,
		At: at, Day: zone.Day(at, t.Timezone),
	}
}

// unchanged returns the gross amount of the purchase, and what was refunded without an entry in the history.
// unsplit is the purchase and the moves of earlier releases together, which stored only the sum of their nets.
func (b *Booking) unchanged() (unsplit amounts, bought, refunded int64) {
	unsplit, bought, refunded = amounts{b.Payment.Gross, b.Payment.Net}, b.Payment.Gross, b.RefundedAmount
	for i := range b.Money.Changes {
		e := &b.Money.Changes[i]
		if e.Action != Moved {
			refunded -= e.Amount
			continue
		}
		bought -= e.Amount
		if e.Day != "" {
			unsplit = unsplit.plus(amounts{-e.Amount, -e.Net})
		}
	}
	return unsplit, bought, refunded
}

// UnrecordedRefund returns when refunds without an entry in the history were recorded; zero if there are none.
func (b *Booking) UnrecordedRefund() time.Time {
	if _, _, refunded := b.unchanged(); refunded > 0 {
		return b.UnrecordedRefundAt
	}
	return time.Time{}
}

// amounts are a gross amount and its part without tax, minor units.
type amounts struct{ gross, net int64 }

func (a amounts) plus(b amounts) amounts { return amounts{a.gross + b.gross, a.net + b.net} }

func (a amounts) negated() amounts { return amounts{-a.gross, -a.net} }

// netOf returns the part without tax of the next piece of a, after pieces of a gross amount of before. The pieces
// of all of a have all of its net.
func (a amounts) netOf(before, piece int64) int64 {
	if a.gross == 0 {
		return 0
	}
	return a.share(before+piece) - a.share(before)
}

// share returns the part without tax of a gross amount, at most that of a, rounded half up.
func (a amounts) share(gross int64) int64 {
	high, low := bits.Mul64(uint64(a.net), uint64(gross))
	low, carry := bits.Add64(low, uint64(a.gross/2), 0)
	share, _ := bits.Div64(high+carry, low, uint64(a.gross))
	return int64(share)
}

// refundedNet returns the part without tax of the next refund. paid and refunded are what was paid and refunded
// before. All refunds together have their share of the net that was paid, so that a complete refund has all of
// it. A payment at another rate between two refunds can require a correction that is larger than a refund; the
// rest of it waits for the next one.
func refundedNet(paid, refunded amounts, refund int64) int64 {
	return min(max(paid.share(refunded.gross+refund)-refunded.net, 0), refund)
}

// Record completes an entry of b, a booking of t, before it is stored: it gets its number, and if it has an
// amount, its part without tax and its day in the company's time zone.
func (t *Transaction) Record(b *Booking, e *HistoryEntry, timezone string) {
	b.Money.Entries++
	if e.Amount == 0 {
		return
	}
	numbered := *e
	numbered.Sequence = b.Money.Entries
	b.Money.Changes = append(slices.Clip(b.Money.Changes), numbered)
	if e.Action != Moved { // a move has its own rate
		all := t.Movements(b)
		e.Net, e.TaxRate = -all[len(all)-1].Net, b.Payment.TaxRate
	}
	e.Day = zone.Day(e.At, timezone)
	stored := &b.Money.Changes[len(b.Money.Changes)-1]
	stored.Net, stored.TaxRate, stored.Day = e.Net, e.TaxRate, e.Day
}
