// Package static serves files that never change while a process runs: pages rendered at
// start, and embedded scripts, style sheets and pictures.
//
// A File is compressed once and handles conditional requests, so that a request costs only a
// map lookup and a write.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"reservation.dev/platform/negotiate"
)

// Cache-Control values. A file with Forever must be served at a path that changes with
// its content.
const (
	Revalidate = "no-cache"
	Forever    = "public, max-age=31536000, immutable"
)

// File is one response, in plain and compressed form.
type File struct {
	mediaType, cache string
	hash             string
	plain            []byte // nil: only compressed
	zipped           []byte // nil: compressing it does not help
}

// New returns a file with the media type and Cache-Control value.
func New(mediaType, cache string, body []byte) *File {
	f := &File{mediaType: mediaType, cache: cache, hash: hashOf(body), plain: body}
	if strings.HasPrefix(mediaType, "image/") && mediaType != "image/svg+xml" {
		return f
	}
	if zipped := compress(body); len(zipped) < len(body) {
		f.zipped = zipped
	}
	return f
}

// NewCompressed returns a file whose body is already compressed with gzip. Serve decompresses
// it for clients that do not accept gzip.
func NewCompressed(mediaType, cache string, zipped []byte) *File {
	return &File{mediaType: mediaType, cache: cache, hash: hashOf(zipped), zipped: zipped}
}

// Path returns the path of the file below prefix: its name with a hash of its content
// before the extension.
func (f *File) Path(prefix, name string) string {
	ext := path.Ext(name)
	return prefix + strings.TrimSuffix(name, ext) + "." + f.hash[:12] + ext
}

// Len returns the size of the file as most browsers transfer it, in bytes.
func (f *File) Len() int {
	if f.zipped != nil {
		return len(f.zipped)
	}
	return len(f.plain)
}

// ServeHTTP responds to GET and HEAD with status 200, or 304 if If-None-Match has the ETag.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.Serve(w, r, http.StatusOK) }

// Serve responds with the status. A status other than 200 is sent without an ETag.
func (f *File) Serve(w http.ResponseWriter, r *http.Request, status int) {
	zipped := f.zipped != nil && negotiate.Coding(r.Header, "gzip") != ""
	etag := `"` + f.hash[:32]
	if zipped {
		etag += "-gzip"
	}
	etag += `"`
	h := w.Header()
	h.Set("Cache-Control", f.cache)
	if f.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if status == http.StatusOK {
		h.Set("ETag", etag)
		if negotiate.Matches(r.Header, etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", f.mediaType)
	switch {
	case zipped:
		h.Set("Content-Encoding", "gzip")
		write(w, r, status, f.zipped)
	case f.plain != nil:
		write(w, r, status, f.plain)
	default:
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			f.decompress(w)
		}
	}
}

func write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// decompress writes a file that is kept only compressed.
func (f *File) decompress(w io.Writer) {
	plain, err := gzip.NewReader(bytes.NewReader(f.zipped))
	if err != nil {
		return // the response is cut short: the embedded file is damaged
	}
	_, _ = io.Copy(w, plain)
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(body)                                  // writing to a buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}
