// Package e2e holds the platform to its specification, as a stranger: over HTTP,
// with reservectl, and by starting and ending it. Nothing here looks inside.
//
// TestInterfaceA and its parts are the conformance of Interface A; each answer
// in it is held to the description that the gateway itself serves. The other
// tests are about the platform in one process, as the README promises it, and
// about the operator's commands.
package e2e

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
