package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// ListCustomerMedia is GET /customers/{id}/media.
func (f *facade) ListCustomerMedia(ctx context.Context, req *edgebv1.ListCustomerMediaRequest) (*edgebv1.ListCustomerMediaResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 0)
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.media.ListCustomerMedia(ctx, &mediav1.ListCustomerMediaRequest{
		CustomerId: req.GetId(), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListCustomerMediaResponse{
		Media: edge.Convert(res.GetMedia(), resource.CustomerMedia),
		Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetCustomerMedia is GET /customers/{id}/media/{mediaId}.
func (f *facade) GetCustomerMedia(ctx context.Context, req *edgebv1.GetCustomerMediaRequest) (*edgebv1.GetCustomerMediaResponse, error) {
	res, err := f.media.GetCustomerMedia(ctx, &mediav1.GetCustomerMediaRequest{CustomerId: req.GetId(), ItemId: req.GetMediaId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetCustomerMediaResponse{Media: resource.CustomerMedia(res.GetMedia())}, nil
}

// CreatePlaybackLink is POST /media/{id}/playback-links. The created resource is the address, which cannot
// be read again, because it is a credential.
func (f *facade) CreatePlaybackLink(ctx context.Context, req *edgebv1.CreatePlaybackLinkRequest) (*edgebv1.CreatePlaybackLinkResponse, error) {
	create, err := newPlaybackLink(req.GetId(), req.GetLink())
	if err != nil {
		return nil, f.missingMediaOr(ctx, req.GetId(), err)
	}
	res, err := f.media.CreatePlaybackLink(ctx, create)
	if err != nil {
		return nil, err
	}
	edge.Created(ctx, res.GetUrl())
	return &edgebv1.CreatePlaybackLinkResponse{Link: resource.PlaybackLink(res)}, nil
}

// RecordProgress is PUT /media/{id}/progress.
func (f *facade) RecordProgress(ctx context.Context, req *edgebv1.RecordProgressRequest) (*edgebv1.RecordProgressResponse, error) {
	record, err := progress(req.GetId(), req.GetProgress())
	if err != nil {
		return nil, f.missingMediaOr(ctx, req.GetId(), err)
	}
	res, err := f.media.RecordProgress(ctx, record)
	if err != nil {
		return nil, err
	}
	return &edgebv1.RecordProgressResponse{Progress: resource.MediaProgress(res.GetProgress())}, nil
}
