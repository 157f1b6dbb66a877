package scopes

import (
	"regexp"
	"slices"
	"testing"
)

func TestLists(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*:(read|write)$`)
	for name, list := range map[string][]string{
		"InterfaceA": InterfaceA(), "InterfaceB": InterfaceB(), "Service": Service(),
	} {
		for i, scope := range list {
			if !form.MatchString(scope) {
				t.Errorf("%s has %q", name, scope)
			}
			if slices.Contains(list[:i], scope) {
				t.Errorf("%s has %s twice", name, scope)
			}
		}
	}
	if !slices.IsSorted(InterfaceB()) {
		t.Errorf("InterfaceB is not sorted: %v", InterfaceB())
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for behaviour, c := range map[string]struct{ permissions, want []string }{
		"keeps permissions":                      {[]string{EventsRead}, []string{EventsRead}},
		"replaces everything by all permissions": {[]string{Everything}, InterfaceB()},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			if got := Expand(c.permissions); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
