package pass

import (
	"context"
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
	kinds, when, err := eligibilityOf(req, today)
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
	for i := range passes {
		if passes[i].refuses(kinds, req.GetCredits(), when) == nil {
			resp.CustomerPasses = append(resp.CustomerPasses, customerPassMessage(passes[i].CustomerPass, today))
		}
	}
	return resp, nil
}

// RedeemCredits implements PassService.
func (s *Server) RedeemCredits(ctx context.Context, req *passv1.RedeemCreditsRequest) (*passv1.RedeemCreditsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	r, err := newRedemption(req)
	if err != nil {
		return nil, err
	}
	var stored storedRedemption
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		stored, err = s.redeemOnce(ctx, tx, company, &r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &passv1.RedeemCreditsResponse{
		CustomerPassId: stored.Pass.String(), Credits: stored.Credits, RemainingUses: stored.RemainingUses,
	}, nil
}

// redeemOnce takes the credits of a redemption, or returns the result of an earlier request. It
// claims the redemption's row first, so that repeated requests wait for each other.
func (s *Server) redeemOnce(ctx context.Context, tx *pg.Tx, company tenant, r *redemption) (storedRedemption, error) {
	stored, isNew, err := s.store.claim(ctx, tx, company.ID, r.id, pg.Instant(s.now()))
	switch {
	case err != nil:
		return stored, err
	case stored.CancelledAt != nil:
		return stored, fault.Refuse(ReasonRedemptionCancelled, "the redemption was cancelled")
	case isNew:
		return s.redeem(ctx, tx, company, r)
	case stored.Pass.IsZero():
		return stored, fault.Refuse(ReasonRedemptionCancelled, "the redemption was made in an earlier system")
	}
	return stored, nil
}

// redeem takes the credits of a claimed redemption.
func (s *Server) redeem(ctx context.Context, tx *pg.Tx, company tenant, r *redemption) (storedRedemption, error) {
	when := r.period(s.today(company))
	passes, err := s.store.lockCandidates(ctx, tx, company.ID, r, when)
	if err != nil {
		return storedRedemption{}, err
	}
	p, refusal := pick(passes, r.eventTypes(), r.credits(), when)
	if refusal != nil {
		return storedRedemption{}, s.refusal(ctx, tx, company, r)
	}
	taken := entries{kind: entryRedeemed, actor: rpc.Caller(ctx)}
	items := make([]storedItem, len(r.items))
	for n, i := range r.items {
		items[n] = storedItem{Item: i.id, Credits: i.credits}
		if i.credits > 0 {
			p.RemainingUses -= i.credits
			taken.add(-i.credits, p.RemainingUses, r.id, i.id)
		}
	}
	stored := storedRedemption{ID: r.id, Pass: p.ID, Credits: r.credits(), RemainingUses: p.RemainingUses}
	return stored, s.savePass(ctx, tx, company, &p.CustomerPass, taken,
		saveRedemption(company.ID, stored), addItems(company.ID, r.id, p.ID, items))
}

// refusal returns why neither the pass in the request nor, if there is none, any pass of the
// customer can pay.
func (s *Server) refusal(ctx context.Context, tx *pg.Tx, company tenant, r *redemption) error {
	passes, err := s.store.candidatesIn(ctx, tx, company.ID, r)
	if err != nil {
		return err
	}
	if !r.pass.IsZero() {
		if len(passes) == 0 {
			return fault.Missing("customer pass")
		}
		if passes[0].CustomerID != r.customer {
			return fault.Refuse(ReasonPassNotApplicable, "the pass belongs to another customer")
		}
	}
	_, refusal := pick(passes, r.eventTypes(), r.credits(), r.period(s.today(company)))
	if refusal == nil {
		// Credits were returned after the passes were read.
		refusal = fault.Refuse(ReasonPassExhausted, "the pass does not have that many uses left")
	}
	return refusal
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
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		p, changed, err := s.returnOnce(ctx, tx, company, r)
		resp.RemainingUses, resp.Changed = p.RemainingUses, changed
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// returnOnce returns the credits of a booking, unless they were already returned.
func (s *Server) returnOnce(ctx context.Context, tx *pg.Tx, company tenant, r returnedCredits) (p CustomerPass, changed bool, err error) {
	stored, isNew, err := s.store.claim(ctx, tx, company.ID, r.redemption, pg.Instant(s.now()))
	if err != nil {
		return p, false, err
	}
	items, err := s.store.items(ctx, tx, company.ID, r.redemption)
	if err != nil {
		return p, false, err
	}
	known := slices.IndexFunc(items, func(i storedItem) bool { return i.Item == r.booking })
	switch {
	case known >= 0 && items[known].Credits != r.credits:
		err = fault.InvalidFields(fault.Field{Field: "credits", Rule: "equal", Message: "must be the credits that the booking took"})
	case known >= 0 && items[known].Returned == items[known].Credits:
		p, err = s.store.lockCustomerPass(ctx, tx, company.ID, items[known].Pass)
		return p, false, err
	case known >= 0:
		p, err = s.returnItems(ctx, tx, company, r.redemption, items[known:known+1])
	case isNew || stored.Pass.IsZero() && stored.CancelledAt == nil:
		p, err = s.returnImported(ctx, tx, company, r)
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
	return s.returnTo(ctx, tx, company, items[0].Pass, redemption, items, returnItems(company.ID, redemption, bookings))
}

// returnImported returns the credits of a booking that was paid in an earlier system, and stores
// the item as taken and returned.
func (s *Server) returnImported(ctx context.Context, tx *pg.Tx, company tenant, r returnedCredits) (CustomerPass, error) {
	pass, err := check.ID[id.CustomerPass](r.pass, "customer pass")
	if err != nil {
		return CustomerPass{}, err
	}
	items := []storedItem{{Item: r.booking, Credits: r.credits, Returned: r.credits}}
	return s.returnTo(ctx, tx, company, pass, r.redemption, items, addItems(company.ID, r.redemption, pass, items))
}

// returnTo adds the credits of items to a pass and runs one more statement.
func (s *Server) returnTo(ctx context.Context, tx *pg.Tx, company tenant, pass id.CustomerPass, redemption id.Transaction, items []storedItem, more pg.Query) (CustomerPass, error) {
	p, err := s.store.lockCustomerPass(ctx, tx, company.ID, pass)
	if err != nil {
		return p, err
	}
	returned := entries{kind: entryReturned, actor: rpc.Caller(ctx)}
	for _, i := range items {
		if i.Credits > 0 {
			p.RemainingUses += i.Credits
			returned.add(i.Credits, p.RemainingUses, redemption, i.Item)
		}
	}
	err = s.savePass(ctx, tx, company, &p, returned, more)
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
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		resp.Credits, err = s.cancel(ctx, tx, company, redemption, pg.Instant(s.now()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// cancel cancels a redemption and returns the number of credits it returned to the pass.
func (s *Server) cancel(ctx context.Context, tx *pg.Tx, company tenant, redemption id.Transaction, now time.Time) (credits int32, err error) {
	stored, _, err := s.store.claim(ctx, tx, company.ID, redemption, now)
	if err != nil || stored.CancelledAt != nil {
		return 0, err
	}
	items, err := s.store.items(ctx, tx, company.ID, redemption)
	if err != nil {
		return 0, err
	}
	held := slices.DeleteFunc(items, func(i storedItem) bool { return i.Returned == i.Credits })
	if len(held) > 0 {
		if _, err := s.returnItems(ctx, tx, company, redemption, held); err != nil {
			return 0, err
		}
	}
	for _, i := range held {
		credits += i.Credits
	}
	stored.CancelledAt = &now
	return credits, tx.Pipeline(ctx, saveRedemption(company.ID, stored))
}
