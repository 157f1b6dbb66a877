// Package operations tests what operators do with a platform in use. A rolling upgrade from the
// previous release, and the way back, must cause no error, no loss and no duplicate. A restore
// after everything was backed up and destroyed must succeed, to the time of a backup or to any
// other time.
package operations

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
