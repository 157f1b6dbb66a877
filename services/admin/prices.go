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

// pricePage adds or changes a pricing option.
type pricePage struct {
	Event    eventView
	Option   *bookingv1.PricingOption // nil for a new one
	Form     *form
	Currency string
}

func (p pricePage) head() (*message, string) {
	if p.Option == nil {
		return msg("desk.price.add"), "events"
	}
	return msg("desk.price.edit"), "events"
}

// Action is the path that the form is sent to.
func (p pricePage) Action() string {
	path := "/events/" + p.Event.GetId() + "/prices"
	if p.Option != nil {
		path += "/" + p.Option.GetId()
	}
	return path
}

// Course reports whether a new price can be for the whole course.
func (p pricePage) Course() bool {
	return p.Option == nil && p.Event.GetType() == bookingv1.EventType_EVENT_TYPE_COURSE
}

// findPrice returns the page of the pricing option in the path; that of a new one if the path
// has none.
func (r *request) findPrice() (pricePage, error) {
	e, err := r.findEvent()
	if err != nil {
		return pricePage{}, err
	}
	p := pricePage{Event: e, Form: newForm("tax", "0"), Currency: r.session.Company.GetCurrency()}
	optionID := r.path("option")
	if optionID == "" {
		return p, nil
	}
	for _, o := range e.GetPricingOptions() {
		if o.GetId() != optionID {
			continue
		}
		p.Option, p.Currency = o, o.GetCurrency()
		p.Form = newForm("name", o.GetName(), "price", r.amount(o.GetPrice()), "tax", r.hundredths(int64(o.GetTaxRateBasisPoints())))
		if o.Credits != nil {
			p.Form.values.Set("credits", strconv.Itoa(int(o.GetCredits())))
		}
		p.Form.setVersion(e.GetVersion())
		return p, nil
	}
	return p, fault.Missing("price")
}

// readPrice reads the fields of a pricing option.
func readPrice(f *form) *bookingv1.PricingOptionChange {
	change := &bookingv1.PricingOptionChange{Name: proto.String(f.required("name", msg("desk.field.name")))}
	price, _ := f.money("price", msg("desk.field.price"))
	tax, _ := f.hundredths("tax", msg("desk.field.tax"), 100)
	change.Price, change.TaxRateBasisPoints = &price, proto.Int32(int32(tax))
	if credits, given := f.integer("credits", msg("desk.field.credits"), 0, 100_000); given {
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
	change, done := readPrice(p.Form), "desk.price.added"
	if p.Option == nil {
		change.WholeCourse = proto.Bool(p.Course() && p.Form.Get("whole") != "")
	} else {
		change.Id, done = p.Option.GetId(), "desk.price.changed"
	}
	_, err = submit(r, p.Form, unindexed(r.services.events.UpdateEvent), &bookingv1.UpdateEventRequest{
		Id: p.Event.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{change}, ExpectedVersion: p.Form.expectedVersion(p.Event.GetVersion()),
	})
	if err != nil {
		return r.again(err, "price", p)
	}
	r.detail("name", p.Option.GetName(), change.GetName())
	r.detail("price", amount(p.Option.GetPrice()), amount(change.GetPrice()))
	return r.back("/events/"+p.Event.GetId()+"#prices", r.text(done))
}

// unindexed returns a method whose refusals name the fields of a nested message, or of a list's only
// element, alone: "name" for "pricing_options[0].name".
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
		return r.sayFailed("/events/"+p.Event.GetId()+"#prices", r.text("desk.price.only"))
	}
	return r.confirm(confirmPage{
		Title: r.text("desk.price.end_title"), Button: r.text("desk.price.end_button"), Danger: true,
		Effects: []string{r.text("desk.price.end_sales"), r.text("desk.price.end_bookings"), r.text("desk.price.end_final")},
	}, "events", p.Event.GetTitle()+": "+p.Option.GetName()+", "+r.price(p.Option.GetPrice(), p.Option.GetCurrency()), "/events/"+p.Event.GetId()+"#prices")
}

func (r *request) endPrice() error {
	event, optionID := r.path("id"), r.path("option")
	path := "/events/" + event + "#prices"
	_, err := perform(r, r.services.events.UpdateEvent, &bookingv1.UpdateEventRequest{
		Id: event, PricingOptions: []*bookingv1.PricingOptionChange{{Id: optionID, Ended: true}},
	})
	if err != nil {
		if fault.Is(err, fault.Invalid) {
			return r.sayFailed(path, r.text("desk.price.last"))
		}
		return r.refused(path, err)
	}
	r.detail("pricing_option", optionID, "")
	return r.back(path, r.text("desk.price.ended"))
}
