package booking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/commitqueue"
	"reservation.dev/services/booking/model"
)

// together runs n goroutines and waits for all of them.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

func TestCapacityUnderConcurrency(t *testing.T) {
	t.Run("hundreds of concurrent bookings and cancellations never overbook a date, and every row adds up (invariants 1, 2, 3)", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, new(int32(40)))
		var granted, full, cancelled atomic.Int64
		together(300, func(i int) {
			made, err := w.book(w.ctx, ann, e, int32(1+i%3))
			switch {
			case refusedFor(err, model.ReasonEventFull):
				full.Add(1)
				return
			case err != nil:
				t.Error(err)
				return
			}
			granted.Add(1)
			if i%2 == 0 {
				return
			}
			// Two callers cancel the same booking, and only one of them frees the spaces.
			together(2, func(int) {
				resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: made.GetBookings()[0].GetId()})
				if err != nil {
					t.Error(err)
				} else if resp.GetChanged() {
					cancelled.Add(1)
				}
			})
		})
		w.inStep()
		if granted.Load() == 0 || full.Load() == 0 || cancelled.Load() == 0 {
			t.Errorf("%d granted, %d refused, %d cancelled: not enough contention", granted.Load(), full.Load(), cancelled.Load())
		}
		stored := one[int64](w, `select count(*) from bookings`)
		if confirmed := w.published(subjectBookingConfirmed); stored != granted.Load() || confirmed != stored {
			t.Errorf("%d were granted, %d stored, %d published", granted.Load(), stored, confirmed)
		}
		if off := w.published(subjectBookingCancelled); off != cancelled.Load() ||
			one[int64](w, `select count(*) from bookings where is_cancelled`) != off {
			t.Errorf("%d were cancelled, %d published", cancelled.Load(), off)
		}
		if n := one[int64](w, `select count(*) from transactions where version <> 1 + (select count(*) from bookings b
			where b.transaction_id = transactions.id and b.is_cancelled)`); n != 0 {
			t.Errorf("%d transactions have a wrong version", n)
		}
	})
	t.Run("grants exactly as many bookings as fit, across processes (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		other := newWorldOn(t, w.db) // a second process on the same database
		other.company, other.customers.known = w.company, w.customers.known
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, new(int32(50)))
		otherCtx := other.as(w.company)
		w.mustBook(w.ctx, ann, e, 1) // puts Ann in the copy
		var granted atomic.Int64
		together(200, func(i int) {
			var err error
			if i%2 == 0 {
				_, err = w.book(w.ctx, ann, e, 1)
			} else {
				_, err = other.book(otherCtx, ann, e, 1)
			}
			if err == nil {
				granted.Add(1)
			} else if !refusedFor(err, model.ReasonEventFull) {
				t.Error(err)
			}
		})
		if granted.Load() != 49 {
			t.Errorf("%d were granted", granted.Load())
		}
		w.inStep()
	})
}

func TestPurchasesUnderConcurrency(t *testing.T) {
	t.Run("purchases over several dates in any order, cancellations and imports do not block each other", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		var dates []string
		for range 4 {
			dates = append(dates, w.event(w.ctx, new(int32(1000))).GetDates()[0].GetId())
		}
		together(60, func(i int) {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			req := &bookingv1.CreateTransactionRequest{PurchaserId: ann.String()}
			for _, n := range r.Perm(len(dates)) {
				req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventDateId: dates[n]})
			}
			resp, err := w.bookings.CreateTransaction(w.ctx, req)
			if err != nil {
				t.Error(err)
				return
			}
			if i%5 == 0 {
				line := &bookingv1.ImportedTransaction{Reference: fmt.Sprint("import ", i), Customer: ann.String(), PurchasedAt: resp.GetTransaction().GetPurchasedAt()}
				for _, n := range r.Perm(len(dates)) {
					line.Bookings = append(line.Bookings, &bookingv1.ImportedBooking{
						Spaces: 1, Date: &bookingv1.ImportedBooking_EventDateId{EventDateId: dates[n]},
						Payment: &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 1}},
					})
				}
				if got, err := w.send(w.ctx, line); err != nil || got[0].GetOutcome() != bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED {
					t.Error(got, err)
				}
			}
			for _, b := range resp.GetTransaction().GetBookings() {
				if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()}); err != nil {
					t.Error(err)
				}
			}
		})
		w.inStep()
	})
	t.Run("concurrent requests with one Idempotency-Key make one purchase (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, nil)
		ctx := withKey(w.ctx, "same")
		ids := make([]string, 40)
		together(len(ids), func(i int) {
			for {
				made, err := w.book(ctx, ann, e, 1)
				if fault.Is(err, fault.Conflict) {
					continue // in progress
				}
				if err != nil {
					t.Error(err)
				}
				ids[i] = made.GetId()
				return
			}
		})
		for _, got := range ids {
			if got != ids[0] || got == "" {
				t.Fatalf("answers are %v", ids)
			}
		}
		w.inStep()
	})
}

func TestRefusalDoesNotFailTheCommit(t *testing.T) {
	refusal := fault.Refuse(model.ReasonEventFull, "full")
	s := &Server{purchases: commitqueue.New[id.EventDate](func(_ context.Context, _ id.Company, purchases []*purchase, _ bool) ([]int, error) {
		purchases[0].Refused = refusal
		return nil, nil
	})}
	p := &purchase{Purchase: model.Purchase{Order: model.Order{Lines: []model.Line{{Date: id.New[id.EventDate]()}}}}}
	if err := s.commit(t.Context(), p); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
}
