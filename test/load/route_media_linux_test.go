package load

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"slices"
	"testing"

	"reservation.dev/test/harness"
)

// subscribing is the body that subscribes a customer. Without a payment, the first period becomes due.
const subscribing = `{"customerId":"{customer}","planId":"{plan}"`

// tableOfSubscriptions returns the operations of plans and subscriptions. An action takes a subscription
// that no other action has changed.
func tableOfSubscriptions() []route {
	b := routesOf(gatewayB)
	return []route{
		b.post("/plans", `{"title":"Eight classes {n}","price":64,"interval":"month","bookings":"credits","credits":8,"maxRollover":4}`).making("plan"),
		b.read("/plans"),
		b.read("/plans/{plan}"),
		b.put("/plans/{plan}", `{"description":"Plan {n}"}`),
		b.patch("/plans/{plan}", `{"maxRollover":{uses}}`),
		b.post("/subscriptions", subscribing+`}`).making("subscription"),
		b.read("/subscriptions"),
		b.read("/subscriptions/{subscription}"),
		b.read("/subscriptions/{subscription}/periods"),
		b.read("/subscriptions/{subscription}/account-entries"),
		b.read("/subscriptions/{subscription}/plan-change-preview?planId={plan}"),
		b.read("/subscriptions/{subscription}/cancellation-preview?when=now"),
		b.post("/subscriptions/{subscription!}/pause", `{"reason":"Holiday"}`).making("paused"),
		b.post("/subscriptions/{paused!}/resume", ""),
		b.post("/subscriptions/{subscription!}/change-plan", `{"planId":"{plan}"}`).making("changing"),
		b.post("/subscriptions/{changing!}/withdraw-plan-change", ""),
		b.post("/subscriptions/{subscription!}/cancel", `{"reason":"Moving away"}`).making("ending"),
		b.post("/subscriptions/{ending!}/withdraw-cancellation", ""),
		b.post("/subscriptions/{subscription!}/record-payment", `{"period":1,"payment":{"method":"CASH"}}`),
		b.post("/subscriptions/{subscription!}/record-failure", `{"period":1,"reason":"Declined"}`),
		b.post("/subscriptions/{subscription!}/waive-payment", `{"period":1}`),
		b.post("/subscriptions/{refundable!}/record-refund", ""),
		b.read("/subscription-settings"),
		b.put("/subscription-settings", `{"pastDueAfterDays":{uses},"graceDays":7,"reminderDays":[0,3],"endAfterDays":30}`),
	}
}

// tableOfMedia returns the operations of media.
func tableOfMedia() []route {
	b := routesOf(gatewayB)
	const upload = `{"fileName":"film.mp4","contentType":"video/mp4","size":1000}`
	return []route{
		b.post("/media", `{"title":"Film {n}","kind":"video","tags":["yoga"]}`).making("item"),
		b.read("/media"),
		b.read("/media/{item}"),
		b.put("/media/{item}", `{"title":"Video {n}"}`),
		b.patch("/media/{item}", `{"durationSeconds":{uses}0}`),
		b.post("/media/{item}/uploads", upload).making("upload").atMost(uploads),
		b.read("/media/{film}/uploads/{stopped}"),
		b.post("/media/{film}/uploads/{arrived!}/complete", "").atMost(uploads),
		b.del("/media/{film}/uploads/{arrived!}").atMost(uploads),
		b.post("/media/{film}/playback-links", `{"customerId":"{reader}","minutes":30}`),
		b.put("/media/{film}/progress", `{"customerId":"{reader}","positionSeconds":{uses}}`),
		b.del("/media/{item!}"),
		b.post("/media-collections", `{"title":"Shelf {n}"}`).making("collection"),
		b.read("/media-collections"),
		b.read("/media-collections/{collection}"),
		b.put("/media-collections/{collection}", `{"title":"Board {n}"}`),
		b.patch("/media-collections/{collection}", `{"title":"Case {n}"}`),
		b.post("/media-entitlements", `{"mediaId":"{item}","customerId":"{customer}"}`).making("entitlement"),
		b.read("/media-entitlements"),
		b.read("/media-entitlements/{entitlement}"),
		b.del("/media-entitlements/{entitlement!}"),
		b.del("/media-collections/{collection!}"),
		b.post("/calendars", `{"kind":"customer","customerId":"{customer}"}`).making("calendar").atMost(calendars),
		b.read("/calendars"),
		b.read("/calendars/{calendar}"),
		b.del("/calendars/{calendar!}").atMost(calendars),
		b.read("/customers/{reader}/media"),
		b.read("/customers/{reader}/media/{film}"),
	}
}

// preparations returns routes that only fill pools.
func preparations() []route {
	b := routesOf(gatewayB)
	return []route{
		{gateway: gatewayB, method: http.MethodPost, path: "/events/{second}/registrations", body: `{"customerId":"{customer}","spots":1}`, makes: "partner"},
		b.post("/subscriptions", subscribing+`,"payment":{"method":"CASH"}}`).making("paid"),
		b.post("/subscriptions/{paid!}/cancel", `{"when":"now","prorate":true}`).making("refundable"),
		b.post("/subscriptions", `{"customerId":"{reader}","planId":"{plan}"}`).making("readerSubscription"),
	}
}

// uploads is how many uploads a round begins, below the limit of a company.
const uploads = 8

// calendars is how many calendars a round creates, below the limit of a company.
const calendars = 16

// routesOf makes the routes of a gateway.
type routesOf string

func (g routesOf) read(path string) route {
	return route{gateway: string(g), method: http.MethodGet, path: path}
}
func (g routesOf) post(path, body string) route {
	return route{gateway: string(g), method: http.MethodPost, path: path, body: body}
}
func (g routesOf) put(path, body string) route {
	return route{gateway: string(g), method: http.MethodPut, path: path, body: body}
}
func (g routesOf) patch(path, body string) route {
	return route{gateway: string(g), method: http.MethodPatch, path: path, body: body}
}
func (g routesOf) del(path string) route {
	return route{gateway: string(g), method: http.MethodDelete, path: path}
}

// library creates a published film that the reader can play, with an upload that is not complete.
func (w *routeWorld) library(b *testing.B) {
	item := route{gateway: gatewayB, method: http.MethodPost, path: "/media", body: `{"title":"Poster","kind":"image"}`, makes: "film"}
	w.must(b, item)
	film := w.pools["film"][0]
	w.arrive(b, 2)
	w.must(b, route{gateway: gatewayB, method: http.MethodPost, path: "/media/" + film + "/uploads/{arrived!}/complete", most: 1})
	w.add("stopped", w.pools["arrived"]...)
	w.pools["arrived"] = nil
	w.must(b, route{gateway: gatewayB, method: http.MethodPatch, path: "/media/" + film, body: `{"status":"published"}`})
	w.must(b, route{gateway: gatewayB, method: http.MethodPost, path: "/media-entitlements", body: fmt.Sprintf(`{"mediaId":%q,"customerId":"{reader}"}`, film)})
}

// arrive adds uploads of the film whose only part has arrived.
func (w *routeWorld) arrive(b *testing.B, n int) {
	b.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		b.Fatal(err)
	}
	face := harness.NewB(b, w.GatewaysB[0])
	for range n {
		var u struct{ ID, PartURL string }
		face.Do(b, harness.Request{
			Method: http.MethodPost, Path: "/media/" + w.pools["film"][0] + "/uploads", Token: w.tokens[gatewayB][0],
			Body: fmt.Sprintf(`{"fileName":"poster.png","contentType":"image/png","size":%d}`, picture.Len()),
		}).Into(b, http.StatusCreated, &u)
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPut, u.PartURL+"/1", bytes.NewReader(picture.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		res, err := w.transport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode >= http.StatusMultipleChoices {
			b.Fatalf("a part was answered with %s", res.Status)
		}
		w.add("arrived", u.ID)
	}
}

// makers returns the routes that fill pools.
func makers() []route { return slices.Concat(routeTable(), preparations(), preparedAppointments()) }
