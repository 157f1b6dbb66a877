package pass

import (
	"context"
	"errors"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// ListEligiblePasses implements PassService.
func (s *Server) ListEligiblePasses(ctx context.Context, req *passv1.ListEligiblePassesRequest) (*passv1.ListEligiblePassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	today := s.today(company)
	kinds, when, err := eligibilityOf(req, s.moment(company))
	if err != nil {
		return nil, err
	}
	customer, err := id.Parse[id.Customer](req.GetCustomerId())
	if err != nil { // an invalid identifier has no passes, like an unknown one
		return &passv1.ListEligiblePassesResponse{}, nil
	}
	passes, err := s.store.candidates(ctx, company.ID, customer)
	if err != nil {
		return nil, err
	}
	choose(passes)
	resp := &passv1.ListEligiblePassesResponse{}
	for _, p := range passes {
		if p.refuses(kinds, req.GetCredits(), when) == nil {
			resp.CustomerPasses = append(resp.CustomerPasses, customerPassMessage(p.CustomerPass, company.zone, today))
		}
	}
	return resp, nil
}

// RedeemCredits implements PassService.
func (s *Server) RedeemCredits(ctx context.Context, req *passv1.RedeemCreditsRequest) (*passv1.RedeemCreditsResponse, error) {
	results, err := s.redeem(ctx, []*passv1.RedeemCreditsRequest{req})
	if err != nil {
		return nil, err
	}
	if results[0].err != nil {
		return nil, results[0].err
	}
	return redeemedResponse(results[0].stored), nil
}

// BatchRedeemCredits implements PassService.
func (s *Server) BatchRedeemCredits(ctx context.Context, req *passv1.BatchRedeemCreditsRequest) (*passv1.BatchRedeemCreditsResponse, error) {
	if len(req.GetRedemptions()) == 0 {
		return nil, fault.InvalidFields(fault.Field{Field: "redemptions", Rule: "items", Message: "must have at least 1"})
	}
	decisions, err := s.redeem(ctx, req.GetRedemptions())
	if err != nil {
		return nil, err
	}
	resp := &passv1.BatchRedeemCreditsResponse{Results: make([]*passv1.RedemptionResult, len(decisions))}
	for n, d := range decisions {
		resp.Results[n] = redemptionResult(d)
	}
	return resp, nil
}

// redeem takes the credits of redemptions in one commit, or returns the results of earlier requests.
// It returns one decision per request, in order. An error is about all of them.
func (s *Server) redeem(ctx context.Context, requests []*passv1.RedeemCreditsRequest) ([]decision, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	results := make([]decision, len(requests))
	var valid []*redemption
	var places []int // of the valid ones among the results
	for n, req := range requests {
		r, err := newRedemption(req)
		if err != nil {
			results[n].err = err
			continue
		}
		valid, places = append(valid, &r), append(places, n)
	}
	if len(valid) == 0 {
		return results, nil
	}
	decisions, err := s.redeemValid(ctx, company, valid)
	for n, d := range decisions {
		results[places[n]] = d
	}
	return results, err
}

// usualLockWait is how long redemptions of a process wait together before each gets its own commit.
const usualLockWait = 100 * time.Millisecond

// redeemValid decides redemptions in one commit. If they wait too long for a lock, each gets a commit
// of its own, so that a pass that stays locked delays only its own redemptions.
func (s *Server) redeemValid(ctx context.Context, company tenant, redemptions []*redemption) ([]decision, error) {
	if len(redemptions) == 1 {
		return s.redeemTogether(ctx, company, redemptions, 0)
	}
	decisions, err := s.redeemTogether(ctx, company, redemptions, s.lockWait)
	if !pg.LockTimedOut(err) {
		return decisions, err
	}
	for i := range redemptions {
		one, err := s.redeemTogether(ctx, company, redemptions[i:i+1], s.lockWait)
		switch {
		case pg.LockTimedOut(err):
			one = []decision{{err: fault.Away(err)}}
		case err != nil:
			return nil, err
		}
		decisions = append(decisions, one...)
	}
	return decisions, nil
}

// redeemTogether decides redemptions in one commit, whose statements wait at most limit for a lock; 0
// means no limit.
func (s *Server) redeemTogether(ctx context.Context, company tenant, redemptions []*redemption, limit time.Duration) (decisions []decision, err error) {
	err = s.store.writeRepeatedly(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		tx.Queue(pg.LimitLockWait(limit))
		decisions, err = s.redeemIn(ctx, tx, company, redemptions)
		return err
	})
	if err != nil && !errors.Is(err, errNothingTaken) {
		return nil, err
	}
	return decisions, nil
}

// errNothingTaken rolls back a transaction that has only read and locked rows, which is cheaper than
// to commit it.
var errNothingTaken = errors.New("no redemption takes credits")

// redeemIn decides redemptions and stores those that take credits.
func (s *Server) redeemIn(ctx context.Context, tx *pg.Tx, company tenant, redemptions []*redemption) ([]decision, error) {
	b, err := s.store.lockBatch(ctx, tx, company.ID, redemptions, s.moment(company))
	if err != nil {
		return nil, err
	}
	at := s.moment(company)
	decisions, taken := b.decide(at, rpc.Caller(ctx))
	if len(taken.redemptions) > 0 {
		if err := s.savePasses(ctx, tx, company, taken.passes, taken.entries); err != nil {
			return nil, err
		}
		tx.Queue(addRedemptions(company.ID, s.clock(company), taken.redemptions...), addItems(company.ID, taken.items))
	}
	var reasons []pg.Query // read after the writes of the batch
	for n, r := range redemptions {
		if decisions[n].refused {
			reasons = append(reasons, reasonOf(company.ID, r, at, &decisions[n].err))
		}
	}
	if len(reasons) > 0 {
		err = tx.Pipeline(ctx, reasons...)
	}
	if err == nil && len(taken.redemptions) == 0 {
		err = errNothingTaken
	}
	return decisions, err
}

// ReturnCredits implements PassService.
func (s *Server) ReturnCredits(ctx context.Context, req *passv1.ReturnCreditsRequest) (*passv1.ReturnCreditsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	r, err := newReturn(req)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ReturnCreditsResponse{}
	err = s.store.writeRepeatedly(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		p, changed, err := s.returnOnce(ctx, tx, company, r)
		resp.RemainingUses, resp.Changed = p.uses(), changed
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// returnOnce returns the credits of a booking, unless they were already returned.
func (s *Server) returnOnce(ctx context.Context, tx *pg.Tx, company tenant, r returnedCredits) (p CustomerPass, changed bool, err error) {
	stored, items, exists, err := s.store.lockRedemption(ctx, tx, company.ID, r.redemption)
	if err != nil {
		return p, false, err
	}
	known := slices.IndexFunc(items, func(i storedItem) bool { return i.Item == r.booking })
	switch {
	case known >= 0 && (stored.CancelledAt != nil || items[known].isReturned()):
		p, err = s.store.lockCustomerPass(ctx, tx, company.ID, items[known].Pass)
		return p, false, err
	case known >= 0:
		p, err = s.returnItems(ctx, tx, company, r.redemption, items[known:known+1])
	case stored.Pass.IsZero() && stored.CancelledAt == nil:
		p, err = s.returnImported(ctx, tx, company, r, exists)
	default:
		err = fault.Missing("redemption item")
	}
	return p, true, err
}

// returnItems returns the credits of items to the pass that paid them, even if it has expired or
// was cancelled.
func (s *Server) returnItems(ctx context.Context, tx *pg.Tx, company tenant, redemption id.Transaction, items []storedItem) (CustomerPass, error) {
	bookings := make([]id.Booking, len(items))
	for n, i := range items {
		bookings[n] = i.Item
	}
	p, err := s.returnTo(ctx, tx, company, items[0].Pass, items)
	if err != nil {
		return p, err
	}
	tx.Queue(returnItems(company.ID, redemption, bookings, s.clock(company)))
	return p, nil
}

// returnImported returns the credits of a booking that was paid in an earlier system, and stores
// the item as taken and returned. The first item adds the redemption.
func (s *Server) returnImported(ctx context.Context, tx *pg.Tx, company tenant, r returnedCredits, exists bool) (CustomerPass, error) {
	pass, err := check.ID[id.CustomerPass](r.pass, "customer pass")
	if err != nil {
		return CustomerPass{}, err
	}
	now := s.clock(company)
	items := []storedItem{{Redemption: r.redemption, Item: r.booking, Pass: pass, Credits: r.credits, Returned: r.credits, ReturnedAt: &now}}
	p, err := s.returnTo(ctx, tx, company, pass, items)
	if err != nil {
		return p, err
	}
	if !exists {
		tx.Queue(addRedemptions(company.ID, now, storedRedemption{ID: r.redemption}))
	}
	tx.Queue(addItems(company.ID, items))
	return p, nil
}

// returnTo adds the credits of items to a pass. Items without credits do not change it.
func (s *Server) returnTo(ctx context.Context, tx *pg.Tx, company tenant, pass id.CustomerPass, items []storedItem) (CustomerPass, error) {
	p, err := s.store.lockCustomerPass(ctx, tx, company.ID, pass)
	if err != nil {
		return p, err
	}
	returned, changed := entries{kind: entryReturned, actor: rpc.Caller(ctx)}, changing(&p)
	for _, i := range items {
		if i.Credits > 0 {
			returned.addItem(&p, i.Credits, i.Redemption, i.Item)
		}
	}
	if len(returned.credits) == 0 {
		return p, nil
	}
	p.expireAtEnd(&returned)
	err = s.savePasses(ctx, tx, company, []change{changed}, returned)
	return p, err
}

// CancelRedemption implements PassService.
func (s *Server) CancelRedemption(ctx context.Context, req *passv1.CancelRedemptionRequest) (*passv1.CancelRedemptionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	redemption, err := id.Parse[id.Transaction](req.GetRedemptionId())
	if err != nil {
		return nil, fault.InvalidFields(fault.Field{Field: "redemption_id", Rule: "format", Message: "must be a txn_ identifier"})
	}
	resp := &passv1.CancelRedemptionResponse{}
	err = s.store.writeRepeatedly(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		resp.Credits, err = s.cancel(ctx, tx, company, redemption, s.clock(company))
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// cancel cancels a redemption and returns the number of credits it returned to the pass.
func (s *Server) cancel(ctx context.Context, tx *pg.Tx, company tenant, redemption id.Transaction, now time.Time) (credits int32, err error) {
	stored, items, exists, err := s.store.lockRedemption(ctx, tx, company.ID, redemption)
	switch {
	case err != nil || stored.CancelledAt != nil:
		return 0, err
	case !exists:
		stored.CancelledAt = &now
		tx.Queue(addRedemptions(company.ID, now, stored))
		return 0, nil
	}
	held := slices.DeleteFunc(items, storedItem.isReturned)
	if len(held) > 0 {
		if _, err := s.returnItems(ctx, tx, company, redemption, held); err != nil {
			return 0, err
		}
	}
	for _, i := range held {
		credits += i.Credits
	}
	tx.Queue(cancelRedemption(company.ID, redemption, now))
	return credits, nil
}
