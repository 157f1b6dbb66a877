package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// ListMediaCollections is GET /media-collections.
func (f *facade) ListMediaCollections(ctx context.Context, req *edgebv1.ListMediaCollectionsRequest) (*edgebv1.ListMediaCollectionsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.media.ListCollections(ctx, &mediav1.ListCollectionsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: mediav1.MediaOrder(p.sort),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListMediaCollectionsResponse{
		MediaCollections: edge.Convert(res.GetCollections(), resource.MediaCollection),
		Total:            res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetMediaCollection is GET /media-collections/{id}.
func (f *facade) GetMediaCollection(ctx context.Context, req *edgebv1.GetMediaCollectionRequest) (*edgebv1.GetMediaCollectionResponse, error) {
	res, err := f.media.GetCollection(ctx, &mediav1.GetCollectionRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetMediaCollectionResponse{Collection: resource.MediaCollection(edge.Tag(ctx, res.GetCollection()))}, nil
}

// CreateMediaCollection is POST /media-collections.
func (f *facade) CreateMediaCollection(ctx context.Context, req *edgebv1.CreateMediaCollectionRequest) (*edgebv1.CreateMediaCollectionResponse, error) {
	res, err := f.media.CreateCollection(ctx, &mediav1.CreateCollectionRequest{
		Title: req.GetCollection().GetTitle(), Description: req.GetCollection().GetDescription(),
	})
	if err != nil {
		return nil, err
	}
	created := setCreated(ctx, "media-collections", res.GetCollection())
	return &edgebv1.CreateMediaCollectionResponse{Collection: resource.MediaCollection(created)}, nil
}

// UpdateMediaCollection is PUT and PATCH /media-collections/{id}.
func (f *facade) UpdateMediaCollection(ctx context.Context, req *edgebv1.UpdateMediaCollectionRequest) (*edgebv1.UpdateMediaCollectionResponse, error) {
	in := edge.OrEmpty(req.GetCollection())
	res, err := f.media.UpdateCollection(ctx, &mediav1.UpdateCollectionRequest{
		Id: req.GetId(), Title: in.Title, Description: in.Description, ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateMediaCollectionResponse{Collection: resource.MediaCollection(edge.Tag(ctx, res.GetCollection()))}, nil
}

// DeleteMediaCollection is DELETE /media-collections/{id}.
func (f *facade) DeleteMediaCollection(ctx context.Context, req *edgebv1.DeleteMediaCollectionRequest) (*edgebv1.DeleteMediaCollectionResponse, error) {
	_, err := f.media.DeleteCollection(ctx, &mediav1.DeleteCollectionRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteMediaCollectionResponse{Id: req.GetId(), Deleted: true}, nil
}
