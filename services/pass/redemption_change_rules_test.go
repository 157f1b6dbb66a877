package pass

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestFaultsOfChanges(t *testing.T) { // invariant 6
	w := open(t)
	_, req := w.paidWith(2)
	ok := changeRequest(req, 2, 3)
	w.mustChange(ok)
	_, other := w.paidWith(2)
	bad := []string{"", "x", "'", "txn_", "booking_00000000000000000000000000", "00000000000000000000000000", "cp_" + ok.GetChangeId(), ok.GetChangeId() + "0"}
	for _, text := range bad {
		for name, c := range map[string]struct {
			change         func(*passv1.ChangeRedemptionRequest)
			want, toCancel string
		}{
			"redemption_id": {func(c *passv1.ChangeRedemptionRequest) { c.RedemptionId = text }, fault.ReasonNotFound, "redemption_id:format"},
			"item_id":       {func(c *passv1.ChangeRedemptionRequest) { c.Item.ItemId = text }, "item.item_id:format", "item_id:format"},
			"change_id":     {func(c *passv1.ChangeRedemptionRequest) { c.ChangeId = text }, "change_id:format", "change_id:format"},
		} {
			t.Run(fmt.Sprintf("refuses %q as %s", text, name), func(t *testing.T) {
				change := proto.CloneOf(ok)
				c.change(change)
				if _, err := w.changeRedemption(change); faults(err) != c.want && reason(err) != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
				if _, err := w.cancelChange(change); faults(err) != c.toCancel {
					t.Errorf("got %v, want %s", err, c.toCancel)
				}
			})
		}
	}
	t.Run("reports every fault", func(t *testing.T) {
		_, err := w.changeRedemption(&passv1.ChangeRedemptionRequest{RedemptionId: req.GetRedemptionId(), ExpectedCredits: -1, Item: &passv1.RedemptionItem{
			Credits: maxCost + 1, Day: "2026-02-30", EventType: "yoga",
		}})
		want := "item.item_id:format item.event_type:enum item.credits:range item.day:format change_id:format expected_credits:range"
		if faults(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := w.changeRedemption(&passv1.ChangeRedemptionRequest{RedemptionId: req.GetRedemptionId(), ChangeId: ok.GetChangeId()}); faults(err) != "item.item_id:format item.event_type:enum" {
			t.Errorf("without an item: %v", err)
		}
	})
	t.Run("an identifier of a change belongs to one booking", func(t *testing.T) {
		change := changeRequest(other, 2, 3)
		change.ChangeId = ok.GetChangeId()
		if _, err := w.changeRedemption(change); faults(err) != "change_id:unique" {
			t.Errorf("got %v", err)
		}
		if _, err := w.cancelChange(change); faults(err) != "change_id:unique" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an identifier of a change belongs to one booking of a redemption", func(t *testing.T) {
		customer := w.customer()
		two := redeemRequest(customer, w.give(customer, nil).GetId(), 2, 2)
		w.mustRedeem(two)
		change := changeRequest(two, 2, 3)
		w.mustChange(change)
		change.Item.ItemId = two.GetItems()[1].GetItemId()
		if _, err := w.changeRedemption(change); faults(err) != "change_id:unique" {
			t.Errorf("got %v", err)
		}
		if _, err := w.cancelChange(change); faults(err) != "change_id:unique" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("another company has changes of its own", func(t *testing.T) {
		stranger := w.of(id.New[id.Company]())
		if _, err := stranger.changeRedemption(ok); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		stranger.mustCancelChange(ok, 0)
		if got := w.mustChange(ok); got.GetCredits() != 3 {
			t.Errorf("got %v", got)
		}
	})
	w.verify()
}

// TestBookingWithoutCredits cancels a redemption of no credits. The previous release stored no time for it.
func TestBookingWithoutCredits(t *testing.T) { // invariants 9 and 18
	w := open(t)
	for name, forget := range map[string]string{
		"this release": `select`, "the previous release": `update redemption_items set returned_at = null`,
	} {
		t.Run("a redemption that "+name+" has cancelled cannot be changed", func(t *testing.T) {
			_, req := w.paidWith(0)
			if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()}); err != nil {
				t.Fatal(err)
			}
			w.exec(forget)
			if _, err := w.changeRedemption(changeRequest(req, 0, 3)); reason(err) != ReasonRedemptionCancelled {
				t.Errorf("got %v", err)
			}
			if res := w.returnFirst(req); res.GetChanged() || res.GetRemainingUses() != 10 {
				t.Errorf("got %v", res)
			}
		})
	}
}

// TestDecideChange decides changes by passes whose uses are unlimited or not.
func TestDecideChange(t *testing.T) { // invariants 11 and 18
	sold := CustomerPass{Status: statusActive, RemainingUses: 3, StartDate: day("2026-03-01"), ExpiryDate: day("2026-03-31")}
	unlimited, subscribed, free, paused := sold, sold, sold, sold
	unlimited.UnlimitedUses, free.UnlimitedUses = true, true
	subscribed.SubscriptionVersion, free.SubscriptionVersion = 1, 1
	paused.Status = statusPaused
	at := moment{now: day("2026-03-10"), today: day("2026-03-10")}
	for name, c := range map[string]struct {
		pass         CustomerPass
		from, to     int32
		validateOnly bool
		want         int32
		reason       string
	}{
		"more, with enough uses":                            {sold, 2, 5, false, 5, ""},
		"more, with too few uses":                           {sold, 2, 6, false, 0, ReasonPassExhausted},
		"more than any pass has":                            {sold, 0, maxCost, false, 0, ReasonPassExhausted},
		"more than any pass has, with unlimited uses":       {unlimited, 0, maxCost, false, maxCost, ""},
		"more, of a subscription":                           {subscribed, 2, 5, false, 5, ""},
		"more, of a subscription with unlimited uses":       {free, 0, 5, false, 0, ""},
		"more, held before the uses were unlimited":         {free, 2, 5, false, 0, ""},
		"the same, held before the uses were unlimited":     {free, 2, 2, true, 2, ""},
		"fewer, held before the uses were unlimited":        {free, 2, 1, false, 1, ""},
		"fewer, paused":                                     {paused, 2, 1, false, 1, ""},
		"fewer, paused, before it is committed":             {paused, 2, 1, true, 0, ReasonPassNotActive},
		"more, held while they were, and now they are not ": {subscribed, 0, 4, false, 0, ReasonPassExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			change := redemptionChange{item: item{eventType: "class", credits: c.to}, expected: c.from, validateOnly: c.validateOnly}
			got, err := change.decide(&candidate{CustomerPass: c.pass}, at)
			if got != c.want || reason(err) != c.reason {
				t.Errorf("got %d, %v, want %d, %q", got, err, c.want, c.reason)
			}
		})
	}
}

func TestChangeOfUnlimitedPass(t *testing.T) { // invariants 9, 11 and 18
	w := open(t)
	customer := w.customer()
	p := w.give(customer, membership)
	req := redeemRequest(customer, p.GetId(), 2)
	w.mustRedeem(req)
	w.verify()
	undone := changeRequest(req, 5, 9)
	for _, c := range []*passv1.ChangeRedemptionRequest{changeRequest(req, 2, 5), undone} {
		if got := w.mustChange(c); got.GetCredits() != c.GetItem().GetCredits() || got.GetRemainingUses() != 999_999 {
			t.Errorf("got %v", got)
		}
		w.verify()
	}
	w.mustCancelChange(undone, 5)
	w.mustChange(changeRequest(req, 5, 1))
	w.verify()
	if got, want := creditsOf(w.ledger(p.GetId())), "999999=999999 0=999999 0=999999 0=999999 0=999999 0=999999"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.returnFirst(req)
	w.verify()
	t.Run("verification finds credits that no entry explains", func(t *testing.T) {
		w.exec(`update redemption_items set credits = 4, returned = 0`)
		if got := w.differences(); fmt.Sprint(got) != "[redemption.credits 4 0 redemption.changes 2 5]" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("entries of the previous release stand for the first credits", func(t *testing.T) {
		w := open(t)
		p := w.give(w.customer(), membership)
		req := redeemRequest(p.GetCustomerId(), p.GetId(), 2)
		redemption, _ := id.Parse[id.Transaction](req.GetRedemptionId())
		booking, _ := id.Parse[id.Booking](req.GetItems()[0].GetItemId())
		addEntry := func(kind string) {
			w.exec(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at, redemption_id, item_id)
				select p.company_id, p.id, (select max(sequence) + 1 from ledger_entries), $3, 0, remaining_uses, 'svc', now(), $1, $2
				from customer_passes p`, redemption, booking, kind)
		}
		w.exec(`insert into redemptions (company_id, id, customer_pass_id, credits, remaining_uses, created_at)
			select company_id, $1, id, 2, remaining_uses, now() from customer_passes`, redemption)
		w.exec(`insert into redemption_items (company_id, redemption_id, item_id, customer_pass_id, credits)
			select company_id, $1, $2, id, 2 from customer_passes`, redemption, booking)
		addEntry("redeemed")
		w.verify()
		w.mustChange(changeRequest(req, 2, 5))
		w.verify()
		w.exec(`update redemption_items set returned = credits`)
		addEntry("returned")
		w.verify()
		if res := w.returnFirst(req); res.GetChanged() {
			t.Errorf("returned again: %v", res)
		}
	})
}

func TestChangeOfSubscription(t *testing.T) { // invariants 9, 11, 17 and 18
	w := open(t)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 8))
	req, late := redeemRequest(s.req.GetCustomerId(), s.pass(), 2), redeemRequest(s.req.GetCustomerId(), s.pass(), 3)
	w.mustRedeem(req)
	w.mustRedeem(late)
	rise := changeRequest(req, 2, 4)
	w.mustChange(rise)
	w.mustCancelChange(rise, 2)
	ledger := "assigned/1 8=8, redeemed/0 -2=6, redeemed/0 -3=3, redeemed/0 -2=1, returned/0 2=3"
	s.want(ledger)
	s.mustSend(unlimited(2))
	free := redeemRequest(s.req.GetCustomerId(), s.pass(), 2)
	w.mustRedeem(free)
	if got := w.mustChange(changeRequest(free, 0, 5)); got.GetCredits() != 0 {
		t.Errorf("got %v", got)
	}
	undone := changeRequest(req, 2, 3)
	if got := w.mustChange(undone); got.GetCredits() != 0 || got.GetRemainingUses() != 999_999 {
		t.Errorf("got %v", got)
	}
	w.verify()
	w.mustCancelChange(undone, 2)
	w.verify()
	w.mustChange(changeRequest(req, 2, 1))
	w.verify()
	s.mustSend(credits(3, 8, 0))
	if got := w.mustChange(changeRequest(free, 0, 6)); got.GetCredits() != 6 || got.GetRemainingUses() != 2 {
		t.Errorf("got %v", got)
	}
	w.verify()
	s.next(func(r *passv1.SyncSubscriptionPassRequest) {
		r.Status, r.LastDay = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, "2026-01-30"
	})
	if got := w.mustChange(changeRequest(free, 6, 2)); got.GetCredits() != 2 || got.GetRemainingUses() != 0 {
		t.Errorf("credits that return to a pass that ended: got %v", got)
	}
	w.returnFirst(req)
	ledger += ", expired/2 -3=0, granted/2 999999=999999, redeemed/0 0=999999, returned/0 0=999999, redeemed/0 0=999999, returned/0 0=999999, " +
		"expired/3 -999999=0, granted/3 8=8, redeemed/0 -6=2, expired/3 -2=0, returned/0 4=4, expired/3 -4=0, returned/0 1=1, expired/3 -1=0"
	s.want(ledger)
}
