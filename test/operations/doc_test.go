// Package operations does to a platform that people use what its operators do:
// it replaces the previous release by this one, a process at a time, and goes back,
// and nobody gets an error, nothing is lost and nothing happens twice; and it backs
// everything up, destroys it, and restores it, to the moment of a backup or to any.
package operations

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
