package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/id"
)

// ImportPlan plans one commit of an import. It holds the rows that the import found, and adds the
// rows that lines describe. A described row that no stored line uses is not written.
type ImportPlan struct {
	newID   func() id.UUID
	Now     time.Time
	Company id.Company
	// timezone and currency are those of the company.
	timezone, currency string
	Existing           map[string]id.Transaction // by reference
	// Customers maps the names in lines to customers who exist and are not deleted.
	Customers map[string]id.Customer
	Names     map[id.Customer]Customer
	Events    map[string]*ImportEvent // by reference
	// EventsByID are the events of Events, and of the dates that lines identify.
	EventsByID map[id.Event]*ImportEvent
	Dates      map[id.EventDate]*ImportDate
	starts     map[dateKey]*ImportDate
	// DatesByName are the dates of the names in lines, up to two for each.
	DatesByName map[DateName][]id.EventDate
	Options     map[id.PricingOption]*ImportOption
	names       map[optionKey]*ImportOption
	onSale      map[id.Event][]*ImportOption
	Recorded    []recorded // the transactions to store
	// positions is the number of options of each event.
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

// Origin says whether a row of the plan must be written.
type Origin uint8

const (
	found Origin = iota // is in the database
	made                // was described; no stored line uses it yet
	Used                // was described; must be written
)

func (o *Origin) use() {
	if *o == made {
		*o = Used
	}
}

// ImportEvent is an event that lines refer to.
type ImportEvent struct {
	Origin
	ID        id.Event
	Reference string
	Title     string
	EventType EventType
	Timezone  string
	Version   int64
}

// ImportDate is a date that lines refer to.
type ImportDate struct {
	Origin
	event *ImportEvent // nil for an existing date that a line identifies
	EventDate
	EventID   id.Event
	NewSpaces int32 // by the lines stored so far
	// OfAppointment means that the date is that of an appointment.
	OfAppointment bool
}

func (d *ImportDate) free() int32 {
	limit := int32(unlimited)
	if d.Capacity != nil {
		limit = *d.Capacity
	}
	return limit - d.Booked - d.NewSpaces
}

// ImportOption is a pricing option that lines refer to.
type ImportOption struct {
	Origin
	PricingOption
	Event    id.Event
	Position int32
	Ended    bool // no longer on sale
	priced   bool
}

// NewImportPlan returns an empty plan.
func NewImportPlan(company id.Company, timezone, currency string, now time.Time, newID func() id.UUID) *ImportPlan {
	return &ImportPlan{
		newID: newID, Now: now, Company: company, timezone: timezone, currency: currency,
		Existing: map[string]id.Transaction{}, Customers: map[string]id.Customer{}, Names: map[id.Customer]Customer{},
		Events: map[string]*ImportEvent{}, EventsByID: map[id.Event]*ImportEvent{}, Dates: map[id.EventDate]*ImportDate{}, starts: map[dateKey]*ImportDate{},
		Options: map[id.PricingOption]*ImportOption{}, names: map[optionKey]*ImportOption{},
		DatesByName: map[DateName][]id.EventDate{}, onSale: map[id.Event][]*ImportOption{},
		positions: map[id.Event]int32{},
	}
}

// AddEvent adds an event that was found or created.
func (l *ImportPlan) AddEvent(e *ImportEvent) {
	l.EventsByID[e.ID] = e
	if e.Reference != "" {
		l.Events[e.Reference] = e
	}
}

// AddDate adds a date that was found or created.
func (l *ImportPlan) AddDate(d *ImportDate) {
	l.Dates[d.ID] = d
	l.starts[dateKey{d.EventID, d.StartsAt.Unix()}] = d
}

// AddOption adds a pricing option that was found or created.
func (l *ImportPlan) AddOption(o *ImportOption) {
	l.Options[o.ID] = o
	l.names[optionKey{o.Event, o.Name}] = o
	if !o.Ended {
		l.onSale[o.Event] = append(l.onSale[o.Event], o)
	}
	l.positions[o.Event] = max(l.positions[o.Event], o.Position+1)
}

// Record plans one line. It returns the transaction to store, or the reason for refusing it.
func (l *ImportPlan) Record(t *ImportedTransaction) (Transaction, *ImportRefusal) {
	purchaser, ok := l.Customers[t.Customer]
	if !ok {
		return Transaction{}, refuse("customer", "exists", "does not exist")
	}
	bookings := make([]Booking, len(t.Bookings))
	uses := make([]used, len(t.Bookings))
	for i := range t.Bookings {
		why := l.book(&t.Bookings[i], &bookings[i], &uses[i])
		if why == nil {
			why = l.boughtFor(&t.Bookings[i], &bookings[i], purchaser)
		}
		if why != nil {
			why.Field = fmt.Sprintf("bookings[%d].%s", i, why.Field)
			why.Message = fmt.Sprintf("bookings[%d].%s", i, why.Message)
			return Transaction{}, why
		}
	}
	if i, fits := take(t, uses); !fits {
		return Transaction{}, &ImportRefusal{
			Field: fmt.Sprintf("bookings[%d].spaces", i), Rule: ReasonEventFull,
			Message: "the event does not have that many spaces left",
		}
	}
	for i := range uses {
		uses[i].markUsed(&t.Bookings[i])
	}
	id := id.Transaction(l.newID())
	l.Existing[t.Reference] = id
	transaction := Transaction{
		ID: id, Purchaser: known(l.Names, purchaser), PurchasedAt: t.PurchasedAt.Truncate(time.Second),
		Timezone: l.timezone, Version: 1, UpdatedAt: l.Now, Bookings: bookings,
	}
	l.Recorded = append(l.Recorded, recorded{transaction, t.Reference})
	return transaction, nil
}

// recorded is a transaction with its key in the earlier system.
type recorded struct {
	Transaction
	Reference string
}

// used is the date and the option of one booking.
type used struct {
	date   *ImportDate
	option *ImportOption
}

func (l *ImportPlan) book(b *ImportedBooking, to *Booking, u *used) (why *ImportRefusal) {
	if u.date, why = l.dateOf(b); why != nil {
		return why
	}
	if u.date.OfAppointment {
		return refuse("event_date_id", "appointment", "is the date of an appointment: import it with ImportAppointments")
	}
	if u.option, why = l.optionOf(b, u.date.EventID); why != nil {
		return why
	}
	*to = Booking{
		ID: id.Booking(l.newID()), Spaces: b.Spaces, Option: u.option.ID, Date: BookedDate{
			ID: u.date.ID, Event: u.date.EventID, StartsAt: u.date.StartsAt, Timezone: u.date.Timezone, Minutes: u.date.Minutes,
		},
	}
	if e := l.EventsByID[u.date.EventID]; e != nil {
		to.Date.EventTitle, to.Date.EventType = e.Title, e.EventType
	}
	to.Cancelled, to.Refunded = b.Cancelled, b.Refunded
	to.payImported(b.Payment, u.option.TaxRate)
	return nil
}

// dateOf returns the date of a booking. It adds a described date that does not exist.
func (l *ImportPlan) dateOf(b *ImportedBooking) (*ImportDate, *ImportRefusal) {
	if b.Described != nil {
		return l.describedDate(b.Described), nil
	}
	if d := l.Dates[b.Date]; d != nil {
		return d, nil
	}
	if b.Named == nil || b.Named.Title == "" {
		return nil, refuse("event_date_id", "exists", "does not exist")
	}
	switch named := l.DatesByName[b.Named.key()]; len(named) {
	case 1:
		if d := l.Dates[named[0]]; d != nil {
			return d, nil
		}
	case 2:
		return nil, refuse("existing_date", "unique", fmt.Sprintf("must name one date: several events with the title %q have a date at %s",
			b.Named.Title, b.Named.StartsAt.UTC().Format(time.RFC3339)))
	}
	return nil, refuse("existing_date", "exists", fmt.Sprintf("does not exist: no event with the title %q has a date at %s",
		b.Named.Title, b.Named.StartsAt.UTC().Format(time.RFC3339)))
}

// optionOf returns the pricing option of a booking for a date of the event. It adds an option that does not exist,
// unless the date is one that must exist.
func (l *ImportPlan) optionOf(b *ImportedBooking, event id.Event) (*ImportOption, *ImportRefusal) {
	identified := l.Options[b.option]
	switch {
	case identified != nil && identified.Event == event:
		return identified, nil
	case b.Named != nil:
		return l.existingOption(b, event)
	case b.option.IsZero():
		return l.namedOption(event, b.OptionName), nil
	}
	return nil, refuse("pricing_option_id", "exists", "does not exist")
}

// existingOption returns the event's pricing option of the given name, or else the only one on sale.
func (l *ImportPlan) existingOption(b *ImportedBooking, event id.Event) (*ImportOption, *ImportRefusal) {
	if b.OptionName == "" {
		if onSale := l.onSale[event]; len(onSale) == 1 {
			return onSale[0], nil
		}
		return nil, refuse("pricing_option_name", "required", "is required, because the event does not have exactly one pricing option on sale")
	}
	if o := l.names[optionKey{event, b.OptionName}]; o != nil {
		return o, nil
	}
	return nil, refuse("pricing_option_name", "exists", fmt.Sprintf("does not exist: the event has no pricing option %q", b.OptionName))
}

// Names returns the names of dates in lines, each once.
func Names(lines []*ImportedTransaction) (names []DateName) {
	seen := map[DateName]bool{}
	for _, t := range lines {
		for i := range t.Bookings {
			d := t.Bookings[i].Named
			if d == nil || d.Title == "" || seen[d.key()] {
				continue
			}
			seen[d.key()] = true
			names = append(names, d.key())
		}
	}
	return names
}

// NewEvent returns an event that the plan creates, without its dates.
func (l *ImportPlan) NewEvent(e *ImportEvent) *Event {
	created := &Event{
		ID: e.ID, Title: e.Title, Type: e.EventType, Status: Published, Timezone: e.Timezone, Version: e.Version,
		CreatedAt: l.Now, UpdatedAt: l.Now,
	}
	var options []*ImportOption
	for _, o := range l.Options {
		if o.Event == e.ID && o.Origin == Used {
			options = append(options, o)
		}
	}
	slices.SortFunc(options, func(a, b *ImportOption) int { return cmp.Compare(a.Position, b.Position) })
	for _, o := range options {
		created.Options = append(created.Options, o.PricingOption)
	}
	return created
}

// payImported sets the payment of an imported booking, as it is read later. A refund is that of the whole price.
func (b *Booking) payImported(p Payment, taxRate int32) {
	b.Payment, b.Imported = p, true
	if !p.Method.IsMoney() {
		return
	}
	b.Payment.TaxRate, b.Price = taxRate, p.Gross
	if b.Refunded {
		b.RefundedAmount = p.Gross
	}
}

// known returns a customer, with the names if the copy has them.
func known(names map[id.Customer]Customer, customer id.Customer) Customer {
	if c, ok := names[customer]; ok {
		return c
	}
	return Customer{ID: customer}
}

func (l *ImportPlan) boughtFor(b *ImportedBooking, to *Booking, purchaser id.Customer) *ImportRefusal {
	if b.BoughtFor == "" {
		return nil
	}
	customer, ok := l.Customers[b.BoughtFor]
	if !ok {
		return refuse("bought_for", "exists", "does not exist")
	}
	if customer != purchaser {
		attendee := known(l.Names, customer)
		to.BoughtFor = &attendee
	}
	return nil
}

// describedDate returns the described date. It adds the date and its event if they do not exist.
func (l *ImportPlan) describedDate(d *DescribedDate) *ImportDate {
	event := l.Events[d.EventReference]
	if event == nil {
		event = &ImportEvent{
			Origin: made, ID: id.Event(l.newID()), Reference: d.EventReference,
			Title: d.Title, EventType: d.EventType, Timezone: d.Timezone, Version: 1,
		}
		l.AddEvent(event)
	}
	if date := l.starts[dateKey{event.ID, d.StartsAt.Unix()}]; date != nil {
		return date
	}
	date := &ImportDate{Origin: made, event: event, EventID: event.ID, EventDate: EventDate{
		ID: id.EventDate(l.newID()), StartsAt: d.StartsAt.Truncate(time.Second), Minutes: d.Minutes,
		Timezone: d.Timezone, Capacity: d.Capacity,
	}}
	l.AddDate(date)
	return date
}

// namedOption returns the event's pricing option with this name. It adds the option if it does not
// exist.
func (l *ImportPlan) namedOption(event id.Event, name string) *ImportOption {
	if name == "" {
		name = importedOption
	}
	if o := l.names[optionKey{event, name}]; o != nil {
		return o
	}
	o := &ImportOption{
		Origin: made, Event: event, Position: l.positions[event],
		PricingOption: PricingOption{ID: id.PricingOption(l.newID()), Name: name, Currency: l.currency},
	}
	l.AddOption(o)
	return o
}

// take takes the spaces of all bookings that are not cancelled. If one does not fit, it takes none
// and returns the index of that booking.
func take(t *ImportedTransaction, uses []used) (at int, fits bool) {
	for i, u := range uses {
		b := &t.Bookings[i]
		if b.Cancelled {
			continue
		}
		if b.Spaces > u.date.free() {
			untake(t, uses[:i])
			return i, false
		}
		u.date.NewSpaces += b.Spaces
	}
	return 0, true
}

func untake(t *ImportedTransaction, uses []used) {
	for i, u := range uses {
		if !t.Bookings[i].Cancelled {
			u.date.NewSpaces -= t.Bookings[i].Spaces
		}
	}
}

// markUsed marks the rows that a stored booking refers to as used. A pricing option that the import
// creates gets its price per space from its first booking paid in money, and its credits per space from
// its first booking by pass.
func (u *used) markUsed(b *ImportedBooking) {
	u.date.use()
	if u.date.event != nil {
		u.date.event.use()
	}
	u.option.use()
	if u.option.Origin == found {
		return
	}
	switch p := b.Payment; {
	case p.Method.IsMoney() && p.Method != Free && !u.option.priced:
		u.option.priced = true
		u.option.Currency = p.Currency
		u.option.Price = min(perSpace(p.Gross, b.Spaces), MaxPrice)
	case p.Method == Pass && u.option.Credits == nil:
		credits := int32(min(perSpace(int64(p.Credits), b.Spaces), maxCredits))
		u.option.Credits = &credits
	}
}

// perSpace divides an amount by the number of spaces, rounded half up.
func perSpace(amount int64, spaces int32) int64 {
	return (2*amount + int64(spaces)) / (2 * int64(spaces))
}

// Starting returns the existing events and the starts of the dates that lines describe, each pair
// once.
func (l *ImportPlan) Starting(lines []*ImportedTransaction) (events []id.Event, starts []time.Time) {
	seen := map[dateKey]bool{}
	for _, t := range lines {
		for i := range t.Bookings {
			d := t.Bookings[i].Described
			if d == nil {
				continue
			}
			event := l.Events[d.EventReference]
			if event == nil {
				continue
			}
			key := dateKey{event.ID, d.StartsAt.Unix()}
			if !seen[key] {
				seen[key] = true
				events, starts = append(events, event.ID), append(starts, time.Unix(key.second, 0))
			}
		}
	}
	return events, starts
}
