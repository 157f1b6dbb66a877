package e2e

import (
	"net/http"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

func (w *world) testHTTP(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	customer := n.NewCustomer(t, "Zoë", "O'Brien").GetId()

	t.Run("an unknown path is 404, with or without a token", func(t *testing.T) {
		n := n.at(t, w)
		for _, path := range []string{"/", "/nothing", "/customer", "/customer/" + customer, "/customers/", "/customers/" + customer,
			"/api/v1/customers", profilePath(customer) + "/", "//customers", "/customer/" + customer + "/invoices"} {
			n.get(t, path).Refused(t, http.StatusNotFound, "NOT_FOUND")
			n.a.Do(t, harness.Request{Path: path}).Refused(t, http.StatusNotFound, "NOT_FOUND")
		}
	})
	t.Run("a wrong method is 405 and lists the allowed ones", func(t *testing.T) {
		n := n.at(t, w)
		for _, tt := range []struct{ method, path, allow string }{
			{"GET", "/token", "POST"}, {"PUT", "/token", "POST"}, {"POST", "/customers", "GET"}, {"DELETE", "/customers", "GET"},
			{"POST", profilePath(customer), "GET, PUT"}, {"PATCH", profilePath(customer), "GET, PUT"},
			{"DELETE", profilePath(customer), "GET, PUT"}, {"POST", bookingsPath(customer), "GET"},
			{"PUT", bookingPath(customer, "txn_x"), "GET"}, {"OPTIONS", "/customers", "GET"},
		} {
			answer := n.a.Do(t, harness.Request{Method: tt.method, Path: tt.path, Token: n.token})
			answer.Refused(t, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
			if got := answer.Header.Get("Allow"); got != tt.allow {
				t.Errorf("%s %s: Allow: %q, want %q", tt.method, tt.path, got, tt.allow)
			}
		}
	})
	t.Run("every answer has a request id: the caller's if it is valid", func(t *testing.T) {
		n := n.at(t, w)
		seen := map[string]bool{}
		for _, path := range []string{"/customers", "/nothing", profilePath(customer), profilePath("cust_x")} {
			answer := n.get(t, path)
			got := answer.Header.Get("X-Request-Id")
			if got == "" || seen[got] {
				t.Errorf("%s: the request id is %q", path, got)
			}
			seen[got] = true
			mine := n.a.Do(t, harness.Request{Path: path, Token: n.token, Header: headers("X-Request-Id", "mine-7")})
			if got := mine.Header.Get("X-Request-Id"); got != "mine-7" {
				t.Errorf("%s: my request id became %q", path, got)
			}
		}
		for _, bad := range []string{"two words", strings.Repeat("x", 300), "ümlaut"} {
			answer := n.a.Do(t, harness.Request{Path: "/customers", Token: n.token, Header: headers("X-Request-Id", bad)})
			if got := answer.Header.Get("X-Request-Id"); got == "" || got == bad {
				t.Errorf("the request id %q became %q", bad, got)
			}
		}
	})
	t.Run("answers are JSON, and only what was read can be cached, for comparison", func(t *testing.T) {
		n := n.at(t, w)
		for _, path := range []string{"/customers", profilePath(customer), bookingsPath(customer), "/nothing"} {
			answer := n.get(t, path)
			if media := answer.Header.Get("Content-Type"); media != "application/json" {
				t.Errorf("%s: Content-Type: %s", path, media)
			}
			want := "private, no-cache"
			if answer.Code != http.StatusOK {
				want = "no-store"
			}
			if cache := answer.Header.Get("Cache-Control"); cache != want {
				t.Errorf("%s: Cache-Control: %q", path, cache)
			}
		}
	})
	t.Run("unknown query parameters are ignored, repeated ones are refused", func(t *testing.T) {
		n := n.at(t, w)
		n.get(t, bookingsPath(customer)+"?colour=blue&colour=red&offset=7").Into(t, http.StatusOK, nil)
		n.get(t, "/customers?colour=blue").Into(t, http.StatusOK, nil)
		n.get(t, bookingsPath(customer)+"?page=0&page=1").Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
	})
	t.Run("a client's headers do not reach the services", func(t *testing.T) {
		n, other := n.at(t, w), w.tenant(t, "Europe/London")
		for _, name := range []string{"Reservation-Company", "Grpc-Metadata-Reservation-Company"} {
			answer := n.a.Do(t, harness.Request{Path: "/customers", Token: other.token, Header: headers(name, n.ID)})
			if strings.Contains(string(answer.Body), customer) {
				t.Errorf("%s shows another company's customers", name)
			}
		}
	})
	t.Run("the OpenAPI description and its page need no token", func(t *testing.T) {
		a := w.A(t)
		if page := a.Do(t, harness.Request{Path: "/docs"}); page.Code != http.StatusOK || !strings.Contains(string(page.Body), "<html") {
			t.Errorf("/docs: %d %s", page.Code, page.Body)
		}
	})
}
