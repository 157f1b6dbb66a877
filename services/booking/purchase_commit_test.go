package booking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// TestLockedDate checks that purchases of a date that another process has locked wait without
// connections, and delay no others.
func TestLockedDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	locked, free := w.event(w.ctx, nil), w.event(w.ctx, nil)
	w.mustBook(w.ctx, ann, free, 1) // puts Ann in the copy
	release := w.lockDate(locked)
	const waiting = 60 // far more than there are connections
	var stuck sync.WaitGroup
	for i := range waiting {
		stuck.Go(func() {
			ctx := w.ctx
			if i%2 == 0 {
				ctx = withKey(ctx, fmt.Sprint("key", i))
			}
			if _, err := w.book(ctx, ann, locked, 1); err != nil {
				t.Error(err)
			}
		})
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := one[int64](w, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`); n != 1 {
			return fmt.Errorf("%d statements wait for the lock, want 1", n)
		}
		return nil
	})
	for i := range 20 {
		w.mustBook(withKey(w.ctx, fmt.Sprint("free", i)), ann, free, 1)
	}
	if n := w.booked(locked); n != 0 {
		t.Errorf("%d spaces of the locked date are booked", n)
	}
	release()
	stuck.Wait()
	if w.booked(locked) != waiting || w.booked(free) != 21 {
		t.Errorf("%d and %d spaces are booked", w.booked(locked), w.booked(free))
	}
	w.inStep()
}

// TestLockedCode checks that purchases with a discount code that another process has locked delay no
// purchases of other dates.
func TestLockedCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e, other := w.event(w.ctx, nil), w.event(w.ctx, nil)
	w.code(percent("TEN", 1000))
	w.mustBook(w.ctx, ann, e, 1) // puts Ann in the copy
	buy := func(of *bookingv1.Event, code string) error {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: ann.String(), DiscountCode: code, Lines: []*bookingv1.TransactionLine{{EventId: of.GetId(), Spaces: 1}},
		})
		return err
	}
	locked, release := make(chan struct{}), make(chan struct{})
	var holder, stuck, others sync.WaitGroup
	holder.Go(func() {
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `select from discount_codes for update`)
			close(locked)
			wait(ctx, release)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	for range 5 {
		stuck.Go(func() {
			if err := buy(e, "TEN"); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 60 {
		others.Go(func() {
			if err := buy([]*bookingv1.Event{e, other}[i%2], ""); err != nil && !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
		})
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := w.booked(other); n != 30 {
			return fmt.Errorf("%d spaces of the other date are booked", n)
		}
		return nil
	})
	close(release)
	holder.Wait()
	stuck.Wait()
	others.Wait()
	w.inStep()
}

// TestKeysInOneCommit commits purchases with Idempotency-Keys together.
func TestKeysInOneCommit(t *testing.T) { // invariant 2
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e, other := w.event(w.ctx, new(int32(3))), w.event(w.ctx, nil)
	w.mustBook(w.ctx, ann, other, 1) // puts Ann in the copy
	before := w.mustBook(withKey(w.ctx, "old"), ann, other, 1)
	type answer struct {
		bought *bookingv1.Transaction
		err    error
	}
	// While a lock holds up the first commit, the purchases gather in the next one.
	release := w.lockDate(e)
	answers := map[string]chan answer{}
	ask := func(name, key string, of *bookingv1.Event, spaces int32) {
		answers[name] = make(chan answer, 1)
		go func() {
			bought, err := w.book(withKey(w.ctx, key), ann, of, spaces)
			answers[name] <- answer{bought, err}
		}()
		time.Sleep(5 * time.Millisecond) // so that they usually arrive in this order; the test holds in any
	}
	ask("first", "a", e, 1)
	ask("repeated", "a", e, 1)
	ask("another body", "old", e, 1)
	ask("replayed", "old", other, 1)
	ask("too many", "b", e, 4)
	ask("fits", "c", e, 2)
	release()
	got := map[string]answer{}
	for name, result := range answers {
		got[name] = <-result
	}
	for _, name := range []string{"first", "fits", "replayed"} {
		if name == "first" && fault.Is(got[name].err, fault.Conflict) {
			got[name] = got["repeated"] // the other one was first
		}
		if got[name].err != nil {
			t.Errorf("%s: %v", name, got[name].err)
		}
	}
	if r := got["repeated"]; r.err == nil && r.bought.GetId() != got["first"].bought.GetId() ||
		r.err != nil && fault.From(r.err).Reason != fault.ReasonIdempotencyInProgress {
		t.Errorf("repeated: got %v, %v", r.bought.GetId(), r.err)
	}
	if got["replayed"].bought.GetId() != before.GetId() {
		t.Errorf("replayed: got %v", got["replayed"].bought.GetId())
	}
	if f := fault.From(got["another body"].err); f == nil || f.Reason != fault.ReasonIdempotencyKeyReused {
		t.Errorf("another body: got %v", f)
	}
	if !refusedFor(got["too many"].err, model.ReasonEventFull) {
		t.Errorf("too many: got %v", got["too many"].err)
	}
	t.Run("a refused request leaves its key free, and the others store their responses", func(t *testing.T) {
		if again, err := w.book(withKey(w.ctx, "c"), ann, e, 2); err != nil || again.GetId() != got["fits"].bought.GetId() {
			t.Errorf("got %v, %v", again.GetId(), err)
		}
		if _, err := w.book(withKey(w.ctx, "b"), ann, other, 1); err != nil {
			t.Error(err)
		}
	})
	if w.booked(e) != 3 {
		t.Errorf("%d spaces are booked", w.booked(e))
	}
	w.inStep()
}

// TestRetriesOfPurchasesByPass repeats requests whose first attempts stopped after each step.
func TestRetriesOfPurchasesByPass(t *testing.T) { // invariant 15
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 10)
	e := w.passEvent(nil, time.Hour, nil)
	w.mustBook(w.ctx, mia, e, 1) // puts the customer in the copy
	booked, credits := w.booked(e), int32(10)
	for name, stop := range map[string]func(){
		"before the credits are taken": func() { w.passes.before = func(string) error { return errPassAway } },
		"after the credits are taken":  func() { w.passes.after = func(string) error { return errors.New("lost") } },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := withKey(w.ctx, strings.ReplaceAll(name, " ", "-"))
			stop()
			if _, err := w.byPass(ctx, mia, e, 1); !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Internal) {
				t.Fatalf("got %v", err)
			}
			w.passes.before, w.passes.after = nil, nil
			if _, err := w.byPass(ctx, mia, e, 2); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
				t.Errorf("another body: got %v", err)
			}
			if _, err := w.book(ctx, mia, e, 1); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
				t.Errorf("by card: got %v", err)
			}
			// Its key is free for another kind of resource once the purchase is complete.
			_, err := w.bookings.HoldPlaces(ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId()}}})
			if fault.From(err).Reason != fault.ReasonIdempotencyInProgress {
				t.Errorf("a hold: got %v", err)
			}
			first, err := w.byPass(ctx, mia, e, 1)
			if err != nil {
				t.Fatal(err)
			}
			again, err := w.byPass(ctx, mia, e, 1)
			if err != nil || again.GetId() != first.GetId() {
				t.Errorf("got %v, %v", again.GetId(), err)
			}
			booked, credits = booked+1, credits-1
			if w.booked(e) != booked || w.passes.credits(pass) != credits {
				t.Errorf("%d spaces, %d credits, want %d and %d", w.booked(e), w.passes.credits(pass), booked, credits)
			}
		})
	}
	t.Run("a retry while the purchase is undone is refused, and a later one begins it again", func(t *testing.T) {
		ctx := withKey(w.ctx, "undone")
		w.passes.before = func(string) error { return errPassAway }
		if _, err := w.byPass(ctx, mia, e, 1); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("got %v", err)
		}
		w.exec(`update transactions set status = 'undoing' where status = 'pending'`)
		w.passes.before = nil
		if _, err := w.byPass(ctx, mia, e, 1); fault.From(err).Reason != fault.ReasonIdempotencyInProgress {
			t.Errorf("got %v", err)
		}
		w.settleDown()
		if _, err := w.byPass(ctx, mia, e, 1); err != nil {
			t.Error(err)
		}
		if w.booked(e) != booked+1 || w.passes.credits(pass) != credits-1 {
			t.Errorf("%d spaces, %d credits", w.booked(e), w.passes.credits(pass))
		}
	})
	if n := one[int64](w, `select count(*) from transactions where request_key is not null and status = 'confirmed'`); n != 0 {
		t.Errorf("%d confirmed transactions keep the key of their request", n)
	}
	w.verify()
	w.reconcile()
}
