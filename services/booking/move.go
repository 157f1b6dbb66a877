package booking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// A move, or a swap of two bookings, is one commit: it locks the transactions, the customers and all dates that
// the bookings leave or enter, decides in the model, and stores everything with the events. If the pass service
// must decide too, the commit is left, the pass service is asked, and the commit begins again (credit_change.go).

// bookingMove is a move of one booking, or a swap of two.
type bookingMove struct {
	*Server
	company   tenancy.Company
	bookings  []id.Booking
	versions  []*int64 // that the caller has read, of each booking
	how       model.Move
	expected  *int64 // amount due
	reason    string // why a date that has started is left or entered
	reference string // of the payment
	request   proto.Message
	// reply fills the response. moved is empty if nothing changed.
	reply func(all []*bookingv1.Registration, moved []*model.MovedBooking)

	credits creditAnswers
	// The effect of the last commit.
	falls []model.CreditChange
}

// moveRounds is how often a move is decided, if the pass service is asked or the booking changes in between.
const moveRounds = 4

// errAskPass leaves a commit in which the pass service must decide first.
var errAskPass = errors.New("the pass service must decide the change of credits")

// run commits the move, and fills resp.
func (m *bookingMove) run(ctx context.Context, req, resp proto.Message) error {
	m.request = req
	err := m.rounds(ctx, resp)
	if err == nil || isDecided(err) {
		m.undoTaken(ctx)
	}
	if err == nil {
		m.settleCredits(ctx, m.falls)
	}
	return err
}

func (m *bookingMove) rounds(ctx context.Context, resp proto.Message) error {
	for range moveRounds {
		err := m.store.Write(ctx, m.company.ID, func(ctx context.Context, tx *pg.Tx) error {
			proto.Reset(resp)
			m.falls, m.credits.decision = nil, creditDecision{} // the commit may be a retry
			return idem.Do(ctx, tx, m.request, resp, func() error { return m.commit(ctx, tx) })
		})
		if !errors.Is(err, errAskPass) {
			return err
		}
		if err := m.askPass(ctx); err != nil {
			return err
		}
	}
	return model.ChangeInProgress() // the booking changed in each round
}

// isDecided reports whether an error says that a request is refused. Otherwise the same request can succeed later.
func isDecided(err error) bool {
	f := fault.From(err)
	return f.Kind != fault.Internal && f.Kind != fault.Unavailable && f.Reason != fault.ReasonIdempotencyInProgress
}

// commit decides the move, and stores it in tx.
func (m *bookingMove) commit(ctx context.Context, tx *pg.Tx) error {
	found, err := m.store.LockBookings(ctx, tx, m.company.ID, m.bookings)
	if err != nil {
		return err
	}
	if err := missingOf(found); err != nil {
		return err
	}
	for i := range found {
		ref := registrationRef{version: m.versions[i]}
		if err := ref.check(found[i].Transaction); err != nil {
			return err
		}
	}
	of, changes, err := m.store.LockMove(ctx, tx, m.company.ID, m.demand(found))
	if err != nil {
		return err
	}
	now := pg.Instant(m.clock(m.company))
	refresh(of, found)
	moved, err := m.decide(of, found, now)
	if err != nil {
		return err
	}
	if len(moved) > 0 {
		if err := m.save(ctx, tx, found, moved, changes, now); err != nil {
			return err
		}
	}
	all := make([]*bookingv1.Registration, len(found))
	for i := range found {
		all[i] = convert.Registration(&model.Registration{Transaction: *found[i].Transaction})
	}
	m.reply(all, moved)
	return nil
}

// missingOf returns the fault of the first booking of a move that does not exist; nil if all do. The fault
// of the second booking of a swap names its member.
func missingOf(found []store.FoundBooking) error {
	switch i := slices.IndexFunc(found, func(f store.FoundBooking) bool { return f.Transaction == nil }); i {
	case -1:
		return nil
	case 0:
		return fault.Missing("booking")
	}
	return model.MissingIn("other_booking_id", "booking")
}

// demand returns the rows to lock for the move of found bookings.
func (m *bookingMove) demand(found []store.FoundBooking) model.Demand {
	var d model.Demand
	if !m.how.Date.IsZero() {
		d.Dates = append(d.Dates, m.how.Date)
	}
	for i := range found {
		t := found[i].Transaction
		b := &t.Bookings[0]
		d.Dates, d.Moved = append(d.Dates, b.Date.ID), append(d.Moved, b.ID)
		d.Customers, d.Attendees = append(d.Customers, t.Customers()...), append(d.Attendees, t.Attendee(b))
	}
	return d
}

// refresh sets the names of customers and the members of dates that can have changed before they were locked.
func refresh(of *model.Offer, found []store.FoundBooking) {
	for i := range found {
		t := found[i].Transaction
		b := &t.Bookings[0]
		if d := of.Dates[b.Date.ID]; d != nil {
			b.Date = d.BookedDate
		}
		if c, ok := of.Customers[t.Purchaser.ID]; ok {
			t.Purchaser = c.Customer
		}
		if b.BoughtFor != nil {
			if c, ok := of.Customers[b.BoughtFor.ID]; ok {
				b.BoughtFor = &c.Customer
			}
		}
	}
}

// decide decides the move. It returns no moves if nothing changes.
func (m *bookingMove) decide(of *model.Offer, found []store.FoundBooking, now time.Time) (moved []*model.MovedBooking, err error) {
	if len(found) == 2 {
		moved, err = of.Swap(movable(&found[0]), movable(&found[1]), m.how, now)
	} else if one, refused := of.Move(movable(&found[0]), m.how, now); refused != nil || one != nil {
		moved, err = []*model.MovedBooking{one}, refused
	}
	for _, one := range moved {
		if err == nil {
			err = cmp.Or(one.Late(), one.Costs(m.expected))
		}
	}
	if err != nil {
		return nil, err
	}
	return moved, nil
}

func movable(found *store.FoundBooking) model.Movable {
	b := &found.Transaction.Bookings[0]
	return model.Movable{Booking: b, Attendee: found.Transaction.Attendee(b), Policy: found.Policy}
}

// save stores moves of the found bookings, which then are as after the moves, with their events, and serves the
// waitlists of the dates that have more free spaces.
func (m *bookingMove) save(ctx context.Context, tx *pg.Tx, found []store.FoundBooking, moved []*model.MovedBooking,
	changes map[id.Booking]*store.StoredCreditChange, now time.Time) error {
	stored := make([]store.MovedTransaction, len(moved))
	for i := range moved {
		stored[i] = store.MovedTransaction{Transaction: found[i].Transaction, Move: moved[i]}
		m.pay(&stored[i], changes[moved[i].Before.ID])
	}
	switch d := &m.credits.decision; {
	case d.busy:
		return model.ChangeInProgress()
	case d.mustAsk:
		return errAskPass
	}
	events := make([]outbox.Event, len(moved))
	for i := range stored {
		events[i] = m.apply(ctx, &stored[i], now)
	}
	if err := m.store.SaveMoves(ctx, tx, m.company.ID, stored); err != nil {
		return err
	}
	if err := m.append(ctx, tx, m.company, now, events...); err != nil {
		return err
	}
	if freed := freedDates(moved, now); len(freed) > 0 {
		return m.promote(ctx, tx, m.company, freed...)
	}
	return nil
}

// freedDates returns the dates to come that have more free spaces after the moves.
func freedDates(moved []*model.MovedBooking, now time.Time) []id.EventDate {
	spaces := model.Recount(moved...)
	var freed []id.EventDate
	for _, m := range moved {
		if d := &m.Before.Date; spaces[d.ID] < 0 && !d.StartsAt.Before(now) {
			freed = append(freed, d.ID)
		}
	}
	return model.Distinct(freed)
}

// apply changes the transaction of a move, completes its entry of the history, and returns its event.
func (m *bookingMove) apply(ctx context.Context, s *store.MovedTransaction, now time.Time) outbox.Event {
	t, o := s.Transaction, &s.Move.Outcome
	before, facts := convert.PreviousSnapshot(t, &t.Bookings[0]), model.FactsOf(t, &t.Bookings[0])
	t.Bookings[0] = s.Move.After
	t.Version, t.UpdatedAt = t.Version+1, now
	s.History = momentOf(ctx, m.company, now).entry(model.Moved, t, facts)
	s.History.PolicyWaived = m.how.Waived && now.After(o.FreeUntil)
	if facts.StartsAt.Before(now) || s.Move.After.Date.StartsAt.Before(now) {
		s.History.Reason = m.reason
	}
	if o.AmountDue > 0 {
		s.History.Amount, s.History.Method, s.History.Reference = o.AmountDue, s.Move.Method, m.reference
		s.History.Net, s.History.TaxRate = s.Move.After.Payment.Net-s.Move.Before.Payment.Net, s.Move.TaxRate
	}
	for i, b := range m.bookings {
		if len(m.bookings) == 2 && b == s.Move.After.ID {
			s.History.SwappedWith = m.bookings[1-i]
		}
	}
	t.Record(&t.Bookings[0], &s.History, m.company.Timezone)
	return bookingMoved(convert.Snapshot(t, &t.Bookings[0]), before, &s.History)
}
