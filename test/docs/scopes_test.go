package docs

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// TestScopes checks that the services use the constants of platform/scopes, because a
// policy with a misspelt scope would refuse every caller.
func TestScopes(t *testing.T) {
	t.Parallel()
	scope := regexp.MustCompile(`\b[a-z-]+:(read|write|admin)\b`)
	for _, service := range []string{"auth", "booking", "customer", "pass", "webhook"} {
		for _, file := range walledFiles(t, service) {
			ast.Inspect(file.syntax, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && scope.MatchString(text.Value) {
					t.Errorf("%s has the scope %s as text: use platform/scopes", file.path, text.Value)
				}
				return true
			})
		}
	}
}
