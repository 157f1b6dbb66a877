package browser

import (
	"testing"
)

func (w *world) testPages(t *testing.T) { // invariants 3 and 4
	_ = t
}
