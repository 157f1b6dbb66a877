package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
	"reservation.dev/services/webhook/message"
)

var update = flag.Bool("update", false, "write the schemas of the opt-in events, openapi.yaml and the table of docs/WEBHOOKS.md")

// The files that follow from platform/webhookevent and the resources of Interface B. The webhooks of
// resourcesFile follow, too.
const (
	resourcesFile = "../../../gateway-b/openapi/openapi.yaml"
	schemasFolder = "../../../docs/webhooks/"
	guideFile     = "../../../docs/WEBHOOKS.md"
)

// TestGenerated compares the generated parts of the schemas, of openapi.yaml and of the guide with the
// definitions of the events and the resources of Interface B.
func TestGenerated(t *testing.T) {
	t.Parallel()
	g := newGenerator(t)
	for _, e := range webhookevent.All() {
		if !e.IsDefault() {
			compare(t, schemasFolder+e.Name+".schema.json", g.schemaFile(e))
		}
	}
	compare(t, "openapi.yaml", between(t, "openapi.yaml", "# The webhooks from here on are generated.\n", "# The generated webhooks end here.\n", g.webhooks()))
	compare(t, "openapi.yaml", between(t, "openapi.yaml", "# The schemas from here on are generated.\n", "", g.schemas()))
	compare(t, guideFile, between(t, guideFile, "<!-- generated: opt-in events -->\n", "<!-- end of generated -->\n", table()))
}

// compare fails if a file has another text, or writes it if the flag says so.
func compare(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what follows from the definitions: run `go test ./services/webhook/openapi -run TestGenerated -update`", path)
	}
}

// between returns a file in which text stands between two lines; end "" means the end of the file.
func between(t *testing.T, path, begin, end, text string) string {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(whole), begin)
	if !ok {
		t.Fatalf("%s has no line %q", path, begin)
	}
	if end == "" {
		return before + begin + text
	}
	old, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no line %q", path, end)
	}
	indent := old[strings.LastIndexByte(old, '\n')+1:]
	return before + begin + text + indent + end + after
}

// table returns the rows of the guide.
func table() string {
	var b strings.Builder
	b.WriteString("| event | sent when | `data` |\n|---|---|---|\n")
	for _, e := range webhookevent.All() {
		if !e.IsDefault() {
			fmt.Fprintf(&b, "| [`%s`](webhooks/%s.schema.json) | %s | %s |\n", e.Name, e.Name, strings.TrimSuffix(e.Summary, "."), e.Resource.Words())
		}
	}
	return b.String()
}

// generator has the resources of Interface B.
type generator struct {
	t     *testing.T
	named map[string]*yaml.Node // schemas
}

func newGenerator(t *testing.T) *generator {
	t.Helper()
	text, err := os.ReadFile(resourcesFile)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	g := &generator{t: t, named: map[string]*yaml.Node{}}
	all := member(member(doc.Content[0], "components"), "schemas")
	for i := 0; i < len(all.Content); i += 2 {
		g.named[all.Content[i].Value] = all.Content[i+1]
	}
	return g
}

// member returns the value of a member of a mapping; nil if there is none.
func member(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n != nil && i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// resource returns the schema of a resource without references, with the member previous.
func (g *generator) resource(r webhookevent.Resource) *yaml.Node {
	found := g.named[string(r)]
	if found == nil {
		g.t.Fatalf("Interface B has no schema %s", r)
	}
	schema := g.resolve(found)
	properties := member(schema, "properties")
	properties.Content = append(properties.Content, read(g.t, previousMember).Content[0].Content...)
	return schema
}

// extraMember returns the further member of an event's data, for the schema of the data.
func extraMember(e webhookevent.Event) string {
	switch e.Extra {
	case webhookevent.Period:
		return "period:\n  $ref: \"#/components/schemas/SubscriptionPeriod\"\n  description: The period of the payment.\n"
	case webhookevent.CustomerID:
		return "customerId:\n  type: string\n  description: The id of the customer who watched the item.\n"
	}
	return ""
}

// dataOf returns the schema of an event's data without references.
func (g *generator) dataOf(e webhookevent.Event) *yaml.Node {
	schema := g.resource(e.Resource)
	if e.Extra != "" {
		properties := member(schema, "properties")
		properties.Content = append(properties.Content, g.resolve(read(g.t, extraMember(e)).Content[0]).Content...)
	}
	return schema
}

const previousMember = `previous:
  type: object
  description: The old values of the members that the change has changed. Absent from events about new or deleted resources.
  additionalProperties: true
`

// read parses YAML.
func read(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

// resolve returns a copy of a schema in block style in which each reference is replaced with what it
// refers to. Members next to a reference replace those of the same name.
func (g *generator) resolve(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	if n.Kind == yaml.ScalarNode {
		out.Style = n.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle)
		if strings.Contains(n.Value, "\n") {
			out.Style = yaml.LiteralStyle
		}
		return out
	}
	ref := ""
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Value == "$ref" {
			ref = strings.TrimPrefix(n.Content[i+1].Value, "#/components/schemas/")
		}
		out.Content = append(out.Content, g.resolve(child))
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			out.Content[i].Style = 0
		}
	}
	if ref == "" {
		return out
	}
	target := g.resolve(g.named[ref])
	for i := 0; i < len(out.Content); i += 2 {
		if name := out.Content[i].Value; name != "$ref" {
			set(target, out.Content[i], out.Content[i+1])
		}
	}
	return target
}

// set sets a member of a mapping.
func set(n, name, value *yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name.Value {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, name, value)
}

// schemaFile returns the schema that receivers can download.
func (g *generator) schemaFile(e webhookevent.Event) string {
	n := read(g.t, fmt.Sprintf(`
$schema: https://json-schema.org/draft/2020-12/schema
title: %s
description: %q
type: object
required: [id, event, timestamp, data]
properties:
  id: { type: string, pattern: "^msg_[0-9a-hjkmnp-tv-z]{26}$", description: The same in every retry and replay. Discard duplicates by it. }
  event: { const: %s }
  timestamp: { type: string, format: date-time, pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$", description: The time of the event. }
  mode: { const: test, description: Present only in test mode. }
  test: { const: true, description: Present only on test deliveries. }
`, e.Name, e.Summary, e.Name)).Content[0]
	properties := member(n, "properties")
	properties.Content = append(properties.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "data"}, g.dataOf(e))
	var b bytes.Buffer
	writeJSON(g.t, &b, n)
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), "", "  "); err != nil {
		g.t.Fatal(err)
	}
	return indented.String() + "\n"
}

// writeJSON writes a node as JSON, with the members in their order.
func writeJSON(t *testing.T, b *bytes.Buffer, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		writeItems(t, b, "{}", n.Content, 2)
	case yaml.SequenceNode:
		writeItems(t, b, "[]", n.Content, 1)
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			t.Fatal(err)
		}
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		b.Truncate(b.Len() - 1) // the line break
	}
}

// writeItems writes the items of a sequence, or of a mapping if each has two nodes.
func writeItems(t *testing.T, b *bytes.Buffer, brackets string, items []*yaml.Node, nodes int) {
	b.WriteByte(brackets[0])
	for i, item := range items {
		if i > 0 {
			b.WriteByte(",:"[i%nodes])
		}
		writeJSON(t, b, item)
	}
	b.WriteByte(brackets[1])
}

// typeName returns the name of an event's schema in openapi.yaml: RegistrationCancelled.
func typeName(e webhookevent.Event) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(e.Name, func(r rune) bool { return r == '.' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// webhooks returns the opt-in events of openapi.yaml.
func (g *generator) webhooks() string {
	var b strings.Builder
	for _, e := range webhookevent.All() {
		if e.IsDefault() {
			continue
		}
		name := typeName(e)
		b.WriteString(indent(2, fmt.Sprintf(`%s:
  post:
    tags: [%s]
    operationId: %s
    summary: %s
    description: |
      %s Sent only to endpoints that subscribe to it. The data is %s
      as Interface B shows it at the time of the event.
    security: []
    parameters: *headers
    requestBody:
      required: true
      content:
        application/json:
          schema:
            $ref: "#/components/schemas/%s"
          examples:
            message:
              summary: %s
              value:
`, e.Name, e.Resource.Tag(), strings.ToLower(name[:1])+name[1:], e.Title, e.Summary, e.Resource.Words(), name, e.Title)))
		b.WriteString(indent(18, g.example(e)))
		b.WriteString("      responses: *responses\n")
	}
	return b.String()
}

// exampleTime is the time of the examples.
var exampleTime = time.Date(2026, 11, 21, 13, 35, 15, 0, time.UTC)

// example returns the message of a test delivery as YAML, without the mark.
func (g *generator) example(e webhookevent.Event) string {
	data, err := message.NewCatalogue().Sample(e.Name, exampleTime)
	if err != nil {
		g.t.Fatal(err)
	}
	messageID, err := id.Parse[id.WebhookMessage]("msg_01m7z52zcaews91cz1k5zh8fyq")
	if err != nil {
		g.t.Fatal(err)
	}
	m := &message.Message{ID: messageID, Event: e.Name, OccurredAt: exampleTime}
	return g.block(g.resolve(read(g.t, string(message.Envelope(m, data))).Content[0]))
}

// block returns a node as YAML.
func (g *generator) block(n *yaml.Node) string {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		g.t.Fatal(err)
	}
	return b.String()
}

// schemas returns the schemas of openapi.yaml: one for each resource, and one for each opt-in event.
func (g *generator) schemas() string {
	var b strings.Builder
	written := map[webhookevent.Resource]bool{}
	for _, e := range webhookevent.All() {
		if e.IsDefault() {
			continue
		}
		if !written[e.Resource] {
			written[e.Resource] = true
			b.WriteString(indent(4, string(e.Resource)+":\n"))
			b.WriteString(indent(6, g.block(g.resource(e.Resource))))
		}
		b.WriteString(indent(4, fmt.Sprintf(`%s:
  type: object
  required: [id, event, timestamp, data]
  properties:
    id:
      $ref: "#/components/schemas/MessageId"
    event:
      const: %s
      description: The name of the event.
    timestamp:
      $ref: "#/components/schemas/Timestamp"
    mode:
      $ref: "#/components/schemas/Mode"
    test:
      $ref: "#/components/schemas/Test"
    data:
`, typeName(e), e.Name)))
		b.WriteString(indent(10, g.dataSchema(e)))
	}
	return b.String()
}

// dataSchema returns the schema of an event's data in openapi.yaml. With a further member, it is not only a
// reference to the resource.
func (g *generator) dataSchema(e webhookevent.Event) string {
	if e.Extra == "" {
		return fmt.Sprintf("$ref: \"#/components/schemas/%s\"\n", e.Resource)
	}
	return g.block(g.dataOf(e))
}

// indent indents the lines of a text.
func indent(n int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(strings.Repeat(" ", n))
		}
		b.WriteString(line)
	}
	return b.String()
}
