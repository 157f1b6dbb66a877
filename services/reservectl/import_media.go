package reservectl

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/mediaupload"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// mediaURLUsage is the help of --media-url.
const mediaURLUsage = "URL at which this machine reaches the files of the media service (default: media.base_url in credentials.json, or else MEDIA_URL of the service)"

func (a *app) mediaImport() *cobra.Command {
	var o importOptions
	var files string
	c := &cobra.Command{
		Use: "import FILE", Short: "Import media items with their files from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import media items with their files from a CSV or NDJSON file. The files are in the
directory of FILE, or in --files, and below it.

Each item has a reference: its key in the system that it comes from. An item whose
reference exists keeps its texts. Its file or cover is uploaded only if its
SHA-256 is different, and it is published if the line says so. You can therefore
run the same command again after a failure: it continues with the parts of files
that are missing. Refused lines are written to a report, and all others are
stored; the exit status is then 3. Correct the report and import it like any other
file.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  reference    required; also accepted as id or media_id
  title        required
  file         required: path of the file (videos/flow.mp4)
  kind         video, audio, document or image (default: by the file's extension)
  description  optional
  tags         separated by semicolons, or an array
  collection   titles or col_ identifiers of collections, separated by semicolons,
               or an array; collections that do not exist are created
  cover        path of an image
  duration     seconds (default: 0)
  status       draft or published (default: published)`,
		Example: `  reservectl media import --company comp_… library/items.csv
  reservectl media import --company comp_… items.ndjson --files /srv/videos`,
		RunE: func(c *cobra.Command, args []string) error {
			if files == "" {
				files = filepath.Dir(args[0]) // of standard input: the current directory
			}
			return a.importMedia(c.Context(), args[0], files, o)
		},
	}
	importFlags(c, &o)
	c.Flags().StringVar(&files, "files", "", "directory of the files (default: the directory of FILE)")
	c.Flags().StringVar(&a.access.Media.BaseURL, "media-url", "", mediaURLUsage)
	return c
}

// mediaLine is a media item of a file.
type mediaLine struct {
	*mediav1.CreateMediaItemRequest
	collections []string
	file, cover string
	publish     bool
}

func mediaReference() []string { return []string{"reference", "id", "mediaid"} }

// mediaColumns are the columns of a CSV file of media items.
func mediaColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{mediaReference(), {"title"}, {"file"}},
		Optional: []string{"kind", "description", "tags", "collection", "collections", "cover", "duration", "durationseconds", "status"},
	}
}

func readMedia(f *lineFields) mediaLine {
	line := mediaLine{
		CreateMediaItemRequest: &mediav1.CreateMediaItemRequest{
			Reference: f.text(mediaReference()...), Title: f.text("title"), Description: f.text("description"), Tags: f.list("tags"),
			Kind: mediav1.MediaKind(f.choice("kind", enum.Names[mediav1.MediaKind]())),
		},
		collections: f.list("collection", "collections"), file: f.text("file"), cover: f.text("cover"),
		publish: mediav1.MediaStatus(f.choice("status", enum.Names[mediav1.MediaStatus]())) != mediav1.MediaStatus_MEDIA_STATUS_DRAFT,
	}
	for _, name := range []string{"duration", "duration_seconds"} {
		if seconds := f.integer(name, math.MaxInt32); seconds != nil {
			line.DurationSeconds = int32(*seconds)
		}
	}
	switch known, ok := fileTypeOf(line.file); {
	case line.Reference == "":
		f.refuse("reference", "required", "is required")
	case line.file == "":
		f.refuse("file", "required", "is required")
	case line.Kind == 0 && !ok:
		f.refuse("kind", "required", "is required: the file's extension does not show it")
	case line.Kind == 0:
		line.Kind = known.kind
	}
	return line
}

func (a *app) importMedia(ctx context.Context, path, files string, o importOptions) error {
	in, rep, err := a.openImport(path, o, mediaColumns())
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	root, err := os.OpenRoot(files)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	s, err := a.forCompany(a.media)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	collections := &collectionIndex{open: a.media}
	defer collections.close()
	i := mediaImporter{
		app: a, ctx: s.ctx, root: root, collections: collections, sender: a.mediaSender(s), known: map[string]*mediav1.MediaItem{},
	}
	if err := i.fetchItems(); err != nil {
		return err
	}
	sum, err := importAll(s.ctx, lineReader(in, mediaReference(), readMedia), itemByItem(i.store), rep, a.progress("items", 0))
	sum.updates = true
	return a.finish("items", sum, err)
}

// mediaSender returns a sender of files for a session with the media service.
func (a *app) mediaSender(s *session) *mediaupload.Sender {
	return &mediaupload.Sender{
		Media: mediav1.NewMediaServiceClient(s.conn), HTTP: &http.Client{Timeout: 15 * time.Minute}, BaseURL: a.access.Media.BaseURL,
	}
}

// mediaImporter stores the media items of a file.
type mediaImporter struct {
	app         *app
	ctx         context.Context
	root        *os.Root // of the files
	sender      *mediaupload.Sender
	collections *collectionIndex
	known       map[string]*mediav1.MediaItem // by reference
}

// fetchItems fetches the items that have references.
func (i mediaImporter) fetchItems() error {
	items, err := allPages(func(pageToken string) ([]*mediav1.MediaItem, string, error) {
		res, err := i.sender.Media.ListMediaItems(i.ctx, &mediav1.ListMediaItemsRequest{PageSize: pageSize, PageToken: pageToken})
		return res.GetItems(), res.GetNextPageToken(), err
	})
	for _, item := range items {
		if item.GetReference() != "" {
			i.known[item.GetReference()] = item
		}
	}
	return err
}

// store creates an item unless it exists, and gives it what it lacks of its line: the cover, the file and
// the publication, in this order.
func (i mediaImporter) store(line mediaLine) (outcome, error) {
	file, err := i.open("file", line.file)
	if err != nil {
		return outcome{}, err
	}
	defer file.Close()
	var cover *localFile
	if line.cover != "" {
		if cover, err = i.open("cover", line.cover); err != nil {
			return outcome{}, err
		}
		defer cover.Close()
	}
	item, existed := i.known[line.GetReference()]
	if !existed {
		if item, err = i.create(line); err != nil {
			return outcome{}, err
		}
	}
	changed, err := i.complete(line, item, file, cover)
	return outcome{created: !existed, updated: existed && changed}, err
}

func (i mediaImporter) create(line mediaLine) (*mediav1.MediaItem, error) {
	for _, named := range line.collections {
		id, err := i.collections.findOrCreate(i.ctx, named)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(line.CollectionIds, id) {
			line.CollectionIds = append(line.CollectionIds, id)
		}
	}
	res, err := i.sender.Media.CreateMediaItem(i.ctx, line.CreateMediaItemRequest)
	if err == nil {
		i.known[line.GetReference()] = res.GetItem()
	}
	return res.GetItem(), err
}

// complete uploads the cover and the file of an item unless it has them, and publishes it. It reports
// whether it changed the item.
func (i mediaImporter) complete(line mediaLine, item *mediav1.MediaItem, file, cover *localFile) (changed bool, err error) {
	for _, part := range []struct {
		local   *localFile
		stored  *mediav1.MediaFile
		purpose mediav1.UploadPurpose
	}{
		{cover, item.GetCover(), mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER}, {file, item.GetFile(), mediav1.UploadPurpose_UPLOAD_PURPOSE_FILE},
	} {
		if part.local == nil || part.stored.GetSha256() == hex.EncodeToString(part.local.sum[:]) {
			continue
		}
		sent, err := i.app.sendFile(i.ctx, i.sender, item.GetId(), part.purpose, part.local)
		if err != nil {
			return changed, err
		}
		item, changed = sent, true
	}
	if line.publish && item.GetStatus() != mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED {
		res, err := i.sender.Media.UpdateMediaItem(i.ctx, &mediav1.UpdateMediaItemRequest{Id: item.GetId(), Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED})
		if err != nil {
			return changed, err
		}
		item, changed = res.GetItem(), true
	}
	i.known[line.GetReference()] = item
	return changed, nil
}

// open opens a file of a line. It refuses paths that lead out of the directory of the files.
func (i mediaImporter) open(field, path string) (*localFile, error) {
	f, err := i.root.Open(filepath.FromSlash(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refusal{field, "exists", fmt.Sprintf("%s does not exist in %s", path, i.root.Name())}
	case err != nil:
		return nil, refusal{field, "readable", "cannot be read: " + err.Error()}
	}
	local, err := newLocalFile(field, f)
	if err != nil {
		_ = f.Close()
	}
	return local, err
}

// sendFile uploads a file and prints the progress. Its refusals name the field of the file.
func (a *app) sendFile(ctx context.Context, sender *mediaupload.Sender, item string, purpose mediav1.UploadPurpose, f *localFile) (*mediav1.MediaItem, error) {
	p := a.progress("MiB", mebibytes(f.size))
	p.label = printableText(f.name) + ": "
	var sent int64
	done, err := sender.Send(ctx, mediaupload.File{
		Item: item, Purpose: purpose, Name: f.name, ContentType: f.contentType, Content: f, Size: f.size, SHA256: f.sum,
		Sent: func(size int64) {
			before := mebibytes(sent)
			sent += size
			p.add(mebibytes(sent) - before)
		},
	})
	var refused *mediaupload.RefusedError
	if errors.As(err, &refused) {
		return nil, refusal{f.field, refused.Code, "is refused: " + refused.Error()}
	}
	return done, err
}

func mebibytes(size int64) int { return int((size + 1<<20 - 1) >> 20) }
