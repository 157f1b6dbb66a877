// Package compose runs docker-compose.yml as an operator does, with a Docker
// daemon of its own: builds the images, starts everything, makes the
// demonstration company, looks at the faces as test/conformance does, receives a
// webhook, asks Prometheus and the trace store what they saw of it, scales out, and kills a
// container of each part under load.
//
// It runs where COMPOSE_TEST is set, which make compose-test does after it has
// installed what that needs. No registry is asked for anything: the images that
// the files name are made here, of what the machine has, under the same names.
// These stand in for the published ones in what the files ask of them: PostgreSQL
// with the variables of its image, NATS and HAProxy with a wget for their health
// checks, Go with the modules that the parts are built from, Debian's Prometheus,
// and a collector of its Go modules. Where Jaeger and Grafana are, there is only what
// keeps the traces, and what looks at the files and the data sources that it is given.
package compose

import (
	"os"
	"runtime"
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// needDocker skips t where nobody asked for containers, and fails it where they
// cannot be had.
func needDocker(t *testing.T) {
	t.Helper()
	if os.Getenv("COMPOSE_TEST") == "" {
		t.Skip("runs containers for some minutes: make compose-test")
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Fatal("a Docker daemon of its own needs Linux and root")
	}
}
