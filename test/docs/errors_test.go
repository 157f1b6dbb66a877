package docs

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

// given is a reason that the code returns.
type given struct {
	kinds map[string]bool
	// beyond reports whether code other than an HTTP gateway returns it.
	beyond bool
}

var (
	reasonName = regexp.MustCompile(`^[rR]eason[A-Z]`)
	kinds      = map[string]fault.Kind{
		"Internal": fault.Internal, "Invalid": fault.Invalid, "Unauthenticated": fault.Unauthenticated, "Forbidden": fault.Forbidden,
		"NotFound": fault.NotFound, "Refused": fault.Refused, "VersionMismatch": fault.VersionMismatch, "Conflict": fault.Conflict,
		"RateLimited": fault.RateLimited, "Unavailable": fault.Unavailable, "TooLarge": fault.TooLarge,
	}
)

func TestReasons(t *testing.T) {
	files := sources(t, "platform", "services", "gateway-a", "gateway-b")
	values := constants(files)
	inCode := reasons(files, values)
	table := map[string][]string{}
	for _, row := range rows(section(t, page(t, "docs/ERRORS.md"), "Reasons")) {
		table[quoted(row[0])[0]] = row
	}
	if len(inCode) < 20 {
		t.Fatalf("the source has only %d reasons", len(inCode))
	}

	t.Run("every reason that the code gives is in the table", func(t *testing.T) {
		for _, reason := range slices.Sorted(maps.Keys(inCode)) {
			if table[reason] == nil {
				t.Errorf("%s is missing", reason)
			}
		}
	})
	t.Run("every reason of the table is given by the code", func(t *testing.T) {
		for _, reason := range slices.Sorted(maps.Keys(table)) {
			if len(inCode[reason].kinds) == 0 {
				t.Errorf("%s is not given anywhere", reason)
			}
		}
	})
	t.Run("every constant of a reason is used", func(t *testing.T) {
		for name, reason := range values {
			if len(inCode[reason].kinds) == 0 {
				t.Errorf("%s is not used", name)
			}
		}
	})
	t.Run("statuses and codes are those that callers get", func(t *testing.T) {
		for reason, row := range table {
			for kind := range inCode[reason].kinds {
				f := fault.New(kinds[kind], reason, "")
				status := strconv.Itoa(edge.StatusOf(f))
				for i, name := range []string{"A", "B"} {
					if says := row[1+i]; says != "–" && says != status {
						t.Errorf("%s is %s on Interface %s, the table says %s", reason, status, name, says)
					}
				}
				want := "–"
				if inCode[reason].beyond {
					want = fault.Status(f).Code().String()
				}
				if row[3] != want {
					t.Errorf("%s is %s in gRPC, the table says %s", reason, want, row[3])
				}
			}
		}
	})
}

func TestOAuthErrors(t *testing.T) {
	t.Run("every error of a form-encoded request is in the table, and no other", func(t *testing.T) {
		inCode := map[string]bool{}
		ast.Inspect(sources(t, "gateway-a")["gateway-a/errors.go"], func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "oauthCode" {
				return true
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if r, ok := n.(*ast.ReturnStmt); ok {
					s, _ := text(r.Results[0])
					inCode[s] = true
				}
				return true
			})
			return false
		})
		compare(t, inCode, firsts(section(t, page(t, "docs/ERRORS.md"), "Form-encoded token requests")))
	})
}

func TestRules(t *testing.T) {
	t.Run("every rule that a check names is in the table, and no other", func(t *testing.T) {
		inCode := map[string]bool{}
		form := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
		note := func(e ast.Expr) {
			if s, ok := text(e); ok && form.MatchString(s) {
				inCode[s] = true
			}
		}
		for path, file := range sources(t, "platform", "services", "gateway-a", "gateway-b") {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					name := last(n.Fun)
					isCheck := name == "InvalidParameter" || name == "Add" || name == "AddFirst" || name == "add" && (strings.HasPrefix(path, "services/") || strings.HasPrefix(path, "gateway-b/"))
					if isCheck && len(n.Args) == 3 {
						note(n.Args[1])
					}
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if strings.HasPrefix(name.Name, "rule") && i < len(n.Values) {
							note(n.Values[i])
						}
					}
				case *ast.CompositeLit:
					if list, ok := n.Type.(*ast.ArrayType); ok && last(list.Elt) == "Field" {
						for _, e := range n.Elts {
							if field, ok := e.(*ast.CompositeLit); ok {
								note(member(field, "Rule"))
							}
						}
					}
					switch last(n.Type) {
					case "Field":
						note(member(n, "Rule"))
					case "phrase":
						if len(n.Elts) == 2 {
							note(n.Elts[0])
						}
					}
				}
				return true
			})
		}
		compare(t, inCode, firsts(section(t, page(t, "docs/ERRORS.md"), "Rules")))
	})
}

// firsts returns the texts in backquotes in the first cells of a section's tables.
func firsts(text string) map[string]bool {
	all := map[string]bool{}
	for _, row := range rows(text) {
		for _, s := range quoted(row[0]) {
			all[s] = true
		}
	}
	return all
}

// compare reports entries that are in the code but not on the page, and the other way
// round.
func compare(t *testing.T, inCode, inPage map[string]bool) {
	t.Helper()
	if len(inCode) == 0 {
		t.Fatal("nothing was found in the source")
	}
	for _, name := range slices.Sorted(maps.Keys(inCode)) {
		if !inPage[name] {
			t.Errorf("%s is missing in the page", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inPage)) {
		if !inCode[name] {
			t.Errorf("%s is in the page and not in the code", name)
		}
	}
}

// constants returns the constants that are reasons, by name.
func constants(files map[string]*ast.File) map[string]string {
	all := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if i < len(spec.Values) && reasonName.MatchString(name.Name) {
					if s, ok := text(spec.Values[i]); ok {
						all[name.Name] = s
					}
				}
			}
			return true
		})
	}
	return all
}

// reasons returns every reason that the code makes a fault with.
func reasons(files map[string]*ast.File, values map[string]string) map[string]given {
	all := map[string]given{}
	for path, file := range files {
		atEdge := strings.HasPrefix(path, "gateway-") || strings.HasPrefix(path, "platform/edge/")
		note := func(kind, reason ast.Expr) {
			value, ok := text(reason)
			if !ok {
				value = values[last(reason)]
			}
			if value == "" || kind == nil {
				return
			}
			g := all[value]
			if g.kinds == nil {
				g.kinds = map[string]bool{}
			}
			g.kinds[last(kind)] = true
			g.beyond = g.beyond || !atEdge
			all[value] = g
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch name := last(n.Fun); {
				case name == "New" && len(n.Args) == 3 && inFault(path, n.Fun):
					note(n.Args[0], n.Args[1])
				case name == "Refuse" && len(n.Args) == 2 && inFault(path, n.Fun):
					note(ast.NewIdent("Refused"), n.Args[0])
				}
			case *ast.CompositeLit:
				if reason := member(n, "Reason"); last(n.Type) == "Error" && reason != nil {
					note(member(n, "Kind"), reason)
				}
			}
			return true
		})
	}
	return all
}

// inFault reports whether a call is to a function of package fault.
func inFault(path string, fn ast.Expr) bool {
	if sel, ok := fn.(*ast.SelectorExpr); ok {
		return last(sel.X) == "fault"
	}
	return strings.HasPrefix(path, "platform/fault/")
}

// member returns the value of a named member of a composite literal, or nil.
func member(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && last(kv.Key) == name {
			return kv.Value
		}
	}
	return nil
}
