package model

import (
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Purchase is an order that is being committed.
type Purchase struct {
	Order Order
	// The status of the stored transaction, and when it expires; zero means confirmed.
	Status    TransactionStatus
	ExpiresAt time.Time
	// Request is the request, if it has an Idempotency-Key. It is stored with a pending purchase, so
	// that a retry continues the purchase.
	Request RequestKey
	// Settle sets one of these.
	Bought   *Transaction
	Refused  error
	Discount id.DiscountCode // the code whose use is counted
	// CreatedBy is the caller's identifier, or PlatformActor; "": not known.
	CreatedBy string
}

// RequestKey identifies the request of a purchase within its company.
type RequestKey struct {
	Key  []byte // of the caller and the Idempotency-Key
	Hash []byte // of the request
	Kind string // of resource
}

// PendingTime is how long a purchase can stay pending before it is undone. It is longer than all
// calls of one purchase can take together.
const PendingTime = 30 * time.Second

// Settle decides the purchase on an offer. A granted purchase becomes a transaction in the
// timezone, with identifiers from newID.
func (p *Purchase) Settle(of *Offer, now time.Time, timezone string, newID func() id.UUID) {
	p.Bought, p.Refused = nil, nil // the commit may be a retry
	bookings, err := of.grant(&p.Order, now)
	if err != nil {
		p.Refused = err
		return
	}
	t := &Transaction{
		ID: id.Transaction(newID()), Purchaser: of.Customers[p.Order.Purchaser].Customer,
		PurchasedAt: now.Truncate(time.Second), Timezone: timezone, Version: 1, UpdatedAt: now, Bookings: bookings,
	}
	for i := range t.Bookings {
		t.Bookings[i].ID = id.Booking(newID())
		t.Bookings[i].Price = t.Bookings[i].Payment.Gross
	}
	p.Bought = t
	if p.Order.Code != "" {
		p.Discount = of.Codes[strings.ToLower(p.Order.Code)].ID
	}
}

// AfterStart returns why a date was booked after its start; "" if none of the dates had started.
func (p *Purchase) AfterStart() string {
	for i := range p.Bought.Bookings {
		if p.Bought.Bookings[i].Date.StartsAt.Before(p.Bought.UpdatedAt) {
			return p.Order.AfterStart
		}
	}
	return ""
}

// PayHeldByPass changes the payments of a held transaction to payments by pass.
func PayHeldByPass(t *Transaction, prices map[id.Booking]CreditPrice) error {
	parts := courseParts(t, prices)
	for i := range t.Bookings {
		b := &t.Bookings[i]
		if b.Payment.Code != "" {
			return refuseDiscount(Pass)
		}
		price := prices[b.ID].Credits
		if price == nil {
			return fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", b.Option.String())
		}
		b.Payment, b.Price = Payment{Method: Pass, Credits: *price * b.Spaces}, 0
		if part, ok := parts[b.ID]; ok {
			b.Payment.Credits = int32(share(int64(b.Payment.Credits), part[0], part[1]))
		}
	}
	return nil
}

// PayHeld completes the payments of a held transaction with a method other than a pass.
func PayHeld(t *Transaction, how PaymentChoice) error {
	for i := range t.Bookings {
		p := &t.Bookings[i].Payment
		if p.Code != "" {
			if err := refuseDiscount(how.Method); err != nil {
				return err
			}
		}
		p.Method, p.Reference = how.Method, how.Reference
		if how.Method == Free {
			p.Gross, p.Net, t.Bookings[i].Price = 0, 0, 0
		}
	}
	return nil
}
