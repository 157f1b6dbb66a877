// Package e2e checks the platform against its specification from the outside: over HTTP, with
// reservectl, and by starting and stopping it. It uses no internals.
//
// TestInterfaceA tests the conformance of Interface A: every answer is checked against the
// OpenAPI description that the gateway serves. The other tests check the platform in one process,
// as the README describes it, and the operator's commands.
package e2e

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
