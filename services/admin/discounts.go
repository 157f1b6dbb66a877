package admin

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// discountView is a discount code as a page shows it.
type discountView struct {
	*bookingv1.DiscountCode
	clock clock
}

// Off says by how much it lowers a price.
func (d discountView) Off() string {
	if d.GetAmount() > 0 {
		return priceText(d.GetAmount(), d.GetCurrency()) + " off"
	}
	return hundredthsText(int64(d.GetBasisPoints())) + " % off"
}

// Used says how often it was used.
func (d discountView) Used() string {
	if d.MaxUses == nil {
		return plural(d.GetUses(), "time", "times")
	}
	return thousands(int64(d.GetUses())) + " of " + plural(d.GetMaxUses(), "time", "times")
}

// lastDay is the last day on which it can be used. The window ends with the start
// of the next.
func (d discountView) lastDay() time.Time {
	return d.GetValidUntil().AsTime().In(d.clock.Zone).Add(-time.Second)
}

// Valid says when it can be used.
func (d discountView) Valid() string {
	const layout = "2 Jan 2006"
	from := d.GetValidFrom().AsTime().In(d.clock.Zone).Format(layout)
	switch {
	case d.GetValidFrom() == nil && d.GetValidUntil() == nil:
		return "always"
	case d.GetValidUntil() == nil:
		return "from " + from
	case d.GetValidFrom() == nil:
		return "until " + d.lastDay().Format(layout)
	}
	return from + " to " + d.lastDay().Format(layout)
}

// StateName says whether it counts now.
func (d discountView) StateName() string {
	switch {
	case d.GetDisabled():
		return "Disabled"
	case d.MaxUses != nil && d.GetUses() >= d.GetMaxUses():
		return "Used up"
	case d.GetValidUntil() != nil && d.clock.Past(d.GetValidUntil()):
		return "Expired"
	case d.GetValidFrom() != nil && !d.clock.Past(d.GetValidFrom()):
		return "Starts later"
	}
	return "Active"
}

// discountsPage is the list of discount codes.
type discountsPage struct {
	Codes []discountView
	Total int64
	Next  string
}

func (discountsPage) head() (*message, string) { return literal("Discount codes"), "discounts" }

func (r *request) discounts() error {
	res, err := r.services.discounts.ListDiscountCodes(r.ctx, &bookingv1.ListDiscountCodesRequest{PageSize: 50, PageToken: r.query("page")})
	if err != nil {
		return err
	}
	page := discountsPage{Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken())}
	for _, d := range res.GetDiscountCodes() {
		page.Codes = append(page.Codes, discountView{d, r.session.Clock})
	}
	return r.render("discounts", page)
}

// discountPage makes a code, or changes one.
type discountPage struct {
	Code   *discountView // nil: a new one
	Form   *form
	Kinds  []option
	Events []option
	Only   []option // the events that it is for
}

func (p discountPage) head() (*message, string) {
	if p.Code == nil {
		return literal("Add Discount Code"), "discounts"
	}
	return literal(p.Code.GetCode()), "discounts"
}

// newDiscountPage offers the events that are on sale, of which a code may be for one.
func (r *request) newDiscountPage(f *form) (discountPage, error) {
	p := discountPage{Form: f, Kinds: []option{{"share", "Per cent"}, {"amount", "An amount"}},
		Events: []option{{"", "All events"}}}
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{
		PageSize: 200, Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC,
	})
	for _, e := range res.GetEvents() {
		p.Events = append(p.Events, option{e.GetId(), e.GetTitle()})
	}
	return p, err
}

func (r *request) newDiscount() error {
	p, err := r.newDiscountPage(newForm("kind", "share"))
	if err != nil {
		return err
	}
	return r.render("discount", p)
}

// dayField reads a day of the company's zone as its start; nil: the field is empty.
func (r *request) dayField(f *form, name string, after int) *timestamppb.Timestamp {
	text := f.text(name)
	if text == "" {
		return nil
	}
	at, err := dayOf(text, r.session.Clock.Zone)
	if err != nil {
		f.add(name, literal("Give a day."))
		return nil
	}
	return timestamppb.New(r.midnight(at, after))
}

// checkWindow reports a last day before the first one, in the words of the form.
func checkWindow(f *form) {
	// Days as fields of dates send them are in the order of their text.
	if from, until := f.text("from"), f.text("until"); from != "" && until != "" && until < from {
		f.add("until", literal("The last day must not be before the first one."))
	}
}

// discountFields are the form's names of the service's fields.
var discountFields = map[string]string{
	"basis_points": "value", "amount": "value", "valid_from": "from", "valid_until": "until", "max_uses": "uses", "event_ids": "event", "event_ids[0]": "event",
}

func (r *request) createDiscount() error {
	f := r.sent(discountFields)
	req := &bookingv1.CreateDiscountCodeRequest{
		Code: f.required("code", literal("a code")), ValidFrom: r.dayField(f, "from", 0), ValidUntil: r.dayField(f, "until", 1),
	}
	if f.text("kind") == "amount" {
		value, given := f.money("value", literal("the amount"))
		if !given || value == 0 {
			f.add("value", literal("Say how much is taken off."))
		}
		req.Reduction = &bookingv1.CreateDiscountCodeRequest_Amount{Amount: value}
	} else {
		value, given := f.hundredths("value", literal("the share"), 100)
		if !given || value == 0 {
			f.add("value", literal("Say how much is taken off."))
		}
		req.Reduction = &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: int32(value)}
	}
	if uses, given := f.integer("uses", literal("the number of uses"), 1, 1_000_000_000); given {
		req.MaxUses = proto.Int32(int32(uses))
	}
	if event := f.text("event"); event != "" {
		req.EventIds = []string{event}
	}
	checkWindow(f)
	res, err := submit(r, f, r.services.discounts.CreateDiscountCode, req)
	if err == nil {
		d := discountView{res.GetDiscountCode(), r.session.Clock}
		r.target(d.GetId())
		r.detail("code", "", d.GetCode())
		r.detail("off", "", d.Off())
		return r.back("/discounts", "The code "+d.GetCode()+" is added: "+d.Off()+".")
	}
	if !f.Failed() {
		return err
	}
	p, err := r.newDiscountPage(f)
	if err != nil {
		return err
	}
	return r.notAccepted("discount", p)
}

func (r *request) findDiscount() (discountPage, error) {
	res, err := r.services.discounts.GetDiscountCode(r.ctx, &bookingv1.GetDiscountCodeRequest{Id: r.path("id")})
	if err != nil {
		return discountPage{}, err
	}
	d := discountView{res.GetDiscountCode(), r.session.Clock}
	p := discountPage{Code: &d, Form: newForm()}
	if d.GetValidFrom() != nil {
		p.Form.values.Set("from", d.GetValidFrom().AsTime().In(d.clock.Zone).Format(time.DateOnly))
	}
	if d.GetValidUntil() != nil {
		p.Form.values.Set("until", d.lastDay().Format(time.DateOnly))
	}
	if d.MaxUses != nil {
		p.Form.values.Set("uses", strconv.Itoa(int(d.GetMaxUses())))
	}
	p.Form.keep("from", "until")
	// One that is made here is for one event at most; others are counted.
	if only := d.GetEventIds(); len(only) == 1 {
		e, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: only[0]})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return p, err
		}
		title := e.GetEvent().GetTitle()
		if title == "" {
			title = "an event that was deleted"
		}
		p.Only = []option{{only[0], title}}
	}
	return p, nil
}

func (r *request) updateDiscount() error {
	p, err := r.findDiscount()
	if err != nil {
		return err
	}
	f := r.sent(discountFields)
	p.Form = f
	req := &bookingv1.UpdateDiscountCodeRequest{Id: p.Code.GetId(), MaxUses: proto.Int32(0)}
	// A day that stands as it was is not sent: an integration may have set an hour.
	if !f.stands("from") {
		req.ValidFrom = r.dayField(f, "from", 0)
		req.NoValidFrom = req.ValidFrom == nil
	}
	if !f.stands("until") {
		req.ValidUntil = r.dayField(f, "until", 1)
		req.NoValidUntil = req.ValidUntil == nil
	}
	if uses, given := f.integer("uses", literal("the number of uses"), max(1, int64(p.Code.GetUses())), 1_000_000_000); given {
		req.MaxUses = proto.Int32(int32(uses))
	}
	checkWindow(f)
	res, err := submit(r, f, r.services.discounts.UpdateDiscountCode, req)
	if err != nil {
		return r.again(err, "discount", p)
	}
	after := discountView{res.GetDiscountCode(), r.session.Clock}
	r.detail("valid", p.Code.Valid(), after.Valid())
	r.detail("uses", p.Code.Used(), after.Used())
	return r.back("/discounts", "The code "+after.GetCode()+" is changed.")
}

// switchDiscount disables a code, or enables it.
func (r *request) switchDiscount() error {
	action := r.path("action")
	if action != "disable" && action != "enable" {
		return fault.Missing("page")
	}
	path := "/discounts/" + r.path("id")
	disabled := action == "disable"
	res, err := perform(r, r.services.discounts.UpdateDiscountCode, &bookingv1.UpdateDiscountCodeRequest{Id: r.path("id"), Disabled: &disabled})
	if err != nil {
		return r.refused(path, err)
	}
	if disabled {
		return r.back(path, "The code "+res.GetDiscountCode().GetCode()+" is disabled: it counts no more. What was bought with it stays.")
	}
	return r.back(path, "The code "+res.GetDiscountCode().GetCode()+" can be used again.")
}
