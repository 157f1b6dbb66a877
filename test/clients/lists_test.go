package clients

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

// pagingParameters are the parameters of lists of Interface B that choose a page.
func pagingParameters() []string {
	return []string{"page", "perPage", "cursor", "sort", "updatedSince"}
}

// filterPrefixes are the prefixes of the identifiers by which lists filter.
func filterPrefixes() map[string]string {
	return map[string]string{
		"staffId": "staff_", "roomId": "room_", "appointmentTypeId": "apt_",
		"customerId": "cust_", "purchasedById": "cust_", "eventId": "evt_", "eventDateId": "date_", "passId": "pass_", "endpointId": "whe_", "credentialId": "key_", "requestId": "req_",
		"planId": "plan_", "collectionId": "col_", "mediaId": "media_",
	}
}

// testLists checks the rules that all lists of an interface share.
func (r *routes) testLists(t *testing.T) {
	c := r.caller(t)
	c.play(t, "deleteEvent", "deleteCustomer", "deleteNote", "deleteWebhookEndpoint", "advanceTestClock", "resetTestData")
	size := map[string]string{"a": "pageSize", "b": "perPage"}[r.name]
	lists := 0
	for _, s := range c.first() {
		o := c.operations[s.operation]
		if o.method != http.MethodGet || !slices.Contains(o.query, size) {
			continue
		}
		lists++
		l := list{caller: c, operation: o, request: c.request(step{operation: s.operation, path: s.path})}
		t.Run(s.operation, func(t *testing.T) {
			l.ask(t, "", "").must(t, http.StatusOK, "")
			l.ask(t, "unknownParameter", "1").must(t, http.StatusOK, "")
			l.testRepeated(t)
			l.testFilters(t)
			if r.name == "b" {
				l.testPaging(t)
			}
		})
	}
	if lists < 4 {
		t.Errorf("only %d lists", lists)
	}
}

// list is a list without parameters.
type list struct {
	*caller
	operation operation
	request   harness.Request
}

// listed is the response of a list.
type listed struct {
	query  string
	answer harness.Answer
}

// ask requests the list with parameters, given as names and values. It leaves out a parameter whose name
// is empty.
func (l list) ask(t *testing.T, pairs ...string) listed {
	t.Helper()
	query := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[0] != "" {
			query.Add(pair[0], pair[1])
		}
	}
	r := l.request
	r.Path += "?" + query.Encode()
	return listed{query.Encode(), l.send(t, r)}
}

// must checks the status of a response, and the parameter that a refusal names.
func (a listed) must(t *testing.T, code int, field string) {
	t.Helper()
	var body struct {
		Error struct {
			Code    string
			Details struct{ Field string }
		}
	}
	if err := json.Unmarshal(a.answer.Body, &body); err != nil {
		t.Fatal(err)
	}
	if a.answer.Code != code || body.Error.Details.Field != field || (field != "") != (body.Error.Code == "INVALID_PARAMETER") {
		t.Errorf("?%s: %d %s, want %d for %q", a.query, a.answer.Code, a.answer.Body, code, field)
	}
}

// testRepeated gives each parameter twice.
func (l list) testRepeated(t *testing.T) {
	for _, name := range l.operation.query {
		l.ask(t, name, "1", name, "1").must(t, http.StatusBadRequest, name)
	}
}

// testFilters filters by identifiers that do not exist.
func (l list) testFilters(t *testing.T) {
	for _, name := range l.operation.query {
		if !strings.HasSuffix(name, "Id") {
			continue
		}
		prefix, ok := filterPrefixes()[name]
		if !ok {
			t.Fatalf("the test does not know the filter %s", name)
		}
		for _, value := range []string{prefix + id.NewUUID().String(), prefix + "x", "wrong_" + id.NewUUID().String(), "x", ""} {
			got := l.ask(t, name, value)
			got.must(t, http.StatusOK, "")
			if total, items := got.size(t); total != 0 || items != 0 {
				t.Errorf("%s=%s finds %d of %v items", name, value, items, total)
			}
		}
	}
}

// size returns the total of a list and the number of its items.
func (a listed) size(t *testing.T) (total float64, items int) {
	t.Helper()
	var body object
	if err := json.Unmarshal(a.answer.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, value := range body {
		if array, ok := value.([]any); ok {
			items += len(array)
		}
	}
	total, _ = body["total"].(float64) // messages have none
	return total, items
}

// testPaging checks the parameters that choose a page.
func (l list) testPaging(t *testing.T) {
	supports := func(name string) bool { return slices.Contains(l.operation.query, name) }
	for _, name := range pagingParameters() {
		if !supports(name) {
			l.ask(t, name, "1").must(t, http.StatusBadRequest, name)
		}
	}
	l.ask(t, "perPage", "0").must(t, http.StatusBadRequest, "perPage")
	l.ask(t, "perPage", "101").must(t, http.StatusOK, "")
	l.ask(t, "cursor", "").must(t, http.StatusOK, "")
	for _, cursor := range []string{"x", "%", strings.Repeat("A", 34)} {
		l.ask(t, "cursor", cursor).must(t, http.StatusBadRequest, "cursor")
	}
	l.ask(t, "cursor", strings.Repeat("A", 201)).must(t, http.StatusBadRequest, "cursor")
	if supports("page") {
		l.ask(t, "page", "0").must(t, http.StatusBadRequest, "page")
		l.ask(t, "page", "2", "cursor", "x").must(t, http.StatusBadRequest, "page")
	}
}
