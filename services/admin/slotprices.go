package admin

import (
	"strconv"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// slotPricePage adds or changes a price of an appointment type.
type slotPricePage struct {
	Type     slotType
	Price    *bookingv1.AppointmentPrice // nil for a new one
	Form     *form
	Currency string
	Lengths  []option
}

func (p slotPricePage) head() (*message, string) {
	if p.Price == nil {
		return msg("desk.price.add"), "appointment-types"
	}
	return msg("desk.price.edit"), "appointment-types"
}

// Action is the path of the form.
func (p slotPricePage) Action() string {
	path := p.Type.Path() + "/prices"
	if p.Price != nil {
		path += "/" + p.Price.GetOption().GetId()
	}
	return path
}

// findSlotPrice returns the page of the price in the path; that of a new one if the path has none.
func (r *request) findSlotPrice() (slotPricePage, error) {
	t, err := r.findType()
	if err != nil {
		return slotPricePage{}, err
	}
	p := slotPricePage{
		Type: t, Form: newForm("tax", "0"), Currency: r.session.Company.GetCurrency(),
		Lengths: append([]option{{"", r.text("appointments.types.all_lengths")}}, r.lengthOptions(t.GetLengths())...),
	}
	if r.path("option") == "" {
		p.Form.setVersion(t.GetVersion())
		return p, nil
	}
	for _, price := range t.GetPrices() {
		if o := price.GetOption(); o.GetId() == r.path("option") {
			p.Price, p.Currency = price, o.GetCurrency()
			p.Form = newForm("name", o.GetName(), "price", r.amount(o.GetPrice()), "tax", r.hundredths(int64(o.GetTaxRateBasisPoints())))
			if o.Credits != nil {
				p.Form.values.Set("credits", strconv.Itoa(int(o.GetCredits())))
			}
			p.Form.setVersion(t.GetVersion())
			return p, nil
		}
	}
	return p, fault.Missing("price")
}

func (r *request) saveSlotPrice() error {
	p, err := r.findSlotPrice()
	if err != nil {
		return err
	}
	f := r.sent(map[string]string{"tax_rate_basis_points": "tax", "length_minutes": "length"})
	p.Form = f
	change := &bookingv1.AppointmentPriceChange{Option: readPrice(f)}
	done := "desk.price.added"
	if p.Price == nil {
		length, _ := f.integer("length", msg("desk.field.duration"), 5, 1440)
		change.LengthMinutes = int32(length)
	} else {
		change.Option.Id, done = p.Price.GetOption().GetId(), "desk.price.changed"
	}
	_, err = submit(r, f, unindexed(r.services.types.UpdateAppointmentType), &bookingv1.UpdateAppointmentTypeRequest{
		Id: p.Type.GetId(), Prices: []*bookingv1.AppointmentPriceChange{change}, ExpectedVersion: f.expectedVersion(p.Type.GetVersion()),
	})
	if err != nil {
		return r.again(err, "slot-price", p)
	}
	before := p.Price.GetOption()
	r.detail("name", before.GetName(), change.GetOption().GetName())
	r.detail("price", amount(before.GetPrice()), amount(change.GetOption().GetPrice()))
	return r.back(p.Type.Path()+"#prices", r.text(done))
}

func (r *request) confirmSlotPrice() error {
	p, err := r.findSlotPrice()
	if err != nil {
		return err
	}
	o := p.Price.GetOption()
	return r.confirm(confirmPage{
		Title: r.text("desk.price.end_title"), Button: r.text("desk.price.end_button"), Danger: true,
		Effects: []string{r.text("appointments.types.price_end_sales"), r.text("appointments.types.price_end_bookings"), r.text("desk.price.end_final")},
	}, "appointment-types", p.Type.GetTitle()+": "+o.GetName()+", "+r.price(o.GetPrice(), o.GetCurrency()), p.Type.Path()+"#prices")
}

func (r *request) endSlotPrice() error {
	p, err := r.findSlotPrice()
	if err != nil {
		return err
	}
	back := p.Type.Path() + "#prices"
	_, err = perform(r, r.services.types.UpdateAppointmentType, &bookingv1.UpdateAppointmentTypeRequest{
		Id: p.Type.GetId(), Prices: []*bookingv1.AppointmentPriceChange{{Option: &bookingv1.PricingOptionChange{Id: p.Price.GetOption().GetId(), Ended: true}}},
	})
	if err != nil {
		return r.refused(back, err)
	}
	r.detail("pricing_option", p.Price.GetOption().GetId(), "")
	return r.back(back, r.text("desk.price.ended"))
}
