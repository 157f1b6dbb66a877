package openapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
	"reservation.dev/services/webhook/message"
	"reservation.dev/services/webhook/openapi"
)

// document returns the description as JSON values.
func document(t *testing.T) map[string]any {
	t.Helper()
	var raw any
	if err := yaml.Unmarshal(openapi.Description, &raw); err != nil {
		t.Fatal(err)
	}
	return plain(t, raw).(map[string]any)
}

// plain returns a value as a JSON Schema library expects it.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// at returns the value at a path of names.
func at(t *testing.T, v any, names ...string) any {
	t.Helper()
	for _, name := range names {
		m, ok := v.(map[string]any)
		if !ok || m[name] == nil {
			t.Fatalf("there is no %q of %v", name, names)
		}
		v = m[name]
	}
	return v
}

func TestDescription(t *testing.T) {
	t.Parallel()
	doc := document(t)
	if got, want := len(at(t, doc, "webhooks").(map[string]any)), len(webhookevent.Names()); got != want {
		t.Errorf("it describes %d events, want %d", got, want)
	}
	for _, event := range webhookevent.Names() {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			body := at(t, doc, "webhooks", event, "post", "requestBody", "content", "application/json")
			ref, _ := at(t, body, "schema", "$ref").(string)
			compiler := jsonschema.NewCompiler()
			if err := compiler.AddResource("file:///openapi.json", doc); err != nil {
				t.Fatal(err)
			}
			compiled, err := compiler.Compile("file:///openapi.json" + ref)
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(at(t, body, "examples", "message", "value")); err != nil {
				t.Errorf("the example is not valid: %v", err)
			}
			data, err := message.NewCatalogue().Sample(event, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			sample := message.TestEnvelope(&message.Message{
				ID: id.New[id.WebhookMessage](), Company: id.New[id.Company]().Test(), Event: event, OccurredAt: time.Now(),
			}, data)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(sample))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(value); err != nil {
				t.Errorf("a test delivery is not valid: %v\n%s", err, sample)
			}
			described := resolve(t, doc, at(t, doc, "components", "schemas", ref[len("#/components/schemas/"):]))
			if diff := cmp.Diff(published(t, event), described); diff != "" {
				t.Errorf("(- docs/webhooks/%s.schema.json, + openapi.yaml):\n%s", event, diff)
			}
		})
	}
}

// published returns the schema that receivers can download, without its texts.
func published(t *testing.T, event string) any {
	t.Helper()
	text, err := os.ReadFile("../../../docs/webhooks/" + event + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	schema := v.(map[string]any)
	delete(schema, "$schema")
	delete(schema, "title")
	return resolve(t, schema, schema)
}

// resolve returns a schema with its references replaced, and without its descriptions.
func resolve(t *testing.T, doc, schema any) any {
	t.Helper()
	switch v := schema.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return resolve(t, doc, at(t, doc, "components", "schemas", ref[len("#/components/schemas/"):]))
		}
		out := map[string]any{}
		for name, value := range v {
			if _, text := value.(string); name == "description" && text {
				continue
			}
			out[name] = resolve(t, doc, value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = resolve(t, doc, value)
		}
		return out
	}
	return schema
}
