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
	reasonHoldConfirmed    = "HOLD_CONFIRMED"
	reasonHoldExpired      = "HOLD_EXPIRED"
	reasonHoldNotConfirmed = "HOLD_NOT_CONFIRMED"
)

// CreateHold is POST /holds.
func (f *facade) CreateHold(ctx context.Context, req *edgebv1.CreateHoldRequest) (*edgebv1.CreateHoldResponse, error) {
	create, err := newHold(req.GetHold())
	if err != nil {
		return nil, err
	}
	res, err := f.bookings.HoldPlaces(ctx, create)
	if err != nil {
		return nil, renameFields(err, transactionNames(nil))
	}
	made := resource.Hold(edge.Tag(ctx, res.GetHold()), companyCurrency(ctx))
	edge.Created(ctx, base+"/holds/"+made.GetId())
	return &edgebv1.CreateHoldResponse{Hold: made}, nil
}

// GetHold is GET /holds/{id}.
func (f *facade) GetHold(ctx context.Context, req *edgebv1.GetHoldRequest) (*edgebv1.GetHoldResponse, error) {
	res, err := f.bookings.GetHold(ctx, &bookingv1.GetHoldRequest{HoldId: resource.HoldTransactionID(req.GetId())})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetHoldResponse{Hold: resource.Hold(edge.Tag(ctx, res.GetHold()), companyCurrency(ctx))}, nil
}

// ConfirmHold is POST /holds/{id}/confirm.
func (f *facade) ConfirmHold(ctx context.Context, req *edgebv1.ConfirmHoldRequest) (*edgebv1.ConfirmHoldResponse, error) {
	var b body
	confirm := &bookingv1.ConfirmHoldRequest{HoldId: resource.HoldTransactionID(req.GetId()), ExpectedVersion: edge.ExpectedVersion(ctx)}
	confirm.PaymentMethod, confirm.CustomerPassId, confirm.PaymentReference = b.payment(req.GetConfirmation().GetPayment())
	if err := b.Err(); err != nil {
		_, look := f.bookings.GetHold(ctx, &bookingv1.GetHoldRequest{HoldId: confirm.GetHoldId()})
		return nil, missingOr(look, err)
	}
	res, err := f.bookings.ConfirmHold(ctx, confirm)
	if err != nil {
		return nil, renameFields(err, paymentNames(req.GetConfirmation().GetPayment()))
	}
	if res.GetAlreadyConfirmed() {
		return nil, fault.Refuse(reasonHoldConfirmed, "the hold is already confirmed")
	}
	return &edgebv1.ConfirmHoldResponse{Transaction: taggedTransaction(ctx, res.GetTransaction())}, nil
}

// DeleteHold is DELETE /holds/{id}.
func (f *facade) DeleteHold(ctx context.Context, req *edgebv1.DeleteHoldRequest) (*edgebv1.DeleteHoldResponse, error) {
	res, err := f.bookings.ReleaseHold(ctx, &bookingv1.ReleaseHoldRequest{
		HoldId: resource.HoldTransactionID(req.GetId()), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonHoldExpired, "the hold has already ended, and its spots are free")
	}
	return &edgebv1.DeleteHoldResponse{Id: req.GetId(), Deleted: true, Status: resource.StatusReleased}, nil
}
