package pass

import (
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// redemptionChange is a request to change what a booking of a redemption costs.
type redemptionChange struct {
	id           id.UUID
	redemption   id.Transaction
	item         item  // the booking, with what it costs after the change
	expected     int32 // the credits that the caller believes the booking to hold
	validateOnly bool
}

// storedChange is a change that was decided, or cancelled before it arrived.
type storedChange struct {
	ID         id.UUID        `db:"id"`
	Redemption id.Transaction `db:"redemption_id"`
	Item       id.Booking     `db:"item_id"`
	// These are nil if the change was cancelled before it arrived.
	Before        *int32 `db:"credits_before"`
	After         *int32 `db:"credits_after"`
	RemainingUses *int32 `db:"remaining_uses"` // of the pass, after the change
	// These are nil if the change was not cancelled.
	CancelledAt *time.Time `db:"cancelled_at"`
	Undone      *int32     `db:"undone"` // what the cancellation added to the credits of the booking
}

// changedItem is a booking of a redemption that a transaction has locked.
type changedItem struct {
	redemption storedRedemption
	// item is nil if the redemption does not exist or does not have the booking.
	item *storedItem
	// customer is the holder of the pass that paid.
	customer id.Customer
	// change is the stored change with the identifier of the request, or nil.
	change *storedChange
}

// outcome is the result of a change.
type outcome struct {
	pass                   id.CustomerPass
	credits, remainingUses int32
}

// isReturned reports whether the booking has given up its credits, also if it had none. The previous
// release stores neither the time of a return nor the return of a booking without credits.
func (i changedItem) isReturned() bool {
	return i.item != nil && (i.redemption.CancelledAt != nil || i.item.isReturned())
}

// held returns the credits that the booking holds.
func (i changedItem) held() int32 {
	if i.item == nil {
		return 0
	}
	return i.item.Credits - i.item.Returned
}

// checkChange refuses an identifier that a change of another booking has.
func (i changedItem) checkChange(redemption id.Transaction, booking id.Booking) error {
	if i.change != nil && (i.change.Redemption != redemption || i.change.Item != booking) {
		return fault.InvalidFields(fault.Field{Field: "change_id", Rule: "unique", Message: "is the identifier of a change of another booking"})
	}
	return nil
}

// refusal returns why the booking cannot be changed as requested, regardless of the pass; nil if it can.
func (i changedItem) refusal(c redemptionChange) error {
	switch {
	case i.item == nil || i.redemption.Pass.IsZero():
		return fault.Missing("redemption item")
	case i.isReturned():
		return fault.Refuse(ReasonRedemptionCancelled, "the credits of the booking were returned")
	case i.held() != c.expected:
		return fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the booking does not hold the expected credits").
			With("credits", fmt.Sprint(i.held()))
	}
	return nil
}

// repeated returns the outcome of a change that was decided before.
func (i changedItem) repeated() (outcome, error) {
	if i.change.CancelledAt != nil {
		return outcome{}, fault.Refuse(ReasonRedemptionCancelled, "the change was cancelled")
	}
	return outcome{pass: i.redemption.Pass, credits: *i.change.After, remainingUses: *i.change.RemainingUses}, nil
}

// takes reports whether the change can take credits from a pass.
func (c redemptionChange) takes() bool { return c.item.credits > c.expected }

// decide returns the credits that the booking holds after the change. If they fall, they fall to what
// the request says, because the caller has already committed it. If they rise, they cost what a new
// booking costs: nothing for the pass of a subscription with unlimited uses.
func (c redemptionChange) decide(p *candidate, at moment) (credits int32, err error) {
	if c.item.credits >= c.expected || c.validateOnly {
		paid := redemption{items: []item{c.item}}
		if refusal := p.refusesDays(paid.eventTypes(), paid.period(at)); refusal != nil {
			return 0, refusal
		}
	}
	if !c.takes() {
		return c.item.credits, nil
	}
	credits = p.cost(c.item.credits)
	if refusal := p.refusesCredits(credits-c.expected, 0); refusal != nil {
		return 0, refusal
	}
	return credits, nil
}

// hold changes the credits that a booking holds, adds the ledger entry that explains it, and sets what the
// booking has. It reports whether the pass changed.
func (p *CustomerPass) hold(i *storedItem, credits int32, e *entries) (changed bool) {
	difference := i.Credits - credits
	if difference == 0 {
		return false
	}
	e.kind = entryReturned
	if difference < 0 {
		e.kind = entryRedeemed
	}
	i.Credits = credits
	e.addItem(p, difference, i.Redemption, i.Item)
	p.expireAtEnd(e)
	return true
}
