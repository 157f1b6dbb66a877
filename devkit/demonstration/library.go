package demonstration

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	"reservation.dev/devkit/sampledata"
	"reservation.dev/platform/mediaupload"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// The collections.
const (
	homePractice = iota
	talks
)

// mediaItem is an item of the library.
type mediaItem struct {
	title, description string
	kind               mediav1.MediaKind
	seconds            int32
	tags               []string
	collection         int
	file, contentType  string
	content            []byte
	draft              bool
}

// The items that later steps need.
const (
	itemFilm = iota
	itemBell
	itemSheet
)

func mediaItems() []mediaItem {
	return []mediaItem{
		itemFilm: {
			title: "Breathe with the Light", description: "Breathe in while the light grows, and out while it shrinks.", kind: mediav1.MediaKind_MEDIA_KIND_VIDEO,
			seconds: 4, tags: []string{"breathing", "beginners"}, collection: homePractice, file: "breathe.mp4", contentType: "video/mp4", content: sampledata.Film(4),
		},
		itemBell: {
			title: "Bell for Savasana", description: "One bell, to end your practice.", kind: mediav1.MediaKind_MEDIA_KIND_AUDIO,
			seconds: 3, tags: []string{"relaxation"}, collection: homePractice, file: "bell.wav", contentType: "audio/wav", content: sampledata.Bell(3),
		},
		itemSheet: {
			title: "Wrists before Handstands", description: "The warm-up of the workshop, on one page.", kind: mediav1.MediaKind_MEDIA_KIND_DOCUMENT,
			tags: []string{"handstand"}, collection: talks, file: "wrists.pdf", contentType: "application/pdf",
			content: sampledata.Sheet("Wrists before Handstands", "1. Circle each wrist ten times in both directions.",
				"2. On hands and knees, lean forward and hold for five breaths.", "3. Turn the fingers to the knees, and lean back for five breaths.", "4. Lift the palms ten times, with the fingers on the floor."),
		},
		{
			title: "Autumn Programme", description: "Not published until the dates are final.", kind: mediav1.MediaKind_MEDIA_KIND_IMAGE,
			tags: []string{"programme"}, collection: talks, file: "autumn.png", contentType: "image/png", content: sampledata.Cover(4), draft: true,
		},
	}
}

// createLibrary creates two collections, and the items with their files.
func (d *demoData) createLibrary(ctx context.Context) error {
	for _, req := range []*mediav1.CreateCollectionRequest{
		{Title: "Practice at Home", Description: "Short recordings for every day."}, {Title: "Workshops & Talks", Description: "What the workshops hand out."},
	} {
		res, err := d.on.media.CreateCollection(withKey(ctx, req.GetTitle()), req)
		if err != nil {
			return fmt.Errorf("%s: %w", req.GetTitle(), err)
		}
		d.collections = append(d.collections, res.GetCollection().GetId())
	}
	for i, m := range mediaItems() {
		id, err := d.createItem(ctx, i, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.title, err)
		}
		d.items = append(d.items, id)
	}
	return nil
}

// createItem creates an item with its cover and its file. It does again only what an interrupted run has
// not done.
func (d *demoData) createItem(ctx context.Context, i int, m mediaItem) (id string, err error) {
	res, err := d.on.media.CreateMediaItem(ctx, &mediav1.CreateMediaItemRequest{
		Title: m.title, Description: m.description, Kind: m.kind, DurationSeconds: m.seconds, Tags: m.tags,
		CollectionIds: []string{d.collections[m.collection]}, Reference: fmt.Sprintf("demo-media-%d", i),
	})
	if err != nil {
		return "", err
	}
	item := res.GetItem()
	err = d.upload(ctx, item.GetCover(), mediaupload.File{
		Item: item.GetId(), Purpose: mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER, Name: "cover.png", ContentType: "image/png",
	}, sampledata.Cover(i))
	if err != nil {
		return "", err
	}
	err = d.upload(ctx, item.GetFile(), mediaupload.File{
		Item: item.GetId(), Purpose: mediav1.UploadPurpose_UPLOAD_PURPOSE_FILE, Name: m.file, ContentType: m.contentType,
	}, m.content)
	if err != nil || m.draft || item.GetStatus() == mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED {
		return item.GetId(), err
	}
	_, err = d.on.media.UpdateMediaItem(ctx, &mediav1.UpdateMediaItemRequest{Id: item.GetId(), Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED})
	return item.GetId(), err
}

// upload sends a file unless it is the one that is stored.
func (d *demoData) upload(ctx context.Context, stored *mediav1.MediaFile, f mediaupload.File, content []byte) (err error) {
	f.Content, f.Size = bytes.NewReader(content), int64(len(content))
	if f.SHA256, err = mediaupload.Digest(f.Content, f.Size); err != nil || stored.GetSha256() == hex.EncodeToString(f.SHA256[:]) {
		return err
	}
	_, err = d.on.files.Send(ctx, f)
	return err
}

// entitle lets the holders of a pass type, the subscribers of a plan and one customer play something. The
// yearly plan itself includes a collection.
func (d *demoData) entitle(ctx context.Context) error {
	for _, req := range []*mediav1.CreateEntitlementRequest{
		{CollectionId: d.collections[homePractice], PassTypeId: d.passTypes[0]},
		{CollectionId: d.collections[talks], PlanId: d.plans[monthly]},
		{ItemId: d.items[itemSheet], CustomerId: d.customers[0], LastDay: d.day(90)},
	} {
		if _, err := d.on.media.CreateEntitlement(ctx, req); err != nil {
			return err
		}
	}
	return nil
}

// watch records how far some customers have played items.
func (d *demoData) watch(ctx context.Context) error {
	for _, req := range []*mediav1.RecordProgressRequest{
		{ItemId: d.items[itemFilm], CustomerId: d.customers[firstMember+memberUnlimited], PositionSeconds: 4, Completed: true},
		{ItemId: d.items[itemBell], CustomerId: d.customers[firstMember+memberUnlimited], PositionSeconds: 1},
		{ItemId: d.items[itemSheet], CustomerId: d.customers[0], Completed: true},
	} {
		if _, err := d.on.media.RecordProgress(ctx, req); err != nil {
			return err
		}
	}
	return nil
}
