package model

import (
	"slices"
	"strconv"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// targetOption finds the pricing option that a booking has after a move.
func (of *Offer) targetOption(b Movable, how Move, t *moveTarget) error {
	if t.stays = t.date.Event == b.Date.Event && (how.Option.IsZero() || how.Option == b.Option); t.stays {
		return of.staysAt(b, how, t)
	}
	if how.swap {
		return of.swapped(b, how.Option, t)
	}
	single := slices.DeleteFunc(t.date.priced(of.Options[t.date.Event]), func(o PricingOption) bool { return o.WholeCourse })
	if how.Option.IsZero() {
		if len(single) != 1 {
			return optionRequired(len(single))
		}
		t.option = single[0]
		return nil
	}
	option, onSale := findOption(of.Options[t.date.Event], how.Option)
	switch {
	case !onSale:
		return MissingIn("pricing_option_id", "pricing option")
	case option.WholeCourse:
		return wholeCourseOption("pricing_option_id")
	}
	t.option = option
	return nil
}

// staysAt keeps the pricing option. Added spaces must be on sale.
func (of *Offer) staysAt(b Movable, how Move, t *moveTarget) error {
	t.option = PricingOption{ID: b.Option}
	option, onSale := findOption(of.Options[t.date.Event], b.Option)
	if onSale {
		t.option = option
	}
	switch {
	case t.spaces <= b.Spaces:
	case !onSale:
		return fault.InvalidFields(fault.Field{Field: "spaces", Rule: "exists", Message: "cannot be raised, because the pricing option is no longer sold"})
	case option.WholeCourse && !how.KeepPrice:
		return wholeCourseOption("spaces")
	}
	return nil
}

// swapped gives a booking the option of the other one, which can have ended. A part of a whole course can only
// be swapped with another part at the same price.
func (of *Offer) swapped(b Movable, other id.PricingOption, t *moveTarget) error {
	t.option = PricingOption{ID: other}
	for _, side := range []struct {
		of    id.Event
		which id.PricingOption
	}{{b.Date.Event, b.Option}, {t.date.Event, other}} {
		all := slices.Concat(of.Options[side.of], of.Ended[side.of])
		if option, found := findOption(all, side.which); found && option.WholeCourse {
			return wholeCourseOption("other_booking_id")
		}
	}
	return nil
}

func findOption(options []PricingOption, which id.PricingOption) (PricingOption, bool) {
	for _, o := range options {
		if o.ID == which {
			return o, true
		}
	}
	return PricingOption{}, false
}

func optionRequired(choices int) error {
	message := "is required, because the event has several pricing options"
	if choices == 0 {
		message = "is required, because the event has no pricing option for a single date"
	}
	return invalidOption("required", message)
}

// wholeCourseOption refuses an option for a whole course. field is the member of the request that leads to it.
func wholeCourseOption(field string) error {
	message := "is for the whole course, and a move is to one date: use another option"
	if field != "pricing_option_id" {
		message = "leads to the price of a whole course, which is not for one date"
	}
	return fault.InvalidFields(fault.Field{Field: field, Rule: "exclusive", Message: message})
}

// price decides what a move costs, and changes the payment.
func (m *MovedBooking) price(t *moveTarget, how Move) error {
	if m.Before.Payment.Method == Pass {
		return m.priceInCredits(t, how)
	}
	b, o := &m.After, &m.Outcome
	o.PriceBefore, o.PriceAfter, o.Currency = b.Price, b.Price, b.Payment.Currency
	if priced := t.priced(&m.Before); !how.KeepPrice && b.Payment.Method != Free {
		if priced && t.option.Currency != o.Currency {
			return fault.Refuse(ReasonCurrencyDiffers, "the currency of the price differs from that of the payment").
				With("currency", t.option.Currency).With("paid_currency", o.Currency)
		}
		o.PriceAfter = t.cost(&m.Before, b.Price, t.option.Price, halfUp)
		if o.Late {
			o.PriceAfter = max(o.PriceAfter, o.PriceBefore)
		}
	}
	m.settle(t.option.TaxRate, how.Method)
	return nil
}

// settle changes the payment by the difference of the price. A rise is first taken from what is due to the
// customer, and a fall becomes due, at most what was paid and not refunded.
func (m *MovedBooking) settle(taxRate int32, method Method) {
	b, o := &m.After, &m.Outcome
	b.Price = o.PriceAfter
	if rise := o.PriceAfter - o.PriceBefore; rise > 0 {
		fromDue := min(b.RefundDue, rise)
		b.RefundDue -= fromDue
		if o.AmountDue = rise - fromDue; o.AmountDue > 0 {
			b.Payment.Gross += o.AmountDue
			b.Payment.Net += netOf(o.AmountDue, taxRate)
			m.TaxRate = taxRate
			if m.Method = method; method == "" {
				m.Method = b.Payment.Method
			}
		}
	} else {
		b.RefundDue = min(b.RefundDue-rise, b.unrefunded())
	}
	o.RefundDue = b.RefundDue
}

// priceInCredits decides what a move of a booking by pass costs. The credits of a booking whose pass is not
// known, or that was imported or refunded, stay.
func (m *MovedBooking) priceInCredits(t *moveTarget, how Move) error {
	b, o := &m.After, &m.Outcome
	o.CreditsBefore, o.CreditsAfter = b.Payment.Credits, b.Payment.Credits
	if how.KeepPrice || !m.Before.hasPass() {
		return nil
	}
	var each int64
	if t.priced(&m.Before) {
		if t.option.Credits == nil {
			return fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", t.option.ID.String())
		}
		each = int64(*t.option.Credits)
	}
	o.CreditsAfter = int32(t.cost(&m.Before, int64(o.CreditsBefore), each, floor))
	if o.Late {
		o.CreditsAfter = max(o.CreditsAfter, o.CreditsBefore)
	}
	b.Payment.Credits = o.CreditsAfter
	return nil
}

// hasPass reports whether the pass that paid the booking is known, and holds its credits.
func (b *Booking) hasPass() bool {
	return b.Payment.Method == Pass && !b.Refunded && !b.Imported && !b.Payment.CustomerPass.IsZero()
}

// priced reports whether spaces are bought at the present price of the option.
func (t *moveTarget) priced(before *Booking) bool { return !t.stays || t.spaces > before.Spaces }

// cost returns what the booking costs after a move. had is what it cost before, each is the present price of
// a space, and share computes what spaces that are given up bring back.
func (t *moveTarget) cost(before *Booking, had, each int64, share func(total, given, of int64) int64) int64 {
	if !t.stays {
		return each * int64(t.spaces)
	}
	if given := before.Spaces - t.spaces; given > 0 {
		return had - share(had, int64(given), int64(before.Spaces))
	}
	return had + each*int64(t.spaces-before.Spaces)
}

// halfUp returns the share of n of the spaces in a total, rounded half up.
func halfUp(total, n, spaces int64) int64 { return (2*total*n + spaces) / (2 * spaces) }

// floor returns the share of n of the spaces in a total, rounded down.
func floor(total, n, spaces int64) int64 { return total * n / spaces }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
