package model

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

func TestRefund(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	card := func(gross int64) Booking { return Booking{Payment: Payment{Method: Card, Gross: gross}} }
	for behaviour, tt := range map[string]struct {
		booking  Booking
		due      int64
		refunds  []*int64
		refunded int64
		left     int64 // still due
	}{
		"refunds the whole price by default":                          {booking: card(1000), refunds: []*int64{nil}, refunded: 1000},
		"refunds what is due by default":                              {booking: card(1000), due: 700, refunds: []*int64{nil}, refunded: 700},
		"refunds the rest by default":                                 {booking: card(1000), refunds: []*int64{new(int64(300)), nil}, refunded: 1000},
		"adds partial refunds up to the price":                        {booking: card(1000), refunds: []*int64{new(int64(1)), new(int64(999))}, refunded: 1000},
		"a partial refund leaves the rest due":                        {booking: card(1000), due: 1000, refunds: []*int64{new(int64(300))}, refunded: 300, left: 700},
		"a refund of more than is due leaves nothing due":             {booking: card(1000), due: 300, refunds: []*int64{new(int64(500))}, refunded: 500},
		"a price of 0 is refunded without an amount":                  {booking: card(0), refunds: []*int64{nil}},
		"money that was collected in another way is refunded as well": {booking: Booking{Payment: Payment{Method: "CASH", Gross: 500}}, refunds: []*int64{nil}, refunded: 500},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			b := tt.booking
			b.RefundDue = tt.due
			for i, amount := range tt.refunds {
				done, err := b.Refund(amount, now.Add(time.Duration(i)))
				if err != nil || !done.Changed || done.Returns || done.Frees != 0 || !b.Refunded || !b.RefundedAt.Equal(now.Add(time.Duration(i))) {
					t.Errorf("got %+v, %+v, %v", b, done, err)
				}
			}
			if b.RefundedAmount != tt.refunded || b.RefundDue != tt.left {
				t.Errorf("refunded %d, %d due", b.RefundedAmount, b.RefundDue)
			}
		})
	}
	t.Run("changes nothing if nothing is left to refund", func(t *testing.T) {
		t.Parallel()
		for _, b := range []Booking{card(1000), card(0), {Payment: Payment{Method: Pass, Credits: 1}}} {
			if _, err := b.Refund(nil, now); err != nil {
				t.Fatal(err)
			}
			before := b
			if done, err := b.Refund(nil, now.Add(time.Hour)); err != nil || done.Changed || !reflect.DeepEqual(b, before) {
				t.Errorf("got %+v, %+v, %v", b, done, err)
			}
		}
	})
	t.Run("refuses an amount that cannot be refunded, and changes nothing", func(t *testing.T) {
		t.Parallel()
		part := card(1000)
		if _, err := part.Refund(new(int64(400)), now); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			booking Booking
			amount  int64
			rule    string
		}{
			{card(1000), 1001, "range"}, {card(1000), 0, "range"}, {card(1000), -1, "range"}, {card(0), 1, "range"}, {part, 601, "range"},
			{Booking{Payment: Payment{Method: Pass, Credits: 1}}, 1, "method"},
		} {
			b := tt.booking
			_, err := b.Refund(&tt.amount, now)
			if f := fault.From(err); f == nil || f.Kind != fault.Invalid || f.Fields[0].Field != "amount" || f.Fields[0].Rule != tt.rule || !reflect.DeepEqual(b, tt.booking) {
				t.Errorf("a refund of %d of %+v: got %v", tt.amount, tt.booking, err)
			}
		}
	})
	t.Run("returns the credits of a payment by pass", func(t *testing.T) {
		t.Parallel()
		b := Booking{Payment: Payment{Method: Pass, Credits: 3, CustomerPass: id.New[id.CustomerPass]()}}
		if done, err := b.Refund(nil, now); err != nil || !done.Returns || b.CreditsReturned() != 3 || b.RefundedAmount != 0 {
			t.Errorf("got %+v, %+v, %v", b, done, err)
		}
	})
}

// TestBookingSequences makes random changes of bookings. After each, the outcomes agree with each other.
func TestBookingSequences(t *testing.T) { // invariants 3 and 23
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		b := Booking{Spaces: 1 + r.Int32N(3), Date: BookedDate{StartsAt: start}, Payment: Payment{Method: Method([]string{"CARD", "CASH", "FREE", "PASS"}[r.IntN(4)])}}
		switch b.Payment.Method {
		case Pass:
			b.Payment.Credits, b.Payment.CustomerPass = r.Int32N(3), id.CustomerPass{byte(r.IntN(2))}
		case Free:
		default:
			b.Payment.Gross = r.Int64N(4) * 250
		}
		var policy CancellationPolicy
		if r.IntN(2) == 0 {
			policy.FreeMinutes = new(int32(60))
		}
		now := start.Add(-time.Duration(r.IntN(180)) * time.Minute)
		model := refundModel{}
		for range 8 {
			now = now.Add(time.Duration(r.IntN(40)) * time.Minute)
			before := b
			what := model.step(t, r, &b, policy, now)
			if err := model.check(&b); err != nil {
				t.Fatalf("seed %d: %s of %+v: %+v: %v", seed, what, before, b, err)
			}
		}
	}
}

// refundModel knows what was cancelled and refunded, independently of the booking.
type refundModel struct {
	cancelled, inTime bool
	refunds           int
	sum               int64
	freed             int32
}

func (m *refundModel) step(t *testing.T, r *rand.Rand, b *Booking, policy CancellationPolicy, now time.Time) string {
	switch r.IntN(3) {
	case 0:
		waive := r.IntN(3) == 0
		o := policy.Outcome(b, waive, now)
		done := b.Cancel(&o, "ill", now)
		if done.Changed {
			m.cancelled, m.inTime = true, !o.Late
		}
		m.freed += done.Frees
		return fmt.Sprintf("cancellation, waived %t", waive)
	case 1:
		var amount *int64
		if r.IntN(2) == 0 {
			amount = new(r.Int64N(500) - 50)
		}
		before := *b
		done, err := b.Refund(amount, now)
		switch {
		case err != nil && !reflect.DeepEqual(*b, before):
			t.Errorf("a refused refund changed the booking: %+v", b)
		case done.Changed:
			m.refunds++
			m.sum += b.RefundedAmount - before.RefundedAmount
		}
		return fmt.Sprintf("refund, of an amount %t", amount != nil)
	}
	_, err := b.Attend([]Attendance{NotRecorded, CheckedIn, NoShow}[r.IntN(3)])
	if (err != nil) != b.Cancelled {
		t.Errorf("attendance of a booking that is cancelled %t: %v", b.Cancelled, err)
	}
	return "attendance"
}

func (m *refundModel) check(b *Booking) error {
	gross := b.Payment.Gross
	switch {
	case b.Cancelled != m.cancelled || m.cancelled && m.freed != b.Spaces || !m.cancelled && m.freed != 0:
		return fmt.Errorf("cancelled %t, %d spaces freed", m.cancelled, m.freed)
	case b.Refunded != (m.refunds > 0) || b.RefundedAt.IsZero() == b.Refunded:
		return fmt.Errorf("%d refunds", m.refunds)
	case b.RefundedAmount != m.sum || m.sum > gross:
		return fmt.Errorf("%d of %d refunded", m.sum, gross)
	case b.Late != (m.cancelled && !m.inTime):
		return fmt.Errorf("in time %t", m.inTime)
	case (!m.cancelled || !m.inTime) && b.RefundDue != 0:
		return fmt.Errorf("%d due without a cancellation in time", b.RefundDue)
	case m.cancelled && m.inTime && b.RefundDue+b.RefundedAmount != gross:
		return fmt.Errorf("%d due and %d refunded of %d", b.RefundDue, b.RefundedAmount, gross)
	}
	return nil
}
