package booking

import (
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Purchase is an order on its way through a commit.
type Purchase struct {
	order order
	// What it is stored as, and until when; zero: confirmed.
	status    status
	expiresAt time.Time
	// One of the two is set when it is settled.
	bought   *Transaction
	refused  error
	discount id.DiscountCode // whose use counts
}

// pendingTime is how long a purchase may stay pending before it is undone. It is
// longer than all calls of one may take.
const pendingTime = 30 * time.Second

// onlyDate returns the date that all lines are for; false: there are several.
func (p *Purchase) onlyDate() (id.EventDate, bool) {
	first := p.order.lines[0].date
	for _, l := range p.order.lines[1:] {
		if l.date != first {
			return id.EventDate{}, false
		}
	}
	return first, true
}

// settle decides the purchase on an offer. What is granted is a transaction of the
// timezone whose identifiers newID makes.
func (p *Purchase) settle(of *offer, now time.Time, timezone string, newID func() id.UUID) {
	p.bought, p.refused = nil, nil // the commit may be a repetition
	bookings, err := of.grant(&p.order, now)
	if err != nil {
		p.refused = err
		return
	}
	t := &Transaction{
		ID: id.Transaction(newID()), Purchaser: of.customers[p.order.purchaser].Customer,
		PurchasedAt: now.Truncate(time.Second), Timezone: timezone, Version: 1, Bookings: bookings,
	}
	for i := range t.Bookings {
		t.Bookings[i].ID = id.Booking(newID())
	}
	p.bought = t
	if p.order.code != "" {
		p.discount = of.codes[strings.ToLower(p.order.code)].ID
	}
}

// payHeldByPass turns the bookings of a held transaction into bookings by pass.
// credits are the prices of one space; nil: not payable by pass.
func payHeldByPass(t *Transaction, credits map[id.Booking]*int32) error {
	for i := range t.Bookings {
		b := &t.Bookings[i]
		if b.Payment.Code != "" {
			return discountWithPass()
		}
		price := credits[b.ID]
		if price == nil {
			return fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", b.Option.String())
		}
		b.Payment = Payment{Method: Pass, Credits: *price * b.Spaces}
	}
	return nil
}
