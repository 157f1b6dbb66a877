// Package cells tests two complete installations, between which a company moves (docs/COMPANY_MOVE.md).
package cells

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
