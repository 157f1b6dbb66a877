package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

const (
	reasonAlreadyMoved       = "ALREADY_MOVED"
	reasonAlreadyTransferred = "ALREADY_TRANSFERRED"
)

// MoveRegistration is POST /registrations/{id}/move.
func (f *facade) MoveRegistration(ctx context.Context, req *edgebv1.MoveRegistrationRequest) (*edgebv1.MoveRegistrationResponse, error) {
	move, err := newMove(req.GetMove())
	if err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	move.BookingId, move.ExpectedVersion = resource.BookingID(req.GetId()), edge.ExpectedVersion(ctx)
	res, err := f.changes.MoveBooking(ctx, move)
	if err != nil {
		return nil, changeFault(ctx, err)
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyMoved, "the registration already is as requested")
	}
	return &edgebv1.MoveRegistrationResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// PreviewMove is GET /registrations/{id}/move-preview.
func (f *facade) PreviewMove(ctx context.Context, req *edgebv1.PreviewMoveRequest) (*edgebv1.PreviewMoveResponse, error) {
	preview, err := movePreview(req)
	if err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	res, err := f.changes.PreviewMove(ctx, preview)
	if err != nil {
		return nil, changeFault(ctx, err)
	}
	if !res.GetUnchanged() {
		return resource.MovePreview(res.GetOutcome(), companyCurrency(ctx)), nil
	}
	now, err := f.bookings.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: preview.GetBookingId()})
	if err != nil {
		return nil, registrationFault(err)
	}
	return resource.NoMove(now.GetRegistration().GetBooking(), companyCurrency(ctx)), nil
}

// TransferRegistration is POST /registrations/{id}/transfer.
func (f *facade) TransferRegistration(ctx context.Context, req *edgebv1.TransferRegistrationRequest) (*edgebv1.TransferRegistrationResponse, error) {
	transfer, err := newTransfer(req.GetTransfer())
	if err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	transfer.BookingId, transfer.ExpectedVersion = resource.BookingID(req.GetId()), edge.ExpectedVersion(ctx)
	res, err := f.changes.TransferBooking(ctx, transfer)
	if err != nil {
		return nil, changeFault(ctx, err)
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyTransferred, "the customer already has the registration in this way")
	}
	return &edgebv1.TransferRegistrationResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// SwapRegistrations is POST /registrations/{id}/swap.
func (f *facade) SwapRegistrations(ctx context.Context, req *edgebv1.SwapRegistrationsRequest) (*edgebv1.SwapRegistrationsResponse, error) {
	swap, err := newSwap(req.GetSwap())
	if err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	swap.BookingId, swap.ExpectedVersion = resource.BookingID(req.GetId()), edge.ExpectedVersion(ctx)
	res, err := f.changes.SwapBookings(ctx, swap)
	if err != nil {
		return nil, changeFault(ctx, err)
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyMoved, "both registrations have the same date and the same pricing option")
	}
	return &edgebv1.SwapRegistrationsResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// ListHistory is GET /registrations/{id}/history.
func (f *facade) ListHistory(ctx context.Context, req *edgebv1.ListHistoryRequest) (*edgebv1.ListHistoryResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 0)
	if err := q.Err(); err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	res, err := f.changes.ListBookingHistory(ctx, &bookingv1.ListBookingHistoryRequest{
		BookingId: resource.BookingID(req.GetId()), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(),
	})
	if err != nil {
		return nil, registrationFault(err)
	}
	return &edgebv1.ListHistoryResponse{
		History: edge.Convert(res.GetEntries(), resource.HistoryEntry),
		Total:   res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}
