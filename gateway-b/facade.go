package gatewayb

import (
	"context"
	"time"

	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// facade answers the operations that go through the generated handlers: one call
// each, with the caller's token, and a conversion.
type facade struct {
	edgebv1.UnimplementedInterfaceBServiceServer
	customers customerv1.CustomerServiceClient
	events    bookingv1.EventServiceClient
	bookings  bookingv1.BookingServiceClient
	passes    passv1.PassServiceClient
	now       func() time.Time
}

// created makes the answer 201 with the address of what was made.
func created(ctx context.Context, collection, id string) {
	edge.Created(ctx, base+"/"+collection+"/"+id)
}

// ListCustomers is GET /customers.
func (f *facade) ListCustomers(ctx context.Context, req *edgebv1.ListCustomersRequest) (*edgebv1.ListCustomersResponse, error) {
	p, err := newPage(parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	if err != nil {
		return nil, err
	}
	archived, err := boolParameter("archived", req.Archived)
	if err != nil {
		return nil, err
	}
	res, err := f.customers.ListCustomers(ctx, &customerv1.ListCustomersRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: customerv1.CustomerOrder(p.sort),
		Archived: archived, Email: req.GetEmail(),
	})
	if err != nil {
		return nil, named(err, listNames())
	}
	out := &edgebv1.ListCustomersResponse{Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: next(res.GetNextPageToken())}
	for _, c := range res.GetCustomers() {
		out.Customers = append(out.Customers, customer(c))
	}
	return out, nil
}

// GetCustomer is GET /customers/{id}.
func (f *facade) GetCustomer(ctx context.Context, req *edgebv1.GetCustomerRequest) (*edgebv1.GetCustomerResponse, error) {
	res, err := f.customers.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, res.GetCustomer().GetVersion())
	return &edgebv1.GetCustomerResponse{Customer: customer(res.GetCustomer())}, nil
}

// CreateCustomer is POST /customers.
func (f *facade) CreateCustomer(ctx context.Context, req *edgebv1.CreateCustomerRequest) (*edgebv1.CreateCustomerResponse, error) {
	in := req.GetCustomer()
	res, err := f.customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{
		FirstName: in.GetFirstName(), LastName: in.GetLastName(), Email: in.GetEmail(), Mobile: in.GetMobile(), Archived: in.GetArchived(),
	})
	if err != nil {
		return nil, named(err, nil)
	}
	edge.SetETag(ctx, res.GetCustomer().GetVersion())
	created(ctx, "customers", res.GetCustomer().GetId())
	return &edgebv1.CreateCustomerResponse{Customer: customer(res.GetCustomer())}, nil
}

// UpdateCustomer is PUT and PATCH /customers/{id}.
func (f *facade) UpdateCustomer(ctx context.Context, req *edgebv1.UpdateCustomerRequest) (*edgebv1.UpdateCustomerResponse, error) {
	update := &customerv1.UpdateCustomerRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)}
	if in := req.GetCustomer(); in != nil {
		update.FirstName, update.LastName, update.Email, update.Mobile, update.Archived = in.FirstName, in.LastName, in.Email, in.Mobile, in.Archived
	}
	res, err := f.customers.UpdateCustomer(ctx, update)
	if err != nil {
		return nil, named(err, nil)
	}
	edge.SetETag(ctx, res.GetCustomer().GetVersion())
	return &edgebv1.UpdateCustomerResponse{Customer: customer(res.GetCustomer())}, nil
}

// DeleteCustomer is DELETE /customers/{id}.
func (f *facade) DeleteCustomer(ctx context.Context, req *edgebv1.DeleteCustomerRequest) (*edgebv1.DeleteCustomerResponse, error) {
	_, err := f.customers.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteCustomerResponse{Id: req.GetId(), Deleted: true}, nil
}
