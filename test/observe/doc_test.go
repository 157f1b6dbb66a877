// Package observe holds what the platform tells of itself to what operators need:
// one trace from a request to its webhook, logs and spans without anything about a
// person, and metrics that are there for every alert, dashboard and page that asks
// for them.
package observe

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
