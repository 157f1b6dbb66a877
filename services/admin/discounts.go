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

// Off says by how much the code lowers a price.
func (d discountView) Off() *message {
	if d.GetAmount() > 0 {
		return msg("desk.discount.off_amount", "amount", priceText(d.GetAmount(), d.GetCurrency()))
	}
	return msg("desk.discount.off_share", "share", printed(func(x *texts) string { return x.hundredths(int64(d.GetBasisPoints())) }))
}

// Used says how often the code was used.
func (d discountView) Used() *message {
	if d.MaxUses == nil {
		return msg("desk.discount.times", "count", d.GetUses())
	}
	return msg("desk.discount.times_of", "used", d.GetUses(), "count", d.GetMaxUses())
}

// lastDay returns the last day on which the code is valid; ValidUntil is the start of the next
// day.
func (d discountView) lastDay() time.Time {
	return d.GetValidUntil().AsTime().In(d.clock.Zone).Add(-time.Second)
}

// Valid says on which days the code is valid.
func (d discountView) Valid() *message {
	from := timeText("date", d.GetValidFrom().AsTime().In(d.clock.Zone))
	switch {
	case d.GetValidFrom() == nil && d.GetValidUntil() == nil:
		return msg("desk.valid.always")
	case d.GetValidUntil() == nil:
		return msg("desk.valid.from", "from", from)
	case d.GetValidFrom() == nil:
		return msg("desk.valid.until", "to", timeText("date", d.lastDay()))
	}
	return msg("desk.valid.between", "from", from, "to", timeText("date", d.lastDay()))
}

// State says whether the code can be used now.
func (d discountView) State() stateTag {
	switch {
	case d.GetDisabled():
		return stateTag{"bad", msg("desk.state.disabled")}
	case d.MaxUses != nil && d.GetUses() >= d.GetMaxUses():
		return stateTag{"bad", msg("desk.state.used_up")}
	case d.GetValidUntil() != nil && d.clock.Past(d.GetValidUntil()):
		return stateTag{"bad", msg("desk.state.expired")}
	case d.GetValidFrom() != nil && !d.clock.Past(d.GetValidFrom()):
		return stateTag{"warn", msg("desk.state.starts_later")}
	}
	return stateTag{"good", msg("desk.state.active")}
}

// discountsPage is the list of discount codes.
type discountsPage struct {
	Codes []discountView
	Total int64
	Next  string
}

func (discountsPage) head() (*message, string) { return msg("desk.discounts.title"), "discounts" }

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

// discountPage adds or changes a discount code.
type discountPage struct {
	Code   *discountView // nil for a new one
	Form   *form
	Kinds  []option
	Events []option
	Only   []option // the event that the code is for, if it is for one
}

func (p discountPage) head() (*message, string) {
	if p.Code == nil {
		return msg("desk.discount.add"), "discounts"
	}
	return literal(p.Code.GetCode()), "discounts"
}

// newDiscountPage offers the published events; a code can be for one of them.
func (r *request) newDiscountPage(f *form) (discountPage, error) {
	p := discountPage{Form: f, Kinds: []option{{"share", r.text("desk.discount.share")}, {"amount", r.text("desk.discount.amount")}},
		Events: []option{{"", r.text("desk.discount.every_event")}}}
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

// dayField returns the start of the day in a field, after days later; nil if the field is empty.
func (r *request) dayField(f *form, name string, after int) *timestamppb.Timestamp {
	text := f.text(name)
	if text == "" {
		return nil
	}
	at, err := dayOf(text, r.session.Clock.Zone)
	if err != nil {
		f.add(name, msg("desk.field.no_day"))
		return nil
	}
	return timestamppb.New(r.midnight(at, after))
}

// checkWindow adds an error if the last day is before the first.
func checkWindow(f *form) {
	// YYYY-MM-DD dates sort as text.
	if from, until := f.text("from"), f.text("until"); from != "" && until != "" && until < from {
		f.add("until", msg("desk.discount.window"))
	}
}

// discountFields are the form's names of the service's fields.
var discountFields = map[string]string{
	"basis_points": "value", "amount": "value", "valid_from": "from", "valid_until": "until", "max_uses": "uses", "event_ids": "event", "event_ids[0]": "event",
}

func (r *request) createDiscount() error {
	f := r.sent(discountFields)
	req := &bookingv1.CreateDiscountCodeRequest{
		Code: f.required("code", msg("desk.field.code")), ValidFrom: r.dayField(f, "from", 0), ValidUntil: r.dayField(f, "until", 1),
	}
	if f.text("kind") == "amount" {
		value, given := f.money("value", msg("desk.field.amount"))
		if !given || value == 0 {
			f.add("value", msg("desk.discount.no_value"))
		}
		req.Reduction = &bookingv1.CreateDiscountCodeRequest_Amount{Amount: value}
	} else {
		value, given := f.hundredths("value", msg("desk.field.share"), 100)
		if !given || value == 0 {
			f.add("value", msg("desk.discount.no_value"))
		}
		req.Reduction = &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: int32(value)}
	}
	if uses, given := f.integer("uses", msg("desk.field.uses"), 1, 1_000_000_000); given {
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
		r.detail("off", "", r.logTexts().text(d.Off()))
		return r.back("/discounts", r.text("desk.discount.added", "code", d.GetCode(), "off", d.Off()))
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
	p.Form.remember("from", "until")
	// The dashboard adds codes for one event at most; for several, the page shows their number.
	if only := d.GetEventIds(); len(only) == 1 {
		e, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: only[0]})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return p, err
		}
		title := e.GetEvent().GetTitle()
		if title == "" {
			title = r.text("desk.discount.deleted_event")
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
	// An unchanged day is not sent, because an integration may have set a time of day.
	if !f.unchanged("from") {
		req.ValidFrom = r.dayField(f, "from", 0)
		req.NoValidFrom = req.ValidFrom == nil
	}
	if !f.unchanged("until") {
		req.ValidUntil = r.dayField(f, "until", 1)
		req.NoValidUntil = req.ValidUntil == nil
	}
	if uses, given := f.integer("uses", msg("desk.field.uses"), max(1, int64(p.Code.GetUses())), 1_000_000_000); given {
		req.MaxUses = proto.Int32(int32(uses))
	}
	checkWindow(f)
	res, err := submit(r, f, r.services.discounts.UpdateDiscountCode, req)
	if err != nil {
		return r.again(err, "discount", p)
	}
	after := discountView{res.GetDiscountCode(), r.session.Clock}
	r.detail("valid", r.logTexts().text(p.Code.Valid()), r.logTexts().text(after.Valid()))
	r.detail("uses", r.logTexts().text(p.Code.Used()), r.logTexts().text(after.Used()))
	return r.back("/discounts", r.text("desk.discount.changed", "code", after.GetCode()))
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
		return r.back(path, r.text("desk.discount.disabled", "code", res.GetDiscountCode().GetCode()))
	}
	return r.back(path, r.text("desk.discount.enabled", "code", res.GetDiscountCode().GetCode()))
}
