package admin

import (
	"maps"
	"slices"
	"strconv"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// totals are amounts of money by currency, and credits.
type totals struct {
	minor   map[string]int64
	credits int32
}

// add adds an amount of money.
func (t *totals) add(minor int64, currency string) {
	if t.minor == nil {
		t.minor = map[string]int64{}
	}
	t.minor[currency] += minor
}

// text says the totals: "£12.50", "£12.50, €8.00 and 2 credits", or that there is nothing to pay.
func (t *totals) text() *message {
	var parts []*message
	for _, currency := range slices.Sorted(maps.Keys(t.minor)) {
		if t.minor[currency] != 0 {
			parts = append(parts, priceOrFree(t.minor[currency], currency))
		}
	}
	if t.credits != 0 {
		parts = append(parts, creditsText(t.credits))
	}
	if len(parts) == 0 {
		return priceOrFree(0, "")
	}
	return enumeration(parts)
}

// enumeration returns a list of at least one part: "Ann, Ben and Cleo".
func enumeration(parts []*message) *message {
	all := parts[0]
	for i, part := range parts[1:] {
		name := "sales.sale.more"
		if i == len(parts)-2 {
			name = "sales.sale.both"
		}
		all = msg(name, "first", all, "next", part)
	}
	return all
}

// spacesMost is the largest number of spaces that a line can have.
const spacesMost = 1000

// total adds up what the lines cost without a discount code; nil if a line has no price.
func (p salePage) total() *message {
	var all totals
	for _, l := range p.Lines {
		o := p.price(l)
		spaces, err := strconv.ParseInt(p.Form.text(l.Name("spaces")), 10, 32)
		if o == nil || err != nil || spaces > spacesMost || o.GetWholeCourse() {
			return nil
		}
		switch p.Form.text(l.Name("method")) {
		case "pass":
			all.credits += int32(spaces) * o.GetCredits()
		case "free":
		default:
			all.add(spaces*o.GetPrice(), o.GetCurrency())
		}
	}
	return all.text()
}

// sumOf says what was paid for the bookings of a purchase.
func sumOf(bookings []*bookingv1.Booking) *message {
	var all totals
	for _, b := range bookings {
		all.add(b.GetCard().GetGross(), b.GetCard().GetCurrency())
		all.credits += b.GetPass().GetCreditsUsed()
	}
	return all.text()
}

// discount adds the form's discount code to a purchase. The service accepts a code only if the purchase has one
// payment, so all lines must be paid in the same way.
func (p salePage) discount(req *bookingv1.CreateTransactionRequest) {
	code := p.Form.text("discount")
	if code == "" || len(req.GetLines()) == 0 {
		return
	}
	first := req.GetLines()[0].GetPayment()
	for _, line := range req.GetLines() {
		if line.GetPayment().GetMethod() != first.GetMethod() {
			p.Form.add("discount", msg("sales.sale.one_payment"))
			return
		}
	}
	req.DiscountCode, req.PaymentMethod, req.PaymentReference = code, first.GetMethod(), first.GetReference()
	for _, line := range req.GetLines() {
		line.Payment = nil
	}
}
