package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"reservation.dev/devkit/testkit"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// from sends GET /events and GET /passes as a page of an origin does, and returns the status that both
// get.
func (c *caller) from(t *testing.T, origin string) int {
	t.Helper()
	status := 0
	for _, path := range []string{"/events", "/passes"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Origin": {origin}}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if allowed := res.Header.Get("Access-Control-Allow-Origin"); (allowed == origin) != (res.StatusCode == http.StatusOK) {
			t.Errorf("%s: %d with Access-Control-Allow-Origin %q", path, res.StatusCode, allowed)
		}
		if status != 0 && status != res.StatusCode {
			return 0 // the key changes between the requests
		}
		status = res.StatusCode
	}
	return status
}

// testPublishableKeys reads with a publishable key, changes the key, and deletes it.
func (b *companies) testPublishableKeys(t *testing.T) {
	const studio, shop = "https://studio.example", "https://shop.example"
	company := b.make(t, "Pages", "Europe/London")
	op := b.op.s.Operator(t)
	ctx := op.As(t.Context(), company)
	made, err := op.PublishableKeys.CreatePublishableKey(ctx, &authv1.CreatePublishableKeyRequest{Name: "Website", Origins: []string{studio}})
	if err != nil {
		t.Fatal(err)
	}
	page := &caller{base: b.anybody.base, token: made.GetPublishableKey().GetId(), contract: b.anybody.contract}
	becomes := func(origin string, want int) {
		t.Helper()
		testkit.Eventually(t, eventLimit, func() error {
			if got := page.from(t, origin); got != want {
				return fmt.Errorf("a page of %s gets %d", origin, got)
			}
			return nil
		})
	}
	if got, other := page.from(t, studio), page.from(t, shop); got != http.StatusOK || other != http.StatusForbidden {
		t.Errorf("its origin gets %d, another %d", got, other)
	}
	page.send(t, http.StatusForbidden, http.MethodGet, "/customers", nil, nil)
	page.send(t, http.StatusForbidden, http.MethodPost, "/events", object{"title": "x"}, nil)
	_, err = op.PublishableKeys.UpdatePublishableKey(ctx, &authv1.UpdatePublishableKeyRequest{
		Id: page.token, Origins: &authv1.Origins{Values: []string{shop}},
	})
	if err != nil {
		t.Fatal(err)
	}
	becomes(shop, http.StatusOK)
	becomes(studio, http.StatusForbidden)
	if _, err := op.PublishableKeys.DeletePublishableKey(ctx, &authv1.DeletePublishableKeyRequest{Id: page.token}); err != nil {
		t.Fatal(err)
	}
	becomes(studio, http.StatusUnauthorized) // until then 403, which does not count against the limit
}

// testConditionalReads reads events with If-None-Match before and after a registration.
func (b *companies) testConditionalReads(t *testing.T) {
	s := newStudio(t, b.caller(t, b.make(t, "Caching", "Europe/London")))
	s.do(t, http.StatusOK, http.MethodDelete, s.registration, nil)
	for _, path := range []string{s.event, "/events"} {
		tag := s.send(t, http.StatusOK, http.MethodGet, path, nil, nil).Get("ETag")
		unchanged := func() int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Authorization": {"Bearer " + s.token}, "If-None-Match": {tag}}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res.StatusCode
		}
		if got := unchanged(); got != http.StatusNotModified {
			t.Errorf("%s: %d", path, got)
		}
		registration := s.create(t, s.event+"/registrations", s.booking)
		if got := unchanged(); got != http.StatusOK {
			t.Errorf("%s after a registration: %d", path, got)
		}
		s.do(t, http.StatusOK, http.MethodDelete, registration, nil)
		if path == s.event { // the registration did not change the version
			s.send(t, http.StatusOK, http.MethodPatch, path, object{"location": "Room 1"}, http.Header{"If-Match": {tag}})
		}
	}
}
