package tenancy

import (
	"slices"
	"testing"
)

func TestInOrder(t *testing.T) {
	t.Parallel()
	names := inOrder([]tenantTable{
		{"a", []string{"c"}}, {"b", nil}, {"c", []string{"d", "e"}}, {"d", []string{"e"}}, {"e", nil}, {"f", []string{"e", "e"}},
	})
	if len(names) != 6 {
		t.Fatalf("got %v", names)
	}
	for _, pair := range [][2]string{{"a", "c"}, {"c", "d"}, {"c", "e"}, {"d", "e"}, {"f", "e"}} {
		if slices.Index(names, pair[0]) > slices.Index(names, pair[1]) {
			t.Errorf("%s after %s in %v", pair[0], pair[1], names)
		}
	}
}
