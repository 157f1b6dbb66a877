package model

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// registration is a booking. The lines of a hold are registrations without an id.
type registration struct {
	id, transaction, status, currency, reason, attendance string
	method, code, reference                               string
	event                                                 *event
	date                                                  *date
	who, payer                                            *customer
	option                                                *option
	spots                                                 int
	paid, repaid, due                                     int64 // minor units; paid includes what moves cost
	price                                                 int64 // now
	manager                                               *customer
	history                                               []object
	pass                                                  *customerPass
	credits                                               int
	refunded, late                                        bool
}

func (r *registration) path() string { return r.event.path() + "/registrations/" + r.id }

func (r *registration) byPass() bool { return r.method == "PASS" }

func (r *registration) view() object {
	out := object{
		"id": r.id, "eventId": r.event.id, "eventDateId": r.date.id, "eventTitle": r.event.title, "eventDate": instant(r.date.start),
		"customerId": r.who.id, "spots": r.spots, "status": r.status, "totalPaid": decimal(r.paid), "currency": r.currency,
		"paymentMethod": r.method, "passUsed": nil, "transactionId": r.transaction, "attendance": r.attendance, "discountCode": nullable(r.code),
		"refunded": r.refunded, "pricingOptionId": r.option.id, "purchasedById": r.payer.id, "late": r.late, "creditsReturned": 0,
		"refundDue": decimal(r.due), "refundedAmount": decimal(r.repaid), "cancellationReason": r.reason, "price": decimal(r.price),
		"managedById": r.manager.id,
	}
	if r.byPass() {
		out["passUsed"] = r.pass.id
		if r.refunded {
			out["creditsReturned"] = r.credits
		}
	}
	return out
}

// nullable returns nil instead of "".
func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// loose returns the members of a registration that are checked separately: names follow a
// customer's changes a moment later.
func loose() []string {
	return []string{"customerEmail", "customerName", "createdAt", "cancelledAt", "refundedAt", "updatedAt"}
}

// bookByCard books with any method except a pass.
func (m *machine) bookByCard(t *rapid.T) {
	m.book(t, func(o *order, body object) {
		payment := object{}
		if v, ok := optional(t, "with method", payment, "method", "CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", "FREE"); ok {
			o.method = v
		}
		o.reference, _ = optional(t, "with reference", payment, "reference", "ch_1")
		if len(payment) > 0 {
			body["payment"] = payment
		}
		o.code, _ = optional(t, "with code", body, "discountCode", "Tenth", "FIVER", "tenth", "twice", "OLD", "NOPE")
	})
}

func (m *machine) bookByPass(t *rapid.T) {
	m.book(t, func(o *order, body object) {
		payment := object{"method": "PASS"}
		if h := one(t, "named pass", m.held); h != nil && rapid.Bool().Draw(t, "naming a pass") {
			payment["customerPassId"], o.pass = h.id, h
		}
		if rapid.IntRange(0, 7).Draw(t, "a code with a pass") == 0 {
			o.code, _ = optional(t, "with code", body, "discountCode", "Tenth", "NOPE")
		}
		body["payment"], o.method = payment, "PASS"
	})
}

// bookTooMuch requests a booking for more credits than any pass can hold.
func (m *machine) bookTooMuch(t *rapid.T) {
	credits := 100_000
	e := &event{
		title: "Dear", kind: "class", status: "published", zone: "UTC",
		dates:   []*date{{start: time.Date(2098, 1, 1, 9, 0, 0, 0, time.UTC), duration: 60}},
		options: []*option{{name: "Dear", currency: "GBP", price: 100_000_000_000, credits: &credits}},
	}
	m.addEvent(t, e, object{
		"title": e.title, "timezone": "UTC", "startsAt": "2098-01-01T09:00:00Z", "duration": 60, "pricingOptions": []object{e.options[0].body()},
	})
	who := m.anyCustomer(t, "who")
	body := object{"customerId": who.id, "spots": 1000, "payment": object{"method": "PASS"}}
	_, want := m.decide(&order{payer: who, method: "PASS", lines: []*line{{event: e, who: who, spots: 1000}}})
	if who.deleted {
		want = missing
	}
	m.call(t, http.MethodPost, e.path()+"/registrations", body).expect(t, 0, want)
	m.read(t, e.path(), false, e.view, "createdAt", "updatedAt")
}

// book makes a booking of one event and predicts the answer. pay completes the request.
func (m *machine) book(t *rapid.T, pay func(*order, object)) {
	e := one(t, "event", m.events)
	who := m.anyCustomer(t, "who")
	o := &order{payer: who, method: "CARD", single: true}
	l := &line{event: e, who: who, spots: 1}
	o.lines = []*line{l}
	body := object{"customerId": who.id}
	if v, ok := optional(t, "with spots", body, "spots", 1, 1, 2, 3, 1000, 1000); ok {
		l.spots = v
	}
	if rapid.Bool().Draw(t, "naming the date") {
		l.date = one(t, "date", e.dates)
		body["eventDateId"] = l.date.id
	}
	if rapid.Bool().Draw(t, "naming the option") {
		l.option = one(t, "option", e.options)
		body["pricingOptionId"] = l.option.id
	}
	if rapid.IntRange(0, 4).Draw(t, "for somebody else") == 0 {
		o.payer = m.anyCustomer(t, "payer")
		body["purchasedById"] = o.payer.id
	}
	pay(o, body)
	made, want := m.decide(o)
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, e.path()+"/registrations", body)
	if !ok {
		return
	}
	r := made.regs[0]
	r.id, _ = a.body["id"].(string)
	made.transaction, _ = a.body["transactionId"].(string)
	m.take(made)
	if len(made.regs) == 1 {
		m.confirm(made)
	} else {
		m.learn(t, made) // a whole course: the answer has the first registration
	}
	a.same(t, a.body, r.view(), loose()...)
	if !who.renamed && (a.body["customerEmail"] != who.email || a.body["customerName"] != who.first+" "+who.last) {
		t.Fatalf("wrong name or address: %s", a.what)
	}
}

// registered lists the registrations by their ids, which is the order of their creation: those of a
// hold are created with the hold.
func (m *machine) registered() []*registration {
	return slices.SortedFunc(slices.Values(m.regs), func(a, b *registration) int { return cmp.Compare(a.id, b.id) })
}

// cancelBooking cancels with DELETE, which is as the specification has it.
func (m *machine) cancelBooking(t *rapid.T) {
	of := slices.DeleteFunc(slices.Clone(m.regs), func(r *registration) bool { return r.event.deleted })
	r := one(t, "registration", of)
	if r == nil {
		t.Skip("there is no registration")
	}
	a := m.call(t, http.MethodDelete, r.path(), nil)
	if r.status == "cancelled" {
		a.expect(t, 0, refuse("ALREADY_CANCELLED"))
		return
	}
	a.expect(t, http.StatusOK, fine)
	credits, due := r.outcome(r.isLate())
	a.same(t, a.body, object{
		"id": r.id, "deleted": true, "status": "cancelled", "late": r.isLate(), "creditsReturned": credits, "refundDue": decimal(due),
	})
	r.cancel(r.isLate(), nil)
	m.free(t, r.date)
	m.call(t, http.MethodDelete, r.path(), nil).expect(t, 0, refuse("ALREADY_CANCELLED"))
}
