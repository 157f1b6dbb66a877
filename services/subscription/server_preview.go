package subscription

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// PreviewPlanChange implements SubscriptionService.
func (s *Server) PreviewPlanChange(ctx context.Context, req *subscriptionv1.PreviewPlanChangeRequest) (resp *subscriptionv1.PreviewPlanChangeResponse, err error) {
	now, plan, err := planChangeOf(req.GetWhen(), req.GetPlanId())
	if err != nil {
		return nil, err
	}
	left := s.creditsIf(ctx, true, req.GetId())
	err = s.preview(ctx, req.GetId(), func(a acting) error {
		in, err := s.planChange(a, now, plan, left)
		if err != nil {
			return err
		}
		p, err := a.PreviewPlanChange(a.Clock, in)
		resp = planChangeMessage(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// PreviewCancellation implements SubscriptionService.
func (s *Server) PreviewCancellation(ctx context.Context, req *subscriptionv1.PreviewCancellationRequest) (resp *subscriptionv1.PreviewCancellationResponse, err error) {
	now, err := isNow("when", req.GetWhen())
	if err != nil {
		return nil, err
	}
	left := s.creditsIf(ctx, now && req.GetProrate(), req.GetId())
	err = s.preview(ctx, req.GetId(), func(a acting) error {
		credits, err := left.of(a.View())
		if err != nil {
			return err
		}
		p, err := a.PreviewCancellation(a.Clock, model.CancelRequest{
			Now: now, Prorate: req.GetProrate(), WaiveTerm: req.GetWaiveMinimumTerm(), CreditsLeft: credits,
		})
		resp = cancellationMessage(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// preview makes the steps that are due, without a lock, and decides as an action would. It stores nothing.
func (s *Server) preview(ctx context.Context, identifier string, decide func(a acting) error) error {
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	subscription, err := check.ID[id.Subscription](identifier, "subscription")
	if err != nil {
		return err
	}
	return s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		r, err := s.store.readRecord(ctx, tx, company.ID, subscription)
		if err != nil {
			return err
		}
		a, err := s.acting(ctx, tx, company, r)
		if err != nil {
			return err
		}
		if _, err := s.advance(ctx, tx, company, r, a.Now, maxSteps); err != nil {
			return err
		}
		if a.NextPlan, err = s.nextPlan(ctx, tx, company.ID, r); err != nil {
			return err
		}
		return decide(a)
	})
}
