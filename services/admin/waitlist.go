package admin

import (
	"net/http"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func (r *request) wait() error {
	page, err := r.bookPage(true, r.value("customer"))
	if err != nil || page.Customer == nil {
		return orMissing(err)
	}
	page.Form = r.sent(bookFields)
	spaces := page.Form.count("spaces", msg("desk.field.spaces"), 1, 1000)
	req := &bookingv1.JoinWaitlistRequest{
		EventDateId: page.Slot.GetDate().GetId(), CustomerId: page.Customer.GetId(), Spaces: spaces, PricingOptionId: page.Form.text("option"),
		Mode: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER, OfferMinutes: 12 * 60,
	}
	if page.Form.text("mode") == "book" {
		pay := page.Form.payment()
		req.Mode, req.OfferMinutes = bookingv1.WaitlistMode_WAITLIST_MODE_BOOK, 0
		req.PaymentMethod, req.CustomerPassId = pay.method, pay.pass
	}
	res, err := submit(r, page.Form, r.services.waitlist.JoinWaitlist, req)
	if err != nil {
		return r.again(err, "book", page)
	}
	r.target(res.GetEntry().GetId())
	r.detail("customer", "", page.Customer.GetId())
	return r.back(page.Slot.Path()+"#waitlist", r.text("desk.wait.added", "name", fullName(page.Customer)))
}

func (r *request) leaveWaitlist() error {
	back := local(r.value("back"), home)
	if _, err := perform(r, r.services.waitlist.LeaveWaitlist, &bookingv1.LeaveWaitlistRequest{Id: r.path("id")}); err != nil {
		return r.refused(back, err)
	}
	return r.back(back, r.text("desk.waitlist.removed"))
}

// offerPage books the spaces that are held for a customer of the waitlist.
type offerPage struct {
	Event    eventView
	Slot     slot
	Entry    *bookingv1.WaitlistEntry
	Customer *customerv1.Customer
	Price    *message
	Passes   []option
	Form     *form
	Action   string
}

func (p offerPage) head() (*message, string) {
	return msg("desk.offer.heading", "count", p.Entry.GetSpaces()), "events"
}

// Name returns the customer's name.
func (p offerPage) Name() string { return fullName(p.Customer) }

// findOffer returns the page of an open offer. If the offer is no longer open, ok is false and
// the request is redirected to the date. A booked offer accepts the same form again, because
// the response to the first one may have been lost.
func (r *request) findOffer() (p offerPage, ok bool, err error) {
	e, s, err := r.findDate()
	if err != nil {
		return p, false, err
	}
	res, err := r.services.waitlist.GetWaitlistEntry(r.ctx, &bookingv1.GetWaitlistEntryRequest{Id: r.path("entry")})
	if err != nil {
		return p, false, err
	}
	if res.GetEntry().GetEventDateId() != s.GetDate().GetId() {
		return p, false, fault.Missing("offer")
	}
	p = offerPage{Event: e, Slot: s, Entry: res.GetEntry(), Form: newForm("method", "card"), Action: r.http.URL.Path}
	again := r.http.Method == http.MethodPost && p.Entry.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
	if p.Entry.GetState() != bookingv1.WaitlistState_WAITLIST_STATE_OFFERED && !again {
		return p, false, r.sayFailed(s.Path()+"#waitlist", r.text(reason("NOT_OFFERED")))
	}
	customer, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: p.Entry.GetCustomerId()})
	if err != nil {
		return p, false, err
	}
	p.Customer = customer.GetCustomer()
	err = r.priceOffer(&p)
	return p, err == nil, err
}

// priceOffer sets the price of the offered spaces, and the passes that could pay for them.
func (r *request) priceOffer(p *offerPage) (err error) {
	for _, o := range p.Event.GetPricingOptions() {
		if o.GetId() != p.Entry.GetPricingOptionId() {
			continue
		}
		p.Price = priceOrCredits(o, p.Entry.GetSpaces())
		if o.Credits != nil {
			p.Passes, err = r.payingPasses(p.Entry.GetCustomerId(), p.Event, p.Slot, o.GetCredits()*p.Entry.GetSpaces())
		}
		return err
	}
	// An event does not list an ended price, but customers who joined the waitlist at that
	// price still book at it. The booking service checks whether a pass has enough credits.
	p.Price = msg("desk.offer.ended_price")
	p.Passes, err = r.payingPasses(p.Entry.GetCustomerId(), p.Event, p.Slot, 1)
	return err
}

func (r *request) offer() error {
	p, ok, err := r.findOffer()
	if err != nil || !ok {
		return err
	}
	return r.render("offer", p)
}

func (r *request) acceptOffer() error {
	p, ok, err := r.findOffer()
	if err != nil || !ok {
		return err
	}
	p.Form = r.sent(bookFields)
	pay := p.Form.payment()
	req := &bookingv1.AcceptOfferRequest{
		Id: p.Entry.GetId(), PaymentMethod: pay.method, PaymentReference: pay.reference, CustomerPassId: pay.pass,
	}
	res, err := submit(r, p.Form, r.services.waitlist.AcceptOffer, req)
	if err != nil {
		return r.again(err, "offer", p)
	}
	booked := r.text("desk.offer.booked", "name", p.Name())
	for _, b := range res.GetTransaction().GetBookings() {
		booked += ", " + r.text(paid(b))
	}
	r.detail("paid", "", enum.Name(pay.method))
	return r.back(p.Slot.Path(), booked+".")
}
