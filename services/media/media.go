package media

import (
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// The reasons of refusals.
const (
	ReasonNotEntitled      = "MEDIA_NOT_ENTITLED"
	ReasonNotReady         = "MEDIA_NOT_READY"
	ReasonFileTooLarge     = "FILE_TOO_LARGE"
	ReasonTypeNotSupported = "FILE_TYPE_NOT_SUPPORTED"
	ReasonTooManyUploads   = "TOO_MANY_UPLOADS"
	ReasonUploadIncomplete = "UPLOAD_INCOMPLETE"
	ReasonChecksumMismatch = "CHECKSUM_MISMATCH"
	ReasonUploadExpired    = "UPLOAD_EXPIRED"
	ReasonUploadComplete   = "UPLOAD_COMPLETE"
)

const (
	maxTitle       = 200
	maxDescription = 10_000
	maxDuration    = 86_400 // seconds
	maxTags        = 20
	maxTag         = 50
	maxCollections = 50 // of an item
	maxReference   = 200
)

// The kinds of items.
const (
	kindVideo    = "video"
	kindAudio    = "audio"
	kindDocument = "document"
	kindImage    = "image"
)

// The statuses of items.
const (
	statusDraft     = "draft"
	statusPublished = "published"
)

// Item is a video, a recording, a document or an image.
type Item struct {
	ID          id.MediaItem    `db:"id"`
	Title       string          `db:"title"`
	Description string          `db:"description"`
	Kind        string          `db:"kind"`
	Duration    int32           `db:"duration_seconds"`
	Tags        []string        `db:"tags"`
	Status      string          `db:"status"`
	Reference   *string         `db:"reference"`
	Collections []id.Collection `db:"collection_ids"` // ascending
	Version     int64           `db:"version"`
	CreatedAt   time.Time       `db:"created_at"`
	UpdatedAt   time.Time       `db:"updated_at"`

	// The file; the fields are zero if there is none.
	FileID     id.UUID   `db:"file_id"`
	FileName   string    `db:"file_name"`
	FileType   string    `db:"file_type"`
	FileSize   int64     `db:"file_size"`
	FileSHA256 string    `db:"file_sha256"`
	FileAt     time.Time `db:"file_at"`

	// The cover; the fields are zero if there is none.
	CoverID     id.UUID   `db:"cover_id"`
	CoverName   string    `db:"cover_name"`
	CoverType   string    `db:"cover_type"`
	CoverSize   int64     `db:"cover_size"`
	CoverSHA256 string    `db:"cover_sha256"`
	CoverAt     time.Time `db:"cover_at"`
}

// File is a complete file in the bucket.
type File struct {
	ID         id.UUID
	Name       string
	Type       string
	Size       int64
	SHA256     string // hexadecimal
	UploadedAt time.Time
}

// file returns the file of an item, or nil.
func (i Item) file() *File {
	if i.FileID.IsZero() {
		return nil
	}
	return &File{ID: i.FileID, Name: i.FileName, Type: i.FileType, Size: i.FileSize, SHA256: i.FileSHA256, UploadedAt: i.FileAt}
}

// cover returns the cover of an item, or nil.
func (i Item) cover() *File {
	if i.CoverID.IsZero() {
		return nil
	}
	return &File{ID: i.CoverID, Name: i.CoverName, Type: i.CoverType, Size: i.CoverSize, SHA256: i.CoverSHA256, UploadedAt: i.CoverAt}
}

// setFile replaces the file of an item.
func (i *Item) setFile(f File) {
	i.FileID, i.FileName, i.FileType, i.FileSize, i.FileSHA256, i.FileAt = f.ID, f.Name, f.Type, f.Size, f.SHA256, f.UploadedAt
}

// setCover replaces the cover of an item.
func (i *Item) setCover(f File) {
	i.CoverID, i.CoverName, i.CoverType, i.CoverSize, i.CoverSHA256, i.CoverAt = f.ID, f.Name, f.Type, f.Size, f.SHA256, f.UploadedAt
}

// check trims the texts of an item and checks the fields that callers set.
func (i *Item) check(f *check.Fields) {
	i.Title = f.Line("title", i.Title, 1, maxTitle)
	i.Description = f.Prose("description", i.Description, 0, maxDescription)
	f.Range("duration_seconds", int64(i.Duration), 0, maxDuration)
}

// requirePlayable refuses an item without a file, and a draft.
func (i Item) requirePlayable() error {
	if i.Status != statusPublished || i.FileID.IsZero() {
		return notReady("the item is not published")
	}
	return nil
}

// requireFile refuses a published item without a file. // invariant 1
func (i Item) requireFile() error {
	if i.Status == statusPublished && i.FileID.IsZero() {
		return notReady("upload a file before you publish the item")
	}
	return nil
}

func notReady(message string) error { return fault.Refuse(ReasonNotReady, message) }

// equal reports whether two items have the same values in the fields that callers set.
func (i Item) equal(other Item) bool {
	return i.Title == other.Title && i.Description == other.Description && i.Duration == other.Duration && i.Status == other.Status &&
		slices.Equal(i.Tags, other.Tags) && slices.Equal(i.Collections, other.Collections)
}

// tagsOf trims tags, checks them and removes duplicates.
func tagsOf(f *check.Fields, field string, in []string) []string {
	out := []string{}
	if !f.Count(field, len(in), 0, maxTags) {
		return out
	}
	for _, tag := range in {
		if tag = f.Line(field, tag, 1, maxTag); !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// referenceOf trims a reference; "" becomes nil.
func referenceOf(f *check.Fields, reference string) *string {
	if reference = f.Line("reference", reference, 0, maxReference); reference == "" {
		return nil
	}
	return &reference
}

// collectionSet returns collections in order, without duplicates.
func collectionSet(in []id.Collection) []id.Collection {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b id.Collection) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// Collection is a group of items.
type Collection struct {
	ID          id.Collection `db:"id"`
	Title       string        `db:"title"`
	Description string        `db:"description"`
	Items       int32         `db:"item_count"`
	Version     int64         `db:"version"`
	CreatedAt   time.Time     `db:"created_at"`
	UpdatedAt   time.Time     `db:"updated_at"`
}

// check trims the texts of a collection and checks them.
func (c *Collection) check(f *check.Fields) {
	c.Title = f.Line("title", c.Title, 1, maxTitle)
	c.Description = f.Prose("description", c.Description, 0, maxDescription)
}

// Progress is how far a customer has watched an item.
type Progress struct {
	Item      id.MediaItem `db:"item_id"`
	Position  int32        `db:"position_seconds"`
	Completed bool         `db:"completed"`
	UpdatedAt time.Time    `db:"updated_at"`
}

// changedCollections returns the collections that are in only one of two lists, in order.
func changedCollections(a, b []id.Collection) (changed []id.Collection) {
	for _, c := range a {
		if !slices.Contains(b, c) {
			changed = append(changed, c)
		}
	}
	for _, c := range b {
		if !slices.Contains(a, c) {
			changed = append(changed, c)
		}
	}
	return changed
}

// without returns the next version of an item, which is no longer in a collection.
func (i Item) without(collection id.Collection, now time.Time) Item {
	i.Collections = slices.DeleteFunc(slices.Clone(i.Collections), func(c id.Collection) bool { return c == collection })
	i.Version++
	i.UpdatedAt = now
	return i
}
