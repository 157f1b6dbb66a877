package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// ListMedia is GET /media.
func (f *facade) ListMedia(ctx context.Context, req *edgebv1.ListMediaRequest) (*edgebv1.ListMediaResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &mediav1.ListMediaItemsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: mediav1.MediaOrder(p.sort),
		Status: edge.QueryEnum[mediav1.MediaStatus](&q, "status", req.Status), Kind: edge.QueryEnum[mediav1.MediaKind](&q, "kind", req.Kind),
		CollectionId: identifier(req.CollectionId), Tag: req.GetTag(),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.media.ListMediaItems(ctx, list))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListMediaResponse{
		Media: edge.Convert(res.GetItems(), resource.MediaItem),
		Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetMediaItem is GET /media/{id}.
func (f *facade) GetMediaItem(ctx context.Context, req *edgebv1.GetMediaItemRequest) (*edgebv1.GetMediaItemResponse, error) {
	res, err := f.media.GetMediaItem(ctx, &mediav1.GetMediaItemRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetMediaItemResponse{Item: resource.MediaItem(edge.Tag(ctx, res.GetItem()))}, nil
}

// CreateMediaItem is POST /media.
func (f *facade) CreateMediaItem(ctx context.Context, req *edgebv1.CreateMediaItemRequest) (*edgebv1.CreateMediaItemResponse, error) {
	create, err := newMediaItem(req.GetItem())
	if err != nil {
		return nil, err
	}
	res, err := f.media.CreateMediaItem(ctx, create)
	if err != nil {
		return nil, err
	}
	return &edgebv1.CreateMediaItemResponse{Item: resource.MediaItem(setCreated(ctx, "media", res.GetItem()))}, nil
}

// UpdateMediaItem is PUT and PATCH /media/{id}.
func (f *facade) UpdateMediaItem(ctx context.Context, req *edgebv1.UpdateMediaItemRequest) (*edgebv1.UpdateMediaItemResponse, error) {
	update, err := mediaItemUpdate(req.GetItem())
	if err != nil {
		return nil, f.missingMediaOr(ctx, req.GetId(), err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.media.UpdateMediaItem(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateMediaItemResponse{Item: resource.MediaItem(edge.Tag(ctx, res.GetItem()))}, nil
}

// DeleteMediaItem is DELETE /media/{id}.
func (f *facade) DeleteMediaItem(ctx context.Context, req *edgebv1.DeleteMediaItemRequest) (*edgebv1.DeleteMediaItemResponse, error) {
	_, err := f.media.DeleteMediaItem(ctx, &mediav1.DeleteMediaItemRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteMediaItemResponse{Id: req.GetId(), Deleted: true}, nil
}

// missingMediaOr is missingEventOr for a media item.
func (f *facade) missingMediaOr(ctx context.Context, id string, wrong error) error {
	_, look := f.media.GetMediaItem(ctx, &mediav1.GetMediaItemRequest{Id: id})
	return missingOr(look, wrong)
}
