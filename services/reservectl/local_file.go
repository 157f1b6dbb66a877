package reservectl

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/mediaupload"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// fileType is a type of file that the media service takes.
type fileType struct {
	contentType string
	kind        mediav1.MediaKind
}

// fileTypeOf returns the type of a file by its extension.
func fileTypeOf(name string) (fileType, bool) {
	const video, audio, image = mediav1.MediaKind_MEDIA_KIND_VIDEO, mediav1.MediaKind_MEDIA_KIND_AUDIO, mediav1.MediaKind_MEDIA_KIND_IMAGE
	known := map[string]fileType{
		".mp4": {"video/mp4", video}, ".m4v": {"video/mp4", video}, ".webm": {"video/webm", video}, ".mov": {"video/quicktime", video},
		".mp3": {"audio/mpeg", audio}, ".m4a": {"audio/mp4", audio}, ".ogg": {"audio/ogg", audio}, ".oga": {"audio/ogg", audio},
		".opus": {"audio/ogg", audio}, ".wav": {"audio/wav", audio}, ".flac": {"audio/flac", audio},
		".pdf": {"application/pdf", mediav1.MediaKind_MEDIA_KIND_DOCUMENT},
		".jpg": {"image/jpeg", image}, ".jpeg": {"image/jpeg", image}, ".png": {"image/png", image}, ".webp": {"image/webp", image},
	}
	t, ok := known[strings.ToLower(filepath.Ext(name))]
	return t, ok
}

// localFile is an open file to upload.
type localFile struct {
	*os.File
	field       string // of the line, or the argument
	name        string
	contentType string
	size        int64
	sum         [sha256.Size]byte
}

// newLocalFile reads the size and the checksum of a file. It refuses what the media service would
// refuse.
func newLocalFile(field string, f *os.File) (*localFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	known, ok := fileTypeOf(f.Name())
	switch {
	case !info.Mode().IsRegular():
		return nil, refusal{field, "type", "must be a file"}
	case info.Size() == 0:
		return nil, refusal{field, "size", "is an empty file"}
	case !ok:
		return nil, refusal{field, "type", "has an extension of no known type: use mp4, webm, mov, mp3, m4a, ogg, wav, flac, pdf, jpg, png or webp"}
	}
	sum, err := mediaupload.Digest(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return &localFile{f, field, filepath.Base(f.Name()), known.contentType, info.Size(), sum}, nil
}

func (a *app) mediaUpload() *cobra.Command {
	var cover bool
	c := &cobra.Command{
		Use: "upload MEDIA FILE", Short: "Upload the file or the cover of a media item, in parts", Args: exactly("MEDIA", "FILE"),
		Long: `Upload the file or the cover of a media item, in parts. The file replaces the current
one when the upload is complete. If the command fails, run it again: it continues
with the parts that are missing.`,
		Example: `  reservectl media upload --company comp_… media_… flow.mp4
  reservectl media upload --company comp_… media_… flow.jpg --cover`,
		RunE: func(c *cobra.Command, args []string) error {
			purpose := mediav1.UploadPurpose_UPLOAD_PURPOSE_FILE
			if cover {
				purpose = mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER
			}
			return a.upload(c.Context(), args[0], args[1], purpose)
		},
	}
	c.Flags().BoolVar(&cover, "cover", false, "upload an image as the cover of the item")
	c.Flags().StringVar(&a.access.Media.BaseURL, "media-url", "", mediaURLUsage)
	return c
}

func (a *app) upload(ctx context.Context, item, path string, purpose mediav1.UploadPurpose) error {
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	defer opened.Close()
	f, err := newLocalFile("FILE", opened)
	var refused refusal
	if errors.As(err, &refused) {
		return usageError{refused}
	}
	if err != nil {
		return err
	}
	s, err := a.forCompany(a.media)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	done, err := a.sendFile(s.ctx, a.mediaSender(s), item, purpose, f)
	if err != nil {
		return err
	}
	return a.printOne(rowOf(done.ProtoReflect()))
}
