package docs

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEvents(t *testing.T) {
	catalogue := section(t, page(t, "docs/EVENTS.md"), "Catalogue")
	inPage := map[string]bool{}
	for _, row := range rows(catalogue) {
		name, _, _ := strings.Cut(quoted(row[0])[0], "<")
		inPage[name] = true
	}
	shared := map[string]string{}
	for _, file := range sources(t, "platform/subjects") {
		eachValue(file, func(name string, value ast.Expr) { shared[name], _ = text(value) })
	}
	inCode := map[string]bool{}
	for path, file := range sources(t, "services") {
		if filepath.Base(path) != "events.go" {
			continue
		}
		eachValue(file, func(name string, value ast.Expr) {
			if s := subjectOf(value, shared); strings.HasPrefix(name, "subject") && s != "" {
				inCode[s] = true
			}
		})
	}
	t.Run("every subject that a service publishes is in the catalogue, and no other", func(t *testing.T) {
		compare(t, inCode, inPage)
	})
	t.Run("every message that is published is in the catalogue", func(t *testing.T) {
		message := regexp.MustCompile(`(?m)^// (\w+) is published as (\w+)`)
		protos, err := filepath.Glob(filepath.Join(root, "proto/reservation/*/v1/events.proto"))
		if err != nil || len(protos) == 0 {
			t.Fatalf("got %v, %v", protos, err)
		}
		for _, path := range protos {
			service := filepath.Base(filepath.Dir(filepath.Dir(path)))
			for _, m := range message.FindAllStringSubmatch(page(t, strings.TrimPrefix(path, root)), -1) {
				if inCode[service+".v1."+m[2]] && !strings.Contains(catalogue, "| `"+m[1]+"` |") {
					t.Errorf("%s is missing", m[1])
				}
			}
		}
	})
	t.Run("every golden event is an example", func(t *testing.T) {
		golden, err := filepath.Glob(filepath.Join(root, "services/*/testdata/*.json"))
		if err != nil || len(golden) == 0 {
			t.Fatalf("got %v, %v", golden, err)
		}
		for _, path := range golden {
			if link := "(" + filepath.ToSlash(strings.TrimPrefix(path, root[:3])) + ")"; !strings.Contains(catalogue, link) {
				t.Errorf("%s is missing", link)
			}
		}
	})
}

// eachValue calls visit with the constants and variables of a file that have a value.
func eachValue(file *ast.File, visit func(name string, value ast.Expr)) {
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) > 0 {
			visit(spec.Names[0].Name, spec.Values[0])
		}
		return true
	})
}

// subjectOf returns the text of an expression, which can use constants of
// platform/subjects.
func subjectOf(e ast.Expr, shared map[string]string) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return shared[e.Sel.Name]
	case *ast.BinaryExpr:
		return subjectOf(e.X, shared) + subjectOf(e.Y, shared)
	}
	s, _ := text(e)
	return s
}

func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	var pages []string
	for _, pattern := range []string{"*.md", "services/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(pages, func(p string) bool { return strings.HasSuffix(p, "README.md") }) {
		t.Fatalf("found only %v", pages)
	}
	for _, path := range pages {
		name := strings.TrimPrefix(path, root+"/")
		t.Run("of "+name+" lead to files that are there", func(t *testing.T) {
			for _, m := range link.FindAllStringSubmatch(page(t, name), -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				if found, err := filepath.Glob(filepath.Join(filepath.Dir(path), m[1])); err != nil || len(found) != 1 {
					t.Errorf("%s leads nowhere", m[1])
				}
			}
		})
	}
}
