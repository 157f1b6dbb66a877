package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// withLibrary adds a published video in a collection, which the holders of a pass, the subscribers of a plan,
// the guests of an event and Ann can play.
func withLibrary(w *world) *mediav1.MediaItem {
	withSubscription(w)
	item := &mediav1.MediaItem{
		Id: "media_1", Title: "Morning flow", Description: "Slow\nand soft", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO, DurationSeconds: 2550, Tags: []string{"yoga", "morning"},
		Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED, CollectionIds: []string{"col_1"}, Version: 4,
		File:  &mediav1.MediaFile{Name: "flow.mp4", ContentType: "video/mp4", Size: 1_400_000_000, UploadedAt: timestamppb.Now()},
		Cover: &mediav1.MediaFile{Name: "flow.jpg", ContentType: "image/jpeg", Size: 1000, Url: "https://files.test/cover/x"},
	}
	on(w.backend, "ListMediaItems", func(*mediav1.ListMediaItemsRequest) (*mediav1.ListMediaItemsResponse, error) {
		return &mediav1.ListMediaItemsResponse{Items: []*mediav1.MediaItem{item}, Total: 1}, nil
	})
	on(w.backend, "GetMediaItem", func(req *mediav1.GetMediaItemRequest) (*mediav1.GetMediaItemResponse, error) {
		if req.GetId() != item.GetId() {
			return nil, fault.Missing("item")
		}
		return &mediav1.GetMediaItemResponse{Item: item}, nil
	})
	on(w.backend, "GetCollection", func(req *mediav1.GetCollectionRequest) (*mediav1.GetCollectionResponse, error) {
		if req.GetId() != "col_1" {
			return nil, fault.Missing("collection")
		}
		return &mediav1.GetCollectionResponse{Collection: &mediav1.Collection{Id: "col_1", Title: "Flows", Version: 2}}, nil
	})
	on(w.backend, "ListPassTypes", func(*passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
		return &passv1.ListPassTypesResponse{PassTypes: []*passv1.PassType{{Id: "pass_7", Title: "Ten visits"}}}, nil
	})
	entitlements := []*mediav1.Entitlement{
		{Id: "ent_1", ItemId: "media_1", PassTypeId: "pass_7"}, {Id: "ent_2", ItemId: "media_1", PlanId: "plan_1", LastDay: "2027-01-31"},
		{Id: "ent_3", ItemId: "media_1", EventId: "evt_1"}, {Id: "ent_4", ItemId: "media_1", CustomerId: "cust_1"},
	}
	on(w.backend, "ListEntitlements", func(*mediav1.ListEntitlementsRequest) (*mediav1.ListEntitlementsResponse, error) {
		return &mediav1.ListEntitlementsResponse{Entitlements: entitlements, Total: 4}, nil
	})
	on(w.backend, "GetEntitlement", func(req *mediav1.GetEntitlementRequest) (*mediav1.GetEntitlementResponse, error) {
		for _, e := range entitlements {
			if e.GetId() == req.GetId() {
				return &mediav1.GetEntitlementResponse{Entitlement: e}, nil
			}
		}
		return nil, fault.Missing("entitlement")
	})
	var none error
	act[*mediav1.CreateMediaItemRequest](w, "CreateMediaItem", &none, &mediav1.CreateMediaItemResponse{Item: item})
	act[*mediav1.DeleteMediaItemRequest](w, "DeleteMediaItem", &none, &mediav1.DeleteMediaItemResponse{})
	act[*mediav1.CreateCollectionRequest](w, "CreateCollection", &none, &mediav1.CreateCollectionResponse{Collection: &mediav1.Collection{Id: "col_1"}})
	act[*mediav1.UpdateCollectionRequest](w, "UpdateCollection", &none, &mediav1.UpdateCollectionResponse{Collection: &mediav1.Collection{Id: "col_1"}})
	act[*mediav1.DeleteCollectionRequest](w, "DeleteCollection", &none, &mediav1.DeleteCollectionResponse{})
	act[*mediav1.CreateEntitlementRequest](w, "CreateEntitlement", &none, &mediav1.CreateEntitlementResponse{Entitlement: entitlements[0]})
	act[*mediav1.DeleteEntitlementRequest](w, "DeleteEntitlement", &none, &mediav1.DeleteEntitlementResponse{})
	on(w.backend, "UpdateMediaItem", func(req *mediav1.UpdateMediaItemRequest) (*mediav1.UpdateMediaItemResponse, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != item.GetVersion() {
			return nil, fault.Stale("item", item.GetVersion())
		}
		return &mediav1.UpdateMediaItemResponse{Item: item}, nil
	})
	return item
}

func staffWorld(t *testing.T) *world {
	w := newWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.signIn()
	return w
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	item := withLibrary(w)
	t.Run("lists items with the titles of their collections in three calls", func(t *testing.T) {
		w.backend.count()
		w.get("/library").must(t, "Morning flow", "Video, 42:30", `href="/collections/col_1" dir="auto">Flows`, "yoga, morning", "Published", `src="https://files.test/cover/x"`, "1 item,")
		if n := w.backend.count(); n != 3 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("filters", func(t *testing.T) {
		w.page("/library?kind=audio&status=draft&collection=col_1&tag=yoga")
		req := last[*mediav1.ListMediaItemsRequest](w, "ListMediaItems")
		if req.GetKind() != mediav1.MediaKind_MEDIA_KIND_AUDIO || req.GetStatus() != mediav1.MediaStatus_MEDIA_STATUS_DRAFT || req.GetCollectionId() != "col_1" || req.GetTag() != "yoga" {
			t.Errorf("%v", req)
		}
	})
	t.Run("adds an item", func(t *testing.T) {
		w.get("/library/new?collection=col_1").must(t, `value="col_1" checked`, "You cannot change this later.")
		a := w.post("/library", "title", "Flow", "kind", "audio", "length", "1:02:03", "tags", " yoga, slow ,,", "collections", "col_1")
		w.get(a.to()).must(t, "The item was added. Upload its file next.")
		want := &mediav1.CreateMediaItemRequest{Title: "Flow", Kind: mediav1.MediaKind_MEDIA_KIND_AUDIO, DurationSeconds: 3723, Tags: []string{"yoga", "slow"}, CollectionIds: []string{"col_1"}}
		if req := last[*mediav1.CreateMediaItemRequest](w, "CreateMediaItem"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		for _, length := range []string{"x", "1:60", "24:00:01", "1:2:3:4", "-1"} {
			w.post("/library", "title", "Flow", "kind", "video", "length", length).must(t, "Enter the length as minutes and seconds", `value="`+length+`"`)
		}
		w.post("/library", "title", "Flow", "kind", "video", "length", "90")
		if req := last[*mediav1.CreateMediaItemRequest](w, "CreateMediaItem"); req.GetDurationSeconds() != 5400 {
			t.Errorf("%v", req)
		}
	})
	t.Run("changes an item from the version that was read", func(t *testing.T) {
		w.get("/library/media_1/edit").must(t, `value="Morning flow"`, `value="42:30"`, `value="yoga, morning"`, `name="version" value="4"`)
		w.post("/library/media_1/edit", "title", "Evening flow", "version", "3").must(t, "Someone else has changed this", `value="Evening flow"`)
		if a := w.post("/library/media_1/edit", "title", "Evening flow", "version", "4"); a.to() != "/library/media_1" {
			t.Error(describe(a))
		}
	})
	t.Run("publishes and makes a draft", func(t *testing.T) {
		w.get(w.post("/library/media_1/unpublish").to()).must(t, "Customers can no longer see it.")
		item.Status = mediav1.MediaStatus_MEDIA_STATUS_DRAFT
		w.get("/library/media_1").must(t, "/library/media_1/publish", "This is a draft.")
		w.get(w.post("/library/media_1/publish").to()).must(t, "The item is published.")
		file := item.GetFile()
		item.File = nil
		if a := w.get("/library/media_1"); strings.Contains(a.body, "/library/media_1/publish") || !strings.Contains(a.body, "Upload a file, then publish the item.") {
			t.Error(describe(a))
		}
		item.File = file
	})
	t.Run("shows why an item cannot be published", func(t *testing.T) {
		on(w.backend, "UpdateMediaItem", func(*mediav1.UpdateMediaItemRequest) (*mediav1.UpdateMediaItemResponse, error) {
			return nil, fault.Refuse("MEDIA_NOT_READY", "the item has no file")
		})
		w.get(w.post("/library/media_1/publish").to()).must(t, "This item has no file yet")
	})
	t.Run("deletes after saying what that does", func(t *testing.T) {
		w.get("/library/media_1/delete").must(t, "Customers can no longer play it.", "You cannot undo this.")
		w.get(w.post("/library/media_1/delete").to()).must(t, "The item was deleted.")
	})
	t.Run("does not find another company's", func(t *testing.T) {
		for _, path := range []string{"/library/media_2", "/library/media_2/edit", "/library/media_2/play", "/library/media_2/access", "/library/media_2/delete", "/library/media_1/access/ent_9/remove",
			"/collections/col_2", "/collections/col_2/delete", "/collections/col_1/access/ent_1/remove"} {
			if a := w.get(path); a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", path, describe(a))
			}
		}
		if a := w.post("/library/media_1/burn"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	if got := strings.Join(w.recorded(), " "); got != "media.create media.create media.update media.unpublish media.publish media.delete" {
		t.Errorf("the audit log has %s", got)
	}
}

func TestCollections(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	withLibrary(w)
	w.get("/collections").must(t, "Flows", "/collections/new")
	w.get("/collections/col_1").must(t, "Morning flow", "Included in these plans", `href="/plans/plan_1"`, "/library/new?collection=col_1", `name="version" value="2"`)
	w.post("/collections", "title", "").must(t, "Enter a title.")
	if a := w.post("/collections", "title", "Flows"); a.to() != "/collections/col_1" {
		t.Error(describe(a))
	}
	if a := w.post("/collections/col_1", "title", "Slow flows", "version", "2"); a.to() != "/collections/col_1" {
		t.Error(describe(a))
	}
	w.get("/collections/col_1/delete").must(t, "Its items stay in the library.")
	w.get(w.post("/collections/col_1/delete").to()).must(t, "The collection was deleted.")
	if got := strings.Join(w.recorded(), " "); got != "collection.create collection.update collection.delete" {
		t.Errorf("the audit log has %s", got)
	}
	on(w.backend, "ListCollections", func(*mediav1.ListCollectionsRequest) (*mediav1.ListCollectionsResponse, error) {
		return &mediav1.ListCollectionsResponse{}, nil
	})
	w.get("/collections").must(t, "No collections yet")
}

func TestWhoCanPlay(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	withLibrary(w)
	t.Run("lists who can play an item, with one call for each kind of name", func(t *testing.T) {
		w.backend.count()
		w.get("/library/media_1").must(t, "Holders of the pass Ten visits", "Subscribers of Eight a month", "until 31 Jan 2027", "Customers who booked Yoga", "Ann Smith", "without end",
			"/collections/col_1#access", "/library/media_1/access/ent_4/remove")
		// Authenticate, item, entitlements, customers, pass types, plans, events, collections.
		if n := w.backend.count(); n != 8 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("lets holders, subscribers and guests play it", func(t *testing.T) {
		w.get("/library/media_1/access").must(t, "Ten visits", "Eight a month", "Yoga")
		for _, c := range []struct {
			path   string
			fields []string
			want   *mediav1.CreateEntitlementRequest
		}{
			{"/library/media_1/access", []string{"who", "pass", "pass", "pass_7", "plan", "plan_1", "until", "2027-01-31"}, &mediav1.CreateEntitlementRequest{ItemId: "media_1", PassTypeId: "pass_7", LastDay: "2027-01-31"}},
			{"/library/media_1/access", []string{"who", "plan", "plan", "plan_1"}, &mediav1.CreateEntitlementRequest{ItemId: "media_1", PlanId: "plan_1"}},
			{"/collections/col_1/access", []string{"who", "event", "event", "evt_1"}, &mediav1.CreateEntitlementRequest{CollectionId: "col_1", EventId: "evt_1"}},
		} {
			a := w.post(c.path, c.fields...)
			if a.to() != strings.TrimSuffix(c.path, "/access")+"#access" {
				t.Fatal(describe(a))
			}
			if req := last[*mediav1.CreateEntitlementRequest](w, "CreateEntitlement"); !proto.Equal(req, c.want) {
				t.Errorf("%v", req)
			}
		}
		w.post("/library/media_1/access").must(t, "Choose who can play it.")
		w.post("/library/media_1/access", "who", "plan").must(t, "Enter a plan.")
	})
	t.Run("gives an item to a customer", func(t *testing.T) {
		w.get("/library/media_1/give?q=an").must(t, "/customers/cust_1/give?media=media_1")
		w.get("/customers/cust_1/give?media=media_1").must(t, "Morning flow (Video)", "Collection: Flows", `value="media_1" selected`)
		a := w.post("/customers/cust_1/give", "media", "col_1", "until", "2027-01-31")
		if a.to() != "/customers/cust_1#media" {
			t.Fatal(describe(a))
		}
		want := &mediav1.CreateEntitlementRequest{CollectionId: "col_1", CustomerId: "cust_1", LastDay: "2027-01-31"}
		if req := last[*mediav1.CreateEntitlementRequest](w, "CreateEntitlement"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		w.post("/customers/cust_1/give", "media", "media_1")
		if req := last[*mediav1.CreateEntitlementRequest](w, "CreateEntitlement"); req.GetItemId() != "media_1" || req.GetCollectionId() != "" {
			t.Errorf("%v", req)
		}
		w.post("/customers/cust_1/give", "media", "").must(t, "Enter an item or a collection.")
	})
	t.Run("shows a refused last day at its field", func(t *testing.T) {
		on(w.backend, "CreateEntitlement", func(*mediav1.CreateEntitlementRequest) (*mediav1.CreateEntitlementResponse, error) {
			return nil, fault.InvalidParameter("last_day", "range", "must be today or later")
		})
		w.post("/library/media_1/access", "who", "plan", "plan", "plan_1", "until", "2020-01-01").must(t, "The last day must be today or later.", `value="2020-01-01"`)
	})
	t.Run("removes after saying what that does", func(t *testing.T) {
		w.get("/library/media_1/access/ent_1/remove").must(t, "Holders of the pass Ten visits can no longer play Morning flow.")
		w.get(w.post("/library/media_1/access/ent_1/remove").to()).must(t, "They can no longer play it")
		entry := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry")
		if entry.GetTarget() != "media_1" || len(entry.GetDetails()) != 1 || entry.GetDetails()[0].GetBefore() != "pass_7" {
			t.Errorf("%v", entry)
		}
	})
	want := "media.access_add media.access_add collection.access_add collection.access_add media.access_add media.access_remove"
	if got := strings.Join(w.recorded(), " "); got != want {
		t.Errorf("the audit log has %s, want %s", got, want)
	}
}

func TestPlayback(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	withLibrary(w)
	link := &mediav1.CreatePlaybackLinkResponse{
		Url: "https://files.test/media/play/abc", ContentType: "video/mp4", ExpiresAt: timestamppb.Now(), Reason: &mediav1.MediaReason{SubscriptionId: "sub_1", LastDay: "2027-01-31"},
	}
	on(w.backend, "CreatePlaybackLink", func(req *mediav1.CreatePlaybackLinkRequest) (*mediav1.CreatePlaybackLinkResponse, error) {
		if req.GetCustomerId() != "cust_1" {
			return nil, fault.Missing("customer")
		}
		return link, nil
	})
	t.Run("finds a customer first", func(t *testing.T) {
		w.get("/library/media_1/play?q=an").must(t, "/library/media_1/play?customer=cust_1", "Play as a customer")
	})
	t.Run("plays each kind of file as the customer, and says why", func(t *testing.T) {
		for contentType, want := range map[string]string{"video/mp4": "<video", "audio/mpeg": "<audio", "image/png": `<img class="player"`, "application/pdf": "Open the file in a new tab"} {
			link.ContentType = contentType
			w.get("/library/media_1/play?customer=cust_1").must(t, want, "https://files.test/media/play/abc", "A subscription", `href="/subscriptions/sub_1"`, "until 31 Jan 2027", "Ann Smith")
		}
	})
	t.Run("says that the customer is not entitled, and offers to give the item", func(t *testing.T) {
		on(w.backend, "CreatePlaybackLink", func(*mediav1.CreatePlaybackLinkRequest) (*mediav1.CreatePlaybackLinkResponse, error) {
			return nil, fault.Refuse("MEDIA_NOT_ENTITLED", "the customer is not entitled")
		})
		w.get("/library/media_1/play?customer=cust_1").must(t, "This customer cannot play this item", "/customers/cust_1/give?media=media_1")
	})
	t.Run("finds no customer of another company", func(t *testing.T) {
		if a := w.get("/library/media_1/play?customer=cust_2"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
}

// TestFilesComeFromTheMediaServiceOnly checks that only pages of the library can load files from MEDIA_URL.
func TestFilesComeFromTheMediaServiceOnly(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	withLibrary(w)
	const origin = "https://files.test" // of mediaURL
	for _, path := range []string{"/library", "/library/media_1", "/collections", "/library/new"} {
		csp := w.get(path).Header.Get("Content-Security-Policy")
		for _, part := range []string{"img-src 'self' " + origin + ";", "media-src " + origin + ";", "connect-src 'self' " + origin + ";", "script-src 'self';", "default-src 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s lacks %q: %s", path, part, csp)
			}
		}
	}
	for _, path := range []string{"/", "/customers/cust_1", "/subscriptions", "/sign-in", "/nowhere"} {
		if csp := w.get(path).Header.Get("Content-Security-Policy"); strings.Contains(csp, origin) || strings.Contains(csp, "media-src") {
			t.Errorf("%s can load files: %s", path, csp)
		}
	}
}

func TestUploads(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	withLibrary(w)
	upload := &mediav1.Upload{
		Id: "upl_1", ItemId: "media_1", Status: mediav1.UploadStatus_UPLOAD_STATUS_OPEN, PartSize: 8 << 20, PartCount: 3, ReceivedParts: []int32{1},
		PartUrl: "https://files.test/media/upload/x", FileName: "flow.m4a", Size: 20 << 20,
	}
	var refusal error
	act[*mediav1.CreateUploadRequest](w, "CreateUpload", &refusal, &mediav1.CreateUploadResponse{Upload: upload})
	act[*mediav1.GetUploadRequest](w, "GetUpload", &refusal, &mediav1.GetUploadResponse{Upload: upload})
	act[*mediav1.CompleteUploadRequest](w, "CompleteUpload", &refusal, &mediav1.CompleteUploadResponse{Upload: upload})
	act[*mediav1.CancelUploadRequest](w, "CancelUpload", &refusal, &mediav1.CancelUploadResponse{})
	const path = "/library/media_1/uploads"
	read := func(a answer) (u uploadReply) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.body), &u); err != nil {
			t.Fatal(describe(a), err)
		}
		return u
	}
	t.Run("has forms for a file and a cover, hidden without JavaScript", func(t *testing.T) {
		w.get("/library/media_1").must(t, `data-upload="file"`, `data-upload="cover"`, `data-most="10485760"`, "data-script hidden", "<noscript>", ".mp4,", "/assets/upload.")
	})
	t.Run("tells the browser where to send the parts", func(t *testing.T) {
		u := read(w.post(path, "purpose", "file", "name", "flow.m4a", "type", "audio/x-m4a", "size", "20971520"))
		if u.ID != "upl_1" || u.PartURL != upload.GetPartUrl() || u.PartSize != 8<<20 || u.Parts != 3 || !slices.Equal(u.Received, []int32{1}) {
			t.Errorf("%+v", u)
		}
		want := &mediav1.CreateUploadRequest{ItemId: "media_1", Purpose: mediav1.UploadPurpose_UPLOAD_PURPOSE_FILE, FileName: "flow.m4a", ContentType: "audio/mp4", Size: 20 << 20}
		if req := last[*mediav1.CreateUploadRequest](w, "CreateUpload"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		w.post(path, "purpose", "cover", "name", "x", "type", "image/png", "size", "9")
		if req := last[*mediav1.CreateUploadRequest](w, "CreateUpload"); req.GetPurpose() != mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER || req.GetContentType() != "image/png" {
			t.Errorf("%v", req)
		}
	})
	t.Run("continues an open upload of the same file, and no other", func(t *testing.T) {
		created := func() int { return len(w.backend.called("CreateUpload")) }
		before := created()
		if u := read(w.post(path, "name", "flow.m4a", "size", "20971520", "upload", "upl_1")); u.ID != "upl_1" || created() != before {
			t.Errorf("%+v", u)
		}
		w.post(path, "name", "flow.m4a", "size", "20971521", "upload", "upl_1")
		w.post(path, "name", "other.m4a", "size", "20971520", "upload", "upl_1")
		upload.Status = mediav1.UploadStatus_UPLOAD_STATUS_FAILED
		w.post(path, "name", "flow.m4a", "size", "20971520", "upload", "upl_1")
		upload.Status = mediav1.UploadStatus_UPLOAD_STATUS_OPEN
		if n := created() - before; n != 3 {
			t.Errorf("%d uploads were begun", n)
		}
	})
	t.Run("waits until the parts are joined", func(t *testing.T) {
		recorded := len(w.recorded())
		upload.Status = mediav1.UploadStatus_UPLOAD_STATUS_COMPLETING
		if u := read(w.post(path + "/upl_1/complete")); !u.Completing || u.Next != "" || len(w.recorded()) != recorded {
			t.Errorf("%+v", u)
		}
		upload.Status = mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE
		if u := read(w.post(path + "/upl_1/complete")); u.Next != "/library/media_1" {
			t.Errorf("%+v", u)
		}
		if all := w.recorded(); len(all) != recorded+1 || all[recorded] != "media.upload" {
			t.Errorf("the audit log has %v", all)
		}
		w.get("/library/media_1").must(t, "The file flow.m4a was uploaded.")
	})
	t.Run("says why the file was not accepted", func(t *testing.T) {
		upload.Status, upload.Error = mediav1.UploadStatus_UPLOAD_STATUS_FAILED, "the content is not audio"
		if u := read(w.post(path + "/upl_1/complete")); u.Error != "The file was not accepted. The content is not audio." {
			t.Errorf("%+v", u)
		}
	})
	t.Run("says a refusal in words", func(t *testing.T) {
		for reason, want := range map[string]string{"FILE_TOO_LARGE": "too large", "FILE_TYPE_NOT_SUPPORTED": "type of file", "TOO_MANY_UPLOADS": "maximum number of uploads"} {
			refusal = fault.Refuse(reason, "no")
			a := w.post(path, "name", "x.mp4", "size", "5")
			if u := read(a); !strings.Contains(u.Error, want) || a.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%+v", u)
			}
		}
		refusal = fault.Refuse("CHECKSUM_MISMATCH", "no")
		if u := read(w.post(path + "/upl_1/complete")); !strings.Contains(u.Error, "damaged on the way") {
			t.Errorf("%+v", u)
		}
		for _, size := range []string{"", "0", "-1", "x"} {
			if u := read(w.post(path, "name", "x.mp4", "size", size)); !strings.Contains(u.Error, "empty") {
				t.Errorf("%+v", u)
			}
		}
	})
	t.Run("cancels", func(t *testing.T) {
		refusal = nil
		if u := read(w.post(path + "/upl_1/cancel")); u.ID != "upl_1" || u.Error != "" {
			t.Errorf("%+v", u)
		}
		refusal = fault.Refuse("UPLOAD_COMPLETE", "no")
		if u := read(w.post(path + "/upl_1/cancel")); !strings.Contains(u.Error, "already complete") {
			t.Errorf("%+v", u)
		}
	})
	t.Run("answers with an error page when the service is away", func(t *testing.T) {
		refusal = fault.Away(nil)
		if a := w.post(path, "name", "x.mp4", "size", "5"); a.StatusCode != http.StatusServiceUnavailable || strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
			t.Error(describe(a))
		}
	})
}
