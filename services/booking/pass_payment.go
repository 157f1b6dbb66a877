package booking

import (
	"context"
	"errors"
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

// A purchase by pass goes through two services, and a crash may come between any
// two steps:
//
//	take the places, pending ──▶ take the credits ──▶ confirm, with its events
//	                                   │ refused
//	                                   └─────────────▶ cancel the redemption, give the places back;
//	                                                   or make it the hold again that it was
//
// Taking the credits is idempotent by the transaction's identifier. A purchase
// that stays pending is finished by a repetition under its idempotency key, or
// undone when its time is up: its redemption is cancelled first, which the pass
// service remembers forever, so that a step which comes late finds it cancelled.

// Passes calls the pass service. Errors are faults; a pass that cannot pay is
// fault.Refused or fault.NotFound.
type Passes interface {
	// Redeem takes the credits of a transaction, once, from the pass that is named or
	// from the one that the pass service chooses.
	Redeem(ctx context.Context, company id.Company, t *model.Transaction, pass id.CustomerPass) (id.CustomerPass, error)
	// Cancel returns what a redemption holds, and refuses it from then on.
	Cancel(ctx context.Context, company id.Company, t id.Transaction) error
	// Return returns the credits of a booking, once.
	Return(ctx context.Context, r model.CreditReturn) error
}

// undoWait is how long a refused request takes to undo what it has begun.
const undoWait = 3 * time.Second

// purchaseByPass settles an order that is paid with credits.
func (s *Server) purchaseByPass(ctx context.Context, req *bookingv1.CreateTransactionRequest, company tenancy.Company, o model.Order) (*bookingv1.CreateTransactionResponse, error) {
	resp := &bookingv1.CreateTransactionResponse{}
	p := &purchase{Purchase: model.Purchase{Order: o, Status: model.Pending, ExpiresAt: s.now().Add(model.PendingTime)}, company: company}
	t, done, err := s.beginByPass(ctx, req, resp, p)
	if err != nil || done {
		return resp, err
	}
	err = s.payByPass(ctx, company.ID, t, o.Payment.Pass, func(ctx context.Context, tx *pg.Tx, confirm func() error) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			if err := confirm(); err != nil {
				return err
			}
			resp.Transaction = convert.Transaction(t)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// beginByPass takes the places of a purchase by pass. Under an idempotency key it finds
// what an earlier request has begun, or done, in which case it fills resp.
func (s *Server) beginByPass(ctx context.Context, req, resp proto.Message, p *purchase) (t *model.Transaction, done bool, err error) {
	shared, err := s.settleInCommit(ctx, p, func(ctx context.Context, tx *pg.Tx) error {
		t = nil
		if idem.Key(ctx) == "" {
			err := s.settleOne(ctx, tx, p)
			t = p.Bought
			return err
		}
		if done, err = idem.Seen(ctx, tx, req, resp); err != nil || done {
			return err
		}
		t, err = s.continueByPass(ctx, tx, req, p)
		return err
	})
	if shared {
		t = p.Bought
	}
	return t, done, err
}

// continueByPass returns the transaction that an earlier request under the idempotency
// key has begun, or begins it.
func (s *Server) continueByPass(ctx context.Context, tx *pg.Tx, req proto.Message, p *purchase) (*model.Transaction, error) {
	company := p.company.ID
	caller, text, hash, err := idem.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	key := store.PurchaseKey{Caller: caller, Key: text, Hash: hash}
	begun, err := s.store.BegunUnder(ctx, tx, company, key)
	if err != nil {
		return nil, err
	}
	if !begun.IsZero() {
		t, err := s.store.Unconfirmed(ctx, tx, company, begun, model.Pending)
		if fault.Is(err, fault.NotFound) {
			return nil, errBeingUndone()
		}
		return t, err
	}
	if err := s.settleOne(ctx, tx, p); err != nil {
		return nil, err
	}
	return p.Bought, s.store.BeginUnder(ctx, tx, company, key, p.Bought.ID, s.now())
}

// errBeingUndone answers a repetition that comes while its first attempt is being
// undone: a later one begins again.
func errBeingUndone() error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
		"an earlier attempt of this request is being undone: try again").After(2 * time.Second)
}

// confirmAlone is a confirmation whose answer is not stored.
func confirmAlone(_ context.Context, _ *pg.Tx, confirm func() error) error { return confirm() }

// payByPass takes the credits of a pending transaction and confirms it. within
// runs confirm in the transaction that it is given.
func (s *Server) payByPass(ctx context.Context, company id.Company, t *model.Transaction, pass id.CustomerPass,
	within func(ctx context.Context, tx *pg.Tx, confirm func() error) error,
) error {
	paid, err := s.passes.Redeem(ctx, company, t, pass)
	if err == nil {
		err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
			return within(ctx, tx, func() error { return s.confirmPending(ctx, tx, company, t, paid) })
		})
		if errors.Is(err, store.ErrNotPending) {
			// It took so long that it was undone, or a repetition was faster.
			return fault.Away(err)
		}
		if fault.Is(err, fault.Refused) || fault.Is(err, fault.NotFound) {
			// The credits are taken, and the date is cancelled or a customer deleted.
			return errors.Join(s.undo(ctx, company, t.ID, err), err)
		}
		return err
	}
	if f := fault.From(err); f.Kind != fault.Refused && f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return err // what it did is not known
	}
	back, undo := s.store.BackToHold(context.WithoutCancel(ctx), company, t.ID)
	if undo == nil && !back {
		undo = s.undo(ctx, company, t.ID, err)
	}
	if undo != nil {
		return undo
	}
	return err
}

// undo frees the places of a pending transaction, and returns what another attempt to
// pay it takes or has taken. It goes on when the caller leaves. A waiting customer for
// whom the places were is told why they are not booked.
func (s *Server) undo(ctx context.Context, company id.Company, t id.Transaction, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
	defer cancel()
	begun, err := s.store.BeginUndo(ctx, company, t, s.now().Add(undoTime), model.WhyNotServed(why))
	if err != nil || !begun {
		return err
	}
	if s.passes.Cancel(ctx, company, t) != nil {
		return nil // the job undoes it
	}
	return s.releaseUndone(ctx, company, t)
}

// confirmPending makes a pending transaction one that everybody sees.
func (s *Server) confirmPending(ctx context.Context, tx *pg.Tx, company id.Company, t *model.Transaction, pass id.CustomerPass) error {
	for i := range t.Bookings {
		t.Bookings[i].Payment.CustomerPass = pass
	}
	announced, err := s.outbox.Query(ctx, tx, s.stamp(company, s.now(), confirmations(t, outbox.Cause{}))...)
	if err != nil {
		return err
	}
	return s.store.ConfirmPending(ctx, tx, company, t.ID, pass, announced)
}
