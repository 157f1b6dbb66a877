package admin

import (
	"context"
	"math"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// eventEditPage changes what an event says of itself.
type eventEditPage struct {
	Event eventView
	Form  *form
	Kinds []option
}

func (p eventEditPage) head() (string, string) { return "Change " + p.Event.GetTitle(), "events" }

func kindOptions() []option {
	var all []option
	for _, k := range kinds {
		all = append(all, option{k.name, strings.ToUpper(k.name[:1]) + k.name[1:]})
	}
	return all
}

func kindOf(name string) bookingv1.EventType {
	for _, k := range kinds {
		if k.name == name {
			return k.kind
		}
	}
	return bookingv1.EventType_EVENT_TYPE_UNSPECIFIED
}

// maxPolicyHours is how long before a date a policy may end.
const maxPolicyHours = 8760

func (r *request) editEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := newForm("title", e.GetTitle(), "description", e.GetDescription(), "type", e.Kind(), "location", e.GetLocation())
	f.see(e.GetVersion())
	if e.FreeCancellationMinutes != nil {
		f.values.Set("policy", hundredthsText(int64(math.Round(float64(e.GetFreeCancellationMinutes())*100/60))))
	}
	return r.render("event-edit", eventEditPage{e, f, kindOptions()})
}

// policy reads the hours before a date until which cancelling is free, in minutes;
// nil: until it starts.
func (f *form) policy() *int32 {
	hours, given := f.hundredths("policy", "The number of hours", maxPolicyHours)
	if !given {
		return nil
	}
	free := int32((hours*60 + 50) / 100)
	return &free
}

func (r *request) updateEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := r.sent(map[string]string{"free_cancellation_minutes": "policy"})
	title, description, location := f.required("title", "A title"), f.text("description"), f.text("location")
	req := &bookingv1.UpdateEventRequest{
		Id: e.GetId(), Title: &title, Description: &description, Location: &location, ExpectedVersion: f.seen(e.GetVersion()),
	}
	if e.StateName() != "Cancelled" { // what a cancelled event sells is changed no more
		req.Type, req.FreeCancellationMinutes = kindOf(f.text("type")), f.policy()
		if req.FreeCancellationMinutes == nil {
			req.FreeCancellationMinutes = proto.Int32(-1) // no policy
		}
	}
	res, err := submit(r, f, r.services.events.UpdateEvent, req)
	if err != nil {
		return r.again(err, "event-edit", eventEditPage{e, f, kindOptions()})
	}
	after := eventView{res.GetEvent()}
	r.detail("title", e.GetTitle(), title)
	r.detail("location", e.GetLocation(), location)
	r.detail("kind", e.Kind(), after.Kind())
	r.detail("policy", e.Policy(), after.Policy())
	return r.back("/events/"+e.GetId(), "The event is changed.")
}

// pricePage makes or changes a pricing option.
type pricePage struct {
	Event    eventView
	Option   *bookingv1.PricingOption // nil: a new one
	Form     *form
	Currency string
}

func (p pricePage) head() (string, string) {
	if p.Option == nil {
		return "Add a price", "events"
	}
	return "Change a price", "events"
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

func (r *request) price() error {
	p, err := r.findPrice()
	if err != nil {
		return err
	}
	return r.render("price", p)
}

// readPrice reads the fields of a pricing option.
func readPrice(f *form) *bookingv1.PricingOptionChange {
	change := &bookingv1.PricingOptionChange{Name: proto.String(f.required("name", "A name"))}
	price, _ := f.money("price", "The price")
	tax, _ := f.hundredths("tax", "The tax", 100)
	change.Price, change.TaxRateBasisPoints = &price, proto.Int32(int32(tax))
	if credits, given := f.integer("credits", "The number of credits", 0, 100_000); given {
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
	}, "events", p.Event.GetTitle()+": "+p.Option.GetName()+", "+money(p.Option.GetPrice(), p.Option.GetCurrency()), "/events/"+p.Event.GetId()+"#prices")
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

// confirmEvent asks before an event is cancelled or deleted.
func (r *request) confirmEvent() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	p, back := confirmPage{Danger: true}, "/events/"+e.GetId()
	var dates, places int32
	for _, d := range e.GetDates() {
		if d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED && d.GetStartsAt().AsTime().After(r.web.now()) {
			dates++
			places += d.GetBooked()
		}
	}
	switch r.path("action") {
	case "cancel":
		if e.StateName() == "Cancelled" {
			return r.back(back, "This event was cancelled before.")
		}
		p.Title, p.Button, p.Reason = "Cancel this event", "Cancel the event", true
		p.Effects = []string{
			"All its dates to come are cancelled: " + plural(dates, "date", "dates") + ", of which " + plural(places, "place is", "places are") + " taken.",
			"Credits go back to the passes, whatever the policy. What was paid by card is yours to give back; record it as refunded then.",
			"What has taken place stays as it is. A cancelled event cannot be brought back.",
		}
	case "delete":
		p.Title, p.Button = "Delete this event", "Delete for good"
		p.Effects = []string{"It is gone from every list, with its dates. Bookings of it keep its title.", "An event that is still booked is not deleted: cancel it first."}
	default:
		return fault.Missing("page")
	}
	return r.confirm(p, "events", e.GetTitle(), back)
}

func (r *request) changeEvent() error {
	event := r.path("id")
	path := "/events/" + event
	switch r.path("action") {
	case "cancel":
		res, err := perform(r, r.services.events.CancelEvent, &bookingv1.CancelEventRequest{Id: event, Reason: r.value("reason")})
		if err != nil {
			return r.refused(path, err)
		}
		r.detail("reason", "", r.value("reason"))
		return r.back(path, "The event is cancelled, with "+plural(res.GetCancelledBookings(), "booking", "bookings")+".")
	case "delete":
		if _, err := perform(r, r.services.events.DeleteEvent, &bookingv1.DeleteEventRequest{Id: event}); err != nil {
			return r.refused(path, err)
		}
		return r.back("/events", "The event is deleted.")
	}
	return fault.Missing("page")
}
