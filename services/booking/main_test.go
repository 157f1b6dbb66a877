package booking

import (
	"testing"

	"reservation.dev/devkit/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
