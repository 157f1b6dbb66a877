package admin

import (
	"net/http"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func (v *visit) wait() error {
	page, err := v.bookPage(true, v.value("customer"))
	if err != nil || page.Customer == nil {
		return orMissing(err)
	}
	page.Form = v.sent(bookFields)
	spaces := page.Form.count("spaces", "The number of places", 1, 1000)
	req := &bookingv1.JoinWaitlistRequest{
		EventDateId: page.Slot.GetDate().GetId(), CustomerId: page.Customer.GetId(), Spaces: spaces, PricingOptionId: page.Form.text("option"),
		Mode: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER, OfferMinutes: 12 * 60,
	}
	if page.Form.text("mode") == "book" {
		req.Mode, req.OfferMinutes, req.PaymentMethod = bookingv1.WaitlistMode_WAITLIST_MODE_BOOK, 0, bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
		if page.Form.text("method") == "pass" {
			req.PaymentMethod, req.CustomerPassId = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, page.Form.text("pass")
		}
	}
	res, err := submit(v, page.Form, v.services.waitlist.JoinWaitlist, req)
	if err != nil {
		return v.again(err, "book", page)
	}
	v.target(res.GetEntry().GetId())
	v.detail("customer", "", page.Customer.GetId())
	return v.back(page.Slot.Path()+"#waitlist", fullName(page.Customer)+" is on the waitlist.")
}

func (v *visit) leaveWaitlist() error {
	back := local(v.value("back"), home)
	if _, err := perform(v, v.services.waitlist.LeaveWaitlist, &bookingv1.LeaveWaitlistRequest{Id: v.r.PathValue("id")}); err != nil {
		return v.refused(back, err)
	}
	return v.back(back, "Taken off the waitlist.")
}

// offerPage books places that are held for somebody who waited.
type offerPage struct {
	Event    eventView
	Slot     slot
	Entry    *bookingv1.WaitlistEntry
	Customer *customerv1.Customer
	Price    string
	Passes   []option
	Form     *form
	Action   string
}

func (offerPage) head() (string, string) { return "Book offered places", "events" }

// findOffer reads an open offer, and how the customer could pay for it. One that is
// not open any more has no page: ok is false, and the answer is given. One that is
// booked takes the same form again, of which the answer may not have been seen.
func (v *visit) findOffer() (p offerPage, ok bool, err error) {
	e, s, err := v.findDate()
	if err != nil {
		return p, false, err
	}
	res, err := v.services.waitlist.GetWaitlistEntry(v.ctx, &bookingv1.GetWaitlistEntryRequest{Id: v.r.PathValue("entry")})
	if err != nil {
		return p, false, err
	}
	if res.GetEntry().GetEventDateId() != s.GetDate().GetId() {
		return p, false, fault.Missing("offer")
	}
	p = offerPage{Event: e, Slot: s, Entry: res.GetEntry(), Form: newForm("method", "card"), Action: v.r.URL.Path}
	again := v.r.Method == http.MethodPost && p.Entry.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
	if p.Entry.GetState() != bookingv1.WaitlistState_WAITLIST_STATE_OFFERED && !again {
		return p, false, v.sayFailed(s.Path()+"#waitlist", sentences["NOT_OFFERED"])
	}
	customer, err := v.services.customers.GetCustomer(v.ctx, &customerv1.GetCustomerRequest{Id: p.Entry.GetCustomerId()})
	if err != nil {
		return p, false, err
	}
	p.Customer = customer.GetCustomer()
	err = v.priceOffer(&p)
	return p, err == nil, err
}

// priceOffer says what the places cost, and which passes could pay for them.
func (v *visit) priceOffer(p *offerPage) (err error) {
	for _, o := range p.Event.GetPricingOptions() {
		if o.GetId() != p.Entry.GetPricingOptionId() {
			continue
		}
		p.Price = money(o.GetPrice()*int64(p.Entry.GetSpaces()), o.GetCurrency())
		if o.Credits != nil {
			p.Passes, err = v.payingPasses(p.Entry.GetCustomerId(), p.Event, p.Slot, o.GetCredits()*p.Entry.GetSpaces())
			p.Price += " or " + plural(o.GetCredits()*p.Entry.GetSpaces(), "credit", "credits")
		}
		return err
	}
	// A price that has ended is in no event, but who waited at it is served at it.
	// Whether a pass is enough, the service knows.
	p.Price = "at a price that is sold to others no more"
	p.Passes, err = v.payingPasses(p.Entry.GetCustomerId(), p.Event, p.Slot, 1)
	return err
}

func (v *visit) offer() error {
	p, ok, err := v.findOffer()
	if err != nil || !ok {
		return err
	}
	return v.render("offer", p)
}

func (v *visit) acceptOffer() error {
	p, ok, err := v.findOffer()
	if err != nil || !ok {
		return err
	}
	p.Form = v.sent(bookFields)
	req := &bookingv1.AcceptOfferRequest{
		Id: p.Entry.GetId(), PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, PaymentReference: p.Form.text("reference"),
	}
	if p.Form.text("method") == "pass" {
		req.PaymentMethod, req.CustomerPassId, req.PaymentReference = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, p.Form.text("pass"), ""
	}
	res, err := submit(v, p.Form, v.services.waitlist.AcceptOffer, req)
	if err != nil {
		return v.again(err, "offer", p)
	}
	said := "The offer is booked for " + fullName(p.Customer)
	for _, b := range res.GetTransaction().GetBookings() {
		said += ", " + paid(b)
	}
	v.detail("paid", "", p.Form.text("method"))
	return v.back(p.Slot.Path(), said+".")
}
