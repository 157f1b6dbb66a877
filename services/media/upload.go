package media

import (
	"encoding/hex"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// The statuses of uploads.
const (
	uploadOpen       = "open"
	uploadCompleting = "completing"
	uploadComplete   = "complete"
	uploadFailed     = "failed"
)

// The purposes of uploads.
const (
	purposeFile  = "file"
	purposeCover = "cover"
)

const (
	partSize    = 8 << 20 // bytes
	maxCover    = 10 << 20
	maxFileName = 200
	maxType     = 100

	uploadLasts = 24 * time.Hour
	// uploadKept is how long an upload that has ended can be read.
	uploadKept = 7 * 24 * time.Hour
)

// Upload is the upload of a file, in parts.
type Upload struct {
	ID        id.Upload    `db:"id"`
	Item      id.MediaItem `db:"item_id"`
	Purpose   string       `db:"purpose"`
	Status    string       `db:"status"`
	FileName  string       `db:"file_name"`
	Type      string       `db:"content_type"`
	Size      int64        `db:"size"`
	SHA256    string       `db:"sha256"` // "": not declared
	PartSize  int64        `db:"part_size"`
	Reason    string       `db:"reason"` // of a failed upload
	Error     string       `db:"error"`
	Kind      string       `db:"kind"` // of the item
	ExpiresAt time.Time    `db:"expires_at"`
	Parts     []int32      `db:"parts"` // that have arrived, ascending
}

// storedPart is a part that has arrived.
type storedPart struct {
	Number int32   `db:"number"`
	Object id.UUID `db:"object_id"`
	Size   int64   `db:"size"`
	SHA256 string  `db:"sha256"`
}

// partCount returns the number of parts of an upload.
func (u Upload) partCount() int32 { return int32((u.Size + u.PartSize - 1) / u.PartSize) }

// sizeOf returns the size of a part, or 0 if the upload has no such part.
func (u Upload) sizeOf(part int32) int64 {
	switch last := u.partCount(); {
	case part < 1 || part > last:
		return 0
	case part == last:
		return u.Size - int64(last-1)*u.PartSize
	}
	return u.PartSize
}

// missing returns the parts that have not arrived.
func (u Upload) missing() (parts []int32) {
	next := 0
	for n := int32(1); n <= u.partCount(); n++ {
		if next < len(u.Parts) && u.Parts[next] == n {
			next++
			continue
		}
		parts = append(parts, n)
	}
	return parts
}

// requireOpen refuses an upload that does not accept parts at a time.
func (u Upload) requireOpen(now time.Time) error {
	switch {
	case u.Status == uploadFailed:
		return u.failure()
	case u.Status != uploadOpen:
		return errComplete()
	case !now.Before(u.ExpiresAt):
		return errExpired()
	}
	return nil
}

// requireComplete refuses to join the parts of an upload that is not open, or lacks parts.
func (u Upload) requireComplete(now time.Time) error {
	if err := u.requireOpen(now); err != nil {
		return err
	}
	return errIncomplete(u.missing())
}

// failure returns the fault of a failed upload.
func (u Upload) failure() error { return fault.Refuse(u.Reason, u.Error) }

func errComplete() error { return fault.Refuse(ReasonUploadComplete, "the upload is complete") }

func errExpired() error {
	return fault.Refuse(ReasonUploadExpired, "the upload has expired; create another one")
}

// maxMissing is the number of missing parts that a refusal names.
const maxMissing = 100

// errIncomplete returns the fault for missing parts, or nil if there are none.
func errIncomplete(missing []int32) error {
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, 0, maxMissing)
	for _, n := range missing[:min(len(missing), maxMissing)] {
		names = append(names, strconv.Itoa(int(n)))
	}
	return fault.Refuse(ReasonUploadIncomplete, strconv.Itoa(len(missing))+" parts are missing").With("missing_parts", strings.Join(names, ","))
}

// newUpload checks the file of an upload for an item of a kind. most is the limit of the installation.
func newUpload(f *check.Fields, u Upload, most int64) (Upload, error) {
	u.FileName = fileNameOf(f, u.FileName)
	u.Type = canonical(f.Line("content_type", u.Type, 1, maxType))
	if u.Size < 1 {
		f.Add("size", "min", "must be at least 1")
	}
	u.SHA256 = strings.ToLower(u.SHA256)
	if sum, err := hex.DecodeString(u.SHA256); err != nil || len(sum) != 0 && len(sum) != 32 {
		f.Add("sha256", "format", "must have 64 hexadecimal characters")
	}
	if err := f.Err(); err != nil {
		return u, err
	}
	if u.Purpose == purposeCover {
		most = maxCover
	}
	if u.Size > most {
		return u, fault.Refuse(ReasonFileTooLarge, "a file can have at most "+strconv.FormatInt(most, 10)+" bytes").With("max_size", strconv.FormatInt(most, 10))
	}
	return u, u.requireType(u.Type)
}

// allowed returns the types that the upload can have.
func (u Upload) allowed() []string {
	if u.Purpose == purposeCover {
		return typesOf(kindImage)
	}
	return typesOf(u.Kind)
}

// requireType refuses a type that the item cannot have, or that is not the declared one.
func (u Upload) requireType(found string) error {
	for _, t := range u.allowed() {
		if t == found && agree(u.Type, found) {
			return nil
		}
	}
	message := "the content is not of the type " + u.Type
	if found == u.Type {
		message = "the type must be one of " + strings.Join(u.allowed(), ", ")
	}
	return fault.Refuse(ReasonTypeNotSupported, message).With("content_type", found)
}

// fileNameOf checks the name of a file. A path is refused, because no part of it could be right.
func fileNameOf(f *check.Fields, name string) string {
	switch {
	case name == "":
		f.Add("file_name", "required", "is required")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, isHidden):
		f.Add("file_name", "format", "must not contain control characters")
	case strings.ContainsAny(name, `/\`) || path.Base(name) != name:
		f.Add("file_name", "format", "must be a name without a path")
	case strings.HasPrefix(name, "."):
		f.Add("file_name", "format", "must not begin with a dot")
	case utf8.RuneCountInString(name) > maxFileName:
		f.Add("file_name", "max_length", "must have at most "+strconv.Itoa(maxFileName)+" characters")
	}
	return name
}

// isHidden reports whether a character is a control character, or changes the direction of text, which
// could disguise the extension of a name.
func isHidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
