package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// ListBookings is GET /customer/{id}/bookings.
func (f *facade) ListBookings(ctx context.Context, req *edgeav1.ListBookingsRequest) (*edgeav1.ListBookingsResponse, error) {
	var q edge.Query
	list := &bookingv1.ListTransactionsRequest{
		CustomerId: req.GetId(), Page: q.Int("page", req.Page), PageSize: q.PageSize("pageSize", req.PageSize),
		StartDate: edge.QueryDate(req.StartDate), EndDate: edge.QueryDate(req.EndDate),
	}
	if futureOnly := q.Bool("future_only", req.FutureOnly); futureOnly != nil {
		list.FutureOnly = *futureOnly
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.bookings.ListTransactions(ctx, list)
	if err != nil {
		return nil, err
	}
	data, err := transactions(res.GetTransactions())
	if err != nil {
		return nil, err
	}
	return &edgeav1.ListBookingsResponse{Data: data, Total: res.GetTotal(), Page: res.GetPage(), PageSize: res.GetPageSize()}, nil
}

// GetBooking is GET /customer/{id}/booking/{bookingId}. Despite its name, bookingId is the id of a
// transaction.
func (f *facade) GetBooking(ctx context.Context, req *edgeav1.GetBookingRequest) (*edgeav1.GetBookingResponse, error) {
	res, err := f.bookings.GetTransaction(ctx, &bookingv1.GetTransactionRequest{
		CustomerId: req.GetId(), TransactionId: req.GetBookingId(),
	})
	if err != nil {
		return nil, err
	}
	data, err := transaction(edge.Tag(ctx, res.GetTransaction()))
	if err != nil {
		return nil, err
	}
	return &edgeav1.GetBookingResponse{Data: data}, nil
}
