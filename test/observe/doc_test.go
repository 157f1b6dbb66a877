// Package observe checks the platform's telemetry: one trace from a request to its webhook, logs
// and spans without personal data, and every metric that alerts, dashboards and pages use.
package observe

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
