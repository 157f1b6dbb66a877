// Package mediaupload sends files to the media service, in parts.
//
// An interrupted upload continues when the same file is sent for the same item again: the upload is
// created with an idempotency key that is made from the item and the file, and parts that have arrived are
// not sent twice.
package mediaupload

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

const (
	// maxUploads bounds the uploads of one file that Send tries, in case earlier ones have failed or
	// expired.
	maxUploads = 10
	// maxTries bounds how often Send sends one part.
	maxTries = 6
	// maxPart is the largest part that Send holds in memory.
	maxPart = 64 << 20
	// firstWait is the time before a part is sent again. It doubles with each try.
	firstWait = 250 * time.Millisecond
	// joinWait is the time between two looks at an upload whose parts are being joined.
	joinWait = 500 * time.Millisecond
)

// RefusedError is the error of a file that the media service does not take.
type RefusedError struct {
	// Code is the reason, for example FILE_TYPE_NOT_SUPPORTED; empty if the service gave none.
	Code    string
	Message string
}

func (e *RefusedError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Message + " (" + e.Code + ")"
}

// Sender sends files to the media service.
type Sender struct {
	Media mediav1.MediaServiceClient
	// HTTP sends the parts.
	HTTP *http.Client
	// BaseURL is the URL at which this machine reaches the media service's address for files. If it is
	// empty, Sender uses the address that the service returns, which browsers use.
	BaseURL string

	sleep func(ctx context.Context, d time.Duration) error // nil: sleep
}

// File is a file to send.
type File struct {
	// Item is the media_ identifier of the item that gets the file.
	Item        string
	Purpose     mediav1.UploadPurpose
	Name        string
	ContentType string
	Content     io.ReaderAt
	Size        int64
	// SHA256 is the checksum of Content. See Digest.
	SHA256 [sha256.Size]byte
	// Sent, unless it is nil, is called with the size of each part that has arrived.
	Sent func(size int64)
}

// Digest returns the checksum of the first size bytes of content.
func Digest(content io.ReaderAt, size int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(content, 0, size)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Send uploads a file and returns its item. If the media service refuses the file, the error is a
// *RefusedError. No error contains the address of the upload, which is a credential.
func (s *Sender) Send(ctx context.Context, f File) (*mediav1.MediaItem, error) {
	item, err := s.send(ctx, f)
	if fault.Is(err, fault.Refused) {
		refused := fault.From(err)
		return nil, &RefusedError{refused.Reason, refused.Message}
	}
	return item, err
}

func (s *Sender) send(ctx context.Context, f File) (*mediav1.MediaItem, error) {
	for n := range maxUploads {
		upload, err := s.open(ctx, f, n)
		if err != nil {
			return nil, err
		}
		if upload == nil {
			continue
		}
		if upload.GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_OPEN {
			if err := s.sendParts(ctx, f, upload); err != nil {
				return nil, err
			}
		}
		return s.complete(ctx, upload)
	}
	return nil, fmt.Errorf("%s: %d uploads have failed or expired; try again in a day", f.Name, maxUploads)
}

// open returns the n-th upload of a file, which may have some parts already. It returns nil if that upload
// is over, so that the next one is to be tried.
func (s *Sender) open(ctx context.Context, f File, n int) (*mediav1.Upload, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s %x %d", f.Item, f.Purpose, f.Name, f.ContentType, f.SHA256, n))
	created, err := s.Media.CreateUpload(rpc.WithIdempotencyKey(ctx, "upload-"+hex.EncodeToString(key[:16])), &mediav1.CreateUploadRequest{
		ItemId: f.Item, Purpose: f.Purpose, FileName: f.Name, ContentType: f.ContentType, Size: f.Size, Sha256: hex.EncodeToString(f.SHA256[:]),
	})
	if err != nil {
		return nil, err
	}
	// The response may be that of an earlier call, so its state may be outdated.
	res, err := s.Media.GetUpload(ctx, &mediav1.GetUploadRequest{ItemId: f.Item, UploadId: created.GetUpload().GetId()})
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch u := res.GetUpload(); {
	case u.GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_COMPLETING, u.GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_OPEN && !expired(u):
		return u, nil
	}
	return nil, nil
}

// expired reports whether an upload ends within a minute.
func expired(u *mediav1.Upload) bool {
	return u.GetExpiresAt() != nil && time.Until(u.GetExpiresAt().AsTime()) < time.Minute
}

// sendParts sends the parts that have not arrived.
func (s *Sender) sendParts(ctx context.Context, f File, u *mediav1.Upload) error {
	size := u.GetPartSize()
	if size < 1 || size > maxPart || (f.Size-1)/size+1 != int64(u.GetPartCount()) {
		return fmt.Errorf("the media service wants %d parts of %d bytes for a file of %d bytes", u.GetPartCount(), size, f.Size)
	}
	part := make([]byte, min(size, f.Size))
	for n := range u.GetPartCount() {
		from := int64(n) * size
		part := part[:min(size, f.Size-from)]
		if !slices.Contains(u.GetReceivedParts(), n+1) {
			if _, err := f.Content.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err := s.sendPart(ctx, fmt.Sprintf("%s/%d", u.GetPartUrl(), n+1), part); err != nil {
				return fmt.Errorf("part %d of %s: %w", n+1, f.Name, err)
			}
		}
		if f.Sent != nil {
			f.Sent(int64(len(part)))
		}
	}
	return nil
}

// sendPart sends a part, and repeats it if the connection or the service fails.
func (s *Sender) sendPart(ctx context.Context, address string, part []byte) error {
	address, err := s.reachable(address)
	if err != nil {
		return err
	}
	wait := firstWait
	for try := 1; ; try++ {
		retry, err := s.put(ctx, address, part)
		if err == nil || !retry || try == maxTries {
			return err
		}
		if err := s.wait(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

// reachable returns an address with the scheme and the host of BaseURL.
func (s *Sender) reachable(address string) (string, error) {
	if s.BaseURL == "" {
		return address, nil
	}
	base, err := url.Parse(s.BaseURL)
	if err != nil || base.Host == "" {
		return "", fmt.Errorf("%q is not the URL of the media service", s.BaseURL)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the media service returned an address that is not a URL")
	}
	u.Scheme, u.Host = base.Scheme, base.Host
	return u.String(), nil
}

// put sends a part once. retry reports whether the part may arrive if it is sent again.
func (s *Sender) put(ctx context.Context, address string, part []byte) (retry bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(part))
	if err != nil {
		return false, errors.New("the media service returned an address that is not a URL")
	}
	sum := sha256.Sum256(part)
	req.Header.Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
	req.Header.Set("Content-Type", "application/octet-stream")
	res, err := s.HTTP.Do(req)
	if err != nil {
		return ctx.Err() == nil, withoutAddress(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return ctx.Err() == nil, withoutAddress(err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return false, nil
	}
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return false, refusalOf(text)
	}
	retry = res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusRequestTimeout
	return retry, fmt.Errorf("the media service answered %s: %s", res.Status, bytes.TrimSpace(text))
}

// refusalOf returns the refusal in the body of a response to a part, which is JSON or plain text.
func refusalOf(body []byte) error {
	type refusal struct{ Code, Message string }
	var answer struct {
		refusal
		Error refusal
	}
	if json.Unmarshal(body, &answer) != nil {
		answer.Message = string(bytes.TrimSpace(body))
	}
	return &RefusedError{
		cmp.Or(answer.Error.Code, answer.Code), cmp.Or(answer.Error.Message, answer.Message, "the media service gave no reason"),
	}
}

// withoutAddress removes the address from an error of the HTTP client.
func withoutAddress(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// complete completes an upload, and waits until its parts are joined.
func (s *Sender) complete(ctx context.Context, u *mediav1.Upload) (*mediav1.MediaItem, error) {
	for {
		res, err := s.Media.CompleteUpload(ctx, &mediav1.CompleteUploadRequest{ItemId: u.GetItemId(), UploadId: u.GetId()})
		if err != nil {
			return nil, err
		}
		switch done := res.GetUpload(); done.GetStatus() {
		case mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE:
			return res.GetItem(), nil
		case mediav1.UploadStatus_UPLOAD_STATUS_COMPLETING:
		default:
			return nil, &RefusedError{Message: "the upload failed: " + done.GetError()}
		}
		if err := s.wait(ctx, joinWait); err != nil {
			return nil, err
		}
	}
}

func (s *Sender) wait(ctx context.Context, d time.Duration) error {
	if s.sleep != nil {
		return s.sleep(ctx, d)
	}
	return sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
