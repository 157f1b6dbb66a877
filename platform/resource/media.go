package resource

import (
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// MediaItem converts a media item.
func MediaItem(m *mediav1.MediaItem) *edgebv1.MediaItem {
	return &edgebv1.MediaItem{
		Id: m.GetId(), Title: m.GetTitle(), Description: m.GetDescription(), Kind: enum.Name(m.GetKind()), DurationSeconds: limit(m.GetDurationSeconds()),
		Tags: m.GetTags(), Status: enum.Name(m.GetStatus()), File: mediaFile(m.GetFile()), Cover: mediaFile(m.GetCover()),
		CollectionIds: m.GetCollectionIds(), Reference: nullableText(m.GetReference()), CreatedAt: utc(m.GetCreatedAt()), UpdatedAt: utc(m.GetUpdatedAt()),
	}
}

// mediaFile converts a file or cover, or returns nil if there is none.
func mediaFile(f *mediav1.MediaFile) *edgebv1.MediaFile {
	if f == nil {
		return nil
	}
	out := &edgebv1.MediaFile{Name: f.GetName(), ContentType: f.GetContentType(), Size: f.GetSize(), Sha256: f.GetSha256(), UploadedAt: utc(f.GetUploadedAt())}
	if f.GetUrl() != "" {
		out.Url = &f.Url
	}
	return out
}

// Upload converts an upload.
func Upload(u *mediav1.Upload) *edgebv1.Upload {
	return &edgebv1.Upload{
		Id: u.GetId(), MediaId: u.GetItemId(), Purpose: enum.Name(u.GetPurpose()), Status: enum.Name(u.GetStatus()), FileName: u.GetFileName(),
		ContentType: u.GetContentType(), Size: u.GetSize(), PartSize: u.GetPartSize(), PartCount: u.GetPartCount(), ReceivedParts: u.GetReceivedParts(),
		PartUrl: u.GetPartUrl(), ExpiresAt: utc(u.GetExpiresAt()), Error: nullableText(u.GetError()),
	}
}

// MediaCollection converts a collection.
func MediaCollection(c *mediav1.Collection) *edgebv1.MediaCollection {
	return &edgebv1.MediaCollection{
		Id: c.GetId(), Title: c.GetTitle(), Description: c.GetDescription(), ItemCount: c.GetItemCount(),
		CreatedAt: utc(c.GetCreatedAt()), UpdatedAt: utc(c.GetUpdatedAt()),
	}
}

// MediaEntitlement converts an entitlement.
func MediaEntitlement(e *mediav1.Entitlement) *edgebv1.MediaEntitlement {
	return &edgebv1.MediaEntitlement{
		Id: e.GetId(), CollectionId: nullableText(e.GetCollectionId()), MediaId: nullableText(e.GetItemId()), PassId: nullableText(e.GetPassTypeId()),
		PlanId: nullableText(e.GetPlanId()), EventId: nullableText(e.GetEventId()), CustomerId: nullableText(e.GetCustomerId()),
		LastDay: nullableText(e.GetLastDay()), CreatedAt: utc(e.GetCreatedAt()),
	}
}

// CustomerMedia converts an item as a customer sees it.
func CustomerMedia(m *mediav1.CustomerMedia) *edgebv1.CustomerMedia {
	item := MediaItem(m.GetItem())
	out := &edgebv1.CustomerMedia{
		Id: item.GetId(), Title: item.GetTitle(), Description: item.GetDescription(), Kind: item.GetKind(), DurationSeconds: item.GetDurationSeconds(),
		Tags: item.GetTags(), Status: item.GetStatus(), File: item.GetFile(), Cover: item.GetCover(), CollectionIds: item.GetCollectionIds(),
		Reference: item.GetReference(), CreatedAt: item.GetCreatedAt(), UpdatedAt: item.GetUpdatedAt(), Reason: MediaReason(m.GetReason()),
	}
	if p := m.GetProgress(); p != nil {
		out.Progress = MediaProgress(p)
	}
	return out
}

// MediaReason converts the reason for which a customer can play an item, or returns nil if there is none.
func MediaReason(r *mediav1.MediaReason) *edgebv1.MediaReason {
	if r == nil {
		return nil
	}
	return &edgebv1.MediaReason{
		Type: reasonType(r), EntitlementId: nullableText(r.GetEntitlementId()), CustomerPassId: nullableText(r.GetCustomerPassId()),
		SubscriptionId: nullableText(r.GetSubscriptionId()), RegistrationId: nullableText(RegistrationID(r.GetBookingId())), LastDay: nullableText(r.GetLastDay()),
	}
}

// reasonType returns what entitles the customer.
func reasonType(r *mediav1.MediaReason) string {
	switch {
	case r.GetCustomerPassId() != "":
		return "pass"
	case r.GetSubscriptionId() != "":
		return "subscription"
	case r.GetBookingId() != "":
		return "registration"
	}
	return "given"
}

// MediaProgress converts how far a customer has watched an item.
func MediaProgress(p *mediav1.MediaProgress) *edgebv1.MediaProgress {
	return &edgebv1.MediaProgress{PositionSeconds: p.GetPositionSeconds(), Completed: p.GetCompleted(), UpdatedAt: utc(p.GetUpdatedAt())}
}

// PlaybackLink converts the address at which a customer can play an item.
func PlaybackLink(l *mediav1.CreatePlaybackLinkResponse) *edgebv1.PlaybackLink {
	return &edgebv1.PlaybackLink{Url: l.GetUrl(), ExpiresAt: utc(l.GetExpiresAt()), ContentType: l.GetContentType(), Reason: MediaReason(l.GetReason())}
}
