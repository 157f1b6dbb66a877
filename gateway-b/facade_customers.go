package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// maxSearchTotal is the highest total of a search, because counting all matches would cost as much as
// reading them.
const maxSearchTotal = 10_000

// ListCustomers is GET /customers.
func (f *facade) ListCustomers(ctx context.Context, req *edgebv1.ListCustomersRequest) (*edgebv1.ListCustomersResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &customerv1.ListCustomersRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: customerv1.CustomerOrder(p.sort),
		Archived: q.Bool("archived", req.Archived), Email: req.GetEmail(),
		Query: req.GetQ(),
	}
	if req.Q != nil {
		list.TotalLimit = maxSearchTotal
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.customers.ListCustomers(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListCustomersResponse{
		Customers: edge.Convert(res.GetCustomers(), resource.Customer),
		Total:     res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetCustomer is GET /customers/{id}.
func (f *facade) GetCustomer(ctx context.Context, req *edgebv1.GetCustomerRequest) (*edgebv1.GetCustomerResponse, error) {
	c, err := f.single.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetCustomerResponse{Customer: resource.Customer(edge.Tag(ctx, c))}, nil
}

// CreateCustomer is POST /customers.
func (f *facade) CreateCustomer(ctx context.Context, req *edgebv1.CreateCustomerRequest) (*edgebv1.CreateCustomerResponse, error) {
	res, err := f.customers.CreateCustomer(ctx, newCustomer(req.GetCustomer()))
	if err != nil {
		return nil, err
	}
	return &edgebv1.CreateCustomerResponse{Customer: resource.Customer(setCreated(ctx, "customers", res.GetCustomer()))}, nil
}

// UpdateCustomer is PUT and PATCH /customers/{id}.
func (f *facade) UpdateCustomer(ctx context.Context, req *edgebv1.UpdateCustomerRequest) (*edgebv1.UpdateCustomerResponse, error) {
	update := customerUpdate(req.GetCustomer())
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.customers.UpdateCustomer(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateCustomerResponse{Customer: resource.Customer(edge.Tag(ctx, res.GetCustomer()))}, nil
}

// DeleteCustomer is DELETE /customers/{id}.
func (f *facade) DeleteCustomer(ctx context.Context, req *edgebv1.DeleteCustomerRequest) (*edgebv1.DeleteCustomerResponse, error) {
	_, err := f.customers.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteCustomerResponse{Id: req.GetId(), Deleted: true}, nil
}
