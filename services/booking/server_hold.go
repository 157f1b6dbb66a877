package booking

import (
	"cmp"
	"context"
	"errors"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// ReasonHoldExpired is the reason for refusing a hold whose spaces were released.
const ReasonHoldExpired = "HOLD_EXPIRED"

// ReasonHoldConfirmed is the reason for refusing to release a hold that is already a purchase.
const ReasonHoldConfirmed = "HOLD_CONFIRMED"

const (
	defaultHoldMinutes = 15
	maxHoldMinutes     = 1440
)

// HoldPlaces implements BookingService.
func (s *Server) HoldPlaces(ctx context.Context, req *bookingv1.HoldPlacesRequest) (*bookingv1.HoldPlacesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	minutes, err := holdMinutes(req.GetMinutes())
	if err != nil {
		return nil, err
	}
	if err := convert.RefuseLinePayments(req.GetLines()); err != nil {
		return nil, err
	}
	resp := &bookingv1.HoldPlacesResponse{}
	order := convert.OrderRequest{Purchaser: req.GetPurchaserId(), Lines: req.GetLines(), Code: req.GetDiscountCode()}
	err = s.withOrder(ctx, company, order, func(o model.Order) error {
		expiresAt := pg.Instant(s.clock(company).Add(minutes))
		p, err := newPurchase(ctx, req, resp, company, model.Purchase{Order: o, Status: model.Held, ExpiresAt: expiresAt})
		if err != nil {
			return err
		}
		p.answer = func() {
			resp.Hold = convert.Hold(&model.Hold{Transaction: *p.Bought, Status: model.HoldActive, ExpiresAt: p.ExpiresAt})
		}
		return s.commit(ctx, p)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// holdMinutes checks how long a hold lasts; 0 means the default.
func holdMinutes(minutes int32) (time.Duration, error) {
	minutes = cmp.Or(minutes, defaultHoldMinutes)
	var faults check.Fields
	faults.Range("minutes", int64(minutes), 1, maxHoldMinutes)
	return time.Duration(minutes) * time.Minute, faults.Err()
}

// ReleaseHold implements BookingService.
func (s *Server) ReleaseHold(ctx context.Context, req *bookingv1.ReleaseHoldRequest) (*bookingv1.ReleaseHoldResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Transaction](req.GetHoldId(), "hold")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ReleaseHoldResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) (err error) {
		if resp.Changed, err = s.releaseHeld(ctx, tx, company, which, req.ExpectedVersion); err != nil {
			return err
		}
		resp.Hold, err = s.readHold(s.store.HoldInTx(ctx, tx, company.ID, which, s.clock(company)))
		return err
	})
}

// releaseHeld releases a hold that is active, and reports whether it did. It ends a hold whose time
// has passed as expired.
func (s *Server) releaseHeld(ctx context.Context, tx *pg.Tx, company tenancy.Company, which id.Transaction, expected *int64) (bool, error) {
	h, err := s.lockHold(ctx, tx, s.store.LockHold, company, which, expected)
	end := model.HoldReleased
	switch {
	case fault.Is(err, fault.NotFound):
		return false, nil // it can have ended more than a day ago
	case err != nil:
		return false, err
	case h.Status == model.Confirmed || h.Status == model.Pending || h.Status == model.Undoing:
		return false, fault.Refuse(ReasonHoldConfirmed, "the hold is already confirmed: cancel its bookings instead")
	case !s.clock(company).Before(h.ExpiresAt):
		end = model.HoldExpired
	}
	n, err := s.release(ctx, tx, company, []id.Transaction{which}, end, model.Held)
	return n > 0 && end == model.HoldReleased, err
}

// lockHold locks a hold, and refuses it if its version is not the expected one.
func (s *Server) lockHold(ctx context.Context, tx *pg.Tx, lock holdLock, company tenancy.Company, which id.Transaction, expected *int64) (store.LockedHold, error) {
	h, missing := lock(ctx, tx, company.ID, which)
	if expected == nil || missing != nil && !fault.Is(missing, fault.NotFound) {
		return h, missing
	}
	shown, err := s.readHold(s.store.HoldInTx(ctx, tx, company.ID, which, s.clock(company)))
	if err == nil {
		err = check.Version(shown.GetVersion(), expected, "hold")
	}
	return h, cmp.Or(err, missing)
}

// GetHold implements BookingService.
func (s *Server) GetHold(ctx context.Context, req *bookingv1.GetHoldRequest) (*bookingv1.GetHoldResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Transaction](req.GetHoldId(), "hold")
	if err != nil {
		return nil, err
	}
	h, err := s.readHold(s.store.Hold(ctx, company.ID, which, s.clock(company)))
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetHoldResponse{Hold: h}, nil
}

// readHold converts a hold that the store has found.
func (s *Server) readHold(found store.FoundHold, err error) (*bookingv1.Hold, error) {
	switch {
	case err != nil:
		return nil, err
	case found.Hold == nil:
		return convert.KeptHold(found.Ended, found.Recipients)
	}
	return convert.Hold(found.Hold), nil
}

// ConfirmHold implements BookingService.
func (s *Server) ConfirmHold(ctx context.Context, req *bookingv1.ConfirmHoldRequest) (*bookingv1.ConfirmHoldResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Transaction](req.GetHoldId(), "hold")
	if err != nil {
		return nil, err
	}
	how, err := convert.Payment(convert.PaymentRequest{Method: req.GetPaymentMethod(), Reference: req.GetPaymentReference(), Pass: req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ConfirmHoldResponse{}
	p, err := newPurchase(ctx, req, resp, company, model.Purchase{Status: model.Pending})
	if err != nil {
		return nil, err
	}
	p.answer = func() { resp.Transaction = convert.Transaction(p.Bought) }
	already, err := s.confirmHold(ctx, p, payment{lock: s.store.LockHold, which: which, how: how, version: req.ExpectedVersion})
	if err != nil {
		return nil, err
	}
	resp.AlreadyConfirmed = already
	return resp, nil
}

// holdLock reads and locks a hold: Store.LockHold or Store.LockOffered.
type holdLock func(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction) (store.LockedHold, error)

// payment is a request to pay for a hold.
type payment struct {
	lock    holdLock
	which   id.Transaction
	how     model.PaymentChoice
	version *int64       // of the hold; nil: any
	check   func() error // further condition of a request that is not a replay; nil: none
}

// confirmHold pays for a hold and fills the response of p. A confirmed hold is returned unchanged, and
// already is true, unless the request has the Idempotency-Key that confirmed it: its response is
// replayed.
func (s *Server) confirmHold(ctx context.Context, p *purchase, pay payment) (already bool, err error) {
	already, err = s.payForHold(ctx, p, pay)
	if errors.Is(err, errNotPending) { // another request was faster: respond with what it did
		already, err = s.payForHold(ctx, p, pay)
	}
	return already, err
}

// payForHold locks a hold and pays for it if it is not confirmed. It returns errNotPending if another
// request or the job changed the hold while the credits were taken.
func (s *Server) payForHold(ctx context.Context, p *purchase, pay payment) (already bool, err error) {
	which, how, needsCredits := pay.which, pay.how, false
	err = s.store.Write(ctx, p.company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		needsCredits, already = false, false
		if replayed, err := p.replay(ctx, tx); replayed || err != nil {
			return err
		}
		status, err := s.lockPayable(ctx, tx, p.company, pay)
		if err != nil {
			return err
		}
		switch {
		case status == model.Confirmed:
			already = true
			p.Bought, err = s.store.Unconfirmed(ctx, tx, p.company.ID, which, model.Confirmed)
		case status == model.Pending && how.Method == model.Pass:
			needsCredits = true
			p.Bought, err = s.joinPending(ctx, tx, p.company.ID, which)
		case status == model.Pending || status == model.Undoing:
			return errBeingUndone()
		default:
			needsCredits = how.Method == model.Pass
			p.Bought, err = s.payHeld(ctx, tx, p.company, which, how)
		}
		if err != nil || needsCredits {
			return err
		}
		p.fill()
		if already {
			return nil
		}
		return p.keep(tx)
	})
	if err == nil && needsCredits {
		err = s.payByPass(ctx, p, how.Pass)
	}
	return already, err
}

// lockPayable locks a hold and returns the status of its transaction. It refuses a hold that has ended.
func (s *Server) lockPayable(ctx context.Context, tx *pg.Tx, company tenancy.Company, pay payment) (model.TransactionStatus, error) {
	if pay.check != nil {
		if err := pay.check(); err != nil {
			return "", err
		}
	}
	h, err := s.lockHold(ctx, tx, pay.lock, company, pay.which, pay.version)
	if fault.Is(err, fault.NotFound) {
		_, err = s.store.HoldInTx(ctx, tx, company.ID, pay.which, s.clock(company))
		h.Status = model.Released // more than a day ago
	}
	if err == nil && (h.Status == model.Released || h.Status == model.Held && !s.clock(company).Before(h.ExpiresAt)) {
		err = fault.Refuse(ReasonHoldExpired, "the hold has expired and its spaces were released")
	}
	return h.Status, err
}

// replay fills the response of p if its Idempotency-Key was used before. Otherwise tx holds the key.
func (p *purchase) replay(ctx context.Context, tx *pg.Tx) (bool, error) {
	if p.key == nil {
		return false, nil
	}
	if err := tx.Pipeline(ctx, idem.Lookup(p.key)...); err != nil {
		return false, err
	}
	return p.key.Replay(p.resp)
}

// keep stores the response of p for its Idempotency-Key when tx commits.
func (p *purchase) keep(tx *pg.Tx) error {
	if p.key == nil {
		return nil
	}
	if err := p.key.Respond(p.resp); err != nil {
		return err
	}
	tx.Queue(idem.Save(p.key))
	return nil
}

// joinPending returns a purchase by pass that another attempt is paying for, and marks it as paid
// for by several attempts.
func (s *Server) joinPending(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction) (*model.Transaction, error) {
	if err := s.store.JoinPending(ctx, tx, company, which); err != nil {
		return nil, err
	}
	t, err := s.store.Unconfirmed(ctx, tx, company, which, model.Pending)
	if err == nil && t.Bookings[0].Payment.Method != model.Pass {
		return nil, errBeingUndone() // an earlier version of this service began it
	}
	return t, err
}

// payHeld turns a locked hold into a purchase: pending if it is paid by pass, else confirmed.
func (s *Server) payHeld(ctx context.Context, tx *pg.Tx, company tenancy.Company, which id.Transaction, how model.PaymentChoice) (*model.Transaction, error) {
	var kept tenancy.Company
	waiter, err := s.store.CheckHold(ctx, tx, company.ID, which, s.companies.Query(company.ID, &kept))
	if err != nil {
		return nil, err
	}
	t, err := s.store.Unconfirmed(ctx, tx, company.ID, which, model.Held)
	if err != nil {
		return nil, err
	}
	company = company.Newest(kept)
	now := pg.Instant(s.clock(company))
	t.UpdatedAt, t.PurchasedAt, t.Timezone = now, now.Truncate(time.Second), company.Timezone
	if how.Method == model.Pass {
		credits, err := s.store.HeldCredits(ctx, tx, company.ID, t.ID)
		if err != nil {
			return nil, err
		}
		if err := model.PayHeldByPass(t, credits); err != nil {
			return nil, err
		}
		return t, s.store.PayHeldByPass(ctx, tx, company.ID, t, company.Real(now).Add(model.PendingTime), rpc.Caller(ctx))
	}
	if err := model.PayHeld(t, how); err != nil {
		return nil, err
	}
	if err := s.store.ConfirmHeld(ctx, tx, company.ID, t, how, rpc.Caller(ctx)); err != nil {
		return nil, err
	}
	events := confirmations(t, outbox.Cause{})
	if waiter != nil {
		before := *waiter
		waiter.Book(now)
		events = append(events, waitlistEnded(waiter, &before, now))
		if err := s.store.SaveWaitlistEntries(ctx, tx, company.ID, []*model.WaitlistEntry{waiter}); err != nil {
			return nil, err
		}
	}
	return t, s.append(ctx, tx, company, now, events...)
}
