package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// ListPlans is GET /plans.
func (f *facade) ListPlans(ctx context.Context, req *edgebv1.ListPlansRequest) (*edgebv1.ListPlansResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &subscriptionv1.ListPlansRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: subscriptionv1.PlanOrder(p.sort),
		Status: edge.QueryEnum[subscriptionv1.PlanStatus](&q, "status", req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.plans.ListPlans(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListPlansResponse{
		Plans: edge.Convert(res.GetPlans(), resource.Plan),
		Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetPlan is GET /plans/{id}.
func (f *facade) GetPlan(ctx context.Context, req *edgebv1.GetPlanRequest) (*edgebv1.GetPlanResponse, error) {
	res, err := f.plans.GetPlan(ctx, &subscriptionv1.GetPlanRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetPlanResponse{Plan: resource.Plan(edge.Tag(ctx, res.GetPlan()))}, nil
}

// CreatePlan is POST /plans.
func (f *facade) CreatePlan(ctx context.Context, req *edgebv1.CreatePlanRequest) (*edgebv1.CreatePlanResponse, error) {
	create, err := newPlan(req.GetPlan())
	if err != nil {
		return nil, err
	}
	res, err := f.plans.CreatePlan(ctx, create)
	if err != nil {
		return nil, err
	}
	return &edgebv1.CreatePlanResponse{Plan: resource.Plan(setCreated(ctx, "plans", res.GetPlan()))}, nil
}

// UpdatePlan is PUT and PATCH /plans/{id}.
func (f *facade) UpdatePlan(ctx context.Context, req *edgebv1.UpdatePlanRequest) (*edgebv1.UpdatePlanResponse, error) {
	update, err := planUpdate(req.GetPlan())
	if err != nil {
		_, look := f.plans.GetPlan(ctx, &subscriptionv1.GetPlanRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.plans.UpdatePlan(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdatePlanResponse{Plan: resource.Plan(edge.Tag(ctx, res.GetPlan()))}, nil
}
