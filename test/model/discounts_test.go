package model

import (
	"net/http"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

type discount struct {
	id, code       string
	basisPoints    int
	amount         int64
	uses           int
	max            *int
	over, disabled bool
	events         []*event // none: all
}

func (d *discount) path() string { return "/discount-codes/" + d.id }

func (d *discount) view() object {
	ids := []string{}
	for _, e := range d.events {
		ids = append(ids, e.id)
	}
	out := object{
		"id": d.id, "code": d.code, "startsAt": nil, "endsAt": nil, "maxUses": d.max, "uses": d.uses, "eventIds": ids, "status": "active",
	}
	if d.disabled {
		out["status"] = "disabled"
	}
	if d.over {
		out["endsAt"] = "2025-01-01T00:00:00Z"
	}
	d.price(out)
	return out
}

// price sets the members that say by how much the code lowers a price.
func (d *discount) price(out object) {
	if d.amount > 0 {
		out["amount"], out["currency"] = decimal(d.amount), "GBP"
		return
	}
	out["percent"] = decimal(int64(d.basisPoints))
}

func (m *machine) addCode(t *rapid.T, d *discount) {
	body := object{"code": d.code}
	d.price(body)
	if d.max != nil {
		body["maxUses"] = *d.max
	}
	if d.over {
		body["endsAt"] = "2025-01-01T00:00:00Z"
	}
	a, _ := m.write(t, http.StatusCreated, fine, http.MethodPost, "/discount-codes", body)
	d.id, _ = a.body["id"].(string)
	a.same(t, a.body, d.view(), "createdAt", "updatedAt")
	m.discounts = append(m.discounts, d)
}

// codes returns the discount codes, and one that does not exist.
func (m *machine) codes() []string {
	all := []string{"NOPE"}
	for _, d := range m.discounts {
		all = append(all, d.code)
	}
	return all
}

// reduce lowers the prices of lines: a share is taken off every line, an amount off the lines in their
// order.
func (m *machine) reduce(code string, lines []*registration) (*discount, refusal) {
	invalid := refuse("DISCOUNT_INVALID")
	i := slices.IndexFunc(m.discounts, func(d *discount) bool { return strings.EqualFold(d.code, code) })
	if i < 0 {
		return nil, invalid
	}
	d := m.discounts[i]
	if d.over || d.disabled || d.max != nil && d.uses >= *d.max {
		return nil, invalid
	}
	left, lowered := d.amount, false
	for _, r := range lines {
		if len(d.events) > 0 && !slices.Contains(d.events, r.event) || d.amount > 0 && r.currency != "GBP" {
			continue
		}
		off := min(left, r.paid)
		if d.basisPoints > 0 {
			off = (r.paid*int64(d.basisPoints) + 5000) / 10_000
		} else {
			left -= off
		}
		r.paid -= off
		r.code, lowered = d.code, true
	}
	if !lowered {
		return nil, invalid
	}
	return d, fine
}

// changeCode changes the limits of a code, not its reduction.
func (m *machine) changeCode(t *rapid.T) {
	d := one(t, "code", m.discounts)
	after := *d
	body := object{}
	want := fine
	if rapid.Bool().Draw(t, "as read") {
		body = d.view()
	}
	if rapid.Bool().Draw(t, "with maxUses") {
		if after.max = nil; rapid.Bool().Draw(t, "limited") {
			after.max = new(choose(t, "max", 1, 2, 3))
			if *after.max < d.uses {
				want = invalid("maxUses")
			}
		}
		body["maxUses"] = after.max
	}
	if v, ok := optional(t, "with status", body, "status", "active", "active", "disabled"); ok {
		after.disabled = v == "disabled"
	}
	if rapid.IntRange(0, 3).Draw(t, "with events") == 0 {
		after.events = nil
		if rapid.Bool().Draw(t, "one event") {
			after.events = []*event{one(t, "event", m.events)}
		}
		body["eventIds"] = after.view()["eventIds"]
	}
	a, ok := m.write(t, http.StatusOK, want, choose(t, "method", http.MethodPut, http.MethodPatch), d.path(), body)
	if ok {
		*d = after
		a.same(t, a.body, d.view(), "createdAt", "updatedAt")
	}
}
