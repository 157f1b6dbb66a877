package media

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// servePart receives one part of an upload. Everything that can be refused by its headers is refused before
// the body is read. // invariant 4
func (s *Server) servePart(w http.ResponseWriter, r *http.Request) error {
	link, ok := s.links.readParts(r.PathValue("token"))
	number, isNumber := parsePart(r.PathValue("part"))
	if !ok || !isNumber {
		return errBadLink()
	}
	if err := checkPartHeaders(r); err != nil {
		return err
	}
	release, err := slot(s.parts, link.company)
	if err != nil {
		return err
	}
	defer release()
	u, err := s.store.uploadOf(r.Context(), link.company, link.upload)
	if err != nil {
		return err
	}
	if err := u.requireOpen(s.now()); err != nil {
		return err
	}
	size := u.sizeOf(number)
	switch {
	case size == 0:
		return failed{http.StatusNotFound, fault.New(fault.NotFound, fault.ReasonNotFound, "the upload has "+strconv.Itoa(int(u.partCount()))+" parts")}
	case r.ContentLength > size:
		return refuse(http.StatusRequestEntityTooLarge, ReasonFileTooLarge, "the part has "+strconv.FormatInt(size, 10)+" bytes")
	case r.ContentLength < size:
		return refuse(http.StatusBadRequest, ReasonUploadIncomplete, "the part has "+strconv.FormatInt(size, 10)+" bytes")
	}
	if err := s.receive(w, r, link, u, number); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// checkPartHeaders refuses a part whose size is not known or too large, and one that is compressed.
func checkPartHeaders(r *http.Request) error {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return refuse(http.StatusUnsupportedMediaType, fault.ReasonUnsupportedMediaType, "send the part without Content-Encoding")
	}
	if r.ContentLength < 0 {
		return failed{http.StatusBadRequest, fault.InvalidParameter("Content-Length", "required", "is required")}
	}
	if r.ContentLength > partSize {
		return refuse(http.StatusRequestEntityTooLarge, ReasonFileTooLarge, "a part has at most "+strconv.Itoa(partSize)+" bytes")
	}
	_, err := digestOf(r.Header)
	return err
}

// digestOf returns the sha-256 of Content-Digest (RFC 9530), or nil if there is none.
func digestOf(h http.Header) ([]byte, error) {
	for item := range strings.SplitSeq(strings.Join(h.Values("Content-Digest"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if !strings.EqualFold(name, "sha-256") {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(value, ":"), ":"))
		if err != nil || len(sum) != sha256.Size {
			return nil, failed{http.StatusBadRequest, fault.InvalidParameter("Content-Digest", "format", "must have the form sha-256=:base64:")}
		}
		return sum, nil
	}
	return nil, nil
}

// slowest is the lowest rate at which a part can arrive, in bytes per second.
const slowest = 32 << 10

// receive stores the body of a request as a part.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, link partLink, u Upload, number int32) error {
	size := u.sizeOf(number)
	body := &timedBody{
		body: io.LimitReader(r.Body, size+1), control: http.NewResponseController(w), stalled: s.settings.Stalled, now: time.Now,
		end: time.Now().Add(s.settings.Stalled + time.Duration(size/slowest)*time.Second),
	}
	in := bufio.NewReaderSize(body, 64<<10)
	if number == 1 {
		if err := checkStart(u, in, size); err != nil {
			return err
		}
	}
	p := storedPart{Number: number, Object: s.newID(), Size: size}
	key := objectKey(link.company, u.Item, p.Object)
	o, err := s.bucket.create(r.Context(), key, "application/octet-stream")
	if err != nil {
		return err
	}
	n, err := io.Copy(o, in)
	s.metrics.received.Add(float64(n))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		o.discard()
		return interrupted(body, err)
	}
	if wanted, _ := digestOf(r.Header); wanted != nil && hex.EncodeToString(wanted) != o.digest() {
		o.discard()
		return fault.Refuse(ReasonChecksumMismatch, "the part has the SHA-256 "+o.digest())
	}
	if err := o.Close(); err != nil {
		return err
	}
	p.SHA256 = o.digest()
	err = s.store.savePart(r.Context(), link.company, link.upload, p, s.now)
	if err != nil && !errors.Is(err, pg.ErrUncertain) {
		err = errors.Join(err, s.bucket.remove(r.Context(), key))
	}
	return err
}

// interrupted returns the response to a part that did not arrive completely.
func interrupted(body *timedBody, err error) error {
	if body.err == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err // the bucket failed
	}
	return failed{http.StatusRequestTimeout, fault.Refuse(ReasonUploadIncomplete, "the part did not arrive completely").Because(err)}
}

// checkStart refuses content of another type than declared, and an image with too many pixels, when its
// first bytes have arrived. // invariant 5
func checkStart(u Upload, in *bufio.Reader, size int64) error {
	head, err := in.Peek(int(min(size, sniffed)))
	if err != nil {
		return failed{http.StatusRequestTimeout, fault.Refuse(ReasonUploadIncomplete, "the part did not arrive completely").Because(err)}
	}
	found := detect(head)
	if err := u.requireType(found); err != nil {
		return err
	}
	if !isImage(found) {
		return nil
	}
	// The dimensions can come later in the file. They are checked again when it is complete.
	if f := fault.From(checkDimensions(bytes.NewReader(head))); f != nil && f.Reason == ReasonFileTooLarge {
		return f
	}
	return nil
}

// timedBody reads a body with deadlines: for each piece, and for all of it.
type timedBody struct {
	body    io.Reader
	control *http.ResponseController
	stalled time.Duration
	end     time.Time
	now     func() time.Time
	err     error // with which the body ended early
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	deadline := b.now().Add(b.stalled)
	if deadline.After(b.end) {
		deadline = b.end
	}
	if err := b.control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.body.Read(p)
	switch {
	case errors.Is(err, io.EOF): // the deadline would end the request while the part is being stored
		_ = b.control.SetReadDeadline(time.Time{})
	case err != nil:
		b.err = err
	}
	return n, err
}
