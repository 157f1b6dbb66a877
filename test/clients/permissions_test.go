package clients

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// documentedPermissions reads the permission of each route of Interface B from the table in its
// documentation.
func documentedPermissions(t *testing.T) map[string]string {
	t.Helper()
	routes := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z]+.*) \\| `([a-z-]+:(?:read|write))` \\|$").FindAllStringSubmatch(harness.File(t, "docs/INTERFACE_B.md"), -1) {
		var methods []string
		for _, part := range regexp.MustCompile("`[^`]+`").FindAllString(row[1], -1) {
			method, path, complete := strings.Cut(strings.Trim(part, "`"), " ")
			methods = append(methods, method)
			if !complete {
				continue // only the last of several methods has the path
			}
			for _, m := range methods {
				routes[m+" "+path] = row[2]
			}
			methods = nil
		}
	}
	return routes
}

// testPermissions plays the scenario with tokens that have a single permission. Before each step, it
// tries the step without a token, and with a token that has all other permissions.
func (r *routes) testPermissions(t *testing.T) {
	c := r.caller(t)
	only, others := map[string]string{}, map[string]string{}
	for _, permission := range r.permissions() {
		rest := slices.DeleteFunc(r.permissions(), func(other string) bool { return other == permission })
		only[permission] = r.token(t, r.credential(t, c.company, mostRequests, permission))
		others[permission] = r.token(t, r.credential(t, c.company, mostRequests, rest...))
	}
	for _, s := range c.steps {
		permission, request := r.operations[s.operation].permission, c.request(s)
		if permission == "" {
			if s.operation != "createToken" {
				t.Errorf("%s has no permission", s.operation)
			}
			c.take(t, s, request)
			continue
		}
		request.Token = ""
		if got := c.send(t, request); got.Code != http.StatusUnauthorized || !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s without a token: %d %s", s.operation, got.Code, got.Body)
		}
		request.Token = others[permission]
		got := c.send(t, request)
		if got.Code != http.StatusForbidden || scopeOf(got) != permission || !strings.Contains(got.Header.Get("WWW-Authenticate"), `"`+permission+`"`) {
			t.Errorf("%s without %s: %d %v %s", s.operation, permission, got.Code, got.Header, got.Body)
		}
		request.Token = only[permission]
		c.take(t, s, request)
	}
}

// TestDocumentedPermissions compares the table of Interface B's documentation with the description.
func TestDocumentedPermissions(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, o := range described(t, descriptionFile(t, "b")) {
		if o.permission != "" {
			want[o.method+" "+o.path] = o.permission
		}
	}
	got := documentedPermissions(t)
	for route, permission := range want {
		if got[route] != permission {
			t.Errorf("%s: the page says %q, the description %q", route, got[route], permission)
		}
	}
	for route := range got {
		if want[route] == "" {
			t.Errorf("%s is not described", route)
		}
	}
}
