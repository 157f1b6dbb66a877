package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// description is what the generators read of an OpenAPI description. Everything is in the order of
// the file.
type description struct {
	*document
	title, summary string
	tags           []tag
	schemas        []schema
	operations     []operation
}

type tag struct{ name, description string }

type schema struct {
	name string
	node *yaml.Node
}

type operation struct {
	id, method, path   string
	tag                string
	summary, text      string
	pathParams, query  []parameter
	ifMatch            bool
	body, bodyExample  *yaml.Node // nil if the operation has no body
	result             *yaml.Node // the schema of the successful response
	tokens, idempotent bool       // it exchanges credentials for a token; it accepts an Idempotency-Key
}

type parameter struct {
	name, description string
	required          bool
	schema, example   *yaml.Node
}

// document is a YAML document whose references lead into itself.
type document struct{ root *yaml.Node }

// read reads the description in a file.
func read(file string) (*description, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	doc := &document{root: root.Content[0]}
	d := &description{document: doc, title: doc.text(doc.root, "info", "title"), summary: doc.text(doc.root, "info", "summary")}
	for _, t := range items(doc.get(doc.root, "tags")) {
		d.tags = append(d.tags, tag{name: doc.text(t, "name"), description: doc.text(t, "description")})
	}
	for name, node := range members(doc.get(doc.root, "components", "schemas")) {
		d.schemas = append(d.schemas, schema{name: name, node: node})
	}
	for path, item := range members(doc.get(doc.root, "paths")) {
		for method, node := range members(item) {
			if method != "parameters" {
				d.operations = append(d.operations, doc.operation(path, method, node, items(doc.get(item, "parameters"))))
			}
		}
	}
	return d, nil
}

func (d *document) operation(path, method string, node *yaml.Node, shared []*yaml.Node) operation {
	o := operation{
		id: d.text(node, "operationId"), method: strings.ToUpper(method), path: path,
		summary: d.text(node, "summary"), text: strings.TrimSpace(d.text(node, "description")),
	}
	o.tokens = o.id == "createToken"
	if tags := items(d.get(node, "tags")); len(tags) > 0 {
		o.tag = tags[0].Value
	}
	for _, p := range slices.Concat(shared, items(d.get(node, "parameters"))) {
		p = d.resolve(p)
		found := parameter{
			name: d.text(p, "name"), description: strings.TrimSpace(d.text(p, "description")), required: d.text(p, "required") == "true",
			schema: d.get(p, "schema"), example: d.get(p, "example"),
		}
		switch place := d.text(p, "in"); {
		case place == "path":
			o.pathParams = append(o.pathParams, found)
		case place == "query":
			o.query = append(o.query, found)
		case found.name == "If-Match":
			o.ifMatch = true
		case found.name == "Idempotency-Key":
			o.idempotent = true
		}
	}
	if body := d.get(node, "requestBody", "content", "application/json"); body != nil {
		o.body, o.bodyExample = raw(body, "schema"), d.get(body, "example")
	}
	for status, response := range members(d.get(node, "responses")) {
		if strings.HasPrefix(status, "2") {
			o.result = raw(d.get(response, "content", "application/json"), "schema")
		}
	}
	return o
}

// get returns what a path of names leads to, or nil. It follows references.
func (d *document) get(n *yaml.Node, path ...string) *yaml.Node {
	n = d.resolve(n)
	for _, name := range path {
		n = d.resolve(raw(n, name))
	}
	return n
}

// text returns the scalar that a path leads to, or "".
func (d *document) text(n *yaml.Node, path ...string) string {
	if n = d.get(n, path...); n != nil {
		return n.Value
	}
	return ""
}

// resolve follows references and aliases. A reference can have a description next to it, which a
// caller reads before.
func (d *document) resolve(n *yaml.Node) *yaml.Node {
	for n != nil {
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case raw(n, "$ref") != nil:
			n = d.get(d.root, strings.Split(strings.TrimPrefix(raw(n, "$ref").Value, "#/"), "/")...)
		default:
			return n
		}
	}
	return nil
}

// raw returns a member of a mapping without following a reference, or nil.
func raw(n *yaml.Node, name string) *yaml.Node {
	for key, value := range members(n) {
		if key == name {
			return value
		}
	}
	return nil
}

// members yields the members of a mapping in their order.
func members(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the items of a sequence.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}
