package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/jsontext"
	"reservation.dev/platform/resource"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// mediaUpdated is media.updated.
func mediaUpdated() kind[*mediav1.MediaItemUpdated] {
	read := func(e *mediav1.MediaItemUpdated) *change {
		if e.GetPrevious() == nil {
			return nil
		}
		c := mediaNews(e.GetItem())
		c.before = func(string) proto.Message { return mediaItem(e.GetPrevious()) }
		return c
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_MEDIA_UPDATED, read, func(now time.Time) *mediav1.MediaItemUpdated {
		changed := sampleMedia(now)
		changed.Title, changed.UpdatedAt, changed.Version = "Sample video for beginners", timestamppb.New(now), 2
		return &mediav1.MediaItemUpdated{Item: changed, Previous: sampleMedia(now)}
	})
}

// mediaPublished is media.published: the update with which an item becomes visible to customers.
func mediaPublished() kind[*mediav1.MediaItemUpdated] {
	const published = mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED
	read := func(e *mediav1.MediaItemUpdated) *change {
		if e.GetPrevious() == nil || e.GetItem().GetStatus() != published || e.GetPrevious().GetStatus() == published {
			return nil
		}
		return mediaNews(e.GetItem())
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_MEDIA_PUBLISHED, read, func(now time.Time) *mediav1.MediaItemUpdated {
		draft := sampleMedia(now)
		draft.Status = mediav1.MediaStatus_MEDIA_STATUS_DRAFT
		return &mediav1.MediaItemUpdated{Item: sampleMedia(now), Previous: draft}
	})
}

// mediaDeleted is media.deleted. It shows the item as it was.
func mediaDeleted() kind[*mediav1.MediaItemDeleted] {
	read := func(e *mediav1.MediaItemDeleted) *change { return mediaNews(e.GetItem()) }
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_MEDIA_DELETED, read, func(now time.Time) *mediav1.MediaItemDeleted {
		return &mediav1.MediaItemDeleted{Item: sampleMedia(now)}
	})
}

// mediaCompleted is media.completed.
func mediaCompleted() kind[*mediav1.MediaCompleted] {
	read := func(e *mediav1.MediaCompleted) *change {
		c := mediaNews(e.GetItem())
		c.customers = []string{e.GetCustomerId()}
		c.extra = []edge.Member{{Name: "customerId", Value: jsontext.AppendString(nil, e.GetCustomerId())}}
		return c
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_MEDIA_COMPLETED, read, func(now time.Time) *mediav1.MediaCompleted {
		return &mediav1.MediaCompleted{Item: sampleMedia(now), CustomerId: samplePerson().ID}
	})
}

// mediaNews returns a change whose message shows the item only as it is now.
func mediaNews(item *mediav1.MediaItem) *change {
	return &change{after: func(string) proto.Message { return mediaItem(item) }}
}

// mediaItem converts an item. It has no address of the cover, because messages are kept longer than the
// address is valid.
func mediaItem(item *mediav1.MediaItem) proto.Message {
	out := resource.MediaItem(item)
	if cover := out.GetCover(); cover != nil {
		cover.Url = nil
	}
	return out
}

func sampleMedia(now time.Time) *mediav1.MediaItem {
	created := timestamppb.New(now.Add(-24 * time.Hour))
	return &mediav1.MediaItem{
		Id: "media_" + sampleSuffix, Title: "Sample video", Description: "An invented video.", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO, DurationSeconds: 1800,
		Tags: []string{"sample"}, Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED, CollectionIds: []string{"col_" + sampleSuffix},
		File: &mediav1.MediaFile{
			Name: "sample.mp4", ContentType: "video/mp4", Size: 73_400_320, UploadedAt: created,
			Sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		},
		CreatedAt: created, UpdatedAt: created, Version: 1,
	}
}
