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
