package pass

import (
	"context"
	"slices"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// ListEligiblePasses implements PassService.
func (s *Server) ListEligiblePasses(ctx context.Context, req *passv1.ListEligiblePassesRequest) (*passv1.ListEligiblePassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var c checks
	kinds := c.eventTypes("event_types", req.GetEventTypes())
	c.between("credits", int64(req.GetCredits()), 0, maxUses)
	days := c.days("days", req.GetDays())
	if err := c.err(); err != nil {
		return nil, err
	}
	customer, err := id.Parse[id.Customer](req.GetCustomerId())
	if err != nil { // it has no passes, like one that does not exist
		return &passv1.ListEligiblePassesResponse{}, nil
	}
	passes, err := s.store.candidates(ctx, company.ID, customer)
	if err != nil {
		return nil, err
	}
	choose(passes)
	now := s.now()
	when := periodOf(days, dayOf(now, company.Zone))
	resp := &passv1.ListEligiblePassesResponse{}
	for i := range passes {
		if passes[i].refuses(kinds, req.GetCredits(), when) == nil {
			resp.CustomerPasses = append(resp.CustomerPasses, customerPassMessage(passes[i].CustomerPass, now, company.Zone))
		}
	}
	return resp, nil
}

// RedeemCredits implements PassService. The redemption's row is claimed first, so
// that repetitions wait for each other and the second finds what the first did.
func (s *Server) RedeemCredits(ctx context.Context, req *passv1.RedeemCreditsRequest) (*passv1.RedeemCreditsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	r, err := newRedemption(req)
	if err != nil {
		return nil, err
	}
	var resp *passv1.RedeemCreditsResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		stored, made, err := s.store.claim(ctx, tx, company.ID, r.id, instant(s.now()))
		if err != nil {
			return err
		}
		if stored.CancelledAt != nil {
			return fault.Refuse(ReasonRedemptionCancelled, "the redemption was cancelled")
		}
		if made {
			if stored, err = s.redeem(ctx, tx, company, &r); err != nil {
				return err
			}
		} else if stored.Pass.IsZero() {
			return fault.Refuse(ReasonRedemptionCancelled, "the redemption is of an earlier system")
		}
		resp = &passv1.RedeemCreditsResponse{
			CustomerPassId: stored.Pass.String(), Credits: stored.Credits, RemainingUses: stored.RemainingUses,
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// redeem takes the credits of a redemption that was claimed.
func (s *Server) redeem(ctx context.Context, tx *pg.Tx, company Company, r *redemption) (storedRedemption, error) {
	when := r.period(dayOf(s.now(), company.Zone))
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

// refusal says why none of the customer's passes, or not the one named, can pay.
func (s *Server) refusal(ctx context.Context, tx *pg.Tx, company Company, r *redemption) error {
	passes, err := s.store.candidatesIn(ctx, tx, company.ID, r)
	if err != nil {
		return err
	}
	if !r.pass.IsZero() {
		if len(passes) == 0 {
			return fault.Missing("customer pass")
		}
		if passes[0].CustomerID != r.customer {
			return fault.Refuse(ReasonPassNotApplicable, "the pass is another customer's")
		}
	}
	_, refusal := pick(passes, r.eventTypes(), r.credits(), r.period(dayOf(s.now(), company.Zone)))
	if refusal == nil {
		// It could pay by now: somebody gave credits back since it was looked at.
		refusal = fault.Refuse(ReasonPassExhausted, "the pass does not have that many uses left")
	}
	return refusal
}

// savePass stores a changed pass with its ledger entries and publishes it, in one
// round trip with more statements.
func (s *Server) savePass(ctx context.Context, tx *pg.Tx, company Company, p *CustomerPass, e entries, more ...pg.Query) error {
	p.Version++
	p.UpdatedAt = instant(s.now())
	told, err := s.outbox.Query(ctx, tx, customerPassUpdated(company.ID, customerPassMessage(*p, s.now(), company.Zone)))
	if err != nil {
		return err
	}
	return tx.Pipeline(ctx, append(append(saveCustomerPass(company.ID, *p, e), more...), told)...)
}

// ReturnCredits implements PassService.
func (s *Server) ReturnCredits(ctx context.Context, req *passv1.ReturnCreditsRequest) (*passv1.ReturnCreditsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	redemption, err := id.Parse[id.Transaction](req.GetRedemptionId())
	if err != nil {
		return nil, fault.Missing("redemption")
	}
	booking, err := id.Parse[id.Booking](req.GetReturnId())
	if err != nil {
		return nil, fault.InvalidFields(fault.Field{Field: "return_id", Rule: "format", Message: "must be a booking_ identifier"})
	}
	var c checks
	c.between("credits", int64(req.GetCredits()), 0, maxUses)
	if err := c.err(); err != nil {
		return nil, err
	}
	var resp *passv1.ReturnCreditsResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.ReturnCreditsResponse{}
		stored, made, err := s.store.claim(ctx, tx, company.ID, redemption, instant(s.now()))
		if err != nil {
			return err
		}
		items, err := s.store.items(ctx, tx, company.ID, redemption)
		if err != nil {
			return err
		}
		known := slices.IndexFunc(items, func(i storedItem) bool { return i.Item == booking })
		switch {
		case known >= 0 && items[known].Credits != req.GetCredits():
			return fault.InvalidFields(fault.Field{Field: "credits", Rule: "equal", Message: "must be what the booking took"})
		case known >= 0 && items[known].Returned == items[known].Credits:
			p, err := s.store.lockCustomerPass(ctx, tx, company.ID, items[known].Pass)
			resp.RemainingUses = p.RemainingUses
			return err
		case known >= 0:
			p, err := s.giveBack(ctx, tx, company, redemption, items[known:known+1])
			resp.RemainingUses, resp.Changed = p.RemainingUses, true
			return err
		case made || stored.Pass.IsZero() && stored.CancelledAt == nil:
			p, err := s.returnImported(ctx, tx, company, redemption, storedItem{Item: booking, Credits: req.GetCredits()}, req.GetCustomerPassId())
			resp.RemainingUses, resp.Changed = p.RemainingUses, true
			return err
		}
		return fault.Missing("redemption item")
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// giveBack returns the credits of items that were taken from one pass, whatever
// has become of it.
func (s *Server) giveBack(ctx context.Context, tx *pg.Tx, company Company, redemption id.Transaction, items []storedItem) (CustomerPass, error) {
	p, err := s.store.lockCustomerPass(ctx, tx, company.ID, items[0].Pass)
	if err != nil {
		return p, err
	}
	returned := entries{kind: entryReturned, actor: rpc.Caller(ctx)}
	bookings := make([]id.Booking, len(items))
	for n, i := range items {
		bookings[n] = i.Item
		if i.Credits > 0 {
			p.RemainingUses += i.Credits
			returned.add(i.Credits, p.RemainingUses, redemption, i.Item)
		}
	}
	err = s.savePass(ctx, tx, company, &p, returned, returnItems(company.ID, redemption, bookings))
	return p, err
}

// returnImported gives the credits of a booking back that was paid in an earlier
// system, and keeps it as taken and returned.
func (s *Server) returnImported(ctx context.Context, tx *pg.Tx, company Company, redemption id.Transaction, i storedItem, pass string) (CustomerPass, error) {
	to, err := id.Parse[id.CustomerPass](pass)
	if err != nil {
		return CustomerPass{}, fault.Missing("customer pass")
	}
	p, err := s.store.lockCustomerPass(ctx, tx, company.ID, to)
	if err != nil {
		return p, err
	}
	returned := entries{kind: entryReturned, actor: rpc.Caller(ctx)}
	if i.Credits > 0 {
		p.RemainingUses += i.Credits
		returned.add(i.Credits, p.RemainingUses, redemption, i.Item)
	}
	i.Returned = i.Credits
	err = s.savePass(ctx, tx, company, &p, returned, addItems(company.ID, redemption, p.ID, []storedItem{i}))
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
	var resp *passv1.CancelRedemptionResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.CancelRedemptionResponse{}
		now := instant(s.now())
		stored, _, err := s.store.claim(ctx, tx, company.ID, redemption, now)
		if err != nil || stored.CancelledAt != nil {
			return err
		}
		items, err := s.store.items(ctx, tx, company.ID, redemption)
		if err != nil {
			return err
		}
		held := slices.DeleteFunc(items, func(i storedItem) bool { return i.Returned == i.Credits })
		if len(held) > 0 {
			if _, err := s.giveBack(ctx, tx, company, redemption, held); err != nil {
				return err
			}
			for _, i := range held {
				resp.Credits += i.Credits
			}
		}
		stored.CancelledAt = &now
		return tx.Pipeline(ctx, saveRedemption(company.ID, stored))
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// AdjustCredits implements PassService.
func (s *Server) AdjustCredits(ctx context.Context, req *passv1.AdjustCreditsRequest) (*passv1.AdjustCreditsResponse, error) {
	company, pass, err := named[id.CustomerPass](ctx, s, req.GetCustomerPassId(), "customer pass")
	if err != nil {
		return nil, err
	}
	var c checks
	c.between("credits", int64(req.GetCredits()), -maxUses, maxUses)
	if req.GetCredits() == 0 {
		c.add("credits", "required", "must not be 0")
	}
	if req.GetReason() == "" {
		c.add("reason", "required", "is required")
	}
	c.text("reason", req.GetReason(), maxReason)
	if err := c.err(); err != nil {
		return nil, err
	}
	var resp *passv1.AdjustCreditsResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.AdjustCreditsResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			p, err := s.store.lockCustomerPass(ctx, tx, company.ID, pass)
			if err != nil {
				return err
			}
			uses := p.RemainingUses + req.GetCredits()
			if uses < 0 {
				return fault.Refuse(ReasonPassExhausted, "the pass does not have that many uses left")
			}
			if uses > maxUses {
				return fault.InvalidFields(fault.Field{Field: "credits", Rule: "range", Message: "would give the pass more than 100000 uses"})
			}
			p, err = s.change(ctx, tx, company, p, passChange{uses: &uses}, req.GetReason())
			resp.CustomerPass = customerPassMessage(p, s.now(), company.Zone)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// UpdateCustomerPass implements PassService.
func (s *Server) UpdateCustomerPass(ctx context.Context, req *passv1.UpdateCustomerPassRequest) (*passv1.UpdateCustomerPassResponse, error) {
	company, pass, err := named[id.CustomerPass](ctx, s, req.GetId(), "customer pass")
	if err != nil {
		return nil, err
	}
	change, err := newPassChange(req)
	if err != nil {
		// A pass that does not exist is the greater fault.
		if _, missing := s.store.customerPass(ctx, company.ID, pass); missing != nil {
			return nil, missing
		}
		return nil, err
	}
	var resp *passv1.UpdateCustomerPassResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.UpdateCustomerPassResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			p, err := s.store.lockCustomerPass(ctx, tx, company.ID, pass)
			if err != nil {
				return err
			}
			if err := expect(p.Version, req.ExpectedVersion, "customer pass"); err != nil {
				return err
			}
			p, err = s.change(ctx, tx, company, p, change, req.GetReason())
			resp.CustomerPass = customerPassMessage(p, s.now(), company.Zone)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// change applies a change to a locked pass. What changes nothing stores nothing.
func (s *Server) change(ctx context.Context, tx *pg.Tx, company Company, p CustomerPass, c passChange, reason string) (CustomerPass, error) {
	changed, credits, err := p.apply(c, dayOf(s.now(), company.Zone))
	if err != nil || !changed {
		return p, err
	}
	adjusted := entries{kind: entryAdjusted, actor: rpc.Caller(ctx), reason: &reason}
	erased, err := privacy.Erased(ctx, tx, company.ID, p.CustomerID)
	if err != nil {
		return p, err
	}
	if erased { // whatever it says is about somebody
		adjusted.reason = nil
	}
	if credits != 0 {
		adjusted.add(credits, p.RemainingUses, id.Transaction{}, id.Booking{})
	}
	err = s.savePass(ctx, tx, company, &p, adjusted)
	return p, err
}

// expect refuses a change of what has changed since the caller read it.
func expect(version int64, expected *int64, what string) error {
	if expected == nil || *expected == version {
		return nil
	}
	return fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the "+what+" has changed since it was read")
}
