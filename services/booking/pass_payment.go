package booking

import (
	"cmp"
	"context"
	"errors"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// A purchase by pass involves two services, and a crash can happen between any two steps. Purchases
// of a company that arrive together share each step:
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
	// Redeem takes the credits of each redemption, once, and sets its Paid or its Err. The
	// redemptions are of different transactions. The error is that of the call: it is not known
	// which credits were taken.
	Redeem(ctx context.Context, company id.Company, all []*Redemption) error
	// Cancel returns the credits that a redemption holds, and refuses the redemption permanently.
	Cancel(ctx context.Context, company id.Company, t id.Transaction) error
	// Return returns the credits of a booking, once.
	Return(ctx context.Context, r model.CreditReturn) error
	// Change changes what a booking costs, once, and returns the credits that it then has. With validateOnly
	// it decides and changes nothing. A change that was cancelled, or of a booking whose credits were returned,
	// is refused with reasonRedemptionCancelled.
	Change(ctx context.Context, c model.CreditChange, validateOnly bool) (credits int32, err error)
	// CancelChange undoes a change, or refuses it permanently if it has not arrived yet.
	CancelChange(ctx context.Context, c model.CreditChange) error
}

// Redemption takes the credits of a transaction's bookings by pass from a pass.
type Redemption struct {
	Transaction *model.Transaction
	Requested   id.CustomerPass // zero: the pass service chooses

	// The result.
	Paid passPayment
	Err  error
}

// passPayment is the pass that paid for a transaction.
type passPayment struct {
	pass id.CustomerPass
	// free means that the pass took no credits, because its subscription has unlimited bookings.
	free bool
}

// record sets the payments by pass to what was taken.
func (p passPayment) record(t *model.Transaction) {
	for _, b := range t.PaidByPass() {
		b.Payment.CustomerPass = p.pass
		if p.free {
			b.Payment.Credits = 0
		}
	}
}

// undoWait is the longest time that a refused request waits for its purchase to be undone.
const undoWait = 3 * time.Second

// errNotPending reports that the status of a transaction changed during its purchase.
var errNotPending = errors.New("the transaction is not pending any more")

// purchaseByPass makes the purchase of an order with lines that are paid with credits. If an earlier request with
// the same Idempotency-Key has begun the purchase, it continues that one.
func (s *Server) purchaseByPass(ctx context.Context, req *bookingv1.CreateTransactionRequest, company tenancy.Company, o model.Order) (*bookingv1.CreateTransactionResponse, error) {
	resp := &bookingv1.CreateTransactionResponse{}
	p, err := newPurchase(ctx, req, resp, company, model.Purchase{Order: o, Status: model.Pending})
	if err != nil {
		return nil, err
	}
	p.answer = func() { resp.Transaction = convert.Transaction(p.Bought) }
	if err := s.commit(ctx, p); err != nil {
		return nil, err
	}
	if p.replayed {
		return resp, nil
	}
	if err := s.payByPass(ctx, p, o.Payment.Pass); err != nil {
		return nil, err
	}
	return resp, nil
}

// errBeingUndone refuses a retry while the first attempt is being undone. A later retry begins the
// purchase again.
func errBeingUndone() error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
		"an earlier attempt of this request is being undone: try again").After(2 * time.Second)
}

// payPending pays a pending transaction whose request has no Idempotency-Key.
func (s *Server) payPending(ctx context.Context, company tenancy.Company, t *model.Transaction, pass id.CustomerPass) error {
	p := &purchase{Purchase: model.Purchase{Bought: t, Status: model.Pending}, company: company, cause: outbox.CauseOf(ctx)}
	return s.payByPass(ctx, p, pass)
}

// payByPass takes the credits of a pending purchase and confirms it.
func (s *Server) payByPass(ctx context.Context, p *purchase, pass id.CustomerPass) error {
	company, t := p.company.ID, p.Bought
	paid, err := s.redeem(ctx, company, t, pass)
	if err == nil {
		p.confirming, p.paid = true, paid
		err = s.commit(ctx, p)
		if errors.Is(err, errNotPending) {
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

// redeem takes the credits of a transaction. Redemptions that arrive together share a call.
func (s *Server) redeem(ctx context.Context, company id.Company, t *model.Transaction, pass id.CustomerPass) (passPayment, error) {
	r := &Redemption{Transaction: t, Requested: pass}
	if err := s.redemptions.Do(ctx, company, r); err != nil {
		return passPayment{}, err
	}
	return r.Paid, r.Err
}

// redeemTogether takes the credits of redemptions in one call. Several attempts to pay one
// transaction get one result.
func (s *Server) redeemTogether(ctx context.Context, company id.Company, all []*Redemption, _ bool) (left []int, err error) {
	first := map[id.Transaction]*Redemption{}
	var distinct []*Redemption
	for _, r := range all {
		if first[r.Transaction.ID] == nil {
			first[r.Transaction.ID] = r
			distinct = append(distinct, r)
		}
	}
	err = s.passes.Redeem(ctx, company, distinct)
	for _, r := range all {
		r.Paid, r.Err = first[r.Transaction.ID].Paid, cmp.Or(err, first[r.Transaction.ID].Err)
	}
	return nil, nil
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
