package compose

import (
	"os"
	"path/filepath"
	"testing"

	"reservation.dev/test/harness"
)

// sandbox is the image of a pod's infrastructure process, which does nothing. It replaces
// Kubernetes' pause image.
const sandbox = "reservation.test/pause:1"

// TestSave saves the images of the services, and of the chart's PostgreSQL and NATS, in the file
// that SAVE_IMAGES names, as make cluster-test needs them.
func TestSave(t *testing.T) {
	file := os.Getenv("SAVE_IMAGES")
	if file == "" {
		t.Skip("saves images for make cluster-test")
	}
	needDocker(t)
	d := startDocker(t)
	for _, s := range replacements(t) {
		d.make(t, s)
	}
	d.make(t, replacement{
		name:  sandbox,
		setup: []string{`ENTRYPOINT ["/bin/sleep", "1000000000"]`},
		fill:  func(_ *testing.T, r *rootfs) { r.base("pause", 65535) },
	})
	p := newPlatform(t, d, nil)
	p.compose(t, buildLimit, "--profile", "tools", "build")

	compose := harness.File(t, "docker-compose.yml")
	names := []string{sandbox, found(t, compose, `POSTGRES_IMAGE:-([^}]+)`), found(t, compose, `NATS_IMAGE:-([^}]+)`)}
	for _, part := range parts(t) {
		names = append(names, "reservation/"+filepath.Base(part)+":"+version)
	}
	d.run(t, commandLimit, append([]string{"docker", "save", "-o", file}, names...)...)
}
