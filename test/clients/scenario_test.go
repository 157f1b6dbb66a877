package clients

import (
	"fmt"
	"strings"
	"testing"
)

type object = map[string]any

// step calls an operation. A string "$name" in its arguments stands for a variable.
type step struct {
	operation string
	status    int // 0 means 200
	path      []string
	query     object
	header    object
	body      any
	save      map[string]string // from a variable to a path in the response: "dates.0.id"
}

func (s *step) want() int {
	if s.status == 0 {
		return 200
	}
	return s.status
}

// variables returns the names of the variables that a scenario uses, in the order in which it saves
// them; given are those that it starts with.
func variables(t *testing.T, given []string, steps []step) []string {
	t.Helper()
	names, known := []string{}, map[string]bool{}
	for _, name := range given {
		known[name] = true
	}
	for i, s := range steps {
		walk([]any{s.path, s.query, s.header, s.body}, func(text string) {
			if name, ok := strings.CutPrefix(text, "$"); ok && !known[name] {
				t.Fatalf("step %d (%s) uses $%s before it is saved", i, s.operation, name)
			}
		})
		for name := range s.save {
			if !known[name] {
				known[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// walk calls visit with every string in v.
func walk(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []string:
		for _, text := range v {
			visit(text)
		}
	case []object:
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	case object:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

// checkCoverage fails t unless the steps call every operation of the description, with the arguments
// that its path needs.
func checkCoverage(t *testing.T, operations map[string]operation, steps []step) {
	t.Helper()
	called := map[string]bool{}
	for i, s := range steps {
		o, ok := operations[s.operation]
		if !ok {
			t.Errorf("step %d calls %s, which is not described", i, s.operation)
		}
		if len(s.path) != len(o.pathParams) {
			t.Errorf("step %d (%s) has %d path parameters, not %d", i, s.operation, len(s.path), len(o.pathParams))
		}
		if s.want() < 300 {
			called[s.operation] = true
		}
	}
	for id, o := range operations {
		if !called[id] {
			t.Errorf("no step calls %s (%s %s)", id, o.method, o.path)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func quoted(v any) string { return fmt.Sprintf("%q", v) }
