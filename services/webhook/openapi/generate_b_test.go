package openapi_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
	"reservation.dev/services/webhook/message"
)

// TestGeneratedInterfaceB compares the webhooks in the description of Interface B with the definitions of
// the events and with openapi.yaml.
func TestGeneratedInterfaceB(t *testing.T) {
	t.Parallel()
	const begin, end = "# The webhooks from here on are generated.\n", "# The generated webhooks end here.\n"
	text := webhooksOfB(newOwn(t))
	compare(t, resourcesFile, between(t, resourcesFile, begin, end, text))
}

// TestInterfaceBDescribesDeliveries validates a test delivery of each event against the description of
// Interface B.
func TestInterfaceBDescribesDeliveries(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(resourcesFile)
	if err != nil {
		t.Fatal(err)
	}
	var raw any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	doc := plain(t, raw)
	if got, want := len(at(t, doc, "webhooks").(map[string]any)), len(webhookevent.All()); got != want {
		t.Errorf("%d events are described, want %d", got, want)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("file:///b.json", doc); err != nil {
		t.Fatal(err)
	}
	sampleOf := func(event string) any {
		data, err := message.NewCatalogue().Sample(event, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		m := &message.Message{ID: id.New[id.WebhookMessage](), Company: id.New[id.Company]().Test(), Event: event, OccurredAt: time.Now()}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message.TestEnvelope(m, data)))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, event := range webhookevent.Names() {
		compiled, err := compiler.Compile("file:///b.json#/webhooks/" + event + "/post/requestBody/content/application~1json/schema")
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range webhookevent.Names() {
			if err := compiled.Validate(sampleOf(other)); (err == nil) != (event == other) {
				t.Errorf("the schema of %s and a delivery of %s: %v", event, other, err)
			}
		}
	}
}

// own is openapi.yaml. It has the headers of a delivery, and the data of the default events.
type own struct {
	*generator
	parameters *yaml.Node
}

func newOwn(t *testing.T) own {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	components := member(read(t, string(text)).Content[0], "components")
	o := own{&generator{t: t, named: map[string]*yaml.Node{}}, member(components, "parameters")}
	for pair := range slices.Chunk(member(components, "schemas").Content, 2) {
		o.named[pair[0].Value] = pair[1]
	}
	return o
}

// webhooksOfB returns the events in the description of Interface B.
func webhooksOfB(o own) string {
	var b strings.Builder
	for i, e := range webhookevent.All() {
		parameters := " *deliveryHeaders\n"
		if i == 0 {
			parameters = " &deliveryHeaders\n" + indent(8, o.deliveryHeaders())
		}
		name := typeName(e)
		b.WriteString(indent(2, fmt.Sprintf(`%s:
  post:
    tags: [Webhooks]
    operationId: %s
    summary: %s
    description: |
      %s
    security: []
    parameters:`, e.Name, strings.ToLower(name[:1])+name[1:], e.Title, strings.Join(sentences(e), " "))))
		b.WriteString(parameters)
		b.WriteString(indent(6, fmt.Sprintf(`requestBody:
  required: true
  content:
    application/json:
      schema:
        allOf:
          - { $ref: "#/components/schemas/WebhookMessage" }
        properties:
          event: { const: %s, description: The name of the event. }
          data:
`, e.Name)))
		b.WriteString(indent(18, o.dataInB(e)))
		b.WriteString("      responses:\n        \"2XX\": { description: The receiver has accepted the message. }\n")
	}
	return b.String()
}

// sentences returns the description of an event.
func sentences(e webhookevent.Event) []string {
	if e.IsDefault() {
		return []string{e.Summary, "An endpoint that selects no events receives it."}
	}
	return []string{
		e.Summary, "Sent only to endpoints that subscribe to it.",
		"The data is " + e.Resource.Words() + " as it was at the time of the event.",
	}
}

// deliveryHeaders returns the parameters of a delivery without references.
func (o own) deliveryHeaders() string {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for pair := range slices.Chunk(o.parameters.Content, 2) {
		list.Content = append(list.Content, o.resolve(pair[1]))
	}
	return o.block(list)
}

// dataInB returns the schema of an event's data. A resource is referred to, not repeated.
func (o own) dataInB(e webhookevent.Event) string {
	switch {
	case e.IsDefault():
		return o.block(o.resolve(member(member(o.named[typeName(e)], "properties"), "data")))
	case e.Previous || e.Extra != "":
		members := extraMember(e)
		if e.Previous {
			members += previousMember
		}
		return fmt.Sprintf("allOf:\n  - { $ref: \"#/components/schemas/%s\" }\nproperties:\n", e.Resource) + indent(2, members)
	}
	return fmt.Sprintf("$ref: \"#/components/schemas/%s\"\n", e.Resource)
}
