package reservectl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// planWorld is a fake of the subscription service.
type planWorld struct {
	subscriptionv1.UnimplementedPlanServiceServer
	subscriptionv1.UnimplementedSubscriptionServiceServer

	mu       sync.Mutex
	plans    []*subscriptionv1.Plan
	created  []*subscriptionv1.CreatePlanRequest
	imported map[string]*subscriptionv1.ImportedSubscription
	batches  []int
	failAt   int // number of the batch that fails, from 1
}

func (w *planWorld) CreatePlan(_ context.Context, req *subscriptionv1.CreatePlanRequest) (*subscriptionv1.CreatePlanResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.GetCredits() > 1000 {
		return nil, fault.Status(fault.InvalidFields(fault.Field{Field: "credits", Rule: "range", Message: "must be at most 1000"})).Err()
	}
	w.created = append(w.created, req)
	p := &subscriptionv1.Plan{Id: fmt.Sprintf("plan_%d", len(w.plans)+1), Title: req.GetTitle(), Status: subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE}
	w.plans = append(w.plans, p)
	return &subscriptionv1.CreatePlanResponse{Plan: p}, nil
}

// ListPlans returns one plan a page.
func (w *planWorld) ListPlans(_ context.Context, req *subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := len(req.GetPageToken())
	res := &subscriptionv1.ListPlansResponse{}
	if at < len(w.plans) {
		res.Plans = w.plans[at : at+1]
	}
	if at+1 < len(w.plans) {
		res.NextPageToken = strings.Repeat("x", at+1)
	}
	return res, nil
}

func (w *planWorld) ImportSubscriptions(_ context.Context, req *subscriptionv1.ImportSubscriptionsRequest) (*subscriptionv1.ImportSubscriptionsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, len(req.GetSubscriptions()))
	if len(w.batches) == w.failAt {
		return nil, fault.Status(fault.Away(errors.New("cut"))).Err()
	}
	if w.imported == nil {
		w.imported = map[string]*subscriptionv1.ImportedSubscription{}
	}
	res := &subscriptionv1.ImportSubscriptionsResponse{}
	for _, s := range req.GetSubscriptions() {
		r := &subscriptionv1.ImportedSubscriptionResult{Id: "sub_" + s.GetReference()}
		switch {
		case s.GetPeriodFirstDay() == "tomorrow":
			r.Id, r.Field, r.Error = "", "period_first_day", "must be a day"
		case w.imported[s.GetReference()] != nil:
			r.Existed = true
		default:
			w.imported[s.GetReference()] = s
		}
		res.Results = append(res.Results, r)
	}
	return res, nil
}

// libraryWorld is a fake of the media service, which receives files over HTTP in parts of 4 bytes.
type libraryWorld struct {
	mediav1.UnimplementedMediaServiceServer
	url string

	mu          sync.Mutex
	items       []*mediav1.MediaItem
	collections []*mediav1.Collection
	uploads     []*mediav1.Upload
	requests    []*mediav1.CreateUploadRequest
	received    [][]byte // by upload
	puts        int
	failAt      int // number of the PUT that is lost, from 1
}

func newLibraryWorld(t *testing.T) *libraryWorld {
	t.Helper()
	w := &libraryWorld{}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// ServeHTTP receives a part.
func (w *libraryWorld) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	part, _ := strconv.Atoi(path.Base(r.URL.Path))
	upload, _ := strconv.Atoi(path.Base(path.Dir(r.URL.Path)))
	if w.puts++; w.puts == w.failAt {
		http.Error(out, "the link has expired", http.StatusGone)
		return
	}
	if strings.Contains(string(body), "lie") {
		http.Error(out, `{"error":{"code":"FILE_TYPE_NOT_SUPPORTED","message":"the content is text/plain"}}`, http.StatusUnsupportedMediaType)
		return
	}
	w.received[upload] = append(w.received[upload], body...)
	w.uploads[upload].ReceivedParts = append(w.uploads[upload].ReceivedParts, int32(part))
}

func (w *libraryWorld) item(id string) *mediav1.MediaItem {
	for _, item := range w.items {
		if item.GetId() == id {
			return item
		}
	}
	return nil
}

// ListMediaItems returns two items a page.
func (w *libraryWorld) ListMediaItems(_ context.Context, req *mediav1.ListMediaItemsRequest) (*mediav1.ListMediaItemsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := len(req.GetPageToken())
	res := &mediav1.ListMediaItemsResponse{}
	for n := at; n < min(at+2, len(w.items)); n++ {
		res.Items = append(res.Items, proto.CloneOf(w.items[n]))
	}
	if at+2 < len(w.items) {
		res.NextPageToken = strings.Repeat("x", at+2)
	}
	return res, nil
}

func (w *libraryWorld) CreateMediaItem(_ context.Context, req *mediav1.CreateMediaItemRequest) (*mediav1.CreateMediaItemResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	item := &mediav1.MediaItem{
		Id: fmt.Sprintf("media_%d", len(w.items)+1), Title: req.GetTitle(), Kind: req.GetKind(), Tags: req.GetTags(), Reference: req.GetReference(),
		Status: mediav1.MediaStatus_MEDIA_STATUS_DRAFT, CollectionIds: req.GetCollectionIds(), DurationSeconds: req.GetDurationSeconds(),
	}
	w.items = append(w.items, item)
	return &mediav1.CreateMediaItemResponse{Item: proto.CloneOf(item)}, nil
}

func (w *libraryWorld) UpdateMediaItem(_ context.Context, req *mediav1.UpdateMediaItemRequest) (*mediav1.UpdateMediaItemResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	item := w.item(req.GetId())
	if item.GetFile() == nil {
		return nil, fault.Status(fault.Refuse("MEDIA_NOT_READY", "the item has no file")).Err()
	}
	item.Status = req.GetStatus()
	return &mediav1.UpdateMediaItemResponse{Item: proto.CloneOf(item)}, nil
}

func (w *libraryWorld) CreateUpload(_ context.Context, req *mediav1.CreateUploadRequest) (*mediav1.CreateUploadResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, known := range w.requests { // as with an idempotency key
		if proto.Equal(known, req) && w.uploads[n].GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_OPEN {
			return &mediav1.CreateUploadResponse{Upload: w.uploads[n]}, nil
		}
	}
	n := len(w.uploads)
	u := &mediav1.Upload{
		Id: fmt.Sprintf("upl_%d", n), ItemId: req.GetItemId(), Purpose: req.GetPurpose(), Status: mediav1.UploadStatus_UPLOAD_STATUS_OPEN,
		PartSize: 4, PartCount: int32((req.GetSize() + 3) / 4), PartUrl: fmt.Sprintf("%s/parts/%d", w.url, n), FileName: req.GetFileName(),
		ContentType: req.GetContentType(), Size: req.GetSize(),
	}
	w.uploads, w.requests, w.received = append(w.uploads, u), append(w.requests, req), append(w.received, nil)
	return &mediav1.CreateUploadResponse{Upload: u}, nil
}

func (w *libraryWorld) upload(id string) (int, *mediav1.Upload) {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "upl_"))
	return n, w.uploads[n]
}

func (w *libraryWorld) GetUpload(_ context.Context, req *mediav1.GetUploadRequest) (*mediav1.GetUploadResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, u := w.upload(req.GetUploadId())
	return &mediav1.GetUploadResponse{Upload: proto.CloneOf(u)}, nil
}

func (w *libraryWorld) CompleteUpload(_ context.Context, req *mediav1.CompleteUploadRequest) (*mediav1.CompleteUploadResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, u := w.upload(req.GetUploadId())
	sum := sha256.Sum256(w.received[n])
	if len(u.GetReceivedParts()) != int(u.GetPartCount()) || hex.EncodeToString(sum[:]) != w.requests[n].GetSha256() {
		return nil, fault.Status(fault.Refuse("UPLOAD_INCOMPLETE", "parts are missing")).Err()
	}
	u.Status = mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE
	item, f := w.item(u.GetItemId()), &mediav1.MediaFile{Name: u.GetFileName(), ContentType: u.GetContentType(), Size: u.GetSize(), Sha256: hex.EncodeToString(sum[:])}
	if u.GetPurpose() == mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER {
		item.Cover = f
	} else {
		item.File = f
	}
	return &mediav1.CompleteUploadResponse{Upload: proto.CloneOf(u), Item: proto.CloneOf(item)}, nil
}

func (w *libraryWorld) ListCollections(context.Context, *mediav1.ListCollectionsRequest) (*mediav1.ListCollectionsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &mediav1.ListCollectionsResponse{Collections: w.collections}, nil
}

func (w *libraryWorld) CreateCollection(_ context.Context, req *mediav1.CreateCollectionRequest) (*mediav1.CreateCollectionResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &mediav1.Collection{Id: fmt.Sprintf("col_%d", len(w.collections)+1), Title: req.GetTitle()}
	w.collections = append(w.collections, c)
	return &mediav1.CreateCollectionResponse{Collection: c}, nil
}
