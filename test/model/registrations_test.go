package model

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

type registration struct {
	id, transaction, status, code, currency string
	event                                   *event
	date                                    *date
	who, payer                              *customer
	option                                  *option
	spots                                   int
	paid                                    int64 // minor units
	byPass                                  bool
	pass                                    *customerPass
	credits                                 int
	refunded                                bool
}

type discount struct {
	code          string
	basisPoints   int32
	amount        int64
	uses          int
	limited, over bool
}

func (r *registration) path() string { return r.event.path() + "/registrations/" + r.id }

func (r *registration) view() object {
	out := object{
		"id": r.id, "eventId": r.event.id, "eventDateId": r.date.id, "eventTitle": r.event.title, "eventDate": instant(r.date.start),
		"customerId": r.who.id, "spots": r.spots, "status": r.status, "totalPaid": decimal(r.paid), "currency": r.currency,
		"paymentMethod": "CARD", "passUsed": nil, "transactionId": r.transaction, "attendance": "unknown", "discountCode": nil, "refunded": r.refunded,
		"pricingOptionId": r.option.id, "purchasedById": r.payer.id, "late": false, "creditsReturned": 0, "refundDue": decimal(0),
		"refundedAmount": decimal(0), "cancellationReason": "",
	}
	if r.byPass {
		out["paymentMethod"], out["passUsed"] = "PASS", r.pass.id
	}
	if r.code != "" {
		out["discountCode"] = r.code
	}
	if r.status == "cancelled" && r.refunded {
		out["creditsReturned"] = r.credits
	}
	if r.status == "cancelled" && !r.byPass {
		out["refundDue"] = decimal(r.paid)
	}
	return out
}

// loose returns the members of a registration that are checked separately: names follow a
// customer's changes a moment later.
func loose() []string {
	return []string{"customerEmail", "customerName", "createdAt", "cancelledAt", "refundedAt", "updatedAt"}
}

// cancel predicts a cancellation in time, or of the event.
func (r *registration) cancel() {
	r.status = "cancelled"
	if r.byPass && r.credits > 0 {
		r.refunded = true
		r.pass.remaining += r.credits
	}
}

func (m *machine) bookByCard(t *rapid.T) {
	m.book(t, func(r *registration, body object) {
		payment := object{}
		optional(t, "with method", payment, "method", "CARD")
		optional(t, "with reference", payment, "reference", "ch_1")
		if len(payment) > 0 {
			body["payment"] = payment
		}
		r.code, _ = optional(t, "with code", body, "discountCode", "Tenth", "FIVER", "tenth", "twice", "OLD", "NOPE")
	})
}

func (m *machine) bookByPass(t *rapid.T) {
	m.book(t, func(r *registration, body object) {
		payment := object{"method": "PASS"}
		if h := one(t, "named pass", m.held); h != nil && rapid.Bool().Draw(t, "naming a pass") {
			payment["customerPassId"], r.pass = h.id, h
		}
		if rapid.IntRange(0, 7).Draw(t, "a code with a pass") == 0 {
			r.code, _ = optional(t, "with code", body, "discountCode", "Tenth", "NOPE")
		}
		body["payment"], r.byPass = payment, true
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
	_, why := m.payer(who, nil, e.kind, 1000*credits, e.localDay(e.dates[0]))
	want := refuse(why)
	if who.deleted {
		want = missing
	}
	m.call(t, http.MethodPost, e.path()+"/registrations", body).expect(t, 0, want)
	m.read(t, e.path(), false, e.view, "createdAt", "updatedAt")
}

// book makes a booking and predicts the answer. pay completes the request.
func (m *machine) book(t *rapid.T, pay func(*registration, object)) {
	e := one(t, "event", m.events)
	r := &registration{event: e, who: m.anyCustomer(t, "who"), spots: 1, status: "confirmed"}
	payer := r.who
	body := object{"customerId": r.who.id}
	if v, ok := optional(t, "with spots", body, "spots", 1, 1, 2, 3, 1000, 1000); ok {
		r.spots = v
	}
	if rapid.Bool().Draw(t, "naming the date") {
		r.date = one(t, "date", e.dates)
		body["eventDateId"] = r.date.id
	}
	var o *option
	if rapid.Bool().Draw(t, "naming the option") {
		o = one(t, "option", e.options)
		body["pricingOptionId"] = o.id
	}
	if rapid.IntRange(0, 4).Draw(t, "for somebody else") == 0 {
		payer = m.anyCustomer(t, "payer")
		body["purchasedById"] = payer.id
	}
	pay(r, body)
	want, code := m.predict(r, payer, &o)
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, e.path()+"/registrations", body)
	if !ok {
		return
	}
	r.id, _ = a.body["id"].(string)
	r.transaction, _ = a.body["transactionId"].(string)
	r.payer, r.option = payer, o
	r.date.taken += r.spots
	if r.byPass {
		r.pass.remaining -= r.credits
	}
	if code != nil {
		code.uses--
	}
	a.same(t, a.body, r.view(), loose()...)
	if !r.who.renamed && (a.body["customerEmail"] != r.who.email || a.body["customerName"] != r.who.first+" "+r.who.last) {
		t.Fatalf("wrong name or address: %s", a.what)
	}
	m.regs = append(m.regs, r)
}

// predict predicts whether a booking is accepted, and completes it: its date, the amount paid,
// the pass, and the discount.
func (m *machine) predict(r *registration, payer *customer, o **option) (refusal, *discount) {
	e := r.event
	if r.byPass && r.code != "" {
		return refuse("DISCOUNT_INVALID"), nil
	}
	if e.deleted {
		return missing, nil
	}
	if r.date == nil {
		dates := e.scheduled()
		switch len(dates) {
		case 0:
			return refuse("EVENT_CANCELLED"), nil
		case 1:
			r.date = dates[0]
		default:
			return invalid("eventDateId"), nil
		}
	}
	if *o == nil && len(e.options) == 1 {
		*o = e.options[0]
	}
	switch {
	case r.who.deleted || payer.deleted:
		return missing, nil
	case e.status == "draft":
		return refuse("EVENT_NOT_PUBLISHED"), nil
	case e.status == "cancelled" || r.date.cancelled:
		return refuse("EVENT_CANCELLED"), nil
	case r.date.start.Before(time.Now()):
		return refuse("EVENT_PAST"), nil
	case *o == nil:
		return invalid("pricingOptionId"), nil
	case r.date.capacity != nil && r.date.taken+r.spots > *r.date.capacity:
		return refuse("EVENT_FULL"), nil
	}
	if r.byPass {
		return m.predictPass(r, payer, *o), nil
	}
	r.currency, r.paid = (*o).currency, (*o).price*int64(r.spots)
	if r.code == "" {
		return fine, nil
	}
	for _, d := range m.discounts {
		if !strings.EqualFold(d.code, r.code) {
			continue
		}
		if d.over || d.limited && d.uses == 0 || d.amount > 0 && r.currency != "GBP" {
			return refuse("DISCOUNT_INVALID"), nil
		}
		r.code = d.code
		off := min(d.amount, r.paid)
		if d.basisPoints > 0 {
			off = (r.paid*int64(d.basisPoints) + 5000) / 10_000
		}
		r.paid -= off
		return fine, d
	}
	return refuse("DISCOUNT_INVALID"), nil
}

func (m *machine) predictPass(r *registration, payer *customer, o *option) refusal {
	if o.credits == nil {
		return refuse("PASS_NOT_APPLICABLE")
	}
	r.currency, r.credits = "GBP", *o.credits*r.spots
	pass, why := m.payer(payer, r.pass, r.event.kind, r.credits, r.event.localDay(r.date))
	if why != "" {
		return refuse(why)
	}
	r.pass = pass
	return fine
}

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
	free := r.date.start
	if r.event.free != nil {
		free = free.Add(-time.Duration(*r.event.free) * time.Minute)
	}
	late := time.Now().After(free)
	want := object{"id": r.id, "deleted": true, "status": "cancelled", "late": late, "creditsReturned": 0, "refundDue": decimal(0)}
	r.date.taken -= r.spots
	if late {
		r.status = "cancelled"
	} else {
		r.cancel()
		want["creditsReturned"], want["refundDue"] = r.credits, decimal(r.paid)
	}
	a.same(t, a.body, want)
	m.call(t, http.MethodDelete, r.path(), nil).expect(t, 0, refuse("ALREADY_CANCELLED"))
}
