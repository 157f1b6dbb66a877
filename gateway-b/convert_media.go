package gatewayb

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// newMediaItem converts the body of POST /media.
func newMediaItem(in *edgebv1.MediaItemWrite) (*mediav1.CreateMediaItemRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &mediav1.CreateMediaItemRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), Kind: value[mediav1.MediaKind](&b, "kind", in.Kind),
		DurationSeconds: b.duration(in), Tags: in.GetTags().GetValues(), CollectionIds: in.GetCollectionIds().GetValues(), Reference: in.GetReference(),
	}
	if in.Status != nil && in.GetStatus() != enum.Name(mediav1.MediaStatus_MEDIA_STATUS_DRAFT) {
		b.Add("status", "enum", "must be draft for a new item")
	}
	return out, b.Err()
}

// duration converts a duration, which is null if it is not known. The service would treat 0 as unknown.
func (b *body) duration(in *edgebv1.MediaItemWrite) int32 {
	if d := in.GetDurationSeconds(); d != nil && d.Value != nil && d.GetValue() < 1 {
		b.Add("durationSeconds", "min", "must be 1 or more, or null")
	}
	return in.GetDurationSeconds().GetValue()
}

// mediaItemUpdate converts the body of PUT /media/{id}. kind and reference do not change, so they are
// ignored.
func mediaItemUpdate(in *edgebv1.MediaItemWrite) (*mediav1.UpdateMediaItemRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &mediav1.UpdateMediaItemRequest{
		Title: in.Title, Description: in.Description, Status: value[mediav1.MediaStatus](&b, "status", in.Status),
	}
	if in.GetDurationSeconds() != nil {
		seconds := b.duration(in)
		out.DurationSeconds = &seconds
	}
	if tags := in.GetTags(); tags != nil {
		out.Tags = &mediav1.MediaTags{Values: tags.GetValues()}
	}
	if collections := in.GetCollectionIds(); collections != nil {
		out.CollectionIds = &mediav1.CollectionIds{Values: collections.GetValues()}
	}
	return out, b.Err()
}

// newUpload converts the body of POST /media/{id}/uploads.
func newUpload(item string, in *edgebv1.UploadWrite) (*mediav1.CreateUploadRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("fileName", in.GetFileName())
	b.required("contentType", in.GetContentType())
	if in.Size == nil {
		b.required("size", "")
	}
	return &mediav1.CreateUploadRequest{
		ItemId: item, Purpose: value[mediav1.UploadPurpose](&b, "purpose", in.Purpose), FileName: in.GetFileName(),
		ContentType: in.GetContentType(), Size: in.GetSize(), Sha256: in.GetSha256(),
	}, b.Err()
}

// newEntitlement converts the body of POST /media-entitlements.
func newEntitlement(in *edgebv1.MediaEntitlementWrite) (*mediav1.CreateEntitlementRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.notEmpty("lastDay", in.LastDay)
	return &mediav1.CreateEntitlementRequest{
		CollectionId: identifier(in.CollectionId), ItemId: identifier(in.MediaId), PassTypeId: identifier(in.PassId),
		PlanId: identifier(in.PlanId), EventId: identifier(in.EventId), CustomerId: identifier(in.CustomerId), LastDay: in.GetLastDay(),
	}, b.Err()
}

// newPlaybackLink converts the body of POST /media/{id}/playback-links.
func newPlaybackLink(item string, in *edgebv1.PlaybackLinkWrite) (*mediav1.CreatePlaybackLinkRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("customerId", in.GetCustomerId())
	if in.Minutes != nil && in.GetMinutes() < 1 { // the service would treat 0 as absent
		b.Add("minutes", "min", "must be 1 or more")
	}
	return &mediav1.CreatePlaybackLinkRequest{ItemId: item, CustomerId: in.GetCustomerId(), Minutes: in.GetMinutes()}, b.Err()
}

// progress converts the body of PUT /media/{id}/progress.
func progress(item string, in *edgebv1.ProgressWrite) (*mediav1.RecordProgressRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("customerId", in.GetCustomerId())
	if in.PositionSeconds == nil {
		b.required("positionSeconds", "")
	}
	return &mediav1.RecordProgressRequest{
		ItemId: item, CustomerId: in.GetCustomerId(), PositionSeconds: in.GetPositionSeconds(), Completed: in.GetCompleted(),
	}, b.Err()
}
