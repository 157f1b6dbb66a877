package pass

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

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
