package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStartPagesMakeTheSameBooking compares the sections that the start pages share. Each page is
// followed on its own platform: by TestGuidesCanBeFollowed here, by test/compose and by test/cluster.
func TestStartPagesMakeTheSameBooking(t *testing.T) {
	t.Parallel()
	for _, heading := range []string{"Create a company", "Make a booking", "See it"} {
		want := section(t, page(t, startPage), heading)
		for _, other := range []string{"docs/START_DOCKER.md", "docs/START_KUBERNETES.md"} {
			if diff := cmp.Diff(want, section(t, page(t, other), heading)); diff != "" {
				t.Errorf("%s differs from %s in %q:\n%s", other, startPage, heading, diff)
			}
		}
	}
}
