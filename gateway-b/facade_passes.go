package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// ListPasses is GET /passes.
func (f *facade) ListPasses(ctx context.Context, req *edgebv1.ListPassesRequest) (*edgebv1.ListPassesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	plans := q.Bool("includePlans", req.IncludePlans)
	list := &passv1.ListPassTypesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: passv1.PassOrder(p.sort),
		Status: edge.QueryEnum[passv1.PassTypeStatus](&q, "status", req.Status), OfPlans: plans != nil && *plans,
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.passes.ListPassTypes(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListPassesResponse{
		Passes: edge.Convert(res.GetPassTypes(), resource.Pass),
		Total:  res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetPass is GET /passes/{id}.
func (f *facade) GetPass(ctx context.Context, req *edgebv1.GetPassRequest) (*edgebv1.GetPassResponse, error) {
	res, err := f.passes.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetPassResponse{Pass: resource.Pass(edge.Tag(ctx, res.GetPassType()))}, nil
}

// CreatePass is POST /passes.
func (f *facade) CreatePass(ctx context.Context, req *edgebv1.CreatePassRequest) (*edgebv1.CreatePassResponse, error) {
	create, err := newPassType(req.GetPass())
	if err != nil {
		return nil, err
	}
	res, err := f.passes.CreatePassType(ctx, create)
	if err != nil {
		return nil, err
	}
	return &edgebv1.CreatePassResponse{Pass: resource.Pass(setCreated(ctx, "passes", res.GetPassType()))}, nil
}

// UpdatePass is PUT and PATCH /passes/{id}.
func (f *facade) UpdatePass(ctx context.Context, req *edgebv1.UpdatePassRequest) (*edgebv1.UpdatePassResponse, error) {
	update, err := passTypeUpdate(req.GetPass())
	if err != nil {
		_, look := f.passes.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.passes.UpdatePassType(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdatePassResponse{Pass: resource.Pass(edge.Tag(ctx, res.GetPassType()))}, nil
}

// ListCustomerPasses is GET /customer-passes.
func (f *facade) ListCustomerPasses(ctx context.Context, req *edgebv1.ListCustomerPassesRequest) (*edgebv1.ListCustomerPassesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &passv1.ListCustomerPassesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: passv1.PassOrder(p.sort),
		Status:     edge.QueryEnum[passv1.CustomerPassStatus](&q, "status", req.Status),
		CustomerId: identifier(req.CustomerId), PassTypeId: identifier(req.PassId),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.passes.ListCustomerPasses(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListCustomerPassesResponse{
		CustomerPasses: edge.Convert(res.GetCustomerPasses(), resource.CustomerPass),
		Total:          res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetCustomerPass is GET /customer-passes/{id}.
func (f *facade) GetCustomerPass(ctx context.Context, req *edgebv1.GetCustomerPassRequest) (*edgebv1.GetCustomerPassResponse, error) {
	res, err := f.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetCustomerPassResponse{CustomerPass: resource.CustomerPass(edge.Tag(ctx, res.GetCustomerPass()))}, nil
}

// CreateCustomerPass is POST /customer-passes.
func (f *facade) CreateCustomerPass(ctx context.Context, req *edgebv1.CreateCustomerPassRequest) (*edgebv1.CreateCustomerPassResponse, error) {
	assign, err := newCustomerPass(req.GetCustomerPass())
	if err != nil {
		return nil, err
	}
	res, err := f.passes.AssignCustomerPass(ctx, assign)
	if err != nil {
		return nil, renameFields(err, map[string]string{"purchase.gross": "payment.amount", "purchase": "payment"})
	}
	return &edgebv1.CreateCustomerPassResponse{CustomerPass: resource.CustomerPass(setCreated(ctx, "customer-passes", res.GetCustomerPass()))}, nil
}

// UpdateCustomerPass is PUT and PATCH /customer-passes/{id}.
func (f *facade) UpdateCustomerPass(ctx context.Context, req *edgebv1.UpdateCustomerPassRequest) (*edgebv1.UpdateCustomerPassResponse, error) {
	update, err := customerPassUpdate(req.GetCustomerPass())
	if err != nil {
		_, look := f.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.passes.UpdateCustomerPass(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateCustomerPassResponse{CustomerPass: resource.CustomerPass(edge.Tag(ctx, res.GetCustomerPass()))}, nil
}

// ledgerOrders is how many of sorts the ledger supports: oldest and newest first.
const ledgerOrders = 2

// ListLedger is GET /customer-passes/{id}/ledger.
func (f *facade) ListLedger(ctx context.Context, req *edgebv1.ListLedgerRequest) (*edgebv1.ListLedgerResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor, sort: req.Sort}, ledgerOrders)
	if err := q.Err(); err != nil {
		_, look := f.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	res, err := f.passes.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{
		CustomerPassId: req.GetId(), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), Descending: p.sort != orderCreated,
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListLedgerResponse{
		Ledger: edge.Convert(res.GetEntries(), resource.LedgerEntry),
		Total:  res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}
