package model

import (
	"net/http"
	"slices"
	"time"

	"pgregory.net/rapid"
)

type passType struct {
	id, title, unit, currency, status string
	uses, count                       int
	price                             int64
	types                             []string
	unlimited, endless                bool
}

type customerPass struct {
	id            string
	holder        *customer
	pass          *passType
	remaining     int
	start, expiry time.Time // days
	total         int       // uses at the sale
	stored        string    // active, paused or cancelled
}

func (p *passType) path() string     { return "/passes/" + p.id }
func (h *customerPass) path() string { return "/customer-passes/" + h.id }

func (p *passType) view() object {
	types := p.types
	if types == nil {
		types = []string{}
	}
	return object{
		"id": p.id, "title": p.title, "description": "", "totalUses": p.uses, "validityCount": p.count, "validityUnit": p.unit,
		"price": decimal(p.price), "currency": p.currency, "eligibleEventTypes": types, "status": p.status,
		"unlimitedUses": p.unlimited, "neverExpires": p.endless, "planId": nil,
	}
}

func (h *customerPass) view() object {
	return object{
		"id": h.id, "customerId": h.holder.id, "passId": h.pass.id, "remainingUses": h.remaining,
		"startDate": h.start.Format(time.DateOnly), "expiryDate": h.expiry.Format(time.DateOnly), "status": h.status(),
		"title": h.pass.title, "totalUses": h.total, "unlimitedUses": h.pass.unlimited, "neverExpires": h.expiry.Equal(never()), "subscriptionId": nil,
	}
}

// looseOfHeld returns the members of a customer pass that the model does not know.
func looseOfHeld() []string { return []string{"createdAt", "updatedAt", "pausedSince"} }

// today returns the current day of the company. No pass in the model begins or ends near it.
func today() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

func (h *customerPass) status() string {
	switch {
	case h.stored != "active":
		return h.stored
	case today().After(h.expiry):
		return "expired"
	case h.remaining == 0:
		return "exhausted"
	case today().Before(h.start):
		return "pending"
	}
	return "active"
}

// another returns the one of two statuses that the pass does not have. Its own changes nothing.
func (h *customerPass) another(status, otherwise string) string {
	if h.status() == status {
		return otherwise
	}
	return status
}

// never is the expiry date of a pass that never expires.
func never() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// end returns the last day of a pass that begins on the given day.
func (p *passType) end(start time.Time) time.Time {
	if p.endless {
		return never()
	}
	switch p.unit {
	case "day":
		return start.AddDate(0, 0, p.count)
	case "week":
		return start.AddDate(0, 0, 7*p.count)
	}
	months := p.count
	if p.unit == "year" {
		months *= 12
	}
	// The first of a month always exists. The day is limited to the last day of the month.
	first := time.Date(start.Year(), start.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(start.Day(), first.AddDate(0, 1, -1).Day())-1)
}

func (m *machine) createPass(t *rapid.T) {
	p := &passType{
		title: choose(t, "title", "Five", "Ten"), uses: choose(t, "uses", 1, 2, 5, 400), count: choose(t, "count", 10, 13),
		unit: choose(t, "unit", "day", "week", "month", "year"), currency: "GBP", status: "active",
	}
	body := object{"title": p.title, "totalUses": p.uses, "validityCount": p.count, "validityUnit": p.unit}
	if rapid.Bool().Draw(t, "with price") {
		p.price = choose[int64](t, "price", 0, 6000, 6050)
		body["price"] = decimal(p.price)
	}
	if v, ok := optional(t, "with currency", body, "currency", "GBP", "EUR"); ok {
		p.currency = v
	}
	p.types, _ = optional(t, "with types", body, "eligibleEventTypes", []string{}, []string{"class"}, []string{"class", "workshop"})
	a, _ := m.write(t, http.StatusCreated, fine, http.MethodPost, "/passes", body)
	p.id, _ = a.body["id"].(string)
	a.same(t, a.body, p.view(), "createdAt", "updatedAt")
	m.passes = append(m.passes, p)
}

func (m *machine) updatePass(t *rapid.T) {
	p := one(t, "pass", m.passes)
	if p == nil {
		t.Skip("there is no pass type")
	}
	body := object{}
	if v, ok := optional(t, "with title", body, "title", "Five", "Six"); ok {
		p.title = v
	}
	if v, ok := optional(t, "with uses", body, "totalUses", 1, 3); ok {
		p.uses = v
	}
	if v, ok := optional(t, "with types", body, "eligibleEventTypes", []string{}, []string{"workshop"}); ok {
		p.types = v
	}
	if v, ok := optional(t, "with status", body, "status", "active", "active", "archived"); ok {
		p.status = v
	}
	a, _ := m.write(t, http.StatusOK, fine, choose(t, "method", http.MethodPut, http.MethodPatch), p.path(), body)
	a.same(t, a.body, p.view(), "createdAt", "updatedAt")
	if rapid.IntRange(0, 3).Draw(t, "delete") == 0 { // deleting a pass type archives it
		m.call(t, http.MethodDelete, p.path(), nil).expect(t, 0, refusal{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", ""})
	}
}

func (m *machine) assignPass(t *rapid.T) {
	p, c := one(t, "pass", m.passes), m.anyCustomer(t, "holder")
	if p == nil {
		t.Skip("there is no pass type")
	}
	// Most start days are before, between and after the event dates.
	start := choose(t, "start", today().AddDate(0, 0, -5), today().AddDate(0, 0, 5), time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC),
		eventDay(-3), eventDay(-10), eventDay(0), eventDay(1), eventDay(6))
	body := object{"customerId": c.id, "passId": p.id, "startDate": start.Format(time.DateOnly)}
	method := choose(t, "paid by", "", "", "", "CARD", "CASH", "FREE", "PASS", "card")
	switch {
	case method != "":
		body["payment"] = object{"method": method}
	case rapid.Bool().Draw(t, "paid"):
		body["payment"] = object{"amount": 1.5, "reference": "ch_1"}
	}
	want := fine
	switch {
	case method == "PASS" || method == "card":
		want = invalid("payment.method")
	case p.status == "archived":
		want = refuse("PASS_NOT_ACTIVE")
	case c.deleted:
		want = missing
	}
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, "/customer-passes", body)
	if !ok {
		return
	}
	h := &customerPass{holder: c, pass: p, remaining: p.uses, total: p.uses, start: start, expiry: p.end(start), stored: "active"}
	h.id, _ = a.body["id"].(string)
	a.same(t, a.body, h.view(), looseOfHeld()...)
	m.held = append(m.held, h)
}

func (m *machine) updateHeld(t *rapid.T) {
	h := one(t, "held", m.held)
	if h == nil {
		t.Skip("there is no customer pass")
	}
	body := object{}
	if rapid.IntRange(0, 2).Draw(t, "as it was read") == 0 { // including the changes below
		body = h.view()
	}
	after, status := *h, h.status()
	if v, ok := optional(t, "with uses", body, "remainingUses", 0, 1, 5, 300); ok {
		after.remaining = v
	}
	if end, ok := optional(t, "with expiry", object{}, "", today().AddDate(0, 0, -40), today().AddDate(0, 0, 7), today().AddDate(0, 0, 70),
		eventDay(-1), eventDay(0), eventDay(9), eventDay(70)); ok {
		after.expiry = end
		body["expiryDate"] = after.expiry.Format(time.DateOnly)
	}
	derived := false
	if v, ok := optional(t, "with status", body, "status", "active", "active", "paused", "cancelled", "pending", "exhausted", "expired"); ok && v != status {
		if derived = !slices.Contains([]string{"active", "paused", "cancelled"}, v); !derived {
			after.stored = v
		}
	}
	optional(t, "with reason", body, "reason", "goodwill")
	want := fine
	switch {
	case derived:
		want = invalid("status")
	case !after.expiry.Equal(h.expiry) && after.expiry.Before(h.start):
		want = invalid("expiryDate")
	case h.stored == "cancelled" && after != *h:
		want = refuse("PASS_NOT_ACTIVE")
	}
	a, ok := m.write(t, http.StatusOK, want, choose(t, "method", http.MethodPut, http.MethodPatch), h.path(), body)
	if ok {
		*h = after
		a.same(t, a.body, h.view(), looseOfHeld()...)
	}
}

// give adds credits to a pass, or takes them. Those of a pass with unlimited uses do not change.
func (h *customerPass) give(credits int) {
	if !h.pass.unlimited {
		h.remaining += credits
	}
}

// bill is what a pass is to pay: the credits, and the types and local days of the event dates.
type bill struct {
	credits int
	kinds   []string
	days    []time.Time
}

// refuses returns the reason why a pass cannot pay, or "" if it can.
func (h *customerPass) refuses(b bill) string {
	switch {
	case h.stored != "active":
		return "PASS_NOT_ACTIVE"
	case slices.ContainsFunc(b.days, func(day time.Time) bool { return day.After(h.expiry) }):
		return "PASS_EXPIRED"
	case slices.ContainsFunc(b.days, func(day time.Time) bool { return day.Before(h.start) }):
		return "PASS_NOT_ACTIVE"
	case len(h.pass.types) > 0 && slices.ContainsFunc(b.kinds, func(kind string) bool { return !slices.Contains(h.pass.types, kind) }):
		return "PASS_NOT_APPLICABLE"
	case h.remaining < max(b.credits, 1): // an exhausted pass pays for nothing
		return "PASS_EXHAUSTED"
	}
	return ""
}

// payer predicts which pass pays, or the reason why none does.
func (m *machine) payer(c *customer, named *customerPass, b bill) (*customerPass, string) {
	if named != nil {
		if named.holder != c {
			return nil, "PASS_NOT_APPLICABLE"
		}
		return named, named.refuses(b)
	}
	var best *customerPass
	nearness := []string{"PASS_NOT_APPLICABLE", "PASS_NOT_ACTIVE", "PASS_EXPIRED", "PASS_EXHAUSTED"}
	nearest := nearness[0]
	for _, h := range m.held { // oldest first
		if h.holder != c {
			continue
		}
		why := h.refuses(b)
		switch {
		case why != "":
			if slices.Index(nearness, why) > slices.Index(nearness, nearest) {
				nearest = why
			}
		case best == nil || h.expiry.Before(best.expiry) || h.expiry.Equal(best.expiry) && h.remaining < best.remaining:
			best = h
		}
	}
	if best == nil {
		return nil, nearest
	}
	return best, ""
}
