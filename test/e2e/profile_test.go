package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"reservation.dev/test/harness"
)

// update returns the body of a profile update; a nil mobile is left out.
func update(first, last, email string, mobile ...string) string {
	body := map[string]any{"firstname": first, "lastname": last, "email": email}
	if len(mobile) > 0 {
		body["mobile"] = mobile[0]
	}
	text, _ := json.Marshal(body) // strings only: cannot fail
	return string(text)
}

func (w *world) testProfile(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	made := n.NewCustomer(t, "Zoë", "O'Brien")
	id := made.GetId()
	before := profile{ID: id, Type: "customer", Firstname: "Zoë", Lastname: "O'Brien", Email: "somebody@example.com", Mobile: "+44 7700 900123"}

	t.Run("a profile has the fields of the customer, except archived", func(t *testing.T) {
		n := n.at(t, w)
		answer := n.get(t, profilePath(id))
		var body map[string]map[string]any
		answer.Into(t, http.StatusOK, &body)
		var list struct{ Data []map[string]any }
		n.get(t, "/customers?page=0").Into(t, http.StatusOK, &list)
		delete(list.Data[0], "archived")
		equal(t, "members", slices.Sorted(maps.Keys(body["data"])), slices.Sorted(maps.Keys(list.Data[0])))
		if got := n.profile(t, id); got != before {
			t.Errorf("got %+v, want %+v", got, before)
		}
		if len(body) != 1 {
			t.Errorf("the answer has more than data: %s", answer.Body)
		}
	})
	t.Run("an update changes the four fields and answers with a message", func(t *testing.T) {
		n := n.at(t, w)
		answer := n.put(t, profilePath(id), update("Amélie", "Ó Briain", "amelie@example.org", "+353 1 234"))
		var body struct{ Message *string }
		answer.Into(t, http.StatusOK, &body)
		if body.Message == nil || *body.Message == "" {
			t.Errorf("answered %s", answer.Body)
		}
		want := profile{ID: id, Type: "customer", Firstname: "Amélie", Lastname: "Ó Briain", Email: "amelie@example.org", Mobile: "+353 1 234"}
		if got := n.profile(t, id); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	t.Run("other fields cannot be changed", func(t *testing.T) {
		n := n.at(t, w)
		body := `{"firstname":"A","lastname":"B","email":"a@example.org","id":"cust_x","type":"admin","archived":true,
			"password":"x","avatar":"y","company_id":"comp_x","createdAt":"2020-01-01T00:00:00Z"}`
		n.put(t, profilePath(id), body).Into(t, http.StatusOK, nil)
		want := profile{ID: id, Type: "customer", Firstname: "A", Lastname: "B", Email: "a@example.org", Mobile: "+353 1 234"}
		if got := n.profile(t, id); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		var list struct{ Data []listedCustomer }
		n.get(t, "/customers").Into(t, http.StatusOK, &list)
		if len(list.Data) != 1 || *list.Data[0].Archived {
			t.Errorf("got %+v", list.Data)
		}
	})
	t.Run("mobile is kept if omitted or null, and cleared by an empty string", func(t *testing.T) {
		n := n.at(t, w)
		for _, step := range []struct{ body, want string }{
			{`{"firstname":"A","lastname":"B","email":"a@example.org","mobile":"+1 555"}`, "+1 555"},
			{`{"firstname":"A","lastname":"B","email":"a@example.org"}`, "+1 555"},
			{`{"firstname":"A","lastname":"B","email":"a@example.org","mobile":null}`, "+1 555"},
			{`{"firstname":"A","lastname":"B","email":"a@example.org","mobile":""}`, ""},
			{`{"firstname":"A","lastname":"B","email":"a@example.org"}`, ""},
		} {
			n.put(t, profilePath(id), step.body).Into(t, http.StatusOK, nil)
			if got := n.profile(t, id).Mobile; got != step.want {
				t.Errorf("after %s the mobile is %q, want %q", step.body, got, step.want)
			}
		}
	})
	t.Run("names in any script are returned unchanged", func(t *testing.T) {
		n := n.at(t, w)
		for _, name := range []string{"李娜", "Þóra", "محمد", "D'Arcy", `"quoted"`, `back\slash`, "<script>&", "😀👩‍👩‍👧", "é"} {
			n.put(t, profilePath(id), update(name, name, "a@example.org")).Into(t, http.StatusOK, nil)
			if got := n.profile(t, id); got.Firstname != name || got.Lastname != name {
				t.Errorf("%q became %q and %q", name, got.Firstname, got.Lastname)
			}
		}
	})
	t.Run("surrounding white space is removed from names", func(t *testing.T) {
		n := n.at(t, w)
		n.put(t, profilePath(id), update("  Zoë\t", " van der Berg ", " z@example.org ")).Into(t, http.StatusOK, nil)
		if got := n.profile(t, id); got.Firstname != "Zoë" || got.Lastname != "van der Berg" || got.Email != "z@example.org" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("an archived customer is served; a deleted customer is 404 on every path", func(t *testing.T) {
		n := n.at(t, w)
		archived, deleted := n.NewCustomer(t, "Archie", "Ved").GetId(), n.NewCustomer(t, "Del", "Eted").GetId()
		n.archive(t, archived)
		n.delete(t, deleted)
		if got := n.profile(t, archived); got.Firstname != "Archie" {
			t.Errorf("got %+v", got)
		}
		n.put(t, profilePath(archived), update("Archibald", "Ved", "a@example.org")).Into(t, http.StatusOK, nil)
		n.bookings(t, archived, "")
		n.get(t, profilePath(deleted)).Refused(t, http.StatusNotFound, "NOT_FOUND")
		n.put(t, profilePath(deleted), update("A", "B", "a@example.org")).Refused(t, http.StatusNotFound, "NOT_FOUND")
		harness.Eventually(t, eventLimit, func() error { // the booking service learns of it through an event
			if got := n.get(t, bookingsPath(deleted)); got.Code != http.StatusNotFound {
				return fmt.Errorf("bookings: %d %s", got.Code, got.Body)
			}
			return nil
		})
	})
	t.Run("anything that is not the identifier of a customer is 404", func(t *testing.T) {
		n := n.at(t, w)
		for _, bad := range []string{
			"cust_01jb4x9m3vf6ksn8w2d7pq5r0t", "cust_", "x", strings.TrimPrefix(id, "cust_"), "txn_" + strings.TrimPrefix(id, "cust_"),
			strings.ToUpper(id), strings.Replace(id, "_", "%255F", 1), id + "0", id[:len(id)-1], "cust_8zzzzzzzzzzzzzzzzzzzzzzzzz", "cust_%00", "%F0%9F%98%80", "'%20or%201=1--", "..%2F..",
			strings.Repeat("x", 5000),
		} {
			n.get(t, profilePath(bad)).Refused(t, http.StatusNotFound, "NOT_FOUND")
			n.get(t, bookingsPath(bad)).Refused(t, http.StatusNotFound, "NOT_FOUND")
			n.get(t, bookingPath(bad, "txn_01jb4x9m3vf6ksn8w2d7pq5r0t")).Refused(t, http.StatusNotFound, "NOT_FOUND")
			n.put(t, profilePath(bad), update("A", "B", "a@example.org")).Refused(t, http.StatusNotFound, "NOT_FOUND")
		}
	})
}

func (w *world) testProfileRules(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	id := n.NewCustomer(t, "Zoë", "O'Brien").GetId()
	before := n.profile(t, id)

	refused := map[string]struct{ body, field, rule string }{
		"no firstname":            {`{"lastname":"B","email":"a@example.org"}`, "firstname", "required"},
		"no lastname":             {`{"firstname":"A","email":"a@example.org"}`, "lastname", "required"},
		"no email":                {`{"firstname":"A","lastname":"B"}`, "email", "required"},
		"nothing at all":          {`{}`, "firstname", "required"},
		"a null firstname":        {`{"firstname":null,"lastname":"B","email":"a@example.org"}`, "firstname", "required"},
		"an empty lastname":       {update("A", "", "a@example.org"), "lastname", "required"},
		"a blank firstname":       {update(" \t ", "B", "a@example.org"), "firstname", "required"},
		"an empty email":          {update("A", "B", ""), "email", "required"},
		"an email without @":      {update("A", "B", "example.org"), "email", ""},
		"an email without domain": {update("A", "B", "a@"), "email", ""},
		"an email without name":   {update("A", "B", "@example.org"), "email", ""},
		"two emails":              {update("A", "B", "a@example.org,b@example.org"), "email", ""},
		"an email with a blank":   {update("A", "B", "a b@example.org"), "email", ""},
		"an email with a name":    {update("A", "B", "A <a@example.org>"), "email", ""},
		"an email of 300 bytes":   {update("A", "B", strings.Repeat("x", 290)+"@example.org"), "email", ""},
		"a name of 101 letters":   {update(strings.Repeat("é", 101), "B", "a@example.org"), "firstname", "max_length"},
		"a mobile of 41 digits":   {update("A", "B", "a@example.org", strings.Repeat("1", 41)), "mobile", "max_length"},
		"a name with a NUL":       {`{"firstname":"A\u0000","lastname":"B","email":"a@example.org"}`, "firstname", "characters"},
		"a name with a line feed": {update("A", "B\nC", "a@example.org"), "lastname", "characters"},
		"a firstname of 5":        {`{"firstname":5,"lastname":"B","email":"a@example.org"}`, "firstname", "type"},
		"a mobile that is a list": {`{"firstname":"A","lastname":"B","email":"a@example.org","mobile":["1"]}`, "mobile", "type"},
		"an email that is true":   {`{"firstname":"A","lastname":"B","email":true}`, "email", "type"},
	}
	for name, tt := range refused {
		t.Run(name+" is 400 and names the field and the rule", func(t *testing.T) {
			n := n.at(t, w)
			f := n.put(t, profilePath(id), tt.body).Refused(t, http.StatusBadRequest, "VALIDATION_ERROR")
			rule, _ := f.Error.Details["rule"].(string)
			if f.Error.Details["field"] != tt.field || rule == "" || (tt.rule != "" && rule != tt.rule) {
				t.Errorf("details %v, want the field %s and the rule %s", f.Error.Details, tt.field, tt.rule)
			}
			if !strings.HasPrefix(f.Message, tt.field) {
				t.Errorf("the message is %q", f.Message)
			}
		})
	}
	t.Run("all errors are listed, in the order of the fields", func(t *testing.T) {
		n := n.at(t, w)
		long := strings.Repeat("1", 300)
		tooLong := fmt.Sprintf(`{"firstname":%q,"lastname":%q,"email":%q,"mobile":%q}`, long, long, long, long)
		for _, body := range []string{update("", "", "nonsense", "\a"), tooLong} {
			f := n.put(t, profilePath(id), body).Refused(t, http.StatusBadRequest, "VALIDATION_ERROR")
			all, _ := f.Error.Details["errors"].([]any)
			var fields []string
			for _, e := range all {
				e, _ := e.(map[string]any)
				fields = append(fields, fmt.Sprint(e["field"]))
			}
			equal(t, "fields", fields, []string{"firstname", "lastname", "email", "mobile"})
		}
	})
	t.Run("a body that is not a JSON object is 400", func(t *testing.T) {
		n := n.at(t, w)
		for _, body := range []string{`{"firstname":`, `[]`, `"x"`, `null`, `{} {}`, `{"email":"a","email":"b"}`, "{\"firstname\":\"\xff\"}", "\xef\xbb\xbf"} {
			n.put(t, profilePath(id), body).Refused(t, http.StatusBadRequest, "INVALID_JSON")
		}
		n.a.Do(t, harness.Request{Method: "PUT", Path: profilePath(id), Token: n.token, Media: "application/json"}).
			Refused(t, http.StatusBadRequest, "INVALID_JSON")
	})
	t.Run("JSON is accepted without a media type and with the one of curl -d, and another is 415", func(t *testing.T) {
		n := n.at(t, w)
		for _, media := range []string{"none", form} {
			n.a.Do(t, harness.Request{Method: "PUT", Path: profilePath(id), Token: n.token, Media: media, Body: update("X", "", "x@example.org")}).
				Refused(t, http.StatusBadRequest, "VALIDATION_ERROR")
		}
		for _, media := range []string{"text/plain", "application/xml", "application/json; charset=latin1"} {
			n.a.Do(t, harness.Request{Method: "PUT", Path: profilePath(id), Token: n.token, Media: media, Body: update("X", "X", "x@example.org")}).
				Refused(t, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		}
	})
	t.Run("a body over 1 MiB is 413, and one just below is accepted", func(t *testing.T) {
		n := n.at(t, w)
		padded := func(size int) string {
			body := update("", "B", "a@example.org")
			return body[:len(body)-1] + `,"padding":"` + strings.Repeat("x", size-len(body)-13) + `"}`
		}
		n.put(t, profilePath(id), padded(1<<20+1)).Refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
		n.put(t, profilePath(id), padded(2<<20)).Refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
		n.put(t, profilePath(id), padded(1<<20)).Refused(t, http.StatusBadRequest, "VALIDATION_ERROR")
	})
	t.Run("refused updates change nothing", func(t *testing.T) {
		if got := n.profile(t, id); got != before {
			t.Errorf("got %+v, want %+v", got, before)
		}
	})
	t.Run("names and addresses of the maximum length are accepted", func(t *testing.T) {
		n := n.at(t, w)
		long := strings.Repeat("é", 100)
		email := strings.Repeat("x", 60) + "@" + strings.Repeat("y", 60) + ".example.org"
		r := harness.Request{Method: "PUT", Path: profilePath(id), Token: n.token, Media: "application/json; charset=UTF-8", Body: update(long, long, email, strings.Repeat("1", 40))}
		n.a.Do(t, r).Into(t, http.StatusOK, nil)
		if got := n.profile(t, id); got.Firstname != long || got.Lastname != long || got.Email != email {
			t.Errorf("got %+v", got)
		}
	})
}

func (w *world) testVersions(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	id := n.NewCustomer(t, "Zoë", "O'Brien").GetId()
	etag := func(t *testing.T, n *tenant) string {
		t.Helper()
		tag := n.get(t, profilePath(id)).Header.Get("ETag")
		if unquoted, err := strconv.Unquote(tag); err != nil || unquoted == "" {
			t.Fatalf("ETag: %q", tag)
		}
		return tag
	}
	t.Run("an update with the current ETag succeeds and returns the next ETag", func(t *testing.T) {
		n := n.at(t, w)
		before := etag(t, n)
		answer := n.put(t, profilePath(id), update("A", "One", "a@example.org"), "If-Match", before)
		answer.Into(t, http.StatusOK, nil)
		if next := etag(t, n); next == before || answer.Header.Get("ETag") != next {
			t.Errorf("before %s, answered %s, now %s", before, answer.Header.Get("ETag"), next)
		}
	})
	t.Run("a stale ETag is 412 and changes nothing", func(t *testing.T) {
		n := n.at(t, w)
		stale := etag(t, n)
		n.put(t, profilePath(id), update("A", "Two", "a@example.org")).Into(t, http.StatusOK, nil)
		for _, tag := range []string{stale, `"nonsense"`, "nonsense", `W/` + stale, `"99999999999999999999"`} {
			n.put(t, profilePath(id), update("A", "Three", "a@example.org"), "If-Match", tag).
				Refused(t, http.StatusPreconditionFailed, "VERSION_MISMATCH")
		}
		if got := n.profile(t, id).Lastname; got != "Two" {
			t.Errorf("the name is %s", got)
		}
	})
	t.Run("If-Match: * matches any version", func(t *testing.T) {
		n.at(t, w).put(t, profilePath(id), update("A", "Four", "a@example.org"), "If-Match", "*").Into(t, http.StatusOK, nil)
	})
	t.Run("exactly one of many concurrent updates with the same ETag succeeds", func(t *testing.T) {
		n := n.at(t, w)
		tag := etag(t, n)
		codes := concurrently(12, func(i int) int {
			answer, err := n.a.Try(t.Context(), harness.Request{
				Method: "PUT", Path: profilePath(id), Token: n.token, Body: update("A", fmt.Sprint("Five ", i), "a@example.org"),
				Header: headers("If-Match", tag),
			})
			if err != nil {
				t.Error(err)
			}
			return answer.Code
		})
		if codes[http.StatusOK] != 1 || codes[http.StatusPreconditionFailed] != 11 {
			t.Errorf("answered %v", codes)
		}
	})
}

// concurrently calls do n times at the same time, and counts its results.
func concurrently(n int, do func(i int) int) map[int]int {
	var wg sync.WaitGroup
	results := make([]int, n)
	for i := range n {
		wg.Go(func() { results[i] = do(i) })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, r := range results {
		counts[r]++
	}
	return counts
}

func (w *world) testIdempotency(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	id := n.NewCustomer(t, "Zoë", "O'Brien").GetId()
	etag := func(t *testing.T, n *tenant) string { t.Helper(); return n.get(t, profilePath(id)).Header.Get("ETag") }

	t.Run("a retry with the same key gets the first answer and changes nothing", func(t *testing.T) {
		n := n.at(t, w)
		first := n.put(t, profilePath(id), update("First", "Key", "a@example.org"), "Idempotency-Key", "key-1")
		first.Into(t, http.StatusOK, nil)
		n.put(t, profilePath(id), update("Second", "None", "b@example.org")).Into(t, http.StatusOK, nil)
		now := etag(t, n)
		again := n.put(t, profilePath(id), update("First", "Key", "a@example.org"), "Idempotency-Key", "key-1")
		again.Into(t, http.StatusOK, nil)
		if !bytes.Equal(first.Body, again.Body) || first.Header.Get("ETag") != again.Header.Get("ETag") {
			t.Errorf("first %s %s, then %s %s", first.Body, first.Header.Get("ETag"), again.Body, again.Header.Get("ETag"))
		}
		if got := n.profile(t, id).Firstname; got != "Second" || etag(t, n) != now {
			t.Errorf("the retry changed the profile: %s", got)
		}
	})
	t.Run("the same key with another body, or for another customer, is 409", func(t *testing.T) {
		n := n.at(t, w)
		n.put(t, profilePath(id), update("Other", "Body", "a@example.org"), "Idempotency-Key", "key-1").
			Refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
		other := n.NewCustomer(t, "O", "Malley").GetId()
		n.put(t, profilePath(other), update("First", "Key", "a@example.org"), "Idempotency-Key", "key-1").
			Refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
	})
	t.Run("a refused request does not use up its key", func(t *testing.T) {
		n := n.at(t, w)
		n.put(t, profilePath(id), update("", "B", "a@example.org"), "Idempotency-Key", "key-2").Refused(t, http.StatusBadRequest, "VALIDATION_ERROR")
		n.put(t, profilePath(id), update("Good", "B", "a@example.org"), "Idempotency-Key", "key-2").Into(t, http.StatusOK, nil)
	})
	t.Run("the same key of another client is a different key", func(t *testing.T) {
		n := n.at(t, w)
		other := *n
		other.token = n.a.Token(t, n.NewClient(t))
		other.put(t, profilePath(id), update("Another", "Client", "a@example.org"), "Idempotency-Key", "key-1").Into(t, http.StatusOK, nil)
		if got := n.profile(t, id).Firstname; got != "Another" {
			t.Errorf("the name is %s", got)
		}
	})
	t.Run("exactly one of many concurrent requests with the same key is executed", func(t *testing.T) {
		n := n.at(t, w)
		before := n.get(t, profilePath(id)).Header.Get("ETag")
		codes := concurrently(16, func(int) int {
			answer, err := n.a.Try(t.Context(), harness.Request{
				Method: "PUT", Path: profilePath(id), Token: n.token, Body: update("At", "Once", "a@example.org"),
				Header: headers("Idempotency-Key", "key-3"),
			})
			if err != nil {
				t.Error(err)
			}
			if answer.Code == http.StatusConflict {
				var f harness.Fault
				_ = json.Unmarshal(answer.Body, &f)
				if f.Error.Code != "IDEMPOTENCY_IN_PROGRESS" || answer.Header.Get("Retry-After") == "" {
					t.Errorf("answered %s, Retry-After %q", answer.Body, answer.Header.Get("Retry-After"))
				}
			}
			return answer.Code
		})
		if codes[http.StatusOK] == 0 || codes[http.StatusOK]+codes[http.StatusConflict] != 16 {
			t.Errorf("answered %v", codes)
		}
		version := func(tag string) int {
			text, _, _ := strings.Cut(strings.Trim(tag, `"`), "-")
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Errorf("the ETag %s has no version", tag)
			}
			return n
		}
		was, is := version(before), version(etag(t, n))
		if is != was+1 {
			t.Errorf("the version went from %d to %d", was, is)
		}
	})
	t.Run("a key can have at most 255 characters", func(t *testing.T) {
		n := n.at(t, w)
		body := update("Long", "Key", "a@example.org")
		n.put(t, profilePath(id), body, "Idempotency-Key", strings.Repeat("k", 255)).Into(t, http.StatusOK, nil)
		f := n.put(t, profilePath(id), body, "Idempotency-Key", strings.Repeat("k", 256)).Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
		if f.Error.Details["field"] != "Idempotency-Key" {
			t.Errorf("details %v", f.Error.Details)
		}
	})
}
