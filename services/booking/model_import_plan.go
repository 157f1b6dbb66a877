package booking

import (
	"fmt"
	"time"

	"reservation.dev/platform/id"
)

// ledger is what an import finds in place and adds to: the plan of one commit.
// Whatever a line describes is looked up in it and made in it, and what no
// stored line uses is not written.
type ledger struct {
	newID   func() id.UUID
	now     time.Time
	company id.Company
	// timezone and currency are those of the company.
	timezone, currency string
	existing           map[string]id.Transaction // by reference
	// customers holds who exists and is not deleted, by what lines call them.
	customers map[string]id.Customer
	events    map[string]*importEvent // by reference
	dates     map[id.EventDate]*importDate
	starts    map[dateKey]*importDate
	options   map[id.PricingOption]*importOption
	names     map[optionKey]*importOption
	recorded  []recorded // the transactions to store
	// positions counts the options of each event.
	positions map[id.Event]int32
}

type dateKey struct {
	event  id.Event
	second int64
}

type optionKey struct {
	event id.Event
	name  string
}

// origin says what is to become of a thing in the ledger.
type origin uint8

const (
	found  origin = iota // is in the database
	made                 // was described, and no stored line uses it yet
	wanted               // was described, and is to be written
)

func (o *origin) use() {
	if *o == made {
		*o = wanted
	}
}

type importEvent struct {
	origin
	id        id.Event
	reference string
	title     string
	eventType EventType
	timezone  string
}

type importDate struct {
	origin
	event *importEvent // nil for a date that exists and was named
	EventDate
	eventID id.Event
	takes   int32 // by the lines stored so far
}

func (d *importDate) free() int32 {
	limit := int32(unlimited)
	if d.Capacity != nil {
		limit = *d.Capacity
	}
	return limit - d.Booked - d.takes
}

type importOption struct {
	origin
	PricingOption
	event    id.Event
	position int32
	priced   bool
}

func newLedger(company id.Company, timezone, currency string, now time.Time, newID func() id.UUID) *ledger {
	return &ledger{
		newID: newID, now: now, company: company, timezone: timezone, currency: currency,
		existing: map[string]id.Transaction{}, customers: map[string]id.Customer{},
		events: map[string]*importEvent{}, dates: map[id.EventDate]*importDate{}, starts: map[dateKey]*importDate{},
		options: map[id.PricingOption]*importOption{}, names: map[optionKey]*importOption{},
		positions: map[id.Event]int32{},
	}
}

func (l *ledger) addDate(d *importDate) {
	l.dates[d.ID] = d
	l.starts[dateKey{d.eventID, d.StartsAt.Unix()}] = d
}

func (l *ledger) addOption(o *importOption) {
	l.options[o.ID] = o
	l.names[optionKey{o.event, o.Name}] = o
	l.positions[o.event] = max(l.positions[o.event], o.position+1)
}

// record plans one line: the transaction to store, or why not.
func (l *ledger) record(t *imported) (Transaction, *refusal) {
	purchaser, ok := l.customers[t.customer]
	if !ok {
		return Transaction{}, refuse("customer", "exists", "does not exist")
	}
	bookings := make([]Booking, len(t.bookings))
	uses := make([]used, len(t.bookings))
	for i := range t.bookings {
		why := l.book(&t.bookings[i], &bookings[i], &uses[i])
		if why == nil {
			why = l.boughtFor(&t.bookings[i], &bookings[i], purchaser)
		}
		if why != nil {
			why.field = fmt.Sprintf("bookings[%d].%s", i, why.field)
			why.message = fmt.Sprintf("bookings[%d].%s", i, why.message)
			return Transaction{}, why
		}
	}
	if i, fits := take(t, uses); !fits {
		return Transaction{}, &refusal{
			field: fmt.Sprintf("bookings[%d].spaces", i), rule: ReasonEventFull,
			message: "the event does not have that many spaces left",
		}
	}
	for i := range uses {
		uses[i].by(&t.bookings[i])
	}
	id := id.Transaction(l.newID())
	l.existing[t.reference] = id
	transaction := Transaction{
		ID: id, Purchaser: Customer{ID: purchaser}, PurchasedAt: t.purchasedAt.Truncate(time.Second),
		Timezone: l.timezone, Version: 1, Bookings: bookings,
	}
	l.recorded = append(l.recorded, recorded{transaction, t.reference})
	return transaction, nil
}

// recorded is a transaction with its key in an earlier system.
type recorded struct {
	Transaction
	reference string
}

// used is what one booking refers to.
type used struct {
	date   *importDate
	option *importOption
}

func (l *ledger) book(b *importedBooking, to *Booking, u *used) *refusal {
	if b.described != nil {
		u.date = l.describedDate(b.described)
	} else if u.date = l.dates[b.date]; u.date == nil {
		return refuse("event_date_id", "exists", "does not exist")
	}
	if b.option.IsZero() {
		u.option = l.namedOption(u.date.eventID, b.optionName)
	} else if u.option = l.options[b.option]; u.option == nil || u.option.event != u.date.eventID {
		return refuse("pricing_option_id", "exists", "does not exist")
	}
	*to = Booking{
		ID: id.Booking(l.newID()), Cancelled: b.cancelled, Refunded: b.refunded, Spaces: b.spaces,
		Date: BookedDate{ID: u.date.ID, Event: u.date.eventID}, Option: u.option.ID, Payment: b.payment,
	}
	return nil
}

func (l *ledger) boughtFor(b *importedBooking, to *Booking, purchaser id.Customer) *refusal {
	if b.boughtFor == "" {
		return nil
	}
	customer, ok := l.customers[b.boughtFor]
	if !ok {
		return refuse("bought_for", "exists", "does not exist")
	}
	if customer != purchaser {
		to.BoughtFor = &Customer{ID: customer}
	}
	return nil
}

// describedDate finds or makes the date, and its event.
func (l *ledger) describedDate(d *describedDate) *importDate {
	event := l.events[d.eventReference]
	if event == nil {
		event = &importEvent{
			origin: made, id: id.Event(l.newID()), reference: d.eventReference,
			title: d.title, eventType: d.eventType, timezone: d.timezone,
		}
		l.events[d.eventReference] = event
	}
	if date := l.starts[dateKey{event.id, d.startsAt.Unix()}]; date != nil {
		return date
	}
	date := &importDate{origin: made, event: event, eventID: event.id, EventDate: EventDate{
		ID: id.EventDate(l.newID()), StartsAt: d.startsAt.Truncate(time.Second), Minutes: d.minutes,
		Timezone: d.timezone, Capacity: d.capacity,
	}}
	l.addDate(date)
	return date
}

// namedOption finds or makes the event's pricing option of that name.
func (l *ledger) namedOption(event id.Event, name string) *importOption {
	if name == "" {
		name = importedOption
	}
	if o := l.names[optionKey{event, name}]; o != nil {
		return o
	}
	o := &importOption{
		origin: made, event: event, position: l.positions[event],
		PricingOption: PricingOption{ID: id.PricingOption(l.newID()), Name: name, Currency: l.currency},
	}
	l.addOption(o)
	return o
}

// take takes the spaces of all bookings that are not cancelled, or none and
// says which booking does not fit.
func take(t *imported, uses []used) (at int, fits bool) {
	for i, u := range uses {
		b := &t.bookings[i]
		if b.cancelled {
			continue
		}
		if b.spaces > u.date.free() {
			untake(t, uses[:i])
			return i, false
		}
		u.date.takes += b.spaces
	}
	return 0, true
}

func untake(t *imported, uses []used) {
	for i, u := range uses {
		if !t.bookings[i].cancelled {
			u.date.takes -= t.bookings[i].spaces
		}
	}
}

// by marks what a stored booking refers to as needed. A pricing option that the
// import makes costs, per space, what the first booking by card under it cost,
// and in credits what the first by pass did.
func (u *used) by(b *importedBooking) {
	u.date.use()
	if u.date.event != nil {
		u.date.event.use()
	}
	u.option.use()
	if u.option.origin == found {
		return
	}
	switch p := b.payment; {
	case p.Method == Card && !u.option.priced:
		u.option.priced = true
		u.option.Currency = p.Currency
		u.option.Price = min(perSpace(p.Gross, b.spaces), maxPrice)
	case p.Method == Pass && u.option.Credits == nil:
		credits := int32(min(perSpace(int64(p.Credits), b.spaces), maxCredits))
		u.option.Credits = &credits
	}
}

// perSpace shares an amount among spaces, rounded half up.
func perSpace(amount int64, spaces int32) int64 {
	return (2*amount + int64(spaces)) / (2 * int64(spaces))
}

// starting lists the events in place and the starts at which lines describe a
// date of theirs, each pair once.
func (l *ledger) starting(lines []*imported) (events []id.Event, starts []time.Time) {
	seen := map[dateKey]bool{}
	for _, t := range lines {
		for i := range t.bookings {
			d := t.bookings[i].described
			if d == nil {
				continue
			}
			event := l.events[d.eventReference]
			if event == nil {
				continue
			}
			key := dateKey{event.id, d.startsAt.Unix()}
			if !seen[key] {
				seen[key] = true
				events, starts = append(events, event.id), append(starts, time.Unix(key.second, 0))
			}
		}
	}
	return events, starts
}
