package media

import (
	"slices"
	"time"

	"reservation.dev/platform/id"
)

// Entitlement lets customers play a collection or an item. One of Collection and Item is set, and one of
// PassType, Plan, Event and Customer.
type Entitlement struct {
	ID         id.Entitlement `db:"id"`
	Collection id.Collection  `db:"collection_id"`
	Item       id.MediaItem   `db:"item_id"`
	PassType   id.PassType    `db:"pass_type_id"`
	Plan       id.Plan        `db:"plan_id"`
	Event      id.Event       `db:"event_id"`
	Customer   id.Customer    `db:"customer_id"`
	LastDay    *time.Time     `db:"last_day"` // nil: without end
	CreatedAt  time.Time      `db:"created_at"`
}

// concerns reports whether an entitlement is one to an item with these collections.
func (e Entitlement) concerns(item id.MediaItem, collections []id.Collection) bool {
	if !e.Item.IsZero() {
		return e.Item == item
	}
	return slices.Contains(collections, e.Collection)
}

// holds reports whether an entitlement has not ended on a day.
func (e Entitlement) holds(today time.Time) bool { return e.LastDay == nil || !e.LastDay.Before(today) }

// The kinds of reasons. They are part of links.
const (
	reasonGiven        = 'g'
	reasonPass         = 'p'
	reasonSubscription = 's'
	reasonBooking      = 'b'
)

// holding is a pass, a subscription or a booking of a customer that can entitle the customer now.
type holding struct {
	kind        byte
	id          id.UUID
	of          id.UUID         // the pass type, the plan or the event
	collections []id.Collection // that the plan of a subscription includes
	lastDay     *time.Time      // nil: without end
}

// holds reports whether a holding has not ended on a day.
func (h holding) holds(today time.Time) bool { return h.lastDay == nil || !h.lastDay.Before(today) }

// Reason is why a customer can play an item.
type Reason struct {
	Kind        byte
	ID          id.UUID        // of the pass, the subscription or the booking; zero if the item was given
	Entitlement id.Entitlement // zero if the plan itself includes the collection
	LastDay     *time.Time     // nil: without end
}

// needs says which holdings can matter for a decision.
type needs struct{ passes, subscriptions, bookings bool }

// needsOf returns what entitlements can depend on. A plan can include any collection.
func needsOf(rules []Entitlement, inCollections bool) (n needs) {
	n.subscriptions = inCollections
	for _, r := range rules {
		n.passes = n.passes || !r.PassType.IsZero()
		n.subscriptions = n.subscriptions || !r.Plan.IsZero()
		n.bookings = n.bookings || !r.Event.IsZero()
	}
	return n
}

// eventsOf returns the events of entitlements.
func eventsOf(rules []Entitlement) (events []id.Event) {
	for _, r := range rules {
		if !r.Event.IsZero() && !slices.Contains(events, r.Event) {
			events = append(events, r.Event)
		}
	}
	return events
}

// decide decides whether a customer can play an item today, with what the customer holds, and returns the
// reason that lasts longest. It is the only place of this decision. // invariant 6
func decide(item id.MediaItem, collections []id.Collection, customer id.Customer, rules []Entitlement, held []holding, today time.Time) *Reason {
	var best *Reason
	for _, r := range rules {
		if !r.concerns(item, collections) || !r.holds(today) {
			continue
		}
		if r.Customer == customer && !customer.IsZero() {
			best = longer(best, &Reason{Kind: reasonGiven, Entitlement: r.ID, LastDay: r.LastDay})
		}
		for _, h := range held {
			if r.isOf(h) && h.holds(today) {
				best = longer(best, &Reason{Kind: h.kind, ID: h.id, Entitlement: r.ID, LastDay: earlier(r.LastDay, h.lastDay)})
			}
		}
	}
	for _, h := range held {
		if h.holds(today) && slices.ContainsFunc(collections, func(c id.Collection) bool { return slices.Contains(h.collections, c) }) {
			best = longer(best, &Reason{Kind: h.kind, ID: h.id, LastDay: h.lastDay})
		}
	}
	return best
}

// isOf reports whether an entitlement names the pass type, plan or event of a holding.
func (e Entitlement) isOf(h holding) bool {
	switch h.kind {
	case reasonPass:
		return e.PassType.UUID() == h.of && !h.of.IsZero()
	case reasonSubscription:
		return e.Plan.UUID() == h.of && !h.of.IsZero()
	case reasonBooking:
		return e.Event.UUID() == h.of && !h.of.IsZero()
	}
	return false
}

// longer returns the reason that lasts longer, or a if both last equally long.
func longer(a, b *Reason) *Reason {
	switch {
	case a == nil:
		return b
	case a.LastDay == nil || b.LastDay != nil && !b.LastDay.After(*a.LastDay):
		return a
	}
	return b
}

// earlier returns the earlier one of two days; nil is without end.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// dayOf returns the day at t in a zone, as midnight UTC.
func dayOf(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
