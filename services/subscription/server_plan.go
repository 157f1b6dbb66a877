package subscription

import (
	"context"
	"slices"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// CreatePlan implements PlanService.
func (s *Server) CreatePlan(ctx context.Context, req *subscriptionv1.CreatePlanRequest) (*subscriptionv1.CreatePlanResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := model.NewPlan(newPlanInput(req), company.Currency)
	if err == nil {
		err = s.requireCollections(ctx, company.ID, p.Collections)
	}
	if err != nil {
		return nil, err
	}
	p.ID, p.CreatedAt = id.Plan(s.newID()), s.clock(company)
	p.UpdatedAt = p.CreatedAt
	row := planRow{Plan: p, HasPassType: p.Bookings != model.BookingsNone}
	resp := &subscriptionv1.CreatePlanResponse{}
	resp, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.Plan = planMessage(row)
		addPlan(tx, company.ID, row, s.syncDue())
		tx.AfterCommit(func() { s.syncPlanNow(ctx, company, row) })
		return s.outbox.Append(ctx, tx, planCreated(company.ID, resp.GetPlan()))
	})
	return resp, err
}

// GetPlan implements PlanService.
func (s *Server) GetPlan(ctx context.Context, req *subscriptionv1.GetPlanRequest) (*subscriptionv1.GetPlanResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := check.ID[id.Plan](req.GetId(), "plan")
	if err != nil {
		return nil, err
	}
	read := s.store.plan
	if seesOnlyCatalog(ctx) {
		read = s.store.catalogPlan
	}
	p, err := read(ctx, company.ID, plan)
	if err != nil {
		return nil, err
	}
	return &subscriptionv1.GetPlanResponse{Plan: planMessage(p)}, nil
}

// ListPlans implements PlanService.
func (s *Server) ListPlans(ctx context.Context, req *subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pageOf[subscriptionv1.PlanOrder](req)
	if err != nil {
		return nil, err
	}
	f, err := planFilterOf(req)
	if err != nil {
		return nil, err
	}
	f.catalog = seesOnlyCatalog(ctx)
	plans, total, err := s.store.listPlans(ctx, company.ID, f, p)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.ListPlansResponse{Total: total}
	plans, resp.NextPageToken = page.Cut(p, plans, func(n *planRow) page.Cursor { return page.At(sortedBy(p, n.CreatedAt, n.UpdatedAt), n.ID.UUID()) })
	for _, n := range plans {
		resp.Plans = append(resp.Plans, planMessage(n))
	}
	return resp, nil
}

// UpdatePlan implements PlanService.
func (s *Server) UpdatePlan(ctx context.Context, req *subscriptionv1.UpdatePlanRequest) (*subscriptionv1.UpdatePlanResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := check.ID[id.Plan](req.GetId(), "plan")
	if err != nil {
		return nil, err
	}
	if err := s.requireNewCollections(ctx, company.ID, plan, req.GetMediaCollectionIds().GetValues()); err != nil {
		return nil, err
	}
	resp := &subscriptionv1.UpdatePlanResponse{}
	resp, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		p, err := s.updatePlan(ctx, tx, company, plan, req)
		resp.Plan = planMessage(p)
		return err
	})
	return resp, err
}

// requireNewCollections is requireCollections for those that a plan does not have yet. So a plan keeps a
// collection that was deleted. Malformed identifiers are reported with the other faults of the change.
func (s *Server) requireNewCollections(ctx context.Context, company id.Company, plan id.Plan, requested []string) error {
	if len(requested) == 0 {
		return nil
	}
	p, err := s.store.plan(ctx, company, plan)
	if err != nil {
		return err
	}
	var added []id.Collection
	for _, text := range requested {
		if c, err := id.Parse[id.Collection](text); err == nil && !slices.Contains(p.Collections, c) {
			added = append(added, c)
		}
	}
	return s.requireCollections(ctx, company, added)
}

// requireCollections returns fault.NotFound unless the media service has all of the collections.
func (s *Server) requireCollections(ctx context.Context, company id.Company, collections []id.Collection) error {
	if len(collections) == 0 {
		return nil
	}
	missing, err := s.media.Missing(ctx, company, collections)
	if err == nil && missing {
		err = fault.Missing("media collection")
	}
	return err
}

func (s *Server) updatePlan(ctx context.Context, tx *pg.Tx, company tenant, plan id.Plan, req *subscriptionv1.UpdatePlanRequest) (planRow, error) {
	before, err := s.store.lockPlan(ctx, tx, company.ID, plan)
	if err != nil {
		return before, err
	}
	if err := check.Version(before.Version, req.ExpectedVersion, "plan"); err != nil {
		return before, err
	}
	changed, err := before.Changed(planChanges(req))
	if err != nil || changed.Equal(before.Plan) {
		return before, err
	}
	if changed.Currency != before.Currency {
		if err := s.checkCurrency(ctx, tx, company, plan); err != nil {
			return before, err
		}
	}
	p := planRow{Plan: changed, HasPassType: before.HasPassType || changed.Bookings != model.BookingsNone}
	p.Version++
	p.UpdatedAt = s.clock(company)
	savePlan(tx, company.ID, p, s.syncDue())
	tx.AfterCommit(func() { s.syncPlanNow(ctx, company, p) })
	return p, s.outbox.Append(ctx, tx, planUpdated(company.ID, planMessage(p)))
}

// checkCurrency refuses to change the currency of a plan while subscriptions are to change to it, because a
// subscription keeps its currency.
func (s *Server) checkCurrency(ctx context.Context, tx *pg.Tx, company tenant, plan id.Plan) error {
	isScheduled, err := s.store.isScheduled(ctx, tx, company.ID, plan)
	if err == nil && isScheduled {
		err = fault.InvalidFields(fault.Field{
			Field: "currency", Rule: "in_use", Message: "cannot change while a subscription is scheduled to change to the plan",
		})
	}
	return err
}
