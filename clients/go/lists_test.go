package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/client/a"
	"reservation.dev/client/b"
)

func TestListsFollowCursors(t *testing.T) {
	t.Parallel()
	first, last := `200 {"customers":[{"id":"1"},{"id":"2"}],"nextCursor":"next"}`, `200 {"customers":[{"id":"3"}]}`
	c, p := newB(t, first, last, first)
	var ids []string
	list := c.Customers(t.Context(), b.ListCustomersParams{Page: Ptr(1), Q: Ptr("zoe"), IfNoneMatch: Ptr(`"x"`)})
	for customer, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, customer.ID)
	}
	for customer := range list { // begins again, and stops early
		ids = append(ids, customer.ID)
		break
	}
	if !slices.Equal(ids, []string{"1", "2", "3", "1"}) {
		t.Errorf("%v", ids)
	}
	for i, want := range []string{"page=1&perPage=100&q=zoe", "cursor=next&perPage=100&q=zoe", "page=1&perPage=100&q=zoe"} {
		if got := p.requests[i].URL.RawQuery; got != want || p.requests[i].Header.Get("If-None-Match") != "" {
			t.Errorf("request %d has the query %s, not %s", i, got, want)
		}
	}
}

func TestListsEndWithAnError(t *testing.T) {
	t.Parallel()
	c, _ := newB(t, `200 {"events":[{"id":"1"}],"nextCursor":"next"}`, "400")
	var codes []string
	for _, err := range c.Events(t.Context(), b.ListEventsParams{}) {
		codes = append(codes, CodeOf(err))
	}
	if !slices.Equal(codes, []string{"", "CODE_400"}) {
		t.Errorf("%v", codes)
	}
}

func TestMessagesKeepTheirCursor(t *testing.T) {
	t.Parallel()
	c, p := newB(t, `200 {"webhookMessages":[{"id":"1"}],"nextCursor":"one","hasMore":true}`, `200 {"webhookMessages":[{"id":"2"}],"nextCursor":"two","hasMore":false}`)
	filters, seen := b.ListWebhookMessagesParams{}, 0
	for _, err := range c.WebhookMessages(t.Context(), &filters) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if seen != 2 || *filters.Cursor != "two" || p.requests[1].URL.RawQuery != "cursor=one&perPage=100" {
		t.Errorf("%d messages, cursor %s, query %s", seen, *filters.Cursor, p.requests[1].URL.RawQuery)
	}
}

// newA returns a client of a fake Interface A that answers with the text for a query.
func newA(t *testing.T, answers map[string]string) *A {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
			return
		}
		text, known := answers[r.URL.RawQuery]
		if !known || r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	c, err := NewA(server.URL, "m2m_1", "secret", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCustomersOfAAreComplete(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"data":[{"id":"1"},{"id":"2"}]}`: "1 2 ok",
		`{"data":[]}`:                      " ok",
		`{"data":[{"id":"1"},{"id":"2"}]`:  "1 2 broken",
		`{"data":[{"id":"1"},{"id"`:        "1 broken",
		`{"message":"no"}`:                 " broken",
	} {
		c, ids, end := newA(t, map[string]string{"": text}), []string{}, "ok"
		for customer, err := range c.Customers(t.Context(), time.Time{}) {
			if err != nil {
				end = "broken"
				continue
			}
			ids = append(ids, customer.ID)
		}
		if got := strings.Join(ids, " ") + " " + end; got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

func TestListsOfAFollowNumbers(t *testing.T) {
	t.Parallel()
	c := newA(t, map[string]string{
		"pageSize=2":        `{"data":[{"id":"1"},{"id":"2"}],"page":0,"pageSize":2,"total":3}`,
		"page=1&pageSize=2": `{"data":[{"id":"3"}],"page":1,"pageSize":2,"total":3}`,
	})
	var ids []string
	for note, err := range c.Notes(t.Context(), "cust_1", a.ListNotesParams{PageSize: Ptr(2)}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, note.ID)
	}
	if !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("%v", ids)
	}
}
