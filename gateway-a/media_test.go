package gatewaya

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// fakeMedia has the media of a customer, and keeps the requests that it gets.
type fakeMedia struct {
	mediav1.UnimplementedMediaServiceServer
	media []*mediav1.CustomerMedia
	err   error

	mu     sync.Mutex
	listed *mediav1.ListCustomerMediaRequest
	read   *mediav1.GetCustomerMediaRequest
}

func (f *fakeMedia) ListCustomerMedia(_ context.Context, req *mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = req
	return &mediav1.ListCustomerMediaResponse{Media: f.media, Total: 41}, f.err
}

func (f *fakeMedia) GetCustomerMedia(_ context.Context, req *mediav1.GetCustomerMediaRequest) (*mediav1.GetCustomerMediaResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = req
	if f.err != nil {
		return nil, f.err
	}
	return &mediav1.GetCustomerMediaResponse{Media: f.media[0]}, nil
}

func TestMedia(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	const customer = "cust_01jb4x9m3vf6ksn8w2d7pq5r0t"
	pass, plan, booking, entitlement := id.New[id.CustomerPass]().String(), id.New[id.Subscription]().String(), id.New[id.Booking]().String(), id.New[id.Entitlement]().String()
	item := &mediav1.MediaItem{
		Id: id.New[id.MediaItem]().String(), Title: "Morning Flow", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO, DurationSeconds: 1800, Tags: []string{"yoga"},
		Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED, CollectionIds: []string{"col_x"}, Reference: "old-7",
		File:      &mediav1.MediaFile{Name: "flow.mp4", ContentType: "video/mp4", Size: 5_000_000_000, Sha256: "9f86", UploadedAt: at(t, "2026-07-01T12:00:00Z")},
		Cover:     &mediav1.MediaFile{Name: "flow.jpg", Url: "https://media.test/c"},
		CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"), Version: 4,
	}
	plain := &mediav1.MediaItem{
		Id: id.New[id.MediaItem]().String(), Title: "Notes", Kind: mediav1.MediaKind_MEDIA_KIND_DOCUMENT, Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED,
		CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"),
	}
	g.media.media = []*mediav1.CustomerMedia{
		{Item: item, Reason: &mediav1.MediaReason{CustomerPassId: pass, EntitlementId: entitlement, LastDay: "2026-12-31"}, Progress: &mediav1.MediaProgress{PositionSeconds: 754, Completed: true, UpdatedAt: at(t, "2026-07-01T12:00:00Z")}},
		{Item: plain, Reason: &mediav1.MediaReason{SubscriptionId: plan}},
		{Item: plain, Reason: &mediav1.MediaReason{BookingId: booking, EntitlementId: entitlement}},
		{Item: plain, Reason: &mediav1.MediaReason{Given: true, EntitlementId: entitlement}},
	}
	const end = `"created_at":"2026-03-29T00:59:59","updated_at":"2026-03-29T02:00:00","tz":"Europe/London"}`
	wantItem := `{"id":"` + item.GetId() + `","type":"media","title":"Morning Flow","description":"","kind":"video","duration_seconds":1800,"tags":["yoga"],"collection_ids":["col_x"],` +
		`"file":{"name":"flow.mp4","content_type":"video/mp4","size":5000000000,"uploaded_at":"2026-07-01T13:00:00"},"cover_url":"https://media.test/c",` +
		`"reason":{"type":"pass","entitlement_id":"` + entitlement + `","customer_pass_id":"` + pass + `","last_day":"2026-12-31"},` +
		`"progress":{"position_seconds":754,"completed":true,"updated_at":"2026-07-01T13:00:00"},` + end
	wantPlain := func(reason string) string {
		return `{"id":"` + plain.GetId() + `","type":"media","title":"Notes","description":"","kind":"document","tags":[],"collection_ids":[],"reason":` + reason + `,` + end
	}
	list := "/customer/" + customer + "/media"
	inLondon := g.issuer.Sign(token.Claims{Company: g.company, Zone: "Europe/London", Scopes: scopes.InToken(scopes.InterfaceA())})

	t.Run("the list has exactly the documented JSON", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list, Token: inLondon})
		want := `{"data":[` + wantItem + `,` + wantPlain(`{"type":"subscription","subscription_id":"`+plan+`"}`) + `,` +
			wantPlain(`{"type":"booking","entitlement_id":"`+entitlement+`","booking_id":"`+booking+`"}`) + `,` + wantPlain(`{"type":"given","entitlement_id":"`+entitlement+`"}`) +
			`],"total":41,"page":0,"pageSize":30}`
		if a.Code != 200 || a.Body != want {
			t.Errorf("got  %s\nwant %s", a.Body, want)
		}
		if l := g.media.listed; l.GetCustomerId() != customer || l.GetPageSize() != 30 || l.GetOffset() != 0 {
			t.Errorf("requested %v", l)
		}
	})
	t.Run("a single item is the same as in the list", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list + "/" + item.GetId(), Token: inLondon})
		if a.Code != 200 || a.Body != `{"data":`+wantItem+`}` || a.Header.Get("ETag") == "" {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
		if r := g.media.read; r.GetCustomerId() != customer || r.GetItemId() != item.GetId() {
			t.Errorf("requested %v", r)
		}
	})
	t.Run("an item that the customer cannot play is 404", func(t *testing.T) {
		reason := g.media.media[0].GetReason()
		g.media.media[0].Reason = nil
		defer func() { g.media.media[0].Reason = reason }()
		if a := g.do(request{Method: http.MethodGet, Path: list + "/" + item.GetId(), Token: inLondon}); a.Code != 404 || !strings.Contains(a.Body, "media item not found") {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("passes on the page", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list + "?page=3&pageSize=500", Token: inLondon})
		if a.Code != 200 || !strings.HasSuffix(a.Body, `"total":41,"page":3,"pageSize":100}`) || g.media.listed.GetOffset() != 300 || g.media.listed.GetPageSize() != 100 {
			t.Errorf("got %d %s, requested %v", a.Code, a.Body, g.media.listed)
		}
	})
	t.Run("refuses an invalid parameter", func(t *testing.T) {
		for query, field := range map[string]string{"page=-1": "page", "pageSize=0": "pageSize"} {
			a := g.do(request{Method: http.MethodGet, Path: list + "?" + query, Token: inLondon})
			if a.Code != 400 || !strings.Contains(a.Body, `"field":"`+field+`"`) {
				t.Errorf("%s: got %d %s", query, a.Code, a.Body)
			}
		}
	})
	t.Run("a missing customer is 404", func(t *testing.T) {
		g.media.err = fault.Missing("customer")
		defer func() { g.media.err = nil }()
		for _, path := range []string{list, list + "/media_x"} {
			if a := g.do(request{Method: http.MethodGet, Path: path, Token: inLondon}); a.Code != 404 {
				t.Errorf("%s: got %d %s", path, a.Code, a.Body)
			}
		}
	})
}
