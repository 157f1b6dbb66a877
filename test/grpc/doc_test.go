// Package grpc follows docs/GRPC.md as a reader does: it runs every command of the page against
// the platform, and compares the page's programs with their source.
package grpc

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
