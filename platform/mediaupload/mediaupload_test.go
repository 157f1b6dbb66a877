package mediaupload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

const partSize = 10

// library is a fake of the media service. Its CreateUpload returns the first response again for an
// idempotency key that it knows.
type library struct {
	mediav1.MediaServiceClient
	url string

	mu       sync.Mutex
	created  map[string]string // upload by idempotency key
	uploads  map[string]*mediav1.Upload
	parts    map[string]map[int32][]byte
	sums     map[string]string
	puts     []string
	joining  int                               // how often CompleteUpload answers that the parts are being joined
	failWith map[int]func(http.ResponseWriter) // by the number of the PUT, from 1
	expires  func(upload int) time.Time        // of the n-th upload
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{
		created: map[string]string{}, uploads: map[string]*mediav1.Upload{}, parts: map[string]map[int32][]byte{}, sums: map[string]string{},
		failWith: map[int]func(http.ResponseWriter){}, expires: func(int) time.Time { return time.Now().Add(time.Hour) },
	}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

// ServeHTTP receives a part.
func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/parts/secret-"), "/")
	n, _ := strconv.Atoi(path[len(path)-1])
	l.puts = append(l.puts, strconv.Itoa(n))
	if fail := l.failWith[len(l.puts)]; fail != nil {
		fail(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	u := l.uploads[path[0]]
	switch {
	case err != nil || u == nil || r.Method != http.MethodPut:
		http.Error(w, "no such upload", http.StatusNotFound)
	case r.Header.Get("Content-Digest") != "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":" || r.ContentLength != int64(len(body)):
		http.Error(w, "wrong digest", http.StatusBadRequest)
	default:
		l.parts[path[0]][int32(n)] = body
		w.WriteHeader(http.StatusNoContent)
	}
}

func (l *library) CreateUpload(ctx context.Context, req *mediav1.CreateUploadRequest, _ ...grpc.CallOption) (*mediav1.CreateUploadResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if req.GetContentType() == "text/plain" {
		return nil, fault.Refuse("FILE_TYPE_NOT_SUPPORTED", "text is not supported")
	}
	key := rpc.IdempotencyKey(ctx)
	id, known := l.created[key]
	if !known {
		id = fmt.Sprintf("upl_%d", len(l.uploads)+1)
		l.created[key] = id
		l.parts[id], l.sums[id] = map[int32][]byte{}, req.GetSha256()
		l.uploads[id] = &mediav1.Upload{
			Id: id, ItemId: req.GetItemId(), Status: mediav1.UploadStatus_UPLOAD_STATUS_OPEN, PartSize: partSize, Size: req.GetSize(), FileName: req.GetFileName(),
			PartCount: int32((req.GetSize() + partSize - 1) / partSize), PartUrl: l.url + "/parts/secret-" + id,
			ExpiresAt: timestamppb.New(l.expires(len(l.uploads) + 1)),
		}
	}
	return &mediav1.CreateUploadResponse{Upload: &mediav1.Upload{Id: id}}, nil
}

func (l *library) GetUpload(_ context.Context, req *mediav1.GetUploadRequest, _ ...grpc.CallOption) (*mediav1.GetUploadResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.uploads[req.GetUploadId()]
	if u == nil {
		return nil, fault.Missing("upload")
	}
	u = proto.CloneOf(u)
	for n := range l.parts[u.GetId()] {
		u.ReceivedParts = append(u.ReceivedParts, n)
	}
	slices.Sort(u.ReceivedParts)
	return &mediav1.GetUploadResponse{Upload: u}, nil
}

func (l *library) CompleteUpload(_ context.Context, req *mediav1.CompleteUploadRequest, _ ...grpc.CallOption) (*mediav1.CompleteUploadResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.uploads[req.GetUploadId()]
	if l.joining > 0 {
		l.joining--
		u.Status = mediav1.UploadStatus_UPLOAD_STATUS_COMPLETING
		return &mediav1.CompleteUploadResponse{Upload: u}, nil
	}
	content := l.content(u)
	u.Status = mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE
	if sum := sha256.Sum256(content); fmt.Sprintf("%x", sum) != l.sums[u.GetId()] {
		u.Status, u.Error = mediav1.UploadStatus_UPLOAD_STATUS_FAILED, "the checksum is different"
	}
	return &mediav1.CompleteUploadResponse{Upload: u, Item: &mediav1.MediaItem{Id: u.GetItemId(), File: &mediav1.MediaFile{Name: u.GetFileName(), Size: int64(len(content))}}}, nil
}

func (l *library) content(u *mediav1.Upload) []byte {
	var content []byte
	for n := range u.GetPartCount() {
		content = append(content, l.parts[u.GetId()][n+1]...)
	}
	return content
}

// sender returns a sender that waits no time, and the number of its waits.
func (l *library) sender() (s *Sender, waits *int) {
	waits = new(int)
	return &Sender{Media: l, HTTP: http.DefaultClient, sleep: func(ctx context.Context, _ time.Duration) error {
		*waits++
		return ctx.Err()
	}}, waits
}

func newFile(t *testing.T, size int) File {
	t.Helper()
	content := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = r.Read(content)
	sum, err := Digest(bytes.NewReader(content), int64(size))
	if err != nil || sum != sha256.Sum256(content) {
		t.Fatalf("%x, %v", sum, err)
	}
	return File{Item: "media_1", Name: "a.mp4", ContentType: "video/mp4", Content: bytes.NewReader(content), Size: int64(size), SHA256: sum}
}

func status(code int, text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { http.Error(w, text, code) }
}

func TestSend(t *testing.T) {
	t.Parallel()
	t.Run("sends files of any number of parts", func(t *testing.T) {
		t.Parallel()
		for _, size := range []int{1, 9, 10, 11, 20, 35} {
			l := newLibrary(t)
			s, waits := l.sender()
			f := newFile(t, size)
			var sent int64
			f.Sent = func(n int64) { sent += n }
			item, err := s.Send(t.Context(), f)
			if err != nil || item.GetFile().GetSize() != int64(size) || sent != int64(size) || len(l.puts) != (size+9)/10 || *waits != 0 {
				t.Errorf("%d bytes: %v, %v, sent %d in %v", size, item, err, sent, l.puts)
			}
		}
	})
	t.Run("continues an interrupted upload", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		s, _ := l.sender()
		f := newFile(t, 35)
		ctx, cancel := context.WithCancel(t.Context())
		f.Sent = func(int64) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.puts) == 2 {
				cancel()
			}
		}
		if _, err := s.Send(ctx, f); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		f.Sent = nil
		if _, err := s.Send(t.Context(), f); err != nil || strings.Join(l.puts, "") != "1234" || len(l.uploads) != 1 {
			t.Errorf("%v: sent parts %v in %d uploads", err, l.puts, len(l.uploads))
		}
	})
	t.Run("uploads a file again that was replaced since", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		s, _ := l.sender()
		for range 3 {
			if _, err := s.Send(t.Context(), newFile(t, 11)); err != nil {
				t.Fatal(err)
			}
		}
		if len(l.uploads) != 3 {
			t.Errorf("%d uploads", len(l.uploads))
		}
	})
	t.Run("begins another upload if the first one is about to expire", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		l.expires = func(n int) time.Time { return time.Now().Add(time.Duration(n-1) * time.Hour) }
		s, _ := l.sender()
		if _, err := s.Send(t.Context(), newFile(t, 11)); err != nil || len(l.uploads) != 2 {
			t.Errorf("%v, %d uploads", err, len(l.uploads))
		}
	})
	t.Run("ends if all uploads expire", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		l.expires = func(int) time.Time { return time.Now() }
		s, _ := l.sender()
		if _, err := s.Send(t.Context(), newFile(t, 11)); err == nil || len(l.uploads) != maxUploads || len(l.puts) != 0 {
			t.Errorf("%v, %d uploads", err, len(l.uploads))
		}
	})
	t.Run("waits until the parts are joined", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		l.joining = 3
		s, waits := l.sender()
		if _, err := s.Send(t.Context(), newFile(t, 11)); err != nil || *waits != 3 {
			t.Errorf("%v after %d waits", err, *waits)
		}
	})
	t.Run("sends a part again after a failure of the service", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		l.failWith[2], l.failWith[3] = status(503, "busy"), status(429, "slow down")
		s, waits := l.sender()
		if _, err := s.Send(t.Context(), newFile(t, 35)); err != nil || *waits != 2 || strings.Join(l.puts, "") != "122234" {
			t.Errorf("%v after %d waits, sent %v", err, *waits, l.puts)
		}
	})
	t.Run("gives up a part after several failures", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		for n := range 2 * maxTries {
			l.failWith[n+1] = status(500, "broken")
		}
		s, _ := l.sender()
		_, err := s.Send(t.Context(), newFile(t, 35))
		if err == nil || len(l.puts) != maxTries || !strings.Contains(err.Error(), "part 1 of a.mp4: the media service answered 500") {
			t.Errorf("%v after %d tries", err, len(l.puts))
		}
	})
	t.Run("uses the base URL instead of the public one", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		s, _ := l.sender()
		s.BaseURL, l.url = l.url, "https://media.example"
		if _, err := s.Send(t.Context(), newFile(t, 11)); err != nil || len(l.puts) != 2 {
			t.Errorf("%v, sent %v", err, l.puts)
		}
		s.BaseURL = "media:8080"
		if _, err := s.Send(t.Context(), newFile(t, 12)); err == nil || !strings.Contains(err.Error(), `"media:8080" is not the URL`) {
			t.Errorf("got %v", err)
		}
	})
}

// refused returns the refusal in err, or an empty one.
func refused(err error) *RefusedError {
	e := &RefusedError{}
	_ = errors.As(err, &e)
	return e
}

func TestSendRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer       func(http.ResponseWriter)
		reason, text string
	}{
		"in JSON":               {status(415, `{"error":{"code":"FILE_TYPE_NOT_SUPPORTED","message":"the content is text"}}`), "FILE_TYPE_NOT_SUPPORTED", "the content is text"},
		"in JSON without error": {status(400, `{"code":"CHECKSUM_MISMATCH","message":"wrong"}`), "CHECKSUM_MISMATCH", "wrong"},
		"in plain text":         {status(413, "too long"), "", "too long"},
		"without a text":        {func(w http.ResponseWriter) { w.WriteHeader(400) }, "", "the media service gave no reason"},
	} {
		t.Run("returns the refusal of a part "+name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t)
			l.failWith[2] = tt.answer
			s, _ := l.sender()
			_, err := s.Send(t.Context(), newFile(t, 35))
			if e := refused(err); e.Code != tt.reason || e.Message != tt.text || len(l.puts) != 2 {
				t.Errorf("got %v after parts %v", err, l.puts)
			}
		})
	}
	t.Run("returns the refusal of an upload", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		s, _ := l.sender()
		f := newFile(t, 11)
		f.ContentType = "text/plain"
		if _, err := s.Send(t.Context(), f); refused(err).Error() != "text is not supported (FILE_TYPE_NOT_SUPPORTED)" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("refuses a file that changed while it was sent", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		s, _ := l.sender()
		f := newFile(t, 11)
		f.Content = bytes.NewReader(make([]byte, 11))
		if _, err := s.Send(t.Context(), f); refused(err).Error() != "the upload failed: the checksum is different" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an error has no address, which is a credential", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t)
		l.url = "http://127.0.0.1:1"
		s, waits := l.sender()
		_, err := s.Send(t.Context(), newFile(t, 11))
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "connection refused") || *waits != maxTries-1 {
			t.Errorf("got %v after %d waits", err, *waits)
		}
	})
	t.Run("a part size that does not fit the file is an error", func(t *testing.T) {
		t.Parallel()
		u := &mediav1.Upload{PartSize: 10, PartCount: 3}
		for _, size := range []int64{20, 31} {
			if err := (&Sender{}).sendParts(t.Context(), File{Size: size}, u); err == nil {
				t.Errorf("%d bytes in 3 parts of 10 are no error", size)
			}
		}
	})
	t.Run("waiting ends with the context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := (&Sender{}).wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
