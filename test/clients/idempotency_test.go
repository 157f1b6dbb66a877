package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"
)

// testIdempotency plays the scenario, and repeats every write with its Idempotency-Key: unchanged, and
// as another request.
func (r *routes) testIdempotency(t *testing.T) {
	c := r.caller(t)
	for i, s := range c.steps {
		o, request := c.operations[s.operation], c.request(s)
		// A playback link is a credential, so the response is not stored.
		if o.permission == "" || o.method == http.MethodGet || s.operation == "createPlaybackLink" {
			c.take(t, s, request)
			continue
		}
		request.Header.Set("Idempotency-Key", fmt.Sprint("step-", i))
		once := c.take(t, s, request)
		before := c.state(t, s)
		twice := c.send(t, request)
		if want := repeated(s.operation, string(once.Body)); twice.Code != once.Code || string(twice.Body) != want {
			t.Errorf("%s: %d %s, and then %d %s", s.operation, once.Code, once.Body, twice.Code, twice.Body)
		}
		if after := c.state(t, s); !maps.Equal(before, after) {
			t.Errorf("%s, repeated, changed\n%v\nto\n%v", s.operation, before, after)
		}
		if s.operation == "resetTestData" {
			continue // all its requests are the same
		}
		if body, ok := another(t, request.Body); ok {
			request.Body = body
		} else {
			request.Path, request.Body = unknown(request.Path), unknown(request.Body)
		}
		if got := c.send(t, request); got.Code != http.StatusConflict || got.Reason() != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("%s as another request with the key: %d %s", s.operation, got.Code, got.Body)
		}
	}
}

// repeated returns the body of the response to a repeated request. The address of a calendar is a
// credential, so it is not stored.
func repeated(operation, once string) string {
	if operation != "createCalendar" {
		return once
	}
	return calendarURL.ReplaceAllString(once, "")
}

var calendarURL = regexp.MustCompile(`,"url":"[^"]+"`)

// another returns a valid body that differs in one value, if the body has one that can differ.
func another(t *testing.T, body string) (string, bool) {
	t.Helper()
	var v any
	if body != "" {
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
	}
	// Booleans often decide which other members are allowed, so they come last.
	for _, booleans := range []bool{false, true} {
		if varied, ok := vary(v, "", booleans); ok {
			return jsonText(varied), true
		}
	}
	return "", false
}

// vary returns v with the first value changed that can differ, and whether there is one. name is the
// name of the member that has v.
func vary(v any, name string, booleans bool) (varied any, ok bool) {
	switch node := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			if node[name], ok = vary(node[name], name, booleans); ok {
				return node, true
			}
		}
	case []any:
		for i := range node {
			if node[i], ok = vary(node[i], name, booleans); ok {
				return node, true
			}
		}
	case float64:
		return node + 1, true
	case bool:
		return node != booleans, booleans
	case string:
		return varyText(node, name)
	}
	return v, false
}

// varyText is vary for a date, one of the members with a list of values, or a free text.
func varyText(text, name string) (varied string, ok bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.AddDate(0, 0, 1).Format(layout), true
		}
	}
	if value, ok := map[string]string{"attendance": "no_show", "event": "registration.created", "method": "OTHER"}[name]; ok {
		return value, true
	}
	free := []string{"body", "description", "firstName", "firstname", "lastName", "location", "reason", "reference", "title"}
	if slices.Contains(free, name) {
		return text + "s", true
	}
	return text, false
}
