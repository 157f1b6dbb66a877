package pass

import (
	"cmp"
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons in the ledger for the difference between the uses that an imported pass was assigned with and those left.
const (
	noteUsedBefore  = "Used before the import"
	noteAddedBefore = "Added before the import"
)

// importedPass is a pass of an earlier system.
type importedPass struct {
	reference        string
	customer         id.Customer
	passType         id.PassType // zero: the title names it
	title            string
	total, remaining *int32 // nil: not given
	unlimited        bool
	start            time.Time
	expiry           *time.Time // nil: by the validity of the pass type
	status           string     // the stored status
	createdAt        time.Time  // zero: now
	paid             *importedPayment
	// failed is why the pass is refused; nil if it is not.
	failed error
}

// importedPayment is the payment for a pass of an earlier system.
type importedPayment struct {
	gross                       int64
	currency, method, reference string
}

// refuseImport returns the refusal of an imported pass for one field.
func refuseImport(field, rule, message string) error {
	return fault.InvalidFields(fault.Field{Field: field, Rule: rule, Message: message})
}

// passTypes are the pass types that imported passes can name.
type passTypes struct {
	byID    map[id.PassType]PassType
	byTitle map[string][]PassType // by the title as the pass has it
}

// of returns the type of an imported pass.
func (t passTypes) of(in importedPass) (PassType, error) {
	found, ok := t.byID[in.passType]
	switch named := t.byTitle[in.title]; {
	case ok && found.ofPlan():
		return found, refuseImport("pass_type_id", ReasonPassOfSubscription, "must not be the pass type of a plan: import the subscription")
	case ok:
		return found, nil
	case in.title == "":
		return found, refuseImport("pass_type_id", "exists", "does not exist")
	case len(named) == 0:
		return found, refuseImport("title", "exists", fmt.Sprintf("does not exist: no pass type has the title %q", in.title))
	case len(named) > 1:
		return found, refuseImport("title", "unique", fmt.Sprintf("must name one pass type: several have the title %q, so give the pass_type_id", in.title))
	default:
		return named[0], nil
	}
}

// pass returns the pass of type t, without its identifier.
func (in importedPass) pass(t PassType, at moment, zone *time.Location) (CustomerPass, error) {
	p, err := in.payment(t)
	if err != nil {
		return p, err
	}
	p.start(t, in.customer, in.start)
	if in.expiry != nil {
		p.ExpiryDate = *in.expiry
	}
	if p.Status = in.status; p.Status == statusPaused {
		p.PausedOn, p.PausedAt = &at.today, &at.now
	}
	p.CreatedAt, p.UpdatedAt = at.now, at.now
	if !in.createdAt.IsZero() {
		p.CreatedAt = in.createdAt
	}
	p.CreatedOn = new(dayOf(p.CreatedAt, zone))
	return p, in.setUses(&p, t)
}

// payment returns a pass with the payment.
func (in importedPass) payment(t PassType) (CustomerPass, error) {
	if in.paid == nil {
		return CustomerPass{}, nil
	}
	t.Currency = cmp.Or(in.paid.currency, t.Currency)
	return newPurchase(in.paid.message(), t)
}

// setUses sets the uses of a pass of type t.
func (in importedPass) setUses(p *CustomerPass, t PassType) error {
	var f check.Fields
	p.UnlimitedUses = in.unlimited || t.UnlimitedUses && in.total == nil && in.remaining == nil
	switch {
	case p.UnlimitedUses && (in.total != nil || in.remaining != nil):
		f.Add("unlimited_uses", "exclusive", "cannot be combined with total_uses or remaining_uses")
	case p.UnlimitedUses:
		p.TotalUses, p.RemainingUses = unlimitedUses, unlimitedUses
	case in.total == nil && t.UnlimitedUses:
		f.Add("total_uses", "required", "is required with remaining_uses, because the pass type has unlimited uses")
	default:
		set(&p.TotalUses, in.total)
		f.Range("total_uses", int64(p.TotalUses), 1, maxUses)
		p.RemainingUses = p.TotalUses
		set(&p.RemainingUses, in.remaining)
		f.Range("remaining_uses", int64(p.RemainingUses), 0, maxUses)
	}
	return f.Err()
}

// importedLedger returns the ledger of an imported pass: the uses that it was assigned with, and the difference to those left.
func importedLedger(p CustomerPass, actor string, at moment) []LedgerEntry {
	entries := []LedgerEntry{{
		Sequence: 1, Kind: entryAssigned, Credits: p.TotalUses, Balance: p.TotalUses, Actor: actor, CreatedAt: p.CreatedAt, Day: p.CreatedOn,
	}}
	difference := p.RemainingUses - p.TotalUses
	if difference == 0 {
		return entries
	}
	reason := noteUsedBefore
	if difference > 0 {
		reason = noteAddedBefore
	}
	return append(entries, LedgerEntry{
		Sequence: 2, Kind: entryAdjusted, Credits: difference, Balance: p.RemainingUses, Actor: actor, CreatedAt: at.now, Day: &at.today, Reason: reason,
	})
}
