package model

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type object = map[string]any

// raw is a body that is sent unchanged.
type raw string

// answer is the response to a request.
type answer struct {
	what   string
	code   int
	header http.Header
	body   object
}

// reporter lets helpers that need a testing.TB fail a rapid run.
type reporter struct {
	testing.TB
	t failer
}

// failer is a rapid run, a test or a caller of a rush.
type failer interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

func (r reporter) Helper()                      {}
func (r reporter) Errorf(text string, a ...any) { r.t.Errorf(text, a...) }
func (r reporter) Fatalf(text string, a ...any) { r.t.Fatalf(text, a...) }

// call makes a request with the machine's token and checks the answer against the OpenAPI
// description. headers are alternating names and values; an empty value removes a header.
func (m *machine) call(t failer, method, path string, body any, headers ...string) answer {
	var payload io.Reader
	switch body := body.(type) {
	case nil:
	case raw:
		payload = strings.NewReader(string(body))
	default:
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		payload = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.base+path, payload)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+m.token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	what := method + " " + path + " " + show(body) + ": " + strconv.Itoa(res.StatusCode) + " " + short(string(text))
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		t.Fatalf("%s", what)
	}
	m.contract.Check(reporter{m.t, t}, method, r.URL.Path, res.StatusCode, res.Header, text)
	a := answer{what: what, code: res.StatusCode, header: res.Header}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&a.body); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if e, ok := a.body["error"].(object); ok {
		details, _ := e["details"].(object)
		if rule, ok := details["rule"].(string); ok && !m.rules[rule] {
			t.Errorf("ERRORS.md does not list the rule: %s", what)
		}
	}
	return a
}

func show(body any) string {
	if text, ok := body.(raw); ok {
		return short(string(text))
	}
	text, _ := json.Marshal(body)
	return short(string(text))
}

func short(s string) string {
	if len(s) > 1500 {
		return s[:1500] + "…"
	}
	return s
}

// refusal is a predicted error. An empty code means success. An empty field is not compared.
type refusal struct {
	status      int
	code, field string
}

var (
	fine    = refusal{}
	missing = refusal{status: http.StatusNotFound, code: "NOT_FOUND"}
)

func refuse(code string) refusal   { return refusal{http.StatusBadRequest, code, ""} }
func invalid(field string) refusal { return refusal{http.StatusBadRequest, "VALIDATION_ERROR", field} }

// expect fails the run unless the answer is the predicted one. It returns whether that is a
// success.
func (a answer) expect(t failer, success int, want refusal) bool {
	if want.code == "" {
		if a.code != success {
			t.Fatalf("want %d: %s", success, a.what)
		}
		return true
	}
	e, _ := a.body["error"].(object)
	details, _ := e["details"].(object)
	if a.code != want.status || e["code"] != want.code || want.field != "" && details["field"] != want.field {
		t.Fatalf("want %d %s %s: %s", want.status, want.code, want.field, a.what)
	}
	return false
}

// plain returns v as decoded from its JSON.
func plain(t *rapid.T, v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// minor returns a number times 100.
func minor(t failer, v any) int64 {
	number, ok := v.(json.Number)
	if !ok {
		t.Fatalf("%v is not a number", v)
	}
	whole, cents, _ := strings.Cut(number.String(), ".")
	n, err := strconv.ParseInt(whole+(cents + "00")[:2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// decimal formats minor units as the interface does: 1450 is 14.5.
func decimal(minor int64) json.Number {
	text := strconv.FormatInt(minor/100, 10)
	if cents := minor % 100; cents > 0 {
		text += strings.TrimRight("."+string(rune('0'+cents/10))+string(rune('0'+cents%10)), "0")
	}
	return json.Number(text)
}
