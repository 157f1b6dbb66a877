package booking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// together runs n goroutines and waits for all.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

func TestCapacityUnderConcurrency(t *testing.T) {
	t.Run("hundreds who book and cancel one date never overfill it, and every row adds up (invariants 1, 2, 3)", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, ptr[int32](40))
		var granted, full, cancelled atomic.Int64
		together(300, func(i int) {
			made, err := w.book(w.ctx, ann, e, int32(1+i%3))
			switch {
			case refusedFor(err, ReasonEventFull):
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
			// Two callers cancel the same booking: one of them frees the spaces.
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
			t.Errorf("%d granted, %d refused, %d cancelled: too tame", granted.Load(), full.Load(), cancelled.Load())
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
	t.Run("exactly as many as fit are granted across processes (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		other := newWorldOn(t, w.db) // a second process on the same database
		other.company, other.customers.known = w.company, w.customers.known
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, ptr[int32](50))
		otherCtx := other.as(w.company)
		w.mustBook(w.ctx, ann, e, 1) // Ann is known from here on
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
			} else if !refusedFor(err, ReasonEventFull) {
				t.Error(err)
			}
		})
		if granted.Load() != 49 {
			t.Errorf("%d were granted", granted.Load())
		}
		w.inStep()
	})
	t.Run("purchases over several dates in any order, cancellations and imports do not block each other", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		var dates []string
		for range 4 {
			dates = append(dates, w.event(w.ctx, ptr[int32](1000)).GetDates()[0].GetId())
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
				line := &bookingv1.ImportedTransaction{Reference: resp.GetTransaction().GetId(), Customer: ann.String(), PurchasedAt: resp.GetTransaction().GetPurchasedAt()}
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
	t.Run("of many requests under one key one is made (invariant 2)", func(t *testing.T) {
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

func TestDesk(t *testing.T) {
	buyer := func(d *desk, ctx context.Context, date id.EventDate) (*purchase, chan error) {
		p := &purchase{order: order{lines: []line{{date: date}}}}
		got := make(chan error, 1)
		go func() { got <- d.buy(ctx, date, p) }()
		return p, got
	}
	// waiting polls until so many purchases wait for the date.
	waiting := func(t *testing.T, d *desk, date id.EventDate, n int) {
		t.Helper()
		testkit.Eventually(t, 10*time.Second, func() error {
			d.mu.Lock()
			defer d.mu.Unlock()
			have := 0
			if q := d.queues[deskKey{date: date}]; q != nil {
				have = len(q.tickets)
			}
			if have != n {
				return fmt.Errorf("%d wait, want %d", have, n)
			}
			return nil
		})
	}
	// gate is a sell that waits for the test at each commit.
	type commit struct {
		purchases []*purchase
		answer    chan error
	}
	gate := func() (*desk, chan commit) {
		commits := make(chan commit)
		return newDesk(func(_ context.Context, _ id.Company, purchases []*purchase) error {
			c := commit{purchases, make(chan error)}
			commits <- c
			return <-c.answer
		}), commits
	}
	date := id.New[id.EventDate]()

	t.Run("who comes while a commit is under way shares the next, in order, up to the limit", func(t *testing.T) {
		d, commits := gate()
		_, first := buyer(d, t.Context(), date)
		alone := <-commits
		var order []*purchase
		var answers []chan error
		for n := range deskBatch + 2 {
			p, got := buyer(d, t.Context(), date)
			order, answers = append(order, p), append(answers, got)
			waiting(t, d, date, n+1)
		}
		alone.answer <- nil
		if err := <-first; err != nil || len(alone.purchases) != 1 {
			t.Fatalf("%v, %d purchases", err, len(alone.purchases))
		}
		for _, want := range [][]*purchase{order[:deskBatch], order[deskBatch:]} {
			c := <-commits
			if len(c.purchases) != len(want) {
				t.Fatalf("%d share a commit, want %d", len(c.purchases), len(want))
			}
			for i := range want {
				if c.purchases[i] != want[i] {
					t.Fatalf("number %d is out of turn", i)
				}
			}
			c.answer <- nil
		}
		for _, got := range answers {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
		testkit.Eventually(t, 10*time.Second, func() error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if len(d.queues) != 0 {
				return errors.New("the date is still busy")
			}
			return nil
		})
	})
	t.Run("another date waits for nobody", func(t *testing.T) {
		d, commits := gate()
		_, first := buyer(d, t.Context(), date)
		_, second := buyer(d, t.Context(), id.New[id.EventDate]())
		a, b := <-commits, <-commits
		a.answer <- nil
		b.answer <- nil
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
	})
	t.Run("a commit that errs is tried one by one", func(t *testing.T) {
		d, commits := gate()
		_, first := buyer(d, t.Context(), date)
		alone := <-commits
		_, good := buyer(d, t.Context(), date)
		waiting(t, d, date, 1)
		_, bad := buyer(d, t.Context(), date)
		waiting(t, d, date, 2)
		alone.answer <- nil
		<-first
		trouble := errors.New("trouble")
		(<-commits).answer <- trouble
		(<-commits).answer <- nil
		(<-commits).answer <- trouble
		if err := <-good; err != nil {
			t.Error(err)
		}
		if err := <-bad; !errors.Is(err, trouble) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a commit that may be stored is not tried again (invariant 2)", func(t *testing.T) {
		d, commits := gate()
		_, first := buyer(d, t.Context(), date)
		alone := <-commits
		_, second := buyer(d, t.Context(), date)
		waiting(t, d, date, 1)
		_, third := buyer(d, t.Context(), date)
		waiting(t, d, date, 2)
		alone.answer <- nil
		<-first
		(<-commits).answer <- fault.Away(fmt.Errorf("%w: connection lost", pg.ErrUncertain))
		for _, got := range []chan error{second, third} {
			if err := <-got; !fault.Is(err, fault.Unavailable) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("who leaves while waiting buys nothing, and the others do", func(t *testing.T) {
		d, commits := gate()
		_, first := buyer(d, t.Context(), date)
		alone := <-commits
		ctx, leave := context.WithCancel(t.Context())
		gone, left := buyer(d, ctx, date)
		waiting(t, d, date, 1)
		stays, got := buyer(d, t.Context(), date)
		waiting(t, d, date, 2)
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		alone.answer <- nil
		<-first
		c := <-commits
		if len(c.purchases) != 1 || c.purchases[0] != stays || c.purchases[0] == gone {
			t.Errorf("%d share the commit", len(c.purchases))
		}
		c.answer <- nil
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
	t.Run("a refusal is the purchase's own", func(t *testing.T) {
		refusal := fault.Refuse(ReasonEventFull, "full")
		d := newDesk(func(_ context.Context, _ id.Company, purchases []*purchase) error {
			purchases[0].refused = refusal
			return nil
		})
		_, got := buyer(d, t.Context(), date)
		if err := <-got; !errors.Is(err, refusal) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a panic in a shared commit is an error of it", func(t *testing.T) {
		begun, hold := make(chan struct{}), make(chan struct{})
		var calls atomic.Int64
		d := newDesk(func(context.Context, id.Company, []*purchase) error {
			if calls.Add(1) > 1 {
				panic("trouble")
			}
			close(begun)
			<-hold
			return nil
		})
		_, first := buyer(d, t.Context(), date)
		<-begun
		_, second := buyer(d, t.Context(), date)
		waiting(t, d, date, 1)
		close(hold)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-second; err == nil {
			t.Error("no error")
		}
	})
}
