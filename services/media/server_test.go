package media

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

const video = mediav1.MediaKind_MEDIA_KIND_VIDEO

func TestItems(t *testing.T) { // invariants 1 and 11
	w := start(t)
	t.Run("creates a draft and returns it", func(t *testing.T) {
		c := w.collection()
		made := must[*mediav1.CreateMediaItemResponse](t)(w.client.CreateMediaItem(w.ctx(), &mediav1.CreateMediaItemRequest{
			Title: " Flow ", Description: "Long", Kind: video, DurationSeconds: 60, Tags: []string{"a", "a", "b"},
			CollectionIds: []string{c.GetId(), c.GetId()}, Reference: "v-1",
		})).GetItem()
		if made.GetTitle() != "Flow" || made.GetStatus() != mediav1.MediaStatus_MEDIA_STATUS_DRAFT || !slices.Equal(made.GetTags(), []string{"a", "b"}) ||
			!slices.Equal(made.GetCollectionIds(), []string{c.GetId()}) || made.GetVersion() != 1 || made.GetFile() != nil {
			t.Errorf("got %v", made)
		}
		if got := w.get(made.GetId()); !proto.Equal(got, made) {
			t.Errorf("got %v, want %v", got, made)
		}
	})
	t.Run("returns the item that has the reference", func(t *testing.T) {
		again := must[*mediav1.CreateMediaItemResponse](t)(w.client.CreateMediaItem(w.ctx(), &mediav1.CreateMediaItemRequest{
			Title: "Another", Kind: video, Reference: "v-1",
		})).GetItem()
		if again.GetTitle() != "Flow" {
			t.Errorf("got %v", again)
		}
	})
	t.Run("creates one item per Idempotency-Key", func(t *testing.T) {
		ctx := rpc.WithIdempotencyKey(w.ctx(), "key-1")
		req := &mediav1.CreateMediaItemRequest{Title: "Once", Kind: video}
		first := must[*mediav1.CreateMediaItemResponse](t)(w.client.CreateMediaItem(ctx, req))
		second := must[*mediav1.CreateMediaItemResponse](t)(w.client.CreateMediaItem(ctx, req))
		if !proto.Equal(first, second) {
			t.Errorf("got %v and %v", first, second)
		}
	})
	t.Run("refuses invalid fields together", func(t *testing.T) {
		_, err := w.client.CreateMediaItem(w.ctx(), &mediav1.CreateMediaItemRequest{DurationSeconds: -1, Tags: []string{" "}})
		var names []string
		for _, f := range fault.From(err).Fields {
			names = append(names, f.Field)
		}
		if !slices.Equal(names, []string{"title", "duration_seconds", "kind", "tags"}) {
			t.Errorf("got %v (%v)", names, err)
		}
		_, err = w.client.CreateMediaItem(w.ctx(), &mediav1.CreateMediaItemRequest{Title: "x", Kind: video, CollectionIds: []string{id.New[id.Collection]().String()}})
		wantMissing(t, err)
	})
	t.Run("changes only the fields that are set, and raises the version once", func(t *testing.T) {
		i := w.item(video)
		update := func(req *mediav1.UpdateMediaItemRequest) *mediav1.MediaItem {
			t.Helper()
			req.Id = i.GetId()
			return must[*mediav1.UpdateMediaItemResponse](t)(w.client.UpdateMediaItem(w.ctx(), req)).GetItem()
		}
		got := update(&mediav1.UpdateMediaItemRequest{Title: new("New"), Tags: &mediav1.MediaTags{}})
		if got.GetTitle() != "New" || len(got.GetTags()) != 0 || got.GetDurationSeconds() != 1800 || got.GetVersion() != 2 {
			t.Errorf("got %v", got)
		}
		if got := update(&mediav1.UpdateMediaItemRequest{Title: new("New")}); got.GetVersion() != 2 {
			t.Errorf("a change without effect: %v", got)
		}
		_, err := w.client.UpdateMediaItem(w.ctx(), &mediav1.UpdateMediaItemRequest{Id: i.GetId(), Title: new("x"), ExpectedVersion: new(int64(1))})
		wantReason(t, err, fault.ReasonVersionMismatch)
	})
	t.Run("publishes only an item with a file", func(t *testing.T) {
		i := w.item(video)
		_, err := w.client.UpdateMediaItem(w.ctx(), &mediav1.UpdateMediaItemRequest{Id: i.GetId(), Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED})
		wantReason(t, err, ReasonNotReady)
		if got := w.video(mp4(5000)); got.GetStatus() != mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED || got.GetFile().GetSize() != 5000 {
			t.Errorf("got %v", got)
		}
	})
	w.verify()
}

func TestItemLists(t *testing.T) {
	w := start(t)
	c := w.collection()
	var ids []string
	for n := range 5 {
		var in []string
		if n%2 == 0 {
			in = []string{c.GetId()}
		}
		ids = append(ids, w.item(video, in...).GetId())
	}
	w.item(mediav1.MediaKind_MEDIA_KIND_AUDIO)
	list := func(req *mediav1.ListMediaItemsRequest) (found []string, total int64) {
		t.Helper()
		res := must[*mediav1.ListMediaItemsResponse](t)(w.client.ListMediaItems(w.ctx(), req))
		for _, i := range res.GetItems() {
			found = append(found, i.GetId())
		}
		return found, res.GetTotal()
	}
	t.Run("filters", func(t *testing.T) {
		for name, tt := range map[string]struct {
			req  *mediav1.ListMediaItemsRequest
			want int64
		}{
			"all":          {&mediav1.ListMediaItemsRequest{}, 6},
			"kind":         {&mediav1.ListMediaItemsRequest{Kind: video}, 5},
			"collection":   {&mediav1.ListMediaItemsRequest{CollectionId: c.GetId()}, 3},
			"tag":          {&mediav1.ListMediaItemsRequest{Tag: "yoga"}, 6},
			"another tag":  {&mediav1.ListMediaItemsRequest{Tag: "yog"}, 0},
			"published":    {&mediav1.ListMediaItemsRequest{Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED}, 0},
			"draft videos": {&mediav1.ListMediaItemsRequest{Status: mediav1.MediaStatus_MEDIA_STATUS_DRAFT, Kind: video}, 5},
		} {
			if found, total := list(tt.req); total != tt.want || int64(len(found)) != tt.want {
				t.Errorf("%s: got %d of %d, want %d", name, len(found), total, tt.want)
			}
		}
	})
	t.Run("pages in every order without gaps", func(t *testing.T) {
		for order := range mediav1.MediaOrder_name {
			var all []string
			req := &mediav1.ListMediaItemsRequest{PageSize: 2, Order: mediav1.MediaOrder(order), Kind: video}
			for {
				res := must[*mediav1.ListMediaItemsResponse](t)(w.client.ListMediaItems(w.ctx(), req))
				for _, i := range res.GetItems() {
					all = append(all, i.GetId())
				}
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					break
				}
			}
			want := slices.Clone(ids)
			if strings.HasSuffix(mediav1.MediaOrder(order).String(), "DESC") {
				slices.Reverse(want)
			}
			if !slices.Equal(all, want) {
				t.Errorf("%s: got %v, want %v", mediav1.MediaOrder(order), all, want)
			}
		}
	})
	t.Run("counts the items of a collection, and lists collections", func(t *testing.T) {
		res := must[*mediav1.ListCollectionsResponse](t)(w.client.ListCollections(w.ctx(), &mediav1.ListCollectionsRequest{}))
		if res.GetTotal() != 1 || res.GetCollections()[0].GetItemCount() != 3 {
			t.Errorf("got %v", res)
		}
	})
}

func TestCollections(t *testing.T) { // invariants 8 and 11
	w := start(t)
	c, other := w.collection(), w.collection()
	i := w.item(video, c.GetId())
	get := func(collection string) *mediav1.Collection {
		t.Helper()
		return must[*mediav1.GetCollectionResponse](t)(w.client.GetCollection(w.ctx(), &mediav1.GetCollectionRequest{Id: collection})).GetCollection()
	}
	t.Run("changes when its items do", func(t *testing.T) {
		before := get(c.GetId())
		must[*mediav1.UpdateMediaItemResponse](t)(w.client.UpdateMediaItem(w.ctx(), &mediav1.UpdateMediaItemRequest{
			Id: i.GetId(), CollectionIds: &mediav1.CollectionIds{Values: []string{c.GetId(), other.GetId()}},
		}))
		if after := get(c.GetId()); after.GetVersion() != before.GetVersion() {
			t.Errorf("a collection whose items stayed has version %d", after.GetVersion())
		}
		if after := get(other.GetId()); after.GetItemCount() != 1 || after.GetVersion() != 2 {
			t.Errorf("got %v", after)
		}
	})
	t.Run("is renamed", func(t *testing.T) {
		got := must[*mediav1.UpdateCollectionResponse](t)(w.client.UpdateCollection(w.ctx(), &mediav1.UpdateCollectionRequest{Id: c.GetId(), Title: new("Best of")})).GetCollection()
		if got.GetTitle() != "Best of" || got.GetVersion() <= c.GetVersion() {
			t.Errorf("got %v", got)
		}
		_, err := w.client.UpdateCollection(w.ctx(), &mediav1.UpdateCollectionRequest{Id: c.GetId(), Title: new("")})
		wantReason(t, err, fault.ReasonValidation)
	})
	t.Run("is deleted with its entitlements, and its items stay and change", func(t *testing.T) {
		e := w.entitle(&mediav1.CreateEntitlementRequest{CollectionId: c.GetId(), CustomerId: w.others.customer()})
		before := w.get(i.GetId())
		must[*mediav1.DeleteCollectionResponse](t)(w.client.DeleteCollection(w.ctx(), &mediav1.DeleteCollectionRequest{Id: c.GetId()}))
		after := w.get(i.GetId())
		if !slices.Equal(after.GetCollectionIds(), []string{other.GetId()}) || after.GetVersion() != before.GetVersion()+1 {
			t.Errorf("got %v", after)
		}
		_, err := w.client.GetEntitlement(w.ctx(), &mediav1.GetEntitlementRequest{Id: e.GetId()})
		wantMissing(t, err)
		_, err = w.client.GetCollection(w.ctx(), &mediav1.GetCollectionRequest{Id: c.GetId()})
		wantMissing(t, err)
	})
	w.verify()
}

func TestEntitlements(t *testing.T) {
	w := start(t)
	i, c, customer := w.item(video), w.collection(), w.others.customer()
	passType, plan, event := id.New[id.PassType]().String(), id.New[id.Plan]().String(), id.New[id.Event]().String()
	w.others.set(func() { w.others.known[passType], w.others.known[plan], w.others.known[event] = true, true, true })
	t.Run("creates each kind once, and lists them", func(t *testing.T) {
		for n, req := range []*mediav1.CreateEntitlementRequest{
			{ItemId: i.GetId(), PassTypeId: passType}, {CollectionId: c.GetId(), PlanId: plan}, {ItemId: i.GetId(), EventId: event},
			{ItemId: i.GetId(), CustomerId: customer}, {ItemId: i.GetId(), CustomerId: customer, LastDay: "2099-01-01"},
		} {
			first, second := w.entitle(req), w.entitle(req)
			if !proto.Equal(first, second) || first.GetLastDay() != req.GetLastDay() {
				t.Errorf("%d: got %v and %v", n, first, second)
			}
			got := must[*mediav1.GetEntitlementResponse](t)(w.client.GetEntitlement(w.ctx(), &mediav1.GetEntitlementRequest{Id: first.GetId()})).GetEntitlement()
			if !proto.Equal(got, first) {
				t.Errorf("got %v, want %v", got, first)
			}
		}
		for _, tt := range []struct {
			req  *mediav1.ListEntitlementsRequest
			want int64
		}{
			{&mediav1.ListEntitlementsRequest{}, 5}, {&mediav1.ListEntitlementsRequest{ItemId: i.GetId()}, 4},
			{&mediav1.ListEntitlementsRequest{CollectionId: c.GetId()}, 1}, {&mediav1.ListEntitlementsRequest{CustomerId: customer}, 2},
		} {
			if res := must[*mediav1.ListEntitlementsResponse](t)(w.client.ListEntitlements(w.ctx(), tt.req)); res.GetTotal() != tt.want || len(res.GetEntitlements()) != int(tt.want) {
				t.Errorf("%v: got %v", tt.req, res)
			}
		}
	})
	t.Run("refuses what does not exist, and what is not exactly one", func(t *testing.T) {
		for _, req := range []*mediav1.CreateEntitlementRequest{
			{ItemId: i.GetId(), PassTypeId: id.New[id.PassType]().String()}, {ItemId: i.GetId(), PlanId: id.New[id.Plan]().String()},
			{ItemId: i.GetId(), EventId: id.New[id.Event]().String()}, {ItemId: i.GetId(), CustomerId: id.New[id.Customer]().String()},
			{ItemId: id.New[id.MediaItem]().String(), CustomerId: customer}, {CollectionId: id.New[id.Collection]().String(), CustomerId: customer},
			{ItemId: "x", CustomerId: customer},
		} {
			_, err := w.client.CreateEntitlement(w.ctx(), req)
			wantMissing(t, err)
		}
		for _, req := range []*mediav1.CreateEntitlementRequest{
			{}, {ItemId: i.GetId()}, {CustomerId: customer}, {ItemId: i.GetId(), CollectionId: c.GetId(), CustomerId: customer},
			{ItemId: i.GetId(), CustomerId: customer, PlanId: plan}, {ItemId: i.GetId(), CustomerId: customer, LastDay: "2020-01-01"},
			{ItemId: i.GetId(), CustomerId: customer, LastDay: "soon"},
		} {
			_, err := w.client.CreateEntitlement(w.ctx(), req)
			wantReason(t, err, fault.ReasonValidation)
		}
	})
	w.verify()
}

// TestTenants checks that another company cannot tell the resources of a company from missing ones.
func TestTenants(t *testing.T) { // invariant 9
	w := start(t)
	other := w.of(id.New[id.Company]())
	content := mp4(4000)
	i, c := w.video(content), w.collection()
	customer := w.others.customer()
	e := w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	u := w.newUpload(i.GetId(), content)
	w.putAll(u, content)
	for name, call := range map[string]func(w *world, item, collection, entitlement, upload string) error{
		"GetMediaItem": func(w *world, item, _, _, _ string) error {
			_, err := w.client.GetMediaItem(w.ctx(), &mediav1.GetMediaItemRequest{Id: item})
			return err
		},
		"UpdateMediaItem": func(w *world, item, _, _, _ string) error {
			_, err := w.client.UpdateMediaItem(w.ctx(), &mediav1.UpdateMediaItemRequest{Id: item, Title: new("Mine")})
			return err
		},
		"CreateMediaItem": func(w *world, _, collection, _, _ string) error {
			_, err := w.client.CreateMediaItem(w.ctx(), &mediav1.CreateMediaItemRequest{Title: "x", Kind: video, CollectionIds: []string{collection}})
			return err
		},
		"DeleteMediaItem": func(w *world, item, _, _, _ string) error {
			_, err := w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: item})
			return err
		},
		"CreateUpload": func(w *world, item, _, _, _ string) error {
			_, err := w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{ItemId: item, FileName: "a.mp4", ContentType: "video/mp4", Size: 1})
			return err
		},
		"GetUpload": func(w *world, item, _, _, upload string) error {
			_, err := w.client.GetUpload(w.ctx(), &mediav1.GetUploadRequest{ItemId: item, UploadId: upload})
			return err
		},
		"CompleteUpload": func(w *world, item, _, _, upload string) error {
			_, err := w.client.CompleteUpload(w.ctx(), &mediav1.CompleteUploadRequest{ItemId: item, UploadId: upload})
			return err
		},
		"CancelUpload": func(w *world, item, _, _, upload string) error {
			_, err := w.client.CancelUpload(w.ctx(), &mediav1.CancelUploadRequest{ItemId: item, UploadId: upload})
			return err
		},
		"GetCollection": func(w *world, _, collection, _, _ string) error {
			_, err := w.client.GetCollection(w.ctx(), &mediav1.GetCollectionRequest{Id: collection})
			return err
		},
		"UpdateCollection": func(w *world, _, collection, _, _ string) error {
			_, err := w.client.UpdateCollection(w.ctx(), &mediav1.UpdateCollectionRequest{Id: collection, Title: new("Mine")})
			return err
		},
		"DeleteCollection": func(w *world, _, collection, _, _ string) error {
			_, err := w.client.DeleteCollection(w.ctx(), &mediav1.DeleteCollectionRequest{Id: collection})
			return err
		},
		"CreateEntitlement": func(w *world, item, _, _, _ string) error {
			_, err := w.client.CreateEntitlement(w.ctx(), &mediav1.CreateEntitlementRequest{ItemId: item, CustomerId: customer})
			return err
		},
		"GetEntitlement": func(w *world, _, _, entitlement, _ string) error {
			_, err := w.client.GetEntitlement(w.ctx(), &mediav1.GetEntitlementRequest{Id: entitlement})
			return err
		},
		"DeleteEntitlement": func(w *world, _, _, entitlement, _ string) error {
			_, err := w.client.DeleteEntitlement(w.ctx(), &mediav1.DeleteEntitlementRequest{Id: entitlement})
			return err
		},
		"GetCustomerMedia": func(w *world, item, _, _, _ string) error {
			_, err := w.client.GetCustomerMedia(w.ctx(), &mediav1.GetCustomerMediaRequest{ItemId: item, CustomerId: customer})
			return err
		},
		"CreatePlaybackLink": func(w *world, item, _, _, _ string) error { _, err := w.link(item, customer); return err },
		"RecordProgress": func(w *world, item, _, _, _ string) error {
			_, err := w.client.RecordProgress(w.ctx(), &mediav1.RecordProgressRequest{ItemId: item, CustomerId: customer})
			return err
		},
	} {
		foreign := call(other, i.GetId(), c.GetId(), e.GetId(), u.GetId())
		missing := call(other, id.New[id.MediaItem]().String(), id.New[id.Collection]().String(), id.New[id.Entitlement]().String(), id.New[id.Upload]().String())
		if !fault.Is(foreign, fault.NotFound) || fmt.Sprint(foreign) != fmt.Sprint(missing) {
			t.Errorf("%s: got %v for another company's, %v for a missing one", name, foreign, missing)
		}
	}
	if res := must[*mediav1.ListMediaItemsResponse](t)(other.client.ListMediaItems(other.ctx(), &mediav1.ListMediaItemsRequest{CollectionId: c.GetId()})); res.GetTotal() != 0 {
		t.Errorf("got %v", res)
	}
	if res := must[*mediav1.ListEntitlementsResponse](t)(other.client.ListEntitlements(other.ctx(), &mediav1.ListEntitlementsRequest{})); res.GetTotal() != 0 {
		t.Errorf("got %v", res)
	}
	// The other company signs links with the same key, and they name its company.

	forged := w.server.links.play(play{company: other.company, item: mustID[id.MediaItem](t, i.GetId()), customer: mustID[id.Customer](t, customer),
		reason: Reason{Kind: reasonGiven, Entitlement: mustID[id.Entitlement](t, e.GetId())}, expires: w.clock.now().AddDate(0, 0, 1)})
	if code := w.status(forged); code != http.StatusNotFound {
		t.Errorf("a link of another company: %d", code)
	}
}

// mustID parses an identifier.
func mustID[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](t testing.TB, text string) (v T) {
	t.Helper()
	if err := P(&v).UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return v
}
