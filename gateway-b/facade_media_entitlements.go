package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// entitlementOrders is how many of sorts the list of entitlements supports: oldest and newest first.
// Entitlements do not change.
const entitlementOrders = 2

// ListMediaEntitlements is GET /media-entitlements.
func (f *facade) ListMediaEntitlements(ctx context.Context, req *edgebv1.ListMediaEntitlementsRequest) (*edgebv1.ListMediaEntitlementsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor, sort: req.Sort}, entitlementOrders)
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.media.ListEntitlements(ctx, &mediav1.ListEntitlementsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), Order: mediav1.MediaOrder(p.sort),
		CollectionId: identifier(req.CollectionId), ItemId: identifier(req.MediaId), CustomerId: identifier(req.CustomerId),
	}))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListMediaEntitlementsResponse{
		MediaEntitlements: edge.Convert(res.GetEntitlements(), resource.MediaEntitlement),
		Total:             res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetMediaEntitlement is GET /media-entitlements/{id}.
func (f *facade) GetMediaEntitlement(ctx context.Context, req *edgebv1.GetMediaEntitlementRequest) (*edgebv1.GetMediaEntitlementResponse, error) {
	res, err := f.media.GetEntitlement(ctx, &mediav1.GetEntitlementRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetMediaEntitlementResponse{Entitlement: resource.MediaEntitlement(res.GetEntitlement())}, nil
}

// CreateMediaEntitlement is POST /media-entitlements.
func (f *facade) CreateMediaEntitlement(ctx context.Context, req *edgebv1.CreateMediaEntitlementRequest) (*edgebv1.CreateMediaEntitlementResponse, error) {
	create, err := newEntitlement(req.GetEntitlement())
	if err != nil {
		return nil, err
	}
	res, err := f.media.CreateEntitlement(ctx, create)
	if err != nil {
		return nil, err
	}
	edge.Created(ctx, base+"/media-entitlements/"+res.GetEntitlement().GetId())
	return &edgebv1.CreateMediaEntitlementResponse{Entitlement: resource.MediaEntitlement(res.GetEntitlement())}, nil
}

// DeleteMediaEntitlement is DELETE /media-entitlements/{id}.
func (f *facade) DeleteMediaEntitlement(ctx context.Context, req *edgebv1.DeleteMediaEntitlementRequest) (*edgebv1.DeleteMediaEntitlementResponse, error) {
	if _, err := f.media.DeleteEntitlement(ctx, &mediav1.DeleteEntitlementRequest{Id: req.GetId()}); err != nil {
		return nil, err
	}
	return &edgebv1.DeleteMediaEntitlementResponse{Id: req.GetId(), Deleted: true}, nil
}
