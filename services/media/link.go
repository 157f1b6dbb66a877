package media

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/seal"
)

// play is what a playback link names.
type play struct {
	company  id.Company
	customer id.Customer
	item     id.MediaItem
	file     id.UUID
	reason   Reason    // without its last day
	expires  time.Time // in the company's time
}

// coverLink is what the address of a cover names.
type coverLink struct {
	company id.Company
	item    id.MediaItem
	file    id.UUID
	expires time.Time // in the company's time
}

// partLink is what the address of an upload's parts names.
type partLink struct {
	company id.Company
	upload  id.Upload
	expires time.Time
}

// links signs and reads the addresses that the service gives out. // invariant 7
type links struct {
	base                  string // MEDIA_URL, without a slash at the end
	plays, covers, upload *seal.Signer
}

// newLinks returns the links under a base address, signed with keys that are derived from masterKey.
func newLinks(base string, masterKey config.Secret) (*links, error) {
	plays, err1 := seal.ParseSigner(masterKey, "media playback")
	covers, err2 := seal.ParseSigner(masterKey, "media cover")
	uploads, err3 := seal.ParseSigner(masterKey, "media upload")
	return &links{base: strings.TrimSuffix(base, "/"), plays: plays, covers: covers, upload: uploads}, errors.Join(err1, err2, err3)
}

// The paths of the addresses.
const (
	playPath   = "/play/"
	coverPath  = "/cover/"
	uploadPath = "/upload/"
)

const idSize = len(id.UUID{})

// The sizes of links without signatures, in bytes. A link with another size is not read.
const (
	playSize   = 4*idSize + 1 + 2*idSize + 8
	coverSize  = 3*idSize + 8
	uploadSize = 2*idSize + 8
)

// text returns the text of a link, whose case and padding cannot be changed.
func text(signed []byte) string { return base64.RawURLEncoding.EncodeToString(signed) }

// open returns the signed bytes of a link, or false if anything of it was changed.
func open(s *seal.Signer, token string, size int) ([]byte, bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(size+seal.SignatureSize) {
		return nil, false
	}
	signed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return nil, false
	}
	return s.Open(signed)
}

func (l *links) play(p play) string {
	b := make([]byte, 0, playSize+seal.SignatureSize)
	b = append(append(append(append(b, p.company[:]...), p.customer[:]...), p.item[:]...), p.file[:]...)
	b = append(append(append(b, p.reason.Kind), p.reason.ID[:]...), p.reason.Entitlement[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.expires.Unix()))
	return l.base + playPath + text(l.plays.Sign(b))
}

func (l *links) readPlay(token string) (p play, ok bool) {
	b, ok := open(l.plays, token, playSize)
	if !ok {
		return p, false
	}
	b = take(p.company[:], b)
	b = take(p.customer[:], b)
	b = take(p.item[:], b)
	b = take(p.file[:], b)
	p.reason.Kind, b = b[0], b[1:]
	b = take(p.reason.ID[:], b)
	b = take(p.reason.Entitlement[:], b)
	p.expires = instant(b)
	return p, true
}

func (l *links) cover(c coverLink) string {
	b := make([]byte, 0, coverSize+seal.SignatureSize)
	b = append(append(append(b, c.company[:]...), c.item[:]...), c.file[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.expires.Unix()))
	return l.base + coverPath + text(l.covers.Sign(b))
}

func (l *links) readCover(token string) (c coverLink, ok bool) {
	b, ok := open(l.covers, token, coverSize)
	if !ok {
		return c, false
	}
	b = take(c.company[:], b)
	b = take(c.item[:], b)
	c.expires = instant(take(c.file[:], b))
	return c, true
}

func (l *links) parts(p partLink) string {
	b := make([]byte, 0, uploadSize+seal.SignatureSize)
	b = append(append(b, p.company[:]...), p.upload[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.expires.Unix()))
	return l.base + uploadPath + text(l.upload.Sign(b))
}

func (l *links) readParts(token string) (p partLink, ok bool) {
	b, ok := open(l.upload, token, uploadSize)
	if !ok {
		return p, false
	}
	b = take(p.company[:], b)
	p.expires = instant(take(p.upload[:], b))
	return p, true
}

// take fills to from the start of b and returns the rest.
func take(to, b []byte) []byte { return b[copy(to, b):] }

func instant(b []byte) time.Time { return time.Unix(int64(binary.BigEndian.Uint64(b)), 0).UTC() }

// coverWindow is how long the address of a cover stays the same, so that a response that shows it does
// too. The address is valid for one to two windows: stored responses to idempotency keys, which show
// it, are kept for a day.
const coverWindow = 24 * time.Hour

// coverExpiry returns when the address of a cover expires that is given out at a time.
func coverExpiry(now time.Time) time.Time { return now.Truncate(coverWindow).Add(2 * coverWindow) }

// objectKey returns the name of an object in the bucket. // invariant 3
func objectKey(company id.Company, item id.MediaItem, object id.UUID) string {
	return objectPrefix(company) + uuid.UUID(item).String() + "/" + uuid.UUID(object).String()
}

// objectPrefix returns the start of the names of a company's objects.
func objectPrefix(company id.Company) string { return uuid.UUID(company).String() + "/" }

// parseKey returns the company of an object, and the object's identifier if its name has one. It returns
// false for objects whose names the service has not made.
func parseKey(key string) (company id.Company, object id.UUID, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return company, object, false
	}
	of, err1 := uuid.Parse(parts[0])
	_, err2 := uuid.Parse(parts[1])
	name, err3 := uuid.Parse(parts[2])
	if err1 != nil || err2 != nil {
		return company, object, false
	}
	if err3 != nil || name.String() != parts[2] { // for example a file that was being written
		return id.Company(of), object, true
	}
	return id.Company(of), id.UUID(name), true
}

// parsePart reads the number of a part. It has one spelling.
func parsePart(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}
