package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// facade answers the operations that go through the generated handlers: one
// call each, with the caller's token, and a conversion.
type facade struct {
	edgeav1.UnimplementedInterfaceAServiceServer
	customers customerv1.CustomerServiceClient
	bookings  bookingv1.BookingServiceClient
}

// profileNames are the services' field names as Interface A has them.
var profileNames = map[string]string{"first_name": "firstname", "last_name": "lastname"}

// listNames are the parameters of the bookings list as Interface A has them.
var listNames = map[string]string{"page_size": "pageSize", "start_date": "startDate", "end_date": "endDate"}

// GetProfile is GET /customer/{id}/profile.
func (f *facade) GetProfile(ctx context.Context, req *edgeav1.GetProfileRequest) (*edgeav1.GetProfileResponse, error) {
	res, err := f.customers.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, res.GetCustomer().GetVersion())
	return &edgeav1.GetProfileResponse{Data: profile(res.GetCustomer())}, nil
}

// UpdateProfile is PUT /customer/{id}/profile. The interface requires the three
// fields that the service would leave unchanged when they are not sent, so they
// are always sent; the service says what is wrong with an empty one.
func (f *facade) UpdateProfile(ctx context.Context, req *edgeav1.UpdateProfileRequest) (*edgeav1.UpdateProfileResponse, error) {
	firstName, lastName, email := req.GetProfile().GetFirstname(), req.GetProfile().GetLastname(), req.GetProfile().GetEmail()
	update := &customerv1.UpdateCustomerRequest{
		Id: req.GetId(), FirstName: &firstName, LastName: &lastName, Email: &email,
		ExpectedVersion: edge.ExpectedVersion(ctx),
	}
	if req.GetProfile() != nil {
		update.Mobile = req.GetProfile().Mobile
	}
	res, err := f.customers.UpdateCustomer(ctx, update)
	if err != nil {
		return nil, fault.From(err).Rename(profileNames)
	}
	edge.SetETag(ctx, res.GetCustomer().GetVersion())
	return &edgeav1.UpdateProfileResponse{Message: "the customer's profile was updated"}, nil
}

// ListBookings is GET /customer/{id}/bookings.
func (f *facade) ListBookings(ctx context.Context, req *edgeav1.ListBookingsRequest) (*edgeav1.ListBookingsResponse, error) {
	page, err := edge.QueryInt("page", req.Page)
	if err != nil {
		return nil, err
	}
	pageSize, err := edge.QueryPageSize("pageSize", req.PageSize)
	if err != nil {
		return nil, err
	}
	futureOnly, err := edge.QueryBool("future_only", req.FutureOnly)
	if err != nil {
		return nil, err
	}
	res, err := f.bookings.ListTransactions(ctx, &bookingv1.ListTransactionsRequest{
		CustomerId: req.GetId(), Page: page, PageSize: pageSize, FutureOnly: futureOnly,
		StartDate: edge.QueryDate(req.StartDate), EndDate: edge.QueryDate(req.EndDate),
	})
	if err != nil {
		return nil, fault.From(err).Rename(listNames)
	}
	out := &edgeav1.ListBookingsResponse{
		Data:  make([]*edgeav1.Transaction, 0, len(res.GetTransactions())),
		Total: res.GetTotal(), Page: res.GetPage(), PageSize: res.GetPageSize(),
	}
	for _, t := range res.GetTransactions() {
		converted, err := transaction(t)
		if err != nil {
			return nil, err
		}
		out.Data = append(out.Data, converted)
	}
	return out, nil
}

// GetBooking is GET /customer/{id}/booking/{bookingId}; the identifier is the
// transaction's.
func (f *facade) GetBooking(ctx context.Context, req *edgeav1.GetBookingRequest) (*edgeav1.GetBookingResponse, error) {
	res, err := f.bookings.GetTransaction(ctx, &bookingv1.GetTransactionRequest{
		CustomerId: req.GetId(), TransactionId: req.GetBookingId(),
	})
	if err != nil {
		return nil, err
	}
	converted, err := transaction(res.GetTransaction())
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, res.GetTransaction().GetVersion())
	return &edgeav1.GetBookingResponse{Data: converted}, nil
}
