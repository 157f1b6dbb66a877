package admin

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// pricePage makes or changes a pricing option.
type pricePage struct {
	Event    eventView
	Option   *bookingv1.PricingOption // nil: a new one
	Form     *form
	Currency string
}

func (p pricePage) head() (*message, string) {
	if p.Option == nil {
		return literal("Add a price"), "events"
	}
	return literal("Change a price"), "events"
}

// Action is the path that the form is sent to.
func (p pricePage) Action() string {
	path := "/events/" + p.Event.GetId() + "/prices"
	if p.Option != nil {
		path += "/" + p.Option.GetId()
	}
	return path
}

// findPrice returns the page of an event's pricing option, or of a new one.
func (r *request) findPrice() (pricePage, error) {
	e, err := r.findEvent()
	if err != nil {
		return pricePage{}, err
	}
	p := pricePage{Event: e, Form: newForm("tax", "0"), Currency: r.session.Company.GetCurrency()}
	which := r.path("option")
	if which == "" {
		return p, nil
	}
	for _, o := range e.GetPricingOptions() {
		if o.GetId() != which {
			continue
		}
		p.Option, p.Currency = o, o.GetCurrency()
		p.Form = newForm("name", o.GetName(), "price", amount(o.GetPrice()), "tax", hundredthsText(int64(o.GetTaxRateBasisPoints())))
		if o.Credits != nil {
			p.Form.values.Set("credits", strconv.Itoa(int(o.GetCredits())))
		}
		p.Form.see(e.GetVersion())
		return p, nil
	}
	return p, fault.Missing("price")
}

// readPrice reads the fields of a pricing option.
func readPrice(f *form) *bookingv1.PricingOptionChange {
	change := &bookingv1.PricingOptionChange{Name: proto.String(f.required("name", literal("a name")))}
	price, _ := f.money("price", literal("the price"))
	tax, _ := f.hundredths("tax", literal("the tax"), 100)
	change.Price, change.TaxRateBasisPoints = &price, proto.Int32(int32(tax))
	if credits, given := f.integer("credits", literal("the number of credits"), 0, 100_000); given {
		change.Credits = proto.Int32(int32(credits))
	} else {
		change.NoCredits = true
	}
	return change
}

func (r *request) savePrice() error {
	p, err := r.findPrice()
	if err != nil {
		return err
	}
	p.Form = r.sent(map[string]string{"tax_rate_basis_points": "tax"})
	change, said := readPrice(p.Form), "The price is added."
	if p.Option != nil {
		change.Id, said = p.Option.GetId(), "The price is changed. What is booked already stays as it was bought."
	}
	_, err = submit(r, p.Form, unindexed(r.services.events.UpdateEvent), &bookingv1.UpdateEventRequest{
		Id: p.Event.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{change}, ExpectedVersion: p.Form.seen(p.Event.GetVersion()),
	})
	if err != nil {
		return r.again(err, "price", p)
	}
	r.detail("name", p.Option.GetName(), change.GetName())
	r.detail("price", amount(p.Option.GetPrice()), amount(change.GetPrice()))
	return r.back("/events/"+p.Event.GetId()+"#prices", said)
}

// unindexed returns the method with the fields of its refusals named as those of the one
// part that is sent.
func unindexed[Q, R any](call method[Q, R]) method[Q, R] {
	return func(ctx context.Context, req Q, opts ...grpc.CallOption) (R, error) {
		res, err := call(ctx, req, opts...)
		if err == nil {
			return res, nil
		}
		e, names := fault.From(err), map[string]string{}
		for _, field := range e.Fields {
			names[field.Field] = field.Field[strings.LastIndex(field.Field, ".")+1:]
		}
		return res, e.Rename(names)
	}
}

func (r *request) confirmPrice() error {
	p, err := r.findPrice()
	if err != nil {
		return err
	}
	if len(p.Event.GetPricingOptions()) == 1 {
		return r.sayFailed("/events/"+p.Event.GetId()+"#prices", "This is the only price of the event. Add another one first, or change it.")
	}
	return r.confirm(confirmPage{
		Title: "End this price", Button: "End the price", Danger: true,
		Effects: []string{
			"It is sold no more, on any date of the event.",
			"What was booked at it stays, and who waits for a place at it is served at it.",
			"It cannot be brought back. Add a new one instead.",
		},
	}, "events", p.Event.GetTitle()+": "+p.Option.GetName()+", "+priceText(p.Option.GetPrice(), p.Option.GetCurrency()), "/events/"+p.Event.GetId()+"#prices")
}

func (r *request) endPrice() error {
	event, which := r.path("id"), r.path("option")
	path := "/events/" + event + "#prices"
	_, err := perform(r, r.services.events.UpdateEvent, &bookingv1.UpdateEventRequest{
		Id: event, PricingOptions: []*bookingv1.PricingOptionChange{{Id: which, Ended: true}},
	})
	if err != nil {
		if fault.Is(err, fault.Invalid) {
			return r.sayFailed(path, "An event keeps one price. Add another one first.")
		}
		return r.refused(path, err)
	}
	r.detail("pricing_option", which, "")
	return r.back(path, "The price has ended.")
}
