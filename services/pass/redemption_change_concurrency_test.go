package pass

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

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
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 3))
			s := servers[worker%len(servers)]
			for range 30 {
				mu.Lock()
				if len(redeemed) == 0 || r.IntN(4) == 0 {
					redeemed = append(redeemed, redeemRequest(customer, passes[r.IntN(len(passes))], int32(r.IntN(4))))
				}
				req := redeemed[r.IntN(len(redeemed))]
				change := changeRequest(req, int32(r.IntN(4)), int32(r.IntN(4)))
				if len(changes) > 0 && r.IntN(3) == 0 {
					change = changes[r.IntN(len(changes))]
				}
				kind := r.IntN(8)
				if kind == 3 && len(decided) > 0 && r.IntN(2) == 0 {
					change = decided[len(decided)-1]
				}
				changes = append(changes, change)
				mu.Unlock()
				var err error
				switch kind {
				case 0, 1, 2:
					if _, err = s.ChangeRedemption(ctx, change); err == nil {
						mu.Lock()
						decided = append(decided, change)
						mu.Unlock()
					}
				case 3:
					_, err = s.CancelRedemptionChange(ctx, &passv1.CancelRedemptionChangeRequest{
						RedemptionId: change.GetRedemptionId(), ItemId: change.GetItem().GetItemId(), ChangeId: change.GetChangeId()})
				case 4:
					_, err = s.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{RedemptionId: req.GetRedemptionId(), ReturnId: req.GetItems()[0].GetItemId(), CustomerPassId: passes[0]})
				case 5:
					_, err = s.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
				default:
					_, err = s.RedeemCredits(ctx, req)
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

// changeModel is an independent account of what passes and bookings have.
type changeModel struct {
	uses     map[string]int32 // left, by pass; absent: unlimited
	held     map[string]int32 // by booking
	returned map[string]bool  // by booking
	changes  map[string]*modelChange
}

type modelChange struct {
	before, after int32
	cancelled     bool
}

// take moves credits from a pass to a booking. It reports whether the pass has them.
func (m *changeModel) take(pass, booking string, credits int32) bool {
	uses, limited := m.uses[pass]
	if limited && uses < credits {
		return false
	}
	if limited {
		m.uses[pass] = uses - credits
	}
	m.held[booking] += credits
	return true
}

// change returns the reason why a change is refused, and the credits of the booking after it.
func (m *changeModel) change(pass, booking string, c *passv1.ChangeRedemptionRequest) (string, int32) {
	known := m.changes[c.GetChangeId()]
	from, to := m.held[booking], c.GetItem().GetCredits()
	switch {
	case known != nil && known.cancelled:
		return ReasonRedemptionCancelled, 0
	case known != nil:
		return "", known.after
	case m.returned[booking]:
		return ReasonRedemptionCancelled, 0
	case c.GetExpectedCredits() != from:
		return fault.ReasonVersionMismatch, 0
	case c.GetValidateOnly():
		if uses, limited := m.uses[pass]; limited && uses < to-from {
			return ReasonPassExhausted, 0
		}
		return "", to
	case !m.take(pass, booking, to-from):
		return ReasonPassExhausted, 0
	}
	m.changes[c.GetChangeId()] = &modelChange{before: from, after: to}
	return "", to
}

// cancel returns the reason why a cancellation is refused, and the credits of the booking after it.
func (m *changeModel) cancel(pass, booking, change string) (string, int32) {
	known := m.changes[change]
	switch {
	case m.returned[booking]:
		return "", 0
	case known == nil:
		m.changes[change] = &modelChange{cancelled: true}
	case !known.cancelled:
		if !m.take(pass, booking, known.before-m.held[booking]) {
			return ReasonPassExhausted, 0
		}
		known.cancelled = true
	}
	return "", m.held[booking]
}

// giveBack returns all that a booking holds.
func (m *changeModel) giveBack(pass, booking string) (changed bool) {
	if m.returned[booking] {
		return false
	}
	m.returned[booking] = true
	return m.take(pass, booking, -m.held[booking])
}

// TestChangesMatchAModel runs random sequences of calls on the service and on a model.
func TestChangesMatchAModel(t *testing.T) { // invariants 1, 9, 11 and 18
	w := open(t)
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 18))
		m := &changeModel{uses: map[string]int32{}, held: map[string]int32{}, returned: map[string]bool{}, changes: map[string]*modelChange{}}
		customer := w.customer()
		limited, unlimited := w.give(customer, nil).GetId(), w.give(customer, membership).GetId()
		m.uses[limited] = 10
		var redeemed []*passv1.RedeemCreditsRequest
		var changes []*passv1.ChangeRedemptionRequest
		for step := range 150 {
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			if len(redeemed) < 2 || r.IntN(8) == 0 {
				req := redeemRequest(customer, []string{limited, unlimited}[r.IntN(2)], r.Int32N(3))
				if _, err := w.redeem(req); err != nil {
					if uses, ok := m.uses[req.GetCustomerPassId()]; !ok || uses >= max(1, req.GetItems()[0].GetCredits()) || reason(err) != ReasonPassExhausted {
						t.Fatalf("%s: %v", at, err)
					}
					continue
				}
				if !m.take(req.GetCustomerPassId(), req.GetItems()[0].GetItemId(), req.GetItems()[0].GetCredits()) {
					t.Fatalf("%s: the pass %d does not have the credits", at, m.uses[limited])
				}
				redeemed = append(redeemed, req)
				continue
			}
			req := redeemed[r.IntN(len(redeemed))]
			pass, booking := req.GetCustomerPassId(), req.GetItems()[0].GetItemId()
			change := changeRequest(req, m.held[booking]+r.Int32N(8)/7, r.Int32N(6))
			if len(changes) > 0 && r.IntN(3) == 0 {
				change = proto.CloneOf(changes[r.IntN(len(changes))])
				req = redeemed[indexOf(redeemed, change.GetRedemptionId())]
				pass, booking = req.GetCustomerPassId(), change.GetItem().GetItemId()
			}
			change.ValidateOnly = r.IntN(5) == 0
			switch r.IntN(7) {
			case 0:
				want, held := m.cancel(pass, booking, change.GetChangeId())
				if got, err := w.cancelChange(change); reason(err) != want || got != held {
					t.Fatalf("%s: cancelled: %d, %v, want %d, %q", at, got, err, held, want)
				}
			case 1:
				if r.IntN(3) > 0 {
					continue
				}
				changed := m.giveBack(pass, booking)
				if got := w.returnFirst(req); got.GetChanged() != changed {
					t.Fatalf("%s: returned: %v, want %t", at, got, changed)
				}
			default:
				want, held := m.change(pass, booking, change)
				if got, err := w.changeRedemption(change); reason(err) != want || got.GetCredits() != held {
					t.Fatalf("%s: changed: %v, %v, want %d, %q", at, got, err, held, want)
				}
			}
			changes = append(changes, change)
			if got := w.get(limited).GetRemainingUses(); got != m.uses[limited] {
				t.Fatalf("%s: %d are left, want %d", at, got, m.uses[limited])
			}
		}
		exported := w.exported()
		for booking, held := range m.held {
			if exported[booking] != held {
				t.Errorf("seed %d: %s holds %d, want %d", seed, booking, exported[booking], held)
			}
		}
	}
	w.verify()
}

func indexOf(list []*passv1.RedeemCreditsRequest, redemption string) int {
	for n, r := range list {
		if r.GetRedemptionId() == redemption {
			return n
		}
	}
	return -1
}
