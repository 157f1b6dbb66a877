package gatewayb

import (
	"context"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

type fakeChanges struct {
	bookingv1.UnimplementedBookingChangeServiceServer
	*fakes
}

func (f fakeChanges) MoveBooking(ctx context.Context, req *bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
	return reply[*bookingv1.MoveBookingResponse](ctx, f.fakes, req)
}
func (f fakeChanges) PreviewMove(ctx context.Context, req *bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
	return reply[*bookingv1.PreviewMoveResponse](ctx, f.fakes, req)
}
func (f fakeChanges) TransferBooking(ctx context.Context, req *bookingv1.TransferBookingRequest) (*bookingv1.TransferBookingResponse, error) {
	return reply[*bookingv1.TransferBookingResponse](ctx, f.fakes, req)
}
func (f fakeChanges) SwapBookings(ctx context.Context, req *bookingv1.SwapBookingsRequest) (*bookingv1.SwapBookingsResponse, error) {
	return reply[*bookingv1.SwapBookingsResponse](ctx, f.fakes, req)
}
func (f fakeChanges) ListBookingHistory(ctx context.Context, req *bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
	return reply[*bookingv1.ListBookingHistoryResponse](ctx, f.fakes, req)
}
