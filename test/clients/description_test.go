package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"reservation.dev/test/harness"
)

// operation is an operation of a description.
type operation struct {
	id, method, path string
	permission       string   // "" if no token is needed
	pathParams       []string // in the order of the path
	query            []string // names of parameters
	required         []string // names of those parameters in query that a request must have
	params           bool     // it has parameters in the query or in headers
	body             bool     // it accepts a JSON body
}

// described returns the operations of a description by their identifiers.
func described(t *testing.T, file string) map[string]operation {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]yaml.Node
		Components struct {
			Parameters map[string]parameter
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]operation{}
	for path, item := range doc.Paths {
		var shared []parameter
		if node, ok := item["parameters"]; ok {
			decode(t, node, &shared)
		}
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var o struct {
				OperationID string `yaml:"operationId"`
				Parameters  []parameter
				RequestBody *struct{} `yaml:"requestBody"`
				Security    []map[string][]string
			}
			decode(t, node, &o)
			op := operation{id: o.OperationID, method: strings.ToUpper(method), path: path, body: o.RequestBody != nil}
			for _, alternative := range o.Security {
				for _, permissions := range alternative {
					op.permission = strings.Join(append(permissions, op.permission), "")
				}
			}
			for part := range strings.SplitSeq(path, "/") {
				if name, ok := strings.CutPrefix(part, "{"); ok {
					op.pathParams = append(op.pathParams, strings.TrimSuffix(name, "}"))
				}
			}
			for _, p := range slices.Concat(shared, o.Parameters) {
				if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
					p = doc.Components.Parameters[name]
				}
				op.params = op.params || p.In != "path"
				if p.In == "query" {
					op.query = append(op.query, p.Name)
					if p.Required {
						op.required = append(op.required, p.Name)
					}
				}
			}
			all[op.id] = op
		}
	}
	return all
}

type parameter struct {
	Ref      string `yaml:"$ref"`
	In, Name string
	Required bool
}

// unfiltered returns the step of an operation with only those parameters in its query that are required.
func (o operation) unfiltered(s step) step {
	query := object{}
	for _, name := range o.required {
		query[name] = s.query[name]
	}
	return step{operation: s.operation, query: query}
}

func decode(t *testing.T, node yaml.Node, v any) {
	t.Helper()
	if err := node.Decode(v); err != nil {
		t.Fatal(err)
	}
}

// descriptionFile returns the path of the description of an interface: "a" or "b".
func descriptionFile(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "gateway-"+name, "openapi", "openapi.yaml")
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
