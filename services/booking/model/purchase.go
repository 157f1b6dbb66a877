package model

import (
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Purchase is an order on its way through a commit.
type Purchase struct {
	Order Order
	// What it is stored as, and until when; zero: confirmed.
	Status    TransactionStatus
	ExpiresAt time.Time
	// One of the two is set when it is settled.
	Bought   *Transaction
	Refused  error
	Discount id.DiscountCode // whose use counts
}

// PendingTime is how long a purchase may stay pending before it is undone. It is
// longer than all calls of one may take.
const PendingTime = 30 * time.Second

// OnlyDate returns the date that all lines are for; false: there are several.
func (p *Purchase) OnlyDate() (id.EventDate, bool) {
	first := p.Order.Lines[0].Date
	for _, l := range p.Order.Lines[1:] {
		if l.Date != first {
			return id.EventDate{}, false
		}
	}
	return first, true
}

// Settle decides the purchase on an offer. What is granted is a transaction of the
// timezone whose identifiers newID makes.
func (p *Purchase) Settle(of *Offer, now time.Time, timezone string, newID func() id.UUID) {
	p.Bought, p.Refused = nil, nil // the commit may be a repetition
	bookings, err := of.grant(&p.Order, now)
	if err != nil {
		p.Refused = err
		return
	}
	t := &Transaction{
		ID: id.Transaction(newID()), Purchaser: of.Customers[p.Order.Purchaser].Customer,
		PurchasedAt: now.Truncate(time.Second), Timezone: timezone, Version: 1, Bookings: bookings,
	}
	for i := range t.Bookings {
		t.Bookings[i].ID = id.Booking(newID())
	}
	p.Bought = t
	if p.Order.Code != "" {
		p.Discount = of.Codes[strings.ToLower(p.Order.Code)].ID
	}
}

// PayHeldByPass turns the bookings of a held transaction into bookings by pass.
// credits are the prices of one space; nil: not payable by pass.
func PayHeldByPass(t *Transaction, credits map[id.Booking]*int32) error {
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
