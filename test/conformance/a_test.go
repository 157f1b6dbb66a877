package conformance

import (
	"testing"

	"reservation.dev/test/harness"
)

// testA uses every route of Interface A as the customer that w created and booked for.
func testA(t *testing.T, a *harness.Face, c harness.Credentials, w *world) {
	client := object{"client_id": c.InterfaceA.ClientID, "client_secret": c.InterfaceA.ClientSecret}
	token := func(scope string) string {
		t.Helper()
		client["scope"] = scope
		return a.Read(t, 200, post, "/token", client)["access_token"].(string)
	}
	delete(client, "scope")
	a.Token = a.Read(t, 200, post, "/token", client)["access_token"].(string)
	nobody, reader, lister := a.As(""), a.As(token("profile:read")), a.As(token("customers:read"))
	nobody.Refused(t, 401, "INVALID_CREDENTIALS", post, "/token", object{"client_id": c.InterfaceA.ClientID, "client_secret": "wrong"})
	nobody.Send(t, 400, post, "/token", object{"client_id": c.InterfaceA.ClientID})
	nobody.Send(t, 415, post, "/token", `{}`, "Content-Type", "text/plain")

	t.Run("customers", func(t *testing.T) {
		page := a.Read(t, 200, get, "/customers?page=0&pageSize=2", nil)
		if len(page["data"].([]any)) != 2 || page["total"].(float64) < 2 {
			t.Errorf("got %v", page)
		}
		a.Send(t, 200, get, "/customers", nil)
		a.Send(t, 400, get, "/customers?pageSize=0", nil)
		nobody.Send(t, 401, get, "/customers", nil)
		reader.Send(t, 403, get, "/customers", nil)
	})

	const none = "/customer/cust_00000000000000000000000000"
	customer := "/customer/" + w.customerID
	t.Run("profile", func(t *testing.T) {
		answer := a.Send(t, 200, get, customer+"/profile", nil)
		var body struct{ Data struct{ ID, Email string } }
		answer.Into(t, 200, &body)
		if body.Data.ID != w.customerID || body.Data.Email != w.email {
			t.Errorf("got %s", answer.Body)
		}
		tag := answer.Header.Get("ETag")
		a.Send(t, 404, get, none+"/profile", nil)
		nobody.Send(t, 401, get, customer+"/profile", nil)
		lister.Send(t, 403, get, customer+"/profile", nil)

		change, key := object{"firstname": "Countess", "lastname": "King", "email": w.email}, unique("key")[4:]
		a.Send(t, 200, put, customer+"/profile", change, "If-Match", tag, "Idempotency-Key", key)
		a.Send(t, 200, put, customer+"/profile", change, "If-Match", tag, "Idempotency-Key", key)
		a.Refused(t, 412, "VERSION_MISMATCH", put, customer+"/profile", change, "If-Match", tag)
		a.Refused(t, 409, "IDEMPOTENCY_KEY_REUSED", put, customer+"/profile", object{"firstname": "Lady", "lastname": "King", "email": w.email}, "Idempotency-Key", key)
		a.Refused(t, 400, "VALIDATION_ERROR", put, customer+"/profile", object{"firstname": "Ada", "lastname": "King", "email": "nobody"})
		a.Send(t, 404, put, none+"/profile", change)
		a.Send(t, 415, put, customer+"/profile", `{}`, "Content-Type", "text/plain")
		nobody.Send(t, 401, put, customer+"/profile", change)
		reader.Send(t, 403, put, customer+"/profile", change)
	})

	t.Run("bookings", func(t *testing.T) {
		page := a.Read(t, 200, get, customer+"/bookings?future_only=true", nil)
		// Newest first: the booking that was paid by pass and cancelled is the newest.
		if list := page["data"].([]any); page["total"] != 2.0 || list[1].(object)["id"] != w.transaction {
			t.Errorf("got %v, want %s", page, w.transaction)
		}
		a.Send(t, 400, get, customer+"/bookings?startDate=soon", nil)
		a.Send(t, 404, get, none+"/bookings", nil)
		nobody.Send(t, 401, get, customer+"/bookings", nil)
		lister.Send(t, 403, get, customer+"/bookings", nil)
	})

	t.Run("booking", func(t *testing.T) {
		one := a.Read(t, 200, get, customer+"/booking/"+w.transaction, nil)["data"].(object)
		payment := one["bookings"].([]any)[0].(object)["payment"].(object)
		if one["id"] != w.transaction || payment["method"] != "CARD" || payment["base100gross_price"] != 1235.0 {
			t.Errorf("got %v", one)
		}
		a.Send(t, 404, get, customer+"/booking/txn_00000000000000000000000000", nil)
		nobody.Send(t, 401, get, customer+"/booking/"+w.transaction, nil)
		lister.Send(t, 403, get, customer+"/booking/"+w.transaction, nil)
	})
}
