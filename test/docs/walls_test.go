package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wallLayers returns the layers of files that are not rules, by the first word of the
// file's name (server_company.go has the layer server) or by its package (store).
func wallLayers() []string {
	return []string{"doc", "server", "convert", "store", "events", "clients", "jobs", "privacy", "metrics", "config", "run"}
}

// wallProcesses returns the first words of the files of a service that keep state, wait or
// call others, and so are not rules either.
func wallProcesses() map[string][]string {
	return map[string][]string{
		"auth":    {"keyring", "identity", "hashing", "throttle"},
		"media":   {"bucket", "http"},
		"reports": {"build", "intake"},
		"webhook": {"claim", "engine", "intake", "outcome", "retention", "send", "trace", "worker"},
	}
}

// wallPackages returns the layers of packages inside services that are neither rules nor
// named for their layer.
func wallPackages() map[string]string {
	return map[string]string{"booking/commitqueue": "process", "webhook/message": "convert"}
}

// wallExceptions returns the services that do not keep to the walls yet.
func wallExceptions() []string { return nil }

// walled is a service's source file.
type walled struct {
	path, layer string
	imports     []string
	syntax      *ast.File
}

// TestWalls checks the walls inside the services: rules use no context, SQL, proto or
// clock, and only the store has SQL, which uses no proto.
func TestWalls(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"auth", "booking", "customer", "media", "pass", "reports", "subscription", "webhook"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(wallExceptions(), service) {
				t.Skip("does not keep to the walls yet")
			}
			for _, file := range walledFiles(t, service) {
				for _, breach := range file.breaches() {
					t.Errorf("%s (%s) %s", file.path, file.layer, breach)
				}
			}
		})
	}
}

// walledFiles returns the source files of a service.
func walledFiles(t *testing.T, service string) []walled {
	t.Helper()
	var files []walled
	top := filepath.Join(root, "services", service)
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		file := walled{path: filepath.ToSlash(filepath.Join("services", service, inside)), layer: layerOf(service, inside), syntax: syntax}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			file.imports = append(file.imports, imported)
		}
		if file.layer != "" {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// layerOf returns the layer of a file by its path inside its service; "": it has none. If a
// service has a package for its rules, the other files in its root are not rules.
func layerOf(service, path string) string {
	folder, name := filepath.Split(path)
	folder = strings.TrimSuffix(folder, "/")
	word, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
	_, err := os.Stat(filepath.Join(root, "services", service, "model"))
	switch layer := wallPackages()[service+"/"+folder]; {
	case folder == "migrations" || strings.HasPrefix(folder, "cmd"):
		return ""
	case layer != "":
		return layer
	case slices.Contains(wallLayers(), folder):
		return folder
	case folder != "":
		return "rules"
	case slices.Contains(wallLayers(), word):
		return word
	case err == nil || slices.Contains(wallProcesses()[service], word):
		return "process"
	}
	return "rules"
}

// breaches returns the things in a file that its layer must not contain.
func (f walled) breaches() []string {
	var forbidden []string
	switch f.layer {
	case "rules":
		forbidden = []string{"context", "reservation.dev/platform/pg", "reservation.dev/proto/", "google.golang.org/protobuf/", "google.golang.org/grpc"}
	case "store":
		forbidden = []string{"reservation.dev/proto/"}
	}
	if f.layer != "store" {
		forbidden = append(forbidden, "github.com/jackc/pgx/")
	}
	var breaches []string
	for _, imported := range f.imports {
		if slices.ContainsFunc(forbidden, func(prefix string) bool {
			return imported == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(imported, prefix)
		}) {
			breaches = append(breaches, "imports "+imported)
		}
	}
	return append(breaches, f.breachesInCode()...)
}

func (f walled) breachesInCode() (breaches []string) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && f.layer != "store" && isSQL(text) {
				breaches = append(breaches, "has SQL: "+text[:min(len(text), 60)])
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && f.layer == "rules" && pkg.Name == "time" && slices.Contains(clocks(), n.Sel.Name) {
				breaches = append(breaches, "reads the clock")
			}
		}
		return true
	})
	return breaches
}

// clocks returns the functions of package time that read the clock or wait for it.
func clocks() []string {
	return []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}
}

var sqlStart = regexp.MustCompile(`(?is)^\s*(select\s+.*\sfrom\s|select\s+\w+\(|insert\s+into\s|update\s+\w+(\s+\w+)?\s+set\s|delete\s+from\s|with\s+(recursive\s+)?\w+\s+as\s|(and|where|order\s+by)\s+\w+\s*(=|<|>|is\s|limit\s))`)

// isSQL reports whether a text begins like an SQL statement or a clause.
func isSQL(text string) bool { return sqlStart.MatchString(text) }
