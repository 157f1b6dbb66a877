// Package grpc follows docs/GRPC.md as a stranger does: it runs every command of
// the page against the platform, and holds the page's programs to their source.
package grpc

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
