package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// ListMedia is GET /customer/{id}/media.
func (f *facade) ListMedia(ctx context.Context, req *edgeav1.ListMediaRequest) (*edgeav1.ListMediaResponse, error) {
	var q edge.Query
	p := newPage(&q, req.Page, req.PageSize)
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.media.ListCustomerMedia(ctx, &mediav1.ListCustomerMediaRequest{CustomerId: req.GetId(), PageSize: p.size, Offset: p.offset()})
	if err != nil {
		return nil, err
	}
	clock := companyClock(ctx)
	return &edgeav1.ListMediaResponse{
		Data:  edge.Convert(res.GetMedia(), func(m *mediav1.CustomerMedia) *edgeav1.Media { return media(m, clock) }),
		Total: res.GetTotal(), Page: p.number, PageSize: p.size,
	}, nil
}

// GetMedia is GET /customer/{id}/media/{mediaId}. An item that the customer cannot play is not found, as it
// is not in the list.
func (f *facade) GetMedia(ctx context.Context, req *edgeav1.GetMediaRequest) (*edgeav1.GetMediaResponse, error) {
	res, err := f.media.GetCustomerMedia(ctx, &mediav1.GetCustomerMediaRequest{CustomerId: req.GetId(), ItemId: req.GetMediaId()})
	if err != nil {
		return nil, err
	}
	if res.GetMedia().GetReason() == nil {
		return nil, fault.Missing("media item")
	}
	return &edgeav1.GetMediaResponse{Data: media(res.GetMedia(), companyClock(ctx))}, nil
}
