package model

import (
	"net/http"
	"slices"

	"pgregory.net/rapid"
)

// transfer gives a registration to a customer: another one, the same one, or one who does not exist.
func (m *machine) transfer(t *rapid.T) {
	r := m.anyRegistration(t)
	if r == nil {
		t.Skip("there is no registration")
	}
	to := m.anyCustomer(t, "recipient")
	body := object{"customerId": to.id}
	keeps, _ := optional(t, "with control", body, "buyerKeepsControl", true, false)
	reason := ""
	if r.date.started() != seldom(t, "another reason", 5) {
		reason = "They asked at the door."
		body["afterStartReason"] = reason
	}
	manager := to
	if keeps {
		manager = r.payer
	}
	if seldom(t, "nobody", 12) {
		body["customerId"], to = "cust_01jb4x9m3vf6ksn8w2d7pq5r0t", nil
	}
	want := m.decideTransfer(r, to, manager, reason)
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, "/registrations/"+r.id+"/transfer", body)
	if !ok {
		m.unchanged(t, r, r.date)
		return
	}
	before := r.facts()
	r.who, r.manager, r.attendance = to, manager, "unknown"
	r.log("transferred", before, object{"reason": r.startReason(reason)})
	a.same(t, a.body, r.view(), loose()...)
}

func (m *machine) decideTransfer(r *registration, to, manager *customer, reason string) refusal {
	switch want := r.changeable(); {
	case r.status == "cancelled":
		return want
	case to == nil || to.deleted:
		return missing
	case r.who == to && r.manager == manager:
		return refuse("ALREADY_TRANSFERRED")
	case want != fine:
		return want
	case r.event.unchangeable(r.date, reason) != fine:
		return r.event.unchangeable(r.date, reason)
	case r.who != to && r.event.rules.once && m.attends(to, r.date):
		return refuse("ALREADY_BOOKED")
	}
	return fine
}

// startReason returns the reason that the history has: none unless the date has started.
func (r *registration) startReason(reason string) string {
	if r.date.started() {
		return reason
	}
	return ""
}

// swap exchanges the dates and options of two registrations, which can be of full dates.
func (m *machine) swap(t *rapid.T) {
	r, other := m.anyRegistration(t), m.anyRegistration(t)
	if r == nil {
		t.Skip("there is no registration")
	}
	body := object{"registrationId": other.id}
	waive, _ := optional(t, "with waivePolicy", body, "waivePolicy", true, true, false)
	reason := ""
	if (r.date.started() || other.date.started()) != seldom(t, "another reason", 5) {
		reason = "They agreed."
		body["afterStartReason"] = reason
	}
	want := m.decideSwap(r, other, waive, reason)
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, "/registrations/"+r.id+"/swap", body)
	if !ok {
		m.unchanged(t, r, other.date)
		return
	}
	started := r.date.started() || other.date.started()
	first, second := r.facts(), other.facts()
	late := []bool{r.isLate(), other.isLate()}
	r.date.taken += other.spots - r.spots
	other.date.taken += r.spots - other.spots
	r.event, other.event = other.event, r.event
	r.date, other.date = other.date, r.date
	r.option, other.option = other.option, r.option
	r.attendance, other.attendance = "unknown", "unknown"
	if !started {
		reason = ""
	}
	r.log("moved", first, object{"reason": reason, "policyWaived": waive && late[0], "swappedWith": other.id})
	other.log("moved", second, object{"reason": reason, "policyWaived": waive && late[1], "swappedWith": r.id})
	a.same(t, a.body, r.view(), loose()...)
	m.free(t, r.date, other.date)
	m.unchanged(t, other, r.date)
}

func (m *machine) decideSwap(r, other *registration, waive bool, reason string) refusal {
	pair := []*registration{r, other}
	if r == other {
		return invalid("registrationId")
	}
	unchanged := r.date == other.date && r.option == other.option
	for i, x := range pair {
		if want := x.changeable(); want != fine && (x.status == "cancelled" || !unchanged) {
			return want
		}
		if unchanged {
			continue
		}
		if want := m.decideHalf(x, pair[1-i], reason); want != fine {
			return want
		}
	}
	switch {
	case unchanged:
		return refuse("ALREADY_MOVED")
	case r.date != other.date && (!r.date.fits(other.spots-r.spots) || !other.date.fits(r.spots-other.spots)):
		return refuse("EVENT_FULL")
	case (r.isLate() || other.isLate()) && !waive:
		return refuse("LATE_CHANGE")
	}
	for i, x := range pair {
		if to := pair[1-i]; x.byPass() && !x.refunded {
			if want := x.pass.covers(to.event, to.date, 0); want != fine {
				return want
			}
		}
	}
	return fine
}

// decideHalf predicts whether a registration can have the date of another one.
func (m *machine) decideHalf(r, to *registration, reason string) refusal {
	if want := r.event.unchangeable(r.date, reason); want != fine {
		return want
	}
	if want := to.event.closed(to.date, reason != ""); want != fine && r.date != to.date {
		return want
	}
	switch {
	case r.option != to.option && (r.option.whole || to.option.whole):
		return invalid("registrationId") // a part of a course has its price only within it
	case r.date == to.date:
		return fine
	}
	again := func(x *registration) bool {
		return x != to && x.who == r.who && x.date == to.date && x.status == "confirmed"
	}
	held := func(h *hold) bool { return h.status == "active" && slices.ContainsFunc(h.regs, again) }
	if to.event.rules.once && (slices.ContainsFunc(m.regs, again) || slices.ContainsFunc(m.holds, held)) {
		return refuse("ALREADY_BOOKED")
	}
	return fine
}
