package pass

import (
	"slices"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// batch is redemptions that are decided in one transaction, and what the transaction has read and
// locked for them.
type batch struct {
	redemptions []*redemption
	// stored has the redemptions that exist. decide adds those that take credits.
	stored map[id.Transaction]storedRedemption
	// deleted has the customers whose passes are in the batch, and whether each is deleted. The rows
	// of the others are locked.
	deleted map[id.Customer]bool
	// passes are locked. They include every pass that can pay for a redemption that does not exist.
	passes []*candidate
}

// decision is the outcome of a redemption.
type decision struct {
	stored storedRedemption
	err    error
	// refused means that no pass can pay. The reason is not known yet, because the batch does not
	// have the passes that cannot pay.
	refused bool
}

// taking is the credits that a batch takes.
type taking struct {
	passes      []change // each once
	redemptions []storedRedemption
	items       []storedItem
	entries     entries
}

// change is a locked pass that a transaction changes, and the pass before the change.
type change struct {
	pass   *CustomerPass
	before CustomerPass
}

// changing returns a change of a locked pass that has not changed yet.
func changing(p *CustomerPass) change { return change{pass: p, before: *p} }

// decide decides the redemptions in order, at a time by the company's clock. A pass that pays for
// several of them carries its remaining uses from one to the next.
func (b *batch) decide(at moment, actor string) ([]decision, taking) {
	decisions := make([]decision, len(b.redemptions))
	taken := taking{entries: entries{kind: entryRedeemed, actor: actor}}
	for n, r := range b.redemptions {
		if earlier, ok := b.stored[r.id]; ok {
			decisions[n] = decision{stored: earlier, err: earlier.refusal()}
			continue
		}
		if b.deleted[r.customer] {
			decisions[n].err = fault.Missing("customer")
			continue
		}
		p, refusal := pick(b.passesFor(r), r.eventTypes(), r.credits(), r.period(at))
		if refusal != nil {
			decisions[n].refused = true
			continue
		}
		decisions[n].stored = taken.add(r, &p.CustomerPass)
		b.stored[r.id] = decisions[n].stored
	}
	return decisions, taken
}

// passesFor returns the passes of the customer, or only the pass in the request.
func (b *batch) passesFor(r *redemption) []*candidate {
	var passes []*candidate
	for _, p := range b.passes {
		if p.CustomerID == r.customer && (r.pass.IsZero() || p.ID == r.pass) {
			passes = append(passes, p)
		}
	}
	return passes
}

// add takes the credits of a redemption from a pass.
func (t *taking) add(r *redemption, p *CustomerPass) storedRedemption {
	if !slices.ContainsFunc(t.passes, func(c change) bool { return c.pass == p }) {
		t.passes = append(t.passes, changing(p))
	}
	for _, i := range r.items {
		cost := p.cost(i.credits)
		t.items = append(t.items, storedItem{Redemption: r.id, Item: i.id, Pass: p.ID, Credits: cost})
		if i.credits > 0 {
			t.entries.addItem(p, -cost, r.id, i.id)
		}
	}
	stored := storedRedemption{ID: r.id, Pass: p.ID, Credits: p.cost(r.credits()), RemainingUses: p.uses()}
	t.redemptions = append(t.redemptions, stored)
	return stored
}

// refusal returns why an existing redemption cannot be repeated; nil if it took credits.
func (r storedRedemption) refusal() error {
	switch {
	case r.CancelledAt != nil:
		return fault.Refuse(ReasonRedemptionCancelled, "the redemption was cancelled")
	case r.Pass.IsZero():
		return fault.Refuse(ReasonRedemptionCancelled, "the redemption was made in an earlier system")
	}
	return nil
}
