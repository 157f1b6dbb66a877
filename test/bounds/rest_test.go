package bounds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// attempt is a request of an interface that exceeds one bound.
type attempt struct {
	face    *harness.A
	what    string
	request harness.Request
	// codes are those it may be answered with.
	codes []int
}

// attempts returns two requests for every text and every list that the description
// of an interface has for a request: one beyond its bound, and a megabyte.
func (d *description) attempts(t *testing.T, face *harness.A) []attempt {
	t.Helper()
	var all []attempt
	for _, o := range d.operations(t) {
		path := names.ReplaceAllString(o.path, "x")
		for _, p := range o.parameters {
			schema := d.resolve(p["schema"])
			if p["in"] != "query" || !isFree(schema) {
				continue
			}
			for what, n := range map[string]int{"one character too many": schema["maxLength"].(int) + 1, "a megabyte": megabyte} {
				query := url.Values{p["name"].(string): {strings.Repeat("x", n)}}
				all = append(all, attempt{face, fmt.Sprint(o, " ", p["name"], " ", what), harness.Request{
					Method: strings.ToUpper(o.method), Path: path + "?" + query.Encode(),
				}, []int{http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge}})
			}
		}
		for media, schema := range o.schemas {
			if media != "application/json" {
				continue
			}
			for what, body := range d.bodies(schema, "") {
				all = append(all, attempt{face, fmt.Sprint(o, what), harness.Request{Method: strings.ToUpper(o.method), Path: path, Body: body},
					[]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}})
			}
		}
	}
	return all
}

// bodies returns the bodies that exceed one bound of a schema, by what they exceed.
func (d *description) bodies(schema object, at string) map[string]string {
	all := map[string]string{}
	wrap := func(name, value string) string { return fmt.Sprintf("{%q:%s}", name, value) }
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	items := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		schema, at := d.resolve(property), at+" "+name
		switch {
		case is(schema, "array"):
			of := d.resolve(schema["items"])
			item := `"x"`
			if is(of, "object") {
				item = "{}"
			}
			all[at+" one item too many"] = wrap(name, items(item, schema["maxItems"].(int)+1))
			all[at+" almost a megabyte of items"] = wrap(name, items(item, (megabyte-1000)/(len(item)+1)))
			all[at+" more than a megabyte of items"] = wrap(name, items(item, megabyte/2))
			if isFree(of) {
				all[at+" an item with one character too many"] = wrap(name, "["+text(of["maxLength"].(int)+1)+"]")
				all[at+" an item of a megabyte"] = wrap(name, "["+text(megabyte)+"]")
			}
			for what, body := range d.bodies(of, at) {
				all[what] = wrap(name, "["+body+"]")
			}
		case isFree(schema):
			all[at+" one character too many"] = wrap(name, text(schema["maxLength"].(int)+1))
			all[at+" almost a megabyte"] = wrap(name, text(megabyte-1000))
			all[at+" a megabyte"] = wrap(name, text(megabyte))
		case is(schema, "object"):
			for what, body := range d.bodies(schema, at) {
				all[what] = wrap(name, body)
			}
		}
	}
	return all
}

// testInterfaces sends both interfaces every request that exceeds a bound.
func (w *world) testInterfaces(t *testing.T) {
	var all []attempt
	for _, d := range descriptions(t) {
		face := w.attacker.a
		if d.name == "b" {
			face = w.attacker.b
		}
		all = append(all, d.attempts(t, face)...)
	}
	if len(all) < 100 {
		t.Fatalf("only %d requests", len(all))
	}
	each(all, func(a attempt) { w.refused(t, a) })
	t.Logf("%d requests", len(all))
}

// refused makes an attempt, which must be refused quickly and briefly. It returns
// the fields that the answer names.
func (w *world) refused(t *testing.T, a attempt) (details struct {
	Errors []struct{ Field, Rule string }
	More   int
}) {
	t.Helper()
	began := time.Now()
	answer, err := w.attacker.do(t.Context(), a.face, a.request)
	took := time.Since(began)
	if err != nil || !slices.Contains(a.codes, answer.Code) {
		t.Errorf("%s: got %d %.300s, %v", a.what, answer.Code, answer.Body, err)
	}
	if len(answer.Body) > mostAnswer {
		t.Errorf("%s: an answer of %d bytes", a.what, len(answer.Body))
	}
	if took > limit {
		t.Errorf("%s: took %s", a.what, took)
	}
	var body struct {
		Error struct{ Details json.RawMessage }
	}
	if json.Unmarshal(answer.Body, &body) == nil {
		_ = json.Unmarshal(body.Error.Details, &details)
	}
	return details
}
