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

// A purchase by pass involves two services, and a crash can happen between any two steps:
//
//	take the spaces, pending ──▶ take the credits ──▶ confirm, with its events
//	                                   │ refused
//	                                   └────────────▶ cancel the redemption, free the spaces;
//	                                                  or make it the hold again that it was
//
// Taking the credits is idempotent by the transaction's identifier. A purchase that stays pending
// is finished by a retry with its Idempotency-Key, or undone when it times out. Undoing cancels the
// redemption first. The pass service remembers the cancellation permanently, so that a late step
// finds the redemption cancelled.

// Passes calls the pass service. Its errors are faults; a pass that cannot pay is fault.Refused or
// fault.NotFound.
type Passes interface {
	// Redeem takes the credits of a transaction, once, from the given pass, or from one that the
	// pass service chooses.
	Redeem(ctx context.Context, company id.Company, t *model.Transaction, pass id.CustomerPass) (id.CustomerPass, error)
	// Cancel returns the credits that a redemption holds, and refuses the redemption permanently.
	Cancel(ctx context.Context, company id.Company, t id.Transaction) error
	// Return returns the credits of a booking, once.
	Return(ctx context.Context, r model.CreditReturn) error
}

// undoWait is the longest time that a refused request waits for its purchase to be undone.
const undoWait = 3 * time.Second

// purchaseByPass makes the purchase of an order that is paid with credits.
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

// beginByPass takes the spaces of a purchase by pass. If an earlier request with the same
// Idempotency-Key has begun the purchase, it returns that transaction. If the earlier request is
// complete, it fills resp.
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

// continueByPass returns the transaction that an earlier request with the same Idempotency-Key has
// begun, or begins one.
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

// errBeingUndone refuses a retry while the first attempt is being undone. A later retry begins the
// purchase again.
func errBeingUndone() error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
		"an earlier attempt of this request is being undone: try again").After(2 * time.Second)
}

// confirmAlone runs confirm without storing a response.
func confirmAlone(_ context.Context, _ *pg.Tx, confirm func() error) error { return confirm() }

// payByPass takes the credits of a pending transaction and confirms it. within runs confirm in the
// database transaction that it receives.
func (s *Server) payByPass(ctx context.Context, company id.Company, t *model.Transaction, pass id.CustomerPass,
	within func(ctx context.Context, tx *pg.Tx, confirm func() error) error,
) error {
	paid, err := s.passes.Redeem(ctx, company, t, pass)
	if err == nil {
		err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
			return within(ctx, tx, func() error { return s.confirmPending(ctx, tx, company, t, paid) })
		})
		if errors.Is(err, store.ErrNotPending) {
			// The payment took so long that the job undid the purchase, or a retry was faster.
			return fault.Away(err)
		}
		if fault.Is(err, fault.Refused) || fault.Is(err, fault.NotFound) {
			// The credits are taken, but the date was cancelled or a customer deleted.
			return errors.Join(s.undo(ctx, company, t.ID, err), err)
		}
		return err
	}
	if f := fault.From(err); f.Kind != fault.Refused && f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return err // the outcome is unknown
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

// undo frees the spaces of a pending transaction, and returns the credits that any attempt to pay
// it has taken or will take. It continues when the caller's context ends. If the spaces were for a
// waitlist entry, it records why they were not booked.
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

// confirmPending confirms a pending transaction, which makes it visible to readers.
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
