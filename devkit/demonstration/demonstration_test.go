package demonstration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// services is a fake of all services. It answers a repeated request with an idempotency key as it did
// before, and refuses another request with that key.
type services struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	made     map[string]int // calls that changed something, by the last word of the method
	requests map[string]proto.Message
	answers  map[string]proto.Message
	items    map[string]*mediav1.MediaItem // by identifier
	uploads  map[string]*mediav1.CreateUploadRequest
	missing  int // how often GetCustomerPass finds no pass
	full     int // how many bookings are refused
	booked   []*bookingv1.CreateTransactionRequest
	taken    int                      // how many slots are refused
	slots    []*bookingv1.SlotRequest // of booked and held appointments
	moves    []*bookingv1.MoveAppointmentRequest
	stopAt   string // a method that is not available
}

func newServices(t *testing.T) *services {
	t.Helper()
	s := &services{
		t: t, made: map[string]int{}, requests: map[string]proto.Message{}, answers: map[string]proto.Message{},
		items: map[string]*mediav1.MediaItem{}, uploads: map[string]*mediav1.CreateUploadRequest{},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// NewStream implements grpc.ClientConnInterface. The tests call no streams.
func (s *services) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, fault.Missing("stream")
}

// Invoke implements grpc.ClientConnInterface.
func (s *services) Invoke(ctx context.Context, method string, req, res any, _ ...grpc.CallOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	word := method[strings.LastIndexByte(method, '/')+1:]
	if word == s.stopAt {
		return fault.Away(nil)
	}
	key := rpc.IdempotencyKey(ctx)
	if before := s.answers[word+key]; key != "" && before != nil {
		if !proto.Equal(s.requests[word+key], req.(proto.Message)) {
			s.t.Errorf("%s: another request with the key %s", word, key)
		}
		proto.Merge(res.(proto.Message), before)
		return nil
	}
	changed, err := s.answer(req.(proto.Message), res)
	if err != nil {
		return err
	}
	if changed {
		s.made[word]++
	}
	if key != "" {
		s.requests[word+key], s.answers[word+key] = proto.Clone(req.(proto.Message)), proto.Clone(res.(proto.Message))
	}
	return nil
}

// answer fills in the response. It reports whether the request changed something.
func (s *services) answer(req proto.Message, response any) (changed bool, err error) {
	n := len(s.requests) + len(s.items)
	switch res := response.(type) {
	case *mediav1.CreateCollectionResponse:
		res.Collection = &mediav1.Collection{Id: fmt.Sprintf("col_%d", n)}
	case *mediav1.CreateMediaItemResponse:
		return s.createItem(req.(*mediav1.CreateMediaItemRequest), res), nil
	case *mediav1.UpdateMediaItemResponse:
		item := s.items[req.(*mediav1.UpdateMediaItemRequest).GetId()]
		item.Status = req.(*mediav1.UpdateMediaItemRequest).GetStatus()
		res.Item = item
	case *mediav1.CreateUploadResponse:
		id := fmt.Sprintf("upl_%d", len(s.uploads))
		s.uploads[id] = proto.CloneOf(req.(*mediav1.CreateUploadRequest))
		res.Upload = &mediav1.Upload{Id: id}
	case *mediav1.GetUploadResponse:
		id := req.(*mediav1.GetUploadRequest).GetUploadId()
		u := s.uploads[id]
		res.Upload = &mediav1.Upload{
			Id: id, ItemId: u.GetItemId(), Status: mediav1.UploadStatus_UPLOAD_STATUS_OPEN, PartSize: 8192, PartCount: int32((u.GetSize() + 8191) / 8192), PartUrl: s.url + "/" + id,
		}
		return false, nil
	case *mediav1.CompleteUploadResponse:
		s.completeUpload(req.(*mediav1.CompleteUploadRequest), res)
	case *subscriptionv1.CreatePlanResponse:
		res.Plan = &subscriptionv1.Plan{Id: fmt.Sprintf("plan_%d", n)}
	case *subscriptionv1.CreateSubscriptionResponse:
		res.Subscription = &subscriptionv1.Subscription{
			Id: fmt.Sprintf("sub_%d", n), CustomerPassId: fmt.Sprintf("cp_%d", n), CustomerId: req.(*subscriptionv1.CreateSubscriptionRequest).GetCustomerId(),
		}
	case *subscriptionv1.ImportSubscriptionsResponse:
		for range req.(*subscriptionv1.ImportSubscriptionsRequest).GetSubscriptions() {
			res.Results = append(res.Results, &subscriptionv1.ImportedSubscriptionResult{Existed: true})
		}
	case *passv1.GetCustomerPassResponse:
		if s.missing--; s.missing >= 0 {
			return false, fault.Missing("customer pass")
		}
		return false, nil
	case *bookingv1.CreateTransactionResponse:
		if s.full--; s.full >= 0 {
			return false, fault.Refuse("EVENT_FULL", "the date is full")
		}
		s.booked = append(s.booked, proto.CloneOf(req.(*bookingv1.CreateTransactionRequest)))
	default:
		return s.answerAppointments(n, req, response)
	}
	return true, nil
}

func (s *services) createItem(req *mediav1.CreateMediaItemRequest, res *mediav1.CreateMediaItemResponse) (changed bool) {
	for _, item := range s.items {
		if item.GetReference() == req.GetReference() {
			res.Item = proto.CloneOf(item)
			return false
		}
	}
	item := &mediav1.MediaItem{Id: fmt.Sprintf("media_%d", len(s.items)), Reference: req.GetReference(), Title: req.GetTitle(), Status: mediav1.MediaStatus_MEDIA_STATUS_DRAFT}
	s.items[item.GetId()] = item
	res.Item = proto.CloneOf(item)
	return true
}

func (s *services) completeUpload(req *mediav1.CompleteUploadRequest, res *mediav1.CompleteUploadResponse) {
	u, item := s.uploads[req.GetUploadId()], s.items[req.GetItemId()]
	f := &mediav1.MediaFile{Name: u.GetFileName(), ContentType: u.GetContentType(), Size: u.GetSize(), Sha256: u.GetSha256()}
	if u.GetPurpose() == mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER {
		item.Cover = f
	} else {
		item.File = f
	}
	res.Upload, res.Item = &mediav1.Upload{Status: mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE}, item
}

// newDemoData returns the state after the steps that create customers, events and passes.
func newDemoData(t *testing.T, s *services) *demoData {
	t.Helper()
	local, err := zone.Load(demoZone)
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	d := &demoData{
		on: On(Services{Auth: s, Customer: s, Booking: s, Pass: s, Subscription: s, Media: s}, nil), zone: local, today: today, present: today,
		passTypes: []string{"pass_1", "pass_2"},
	}
	for i := range demoCustomers {
		d.customers = append(d.customers, fmt.Sprintf("cust_%d", i))
	}
	for i := range offerings() {
		event := &bookingv1.Event{Id: fmt.Sprintf("evt_%d", i)}
		for day := range 6 {
			event.Dates = append(event.Dates, &bookingv1.EventDate{Id: fmt.Sprintf("date_%d_%d", i, day), StartsAt: timestamppb.New(today.AddDate(0, 0, day-2))})
		}
		d.events = append(d.events, event)
	}
	return d
}

// later runs the steps after the events.
func (d *demoData) later(ctx context.Context) error {
	d.collections, d.items, d.plans, d.subscriptions = nil, nil, nil, nil
	for _, step := range []func(context.Context) error{
		d.createLibrary, d.createPlans, d.subscribe, d.importSubscriptions, d.bookBySubscription, d.entitle, d.watch,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func TestSubscriptionsAndLibrary(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"CreateCollection": 2, "CreateMediaItem": 4, "CreateUpload": 8, "CompleteUpload": 8, "UpdateMediaItem": 3, "CreateEntitlement": 3, "RecordProgress": 3,
		"CreatePlan": 2, "CreateSubscription": 9, "ChangePlan": 1, "RecordPaymentFailure": 1, "PauseSubscription": 1, "CancelSubscription": 2,
		"ImportSubscriptions": 1, "CreateTransaction": 4,
	}
	check := func(t *testing.T, s *services, repeated ...string) {
		t.Helper()
		for word, n := range s.made {
			// These requests have no key: the services recognise what exists.
			if n != want[word] && !slices.Contains(repeated, word) {
				t.Errorf("%d times %s, want %d", n, word, want[word])
			}
		}
		for word := range want {
			if s.made[word] == 0 {
				t.Errorf("no %s", word)
			}
		}
	}
	t.Run("subscriptions of every state and a library are made", func(t *testing.T) {
		t.Parallel()
		s := newServices(t)
		s.missing, s.full = 2, 1
		d := newDemoData(t, s)
		if err := d.later(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, s)
		drafts := 0
		for _, item := range s.items {
			if item.GetStatus() == mediav1.MediaStatus_MEDIA_STATUS_DRAFT {
				drafts++
			}
			if item.GetFile().GetSize() == 0 || item.GetCover().GetContentType() != "image/png" {
				t.Errorf("the item %v", item)
			}
		}
		if drafts != 1 {
			t.Errorf("%d drafts", drafts)
		}
		for i, b := range s.booked {
			date := b.GetLines()[0].GetEventDateId()
			if !strings.HasPrefix(b.GetCustomerPassId(), "cp_") || i == 0 != (date == "date_0_4") || i > 0 && !strings.HasSuffix(date, "_3") {
				t.Errorf("booked %v", b)
			}
		}
	})
	for word := range want {
		t.Run("a run that was interrupted at "+word+" continues", func(t *testing.T) {
			t.Parallel()
			s := newServices(t)
			d := newDemoData(t, s)
			s.stopAt = word
			if err := d.later(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Fatalf("got %v", err)
			}
			s.stopAt = ""
			if err := d.later(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(t, s, "CreateEntitlement", "RecordProgress", "ImportSubscriptions")
		})
	}
	t.Run("waiting for a pass that never exists ends with the context", func(t *testing.T) {
		t.Parallel()
		s := newServices(t)
		s.missing = 1 << 30
		d := newDemoData(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.awaitPass(ctx, "cp_1"); err == nil {
			t.Error("no error")
		}
	})
}

// TestMembers checks that the demonstration data can be created on any day.
func TestMembers(t *testing.T) {
	t.Parallel()
	for i, m := range members() {
		if m.days > 31 || m.plan == yearly && m.method == "" && m.days > 14 {
			t.Errorf("member %d subscribed %d days ago", i, m.days)
		}
	}
	if customers := firstMember + len(members()) + 2; customers > 119 {
		t.Errorf("the subscriptions need %d customers, of whom some are archived", customers)
	}
}
