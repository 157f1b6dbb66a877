package model

import (
	"net/http"
	"slices"

	"pgregory.net/rapid"
)

// hold is spots that are held. Those of an offer belong to a waitlist entry.
type hold struct {
	purchase
	status string // active, confirmed, expired or released
	entry  *entry // nil: not an offer
}

func (h *hold) id() string   { return "hold_" + h.transaction[len("txn_"):] }
func (h *hold) path() string { return "/holds/" + h.id() }

func (h *hold) view() object {
	total, lines := int64(0), []object{}
	out := object{
		"id": h.id(), "status": h.status, "purchasedById": h.payer.id, "currency": h.regs[0].currency, "discountCode": nil, "transactionId": nil,
		"appointmentId": nil,
	}
	for _, r := range h.regs {
		if r.currency == h.regs[0].currency {
			total += r.paid
		}
		lines = append(lines, object{
			"eventId": r.event.id, "eventTitle": r.event.title, "eventDateId": r.date.id, "eventDate": instant(r.date.start),
			"customerId": r.who.id, "pricingOptionId": r.option.id, "spots": r.spots, "price": decimal(r.paid),
		})
		if r.code != "" {
			out["discountCode"] = r.code
		}
	}
	if h.status == "confirmed" {
		out["transactionId"] = h.transaction
		if h.regs[0].byPass() {
			out["currency"] = "GBP"
		}
	}
	out["total"], out["lines"] = decimal(total), lines
	return out
}

func (m *machine) hold(t *rapid.T) {
	o := &order{payer: m.anyCustomer(t, "payer"), method: "CARD"}
	body := m.drawLines(t, o)
	optional(t, "with minutes", body, "minutes", 15, 60, 1440) // longer than a run takes on a loaded machine
	p, want := m.decide(o)
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, "/holds", body)
	if !ok {
		return
	}
	id, _ := a.body["id"].(string)
	p.transaction = "txn_" + id[len("hold_"):]
	h := &hold{purchase: *p, status: "active"}
	m.take(&h.purchase)
	m.holds = append(m.holds, h)
	a.same(t, a.body, h.view(), "expiresAt", "createdAt")
}

// anyHold draws a hold, mostly an active one.
func (m *machine) anyHold(t *rapid.T) *hold {
	active := slices.DeleteFunc(slices.Clone(m.holds), func(h *hold) bool { return h.status != "active" })
	if len(active) == 0 || seldom(t, "any hold", 6) {
		return one(t, "hold", m.holds)
	}
	return one(t, "hold", active)
}

// confirmHold pays a hold. A refusal changes nothing.
func (m *machine) confirmHold(t *rapid.T) {
	h := m.anyHold(t)
	if h == nil {
		t.Skip("there is no hold")
	}
	m.pay(t, h, h.path()+"/confirm", h.payable())
}

// payable returns why a hold cannot be paid.
func (h *hold) payable() refusal {
	switch h.status {
	case "active":
		return fine
	case "confirmed":
		return refuse("HOLD_CONFIRMED")
	}
	return refuse("HOLD_EXPIRED")
}

// pay confirms a hold by its own path or by that of its waitlist entry.
func (m *machine) pay(t *rapid.T, h *hold, path string, want refusal) {
	method := drawMethod(t)
	payment := object{"method": method}
	paid := h.purchase
	paid.regs = nil
	for _, r := range h.regs {
		after := *r
		after.method = method
		paid.regs = append(paid.regs, &after)
	}
	if want == fine {
		want = m.settle(&paid, method)
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, path, object{"payment": payment})
	if !ok {
		return
	}
	h.purchase, h.status = paid, "confirmed"
	m.confirm(&h.purchase)
	h.match(t, a)
	if h.entry != nil {
		h.entry.status = "booked"
	}
}

// settle predicts the payment of a hold.
func (m *machine) settle(p *purchase, method string) refusal {
	if method != "PASS" && method != "FREE" {
		return fine
	}
	if slices.ContainsFunc(p.regs, func(r *registration) bool { return r.code != "" }) {
		return refuse("DISCOUNT_INVALID")
	}
	for _, r := range p.regs {
		if r.paid = 0; method == "PASS" && r.option.credits == nil {
			return refuse("PASS_NOT_APPLICABLE")
		}
	}
	if method == "FREE" {
		return fine
	}
	p.shareCredits()
	return m.payByPass(p, nil)
}

// shareCredits sets the credits of registrations that are to be paid by pass. Those of a course are
// divided among its dates, for each line on its own.
func (p *purchase) shareCredits() {
	for i := 0; i < len(p.regs); {
		r, n := p.regs[i], 1
		if r.option.whole {
			for i+n < len(p.regs) && p.regs[i+n].option == r.option && p.regs[i+n].date != r.date {
				n++
			}
		}
		for j, part := range p.regs[i : i+n] {
			all := *part.option.credits * part.spots
			part.currency, part.credits = "GBP", all/n
			if j < all%n {
				part.credits++
			}
		}
		i += n
	}
}

func (m *machine) releaseHold(t *rapid.T) {
	h := m.anyHold(t)
	if h == nil {
		t.Skip("there is no hold")
	}
	a := m.call(t, http.MethodDelete, h.path(), nil)
	if !a.expect(t, http.StatusOK, h.payable()) {
		return
	}
	a.same(t, a.body, object{"id": h.id(), "deleted": true, "status": "released"})
	m.endHold(t, h, "released")
	m.call(t, http.MethodDelete, h.path(), nil).expect(t, 0, refuse("HOLD_EXPIRED"))
}

// endHold ends a hold without a purchase: its spots and the use of its code are free again.
func (m *machine) endHold(t *rapid.T, h *hold, status string) {
	m.drop(h, status)
	if h.entry != nil {
		h.entry.status, h.entry.hold = "expired", nil
	}
	m.free(t, h.dates()...)
}

func (m *machine) drop(h *hold, status string) {
	h.status = status
	for _, r := range h.regs {
		r.date.taken -= r.spots
	}
	if h.code != nil {
		h.code.uses--
	}
}

// dates lists the dates of a hold, each once.
func (p *purchase) dates() []*date {
	var all []*date
	for _, r := range p.regs {
		if !slices.Contains(all, r.date) {
			all = append(all, r.date)
		}
	}
	return all
}

// expireHold moves the end of a hold to the present, once in a run, and waits until its spots are
// free.
func (m *machine) expireHold(t *rapid.T) {
	h := m.anyHold(t)
	if h == nil || h.status != "active" || m.expired {
		t.Skip("there is no active hold")
	}
	m.expired = true
	m.expire(t, h.transaction)
	m.endHold(t, h, "expired")
}
