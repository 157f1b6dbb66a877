package openapitest

import (
	"net/http"
	"testing"
)

const description = `
openapi: 3.1.0
paths:
  /things/{id}:
    get:
      responses:
        "200":
          content:
            application/json:
              schema: { $ref: "#/components/schemas/Thing" }
components:
  schemas:
    Thing:
      type: object
      required: [id]
      properties:
        id: { type: string }
        details: { type: object, additionalProperties: true, properties: { field: { type: string } } }
        type: { type: object, properties: { name: { type: string } } }
`

func TestUndocumentedMembers(t *testing.T) {
	c := Load(t, []byte(description), "")
	for body, allowed := range map[string]bool{
		`{"id": "1"}`: true, `{"id": "1", "details": {"other": 1}}`: true, `{"id": "1", "type": {"name": "x"}}`: true,
		`{"id": "1", "other": 1}`: false, `{"id": "1", "type": {"other": 1}}`: false, `{}`: false,
	} {
		err := c.check(http.MethodGet, "/things/1", 200, http.Header{"Content-Type": {"application/json"}}, []byte(body))
		if (err == nil) != allowed {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestPublishedSchemasAllowMembers(t *testing.T) {
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		closed := map[string]any{"schemas": []any{map[string]any{"type": "object", keyword: false}}}
		if err := closeObjects(closed, "#"); err == nil {
			t.Errorf("a schema with %s: false is accepted", keyword)
		}
	}
}

func TestDeprecation(t *testing.T) {
	deprecated := map[string]any{"deprecated": true, "x-deprecation": "@1798761600", "x-sunset": "Fri, 31 Dec 2027 00:00:00 GMT"}
	headers := http.Header{"Deprecation": {"@1798761600"}, "Sunset": {"Fri, 31 Dec 2027 00:00:00 GMT"}}
	for name, test := range map[string]struct {
		operation map[string]any
		code      int
		header    http.Header
		allowed   bool
	}{
		"neither":                            {map[string]any{}, 200, http.Header{}, true},
		"both":                               {deprecated, 200, headers, true},
		"no headers":                         {deprecated, 200, http.Header{}, false},
		"no headers, but refused":            {deprecated, 400, http.Header{}, true},
		"another time":                       {deprecated, 400, http.Header{"Deprecation": {"@1"}}, false},
		"headers that are not described":     {map[string]any{}, 200, headers, false},
		"a deprecation without a time":       {map[string]any{"deprecated": true}, 200, http.Header{}, false},
		"a time of a deprecation without it": {map[string]any{"x-deprecation": "@1"}, 400, http.Header{}, false},
	} {
		if err := checkDeprecation(test.operation, test.code, test.header); (err == nil) != test.allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUntidyKeys(t *testing.T) {
	t.Parallel()
	contract := Load(t, []byte("paths: {}\ncomponents:\n  schemas:\n    A: { type: object, properties: { a: { type: string, description: First, then more. } }, example: { a b: null } }\n"), "")
	if got := untidy(contract.doc, "#"); len(got) != 1 || got[0] != "#/components/schemas/A/properties/a/then more." {
		t.Error(got)
	}
}
