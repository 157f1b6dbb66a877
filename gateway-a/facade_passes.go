package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// ListPasses is GET /customer/{id}/passes.
func (f *facade) ListPasses(ctx context.Context, req *edgeav1.ListPassesRequest) (*edgeav1.ListPassesResponse, error) {
	var q edge.Query
	p := newPage(&q, req.Page, req.PageSize)
	list := &passv1.ListCustomerPassesRequest{
		CustomerId: req.GetId(), CustomerMustExist: true, PageSize: p.size, Offset: p.offset(),
		Status: edge.QueryEnum[passv1.CustomerPassStatus](&q, "status", req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.passes.ListCustomerPasses(ctx, list)
	if err != nil {
		return nil, err
	}
	clock := companyClock(ctx)
	return &edgeav1.ListPassesResponse{
		Data:  edge.Convert(res.GetCustomerPasses(), func(p *passv1.CustomerPass) *edgeav1.Pass { return pass(p, clock) }),
		Total: res.GetTotal(), Page: p.number, PageSize: p.size,
	}, nil
}

// GetPass is GET /customer/{id}/pass/{passId}.
func (f *facade) GetPass(ctx context.Context, req *edgeav1.GetPassRequest) (*edgeav1.GetPassResponse, error) {
	res, err := f.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: req.GetPassId(), CustomerId: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgeav1.GetPassResponse{Data: pass(edge.Tag(ctx, res.GetCustomerPass()), companyClock(ctx))}, nil
}
