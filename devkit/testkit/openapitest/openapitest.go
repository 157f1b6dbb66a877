// Package openapitest checks HTTP responses against an OpenAPI 3.1 description. The description must
// have the operation, the status and the media type of every response, and a schema that accepts the
// body. OpenAPI 3.1 schemas are JSON Schema 2020-12, so a JSON Schema library validates the bodies.
//
// Published schemas accept members that they do not name, so that clients ignore new members. These
// checks are stricter: they refuse such a member unless the schema has additionalProperties: true.
package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const location = "file:///openapi.json"

// Contract is a loaded description.
type Contract struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	base     string

	compiling sync.Mutex

	mu   sync.Mutex
	seen map[string]bool
}

// Load parses a description whose paths are relative to base ("" or "/api/v1").
func Load(t testing.TB, text []byte, base string) *Contract {
	t.Helper()
	var raw any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		t.Fatalf("openapi: %v", err)
	}
	// Convert the YAML to JSON, because the JSON Schema library expects its types.
	plain, err := json.Marshal(raw)
	if err != nil {
		t.Fatalf("openapi: %v", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err == nil {
		err = closeObjects(doc, "#")
	}
	if err != nil {
		t.Fatalf("openapi: %v", err)
	}
	c := &Contract{compiler: jsonschema.NewCompiler(), base: base, seen: map[string]bool{}}
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(location, doc); err != nil {
		t.Fatalf("openapi: %v", err)
	}
	var ok bool
	if c.doc, ok = doc.(map[string]any); !ok {
		t.Fatal("openapi: not an object")
	}
	return c
}

// closeObjects changes every schema with properties so that it refuses other members. It returns an
// error if a published schema refuses them itself.
func closeObjects(node any, pointer string) error {
	switch node := node.(type) {
	case map[string]any:
		for key, child := range node {
			if err := closeObjects(child, pointer+"/"+escape(key)); err != nil {
				return err
			}
		}
		if node["additionalProperties"] == false || node["unevaluatedProperties"] == false {
			return fmt.Errorf("%s refuses members that may be added later", pointer)
		}
		_, hasProperties := node["properties"].(map[string]any)
		if node["type"] == "object" && hasProperties && node["additionalProperties"] == nil {
			node["unevaluatedProperties"] = false
		}
	case []any:
		for i, child := range node {
			if err := closeObjects(child, pointer+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Schema compiles the JSON Schema in a file and makes its objects refuse members that they do not
// name. It fails t if the published schema refuses them itself, because members can be added later.
func Schema(t testing.TB, path string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = closeObjects(doc, "#")
	}
	compiler := jsonschema.NewCompiler()
	if err == nil {
		err = compiler.AddResource(path, doc)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	schema, err := compiler.Compile(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return schema
}

// Operations lists the operations of the description, for example "GET /path/{id}".
func (c *Contract) Operations() []string {
	var all []string
	paths, _ := c.doc["paths"].(map[string]any)
	for path, item := range paths {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	return all
}

// CheckExamples fails t for every example that does not match the schema next to it.
func (c *Contract) CheckExamples(t testing.TB) {
	t.Helper()
	c.examples(t, c.doc["paths"], "#/paths")
	c.examples(t, c.doc["components"], "#/components")
}

// CheckKeys checks that no key has a space and no value is null, outside the examples. YAML reads the
// text after a comma as such a key if the text in a flow mapping has no quotes.
func (c *Contract) CheckKeys(t testing.TB) {
	t.Helper()
	for _, fault := range untidy(c.doc, "#") {
		t.Errorf("openapi: %s", fault)
	}
}

// untidy returns the pointers of the keys that have a space or a null value.
func untidy(node any, pointer string) (faults []string) {
	switch node := node.(type) {
	case map[string]any:
		for key, child := range node {
			if key == "example" || key == "examples" {
				continue
			}
			at := pointer + "/" + escape(key)
			if child == nil || strings.Contains(key, " ") {
				faults = append(faults, at)
			}
			faults = append(faults, untidy(child, at)...)
		}
	case []any:
		for i, child := range node {
			faults = append(faults, untidy(child, pointer+"/"+strconv.Itoa(i))...)
		}
	}
	return faults
}

func (c *Contract) examples(t testing.TB, node any, pointer string) {
	t.Helper()
	switch node := node.(type) {
	case map[string]any:
		example, hasExample := node["example"]
		if _, hasSchema := node["schema"]; hasExample && hasSchema {
			schema, err := c.compiler.Compile(location + pointer + "/schema")
			if err != nil {
				t.Errorf("%s: %v", pointer, err)
			} else if err := schema.Validate(example); err != nil {
				t.Errorf("%s: the example does not match the schema: %v", pointer, err)
			}
		}
		for key, child := range node {
			c.examples(t, child, pointer+"/"+escape(key))
		}
	case []any:
		for i, child := range node {
			c.examples(t, child, pointer+"/"+strconv.Itoa(i))
		}
	}
}

// Check fails t if the response does not match the description.
func (c *Contract) Check(t testing.TB, method, path string, code int, header http.Header, body []byte) {
	t.Helper()
	if err := c.check(method, path, code, header, body); err != nil {
		t.Errorf("%s %s: %d %s: %v", method, path, code, body, err)
	}
}

func (c *Contract) check(method, path string, code int, header http.Header, body []byte) error {
	template, operation := c.operation(method, path)
	if operation == nil {
		if code == http.StatusNotFound || code == http.StatusMethodNotAllowed {
			return nil // the operation does not exist, and the response says so
		}
		return fmt.Errorf("the operation is not described")
	}
	pointer := "#/paths/" + escape(template) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(code)
	response, pointer, err := c.resolve(pointer)
	if err != nil {
		return fmt.Errorf("the status is not described: %w", err)
	}
	if err := checkDeprecation(operation, code, header); err != nil {
		return err
	}
	c.mu.Lock()
	c.seen[method+" "+template+" "+strconv.Itoa(code)] = true
	c.mu.Unlock()
	content, _ := response["content"].(map[string]any)
	if content == nil {
		return nil
	}
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if content[media] == nil {
		return fmt.Errorf("the media type %q is not described", media)
	}
	for name := range headersOf(response) {
		if header.Get(name) == "" && (name == "WWW-Authenticate" || name == "X-Request-Id" || name == "ETag") {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not valid JSON: %w", err)
	}
	// Validation needs the lock too: the compiler can still change schemas that it returned.
	c.compiling.Lock()
	defer c.compiling.Unlock()
	schema, err := c.compiler.Compile(location + pointer + "/content/" + escape(media) + "/schema")
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// checkDeprecation compares the headers of a response with its operation: a deprecated operation has
// deprecated: true, the value of Deprecation as x-deprecation, and that of Sunset as x-sunset.
func checkDeprecation(operation any, code int, header http.Header) error {
	described, _ := operation.(map[string]any)
	for name, key := range map[string]string{"Deprecation": "x-deprecation", "Sunset": "x-sunset"} {
		want, _ := described[key].(string)
		if (described["deprecated"] == true) != (described["x-deprecation"] != nil) {
			return fmt.Errorf("the operation has only one of deprecated and x-deprecation")
		}
		// The router refuses a malformed path before it knows the operation.
		if got := header.Get(name); got != want && (got != "" || code < http.StatusBadRequest) {
			return fmt.Errorf("the header %s is %q, described is %q", name, got, want)
		}
	}
	return nil
}

func headersOf(response map[string]any) map[string]any {
	headers, _ := response["headers"].(map[string]any)
	return headers
}

// Seen reports whether a response with this operation and status was checked.
func (c *Contract) Seen(operation string, code int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[operation+" "+strconv.Itoa(code)]
}

// resolve returns the object at pointer, following one reference.
func (c *Contract) resolve(pointer string) (map[string]any, string, error) {
	node, err := c.at(pointer)
	if err != nil {
		return nil, "", err
	}
	if ref, ok := node["$ref"].(string); ok {
		node, err = c.at(ref)
		return node, ref, err
	}
	return node, pointer, nil
}

func (c *Contract) at(pointer string) (map[string]any, error) {
	var node any = c.doc
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		object, ok := node.(map[string]any)
		part = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(part)
		if !ok || object[part] == nil {
			return nil, fmt.Errorf("%s does not exist", pointer)
		}
		node = object[part]
	}
	object, ok := node.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", pointer)
	}
	return object, nil
}

// operation returns the path template and the operation of a request. If several templates fit, the
// one with the fewest parameters counts.
func (c *Contract) operation(method, path string) (template string, operation any) {
	got := strings.Split(strings.TrimPrefix(path, c.base), "/")
	paths, _ := c.doc["paths"].(map[string]any)
	fewest := len(got) + 1
	for candidate, item := range paths {
		if parameters := fit(strings.Split(candidate, "/"), got); parameters >= 0 && parameters < fewest {
			fewest, template, operation = parameters, candidate, item.(map[string]any)[strings.ToLower(method)]
		}
	}
	return template, operation
}

// fit returns how many parameters of a template the parts of a path fill, or -1 if the path does not
// fit.
func fit(template, path []string) (parameters int) {
	if len(template) != len(path) {
		return -1
	}
	for i, part := range template {
		switch {
		case strings.HasPrefix(part, "{"):
			parameters++
		case part != path[i]:
			return -1
		}
	}
	return parameters
}

func escape(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
}

// Transport returns a transport that checks every response that it returns.
func (c *Contract) Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	return transport{t: t, contract: c, next: next}
}

type transport struct {
	t        testing.TB
	contract *Contract
	next     http.RoundTripper
}

func (tr transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := tr.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	tr.contract.Check(tr.t, r.Method, r.URL.EscapedPath(), res.StatusCode, res.Header, body)
	return res, nil
}
