package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// CreateUpload is POST /media/{id}/uploads.
func (f *facade) CreateUpload(ctx context.Context, req *edgebv1.CreateUploadRequest) (*edgebv1.CreateUploadResponse, error) {
	create, err := newUpload(req.GetId(), req.GetUpload())
	if err != nil {
		return nil, f.missingMediaOr(ctx, req.GetId(), err)
	}
	res, err := f.media.CreateUpload(ctx, create)
	if err != nil {
		return nil, err
	}
	edge.Created(ctx, base+"/media/"+req.GetId()+"/uploads/"+res.GetUpload().GetId())
	return &edgebv1.CreateUploadResponse{Upload: resource.Upload(res.GetUpload())}, nil
}

// GetUpload is GET /media/{id}/uploads/{uploadId}.
func (f *facade) GetUpload(ctx context.Context, req *edgebv1.GetUploadRequest) (*edgebv1.GetUploadResponse, error) {
	res, err := f.media.GetUpload(ctx, &mediav1.GetUploadRequest{ItemId: req.GetId(), UploadId: req.GetUploadId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetUploadResponse{Upload: resource.Upload(res.GetUpload())}, nil
}

// CompleteUpload is POST /media/{id}/uploads/{uploadId}/complete.
func (f *facade) CompleteUpload(ctx context.Context, req *edgebv1.CompleteUploadRequest) (*edgebv1.CompleteUploadResponse, error) {
	res, err := f.media.CompleteUpload(ctx, &mediav1.CompleteUploadRequest{ItemId: req.GetId(), UploadId: req.GetUploadId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.CompleteUploadResponse{Upload: resource.Upload(res.GetUpload())}, nil
}

// CancelUpload is DELETE /media/{id}/uploads/{uploadId}.
func (f *facade) CancelUpload(ctx context.Context, req *edgebv1.CancelUploadRequest) (*edgebv1.CancelUploadResponse, error) {
	_, err := f.media.CancelUpload(ctx, &mediav1.CancelUploadRequest{ItemId: req.GetId(), UploadId: req.GetUploadId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.CancelUploadResponse{Id: req.GetUploadId(), Deleted: true}, nil
}
