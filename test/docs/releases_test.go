package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionsAgree checks that every release in CHANGELOG.md has notes about its upgrade, and that
// the client libraries have the version and the licence of the newest one. (make release refuses a
// version without them.)
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	versions := func(name, pattern string) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(page(t, name), -1) {
			all = append(all, m[1])
		}
		return all
	}
	releases := versions("CHANGELOG.md", `(?m)^## \[(\d[^\]]*)\] - \d{4}-\d{2}-\d{2}$`)
	if len(releases) == 0 {
		t.Fatal("CHANGELOG.md has no releases")
	}
	for _, c := range []struct {
		name, pattern string
		want          []string
	}{
		{"docs/UPGRADES.md", `(?m)^## (\d\S*)$`, releases},
		{"clients/typescript/package.json", `"version": "([^"]*)"`, releases[:1]},
		{"clients/python/src/reservation_client/_version.py", `VERSION = "([^"]*)"`, releases[:1]},
	} {
		if diff := cmp.Diff(c.want, versions(c.name, c.pattern)); diff != "" {
			t.Errorf("%s has other versions than CHANGELOG.md:\n%s", c.name, diff)
		}
	}
	const nothing = "## Unreleased\n\nNothing.\n"
	changes := strings.Contains(page(t, "CHANGELOG.md"), strings.Replace(nothing, "Unreleased", "[Unreleased]", 1))
	if steps := strings.Contains(page(t, "docs/UPGRADES.md"), nothing); changes && !steps {
		t.Error("docs/UPGRADES.md has steps for changes that CHANGELOG.md does not have under Unreleased")
	}
	for _, name := range []string{"clients/python/LICENSE", "clients/typescript/LICENSE"} {
		if page(t, name) != page(t, "LICENSE") {
			t.Errorf("%s differs from LICENSE: copy it", name)
		}
	}
}
