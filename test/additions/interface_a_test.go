package additions

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

func testInterfaceA(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	a := c.interfaceA(t)
	t.Run("passes", func(t *testing.T) { testPassesOfCustomer(t, c, a, ada) })
	t.Run("notes", func(t *testing.T) { testNotes(t, c, a, ada) })
	t.Run("appointments", func(t *testing.T) { testAppointmentsOfCustomer(t, c, a) })
	t.Run("token", func(t *testing.T) { testToken(t, c) })
	t.Run("a missing scope is named", func(t *testing.T) {
		reader := c.interfaceA(t, "profile:read")
		for at, scope := range map[string]string{"/passes": "passes:read", "/notes": "notes:read", "/appointments": "appointments:read"} {
			has(t, reader.Read(t, 403, get, "/customer/"+ada+at, nil), object{"error.code": "INSUFFICIENT_SCOPE", "error.details.scope": scope})
		}
		has(t, reader.Read(t, 403, post, "/customer/"+ada+"/notes", object{"body": "x"}), object{"error.details.scope": "notes:write"})
	})
}

func testPassesOfCustomer(t *testing.T, c *caller, a *harness.Face, ada string) {
	passes := "/customer/" + ada + "/passes"
	five := c.passType(t, nil)
	bought := c.give(t, five, ada, by("CASH"))
	endless := c.give(t, c.passType(t, object{"totalUses": nil, "validityCount": nil, "validityUnit": nil, "unlimitedUses": true, "neverExpires": true}), ada, nil)
	page := a.Read(t, 200, get, passes, nil)
	has(t, page, object{"total": 2, "page": 0, "pageSize": 30})
	revalidates(t, a, passes)
	revalidates(t, a, "/customer/"+ada+"/pass/"+text(bought, "id"))
	t.Run("an item has its type and its fields in snake_case", func(t *testing.T) {
		has(t, page, object{"data.0": with(at(page, "data.0").(object), object{
			"id": bought["id"], "type": "pass", "pass_id": five["id"], "customer_id": ada, "title": "Five classes", "status": "active",
			"total_uses": 5, "remaining_uses": 5, "start_date": bought["startDate"], "expiry_date": bought["expiryDate"], "tz": "Europe/London",
			"payment": object{"method": "CASH", "currency": "GBP", "base100gross_price": 5000, "base100net_price": 5000},
		})})
		has(t, page, object{"data.1.id": endless["id"], "data.1.total_uses": 999999, "data.1.unlimited_uses": true, "data.1.expiry_date": "9999-12-31", "data.1.never_expires": true})
		if local := text(page, "data.0.created_at"); len(local) != len("2026-03-29T09:30:00") || strings.HasSuffix(local, "Z") {
			t.Errorf("created_at is %q", local)
		}
	})
	t.Run("the list has pages", func(t *testing.T) {
		second := a.Read(t, 200, get, passes+"?page=1&pageSize=1", nil)
		has(t, second, object{"total": 2, "page": 1, "pageSize": 1, "data": []any{at(page, "data.1")}})
		has(t, a.Read(t, 200, get, passes+"?pageSize=500", nil), object{"pageSize": 100})
		a.Refused(t, 400, "INVALID_PARAMETER", get, passes+"?pageSize=0", nil)
		a.Refused(t, 400, "INVALID_PARAMETER", get, passes+"?page=-1", nil)
	})
	t.Run("a singular path addresses one item", func(t *testing.T) {
		has(t, a.Read(t, 200, get, "/customer/"+ada+"/pass/"+text(bought, "id"), nil), object{"data": at(page, "data.0")})
		other := c.customer(t, "Ben", "King")
		a.Refused(t, 404, "NOT_FOUND", get, "/customer/"+other+"/pass/"+text(bought, "id"), nil)
		a.Refused(t, 404, "NOT_FOUND", get, "/customer/cust_00000000000000000000000000/passes", nil)
	})
}

func testNotes(t *testing.T, c *caller, a *harness.Face, ada string) {
	notes := "/customer/" + ada + "/notes"
	first := a.Read(t, 201, post, notes, object{"body": "Prefers the window."}, "Idempotency-Key", "first")
	item := first["data"].(object)
	id := text(item, "id")
	single := "/customer/" + ada + "/note/" + id
	has(t, item, object{"type": "note", "body": "Prefers the window.", "kind": "general", "pinned": false, "tz": "Europe/London"})
	if !strings.HasPrefix(id, "note_") || text(item, "author") == "" || len(text(item, "created_at")) != len("2026-03-29T09:30:00") || text(item, "updated_at") == "" {
		t.Errorf("%v", item)
	}
	has(t, a.Read(t, 201, post, notes, object{"body": "Prefers the window."}, "Idempotency-Key", "first"), first)
	t.Run("a note can be read and listed, pinned ones first", func(t *testing.T) {
		has(t, a.Read(t, 200, get, single, nil), first)
		pinned := a.Read(t, 201, post, notes, object{"body": "Allergic to nuts.", "kind": "health", "author": "Front desk", "pinned": true})
		has(t, pinned, object{"data.kind": "health", "data.author": "Front desk", "data.pinned": true})
		a.Read(t, 201, post, notes, object{"body": "Paid late."})
		page := a.Read(t, 200, get, notes, nil)
		has(t, page, object{"total": 3, "page": 0, "pageSize": 30, "data.0": pinned["data"], "data.2": item})
		revalidates(t, a, notes)
		revalidates(t, a, single)
		has(t, a.Read(t, 200, get, notes+"?page=2&pageSize=1", nil), object{"total": 3, "page": 2, "pageSize": 1, "data": []any{item}})
	})
	t.Run("PUT changes what it names, and accepts what GET returned", func(t *testing.T) {
		has(t, a.Read(t, 200, put, single, item), first)
		tag := a.Send(t, 200, get, single, nil).Header.Get("ETag")
		changed := a.Read(t, 200, put, single, object{"body": "Prefers the door.", "pinned": true}, "If-Match", tag)
		has(t, a.Read(t, 200, get, single, nil), changed)
		has(t, changed, object{"data.body": "Prefers the door.", "data.pinned": true, "data.kind": "general", "data.author": item["author"], "data.created_at": item["created_at"]})
		a.Refused(t, 412, "VERSION_MISMATCH", put, single, object{"body": "x"}, "If-Match", tag)
		a.Refused(t, 400, "VALIDATION_ERROR", put, single, object{"body": ""})
		a.Refused(t, 400, "VALIDATION_ERROR", post, notes, object{})
	})
	t.Run("a note is about one customer", func(t *testing.T) {
		other := "/customer/" + c.customer(t, "Ben", "King") + "/note/" + id
		for _, method := range []string{get, remove} {
			a.Refused(t, 404, "NOT_FOUND", method, other, nil)
		}
		a.Refused(t, 404, "NOT_FOUND", put, other, object{"body": "x"})
	})
	t.Run("a note can be deleted once, or again with the key", func(t *testing.T) {
		deleted := a.Read(t, 200, remove, single, nil, "Idempotency-Key", "deletion")
		has(t, a.Read(t, 200, remove, single, nil, "Idempotency-Key", "deletion"), deleted)
		a.Refused(t, 404, "NOT_FOUND", remove, single, nil)
		a.Refused(t, 404, "NOT_FOUND", get, single, nil)
		if got := ids(items(t, a.Read(t, 200, get, notes, nil), "data")); slices.Contains(got, id) {
			t.Errorf("%v", got)
		}
	})
}

// testToken sends token requests as JSON and as OAuth 2 clients do.
func testToken(t *testing.T, c *caller) {
	client := c.company.NewClient(t, "passes:read", "notes:read")
	anybody := harness.NewFace(t, c.p.a, c.p.Credentials.InterfaceA.BaseURL)
	asJSON := object{"client_id": client.ID, "client_secret": client.Secret}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {client.ID}, "client_secret": {client.Secret}, "scope": {"notes:read"}}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(client.ID+":"+client.Secret))

	t.Run("JSON is read without a Content-Type", func(t *testing.T) {
		has(t, anybody.Read(t, 200, post, "/token", asJSON, "Content-Type", "none"), object{"token_type": "Bearer", "expires_in": 3600, "scope": "notes:read passes:read"})
		anybody.Send(t, 415, post, "/token", asJSON, "Content-Type", "text/plain")
	})
	t.Run("form encoding means OAuth", func(t *testing.T) {
		has(t, anybody.Read(t, 200, post, "/token", form.Encode(), "Content-Type", curlType), object{"token_type": "Bearer", "scope": "notes:read"})
		has(t, anybody.Read(t, 200, post, "/token", "grant_type=client_credentials", "Content-Type", curlType, "Authorization", basic), object{"token_type": "Bearer"})
		has(t, anybody.Read(t, 400, post, "/token", "grant_type=password", "Content-Type", curlType, "Authorization", basic), object{"error": "unsupported_grant_type"})
		form.Set("client_secret", "wrong")
		has(t, anybody.Read(t, 401, post, "/token", form.Encode(), "Content-Type", curlType), object{"error": "invalid_client"})
		if got := anybody.Read(t, 400, post, "/token", asJSON, "Content-Type", curlType); got["error"] != "unsupported_grant_type" && got["error"] != "invalid_request" {
			t.Errorf("JSON sent as a form: %v", got)
		}
	})
	t.Run("the other operations read JSON with the Content-Type of curl", func(t *testing.T) {
		ada := c.customer(t, "Ada", "Byron")
		a := c.interfaceA(t)
		for _, media := range []string{"none", curlType} {
			a.Send(t, 201, post, "/customer/"+ada+"/notes", object{"body": "x"}, "Content-Type", media)
		}
		a.Refused(t, 415, "UNSUPPORTED_MEDIA_TYPE", post, "/customer/"+ada+"/notes", object{"body": "x"}, "Content-Type", "text/plain")
	})
}
