package pass

import (
	"context"
	"errors"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// errNothingChanged rolls back a transaction that has only read and locked rows.
var errNothingChanged = errors.New("the change is not stored")

// ChangeRedemption implements PassService.
func (s *Server) ChangeRedemption(ctx context.Context, req *passv1.ChangeRedemptionRequest) (*passv1.ChangeRedemptionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	c, err := newRedemptionChange(req)
	if err != nil {
		return nil, err
	}
	var done outcome
	err = s.store.writeRepeatedly(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		done, err = s.changeOnce(ctx, tx, company, c)
		return err
	})
	if err != nil && !errors.Is(err, errNothingChanged) {
		return nil, err
	}
	return &passv1.ChangeRedemptionResponse{CustomerPassId: done.pass.String(), Credits: done.credits, RemainingUses: done.remainingUses}, nil
}

// changeOnce decides a change and stores it, or returns the outcome of the same change with
// errNothingChanged.
func (s *Server) changeOnce(ctx context.Context, tx *pg.Tx, company tenant, c redemptionChange) (done outcome, err error) {
	i, err := s.store.lockItem(ctx, tx, company.ID, c.redemption, c.item.id, c.id)
	if err != nil {
		return done, err
	}
	if err := i.checkChange(c.redemption, c.item.id); err != nil {
		return done, err
	}
	if i.change != nil {
		if done, err = i.repeated(); err == nil {
			err = errNothingChanged
		}
		return done, err
	}
	if err := i.refusal(c); err != nil {
		return done, err
	}
	p, err := s.store.lockPayer(ctx, tx, company.ID, i, c.takes())
	if err != nil {
		return done, err
	}
	credits, err := c.decide(p, s.moment(company))
	if err != nil {
		return done, err
	}
	if c.validateOnly {
		return outcome{pass: p.ID, credits: credits, remainingUses: p.uses()}, errNothingChanged
	}
	before := i.held()
	if err := s.hold(ctx, tx, company, &p.CustomerPass, i.item, credits); err != nil {
		return done, err
	}
	uses := p.uses()
	tx.Queue(addRedemptionChange(company.ID, s.clock(company), storedChange{
		ID: c.id, Redemption: c.redemption, Item: c.item.id, Before: &before, After: &credits, RemainingUses: &uses,
	}))
	return outcome{pass: p.ID, credits: credits, remainingUses: uses}, nil
}

// hold stores the credits that a locked booking holds from now on, and what its pass gives or gets.
func (s *Server) hold(ctx context.Context, tx *pg.Tx, company tenant, p *CustomerPass, i *storedItem, credits int32) error {
	explained, changed := entries{actor: rpc.Caller(ctx)}, changing(p)
	if !p.hold(i, credits, &explained) {
		return nil
	}
	tx.Queue(changeItem(company.ID, *i))
	return s.savePasses(ctx, tx, company, []change{changed}, explained)
}

// CancelRedemptionChange implements PassService.
func (s *Server) CancelRedemptionChange(ctx context.Context, req *passv1.CancelRedemptionChangeRequest) (*passv1.CancelRedemptionChangeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	c, err := newCancelledChange(req)
	if err != nil {
		return nil, err
	}
	resp := &passv1.CancelRedemptionChangeResponse{}
	err = s.store.writeRepeatedly(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		resp.Credits, err = s.cancelChange(ctx, tx, company, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// cancelChange cancels a change, and returns the credits that the booking holds. A change that has not
// arrived is stored as cancelled.
func (s *Server) cancelChange(ctx context.Context, tx *pg.Tx, company tenant, c redemptionChange) (credits int32, err error) {
	i, err := s.store.lockItem(ctx, tx, company.ID, c.redemption, c.item.id, c.id)
	if err != nil {
		return 0, err
	}
	if err := i.checkChange(c.redemption, c.item.id); err != nil {
		return 0, err
	}
	now := s.clock(company)
	switch {
	case i.isReturned():
		return 0, nil
	case i.change == nil:
		tx.Queue(addRedemptionChange(company.ID, now, storedChange{
			ID: c.id, Redemption: c.redemption, Item: c.item.id, CancelledAt: &now, Undone: new(int32),
		}))
		return i.held(), nil
	case i.change.CancelledAt != nil || i.item == nil:
		return i.held(), nil
	}
	undone := *i.change.Before - i.held()
	p, err := s.store.lockPayer(ctx, tx, company.ID, i, undone > 0)
	if err != nil {
		return 0, err
	}
	if refusal := p.refusesCredits(undone, 0); refusal != nil {
		return 0, refusal
	}
	tx.Queue(cancelRedemptionChange(company.ID, c.id, now, undone))
	return *i.change.Before, s.hold(ctx, tx, company, &p.CustomerPass, i.item, *i.change.Before)
}
