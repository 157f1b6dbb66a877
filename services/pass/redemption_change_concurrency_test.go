package pass

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// together calls functions at once, each several times, and waits for all of them.
func together(times int, calls ...func()) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for _, call := range calls {
		for range times {
			wg.Go(func() { <-start; call() })
		}
	}
	close(start)
	wg.Wait()
}

func TestChangesAtOnce(t *testing.T) { // invariants 1, 9 and 18
	w := open(t)
	t.Run("the same change is decided once", func(t *testing.T) {
		p, req := w.paidWith(2)
		change := changeRequest(req, 2, 5)
		together(16, func() {
			if got, err := w.changeRedemption(change); err != nil || got.GetCredits() != 5 || got.GetRemainingUses() != 5 {
				t.Errorf("got %v, %v", got, err)
			}
		})
		if got := creditsOf(w.ledger(p.GetId())); got != "10=10 -2=8 -3=5" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("one of several changes of a booking is decided", func(t *testing.T) {
		p, req := w.paidWith(2)
		var done atomic.Int32
		together(12, func() {
			_, err := w.changeRedemption(changeRequest(req, 2, 5))
			if err == nil {
				done.Add(1)
			} else if reason(err) != fault.ReasonVersionMismatch {
				t.Error(err)
			}
		})
		if left := w.get(p.GetId()).GetRemainingUses(); done.Load() != 1 || left != 5 {
			t.Errorf("%d changes, %d are left", done.Load(), left)
		}
	})
	t.Run("a change and its cancellation leave the booking as it was", func(t *testing.T) {
		for range 8 {
			p, req := w.paidWith(2)
			change := changeRequest(req, 2, 5)
			together(4, func() {
				if _, err := w.changeRedemption(change); err != nil && reason(err) != ReasonRedemptionCancelled {
					t.Error(err)
				}
			}, func() {
				w.mustCancelChange(change, 2)
			})
			if left := w.get(p.GetId()).GetRemainingUses(); left != 8 {
				t.Errorf("%d are left", left)
			}
			if _, err := w.changeRedemption(change); reason(err) != ReasonRedemptionCancelled {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("a cancellation before the redemption is stored once", func(t *testing.T) {
		req := redeemRequest(w.customer(), "", 2)
		change := changeRequest(req, 2, 5)
		together(12, func() { w.mustCancelChange(change, 0) })
	})
	t.Run("a change and a return leave nothing with the booking", func(t *testing.T) {
		for n := range 8 {
			p, req := w.paidWith(4)
			change := changeRequest(req, 4, int32(1+n))
			returned := func() { w.returnFirst(req) }
			if n%2 == 0 {
				returned = func() {
					if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()}); err != nil {
						t.Error(err)
					}
				}
			}
			together(4, func() {
				if _, err := w.changeRedemption(change); err != nil && reason(err) != ReasonRedemptionCancelled {
					t.Error(err)
				}
			}, returned)
			if left := w.get(p.GetId()).GetRemainingUses(); left != 10 {
				t.Errorf("%d are left", left)
			}
		}
	})
	t.Run("a change and a redemption do not both get the last credit", func(t *testing.T) {
		for range 8 {
			p, req := w.paidWith(9)
			another := redeemRequest(req.GetCustomerId(), p.GetId(), 1)
			change := changeRequest(req, 9, 10)
			var changed, redeemed error
			together(1, func() { _, changed = w.changeRedemption(change) }, func() { _, redeemed = w.redeem(another) })
			if got := reason(changed) + reason(redeemed); got != ReasonPassExhausted {
				t.Errorf("the change: %v, the redemption: %v", changed, redeemed)
			}
			if left := w.get(p.GetId()).GetRemainingUses(); left != 0 {
				t.Errorf("%d are left", left)
			}
		}
	})
	t.Run("one identifier for changes of many bookings is stored once", func(t *testing.T) {
		var changes []*passv1.ChangeRedemptionRequest
		for range 8 {
			_, req := w.paidWith(2)
			change := changeRequest(req, 2, 3)
			if len(changes) > 0 {
				change.ChangeId = changes[0].GetChangeId()
			}
			changes = append(changes, change)
		}
		var done atomic.Int32
		var calls []func()
		for _, c := range changes {
			calls = append(calls, func() {
				if _, err := w.changeRedemption(c); err == nil {
					done.Add(1)
				} else if faults(err) != "change_id:unique" {
					t.Error(err)
				}
			})
		}
		together(1, calls...)
		if done.Load() != 1 {
			t.Errorf("%d changes", done.Load())
		}
	})
	if n := w.lostRaces(); n > 0 {
		t.Errorf("%v transactions were repeated after a deadlock", n)
	}
	w.verify()
}

// TestChangesUnderConcurrency lets several processes redeem, change, cancel and return the credits of few
// passes, and then verifies every number.
func TestChangesUnderConcurrency(t *testing.T) { // invariants 1, 9 and 18
	w := open(t)
	customer := w.customer()
	var passes []string
	for range 3 {
		passes = append(passes, w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 60 }).GetId())
	}
	passes = append(passes, w.give(customer, membership).GetId())
	servers := []*Server{w.server}
	for range 2 {
		servers = append(servers, NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), NewCompanies(w.db, w.auth), w.customers))
	}
	claims, err := w.issuer.Verifier.Verify(t.Context(), w.issuer.Client(w.company, "redemptions:write", "customer-passes:write"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := rpc.WithClaims(t.Context(), claims)
	accepted := map[string]bool{
		"": true, ReasonPassExhausted: true, ReasonPassNotActive: true, ReasonRedemptionCancelled: true, fault.ReasonVersionMismatch: true, fault.ReasonNotFound: true,
	}
	var mu sync.Mutex
	var redeemed []*passv1.RedeemCreditsRequest
	var changes, decided []*passv1.ChangeRedemptionRequest
	held := map[string]int32{} // by booking, after the last change that was answered
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 3))
			s := servers[worker%len(servers)]
			for range 30 {
				mu.Lock()
				if len(redeemed) == 0 || r.IntN(6) == 0 {
					redeemed = append(redeemed, redeemRequest(customer, passes[r.IntN(len(passes))], int32(r.IntN(4))))
				}
				req := redeemed[r.IntN(len(redeemed))]
				from := req.GetItems()[0].GetCredits()
				if changed, ok := held[req.GetItems()[0].GetItemId()]; ok {
					from = changed
				}
				change := changeRequest(req, from, int32(r.IntN(4)))
				if len(changes) > 0 && r.IntN(3) == 0 {
					change = changes[r.IntN(len(changes))]
				}
				kind := r.IntN(24)
				if kind < 3 && len(decided) > 0 {
					change = decided[len(decided)-1-r.IntN(min(len(decided), 3))]
				}
				changes = append(changes, change)
				mu.Unlock()
				var err error
				switch kind {
				case 0, 1, 2, 3:
					_, err = s.CancelRedemptionChange(ctx, &passv1.CancelRedemptionChangeRequest{
						RedemptionId: change.GetRedemptionId(), ItemId: change.GetItem().GetItemId(), ChangeId: change.GetChangeId()})
				case 4:
					_, err = s.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{RedemptionId: req.GetRedemptionId(), ReturnId: req.GetItems()[0].GetItemId(), CustomerPassId: passes[0]})
				case 5:
					_, err = s.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
				case 6, 7, 8, 9, 10, 11:
					_, err = s.RedeemCredits(ctx, req)
				default:
					if _, err = s.ChangeRedemption(ctx, change); err == nil {
						mu.Lock()
						decided, held[change.GetItem().GetItemId()] = append(decided, change), change.GetItem().GetCredits()
						mu.Unlock()
					}
				}
				if !accepted[reason(err)] {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := w.lostRaces(); n > 0 {
		t.Errorf("%v transactions were repeated after a deadlock", n)
	}
	if checked := w.verify(); checked < 100 {
		t.Errorf("only %d rows were checked", checked)
	}
	for _, state := range []string{"cancelled_at is null", "cancelled_at is not null and credits_after is null", "undone <> 0"} {
		if w.count(`select count(*) from redemption_changes where `+state) == 0 {
			t.Errorf("no change with %s", state)
		}
	}
	// The same check of the passes without the service's own statements.
	for _, pass := range passes {
		var sum int32
		for _, e := range w.ledger(pass) {
			sum += e.GetCredits()
			if e.GetBalance() != sum || sum < 0 {
				t.Errorf("%v: the balance is not %d", e, sum)
			}
		}
		if left := w.get(pass).GetRemainingUses(); left != sum {
			t.Errorf("%d uses are left, the sum of the ledger is %d", left, sum)
		}
	}
}

// TestChangeDuringADeletion holds up a change that takes credits. The deletion of the customer is confirmed
// after it.
func TestChangeDuringADeletion(t *testing.T) { // invariant 8
	w := open(t)
	p, req := w.paidWith(2)
	release := w.hold(`select from customer_passes where company_id = $1 for update`)
	begun, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.changeRedemption(changeRequest(req, 2, 3))
		begun <- err
	}()
	w.waitsFor("", begun)
	go func() {
		w.deletes(req.GetCustomerId())
		ended <- w.confirmDeletion(req.GetCustomerId())
	}()
	w.waitsFor(fenceSQL, ended)
	release()
	for _, c := range []chan error{begun, ended} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	_, err := w.changeRedemption(changeRequest(req, 3, 4))
	wantMissing(t, err)
	if left := w.get(p.GetId()).GetRemainingUses(); left != 7 {
		t.Errorf("%d are left", left)
	}
	w.verify()
}

// TestChangeOfAnUnknownCustomer changes credits of a customer who has no row, because an early release
// assigned the pass.
func TestChangeOfAnUnknownCustomer(t *testing.T) { // invariant 8
	w := open(t)
	_, req := w.paidWith(2)
	w.exec(`delete from customers`)
	w.mustChange(changeRequest(req, 2, 3))
	if n := w.count(`select count(*) from customers`); n != 1 {
		t.Errorf("%d rows", n)
	}
}
