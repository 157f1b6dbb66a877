// Package upgrade replaces a running platform of the previous release by this one,
// a process at a time, and then goes back, while people use it: nobody gets an
// error, nothing is lost and nothing happens twice.
package upgrade

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
