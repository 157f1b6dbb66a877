package booking

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// A move of a booking by pass involves two services, and a crash can happen between any two steps:
//
//	more credits:   store the change, taking ──▶ take the difference ──▶ commit the move, remove the change
//	                                                  │ refused, timed out, or the move is refused
//	                                                  └──▶ undoing ──▶ cancel the change ──▶ remove it
//	fewer credits:  validate the pass ──▶ commit the move and the change, settling ──▶ return the rest, remove it
//
// The pass service decides each change once, by its identifier. At most one change of a booking is unfinished,
// and other moves of the booking are refused until it is finished. A cancellation or a refund need not wait: it
// returns all credits that the pass service holds for the booking, and a later step finds them returned. The job
// endCreditChanges finishes what a request leaves.

const (
	// takeTime is the time that a request has to commit a move after it began to take the credits.
	takeTime = 30 * time.Second
	// settleAhead is the time that a request has to return credits before the job does it.
	settleAhead = 5 * time.Second
)

// creditAnswers is what the pass service has decided for a move.
type creditAnswers struct {
	// known has the answers by the change without its identifier.
	known map[model.CreditChange]creditAnswer
	// taken are the changes that this request has begun or continued.
	taken    []model.CreditChange
	decision creditDecision
}

// creditDecision is what a commit has decided about the credits of its bookings.
type creditDecision struct {
	busy    bool // another move is not finished
	mustAsk bool // the pass service must decide first
	asks    []creditAsk
}

// creditAnswer is the credits that a booking has after a change.
type creditAnswer struct {
	change  id.UUID // zero: it was only validated
	credits int32
}

// creditAsk is a change that the pass service must decide.
type creditAsk struct {
	model.CreditChange
	version int64 // of the transaction for which it was decided
}

// pay sets the credits of a move to what the pass service has decided, or notes that it must be asked, or that
// another move is unfinished. had is the unfinished change of the booking; nil: none.
func (m *bookingMove) pay(s *store.MovedTransaction, had *store.StoredCreditChange) {
	t, c := s.Transaction, &m.credits
	wanted, ask := s.Move.CreditChange(m.company.ID, t)
	answer, known := c.known[wanted]
	takes := ask && wanted.Credits > wanted.Expected
	switch {
	case had == nil && !ask, had == nil && known && !takes:
	case had != nil && takes && known && had.ID == answer.change && had.State == model.CreditsTaking:
		s.Taken = had.ID
		s.Move.Took(answer.credits)
	case had == nil, c.began(had.ID), takes && had.Continues(wanted, m.target(t.Version)):
		c.decision.mustAsk = true
		if ask {
			c.decision.asks = append(c.decision.asks, creditAsk{wanted, t.Version})
		}
	default:
		c.decision.busy = true
	}
	// A change that was taken needs no second one: the pass service already holds what it has decided.
	if fall, falls := s.Move.CreditsFall(m.company.ID, t); falls && s.Taken.IsZero() {
		fall.ID = m.newID()
		s.Falls = &store.StoredCreditChange{
			CreditChange: fall, State: model.CreditsSettling, Target: m.target(t.Version), Due: m.now().Add(settleAhead),
		}
		m.falls = append(m.falls, fall)
	}
}

// began reports whether this request has begun or continued a change.
func (c *creditAnswers) began(change id.UUID) bool {
	for i := range c.taken {
		if c.taken[i].ID == change {
			return true
		}
	}
	return false
}

// target returns the digest of the request and the version of the transaction that it changes.
func (m *bookingMove) target(version int64) []byte {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.request)
	if err != nil {
		panic(err) // it has arrived as a message
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %x", version, m.request.ProtoReflect().Descriptor().FullName(), body))
	return sum[:]
}

// askPass lets the pass service decide the changes that the last commit needs. It first undoes changes of an
// earlier round, because the move has become another one.
func (m *bookingMove) askPass(ctx context.Context) error {
	m.undoTaken(ctx)
	for _, ask := range m.credits.decision.asks {
		var err error
		if ask.Credits > ask.Expected {
			err = m.take(ctx, ask)
		} else {
			err = m.validate(ctx, ask.CreditChange)
		}
		// The next round finds the booking cancelled, refunded or moved.
		var differs *heldCreditsError
		if err != nil && !isRedemptionCancelled(err) && !errors.As(err, &differs) {
			return err
		}
	}
	return nil
}

func (m *bookingMove) validate(ctx context.Context, c model.CreditChange) error {
	asked := c
	asked.ID = m.newID()
	credits, err := m.passes.Change(ctx, asked, true)
	if err == nil {
		m.know(c, creditAnswer{credits: credits})
	}
	return err
}

// take stores that credits are being taken, and takes them.
func (m *bookingMove) take(ctx context.Context, ask creditAsk) error {
	begun := &store.StoredCreditChange{
		CreditChange: ask.CreditChange, State: model.CreditsTaking, Target: m.target(ask.version), Due: m.now().Add(takeTime),
	}
	begun.ID = m.newID()
	if err := m.store.BeginCreditChange(ctx, begun); err != nil {
		return err
	}
	m.credits.taken = append(m.credits.taken, begun.CreditChange)
	credits, err := m.passes.Change(ctx, begun.CreditChange, false)
	var differs *heldCreditsError
	switch {
	case err == nil:
		m.know(ask.CreditChange, creditAnswer{change: begun.ID, credits: credits})
	case isDecided(err), errors.As(err, &differs):
		m.undoTaken(ctx)
	}
	return err
}

func (m *bookingMove) know(c model.CreditChange, answer creditAnswer) {
	if m.credits.known == nil {
		m.credits.known = map[model.CreditChange]creditAnswer{}
	}
	m.credits.known[c] = answer
}

// undoTaken returns the credits of the changes that this request has begun, unless their moves are committed. It
// continues when the caller's context ends, and leaves what fails to the job.
func (m *bookingMove) undoTaken(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
	defer cancel()
	for _, c := range m.credits.taken {
		if begun, err := m.store.UndoCreditChange(ctx, c, m.now().Add(returnAgain)); err == nil && begun {
			_ = m.endCreditChange(ctx, &store.StoredCreditChange{CreditChange: c, State: model.CreditsUndoing})
		}
	}
	m.credits.taken = nil
}

// settleCredits returns credits after the commit of a move. It leaves what fails to the job.
func (s *Server) settleCredits(ctx context.Context, all []model.CreditChange) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnWait)
	defer cancel()
	for _, c := range all {
		if s.endCreditChange(ctx, &store.StoredCreditChange{CreditChange: c, State: model.CreditsSettling}) != nil {
			return
		}
	}
}

// endCreditChange finishes a change that is settling or being undone, and removes it.
func (s *Server) endCreditChange(ctx context.Context, c *store.StoredCreditChange) error {
	change, err := c.CreditChange, error(nil)
	if c.State == model.CreditsSettling {
		change, err = s.settleChange(ctx, change)
	} else {
		err = s.passes.CancelChange(ctx, change)
	}
	if err != nil && !isRedemptionCancelled(err) && !fault.Is(err, fault.NotFound) { // then it has no credits to return
		return err
	}
	return s.store.EndCreditChange(ctx, change)
}

// settleChange lets the pass service hold the credits of a committed move, and returns the change that did it.
// If the pass service holds other credits than expected, for example after a repair by an operator, settleChange
// repeats the change with those. The pass service decides a change only once, so the repeated one is stored with
// a new identifier first. If the pass refuses, settleChange logs why, and the change ends: reservectl reconcile
// finds what is left.
func (s *Server) settleChange(ctx context.Context, c model.CreditChange) (model.CreditChange, error) {
	_, err := s.passes.Change(ctx, c, false)
	var differs *heldCreditsError
	if errors.As(err, &differs) {
		if differs.held == c.Credits {
			return c, nil
		}
		next := c
		next.ID, next.Expected = s.newID(), differs.held
		if err := s.store.RenewCreditChange(ctx, c, next); err != nil {
			return c, err
		}
		c = next
		_, err = s.passes.Change(ctx, c, false)
	}
	if f := fault.From(err); err != nil && !isRedemptionCancelled(err) && (f.Kind == fault.NotFound || f.Kind == fault.Refused) {
		s.log.WarnContext(ctx, "the credits of a move cannot be settled", "company", c.Company.String(), "booking", c.Booking.String(),
			"credits", c.Credits, "error", err.Error())
		return c, nil
	}
	return c, err
}

// endCreditChanges finishes changes that their requests did not finish.
func (s *Server) endCreditChanges(ctx context.Context) error {
	now := s.now()
	due, err := s.store.ClaimCreditChanges(ctx, now, now.Add(returnAgain), expiryBatch)
	if err != nil {
		return err
	}
	return forEachConcurrently(due, func(c *store.StoredCreditChange) error { return s.endCreditChange(ctx, c) })
}
