package bounds

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/bounds"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

const root = "../.."

// object is a node of a YAML document.
type object = map[string]any

// description is one interface: its openapi.yaml, and the messages of its protos.
type description struct {
	name  string
	base  string // before every path
	doc   object
	rules []rule
	token proto.Message // the body of the token request
}

// rule maps an operation to a method, as in http.yaml.
type rule struct{ method, path, selector, body string }

func descriptions(t *testing.T) []*description {
	t.Helper()
	list := []*description{
		{name: "a", token: &edgeav1.TokenRequest{}},
		{name: "b", base: "/api/v1", token: &edgebv1.TokenRequest{}},
	}
	for _, d := range list {
		d.doc = document(t, "gateway-"+d.name+"/openapi/openapi.yaml")
		d.rules = rules(document(t, "proto/reservation/edge/"+d.name+"/v1/http.yaml"))
	}
	return list
}

func document(t *testing.T, path string) object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	var doc object
	if err == nil {
		err = yaml.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func rules(doc object) []rule {
	var all []rule
	var read func(binding object, selector string)
	read = func(binding object, selector string) {
		for method, path := range binding {
			if slices.Contains(methods(), method) {
				body, _ := binding["body"].(string)
				all = append(all, rule{method, path.(string), selector, body})
			}
		}
		more, _ := binding["additional_bindings"].([]any)
		for _, b := range more {
			read(b.(object), selector)
		}
	}
	for _, r := range doc["http"].(object)["rules"].([]any) {
		read(r.(object), r.(object)["selector"].(string))
	}
	return all
}

func methods() []string { return []string{"get", "post", "put", "patch", "delete"} }

// operation is an operation of a description, with the message that its requests become. The
// message is nil if the operation has its own handler.
type operation struct {
	method, path string
	parameters   []object
	schemas      map[string]object // of the request body, by media type
	input        protoreflect.MessageDescriptor
	body         protoreflect.MessageDescriptor
}

func (o operation) String() string { return strings.ToUpper(o.method) + " " + o.path }

// names matches the parameters of a path, whose names differ between the two documents.
var names = regexp.MustCompile(`\{[^}]*\}`)

func (d *description) operations(t *testing.T) []operation {
	t.Helper()
	var all []operation
	for path, item := range d.doc["paths"].(object) {
		shared, _ := item.(object)["parameters"].([]any)
		for _, method := range methods() {
			described, ok := item.(object)[method].(object)
			if !ok {
				continue
			}
			o := operation{method: method, path: path, schemas: map[string]object{}}
			own, _ := described["parameters"].([]any)
			for _, p := range slices.Concat(shared, own) {
				o.parameters = append(o.parameters, d.resolve(p))
			}
			if body, ok := described["requestBody"]; ok {
				for media, content := range d.resolve(body)["content"].(object) {
					o.schemas[media] = d.resolve(content.(object)["schema"])
				}
			}
			d.find(t, &o)
			all = append(all, o)
		}
	}
	return all
}

// find sets the request messages of an operation.
func (d *description) find(t *testing.T, o *operation) {
	t.Helper()
	if strings.HasSuffix(o.path, "/token") {
		o.body = d.token.ProtoReflect().Descriptor()
	}
	for _, r := range d.rules {
		if r.method != o.method || names.ReplaceAllString(r.path, "{}") != names.ReplaceAllString(d.base+o.path, "{}") {
			continue
		}
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(r.selector))
		if err != nil {
			t.Fatal(err)
		}
		o.input = found.(protoreflect.MethodDescriptor).Input()
		if r.body != "" {
			o.body = o.input.Fields().ByName(protoreflect.Name(r.body)).Message()
		}
	}
}

// resolve returns a node, or the node that it refers to.
func (d *description) resolve(part any) object {
	o, _ := part.(object)
	for {
		ref, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		o = d.doc
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			o = o[name].(object)
		}
	}
}

// is reports whether a schema allows a type.
func is(schema object, kind string) bool {
	list, _ := schema["type"].([]any)
	return schema["type"] == kind || slices.Contains(list, any(kind))
}

// isFree reports whether a schema is a text without a list of values.
func isFree(schema object) bool {
	_, listed := schema["enum"]
	_, fixed := schema["const"]
	return is(schema, "string") && !listed && !fixed
}

// TestDescriptionsHaveTheBoundsOfTheProtos compares maxLength and maxItems of every request with
// the bounds in the protos, which the gateways enforce.
func TestDescriptionsHaveTheBoundsOfTheProtos(t *testing.T) {
	t.Parallel()
	for _, d := range descriptions(t) {
		looked := 0
		for _, o := range d.operations(t) {
			for _, p := range o.parameters {
				schema := d.resolve(p["schema"])
				if p["in"] == "header" || !isFree(schema) {
					continue
				}
				looked++
				want := 100 // the gateways' bound if no message has one
				if o.input != nil && p["in"] == "query" {
					want = length(bounds.Of(o.input.Fields().ByJSONName(p["name"].(string))))
				}
				if schema["maxLength"] != want {
					t.Errorf("%s %s: maxLength of %s is %v, want %d", d.name, o, p["name"], schema["maxLength"], want)
				}
			}
			for media, schema := range o.schemas {
				looked += d.compare(t, fmt.Sprint(d.name, " ", o, " ", media), schema, o.body)
			}
		}
		if looked < 10 {
			t.Errorf("%s: only %d texts and lists were compared", d.name, looked)
		}
	}
}

// length returns a bound in characters, the only unit that OpenAPI has.
func length(b bounds.Bound) int { return max(b.Characters, b.Bytes) }

// compare compares a schema with a message, and returns the number of texts and lists compared.
func (d *description) compare(t *testing.T, at string, schema object, message protoreflect.MessageDescriptor) (looked int) {
	t.Helper()
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		schema, at := d.resolve(property), at+" "+name
		if schema["const"] != nil {
			continue
		}
		fd := message.Fields().ByJSONName(name)
		if fd == nil {
			t.Errorf("%s is not in %s", at, message.FullName())
			continue
		}
		switch {
		case is(schema, "array"):
			looked++
			if fd.Kind() == protoreflect.MessageKind && !fd.IsList() { // a list that can be absent is wrapped in a message
				fd = fd.Message().Fields().ByName("values")
			}
			b := bounds.Of(fd)
			if schema["maxItems"] != b.Items {
				t.Errorf("%s: maxItems is %v, want %d", at, schema["maxItems"], b.Items)
			}
			items := d.resolve(schema["items"])
			if isFree(items) && items["maxLength"] != length(b) {
				t.Errorf("%s: maxLength of its items is %v, want %d", at, items["maxLength"], length(b))
			}
			if is(items, "object") {
				looked += d.compare(t, at, items, fd.Message())
			}
		case isFree(schema):
			looked++
			if fd.Kind() == protoreflect.MessageKind { // a text that can be null
				fd = fd.Message().Fields().ByName("value")
			}
			if want := length(bounds.Of(fd)); schema["maxLength"] != want {
				t.Errorf("%s: maxLength is %v, want %d", at, schema["maxLength"], want)
			}
		case is(schema, "object"):
			looked += d.compare(t, at, schema, fd.Message())
		}
	}
	return looked
}
