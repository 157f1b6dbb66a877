package model

import (
	"net/http"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// freeUntil returns the end of free cancellation.
func (r *registration) freeUntil() time.Time {
	if r.event.free == nil {
		return r.date.start
	}
	return r.date.start.Add(-time.Duration(*r.event.free) * time.Minute)
}

// isLate reports whether a cancellation now is late. No date of the model begins soon.
func (r *registration) isLate() bool { return time.Now().After(r.freeUntil()) }

// outcome predicts what a cancellation returns to the pass and what it owes.
func (r *registration) outcome(late bool) (credits int, due int64) {
	switch {
	case late || r.byPass() && r.refunded:
		return 0, r.due
	case r.byPass():
		return r.credits, 0
	}
	return 0, r.paid - r.repaid
}

// cancel cancels the registration and frees its spots. members are those of the entry in its history.
func (r *registration) cancel(late bool, members object) {
	credits, due := r.outcome(late)
	before := r.facts()
	r.status, r.late, r.due = "cancelled", late, due
	r.reason, _ = members["reason"].(string)
	r.date.taken -= r.spots
	r.log("cancelled", before, members)
	if credits > 0 {
		r.refunded = true
		r.pass.give(credits)
		r.log("refunded", r.facts(), nil)
	}
}

// anyRegistration draws a registration, mostly one that is not cancelled.
func (m *machine) anyRegistration(t *rapid.T) *registration {
	open := slices.DeleteFunc(slices.Clone(m.regs), func(r *registration) bool { return r.status == "cancelled" })
	if len(open) == 0 || seldom(t, "any registration", 6) {
		return one(t, "registration", m.regs)
	}
	return one(t, "registration", open)
}

// waitedFor draws a registration, in half of the runs one of a date for which customers wait.
func (m *machine) waitedFor(t *rapid.T) *registration {
	waited := slices.DeleteFunc(slices.Clone(m.regs), func(r *registration) bool { return r.status == "cancelled" || len(m.waiting(r.date)) == 0 })
	if len(waited) > 0 && rapid.Bool().Draw(t, "waited for") {
		return one(t, "registration", waited)
	}
	return m.anyRegistration(t)
}

// cancelWithPreview cancels a registration, and compares the outcome with the preview.
func (m *machine) cancelWithPreview(t *rapid.T) {
	r := m.waitedFor(t)
	if r == nil {
		t.Skip("there is no registration")
	}
	path := "/registrations/" + r.id
	preview := m.call(t, http.MethodGet, path+"/cancellation-preview", nil)
	body := object{}
	waived, _ := optional(t, "with waivePolicy", body, "waivePolicy", true, false)
	reason, _ := optional(t, "with reason", body, "reason", "Moved away", "")
	if r.status == "cancelled" {
		preview.expect(t, 0, refuse("ALREADY_CANCELLED"))
		m.write(t, 0, refuse("ALREADY_CANCELLED"), http.MethodPost, path+"/cancel", body)
		return
	}
	preview.expect(t, http.StatusOK, fine)
	credits, due := r.outcome(r.isLate())
	preview.same(t, preview.body, object{
		"late": r.isLate(), "refundDue": decimal(due), "creditsReturned": credits, "currency": r.currency, "freeUntil": instant(r.freeUntil()),
	})
	a, _ := m.write(t, http.StatusOK, fine, http.MethodPost, path+"/cancel", body)
	r.cancel(r.isLate() && !waived, object{"reason": reason, "policyWaived": r.isLate() && waived})
	a.same(t, a.body, r.view(), loose()...)
	if !waived && (a.body["late"] != preview.body["late"] || a.body["refundDue"] != preview.body["refundDue"]) {
		t.Fatalf("%s\nwas previewed as %s", a.what, preview.what)
	}
	m.free(t, r.date)
}

// refund records a refund: a part, the rest, or too much.
func (m *machine) refund(t *rapid.T) {
	r := one(t, "registration", m.regs)
	if r == nil {
		t.Skip("there is no registration")
	}
	left := r.paid - r.repaid
	body, amount := object{}, r.due
	if amount == 0 {
		amount = left
	}
	named := rapid.Bool().Draw(t, "with amount")
	if named {
		amount = choose(t, "amount", 1, left/3+1, left, left+1, 1)
		body["amount"] = decimal(amount)
	}
	want := fine
	switch {
	case named && amount < 1 || named && r.byPass():
		want = invalid("amount")
	case r.refunded && left == 0:
		want = refuse("ALREADY_REFUNDED")
	case named && amount > left:
		want = invalid("amount")
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, "/registrations/"+r.id+"/refund", body)
	if !ok {
		return
	}
	before := r.facts()
	r.refunded = true
	r.repaid += amount
	r.due = max(0, r.due-amount)
	if r.byPass() {
		r.pass.give(r.credits)
	}
	members := object{"amount": decimal(amount)}
	if amount > 0 {
		members["paymentMethod"] = r.method
	}
	r.log("refunded", before, members)
	a.same(t, a.body, r.view(), loose()...)
}

func (m *machine) attend(t *rapid.T) {
	r := m.anyRegistration(t)
	if r == nil {
		t.Skip("there is no registration")
	}
	attendance := choose(t, "attendance", "attended", "no_show", "unknown")
	want := fine
	if r.status == "cancelled" {
		want = refuse("ALREADY_CANCELLED")
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, "/registrations/"+r.id+"/attendance", object{"attendance": attendance})
	if ok {
		if before := r.facts(); r.attendance != attendance {
			r.attendance = attendance
			r.log("attendance_recorded", before, nil)
		}
		a.same(t, a.body, r.view(), loose()...)
	}
}
