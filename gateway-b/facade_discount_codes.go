package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListDiscountCodes is GET /discount-codes.
func (f *facade) ListDiscountCodes(ctx context.Context, req *edgebv1.ListDiscountCodesRequest) (*edgebv1.ListDiscountCodesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.discounts.ListDiscountCodes(ctx, &bookingv1.ListDiscountCodesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.DiscountOrder(p.sort),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListDiscountCodesResponse{
		DiscountCodes: edge.Convert(res.GetDiscountCodes(), resource.DiscountCode),
		Total:         res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetDiscountCode is GET /discount-codes/{id}.
func (f *facade) GetDiscountCode(ctx context.Context, req *edgebv1.GetDiscountCodeRequest) (*edgebv1.GetDiscountCodeResponse, error) {
	res, err := f.discounts.GetDiscountCode(ctx, &bookingv1.GetDiscountCodeRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetDiscountCodeResponse{DiscountCode: resource.DiscountCode(edge.Tag(ctx, res.GetDiscountCode()))}, nil
}

// CreateDiscountCode is POST /discount-codes.
func (f *facade) CreateDiscountCode(ctx context.Context, req *edgebv1.CreateDiscountCodeRequest) (*edgebv1.CreateDiscountCodeResponse, error) {
	create, err := newDiscountCode(req.GetDiscountCode())
	if err != nil {
		return nil, err
	}
	res, err := f.discounts.CreateDiscountCode(ctx, create)
	if err != nil {
		return nil, renameFields(err, discountNames())
	}
	return &edgebv1.CreateDiscountCodeResponse{DiscountCode: resource.DiscountCode(setCreated(ctx, "discount-codes", res.GetDiscountCode()))}, nil
}

// UpdateDiscountCode is PUT and PATCH /discount-codes/{id}.
func (f *facade) UpdateDiscountCode(ctx context.Context, req *edgebv1.UpdateDiscountCodeRequest) (*edgebv1.UpdateDiscountCodeResponse, error) {
	update, err := discountCodeUpdate(req.GetDiscountCode())
	if err != nil {
		_, look := f.discounts.GetDiscountCode(ctx, &bookingv1.GetDiscountCodeRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.discounts.UpdateDiscountCode(ctx, update)
	if err != nil {
		return nil, renameFields(err, discountNames())
	}
	return &edgebv1.UpdateDiscountCodeResponse{DiscountCode: resource.DiscountCode(edge.Tag(ctx, res.GetDiscountCode()))}, nil
}
