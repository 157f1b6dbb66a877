package pass

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// changeRequest returns a change of what the first booking of a redemption costs.
func changeRequest(req *passv1.RedeemCreditsRequest, from, to int32) *passv1.ChangeRedemptionRequest {
	item := proto.CloneOf(req.GetItems()[0])
	item.Credits = to
	return &passv1.ChangeRedemptionRequest{RedemptionId: req.GetRedemptionId(), Item: item, ChangeId: id.NewUUID().String(), ExpectedCredits: from}
}

func (w *world) changeRedemption(c *passv1.ChangeRedemptionRequest) (*passv1.ChangeRedemptionResponse, error) {
	return w.client.ChangeRedemption(w.as(w.company), c)
}

func (w *world) mustChange(c *passv1.ChangeRedemptionRequest) *passv1.ChangeRedemptionResponse {
	w.t.Helper()
	res, err := w.changeRedemption(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// cancelChange cancels a change and returns the credits that the booking holds.
func (w *world) cancelChange(c *passv1.ChangeRedemptionRequest) (int32, error) {
	res, err := w.client.CancelRedemptionChange(w.as(w.company), &passv1.CancelRedemptionChangeRequest{
		RedemptionId: c.GetRedemptionId(), ItemId: c.GetItem().GetItemId(), ChangeId: c.GetChangeId(),
	})
	return res.GetCredits(), err
}

func (w *world) mustCancelChange(c *passv1.ChangeRedemptionRequest, want int32) {
	w.t.Helper()
	if got, err := w.cancelChange(c); err != nil || got != want {
		w.t.Errorf("cancelling the change: got %d, %v, want %d", got, err, want)
	}
}

// returnFirst returns the credits of the first booking of a redemption.
func (w *world) returnFirst(req *passv1.RedeemCreditsRequest) *passv1.ReturnCreditsResponse {
	w.t.Helper()
	res, err := w.client.ReturnCredits(w.as(w.company), &passv1.ReturnCreditsRequest{
		RedemptionId: req.GetRedemptionId(), ReturnId: req.GetItems()[0].GetItemId(), Credits: req.GetItems()[0].GetCredits(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// paidWith returns a redemption of one booking, paid with a new pass of ten uses.
func (w *world) paidWith(credits int32) (*passv1.CustomerPass, *passv1.RedeemCreditsRequest) {
	w.t.Helper()
	customer := w.customer()
	p := w.give(customer, nil)
	req := redeemRequest(customer, p.GetId(), credits)
	w.mustRedeem(req)
	return p, req
}

func TestChangeRedemption(t *testing.T) { // invariants 1, 2, 9 and 18
	w := open(t)
	for name, c := range map[string]struct {
		from, to int32
		want     string // the ledger
		uses     int32
		events   int64 // of the pass
	}{
		"more credits":      {2, 5, "10=10 -2=8 -3=5", 5, 2},
		"all that are left": {2, 10, "10=10 -2=8 -8=0", 0, 2},
		"fewer credits":     {5, 2, "10=10 -5=5 3=8", 8, 2},
		"no credits":        {5, 0, "10=10 -5=5 5=10", 10, 2},
		"from no credits":   {0, 3, "10=10 -3=7", 7, 2},
		"the same credits":  {4, 4, "10=10 -4=6", 6, 1},
	} {
		t.Run(name+": only the difference is taken or returned, once", func(t *testing.T) {
			p, req := w.paidWith(c.from)
			change := changeRequest(req, c.from, c.to)
			for range 3 {
				got := w.mustChange(change)
				if got.GetCredits() != c.to || got.GetRemainingUses() != c.uses || got.GetCustomerPassId() != p.GetId() {
					t.Errorf("got %v", got)
				}
			}
			if got := creditsOf(w.ledger(p.GetId())); got != c.want || w.get(p.GetId()).GetRemainingUses() != c.uses {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if n := w.events(p.GetId()); n != c.events {
				t.Errorf("%d events, want %d", n, c.events)
			}
			if got := w.get(p.GetId()).GetVersion(); got != p.GetVersion()+c.events {
				t.Errorf("version %d", got)
			}
			w.verify()
			if res := w.returnFirst(req); res.GetRemainingUses() != 10 || !res.GetChanged() {
				t.Errorf("returned: %v", res)
			}
		})
	}
	t.Run("the entries name the booking and the caller", func(t *testing.T) {
		p, req := w.paidWith(2)
		w.mustChange(changeRequest(req, 2, 3))
		w.mustChange(changeRequest(req, 3, 1))
		kinds := []passv1.LedgerEntryKind{passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED}
		for n, e := range w.ledger(p.GetId())[2:] {
			if e.GetKind() != kinds[n] || e.GetRedemptionId() != req.GetRedemptionId() || e.GetItemId() != req.GetItems()[0].GetItemId() || !strings.HasPrefix(e.GetActor(), "m2m_") {
				t.Errorf("got %v", e)
			}
		}
	})
	t.Run("a repeated redemption has its first answer, and cancelling it returns what it holds", func(t *testing.T) {
		p, req := w.paidWith(2)
		w.mustChange(changeRequest(req, 2, 7))
		if got := w.mustRedeem(req); got.GetCredits() != 2 || got.GetRemainingUses() != 8 {
			t.Errorf("got %v", got)
		}
		res, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
		if err != nil || res.GetCredits() != 7 || w.get(p.GetId()).GetRemainingUses() != 10 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("other bookings of the redemption keep their credits", func(t *testing.T) {
		customer := w.customer()
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2, 3)
		w.mustRedeem(req)
		w.mustChange(changeRequest(req, 2, 1))
		w.returnFirst(req)
		if left := w.get(p.GetId()).GetRemainingUses(); left != 7 {
			t.Errorf("%d are left", left)
		}
	})
	w.verify()
}

func TestRefusedChange(t *testing.T) { // invariants 5 and 18
	w := open(t)
	ctx := w.as(w.company)
	update := func(p *passv1.CustomerPass, status passv1.CustomerPassStatus) {
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: status})
	}
	type prepare func(*passv1.CustomerPass, *passv1.RedeemCreditsRequest, *passv1.ChangeRedemptionRequest)
	for name, c := range map[string]struct {
		prepare          prepare
		more, same, less string // the reasons
		checked          string // the reason of fewer credits with validate_only
	}{
		"a pass that is valid": {func(*passv1.CustomerPass, *passv1.RedeemCreditsRequest, *passv1.ChangeRedemptionRequest) {}, "", "", "", ""},
		"a paused pass": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			update(p, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED)
		}, ReasonPassNotActive, ReasonPassNotActive, "", ReasonPassNotActive},
		"a cancelled pass": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			update(p, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED)
		}, ReasonPassNotActive, ReasonPassNotActive, "", ReasonPassNotActive},
		"a day after its last day": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			c.Item.Day = day(p.GetExpiryDate()).AddDate(0, 0, 1).Format(time.DateOnly)
		}, ReasonPassExpired, ReasonPassExpired, "", ReasonPassExpired},
		"its last day": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			c.Item.Day = p.GetExpiryDate()
		}, "", "", "", ""},
		"a day before its first day": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			c.Item.Day = day(p.GetStartDate()).AddDate(0, 0, -1).Format(time.DateOnly)
		}, ReasonPassNotActive, ReasonPassNotActive, "", ReasonPassNotActive},
		"a type of event that it does not pay": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			w.exec(`update pass_types set eligible_event_types = '{class}' where id = $1`, passTypeOf(p))
			c.Item.EventType = "workshop"
		}, ReasonPassNotApplicable, ReasonPassNotApplicable, "", ReasonPassNotApplicable},
		"a pass without uses left": {func(p *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: proto.Int32(0)})
		}, ReasonPassExhausted, "", "", ""},
		"another number of credits": {func(_ *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			c.ExpectedCredits = 4
		}, fault.ReasonVersionMismatch, fault.ReasonVersionMismatch, fault.ReasonVersionMismatch, fault.ReasonVersionMismatch},
		"a booking that was returned": {func(_ *passv1.CustomerPass, req *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			w.returnFirst(req)
		}, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled},
		"a redemption that was cancelled": {func(_ *passv1.CustomerPass, req *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			if _, err := w.client.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()}); err != nil {
				t.Fatal(err)
			}
		}, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled},
		"a booking that the previous release returned": {func(_ *passv1.CustomerPass, req *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			w.returnFirst(req)
			w.exec(`update redemption_items set returned_at = null`)
		}, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled},
		"a change that was cancelled": {func(_ *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			w.mustCancelChange(c, 5)
		}, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled, ReasonRedemptionCancelled},
		"a redemption that is not known": {func(_ *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			c.RedemptionId = newTransaction()
		}, fault.ReasonNotFound, fault.ReasonNotFound, fault.ReasonNotFound, fault.ReasonNotFound},
		"a booking of another redemption": {func(_ *passv1.CustomerPass, _ *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			_, other := w.paidWith(5)
			c.Item.ItemId = other.GetItems()[0].GetItemId()
		}, fault.ReasonNotFound, fault.ReasonNotFound, fault.ReasonNotFound, fault.ReasonNotFound},
		"an imported booking": {func(p *passv1.CustomerPass, req *passv1.RedeemCreditsRequest, c *passv1.ChangeRedemptionRequest) {
			imported := redeemRequest(req.GetCustomerId(), "", 5)
			_, err := w.client.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{
				RedemptionId: imported.GetRedemptionId(), ReturnId: imported.GetItems()[0].GetItemId(), Credits: 5, CustomerPassId: p.GetId()})
			if err != nil {
				t.Fatal(err)
			}
			c.RedemptionId, c.Item.ItemId = imported.GetRedemptionId(), imported.GetItems()[0].GetItemId()
		}, fault.ReasonNotFound, fault.ReasonNotFound, fault.ReasonNotFound, fault.ReasonNotFound},
		"a customer who is deleted": {func(_ *passv1.CustomerPass, req *passv1.RedeemCreditsRequest, _ *passv1.ChangeRedemptionRequest) {
			w.deletes(req.GetCustomerId())
			if err := w.confirmDeletion(req.GetCustomerId()); err != nil {
				t.Fatal(err)
			}
		}, fault.ReasonNotFound, "", "", ""},
	} {
		for _, validateOnly := range []bool{true, false} {
			for to, want := range map[int32]string{7: c.more, 5: c.same, 3: c.less} {
				if validateOnly && to == 3 {
					want = c.checked
				}
				t.Run(fmt.Sprintf("%s, 5 to %d credits, validate_only %t", name, to, validateOnly), func(t *testing.T) {
					p, req := w.paidWith(5)
					change := changeRequest(req, 5, to)
					change.ValidateOnly = validateOnly
					c.prepare(p, req, change)
					before, rows := w.get(p.GetId()), w.count(`select count(*) from redemption_changes`)
					got, err := w.changeRedemption(change)
					if reason(err) != want {
						t.Fatalf("got %v, want %q", err, want)
					}
					if err == nil && got.GetCredits() != to {
						t.Errorf("got %v", got)
					}
					stored := w.count(`select count(*) from redemption_changes`) - rows
					if err == nil && !validateOnly {
						if stored != 1 || w.get(p.GetId()).GetRemainingUses() != before.GetRemainingUses()+5-to {
							t.Errorf("%d changes, %v", stored, w.get(p.GetId()))
						}
					} else if stored != 0 || !proto.Equal(w.get(p.GetId()), before) {
						t.Errorf("%d changes, %v became %v", stored, before, w.get(p.GetId()))
					}
				})
			}
		}
	}
	w.verify()
}

func passTypeOf(p *passv1.CustomerPass) id.PassType {
	passType, _ := id.Parse[id.PassType](p.GetPassTypeId())
	return passType
}

func TestCancelledChange(t *testing.T) { // invariants 9 and 18
	w := open(t)
	for _, to := range []int32{5, 4, 1} {
		t.Run(fmt.Sprintf("a change from 4 to %d credits is undone once", to), func(t *testing.T) {
			p, req := w.paidWith(4)
			change := changeRequest(req, 4, to)
			w.mustChange(change)
			for range 3 {
				w.mustCancelChange(change, 4)
			}
			if _, err := w.changeRedemption(change); reason(err) != ReasonRedemptionCancelled {
				t.Errorf("got %v", err)
			}
			if left := w.get(p.GetId()).GetRemainingUses(); left != 6 {
				t.Errorf("%d are left", left)
			}
			w.verify()
			w.mustChange(changeRequest(req, 4, 6)) // a new change
			w.returnFirst(req)
			if left := w.get(p.GetId()).GetRemainingUses(); left != 10 {
				t.Errorf("%d are left", left)
			}
		})
	}
	t.Run("fewer credits are not undone if the pass does not have them, and later they are", func(t *testing.T) {
		p, req := w.paidWith(4)
		change := changeRequest(req, 4, 1)
		w.mustChange(change)
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: proto.Int32(2)})
		if _, err := w.cancelChange(change); reason(err) != ReasonPassExhausted {
			t.Errorf("got %v", err)
		}
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: proto.Int32(3)})
		w.mustCancelChange(change, 4)
		if left := w.get(p.GetId()).GetRemainingUses(); left != 0 {
			t.Errorf("%d are left", left)
		}
	})
	t.Run("more credits are undone regardless of the status of the pass", func(t *testing.T) {
		p, req := w.paidWith(4)
		change := changeRequest(req, 4, 6)
		w.mustChange(change)
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED})
		w.mustCancelChange(change, 4)
		if left := w.get(p.GetId()).GetRemainingUses(); left != 6 {
			t.Errorf("%d are left", left)
		}
	})
	t.Run("a change of a booking that was returned stays as it is", func(t *testing.T) {
		p, req := w.paidWith(4)
		change, unknown := changeRequest(req, 4, 6), changeRequest(req, 6, 7)
		first := w.mustChange(change)
		w.returnFirst(req)
		w.mustCancelChange(change, 0)
		w.mustCancelChange(unknown, 0)
		if again := w.mustChange(change); !proto.Equal(again, first) {
			t.Errorf("got %v, want %v", again, first)
		}
		if left := w.get(p.GetId()).GetRemainingUses(); left != 10 {
			t.Errorf("%d are left", left)
		}
	})
	t.Run("a change of a redemption that has not arrived is refused when both arrive", func(t *testing.T) {
		customer := w.customer()
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2)
		change := changeRequest(req, 2, 3)
		for range 2 {
			w.mustCancelChange(change, 0)
		}
		w.mustRedeem(req)
		if _, err := w.changeRedemption(change); reason(err) != ReasonRedemptionCancelled {
			t.Errorf("got %v", err)
		}
		w.mustCancelChange(change, 2)
	})
	t.Run("undoing an earlier change restores what the booking held before it", func(t *testing.T) {
		p, req := w.paidWith(2)
		first, second := changeRequest(req, 2, 4), changeRequest(req, 4, 1)
		w.mustChange(first)
		w.mustChange(second)
		w.mustCancelChange(first, 2)
		if left := w.get(p.GetId()).GetRemainingUses(); left != 8 {
			t.Errorf("%d are left", left)
		}
		w.verify()
		w.mustCancelChange(second, 4)
		if left := w.get(p.GetId()).GetRemainingUses(); left != 6 {
			t.Errorf("%d are left", left)
		}
	})
	t.Run("a deleted customer's pass gives no credits", func(t *testing.T) {
		p, req := w.paidWith(4)
		less, more := changeRequest(req, 4, 1), changeRequest(req, 1, 2)
		w.mustChange(less)
		w.mustChange(more)
		w.deletes(req.GetCustomerId())
		if err := w.confirmDeletion(req.GetCustomerId()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.cancelChange(less); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		w.mustCancelChange(more, 1)
		if left := w.get(p.GetId()).GetRemainingUses(); left != 9 {
			t.Errorf("%d are left", left)
		}
	})
	w.verify()
}
