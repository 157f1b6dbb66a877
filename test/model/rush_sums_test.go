package model

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"reservation.dev/test/harness"
)

// checkSums waits until nothing is in progress, and checks the sums.
func (r *rush) checkSums(t *testing.T) {
	harness.Eventually(t, soon, func() error {
		out, err := r.verified()
		if err != nil {
			return fmt.Errorf("reservectl verify: %s: %w", out, err)
		}
		return nil
	})
	regs, entries := r.all(t, "/registrations", "registrations"), r.all(t, "/waitlist-entries", "waitlistEntries")
	lines := r.activeLines(t, entries)
	for _, reg := range regs {
		if v := reg.(object); v["status"] == "confirmed" {
			lines = append(lines, v)
		}
		r.checkMoney(t, reg.(object))
	}
	for i, e := range r.sales {
		for _, d := range e.dates {
			r.checkDate(t, d, lines, entries, i == 0)
		}
	}
	r.checkCode(t)
	for _, p := range r.passes {
		left := r.get(t, "/customer-passes/"+p)["remainingUses"]
		ledger := r.all(t, "/customer-passes/"+p+"/ledger", "ledger")
		sum := int64(0)
		for _, line := range ledger {
			sum += minor(t, line.(object)["change"])
		}
		if sum != minor(t, left) || sum < 0 {
			t.Errorf("%s has %v uses left, and its ledger adds up to %d hundredths", p, left, sum)
		}
	}
}

func (r *rush) get(t failer, path string) object {
	a := r.call(t, http.MethodGet, path, nil)
	a.expect(t, http.StatusOK, fine)
	return a.body
}

// activeLines returns the lines of the holds and offers that are open, and remembers those of offers.
func (r *rush) activeLines(t failer, entries []any) (lines []object) {
	holds := slices.Clone(r.held)
	for _, w := range entries {
		if id, ok := w.(object)["holdId"].(string); ok {
			holds = append(holds, id)
		}
	}
	for _, id := range holds {
		h := r.get(t, "/holds/"+id)
		if h["status"] != "active" {
			continue
		}
		for _, l := range h["lines"].([]any) {
			lines = append(lines, l.(object))
		}
	}
	return lines
}

// checkDate compares the spots of a date with its registrations and holds, and its waitlist with the
// free spots. With once, no customer may attend twice.
func (r *rush) checkDate(t *testing.T, id string, lines []object, entries []any, once bool) {
	d := r.get(t, "/event-dates/"+id)
	taken, attend := int64(0), map[any]int{}
	for _, l := range lines {
		if l["eventDateId"] == id {
			taken += minor(t, l["spots"])
			attend[l["customerId"]]++
		}
	}
	if taken != minor(t, d["spotsTaken"]) || taken > minor(t, d["capacity"]) {
		t.Errorf("date %s has %v of %v spots taken, and its registrations and holds have %d hundredths", id, d["spotsTaken"], d["capacity"], taken)
	}
	for who, n := range attend {
		if once && n > 1 {
			t.Errorf("%v attends %s %d times", who, id, n)
		}
	}
	for _, entry := range entries {
		w := entry.(object)
		over, _ := w["passedOver"].(object)
		refused := over != nil && over["reason"] != "NOT_ENOUGH_PLACES"
		if w["eventDateId"] == id && w["status"] == "waiting" && !refused && minor(t, w["spots"]) <= minor(t, d["spotsAvailable"]) {
			t.Errorf("%v waits, although %v spots are free", w, d["spotsAvailable"])
		}
	}
}

// checkMoney compares the refunds of a registration with its price.
func (r *rush) checkMoney(t *testing.T, reg object) {
	paid, repaid, due, price := minor(t, reg["totalPaid"]), minor(t, reg["refundedAmount"]), minor(t, reg["refundDue"]), minor(t, reg["price"])
	cancelled := reg["status"] == "cancelled"
	if repaid+due > paid || cancelled && reg["paymentMethod"] != "PASS" && repaid+due != paid || !cancelled && due > paid-price {
		t.Errorf("what is due and what was refunded do not agree with the price: %v", reg)
	}
}

// checkCode compares the uses of the discount code with the purchases and holds that have it.
func (r *rush) checkCode(t *testing.T) {
	uses := int64(0)
	for _, bought := range r.all(t, "/transactions", "transactions") {
		total := int64(0)
		for _, reg := range bought.(object)["registrations"].([]any) {
			total += minor(t, reg.(object)["totalPaid"])
		}
		if total != minor(t, bought.(object)["total"]) {
			t.Errorf("the prices do not add up to the total: %v", bought)
		}
		if bought.(object)["discountCode"] != nil {
			uses += 100
		}
	}
	for _, id := range r.held {
		if h := r.get(t, "/holds/"+id); h["status"] == "active" && h["discountCode"] != nil {
			uses += 100
		}
	}
	if d := r.get(t, "/discount-codes/"+r.code); minor(t, d["uses"]) != uses || uses > minor(t, d["maxUses"]) {
		t.Errorf("the code has %v of %v uses, and purchases and holds have %d hundredths", d["uses"], d["maxUses"], uses)
	}
}
