package admin

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestPublishableKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	key := &authv1.PublishableKey{Id: "pub_1", Name: "<b>Site</b>", Origins: []string{"https://studio.example"}, Enabled: true, CreatedAt: timestamppb.Now(), Version: 2}
	var keys []*authv1.PublishableKey
	on(w.backend, "ListPublishableKeys", func(*authv1.ListPublishableKeysRequest) (*authv1.ListPublishableKeysResponse, error) {
		return &authv1.ListPublishableKeysResponse{PublishableKeys: keys}, nil
	})
	on(w.backend, "GetPublishableKey", func(req *authv1.GetPublishableKeyRequest) (*authv1.GetPublishableKeyResponse, error) {
		if req.GetId() != key.GetId() {
			return nil, fault.Missing("publishable key")
		}
		return &authv1.GetPublishableKeyResponse{PublishableKey: key}, nil
	})
	on(w.backend, "CreatePublishableKey", func(req *authv1.CreatePublishableKeyRequest) (*authv1.CreatePublishableKeyResponse, error) {
		if slices.Contains(req.GetOrigins(), "http://studio.example") {
			return nil, fault.InvalidFields(fault.Field{Field: "origins[0]", Rule: "origin", Message: "must begin with https://; only localhost can have http://"})
		}
		return &authv1.CreatePublishableKeyResponse{PublishableKey: key}, nil
	})
	on(w.backend, "UpdatePublishableKey", func(req *authv1.UpdatePublishableKeyRequest) (*authv1.UpdatePublishableKeyResponse, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != key.GetVersion() {
			return nil, fault.Stale("publishable key", key.GetVersion())
		}
		return &authv1.UpdatePublishableKeyResponse{PublishableKey: key}, nil
	})
	on(w.backend, "DeletePublishableKey", func(*authv1.DeletePublishableKeyRequest) (*authv1.DeletePublishableKeyResponse, error) {
		return &authv1.DeletePublishableKeyResponse{}, nil
	})
	const list, page = "/settings/publishable-keys", "/settings/publishable-keys/pub_1"

	t.Run("explains how to add the first key, then lists keys with one call", func(t *testing.T) {
		w.get(list).must(t, "No publishable keys yet", "Add your first key")
		keys = append(keys, key)
		w.backend.count()
		w.get(list).must(t, "pub_1", "https://studio.example", "&lt;b&gt;Site&lt;/b&gt;", "Active")
		if n := w.backend.count(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("adds a key with origins, one a line", func(t *testing.T) {
		if a := w.post(list, "name", " Site ", "origins", "https://studio.example\r\n\r\n https://www.studio.example"); a.to() != page {
			t.Fatal(describe(a))
		}
		req := last[*authv1.CreatePublishableKeyRequest](w, "CreatePublishableKey")
		if req.GetName() != "Site" || !slices.Equal(req.GetOrigins(), []string{"https://studio.example", "https://www.studio.example"}) {
			t.Errorf("%v", req)
		}
	})
	t.Run("shows errors at the fields and keeps typed text", func(t *testing.T) {
		a := w.post(list, "origins", "https://kept.example")
		a.must(t, "Enter a name.", "https://kept.example")
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(a.StatusCode)
		}
		w.post(list, "name", "Site", "origins", "http://studio.example").must(t, "Each origin must begin with https://", `id="origins-wrong"`)
	})
	t.Run("shows the code for a web page", func(t *testing.T) {
		w.get(page).must(t, "http://b.test/api/v1/event-dates?available=true", "Bearer pub_1", "page.eventDates", `name="version" value="2"`)
	})
	t.Run("changes a key that nobody else has changed", func(t *testing.T) {
		w.post(page, "name", "Site", "version", "1").must(t, "Someone else has changed this")
		if a := w.post(page, "name", "Site", "origins", "", "version", "2"); a.to() != page {
			t.Fatal(describe(a))
		}
		if req := last[*authv1.UpdatePublishableKeyRequest](w, "UpdatePublishableKey"); req.Origins == nil || len(req.GetOrigins().GetValues()) > 0 || req.Enabled != nil {
			t.Errorf("%v", req)
		}
	})
	t.Run("disables, enables and deletes a key after a confirmation", func(t *testing.T) {
		w.get(page+"/disable").must(t, "cannot read your timetable any more", `class="primary danger"`)
		w.post(page + "/disable")
		if req := last[*authv1.UpdatePublishableKeyRequest](w, "UpdatePublishableKey"); req.Enabled == nil || req.GetEnabled() || req.Name != nil || req.Origins != nil {
			t.Errorf("%v", req)
		}
		key.Enabled = false
		w.get(page).must(t, "Disabled", page+"/enable")
		w.post(page + "/enable")
		if req := last[*authv1.UpdatePublishableKeyRequest](w, "UpdatePublishableKey"); !req.GetEnabled() {
			t.Errorf("%v", req)
		}
		w.get(page+"/delete").must(t, "You cannot undo this")
		if a := w.post(page + "/delete"); a.to() != list {
			t.Error(describe(a))
		}
		if a := w.get(page + "/explode"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	t.Run("is named in the audit log", func(t *testing.T) {
		withAuditLog(w, entry("publishable_key.update", "pub_1", "origins", "", "https://studio.example", "enabled", "true", "false"))
		a := w.get("/settings/audit")
		a.must(t, `<a href="`+page+`" dir="auto">&lt;b&gt;Site&lt;/b&gt;</a>`)
		if !strings.Contains(text(a.body), "Origins: https://studio.example Enabled: from yes to no") {
			t.Error(text(a.body))
		}
	})
}
