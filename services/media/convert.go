package media

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// itemMessage returns the message of an item, without the address of its cover. Events are kept, and
// addresses are credentials.
func itemMessage(i Item) *mediav1.MediaItem {
	out := &mediav1.MediaItem{
		Id: i.ID.String(), Title: i.Title, Description: i.Description, Kind: enumValue[mediav1.MediaKind](i.Kind),
		DurationSeconds: i.Duration, Tags: i.Tags, Status: enumValue[mediav1.MediaStatus](i.Status),
		File: fileMessage(i.file()), Cover: fileMessage(i.cover()), Version: i.Version,
		CreatedAt: timestamppb.New(i.CreatedAt), UpdatedAt: timestamppb.New(i.UpdatedAt),
	}
	for _, c := range i.Collections {
		out.CollectionIds = append(out.CollectionIds, c.String())
	}
	if i.Reference != nil {
		out.Reference = *i.Reference
	}
	return out
}

func fileMessage(f *File) *mediav1.MediaFile {
	if f == nil {
		return nil
	}
	return &mediav1.MediaFile{Name: f.Name, ContentType: f.Type, Size: f.Size, Sha256: f.SHA256, UploadedAt: timestamppb.New(f.UploadedAt)}
}

func collectionMessage(c Collection) *mediav1.Collection {
	return &mediav1.Collection{
		Id: c.ID.String(), Title: c.Title, Description: c.Description, ItemCount: c.Items, Version: c.Version,
		CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
	}
}

func entitlementMessage(e Entitlement) *mediav1.Entitlement {
	return &mediav1.Entitlement{
		Id: e.ID.String(), CollectionId: e.Collection.String(), ItemId: e.Item.String(), PassTypeId: e.PassType.String(), PlanId: e.Plan.String(),
		EventId: e.Event.String(), CustomerId: e.Customer.String(), LastDay: dayText(e.LastDay), CreatedAt: timestamppb.New(e.CreatedAt),
	}
}

// uploadMessage returns the message of an upload whose parts go to partURL.
func uploadMessage(u Upload, partURL string) *mediav1.Upload {
	return &mediav1.Upload{
		Id: u.ID.String(), ItemId: u.Item.String(), Purpose: enumValue[mediav1.UploadPurpose](u.Purpose), Status: enumValue[mediav1.UploadStatus](u.Status),
		PartSize: u.PartSize, PartCount: u.partCount(), ReceivedParts: u.Parts, PartUrl: partURL, ExpiresAt: timestamppb.New(u.ExpiresAt),
		Error: u.Error, FileName: u.FileName, ContentType: u.Type, Size: u.Size,
	}
}

func reasonMessage(r *Reason) *mediav1.MediaReason {
	if r == nil {
		return nil
	}
	out := &mediav1.MediaReason{EntitlementId: r.Entitlement.String(), LastDay: dayText(r.LastDay)}
	switch r.Kind {
	case reasonGiven:
		out.Given = true
	case reasonPass:
		out.CustomerPassId = id.CustomerPass(r.ID).String()
	case reasonSubscription:
		out.SubscriptionId = id.Subscription(r.ID).String()
	case reasonBooking:
		out.BookingId = id.Booking(r.ID).String()
	}
	return out
}

func progressMessage(p *Progress) *mediav1.MediaProgress {
	if p == nil {
		return nil
	}
	return &mediav1.MediaProgress{PositionSeconds: p.Position, Completed: p.Completed, UpdatedAt: timestamppb.New(p.UpdatedAt)}
}

// dayText returns a day as YYYY-MM-DD, or "" if there is none.
func dayText(day *time.Time) string {
	if day == nil {
		return ""
	}
	return day.Format(time.DateOnly)
}

// enumValue returns the enum value with a stored name.
func enumValue[E enum.Enum](name string) E {
	v, _ := enum.Parse[E](name)
	return v
}

func timestamp(at time.Time) *timestamppb.Timestamp { return timestamppb.New(at) }
