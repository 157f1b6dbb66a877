package booking

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestConcurrentMoves moves, swaps, cancels and books at the same time on few dates, with waiting customers.
func TestConcurrentMoves(t *testing.T) { // invariants 1, 18, 42, 43, 45 and 48
	t.Parallel()
	w := newWorld(t)
	const dates, workers, steps = 4, 8, 25
	e := w.movingEvent(6, 48, 72, 96, 120)
	var mu sync.Mutex
	var all []*bookingv1.Booking
	pick := func(r *rand.Rand) *bookingv1.Booking {
		mu.Lock()
		defer mu.Unlock()
		return all[r.IntN(len(all))]
	}
	var buyers []id.Customer
	for n := range 2 * dates {
		buyer := w.customer(w.company, fmt.Sprintf("Buyer %d", n))
		w.passes.give(buyer, 20)
		buyers = append(buyers, buyer)
		how := payByPass
		if n%2 == 0 {
			how = func(*bookingv1.CreateTransactionRequest) {}
		}
		all = append(all, w.take(buyer, e, n%dates, 2, how))
	}
	for d := range dates {
		for n := range 2 {
			_, err := w.waitlist.JoinWaitlist(w.ctx, &bookingv1.JoinWaitlistRequest{
				CustomerId: buyers[n].String(), EventDateId: e.GetDates()[d].GetId(), PricingOptionId: e.GetPricingOptions()[0].GetId(),
				Spaces: 3, Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	date := func(r *rand.Rand) string { return e.GetDates()[r.IntN(dates)].GetId() }
	step := func(r *rand.Rand) error {
		b := pick(r)
		switch n := r.IntN(20); {
		case n < 9:
			_, err := w.changes.MoveBooking(w.ctx, &bookingv1.MoveBookingRequest{BookingId: b.GetId(), EventDateId: date(r), Spaces: int32(r.IntN(4))})
			return err
		case n < 14:
			other := pick(r)
			if other == b {
				return nil
			}
			_, err := w.swap(b, other)
			return err
		case n < 15:
			_, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()})
			return err
		}
		method := bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
		if r.IntN(2) == 0 {
			method = byPass
		}
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: buyers[r.IntN(len(buyers))].String(), PaymentMethod: method,
			Lines: []*bookingv1.TransactionLine{
				{EventDateId: date(r), PricingOptionId: e.GetPricingOptions()[0].GetId()},
				{EventDateId: date(r), PricingOptionId: e.GetPricingOptions()[0].GetId()},
			},
		})
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, resp.GetTransaction().GetBookings()...)
		}
		return err
	}
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			for range steps {
				err := step(r)
				switch f := fault.From(err); {
				case err == nil, f.Kind == fault.Refused, f.Kind == fault.Conflict:
				default:
					t.Errorf("got %v", err)
				}
			}
		})
	}
	wg.Wait()
	w.settleDown()
	w.inStep()
	w.verify()
	w.reconcile()
	if n := one[int64](w, `select count(*) from credit_changes`); n != 0 {
		t.Errorf("%d changes are unfinished", n)
	}
	moves := one[int64](w, `select count(*) from booking_history where action = 'moved'`)
	if events := w.published(subjectBookingMoved); events != moves || moves < 20 {
		t.Errorf("%d events of %d moves", events, moves)
	}
}
