package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// mediaTimeout bounds calls of the media service. Completing an upload joins its parts.
const mediaTimeout = 15 * time.Second

// uploadReply is what assets/upload.js gets. The browser sends the parts of the file to the media service
// itself, and the forms of an upload to the dashboard.
type uploadReply struct {
	ID       string  `json:"id,omitempty"`
	PartURL  string  `json:"partUrl,omitempty"`
	PartSize int64   `json:"partSize,omitempty"`
	Parts    int32   `json:"parts,omitempty"`
	Received []int32 `json:"received,omitempty"`
	// Completing says that the parts are still being joined, so the form is to be sent again.
	Completing bool `json:"completing,omitempty"`
	// Next is the page to open when the upload is complete.
	Next string `json:"next,omitempty"`
	// Error says why the upload was refused.
	Error string `json:"error,omitempty"`
}

// reply responds to the script of an upload.
func (r *request) reply(u uploadReply) error {
	code := http.StatusOK
	if u.Error != "" {
		code = http.StatusUnprocessableEntity
	}
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	r.answer(code, "application/json; charset=utf-8", body)
	return nil
}

// refuseUpload responds with a refusal in words; it returns any other error.
func (r *request) refuseUpload(err error) error {
	if f := fault.From(err); isRefusal(f) {
		return r.reply(uploadReply{Error: r.text(sentence(f))})
	}
	return err
}

// begunReply tells the browser where to send the parts.
func begunReply(u *mediav1.Upload) uploadReply {
	return uploadReply{ID: u.GetId(), PartURL: u.GetPartUrl(), PartSize: u.GetPartSize(), Parts: u.GetPartCount(), Received: u.GetReceivedParts()}
}

// beginUpload begins the upload of a file or a cover. If the form names an upload of the same file that is
// still open, it continues that one.
func (r *request) beginUpload() error {
	size, err := strconv.ParseInt(r.value("size"), 10, 64)
	if err != nil || size < 1 {
		return r.reply(uploadReply{Error: r.text("library.upload.empty")})
	}
	name := r.value("name")
	if u, err := r.openUpload(name, size); err != nil || u != nil {
		if err != nil {
			return err
		}
		return r.reply(begunReply(u))
	}
	req := &mediav1.CreateUploadRequest{
		ItemId: r.path("id"), Purpose: mediav1.UploadPurpose_UPLOAD_PURPOSE_FILE, FileName: name, ContentType: mediaType(name, r.value("type")), Size: size,
	}
	if r.value("purpose") == "cover" {
		req.Purpose = mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER
	}
	res, err := perform(r, r.services.media.CreateUpload, req)
	if err != nil {
		return r.refuseUpload(err)
	}
	r.detail("file", "", name)
	return r.reply(begunReply(res.GetUpload()))
}

// openUpload returns the upload that the form continues; nil if it is not one of this file, or not open.
func (r *request) openUpload(name string, size int64) (*mediav1.Upload, error) {
	if r.value("upload") == "" {
		return nil, nil
	}
	res, err := r.services.media.GetUpload(r.ctx, &mediav1.GetUploadRequest{ItemId: r.path("id"), UploadId: r.value("upload")})
	if fault.Is(err, fault.NotFound) || err != nil && isRefusal(fault.From(err)) {
		return nil, nil
	}
	u := res.GetUpload()
	if err != nil || u.GetStatus() != mediav1.UploadStatus_UPLOAD_STATUS_OPEN || u.GetFileName() != name || u.GetSize() != size {
		return nil, err
	}
	return u, nil
}

// mediaTypes are the media types of files for which browsers give another one or none, by their extension.
var mediaTypes = map[string]string{
	".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".wav": "audio/wav", ".flac": "audio/flac",
	".pdf": "application/pdf", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp",
}

// mediaType returns the media type of a file: that of its extension, or else what the browser says.
func mediaType(name, declared string) string {
	if known := mediaTypes[strings.ToLower(path.Ext(name))]; known != "" {
		return known
	}
	return declared
}

// completeUpload makes the file of an upload that of its item. The script sends the form again while the
// parts are being joined, so the call has no idempotency key: it can be repeated.
func (r *request) completeUpload() error {
	item := r.path("id")
	res, err := r.services.media.CompleteUpload(r.ctx, &mediav1.CompleteUploadRequest{ItemId: item, UploadId: r.path("upload")})
	if err != nil {
		return r.refuseUpload(err)
	}
	u := res.GetUpload()
	switch u.GetStatus() {
	case mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE:
	case mediav1.UploadStatus_UPLOAD_STATUS_FAILED:
		return r.reply(uploadReply{Error: r.text("library.upload.failed", "why", cmp.Or(capital(u.GetError()), r.text("library.upload.unknown")))})
	default:
		return r.reply(uploadReply{ID: u.GetId(), Completing: true})
	}
	r.changed()
	r.detail("file", "", u.GetFileName())
	r.flash("done", r.text("library.upload.done", "name", u.GetFileName()))
	return r.reply(uploadReply{ID: u.GetId(), Next: "/library/" + item})
}

func (r *request) cancelUpload() error {
	_, err := perform(r, r.services.media.CancelUpload, &mediav1.CancelUploadRequest{ItemId: r.path("id"), UploadId: r.path("upload")})
	if err != nil {
		return r.refuseUpload(err)
	}
	return r.reply(uploadReply{ID: r.path("upload")})
}
