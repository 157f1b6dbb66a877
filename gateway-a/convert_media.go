package gatewaya

import (
	"reservation.dev/platform/enum"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// typeMedia is the value of type for media on Interface A.
const typeMedia = "media"

func media(m *mediav1.CustomerMedia, c clock) *edgeav1.Media {
	item := m.GetItem()
	out := &edgeav1.Media{
		Id: item.GetId(), Type: typeMedia, Title: item.GetTitle(), Description: item.GetDescription(), Kind: enum.Name(item.GetKind()), Tags: item.GetTags(),
		CollectionIds: item.GetCollectionIds(), CoverUrl: optional(item.GetCover().GetUrl()), Reason: mediaReason(m.GetReason()),
		CreatedAt: c.local(item.GetCreatedAt()), UpdatedAt: c.local(item.GetUpdatedAt()), Tz: c.name,
	}
	if item.GetDurationSeconds() > 0 {
		out.DurationSeconds = &item.DurationSeconds
	}
	if f := item.GetFile(); f != nil {
		out.File = &edgeav1.MediaFile{Name: f.GetName(), ContentType: f.GetContentType(), Size: f.GetSize(), UploadedAt: c.local(f.GetUploadedAt())}
	}
	if p := m.GetProgress(); p != nil {
		out.Progress = &edgeav1.MediaProgress{PositionSeconds: p.GetPositionSeconds(), Completed: p.GetCompleted(), UpdatedAt: c.local(p.GetUpdatedAt())}
	}
	return out
}

func mediaReason(r *mediav1.MediaReason) *edgeav1.MediaReason {
	out := &edgeav1.MediaReason{
		Type: "given", EntitlementId: optional(r.GetEntitlementId()), CustomerPassId: optional(r.GetCustomerPassId()),
		SubscriptionId: optional(r.GetSubscriptionId()), BookingId: optional(r.GetBookingId()), LastDay: optional(r.GetLastDay()),
	}
	switch {
	case out.CustomerPassId != nil:
		out.Type = typePass
	case out.SubscriptionId != nil:
		out.Type = typeSubscription
	case out.BookingId != nil:
		out.Type = "booking"
	}
	return out
}
