package model

import "reservation.dev/platform/id"

// CreditChange changes what a booking costs within the redemption that paid it.
type CreditChange struct {
	ID          id.UUID // by which the pass service knows the change
	Company     id.Company
	Transaction id.Transaction
	Booking     id.Booking
	Pass        id.CustomerPass
	EventType   string
	Day         string // of the date in its own zone, as YYYY-MM-DD
	Expected    int32  // credits that the booking holds
	Credits     int32  // that it costs after the change
}

// CreditChangeState says how far a change of credits is. Its values are stored.
type CreditChangeState string

// Values of CreditChangeState.
const (
	// CreditsTaking means that credits are being taken for a move that is not committed.
	CreditsTaking CreditChangeState = "taking"
	// CreditsUndoing means that they are being returned, and that the move will not be committed.
	CreditsUndoing CreditChangeState = "undoing"
	// CreditsSettling means that the move is committed, and that the pass service holds more credits than the
	// booking has.
	CreditsSettling CreditChangeState = "settling"
)

// CreditChange returns the change of the credits that the pass service must decide before the move is
// committed, without an identifier. It returns false if it need not decide. Credits that fall are returned
// after the commit, so the change only asks whether the pass is valid on the new date.
func (m *MovedBooking) CreditChange(company id.Company, t *Transaction) (c CreditChange, ask bool) {
	if !m.Before.hasPass() {
		return c, false
	}
	c = m.creditChange(company, t)
	c.Credits = max(c.Credits, c.Expected)
	return c, c.Credits > c.Expected || m.Before.Date.ID != m.After.Date.ID
}

// CreditsFall returns the change that returns credits after the commit of a move. It returns false if there
// are none.
func (m *MovedBooking) CreditsFall(company id.Company, t *Transaction) (c CreditChange, falls bool) {
	if !m.Before.hasPass() || m.After.Payment.Credits >= m.Before.Payment.Credits {
		return c, false
	}
	return m.creditChange(company, t), true
}

func (m *MovedBooking) creditChange(company id.Company, t *Transaction) CreditChange {
	d := &m.After.Date
	return CreditChange{
		Company: company, Transaction: t.ID, Booking: m.After.ID, Pass: m.After.Payment.CustomerPass,
		EventType: string(d.EventType), Day: d.LocalDay(), Expected: m.Before.Payment.Credits, Credits: m.After.Payment.Credits,
	}
}

// Took sets the credits of the booking to those that the pass service has decided.
func (m *MovedBooking) Took(credits int32) {
	m.After.Payment.Credits, m.Outcome.CreditsAfter = credits, credits
}
