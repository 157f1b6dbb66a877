package bounds

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// attempt is a request to an interface that exceeds one bound.
type attempt struct {
	face    *harness.A
	what    string
	request harness.Request
	// codes are the acceptable status codes.
	codes []int
}

// attempts returns two requests for every text and every list in the requests of a description:
// one just beyond its bound, and one of a megabyte.
func (d *description) attempts(t *testing.T, face *harness.A) []attempt {
	t.Helper()
	var all []attempt
	for _, o := range d.operations(t) {
		for _, p := range o.parameters {
			if schema := d.resolve(p["schema"]); isFree(schema) {
				all = append(all, o.parameterAttempts(face, p, schema)...)
			}
		}
		for media, schema := range o.schemas {
			bodies := d.bodies(schema, "")
			if media == formMedia {
				bodies = d.forms(schema)
			}
			for what, body := range bodies {
				all = append(all, attempt{face, fmt.Sprint(o, " ", media, what), harness.Request{Method: strings.ToUpper(o.method), Path: o.pathWith("x"), Body: body, Media: media},
					[]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}})
			}
		}
	}
	return all
}

// formMedia is the media type of an OAuth token request.
const formMedia = "application/x-www-form-urlencoded"

// pathWith returns the path of an operation with value for every parameter.
func (o operation) pathWith(value string) string { return names.ReplaceAllString(o.path, value) }

// parameterAttempts returns the requests that exceed the bound of one parameter.
func (o operation) parameterAttempts(face *harness.A, p, schema object) []attempt {
	name, method := p["name"].(string), strings.ToUpper(o.method)
	sizes := map[string]int{"a megabyte": megabyte}
	if most, ok := schema["maxLength"].(int); ok { // headers can lack it
		sizes["one character too many"] = most + 1
	}
	var all []attempt
	for what, n := range sizes {
		long := strings.Repeat("x", n)
		r, codes := harness.Request{Method: method, Path: o.pathWith("x")}, []int{http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge}
		if len(o.schemas) > 0 {
			r.Body = "{}"
		}
		switch p["in"] {
		case "query":
			r.Path += "?" + url.Values{name: {long}}.Encode()
		case "header":
			r.Header = http.Header{name: {long}}
		case "path": // not a valid identifier
			r.Path = names.ReplaceAllString(strings.Replace(o.path, "{"+name+"}", long, 1), "x")
			codes = append(codes, http.StatusNotFound)
		}
		all = append(all, attempt{face, fmt.Sprint(o, " ", p["in"], " ", name, " ", what), r, codes})
	}
	return all
}

// forms returns the form bodies that exceed one bound of a schema, by the exceeded bound.
func (d *description) forms(schema object) map[string]string {
	all, valid := map[string]string{}, url.Values{}
	properties := schema["properties"].(object)
	for name, property := range properties {
		if fixed, ok := d.resolve(property)["const"].(string); ok {
			valid.Set(name, fixed)
		}
	}
	for name, property := range properties {
		schema := d.resolve(property)
		if !isFree(schema) {
			continue
		}
		for what, n := range map[string]int{"one character too many": schema["maxLength"].(int) + 1, "almost a megabyte": megabyte - 1000, "a megabyte": megabyte} {
			form := maps.Clone(valid)
			form.Set(name, strings.Repeat("x", n))
			all[" "+name+" "+what] = form.Encode()
		}
	}
	return all
}

// bodies returns the JSON bodies that exceed one bound of a schema, by the exceeded bound.
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

// testInterfaces sends every request that exceeds a bound to its interface.
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
		t.Fatalf("only %d requests were derived", len(all))
	}
	each(all, func(a attempt) { w.refused(t, a) })
	t.Logf("%d requests", len(all))
}

// refused makes an attempt, and checks that it is refused quickly with a short answer. It returns
// the fields that the answer names.
func (w *world) refused(t *testing.T, a attempt) (details struct {
	Errors []struct{ Field, Rule string }
	More   int
}) {
	t.Helper()
	var answer harness.Answer
	var err error
	took := quickest(func() { answer, err = w.attacker.do(t.Context(), a.face, a.request) })
	if err != nil || !slices.Contains(a.codes, answer.Code) {
		t.Errorf("%s: got %d %.300s, %v", a.what, answer.Code, answer.Body, err)
	}
	if len(answer.Body) > mostAnswer {
		t.Errorf("%s: the answer has %d bytes", a.what, len(answer.Body))
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
