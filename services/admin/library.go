package admin

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// mediaView is an item of the library as a page shows it.
type mediaView struct {
	*mediav1.MediaItem
	titles map[string]string // of collections
}

// Path is the path of the item's page.
func (v mediaView) Path() string { return "/library/" + v.GetId() }

// KindName says what the item is.
func (v mediaView) KindName() *message {
	return msg("library.kind." + v.kind()).or(v.kind())
}

func (v mediaView) kind() string { return enum.Name(v.GetKind()) }

// Published reports whether customers can see the item.
func (v mediaView) Published() bool {
	return v.GetStatus() == mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED
}

// State says whether customers can see the item.
func (v mediaView) State() stateTag {
	switch {
	case v.Published():
		return stateTag{"good", msg("desk.state.published")}
	case v.GetFile() == nil:
		return stateTag{"warn", msg("library.item.no_file")}
	}
	return stateTag{"", msg("desk.state.draft")}
}

// Length prints the duration: "42:30"; "" if it is not known.
func (v mediaView) Length() string { return lengthText(v.GetDurationSeconds()) }

// Collections returns the collections that the item is in.
func (v mediaView) Collections() []option {
	return views(v.GetCollectionIds(), func(id string) option { return option{id, cmp.Or(v.titles[id], id)} })
}

// Tags prints the tags.
func (v mediaView) Tags() string { return strings.Join(v.GetTags(), ", ") }

// Accept lists the types of files for the item, as a file field has them.
func (v mediaView) Accept() string { return acceptedTypes[v.GetKind()] }

// acceptedTypes are the types of files of each kind, as a file field has them.
var acceptedTypes = map[mediav1.MediaKind]string{
	mediav1.MediaKind_MEDIA_KIND_VIDEO:    ".mp4,.m4v,.webm,.mov,video/mp4,video/webm,video/quicktime",
	mediav1.MediaKind_MEDIA_KIND_AUDIO:    ".mp3,.m4a,.ogg,.wav,.flac,audio/mpeg,audio/mp4,audio/ogg,audio/wav,audio/flac",
	mediav1.MediaKind_MEDIA_KIND_DOCUMENT: ".pdf,application/pdf",
	mediav1.MediaKind_MEDIA_KIND_IMAGE:    ".jpg,.jpeg,.png,.webp,image/jpeg,image/png,image/webp",
}

// CoverTypes lists the types of covers.
func (mediaView) CoverTypes() string { return acceptedTypes[mediav1.MediaKind_MEDIA_KIND_IMAGE] }

// lengthText prints seconds: "42:30", "1:02:03"; "" for 0.
func lengthText(seconds int32) string {
	h, m, s := seconds/3600, seconds/60%60, seconds%60
	switch {
	case seconds <= 0:
		return ""
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

// longest is the longest duration that an item can have, in seconds.
const longest = 24 * 60 * 60

// length returns the seconds of a field such as "42:30" or "1:02:03"; a number alone has minutes.
func (f *form) length(name string) int32 {
	text := f.text(name)
	if text == "" {
		return 0
	}
	if !strings.Contains(text, ":") {
		text += ":00"
	}
	parts, total := strings.Split(text, ":"), int64(0)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || i > 0 && n > 59 {
			total = longest + 1
			break
		}
		total = total*60 + int64(n)
	}
	if len(parts) > 3 || total > longest {
		f.add(name, msg("library.item.length_wrong"))
		return 0
	}
	return int32(total)
}

// size prints a number of bytes: "1.4 GB".
func (x *texts) size(bytes int64) string {
	value, unit := float64(bytes), 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit < 2 {
		return x.decimals(value, 0) + " " + units[unit]
	}
	return x.decimals(value, 1) + " " + units[unit]
}

// libraryPage is the list of items.
type libraryPage struct {
	Items       []mediaView
	Total       int64
	Next        string
	Form        *form
	Kinds       []option
	States      []option
	Collections []option
}

func (libraryPage) head() (*message, string) { return msg("library.title"), "library" }

// Filtered reports whether the list has a filter.
func (p libraryPage) Filtered() bool {
	return p.Form.Get("kind")+p.Form.Get("status")+p.Form.Get("collection")+p.Form.Get("tag") != ""
}

func (r *request) library() error {
	page := libraryPage{Form: r.filterForm("kind", "status", "collection", "tag")}
	kind, _ := enum.Parse[mediav1.MediaKind](page.Form.Get("kind"))
	status, _ := enum.Parse[mediav1.MediaStatus](page.Form.Get("status"))
	res, err := r.services.media.ListMediaItems(r.ctx, &mediav1.ListMediaItemsRequest{
		PageSize: 50, PageToken: r.query("page"), Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC,
		Kind: kind, Status: status, CollectionId: page.Form.Get("collection"), Tag: page.Form.Get("tag"),
	})
	if err != nil {
		if page.Filtered() || r.query("page") != "" {
			return r.refused("/library", err)
		}
		return err
	}
	collections, err := r.collections()
	if err != nil {
		return err
	}
	titles := collectionTitles(collections)
	page.Items = views(res.GetItems(), func(i *mediav1.MediaItem) mediaView { return mediaView{i, titles} })
	page.Total, page.Next = res.GetTotal(), r.with("page", res.GetNextPageToken())
	page.Kinds = append([]option{{"", r.text("library.filter.every_kind")}}, r.mediaKinds()...)
	page.States = []option{{"", r.text("library.filter.every_status")}, {"published", r.text("desk.state.published")}, {"draft", r.text("desk.state.draft")}}
	page.Collections = append([]option{{"", r.text("library.filter.every_collection")}}, optionsOfCollections(collections, nil)...)
	return r.render("library", page)
}

// mediaKinds returns the kinds of items as choices.
func (r *request) mediaKinds() []option {
	return optionsOf(enum.Names[mediav1.MediaKind](), func(kind string) string { return r.text(msg("library.kind." + kind).or(kind)) })
}

// mediaFormPage adds or changes an item.
type mediaFormPage struct {
	Form        *form
	Item        *mediaView // nil for a new one
	Kinds       []option
	Collections []option
}

func (p mediaFormPage) head() (*message, string) {
	if p.Item == nil {
		return msg("library.item.add"), "library"
	}
	return msg("library.item.edit"), "library"
}

func (r *request) mediaForm(f *form, item *mediaView) (mediaFormPage, error) {
	collections, err := r.collections()
	return mediaFormPage{Form: f, Item: item, Kinds: r.mediaKinds(), Collections: optionsOfCollections(collections, f.All("collections"))}, err
}

func (r *request) newMedia() error {
	f := newForm("kind", "video")
	if c := r.query("collection"); c != "" {
		f.values.Set("collections", c)
	}
	page, err := r.mediaForm(f, nil)
	if err != nil {
		return err
	}
	return r.render("media-form", page)
}

func (r *request) findMedia() (mediaView, error) {
	res, err := r.services.media.GetMediaItem(r.ctx, &mediav1.GetMediaItemRequest{Id: r.path("id")})
	return mediaView{MediaItem: res.GetItem()}, err
}

func (r *request) editMedia() error {
	item, err := r.findMedia()
	if err != nil {
		return err
	}
	f := newForm("title", item.GetTitle(), "description", item.GetDescription(), "length", item.Length(), "tags", item.Tags())
	f.values["collections"] = item.GetCollectionIds()
	f.setVersion(item.GetVersion())
	page, err := r.mediaForm(f, &item)
	if err != nil {
		return err
	}
	return r.render("media-form", page)
}

// mediaFields are the form's names of the service's fields.
var mediaFields = map[string]string{"duration_seconds": "length", "collection_ids": "collections"}

// readMedia reads the fields of an item.
func readMedia(f *form) *mediav1.CreateMediaItemRequest {
	req := &mediav1.CreateMediaItemRequest{
		Title: f.required("title", msg("desk.field.title")), Description: f.text("description"), DurationSeconds: f.length("length"), CollectionIds: f.All("collections"),
	}
	req.Kind, _ = enum.Parse[mediav1.MediaKind](f.text("kind"))
	for tag := range strings.SplitSeq(f.text("tags"), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			req.Tags = append(req.Tags, tag)
		}
	}
	return req
}

// mediaAgain responds with the form of an item that submit did not accept.
func (r *request) mediaAgain(err error, f *form, item *mediaView) error {
	if !f.Failed() {
		return err
	}
	page, trouble := r.mediaForm(f, item)
	if trouble != nil {
		return trouble
	}
	return r.again(err, "media-form", page)
}

func (r *request) createMedia() error {
	f := r.sent(mediaFields)
	req := readMedia(f)
	res, err := submit(r, f, r.services.media.CreateMediaItem, req)
	if err != nil {
		return r.mediaAgain(err, f, nil)
	}
	item := mediaView{MediaItem: res.GetItem()}
	r.target(item.GetId())
	r.detail("title", "", req.GetTitle())
	return r.back(item.Path(), r.text("library.item.added"))
}

func (r *request) updateMedia() error {
	item, err := r.findMedia()
	if err != nil {
		return err
	}
	f := r.sent(mediaFields)
	req := readMedia(f)
	_, err = submit(r, f, r.services.media.UpdateMediaItem, &mediav1.UpdateMediaItemRequest{
		Id: item.GetId(), Title: &req.Title, Description: &req.Description, DurationSeconds: &req.DurationSeconds,
		Tags: &mediav1.MediaTags{Values: req.GetTags()}, CollectionIds: &mediav1.CollectionIds{Values: req.GetCollectionIds()},
		ExpectedVersion: f.expectedVersion(item.GetVersion()),
	})
	if err != nil {
		return r.mediaAgain(err, f, &item)
	}
	r.detail("title", item.GetTitle(), req.GetTitle())
	r.detail("tags", item.Tags(), strings.Join(req.GetTags(), ", "))
	return r.back(item.Path(), r.text("shared.done.saved"))
}

// mediaPage is an item with its files and who can play it.
type mediaPage struct {
	Item   mediaView
	Access []accessView
	More   string
}

func (p mediaPage) head() (*message, string) { return literal(p.Item.GetTitle()), "library" }

func (r *request) mediaItem() error {
	item, err := r.findMedia()
	if err != nil {
		return err
	}
	page := mediaPage{Item: item}
	page.Access, page.More, err = r.access(playable{ID: item.GetId(), Title: item.GetTitle()})
	if err != nil {
		return err
	}
	if len(item.GetCollectionIds()) > 0 {
		collections, err := r.collections()
		if err != nil {
			return err
		}
		page.Item.titles = collectionTitles(collections)
	}
	return r.render("media-item", page)
}

func (r *request) confirmMedia() error {
	item, err := r.findMedia()
	if err != nil {
		return err
	}
	return r.confirm(confirmPage{
		Title: r.text("library.item.delete_title"), Button: r.text("library.item.delete_button"), Danger: true,
		Effects: []string{r.text("library.item.delete_files"), r.text("library.item.delete_links"), r.text("library.item.delete_final")},
	}, "library", item.GetTitle(), item.Path())
}

// changeMedia publishes an item, makes it a draft again, or deletes it.
func (r *request) changeMedia() error {
	item, err := r.findMedia()
	if err != nil {
		return err
	}
	s, done := r.services.media, ""
	switch r.path("action") {
	case "publish":
		_, err = perform(r, s.UpdateMediaItem, &mediav1.UpdateMediaItemRequest{Id: item.GetId(), Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED})
		done = r.text("library.item.published")
	case "unpublish":
		_, err = perform(r, s.UpdateMediaItem, &mediav1.UpdateMediaItemRequest{Id: item.GetId(), Status: mediav1.MediaStatus_MEDIA_STATUS_DRAFT})
		done = r.text("library.item.unpublished")
	case "delete":
		if _, err = perform(r, s.DeleteMediaItem, &mediav1.DeleteMediaItemRequest{Id: item.GetId()}); err == nil {
			r.detail("title", "", item.GetTitle())
			return r.back("/library", r.text("library.item.deleted"))
		}
	default:
		return fault.Missing("page")
	}
	if err != nil {
		return r.refused(item.Path(), err)
	}
	return r.back(item.Path(), done)
}
