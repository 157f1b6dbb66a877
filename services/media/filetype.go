package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	_ "image/jpeg" // registers the decoder of dimensions
	_ "image/png"
	"io"
	"net/http"
	"slices"
	"strings"

	_ "golang.org/x/image/webp"

	"reservation.dev/platform/fault"
)

// sniffed is the number of bytes at the start of a file that decide its type.
const sniffed = 4096

// maxPixels is the largest image.
const maxPixels = 40_000_000

const (
	typeMP4       = "video/mp4"
	typeQuickTime = "video/quicktime"
	typeWebM      = "video/webm"
	typeAudioMP4  = "audio/mp4"
	typeOgg       = "audio/ogg"
	typeFLAC      = "audio/flac"
	typeWAV       = "audio/wav"
	typeMPEG      = "audio/mpeg"
	typePDF       = "application/pdf"
	typeUnknown   = "application/octet-stream"
)

// typesOf returns the types that a file of an item can have.
func typesOf(kind string) []string {
	switch kind {
	case kindVideo:
		return []string{typeMP4, typeWebM, typeQuickTime}
	case kindAudio:
		return []string{typeMPEG, typeAudioMP4, typeOgg, typeWAV, typeFLAC}
	case kindDocument:
		return []string{typePDF}
	case kindImage:
		return []string{"image/jpeg", "image/png", "image/webp"}
	}
	return nil
}

// typeAliases returns the other names of types that programs send.
func typeAliases() map[string]string {
	return map[string]string{
		"audio/x-m4a": typeAudioMP4, "audio/m4a": typeAudioMP4, "audio/x-wav": typeWAV, "audio/wave": typeWAV, "audio/vnd.wave": typeWAV,
		"audio/x-flac": typeFLAC, "audio/mp3": typeMPEG, "image/jpg": "image/jpeg",
	}
}

// canonical returns the type that a declared type means, without its parameters.
func canonical(declared string) string {
	declared, _, _ = strings.Cut(strings.ToLower(declared), ";")
	declared = strings.TrimSpace(declared)
	if t, ok := typeAliases()[declared]; ok {
		return t
	}
	return declared
}

// agree reports whether content of a type can have been declared as another one. The container of MP4
// and QuickTime is the same, and many programs write the brands of one for the other.
func agree(declared, found string) bool {
	isMovie := func(t string) bool { return t == typeMP4 || t == typeQuickTime }
	return declared == found || isMovie(declared) && isMovie(found)
}

// detect returns the type of a file by its first bytes.
func detect(head []byte) string {
	head = head[:min(len(head), sniffed)]
	switch {
	case isBox(head, "ftyp"):
		return brandType(head)
	case isBox(head, "moov"), isBox(head, "mdat"), isBox(head, "wide"), isBox(head, "free"), isBox(head, "skip"), isBox(head, "pnot"):
		return typeQuickTime // files of early versions have no brand
	case bytes.HasPrefix(head, []byte("fLaC")):
		return typeFLAC
	case bytes.HasPrefix(head, []byte{0x1a, 0x45, 0xdf, 0xa3}):
		return matroskaType(head)
	case isMPEGAudio(head):
		return typeMPEG
	}
	found, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch found {
	case "application/ogg":
		return oggType(head)
	case "audio/wave":
		return typeWAV
	}
	return found
}

// isBox reports whether a file begins with a box of a type, as MP4 and QuickTime files do.
func isBox(head []byte, name string) bool {
	return len(head) >= 12 && string(head[4:8]) == name && (binary.BigEndian.Uint32(head) >= 8 || binary.BigEndian.Uint32(head) == 1)
}

// brandType returns the type that the main brand of an MP4 or QuickTime file means.
func brandType(head []byte) string {
	switch brand := string(head[8:12]); {
	case brand == "qt  ":
		return typeQuickTime
	case brand == "M4A " || brand == "M4B " || brand == "F4A ":
		return typeAudioMP4
	case slices.Contains([]string{"isom", "iso2", "iso3", "iso4", "iso5", "iso6", "iso7", "iso8", "iso9", "mp41", "mp42", "mp71",
		"avc1", "M4V ", "M4VH", "M4VP", "dash", "MSNV", "F4V ", "3gp4", "3gp5", "3gp6", "mmp4"}, brand):
		return typeMP4
	}
	return typeUnknown // for example an image in HEIF
}

// matroskaType distinguishes WebM from Matroska, whose header has another name in it.
func matroskaType(head []byte) string {
	at := bytes.Index(head[:min(len(head), 256)], []byte{0x42, 0x82})
	if at < 0 || len(head) < at+3 {
		return typeUnknown
	}
	size := int(head[at+2] &^ 0x80)
	if end := at + 3 + size; end <= len(head) && string(bytes.TrimRight(head[at+3:end], "\x00")) == "webm" {
		return typeWebM
	}
	return "video/x-matroska"
}

// oggType distinguishes sound in Ogg from video.
func oggType(head []byte) string {
	const packet = 28 // where the first packet begins if the page has one segment
	if len(head) < packet+8 {
		return typeUnknown
	}
	for _, codec := range []string{"\x01vorbis", "OpusHead", "\x7fFLAC", "Speex   "} {
		if bytes.HasPrefix(head[packet:], []byte(codec)) {
			return typeOgg
		}
	}
	return "application/ogg"
}

// isMPEGAudio reports whether a file begins with an ID3 tag or a frame of MPEG audio, layer III.
func isMPEGAudio(head []byte) bool {
	if bytes.HasPrefix(head, []byte("ID3")) {
		return true
	}
	return len(head) >= 4 && head[0] == 0xff && head[1]&0xe6 == 0xe2 && // layer III
		head[1]>>3&3 != 1 && head[2]>>4 != 0xf && head[2]>>4 != 0 && head[2]>>2&3 != 3
}

// isImage reports whether a type is that of an image.
func isImage(t string) bool { return strings.HasPrefix(t, "image/") }

// keptError keeps the error with which a reader failed.
type keptError struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (k *keptError) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		k.err = err
	}
	return n, err
}

// checkDimensions refuses an image that is damaged or has too many pixels. It decodes the header only. If r
// fails, it returns the error of r, which says nothing about the image.
func checkDimensions(r io.Reader) error {
	in := &keptError{Reader: r}
	c, _, err := image.DecodeConfig(in)
	if in.err != nil {
		return in.err
	}
	if err != nil || c.Width < 1 || c.Height < 1 {
		return fault.Refuse(ReasonTypeNotSupported, "the image is damaged")
	}
	if int64(c.Width)*int64(c.Height) > maxPixels {
		return fault.Refuse(ReasonFileTooLarge, "an image can have at most 40 megapixels")
	}
	return nil
}
