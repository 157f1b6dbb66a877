package gatewayb

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

func aMediaItem() *mediav1.MediaItem {
	file := func(name, kind, url string) *mediav1.MediaFile {
		return &mediav1.MediaFile{Name: name, ContentType: kind, Size: 5_000_000_000, Sha256: "9f86", UploadedAt: at("2026-03-01T10:05:00Z"), Url: url}
	}
	return &mediav1.MediaItem{
		Id: "media_" + idOf, Title: "Morning Flow", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO, DurationSeconds: 1800, Tags: []string{"yoga"},
		Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED, File: file("flow.mp4", "video/mp4", ""), Cover: file("flow.jpg", "image/jpeg", "https://media.test/c"),
		CollectionIds: []string{"col_" + idOf}, Reference: "old-7", CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:06:00Z"), Version: 3,
	}
}

func aDraft() *mediav1.MediaItem {
	return &mediav1.MediaItem{
		Id: "media_" + idOf, Title: "Draft", Kind: mediav1.MediaKind_MEDIA_KIND_AUDIO, Status: mediav1.MediaStatus_MEDIA_STATUS_DRAFT,
		CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 1,
	}
}

func mediaAnswers() []proto.Message {
	collection := &mediav1.Collection{Id: "col_" + idOf, Title: "Mornings", ItemCount: 12, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 2}
	entitlement := &mediav1.Entitlement{Id: "ent_" + idOf, CollectionId: "col_" + idOf, PassTypeId: "pass_" + idOf, CreatedAt: at("2026-03-01T10:00:00Z")}
	upload := &mediav1.Upload{
		Id: "upl_" + idOf, ItemId: "media_" + idOf, Purpose: mediav1.UploadPurpose_UPLOAD_PURPOSE_FILE, Status: mediav1.UploadStatus_UPLOAD_STATUS_OPEN, PartSize: 1 << 24, PartCount: 3,
		ReceivedParts: []int32{1, 3}, PartUrl: "https://media.test/u", ExpiresAt: at("2026-03-02T10:00:00Z"), FileName: "flow.mp4", ContentType: "video/mp4", Size: 5_000_000_000,
	}
	reasons := []*mediav1.MediaReason{
		{CustomerPassId: "cp_" + idOf, EntitlementId: "ent_" + idOf}, {SubscriptionId: "sub_" + idOf},
		{BookingId: "booking_" + idOf, EntitlementId: "ent_" + idOf}, {Given: true, EntitlementId: "ent_" + idOf, LastDay: "2026-12-31"},
	}
	var played []*mediav1.CustomerMedia
	for _, r := range reasons {
		played = append(played, &mediav1.CustomerMedia{Item: aMediaItem(), Reason: r})
	}
	played[0].Progress = &mediav1.MediaProgress{PositionSeconds: 754, Completed: true, UpdatedAt: at("2026-03-12T18:20:00Z")}
	return []proto.Message{
		&mediav1.ListMediaItemsResponse{Items: []*mediav1.MediaItem{aMediaItem(), aDraft()}, Total: 2}, &mediav1.GetMediaItemResponse{Item: aMediaItem()},
		&mediav1.CreateMediaItemResponse{Item: aDraft()}, &mediav1.UpdateMediaItemResponse{Item: aMediaItem()}, &mediav1.DeleteMediaItemResponse{},
		&mediav1.CreateUploadResponse{Upload: upload}, &mediav1.GetUploadResponse{Upload: upload}, &mediav1.CompleteUploadResponse{Upload: upload, Item: aMediaItem()},
		&mediav1.CancelUploadResponse{}, &mediav1.ListCollectionsResponse{Collections: []*mediav1.Collection{collection}, Total: 1},
		&mediav1.GetCollectionResponse{Collection: collection}, &mediav1.CreateCollectionResponse{Collection: collection},
		&mediav1.UpdateCollectionResponse{Collection: collection}, &mediav1.DeleteCollectionResponse{},
		&mediav1.ListEntitlementsResponse{Entitlements: []*mediav1.Entitlement{entitlement}, Total: 1}, &mediav1.GetEntitlementResponse{Entitlement: entitlement},
		&mediav1.CreateEntitlementResponse{Entitlement: entitlement}, &mediav1.DeleteEntitlementResponse{},
		&mediav1.ListCustomerMediaResponse{Media: played, Total: 4}, &mediav1.GetCustomerMediaResponse{Media: &mediav1.CustomerMedia{Item: aMediaItem()}},
		&mediav1.CreatePlaybackLinkResponse{Url: "https://media.test/p", ExpiresAt: at("2026-03-12T19:00:00Z"), ContentType: "video/mp4", Reason: reasons[1]},
		&mediav1.RecordProgressResponse{Progress: played[0].GetProgress()},
	}
}

func TestMediaOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const item, collection, entitlement, upload = "/media/media_" + idOf, "/media-collections/col_" + idOf, "/media-entitlements/ent_" + idOf, "/media/media_" + idOf + "/uploads/upl_" + idOf
	const call, uploadCall = `id:"media_` + idOf + `"`, `item_id:"media_` + idOf + `" upload_id:"upl_` + idOf + `"`
	for _, tt := range []operation{
		{"GET", "/media?status=published&kind=video&collectionId=col_x&tag=yoga", "", 200,
			[]string{`"media":[{"id":"media_`, `"durationSeconds":1800,"tags":["yoga"],"status":"published","file":{"name":"flow.mp4","contentType":"video/mp4","size":5000000000,"sha256":"9f86","uploadedAt":"2026-03-01T10:05:00Z"},"cover":{`, `"url":"https://media.test/c"}`, `"reference":"old-7"`,
				`"durationSeconds":null,"tags":[],"status":"draft","collectionIds":[],"reference":null`},
			`page_size:25 order:MEDIA_ORDER_CREATED status:MEDIA_STATUS_PUBLISHED kind:MEDIA_KIND_VIDEO collection_id:"col_x" tag:"yoga"`},
		{"GET", item, "", 200, nil, call},
		{"POST", "/media", `{"title":"T","kind":"audio","durationSeconds":60,"tags":["a"],"collectionIds":["col_x"],"reference":"r","status":"draft"}`, 201, nil,
			`title:"T" kind:MEDIA_KIND_AUDIO duration_seconds:60 tags:"a" collection_ids:"col_x" reference:"r"`},
		{"PUT", item, `{"title":"T","kind":"audio","durationSeconds":null,"tags":[],"collectionIds":[],"status":"published","reference":null,"file":{}}`, 200, nil,
			call + ` title:"T" duration_seconds:0 tags:{} collection_ids:{} status:MEDIA_STATUS_PUBLISHED`},
		{"PATCH", item, `{"description":""}`, 200, nil, call + ` description:""`},
		{"DELETE", item, "", 200, []string{`{"id":"media_` + idOf + `","deleted":true}`}, call},
		{"POST", item + "/uploads", `{"purpose":"cover","fileName":"c.jpg","contentType":"image/jpeg","size":5000000000,"sha256":"ab"}`, 201, []string{`"partSize":16777216,"partCount":3,"receivedParts":[1,3],"partUrl":"https://media.test/u"`, `"error":null`},
			`item_` + call + ` purpose:UPLOAD_PURPOSE_COVER file_name:"c.jpg" content_type:"image/jpeg" size:5000000000 sha256:"ab"`},
		{"GET", upload, "", 200, []string{`"id":"upl_`, `"mediaId":"media_`}, uploadCall},
		{"POST", upload + "/complete", "", 200, nil, uploadCall},
		{"DELETE", upload, "", 200, []string{`{"id":"upl_` + idOf + `","deleted":true}`}, uploadCall},
		{"GET", "/media-collections?updatedSince=2026-03-01T00:00:00Z", "", 200, []string{`"mediaCollections":[{"id":"col_`, `"itemCount":12`}, `page_size:25 order:MEDIA_ORDER_CREATED updated_since:{seconds:1772323200}`},
		{"POST", "/media-collections", `{"title":"T","description":"D"}`, 201, nil, `title:"T" description:"D"`},
		{"GET", collection, "", 200, nil, `id:"col_` + idOf + `"`},
		{"PUT", collection, `{"title":"T"}`, 200, nil, `id:"col_` + idOf + `" title:"T"`},
		{"PATCH", collection, `{"description":""}`, 200, nil, `id:"col_` + idOf + `" description:""`},
		{"DELETE", collection, "", 200, nil, `id:"col_` + idOf + `"`},
		{"GET", "/media-entitlements?collectionId=col_x&mediaId=media_x&customerId=cust_x&sort=-createdAt", "", 200, []string{`"mediaEntitlements":[{"id":"ent_`, `"mediaId":null,"passId":"pass_`, `"lastDay":null`},
			`page_size:25 order:MEDIA_ORDER_CREATED_DESC collection_id:"col_x" item_id:"media_x" customer_id:"cust_x"`},
		{"POST", "/media-entitlements", `{"mediaId":"media_x","customerId":"cust_x","lastDay":"2026-12-31"}`, 201, nil, `item_id:"media_x" customer_id:"cust_x" last_day:"2026-12-31"`},
		{"POST", "/media-entitlements", `{"collectionId":"col_x","passId":"","planId":"plan_x","eventId":"evt_x"}`, 201, nil, `collection_id:"col_x" pass_type_id:"-" plan_id:"plan_x" event_id:"evt_x"`},
		{"GET", entitlement, "", 200, nil, `id:"ent_` + idOf + `"`},
		{"DELETE", entitlement, "", 200, nil, `id:"ent_` + idOf + `"`},
		{"GET", "/customers/cust_" + idOf + "/media?page=2", "", 200,
			[]string{`"media":[{"id":"media_`, `"reason":{"type":"pass","entitlementId":"ent_`, `"progress":{"positionSeconds":754,"completed":true,"updatedAt":"2026-03-12T18:20:00Z"}`,
				`"reason":{"type":"subscription","entitlementId":null,"customerPassId":null,"subscriptionId":"sub_`, `"reason":{"type":"registration"`, `"registrationId":"reg_` + idOf, `"reason":{"type":"given"`, `"lastDay":"2026-12-31"`},
			`customer_id:"cust_` + idOf + `" page_size:25 offset:25`},
		{"GET", "/customers/cust_" + idOf + "/media/media_" + idOf, "", 200, []string{`"updatedAt":"2026-03-01T10:06:00Z"}`}, `customer_id:"cust_` + idOf + `" item_` + call},
		{"POST", item + "/playback-links", `{"customerId":"cust_x","minutes":60}`, 201, []string{`{"url":"https://media.test/p","expiresAt":"2026-03-12T19:00:00Z","contentType":"video/mp4","reason":{"type":"subscription"`}, `item_` + call + ` customer_id:"cust_x" minutes:60`},
		{"PUT", item + "/progress", `{"customerId":"cust_x","positionSeconds":0,"completed":true}`, 200, []string{`{"positionSeconds":754,"completed":true`}, `item_` + call + ` customer_id:"cust_x" completed:true`},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, mediaAnswers()) })
	}
}

func TestMediaErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const item = "/media/media_" + idOf
	for name, tt := range map[string]struct {
		method, path, body string
		err                error
		want               string
	}{
		"an unknown kind":                {"POST", "/media", `{"title":"T","kind":"film"}`, nil, `"field":"kind","rule":"enum"`},
		"a new item that is published":   {"POST", "/media", `{"title":"T","kind":"video","status":"published"}`, nil, `"field":"status","rule":"enum"`},
		"a duration of 0":                {"PATCH", item, `{"durationSeconds":0}`, nil, `"field":"durationSeconds","rule":"min"`},
		"too many tags":                  {"PATCH", item, `{"tags":[` + strings.Repeat(`"x",`, 20) + `"x"]}`, nil, `"field":"tags","rule":"max_items"`},
		"a tag that is too long":         {"PATCH", item, `{"tags":["` + strings.Repeat("x", 51) + `"]}`, nil, `"field":"tags"`},
		"an upload without members":      {"POST", item + "/uploads", `{}`, nil, `"errors":[{"field":"fileName","message":"fileName is required","rule":"required"},{"field":"contentType","message":"contentType is required","rule":"required"},{"field":"size"`},
		"an unknown purpose":             {"POST", item + "/uploads", `{"purpose":"x","fileName":"a","contentType":"b","size":1}`, nil, `"field":"purpose","rule":"enum"`},
		"a link without a customer":      {"POST", item + "/playback-links", `{"minutes":0}`, nil, `"errors":[{"field":"customerId","message":"customerId is required","rule":"required"},{"field":"minutes"`},
		"progress without a position":    {"PUT", item + "/progress", `{"customerId":"cust_x"}`, nil, `"field":"positionSeconds","rule":"required"`},
		"a fault of an entitlement":      {"POST", "/media-entitlements", `{}`, fault.InvalidFields(fault.Field{Field: "item_id", Rule: "required", Message: "is required"}), `"field":"mediaId","rule":"required"`},
		"a refusal, with its facts":      {"POST", item + "/uploads/upl_" + idOf + "/complete", "", fault.Refuse("UPLOAD_INCOMPLETE", "parts are missing").With("missing_parts", "2"), `"details":{"missingParts":"2"}`},
		"a customer without entitlement": {"POST", item + "/playback-links", `{"customerId":"cust_x"}`, fault.Refuse("MEDIA_NOT_ENTITLED", "x"), `"code":"MEDIA_NOT_ENTITLED"`},
	} {
		t.Run("responds to "+name, func(t *testing.T) {
			if tt.err != nil {
				g.services.prepare(tt.err)
			} else {
				g.services.prepare(nil, &mediav1.GetMediaItemResponse{Item: aMediaItem()})
			}
			a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, tt.want) {
				t.Errorf("got %d %s, want %s", a.Code, a.Body, tt.want)
			}
		})
	}
}
