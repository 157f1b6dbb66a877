// Package compose runs docker-compose.yml as an operator does, with a separate Docker daemon. It
// builds the images, starts everything, creates the demonstration company, checks the interfaces
// with test/conformance, follows docs/START_DOCKER.md, receives a webhook, checks Prometheus and the
// traces, scales out, and kills a container of each service under load.
//
// It runs if COMPOSE_TEST is set, which make compose-test does after it has installed the
// requirements. It uses no registry. Instead it makes the images that the files name from
// software on this machine, under the same names. These images provide everything that the files
// need: PostgreSQL with the variables of its official image, NATS and HAProxy with a wget for
// their health checks, Go with the modules of the services, Debian's Prometheus, and a collector
// built from its Go modules. Jaeger is replaced by a program that stores the traces. Grafana is
// replaced by a program that checks its files and data sources.
package compose

import (
	"os"
	"runtime"
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// needDocker skips t unless COMPOSE_TEST is set, and fails it if containers cannot run here.
func needDocker(t *testing.T) {
	t.Helper()
	if os.Getenv("COMPOSE_TEST") == "" {
		t.Skip("runs containers for some minutes: make compose-test")
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Fatal("a separate Docker daemon needs Linux and root")
	}
}
