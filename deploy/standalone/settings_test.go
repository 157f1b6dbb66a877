package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reservation.dev/platform/config"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
	"reservation.dev/services/directory"
)

// valid returns settings that every service accepts.
func valid() config.Env {
	return config.Env{
		"DATABASE_URL": "postgres://x:p@127.0.0.1/x", "MASTER_KEY": strings.Repeat("A", 43) + "=",
		"SERVICE_CREDENTIAL_ID": "svc_01jb4x9m3vf6ksn8w2d7pq5r0t", "SERVICE_CREDENTIAL_SECRET": strings.Repeat("5", 64),
		"MIGRATION_DATABASE_URL": "postgres://x:p@127.0.0.1/x", "DATABASE_APP_ROLE": "x",
	}
}

// groups returns the settings structs of a service's commands.
func groups(p service.Part) []any {
	all := []any{&service.Process{}, p.Settings()}
	if p.Migrations != nil {
		all = append(all, &service.Owner{})
	}
	return all
}

func TestFaultsNameTheVariable(t *testing.T) {
	const garbage = "hunter2 \x01:// ,, %zz"
	refused := map[string]bool{}
	for _, p := range parts() {
		for i, group := range groups(p) {
			if err := config.Read(valid(), group); err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			for _, s := range config.Settings(group) {
				env := valid()
				env[s.Name] = garbage
				err := config.Read(env, groups(p)[i])
				if err == nil {
					continue
				}
				refused[s.Name] = true
				for _, fault := range faultsOf(err) {
					if !strings.Contains(fault.Error(), s.Name) {
						t.Errorf("%s: %s is wrong, but the fault does not name it: %v", p.Name, s.Name, fault)
					}
				}
				if isSecret(s.Name) && strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: the value of %s is shown: %v", p.Name, s.Name, err)
				}
			}
		}
	}
	if len(refused) < 30 {
		t.Errorf("only %d settings refuse wrong values: %v", len(refused), slices.Sorted(maps.Keys(refused)))
	}
}

func faultsOf(err error) []error {
	var all *config.Faults
	if errors.As(err, &all) {
		return all.Unwrap()
	}
	return []error{err}
}

// isSecret reports whether a setting has, or can have, a secret in its value.
func isSecret(name string) bool {
	return strings.HasSuffix(name, "DATABASE_URL") || strings.HasSuffix(name, "SECRET") ||
		slices.Contains([]string{"NATS_URL", "MASTER_KEY", "BOOTSTRAP_CREDENTIALS"}, name)
}

func TestSettingsOfOtherPartsAreKnown(t *testing.T) {
	everything := config.Env{}
	for _, p := range parts() {
		for _, name := range config.Names(groups(p)...) {
			everything[name], everything[name+"_FILE"] = "x", "x"
		}
	}
	for _, p := range parts() {
		for _, warning := range config.Unknown(everything, config.Names(groups(p)...)) {
			t.Errorf("%s, given the settings of all services: %s", p.Name, warning)
		}
	}
}

func TestProduction(t *testing.T) {
	insecure := "insecure-" + strings.Repeat("x", seal.KeySize)
	for part, env := range map[string]config.Env{
		"webhook": {"WEBHOOK_PRIVATE_ADDRESSES": "allow"},
		"admin":   {"ADMIN_URL": "http://127.0.0.1:8082"},
		"booking": {"SERVICE_CREDENTIAL_SECRET": insecure, "NATS_URL": "nats://x:" + insecure + "@nats"},
		"auth":    {"BOOTSTRAP_CREDENTIALS": `[{"secret":"` + insecure + `"}]`},
	} {
		i := slices.IndexFunc(parts(), func(p service.Part) bool { return p.Name == part })
		s := parts()[i].Settings()
		all := valid()
		maps.Copy(all, env)
		_ = config.Read(all, s)
		err := config.CheckProduction(all, s)
		for name := range env {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %s is not refused: %v", part, name, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), insecure) {
			t.Errorf("%s: a secret is shown: %v", part, err)
		}
	}
	t.Run("production refuses the demonstration company", func(t *testing.T) {
		s := &Settings{}
		env := config.Env{"RESERVATION_ENV": "production"}
		if err := config.Read(env, s); err != nil {
			t.Fatal(err)
		}
		if err := config.CheckProduction(env, s); err == nil || !strings.Contains(err.Error(), "DEMO") {
			t.Errorf("got %v", err)
		}
	})
}

// TestArrows compares the services' outgoing connections in the source with the lists of allowed
// callers, and these with the page. reservectl can call every service. The directory is outside of the platform.
func TestArrows(t *testing.T) {
	const operatorCommand = "reservectl"
	page, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	dialled := map[string][]string{} // callers by service
	for _, p := range append(parts(), directory.Part()) {
		files, _ := filepath.Glob(filepath.Join("../../services", p.Name, "*.go"))
		edge, _ := filepath.Glob(filepath.Join("../..", p.Name, "*.go"))
		for _, path := range append(files, edge...) {
			for _, part := range dials(t, path, parts()) {
				dialled[part] = append(dialled[part], p.Name)
			}
		}
	}
	for _, p := range parts() {
		want := dialled[p.Name]
		if p.Migrations != nil {
			want = append(want, operatorCommand)
			if row := fmt.Sprintf("\n| %s | %s |\n", p.Name, strings.Join(p.Callers, ", ")); !strings.Contains(string(page), row) {
				t.Errorf("docs/SECURITY.md has no row %s", row)
			}
		}
		got := slices.Clone(p.Callers)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s allows the callers %q, but is called by %q", p.Name, got, want)
		}
	}
}

// dials returns the services that a file names in h.Dial("part", …), or in a list of
// connections: {"part", cfg.PartAddr, …}.
func dials(t *testing.T, path string, all []service.Part) (names []string) {
	t.Helper()
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		name, _ := strconv.Unquote(lit.Value)
		if slices.ContainsFunc(all, func(p service.Part) bool { return p.Name == name }) {
			names = append(names, name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Dial" && len(n.Args) > 1 {
				named(n.Args[0])
			}
		case *ast.CompositeLit:
			if len(n.Elts) > 1 {
				if addr, ok := n.Elts[1].(*ast.SelectorExpr); ok && strings.HasSuffix(addr.Sel.Name, "Addr") {
					named(n.Elts[0])
				}
			}
		}
		return true
	})
	return names
}
